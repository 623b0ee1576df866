//! One generated credential per known format, in the places where people paste them.

use super::findings;

/// Deterministic pseudo-random letters.
struct RandomLetters(u64);

impl RandomLetters {
    fn one_of(&mut self, letters: &[u8]) -> char {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(self.0 >> 33).unwrap() % letters.len();
        char::from(letters[at])
    }

    /// A random value of a format, in which `{a36}` means 36 letters of the kind `a`.
    fn value(&mut self, format: &str) -> String {
        let mut output = String::new();
        let mut parts = format.split('{');
        output += parts.next().unwrap();
        for part in parts {
            let (placeholder, rest) = part.split_once('}').unwrap();
            let (kind, count) = placeholder.split_at(1);
            let letters = letters(kind);
            (0..count.parse().unwrap()).for_each(|_| output.push(self.one_of(letters.as_bytes())));
            output += rest;
        }
        output
    }
}

fn letters(kind: &str) -> String {
    const SMALL: &str = "abcdefghijklmnopqrstuvwxyz";
    const DIGITS: &str = "0123456789";
    let capital = SMALL.to_ascii_uppercase();
    match kind {
        "a" => format!("{SMALL}{capital}{DIGITS}"),
        "w" => format!("{SMALL}{capital}{DIGITS}_-"),
        "b" => format!("{SMALL}{capital}{DIGITS}+/"),
        "h" => "0123456789abcdef".to_owned(),
        "d" => DIGITS.to_owned(),
        "u" => format!("{capital}{DIGITS}"),
        "t" => format!("{capital}234567"),
        "s" => format!("{SMALL}{DIGITS}"),
        "e" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
        "p" => format!("{SMALL}{capital}{DIGITS}{DIGITS}!@#$%^&*-_=+"),
        kind => panic!("{kind}"),
    }
}

/// Lines of many languages in which `NAME` and `VALUE` are replaced.
#[rustfmt::skip]
const PLACES: &[(&str, &str)] = &[
    ("src/app.py", "NAME = \"VALUE\""),
    ("src/app.py", "client = Client(name='VALUE', retries=3)"),
    ("src/app.ts", "const NAME = 'VALUE';"),
    ("src/app.js", "  NAME: \"VALUE\","),
    ("src/app.js", "const NAME = `VALUE`;"),
    ("src/app.go", "\tNAME := \"VALUE\""),
    ("src/App.java", "    private static final String NAME = \"VALUE\";"),
    ("src/App.kt", "    val NAME = \"VALUE\""),
    ("src/app.rb", "NAME = 'VALUE'"),
    ("src/app.rs", "const NAME: &str = \"VALUE\";"),
    ("src/app.cs", "    string NAME = \"VALUE\";"),
    ("src/app.c", "static const char *NAME = \"VALUE\";"),
    ("src/app.php", "$NAME = 'VALUE';"),
    ("src/app.swift", "let NAME = \"VALUE\""),
    ("config/app.json", "  \"NAME\": \"VALUE\","),
    ("config/app.yml", "  NAME: VALUE"),
    ("config/app.toml", "NAME = \"VALUE\""),
    ("main.tf", "  NAME = \"VALUE\""),
    ("app.properties", "NAME=VALUE"),
    (".env", "NAME=VALUE"),
    ("deploy.sh", "export NAME=VALUE"),
    ("Dockerfile", "ENV NAME=VALUE"),
    ("src/app.py", "# VALUE"),
];

/// Names and formats. The name `x` means that the format is found under any name.
#[rustfmt::skip]
const FORMATS: &[(&str, &str)] = &[
    ("key_id", "AKIA{t16}"),
    ("key_id", "ASIA{t16}"),
    ("key_id", "AKIA{u16}"),
    ("aws_secret_access_key", "{b40}"),
    ("AWS_SECRET_KEY", "{b40}"),
    ("x", "ghp_{a36}"), ("x", "gho_{a36}"), ("x", "ghs_{a36}"), ("x", "github_pat_{a22}_{a59}"),
    ("x", "glpat-{w20}"), ("x", "glrt-{w20}"),
    ("x", "xoxb-{d12}-{d13}-{a24}"), ("x", "xoxp-{d12}-{d12}-{d12}-{h32}"), ("x", "xapp-1-A{u10}-{d13}-{h64}"),
    ("x", "https://hooks.slack.com/services/T{u10}/B{u10}/{a24}"),
    ("x", "sk_live_{a24}"), ("x", "rk_live_{a24}"), ("x", "sk_live_{a99}"), ("x", "whsec_{a32}"),
    ("x", "AIza{w35}"), ("x", "GOCSPX-{w28}"), ("x", "ya29.{w68}"),
    ("x", "sk-{a48}"), ("x", "sk-{a20}T3BlbkFJ{a20}"), ("x", "sk-proj-{w120}"), ("x", "sk-proj-{a48}"), ("x", "sk-svcacct-{w58}"),
    ("x", "sk-ant-api03-{w93}AA"), ("x", "sk-ant-api03-{a48}"),
    ("x", "SG.{w22}.{w43}"),
    ("x", "SK{h32}"), ("twilio_auth_token", "{h32}"),
    ("x", "npm_{a36}"),
    ("x", "pypi-AgEIcHlwaS5vcmc{w80}"),
    ("x", "DefaultEndpointsProtocol=https;AccountName=store;AccountKey={b86}==;EndpointSuffix=core.windows.net"),
    ("x", "{d10}:AA{w33}"), ("bot_token", "{d9}:{w35}"),
    ("discord_token", "M{a23}.{w6}.{w27}"), ("bot_token", "N{a25}.{w6}.{w38}"),
    ("x", "https://discord.com/api/webhooks/{d18}/{w68}"),
    ("x", "key-{h32}"), ("x", "{h32}-us14"),
    ("heroku_api_key", "{h8}-{h4}-{h4}-{h4}-{h12}"), ("x", "HRKU-{w36}"),
    ("x", "dop_v1_{h64}"), ("x", "dapi{h32}"), ("x", "hf_{a34}"), ("x", "shpat_{h32}"), ("x", "sq0atp-{w22}"), ("x", "sq0csp-{w43}"), ("x", "EAAA{w60}"),
    ("x", "PMAK-{h24}-{h34}"), ("x", "lin_api_{a40}"), ("x", "NRAK-{u27}"), ("x", "dp.pt.{a43}"),
    ("x", "hvs.{w95}"), ("x", "hvs.{a24}"), ("x", "{a14}.atlasv1.{w67}"),
    ("cloudflare_api_token", "{w40}"), ("CLOUDFLARE_API_KEY", "{h37}"),
    ("x", "fo1_{w43}"), ("x", "sbp_{h40}"), ("x", "AGE-SECRET-KEY-1{e58}"),
    ("x", "glsa_{a32}_{h8}"), ("x", "rubygems_{h48}"), ("x", "dckr_pat_{w27}"), ("x", "gsk_{a52}"), ("x", "ntn_{d11}{a35}"), ("x", "secret_{a43}"),
    ("x", "figd_{w40}"), ("x", "nfp_{a36}"), ("x", "pul-{h40}"), ("x", "tskey-auth-{a16}-{a32}"), ("x", "xkeysib-{h64}-{a16}"), ("x", "sntrys_{a80}"),
    ("x", "r8_{a37}"), ("x", "LTAI{a20}"), ("x", "CFPAT-{w43}"), ("x", "pscale_tkn_{w43}"), ("x", "ATATT3{w186}={u8}"), ("x", "pat{a14}.{h64}"),
    ("x", "postgres://app:{a16}@db.prod.acme.io:5432/app"), ("x", "mysql://root:{a14}@10.2.3.4/app"), ("x", "mongodb+srv://app:{a16}@cluster0.ab1cd.mongodb.net/app"), ("x", "redis://:{a24}@cache.acme.io:6379/0"), ("x", "amqp://svc:{a12}@mq.acme.io"),
    ("x", "https://deploy:{a20}@git.acme.io/team/repo.git"),
    ("password", "Xk9#{p16}"), ("db_password", "{p19}7"), ("secret_key", "{p50}"), ("api_key", "{a32}"), ("api_key", "{h40}"), ("auth_token", "{w43}"),
    ("x", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJ1c3ItODgyMTMiLCJyb2xlIjoiYWRtaW4ifQ.{w43}"),
];

#[test]
fn every_known_format_is_found_in_every_place() {
    let mut random = RandomLetters(20_260_731);
    let mut missed: Vec<String> = Vec::new();
    let mut total = 0;
    for (name, format) in FORMATS {
        let mut places = Vec::new();
        // Values that only their name makes a credential.
        let named = PLACES.iter().filter(|(_, line)| *name == "x" || line.contains("NAME"));
        for (path, line) in named {
            let value = random.value(format);
            let text = line.replace("NAME", name).replace("name", name).replace("VALUE", &value);
            total += 1;
            if findings(path, &text).is_empty() {
                places.push(format!("{path}: {text}"));
            }
        }
        if !places.is_empty() {
            missed.push(format!(
                "{name} {format} {}/{}\n    {}",
                places.len(),
                PLACES.len(),
                places.join("\n    ")
            ));
        }
    }
    assert!(missed.is_empty(), "{} of {total}\n{}", missed.len(), missed.join("\n"));
}

#[rustfmt::skip]
const ADDRESSES: &[(&str, &str)] = &[
    ("requirements.txt", "--extra-index-url https://ci:{a20}@pypi.acme.io/simple"),
    ("requirements/prod.txt", "git+https://bot:{a20}@git.acme.io/team/lib.git@v1#egg=lib"),
    ("deploy/servers.txt", "postgres://app:{a16}@db.acme.io:5432/app"),
    (".npmrc", "//npm.acme.io/:_authToken={a32}"),
    (".npmrc", "//npm.acme.io/:_password={b30}=="),
    (".npmrc", "_auth = {b40}="),
    ("pip.conf", "index-url = https://ci:{a20}@pypi.acme.io/simple"),
    (".netrc", "machine api.acme.io login deploy password {a20}"),
    (".pypirc", "password = {p20}"),
    ("Dockerfile", "RUN pip install --index-url https://ci:{a20}@pypi.acme.io/simple lib"),
    ("ci.yml", "  - run: git push https://bot:{a20}@git.acme.io/team/repo.git"),
    ("sync.sh", "curl -o x ftp://sync:{a16}@files.acme.io/x"),
    ("sync.sh", "sftp://sync:{a16}@files.acme.io/x"),
    ("src/Db.cs", "var c = \"Server=tcp:acme.database.windows.net,1433;Database=app;User Id=sa;Password={a16};Encrypt=True\";"),
    ("src/db.go", "db, err := sql.Open(\"postgres\", \"host=db.acme.io port=5432 user=app password={a16} sslmode=require\")"),
    ("src/Db.kt", "    jdbc:postgresql://db.acme.io:5432/app?user=app&password={a16}"),
    ("sync.sh", "psql host=db.acme.io user=app password={a16}"),
    ("src/db.rb", "CONN = 'host=db.acme.io user=app password={a16}'"),
    ("src/db.ts", "const c = `host=db.acme.io user=app password={a16}`"),
    ("src/Db.java", "// don't: host=db.acme.io user=app password={a16}"),
    ("web.config", "Server=db.acme.io;User Id=sa;Password={a16}"),
    ("appsettings.json", "  \"Db\": \"Data Source=db.acme.io;Initial Catalog=app;User ID=sa;Pwd={a16}\","),
    ("application.properties", "spring.datasource.url=jdbc:postgresql://db.acme.io:5432/app?user=app&password={a16}"),
];

#[test]
fn urls_with_password_are_found_in_every_file_type() {
    let mut random = RandomLetters(7);
    for (path, format) in ADDRESSES {
        for _ in 0..20 {
            let line = random.value(format);
            let findings_in_line = findings(path, &line);
            assert_eq!(findings_in_line.len(), 1, "{path}: {line} {findings_in_line:?}");
        }
    }
}

#[rustfmt::skip]
const NO_ADDRESSES: &[(&str, &str)] = &[
    ("requirements.txt", "--index-url https://user:pass@pypi.acme.io/simple"),
    ("requirements.txt", "--index-url https://__token__:${PYPI_TOKEN}@pypi.acme.io/simple"),
    ("requirements.txt", "--index-url https://user:<password>@pypi.acme.io/simple"),
    ("requirements.txt", "--index-url https://ci:{a20}@localhost/simple"),
    ("requirements.txt", "--index-url https://ci:{a20}@pypi.example.com/simple"),
    ("requirements.txt", "--index-url https://ci:changeme@pypi.acme.io/simple"),
    ("requirements.txt", "--index-url https://ci:api_token@pypi.acme.io/simple"),
    ("README.txt", "https://ci:{a20}@pypi.acme.io/simple"),
    ("docs/setup.txt", "https://ci:{a20}@pypi.acme.io/simple"),
    ("tests/requirements.txt", "https://ci:{a20}@pypi.acme.io/simple"),
    (".npmrc", "//npm.acme.io/:_authToken=${NPM_TOKEN}"),
    (".npmrc", "//npm.acme.io/:_authToken=YOUR_TOKEN_HERE_1234567"),
    ("src/a.js", "  _authToken = generateAuthTokenOfUser"),
    ("src/a.py", "_auth = oauth2_access_token_v1"),
    ("src/a.js", "this._password = otherPasswordValue12345"),
    (".netrc", "machine api.acme.io login USER password PASSWORD"),
    (".netrc", "machine example.com login deploy password {a20}"),
    ("src/a.py", "machine api login deploy password reset"),
    ("src/Db.cs", "var c = \"Server=localhost;User Id=sa;Password={a16}\";"),
    ("src/Db.cs", "var c = \"Server=db.acme.io;User Id=sa;Password=\" + password;"),
    ("src/Db.cs", "var c = $\"Server=db.acme.io;User Id=sa;Password={pw}\";"),
    ("src/a.py", "connect(host=settings.HOST, password=settings.PASSWORD)"),
    ("src/a.py", "connect(host = config.host.name, user = u, password = read_password)"),
    ("app.properties", "url=jdbc:postgresql://db.acme.io/app?user=app&password=${DB_PASSWORD}"),
    ("app.properties", "url=jdbc:postgresql://db.acme.io/app?user=app&password=@db.password@"),
    ("src/a.js", "this.host=cfg.host;password=cfg.databasePassword;"),
    ("src/a.js", "this.name='x';this.host=cfg.host;this.password=n1.readPassword2;"),
    ("src/a.js", "this.host=cfg.host;password=self.read4();"),
    ("src/a.py", "self.host = config.host; self.password = db2_secrets"),
    ("src/a.cs", "var c = \"Server=db.acme.io;User Id=sa;Password=config.password\";"),
    ("db.conf", "Server=db.acme.io;User Id=sa;Password=vault.database.password"),
    (".netrc", "machine api.acme.io login deploy password secrets.deploy.key"),
    ("src/a.ts", "hvs.someMethodOfThisObject()"),
    ("src/a.ts", "token = NavigationControllerClass.handle.withCompletionOfTransitionAndMore()"),
    ("src/a.py", "password = \"$2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW\""),
    ("src/a.ts", "const password = \"@acme/password-Field_1\""),
];

#[test]
fn urls_without_password_are_not_reported() {
    let mut random = RandomLetters(9);
    for (path, format) in NO_ADDRESSES {
        let line = format.replace("{pw}", "[pw]").replace("${", "$[");
        let line = random.value(&line).replace("[pw]", "{pw}").replace("$[", "${");
        assert_eq!(findings(path, &line), [""; 0], "{path}: {line}");
    }
}

#[test]
fn private_keys_of_all_kinds_are_found() {
    let mut random = RandomLetters(11);
    for kind in ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "SSH2 ENCRYPTED "] {
        let rows: Vec<String> = (0..4).map(|_| random.value("MII{b61}")).collect();
        let (before, after) = match kind.starts_with("SSH2") {
            true => ("---- ", " ----"),
            false => ("-----", "-----"),
        };
        let [begin, end] =
            ["BEGIN", "END"].map(|word| format!("{before}{word} {kind}PRIVATE KEY{after}"));
        #[rustfmt::skip]
        let ways = [
            ("deploy/id_rsa", format!("{begin}\n{}\n{end}", rows.join("\n"))),
            ("src/a.py", format!("KEY = \"\"\"{begin}\n{}\n{end}\"\"\"", rows.join("\n"))),
            ("k8s/secret.yml", format!("  key: |\n    {begin}\n    {}\n    {end}", rows.join("\n    "))),
            ("sa.json", format!("  \"private_key\": \"{begin}\\n{}\\n{end}\\n\",", rows.join("\\n"))),
            ("src/a.go", format!("const k = `{begin}\n{}\n{end}`", rows.join("\n"))),
            ("src/A.java", format!("  \"{begin}\\n\" +\n  \"{}\\n\" +\n  \"{end}\";", rows.join("\\n\" +\n  \""))),
            (".env", format!("KEY=\"{begin}\\n{}\\n{end}\"", rows.join("\\n"))),
        ];
        for (path, text) in ways {
            let findings_in_line = findings(path, &text);
            assert!(
                findings_in_line.iter().any(|it| it.starts_with("P0 Private key")),
                "{path}: {text} {findings_in_line:?}"
            );
        }
    }
}
