//! `crh config` and `crh init` with real files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use expect_test::{Expect, expect, expect_file};
use serde_json::{Value, json};
use tempfile::TempDir;

use crh_testkit::{FakeModel, Program, Repo};

/// A repository, and a user with a home.
struct ConfigFixture {
    repo: Repo,
    home: TempDir,
}

impl ConfigFixture {
    fn new() -> Self {
        Self { repo: Repo::new(), home: TempDir::new().unwrap() }
    }

    fn with(repository: &str, user: &str) -> Self {
        let desk = Self::new();
        desk.repo.write("crh.toml", repository);
        fs::create_dir_all(desk.home.path().join(".config/crh")).unwrap();
        fs::write(desk.home.path().join(".config/crh/config.toml"), user).unwrap();
        desk
    }

    fn crh(&self, args: &[&str]) -> Program {
        self.crh_in(self.repo.path(), args)
    }

    fn crh_in(&self, folder: &Path, args: &[&str]) -> Program {
        let program = Program::new(env!("CARGO_BIN_EXE_crh"), folder).args(args);
        program.env("HOME", self.home.path().to_str().unwrap())
    }

    /// The output of a run, with temporary folders replaced by names.
    fn shown(&self, program: Program) -> String {
        let real = self.repo.path().canonicalize().unwrap();
        let shown = program.run().shown();
        let shown = shown.replace(self.home.path().to_str().unwrap(), "HOME");
        let shown = shown.replace(real.to_str().unwrap(), "REPO");
        shown.replace(self.repo.path().to_str().unwrap(), "REPO")
    }

    fn check(&self, program: Program, expected: Expect) {
        expected.assert_eq(&self.shown(program));
    }
}

#[test]
fn config_show_prints_values_with_origin() {
    let desk = ConfigFixture::with(
        "[scope]\nexclude = [\"docs/**\"]\n\n[base]\nbranch = \"trunk\"\n",
        "color = \"never\"\n[base]\nbranch = \"mine\"\n[store]\nfolder = \"objects\"\n",
    );
    let show = ["config", "show", "--exclude", "*.md", "--exclude", "a", "--instance", "x"];
    let shown = desk.shown(desk.crh(&show).env("CRH_OFFLINE", "true"));
    let set = shown.lines().filter(|line| !line.ends_with(" built in") || line.contains("HOME"));
    expect![[r#"
        exit 0
        ---
        instance                "x"                               --instance
        color                   "never"                           ~/.config/crh/config.toml:1
        scope.exclude           ["docs/**", "*.md", "a"]          crh.toml:2, --exclude
        base.branch             "trunk"                           crh.toml:5
        git.offline             true                              CRH_OFFLINE
        store.folder            "HOME/.config/crh/objects"  ~/.config/crh/config.toml:5
        state.folder            "HOME/.local/state/crh"  built in
    "#]]
    .assert_eq(&set.map(|line| format!("{line}\n")).collect::<String>());
    let program = desk.crh(&["config", "show", "--format", "json", "--offline"]);
    let output = program.env("CRH_BASE", "next").run();
    let listed: Value = serde_json::from_str(&output.stdout).unwrap();
    for (key, value, from) in [
        ("base.branch", json!("next"), "CRH_BASE"),
        ("git.offline", json!(true), "--offline"),
        ("color", json!("never"), "~/.config/crh/config.toml:1"),
        ("scope.exclude", json!(["docs/**"]), "crh.toml:2"),
        ("model.reviewer", Value::Null, "built in"),
    ] {
        assert_eq!(listed[key], json!({ "value": value, "from": [from] }), "{key}");
    }
    // Both formats have the same keys.
    let text = desk.crh(&["config", "show"]).run().stdout;
    let keys = text.lines().map(|line| line.split(' ').next().unwrap());
    assert_eq!(
        keys.collect::<BTreeSet<_>>(),
        listed.as_object().unwrap().keys().map(String::as_str).collect()
    );
}

#[test]
fn settings_apply_by_place() {
    let desk = ConfigFixture::with("[base]\nbranch = \"trunk\"\n", "color = \"always\"\n");
    desk.repo.write("a/b/crh.toml", "[base]\nbranch = \"other\"\n");
    let output = desk.crh_in(&desk.repo.path().join("a/b"), &["config", "show"]).run();
    assert!(output.stdout.contains("\"trunk\""), "{}", output.shown());

    let outside = TempDir::new().unwrap();
    let output = desk.crh_in(outside.path(), &["config", "show"]).run();
    let folder = outside.path().display();
    let note = format!("note: `{folder}` is not inside a git repository: no `crh.toml` applies\n");
    assert_eq!((output.code, output.stderr), (0, note));
    assert!(output.stdout.contains("~/.config/crh/config.toml:1"), "{}", output.stdout);

    // A bare repository uses the committed settings.
    desk.repo.commit("settings");
    let bare = desk.repo.cloned(&["--bare"]);
    let output = desk.crh_in(bare.path(), &["config", "show"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    for place in ["HEAD:crh.toml:2", "~/.config/crh/config.toml:1"] {
        assert!(output.stdout.contains(place), "{}", output.stdout);
    }
    fs::remove_file(desk.repo.path().join("crh.toml")).unwrap();
    symlink("/etc/passwd", desk.repo.path().join("crh.toml")).unwrap();
    desk.repo.git(&["add", "crh.toml"]);
    desk.repo.git(&["commit", "--quiet", "--message", "a link"]);
    desk.repo.git(&["push", "--quiet", &bare.url(), "main"]);
    desk.check(
        desk.crh_in(bare.path(), &["config", "show"]),
        expect![[r#"
            exit 2
            error: `HEAD:crh.toml` is a link, not a file
            hint: commit a regular file
            ---
        "#]],
    );
}

#[test]
fn config_that_is_no_regular_file_is_rejected() {
    let check = |fixture: &ConfigFixture, variable: &str, error: &str, hint: &str| {
        let shown = fixture.shown(fixture.crh(&["config", "show"]).env("CRH_CONFIG", variable));
        assert_eq!(shown, format!("exit 2\nerror: {error}\nhint: {hint}\n---\n"));
    };
    let hint = "remove it, or replace it with a regular file";
    let fixture = ConfigFixture::new();
    fs::create_dir_all(fixture.home.path().join(".config/crh/config.toml")).unwrap();
    check(&fixture, "", "`~/.config/crh/config.toml` is a folder, not a file", hint);
    let error = "cannot read `REPO/.`: Is a directory (os error 21)";
    check(&fixture, ".", error, "`CRH_CONFIG` must be the path of a file");
    let fixture = ConfigFixture::new();
    fs::create_dir(fixture.repo.path().join("crh.toml")).unwrap();
    check(&fixture, "", "`crh.toml` is a folder, not a file", hint);
    fs::remove_dir(fixture.repo.path().join("crh.toml")).unwrap();
    symlink("/etc/passwd", fixture.repo.path().join("crh.toml")).unwrap();
    check(&fixture, "", "`crh.toml` is a symbolic link, not a file", hint);
}

#[test]
fn schema_contains_keys_a_repository_may_set() {
    let desk = ConfigFixture::new();
    let output = desk.crh(&["config", "schema"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let mut schema: Value = serde_json::from_str(&output.stdout).unwrap();
    let sections = schema["properties"].take();
    assert_eq!(
        schema,
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "properties": null,
            "title": "crh.toml", "type": "object", "additionalProperties": false,
        })
    );
    let mut lines = String::new();
    for (section, schema) in sections.as_object().unwrap() {
        let keys = schema["properties"].as_object().unwrap();
        lines.extend(keys.iter().map(|(key, schema)| format!("{section}.{key} {schema}\n")));
        assert_eq!(
            *schema,
            json!({ "additionalProperties": false, "properties": keys, "type": "object" })
        );
    }
    expect_file!["../data/config_schema.txt"].assert_eq(&lines);
}

#[test]
fn init_overwrites_only_with_force() {
    let desk = ConfigFixture::with("# mine\n", "");
    let path = desk.repo.path().join("crh.toml");
    desk.check(
        desk.crh(&["init"]),
        expect![[r#"
            exit 2
            error: `REPO/crh.toml` already exists
            hint: `crh init --force` overwrites `crh.toml`
            ---
        "#]],
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "# mine\n");
    // The file belongs to the root of the repository.
    let inside = desk.repo.path().join(".crh");
    fs::create_dir(&inside).unwrap();
    desk.check(
        desk.crh_in(&inside, &["init", "--force"]),
        expect![[r#"
        exit 0
        note: wrote `REPO/crh.toml`
        ---
    "#]],
    );
    assert!(fs::read_to_string(&path).unwrap().contains("[scope]"));
    // A symlink is replaced, and its target is not changed.
    let outside = desk.home.path().join("precious");
    fs::write(&outside, "precious").unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&outside, &path).unwrap();
    assert_eq!(desk.crh(&["init"]).run().code, 2);
    fs::write(desk.repo.path().join("crh.toml.new"), "left by an interrupted run").unwrap();
    assert_eq!(desk.crh(&["init", "--force"]).run().code, 0);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
    assert!(path.symlink_metadata().unwrap().is_file());
    // No temporary file is left behind, even after a failure.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(desk.crh(&["init", "--force"]).run().code, 2);
    let mut names: Vec<_> =
        fs::read_dir(desk.repo.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".crh", ".git", "crh.toml"]);
}

#[test]
fn init_local_sets_up_a_model_server() {
    let models = |id: &str| json!({"data": [{"id": "nomic-embed-text"}, {"id": id}]});
    let ollama = FakeModel::start()
        .page("/v1/models", models("qwen2.5-coder:7b"))
        .page("/api/version", json!({"version": "0.12.6"}))
        .page(
            "/api/ps",
            json!({"models": [{"model": "qwen2.5-coder:7b", "context_length": 4096}]}),
        );
    let studio = FakeModel::start().page("/v1/models", models("qwen/qwen3-coder-30b")).page(
        "/api/v0/models",
        json!({"data": [
            {"id": "qwen/qwen3-coder-30b", "loaded_context_length": 8192}
        ]}),
    );
    let llama = FakeModel::start()
        .page("/v1/models", models("gpt-oss-20b"))
        .page("/props", json!({"default_generation_settings": {"n_ctx": 65_536}}));
    let small = "the model reads at most 4096 tokens; a review needs at least 7168; start the server with `OLLAMA_CONTEXT_LENGTH=32768 ollama serve`";
    let short = "the model reads at most 8192 tokens; larger changes need 32768; load the model again with `lms unload qwen/qwen3-coder-30b` and `lms load qwen/qwen3-coder-30b --context-length 32768`";
    for (server, kind, provider, id, warning) in [
        (&ollama, "Ollama", "ollama", "qwen2.5-coder:7b", Some(small)),
        (&studio, "LM Studio", "openai", "qwen/qwen3-coder-30b", Some(short)),
        (&llama, "llama.cpp", "openai", "gpt-oss-20b", None),
    ] {
        let desk = ConfigFixture::new();
        let output = desk.crh(&["init", "--local", &server.url()]).run();
        let config = desk.home.path().join(".config/crh/config.toml");
        let written = fs::read_to_string(&config).unwrap();
        let shown = format!("{}{written}", output.shown());
        let shown = shown.replace(&server.url(), "URL");
        let warning = warning.map(|text| format!("warning: {text}\n")).unwrap_or_default();
        let expected = format!(
            r#"exit 0
note: wrote `HOME/.config/crh/config.toml`
note: chose `{id}`; the server also has `nomic-embed-text`
{warning}note: test it with `crh model check {provider}:{id}@URL`
---
# Settings for {kind}, from `crh init --local`.

[model]
reviewer = "{provider}:{id}@URL"

[review]
strategy = "single"   # one reviewer; a panel makes dozens of model calls
side_by_side = 1      # a local server answers one request at a time

[budget]
seconds = 3600        # local models are slow
"#
        );
        assert_eq!(shown.replace(desk.home.path().to_str().unwrap(), "HOME"), expected);
        // The settings are valid, and a second call overwrites nothing.
        assert_eq!(desk.crh(&["config", "show"]).run().code, 0);
        let again = desk.crh(&["init", "--local", &server.url()]).run();
        assert_eq!((again.code, again.stdout), (0, written.clone()));
        assert_eq!(fs::read_to_string(&config).unwrap(), written);
    }
}

#[test]
fn init_local_without_server_says_what_to_start() {
    let desk = ConfigFixture::new();
    // Nothing listens on the discard port.
    desk.check(desk.crh(&["init", "--local", "http://127.0.0.1:9/v1"]), expect![[r#"
        exit 2
        error: no model server answers at `http://127.0.0.1:9/v1`
        hint: start Ollama, LM Studio or `llama-server`, or pass its URL: `crh init --local http://HOST:PORT/v1`
        ---
    "#]]);
    let empty = FakeModel::start().page("/v1/models", json!({"data": []}));
    let output = desk.crh(&["init", "--local", &empty.url()]).run();
    assert!(output.stderr.contains("has no model"), "{}", output.shown());
    // llama.cpp answers so while it loads its model.
    let loading = FakeModel::start();
    let output = desk.crh(&["init", "--local", &loading.url()]).run();
    assert!(output.stderr.contains("hint: wait until it has loaded"), "{}", output.shown());
}

#[test]
fn init_needs_a_checkout() {
    let desk = ConfigFixture::new();
    let outside = TempDir::new().unwrap();
    let output = desk.crh_in(outside.path(), &["init"]).run();
    let folder = outside.path().to_str().unwrap();
    expect![[r#"
        exit 2
        error: `OUTSIDE` is not inside a git repository
        hint: run `crh init` inside a checkout
        ---
    "#]]
    .assert_eq(&output.shown().replace(folder, "OUTSIDE"));
    desk.check(
        desk.crh_in(&desk.repo.path().join(".git"), &["init"]),
        expect![[r#"
        exit 2
        error: not inside a checkout
        hint: run `crh init` inside a checkout
        ---
    "#]],
    );
}

#[test]
fn color_flag_overrides_color_setting() {
    let desk = ConfigFixture::with("", "color = \"always\"\ninstance = \"team-a\"\n");
    let report = crate::root().join("crates/crh-review/tests/data/render/report.json");
    let report = report.to_str().unwrap();
    let render = |args: &[&str]| desk.crh(&["render", report]).args(args);
    let coloured = |program: Program| program.run().stdout.contains('\u{1b}');
    assert!(coloured(render(&["--format", "text"])));
    assert!(!coloured(render(&["--format", "text"]).env("NO_COLOR", "1")));
    assert!(!coloured(render(&["--format", "text", "--color", "never"])));
    assert!(coloured(render(&["--format", "text", "--color", "always"]).env("NO_COLOR", "1")));
    let comment = |args: &[&str]| render(&["--format", "comment"]).args(args).run().stdout;
    assert!(comment(&[]).contains("team-a"));
    assert!(!comment(&["--instance", "team-b"]).contains("team-a"));
    assert!(comment(&["--instance", "team-b"]).contains("team-b"));
}
