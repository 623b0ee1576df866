use super::{must_find, must_not_find};

#[test]
#[rustfmt::skip]
fn key_read_but_no_longer_set_is_reported() {
    let env = |code: &str, path: &str| {
        format!(
            "//- .env.example\nAPI_HOST=a\nAPI_SECRET=b\n//- {path}\n{code}\n//- head\n//- .env.example\nAPI_HOST=a\n"
        )
    };
    let expected =
        ".env.example:-2 config-key `API_SECRET` is no longer set, but 1 place still reads it";
    let reads = [
        ("x = os.environ[\"API_SECRET\"]", "a.py"),
        ("x = os.environ.get('API_SECRET')", "a.py"),
        ("API_SECRET = os.getenv(\"API_SECRET\")\nif not API_SECRET:\n    raise ValueError(\"API_SECRET is not set\")", "a.py"),
        ("f\"{os.environ['API_SECRET']}\"", "a.py"),
        ("const x = process.env.API_SECRET", "a.ts"),
        ("const x = process.env['API_SECRET']!", "a.ts"),
        ("const x = `${import.meta.env.API_SECRET}`", "a.ts"),
        ("x = ENV[\"API_SECRET\"]", "a.rb"),
        ("x = ENV.fetch('API_SECRET')", "a.rb"),
        ("package a\n\nvar x = os.Getenv(\"API_SECRET\")", "a.go"),
        ("fn f() { std::env::var(\"API_SECRET\").unwrap(); }", "a.rs"),
        ("class A { String x = System.getenv(\"API_SECRET\"); }", "A.java"),
    ];
    for (code, path) in reads {
        must_find(&[(&env(code, path), expected)]);
    }
    must_find(&[
        ("//- .env\nAPI_HOST=a\nAPI_SECRET=b\n//- a.py\nx = os.getenv(\"API_SECRET\", \"\")\n//- head\n//- .env\nAPI_HOST=a\nAPI_TOKEN=b\n", ".env:2 config-key `API_SECRET` is no longer set, but 1 place still reads it"),
        ("//- .env\nAPI_SECRET=b\n//- a.py\nx = os.environ[\"API_SECRET\"]\n//- head\n//- .env deleted\n", ".env:-1 config-key `API_SECRET` is no longer set, but 1 place still reads it"),
        ("//- app/settings.py\nDEBUG = True\nUPLOAD_LIMIT = 10\n//- app/views.py\nfrom django.conf import settings\n\ndef f():\n    return settings.UPLOAD_LIMIT\n//- head\n//- app/settings.py\nDEBUG = True\n", "app/settings.py:-2 config-key `UPLOAD_LIMIT` is no longer set, but 1 place still reads it"),
        ("//- config/app.yml\nupload:\n  max_megabytes: 3\n  other: 1\n//- a.rb\nx = config[:upload][:max_megabytes]\n//- head\n//- config/app.yml\nupload:\n  maximum: 3\n  other: 1\n", "config/app.yml:2 config-key `max_megabytes` is no longer set, but 1 place still reads it"),
        ("//- settings/main.toml\n[reviewer]\nmax_findings = 3\n//- a.py\nx = get_settings().reviewer.max_findings\n//- head\n//- settings/main.toml\n[reviewer]\n", "settings/main.toml:-2 config-key `max_findings` is no longer set, but 1 place still reads it"),
        ("//- config.json\n{\n  \"maxUploads\": 3,\n  \"b\": 1\n}\n//- a.ts\nconst x = config.get(\"maxUploads\")\n//- head\n//- config.json\n{\n  \"b\": 1\n}\n", "config.json:-2 config-key `maxUploads` is no longer set, but 1 place still reads it"),
    ]);
}

#[test]
fn key_possibly_set_elsewhere_is_not_reported() {
    let elsewhere = [
        "//- docker-compose.yml\nservices:\n  app:\n    environment:\n      - API_SECRET=x\n",
        "//- .env.production\nAPI_SECRET=x\n",
        "//- .env.local\n# API_SECRET=x\n",
        "//- Dockerfile\nENV API_SECRET=x\n",
        "//- deploy/values.yaml\nAPI_SECRET: x\n",
        "//- run.sh\nexport API_SECRET=x\n",
        "//- b.py\nos.environ.setdefault(\"API_SECRET\", \"x\")\n",
        "//- b.py\nif \"API_SECRET\" in os.environ:\n    pass\n",
        "//- b.py\nDEFAULTS = {\"API_SECRET\": \"x\"}\n",
    ];
    for other in elsewhere {
        must_not_find(&[&format!(
            "//- .env.example\nAPI_HOST=a\nAPI_SECRET=b\n//- a.py\nx = os.environ[\"API_SECRET\"]\n{other}//- head\n//- .env.example\nAPI_HOST=a\n"
        )]);
    }
    let harmless = [
        ("x = os.getenv('API_SECRET', 'b')", "a.py"),
        ("x = os.environ.get('API_SECRET') or 'b'", "a.py"),
        ("const x = process.env.API_SECRET ?? 'b'", "a.ts"),
        ("x = ENV.fetch('API_SECRET') { 'b' }", "a.rb"),
        ("x = ENV['API_SECRET'] || 'b'", "a.rb"),
        ("# os.environ['API_SECRET']", "a.py"),
        ("def f():\n    \"\"\"Reads:\n    os.environ['API_SECRET']\n    \"\"\"", "a.py"),
        ("x = os.environ['API_SECRET']", "tests/test_a.py"),
        ("API_SECRET = 1\nprint(API_SECRET)", "a.py"),
        ("os.environ['API_SECRET']", "README.md"),
    ];
    for (code, path) in harmless {
        must_not_find(&[&format!(
            "//- .env.example\nAPI_HOST=a\nAPI_SECRET=b\n//- {path}\n{code}\n//- head\n//- .env.example\nAPI_HOST=a\n"
        )]);
    }
    must_not_find(&[
        // Moved, or only the value changed.
        "//- .env\nAPI_HOST=a\nAPI_SECRET=b\n//- a.py\nx = os.environ[\"API_SECRET\"]\n//- head\n//- .env\nAPI_SECRET=c\nAPI_HOST=a\n",
        "//- .env\nHOME=a\nPORT=1\n//- a.py\nx = os.environ[\"HOME\"] + os.environ[\"PORT\"]\n//- head\n//- .env\n",
        // Django has a default, another module sets it, or the settings are not Django's.
        "//- app/settings.py\nSTATIC_URL = 1\n//- a.py\nfrom django.conf import settings\nsettings.STATIC_URL\n//- head\n//- app/settings.py\n",
        "//- app/settings/base.py\nUPLOAD_LIMIT = 1\n//- app/settings/more.py\nUPLOAD_LIMIT = 1\n//- a.py\nfrom django.conf import settings\nsettings.UPLOAD_LIMIT\n//- head\n//- app/settings/base.py\n",
        "//- app/settings.py\nUPLOAD_LIMIT = 1\n//- a.py\nfrom django.conf import settings\nsettings.UPLOAD_LIMIT\nhasattr(settings, \"UPLOAD_LIMIT\")\n//- head\n//- app/settings.py\n",
        "//- app/settings.py\nUPLOAD_LIMIT = 1\n//- a.py\nfrom elsewhere import settings\nsettings.UPLOAD_LIMIT\n//- head\n//- app/settings.py\n",
        // Settings files: an ordinary word, a default in the code, another thing of that name.
        "//- config/app.yml\nlimits: 1\n//- a.py\nconfig.limits\n//- head\n//- config/app.yml\n",
        "//- config/app.yml\nmax_megabytes: 1\n//- a.py\nconfig.max_megabytes\nclass Config:\n    max_megabytes: int = 1\n//- head\n//- config/app.yml\n",
        "//- config/app.yml\nmax_megabytes: 1\n//- a.py\nconfig.get('max_megabytes', 1)\n//- head\n//- config/app.yml\n",
        "//- config/app.yml\nmax_megabytes: 1\n//- a.py\nx.max_megabytes\n//- head\n//- config/app.yml\n",
        "//- config/app.yml\nmax_megabytes: 1\n//- a.py\nconfig.max_megabytes()\n//- head\n//- config/app.yml\n",
    ]);
}
