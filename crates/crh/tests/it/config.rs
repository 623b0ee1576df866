//! `crh config` and `crh init` with real files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::json;
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
    desk.check(
        desk.crh(&["config", "show", "--exclude", "*.md", "--exclude", "a", "--instance", "x"])
            .env("CRH_OFFLINE", "true"),
        expect![[r#"
            exit 0
            ---
            instance                "x"                               --instance
            color                   "never"                           ~/.config/crh/config.toml:1
            models                  {}                                built in
            trust                   []                                built in
            checks.analysers        "auto"                            built in
            checks.ignore           {}                                built in
            scope.exclude           ["docs/**", "*.md", "a"]          crh.toml:2, --exclude
            scope.paths             []                                built in
            scope.include           []                                built in
            scope.generated         []                                built in
            scope.max_file_bytes    1000000                           built in
            scope.strict            false                             built in
            base.branch             "trunk"                           crh.toml:5
            git.offline             true                              CRH_OFFLINE
            github.drafts           "skip"                            built in
            github.bots             "skip"                            built in
            github.skip_labels      ["crh:skip"]                      built in
            github.only_labels      []                                built in
            launchpad.service_root  "https://api.launchpad.net/devel"  built in
            launchpad.credentials   none                              built in
            model.reviewer          the default model of the first provider with an API key  built in
            model.cheap             `model.reviewer` if set, else the provider's default  built in
            model.escalation        `model.reviewer` if set, else the provider's default  built in
            model.editor            the model of `model.escalation`   built in
            model.effort            "auto"                            built in
            model.efforts           {}                                built in
            model.keys              {}                                built in
            model.headers           {}                                built in
            model.tiers             {}                                built in
            review.depth            "auto"                            built in
            review.strategy         "panel"                           built in
            review.budget           "standard"                        built in
            review.fail_on          "P1"                              built in
            review.min_severity     "P3"                              built in
            review.max_comments     from the budget profile           built in
            review.threshold        0.4                               built in
            review.language         English                           built in
            review.side_by_side     8                                 built in
            reviewers.off           []                                built in
            budget.usd              from the budget profile           built in
            budget.llm_calls        from the budget profile           built in
            budget.tool_calls       from the budget profile           built in
            budget.input_tokens     from the budget profile           built in
            budget.seconds          from the budget profile           built in
            budget.verify           from the budget profile           built in
            budget.memory_mb        1024                              built in
            fix.verify              []                                built in
            fix.verify_seconds      600                               built in
            verify.test             []                                built in
            store.folder            "HOME/.config/crh/objects"  ~/.config/crh/config.toml:5
            state.folder            "HOME/.local/state/crh"  built in
            todos.dir               ".context/compound-engineering/todos"  built in
            tracker.kind            "auto"                            built in
            tracker.team            none; Linear is not used          built in
            tracker.project         none; Jira is not used            built in
            tracker.command         []                                built in
            watch.max_usd_per_day   5.0                               built in
            watch.quiet_seconds     20                                built in
        "#]],
    );
    desk.check(
        desk.crh(&["config", "show", "--format", "json", "--offline"]).env("CRH_BASE", "next"),
        expect![[r#"
            exit 0
            ---
            {
              "base.branch": {
                "from": [
                  "CRH_BASE"
                ],
                "value": "next"
              },
              "budget.input_tokens": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "budget.llm_calls": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "budget.memory_mb": {
                "from": [
                  "built in"
                ],
                "value": 1024
              },
              "budget.seconds": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "budget.tool_calls": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "budget.usd": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "budget.verify": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "checks.analysers": {
                "from": [
                  "built in"
                ],
                "value": "auto"
              },
              "checks.ignore": {
                "from": [
                  "built in"
                ],
                "value": {}
              },
              "color": {
                "from": [
                  "~/.config/crh/config.toml:1"
                ],
                "value": "never"
              },
              "fix.verify": {
                "from": [
                  "built in"
                ],
                "value": []
              },
              "fix.verify_seconds": {
                "from": [
                  "built in"
                ],
                "value": 600
              },
              "git.offline": {
                "from": [
                  "--offline"
                ],
                "value": true
              },
              "github.bots": {
                "from": [
                  "built in"
                ],
                "value": "skip"
              },
              "github.drafts": {
                "from": [
                  "built in"
                ],
                "value": "skip"
              },
              "github.only_labels": {
                "from": [
                  "built in"
                ],
                "value": []
              },
              "github.skip_labels": {
                "from": [
                  "built in"
                ],
                "value": [
                  "crh:skip"
                ]
              },
              "instance": {
                "from": [
                  "built in"
                ],
                "value": "crh"
              },
              "launchpad.credentials": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "launchpad.service_root": {
                "from": [
                  "built in"
                ],
                "value": "https://api.launchpad.net/devel"
              },
              "model.cheap": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "model.editor": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "model.effort": {
                "from": [
                  "built in"
                ],
                "value": "auto"
              },
              "model.efforts": {
                "from": [
                  "built in"
                ],
                "value": {}
              },
              "model.escalation": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "model.headers": {
                "from": [
                  "built in"
                ],
                "value": {}
              },
              "model.keys": {
                "from": [
                  "built in"
                ],
                "value": {}
              },
              "model.reviewer": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "model.tiers": {
                "from": [
                  "built in"
                ],
                "value": {}
              },
              "models": {
                "from": [
                  "built in"
                ],
                "value": {}
              },
              "review.budget": {
                "from": [
                  "built in"
                ],
                "value": "standard"
              },
              "review.depth": {
                "from": [
                  "built in"
                ],
                "value": "auto"
              },
              "review.fail_on": {
                "from": [
                  "built in"
                ],
                "value": "P1"
              },
              "review.language": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "review.max_comments": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "review.min_severity": {
                "from": [
                  "built in"
                ],
                "value": "P3"
              },
              "review.side_by_side": {
                "from": [
                  "built in"
                ],
                "value": 8
              },
              "review.strategy": {
                "from": [
                  "built in"
                ],
                "value": "panel"
              },
              "review.threshold": {
                "from": [
                  "built in"
                ],
                "value": 0.4
              },
              "reviewers.off": {
                "from": [
                  "built in"
                ],
                "value": []
              },
              "scope.exclude": {
                "from": [
                  "crh.toml:2"
                ],
                "value": [
                  "docs/**"
                ]
              },
              "scope.generated": {
                "from": [
                  "built in"
                ],
                "value": []
              },
              "scope.include": {
                "from": [
                  "built in"
                ],
                "value": []
              },
              "scope.max_file_bytes": {
                "from": [
                  "built in"
                ],
                "value": 1000000
              },
              "scope.paths": {
                "from": [
                  "built in"
                ],
                "value": []
              },
              "scope.strict": {
                "from": [
                  "built in"
                ],
                "value": false
              },
              "state.folder": {
                "from": [
                  "built in"
                ],
                "value": "HOME/.local/state/crh"
              },
              "store.folder": {
                "from": [
                  "~/.config/crh/config.toml:5"
                ],
                "value": "HOME/.config/crh/objects"
              },
              "todos.dir": {
                "from": [
                  "built in"
                ],
                "value": ".context/compound-engineering/todos"
              },
              "tracker.command": {
                "from": [
                  "built in"
                ],
                "value": []
              },
              "tracker.kind": {
                "from": [
                  "built in"
                ],
                "value": "auto"
              },
              "tracker.project": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "tracker.team": {
                "from": [
                  "built in"
                ],
                "value": null
              },
              "trust": {
                "from": [
                  "built in"
                ],
                "value": []
              },
              "verify.test": {
                "from": [
                  "built in"
                ],
                "value": []
              },
              "watch.max_usd_per_day": {
                "from": [
                  "built in"
                ],
                "value": 5.0
              },
              "watch.quiet_seconds": {
                "from": [
                  "built in"
                ],
                "value": 20
              }
            }
        "#]],
    );
}

#[test]
fn root_config_applies_in_all_subfolders() {
    let desk = ConfigFixture::with("[base]\nbranch = \"trunk\"\n", "");
    desk.repo.write("a/b/crh.toml", "[base]\nbranch = \"other\"\n");
    let output = desk.crh_in(&desk.repo.path().join("a/b"), &["config", "show"]).run();
    assert!(output.stdout.contains("\"trunk\""), "{}", output.shown());
}

#[test]
fn user_config_applies_outside_and_in_bare_repositories() {
    let desk = ConfigFixture::with("", "color = \"always\"\n");
    let outside = TempDir::new().unwrap();
    let output = desk.crh_in(outside.path(), &["config", "show"]).run();
    assert_eq!(output.code, 0);
    let folder = outside.path().display();
    assert_eq!(
        output.stderr,
        format!("note: `{folder}` is not inside a git repository: no `crh.toml` applies\n")
    );
    assert!(output.stdout.contains("~/.config/crh/config.toml:1"), "{}", output.stdout);

    let bare = desk.repo.cloned(&["--bare"]);
    let output = desk.crh_in(bare.path(), &["config", "show"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    assert!(output.stdout.contains("~/.config/crh/config.toml:1"), "{}", output.stdout);
}

#[test]
fn bare_repository_uses_committed_config() {
    let desk = ConfigFixture::with("[base]\nbranch = \"trunk\"\n", "");
    desk.repo.commit("settings");
    let bare = desk.repo.cloned(&["--bare"]);
    let output = desk.crh_in(bare.path(), &["config", "show"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    assert!(output.stdout.contains("HEAD:crh.toml:2"), "{}", output.stdout);
    // A damaged object differs from a missing file.
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
fn user_only_keys_in_repository_are_rejected() {
    let desk = ConfigFixture::with("[store]\nfolder = \"/\"\n", "");
    desk.check(
        desk.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: crh.toml:2:1: a repository may not set `store.folder`
        hint: set it in your own config (`~/.config/crh/config.toml`) or the variable `CRH_STORE`
        ---
    "#]],
    );
    let desk = ConfigFixture::with("[scope]\nexlude = []\n", "");
    desk.check(
        desk.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: crh.toml:2:1: unknown key `exlude` in `[scope]`
        hint: did you mean `exclude`?
        ---
    "#]],
    );
}

#[test]
fn user_config_is_found_by_xdg_or_variable() {
    let desk = ConfigFixture::with("", "instance = \"usual\"\n");
    let other = desk.home.path().join("other");
    fs::create_dir_all(other.join("crh")).unwrap();
    fs::write(other.join("crh/config.toml"), "instance = \"xdg\"\n").unwrap();
    fs::write(desk.repo.path().join("named.toml"), "instance = \"named\"\n").unwrap();
    let first =
        |program: Program| program.run().stdout.lines().next().unwrap_or_default().to_owned();
    let show = || desk.crh(&["config", "show"]);
    let xdg = || show().env("XDG_CONFIG_HOME", other.to_str().unwrap());
    let seen = [first(show()), first(xdg()), first(xdg().env("CRH_CONFIG", "named.toml"))];
    let repo = desk.repo.path().to_str().unwrap();
    expect![[r#"
        instance                "usual"                           ~/.config/crh/config.toml:1
        instance                "xdg"                             ~/other/crh/config.toml:1
        instance                "named"                           REPO/named.toml:1"#]]
    .assert_eq(&seen.join("\n").replace(repo, "REPO"));
    desk.check(
        show().env("CRH_CONFIG", "missing.toml"),
        expect![[r#"
        exit 2
        error: cannot read `REPO/missing.toml`: No such file or directory (os error 2)
        hint: `CRH_CONFIG` must be the path of a file
        ---
    "#]],
    );
    // Users set `/dev/null` for "no config".
    assert_eq!(show().env("CRH_CONFIG", "/dev/null").run().code, 0);
}

#[test]
fn config_that_is_no_regular_file_is_rejected() {
    let folder = ConfigFixture::new();
    fs::create_dir_all(folder.home.path().join(".config/crh/config.toml")).unwrap();
    folder.check(
        folder.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `~/.config/crh/config.toml` is a folder, not a file
        hint: remove it, or replace it with a regular file
        ---
    "#]],
    );
    folder.check(
        folder.crh(&["config", "show"]).env("CRH_CONFIG", "."),
        expect![[r#"
        exit 2
        error: cannot read `REPO/.`: Is a directory (os error 21)
        hint: `CRH_CONFIG` must be the path of a file
        ---
    "#]],
    );
    let folder = ConfigFixture::new();
    fs::create_dir(folder.repo.path().join("crh.toml")).unwrap();
    folder.check(
        folder.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `crh.toml` is a folder, not a file
        hint: remove it, or replace it with a regular file
        ---
    "#]],
    );
    let link = ConfigFixture::new();
    symlink("/etc/passwd", link.repo.path().join("crh.toml")).unwrap();
    link.check(
        link.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `crh.toml` is a symbolic link, not a file
        hint: remove it, or replace it with a regular file
        ---
    "#]],
    );
}

#[test]
fn config_that_is_no_text_is_rejected() {
    let huge = ConfigFixture::with("", "");
    let path = huge.home.path().join(".config/crh/config.toml");
    fs::File::create(path).unwrap().set_len(1 << 30).unwrap();
    huge.check(
        huge.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `~/.config/crh/config.toml` is larger than 1 MiB
        hint: is this the right file? Config files have only a few lines
        ---
    "#]],
    );
    // Simulates a folder without search permission.
    let closed = huge.crh(&["config", "show"]).env("HOME", &format!("/{}", "n".repeat(300)));
    let shown = huge.shown(closed);
    assert!(
        shown.starts_with("exit 2\nerror: cannot read `~/.config/crh/config.toml`: "),
        "{shown}"
    );
    let bytes = ConfigFixture::new();
    bytes.repo.write("crh.toml", b"[scope]\nexclude = [\"\xff\"]\n");
    bytes.check(
        bytes.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: crh.toml:2: this is not UTF-8
        hint: save it as UTF-8
        ---
    "#]],
    );
    let mark = ConfigFixture::with("\u{feff}[scope]\n", "");
    mark.check(
        mark.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `crh.toml` starts with a byte order mark
        hint: save it as UTF-8 without one
        ---
    "#]],
    );
    let control = ConfigFixture::with("\"\u{9b}2J\\u001b\" = 1\n", "");
    control.check(
        control.crh(&["config", "show"]),
        expect![[r#"
            exit 2
            error: crh.toml:1:1: unknown key `\u{9b}2J\u{1b}` before all sections
            hint: a repository may set: `[checks]`, `[scope]`, `[base]`, `[github]`, `[review]`, `[reviewers]`, `[todos]`, `[tracker]`
            ---
        "#]],
    );
}

#[test]
fn file_in_place_of_config_folder_is_ignored() {
    let desk = ConfigFixture::new();
    let output = desk.crh(&["config", "show"]).env("HOME", "/dev/null").run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
}

#[test]
fn missing_home_is_reported_for_store_folder() {
    let desk = ConfigFixture::new();
    desk.check(
        desk.crh(&["config", "show"]).env("HOME", ""),
        expect![[r#"
        exit 2
        error: no folder for `store.folder`: `HOME` is not set to an absolute path
        hint: set `HOME`, or set `CRH_STORE` to a folder
        ---
    "#]],
    );
    let output = desk.crh(&["config", "show"]).env("HOME", "").env("CRH_STORE", "/s").run();
    assert_eq!(output.code, 0, "{}", output.stderr);
}

#[test]
fn schema_contains_keys_a_repository_may_set() {
    let desk = ConfigFixture::new();
    desk.check(desk.crh(&["config", "schema"]), expect![[r#"
        exit 0
        ---
        {
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "additionalProperties": false,
          "properties": {
            "base": {
              "additionalProperties": false,
              "properties": {
                "branch": {
                  "description": "Branch to compare changes with.",
                  "type": "string"
                }
              },
              "type": "object"
            },
            "checks": {
              "additionalProperties": false,
              "properties": {
                "ignore": {
                  "additionalProperties": {
                    "items": {
                      "type": "string"
                    },
                    "type": "array"
                  },
                  "default": {},
                  "description": "Files in which findings of static checks are ignored, by rule: `*` for all rules, `CHECK/*`, such as `secrets/*`, or the name of a rule. Findings of `injection` (text that tries to instruct the reviewing model) cannot be ignored.",
                  "type": "object"
                }
              },
              "type": "object"
            },
            "github": {
              "additionalProperties": false,
              "properties": {
                "bots": {
                  "default": "skip",
                  "description": "Whether to review pull requests of bots. Applies only in CI and to reviews that are posted.",
                  "oneOf": [
                    {
                      "const": "skip",
                      "description": "Do not review it",
                      "type": "string"
                    },
                    {
                      "const": "review",
                      "description": "Review it",
                      "type": "string"
                    }
                  ]
                },
                "drafts": {
                  "default": "skip",
                  "description": "Whether to review draft pull requests. Applies only in CI and to reviews that are posted. With `--no-skip`, crh reviews every pull request. A skipped review exits with code 4.",
                  "oneOf": [
                    {
                      "const": "skip",
                      "description": "Do not review it",
                      "type": "string"
                    },
                    {
                      "const": "review",
                      "description": "Review it",
                      "type": "string"
                    }
                  ]
                },
                "only_labels": {
                  "default": [],
                  "description": "If not empty, crh reviews only pull requests with one of these labels. Applies only in CI and to reviews that are posted.",
                  "items": {
                    "type": "string"
                  },
                  "type": "array"
                },
                "skip_labels": {
                  "default": [
                    "crh:skip"
                  ],
                  "description": "crh skips pull requests with one of these labels. Applies only in CI and to reviews that are posted.",
                  "items": {
                    "type": "string"
                  },
                  "type": "array"
                }
              },
              "type": "object"
            },
            "review": {
              "additionalProperties": false,
              "properties": {
                "depth": {
                  "default": "auto",
                  "description": "How many reviewers to run: `lite` runs one reviewer, `auto` runs those that have something to review in this change, and `full` runs all core reviewers and the specialised reviewers that the change needs.",
                  "oneOf": [
                    {
                      "const": "lite",
                      "description": "One reviewer plus the static checks",
                      "type": "string"
                    },
                    {
                      "const": "auto",
                      "description": "The reviewers that have something to review in this change",
                      "type": "string"
                    },
                    {
                      "const": "full",
                      "description": "Every reviewer that runs on all changes, plus the specialised ones that the change needs",
                      "type": "string"
                    }
                  ]
                },
                "fail_on": {
                  "default": "P1",
                  "description": "`crh review` and `crh check` exit with code 1 if there is an issue of this severity or worse. A repository can make it stricter; a milder value of a repository has no effect.",
                  "oneOf": [
                    {
                      "const": "P0",
                      "description": "Breaks production or security",
                      "type": "string"
                    },
                    {
                      "const": "P1",
                      "description": "Wrong behaviour on realistic input",
                      "type": "string"
                    },
                    {
                      "const": "P2",
                      "description": "Real, but affects few cases",
                      "type": "string"
                    },
                    {
                      "const": "P3",
                      "description": "Any issue",
                      "type": "string"
                    },
                    {
                      "const": "never",
                      "description": "Never exit with code 1",
                      "type": "string"
                    }
                  ]
                }
              },
              "type": "object"
            },
            "reviewers": {
              "additionalProperties": false,
              "properties": {
                "off": {
                  "default": [],
                  "description": "Reviewers that never run in this repository.",
                  "items": {
                    "type": "string"
                  },
                  "type": "array"
                }
              },
              "type": "object"
            },
            "scope": {
              "additionalProperties": false,
              "properties": {
                "exclude": {
                  "default": [],
                  "description": "Files that are never reviewed.",
                  "items": {
                    "type": "string"
                  },
                  "type": "array"
                },
                "generated": {
                  "default": [],
                  "description": "Generated files of this repository that crh does not recognise by itself.",
                  "items": {
                    "type": "string"
                  },
                  "type": "array"
                },
                "include": {
                  "default": [],
                  "description": "Files to review even if they are generated, vendored or lock files.",
                  "items": {
                    "type": "string"
                  },
                  "type": "array"
                },
                "max_file_bytes": {
                  "default": 1000000,
                  "description": "Changed files larger than this many bytes are not reviewed.",
                  "format": "uint64",
                  "minimum": 1,
                  "type": "integer"
                },
                "strict": {
                  "default": false,
                  "description": "Whether a review is incomplete if crh skips updates of vendored, generated and lock files, submodules or file modes.",
                  "type": "boolean"
                }
              },
              "type": "object"
            },
            "todos": {
              "additionalProperties": false,
              "properties": {
                "dir": {
                  "default": ".context/compound-engineering/todos",
                  "description": "Folder inside the repository for todo files, which autofix mode writes.",
                  "type": "string"
                }
              },
              "type": "object"
            },
            "tracker": {
              "additionalProperties": false,
              "properties": {
                "kind": {
                  "default": "auto",
                  "description": "Issue tracker in which crh files tickets, if you ask for tickets. `auto` uses the tracker that the project's documentation names, else GitHub issues. `command` runs `tracker.command`.",
                  "oneOf": [
                    {
                      "const": "auto",
                      "description": "The one that the project's documentation names, else GitHub issues",
                      "type": "string"
                    },
                    {
                      "const": "github",
                      "description": "GitHub issues",
                      "type": "string"
                    },
                    {
                      "const": "linear",
                      "description": "Linear",
                      "type": "string"
                    },
                    {
                      "const": "jira",
                      "description": "Jira",
                      "type": "string"
                    },
                    {
                      "const": "command",
                      "description": "The program in `tracker.command`",
                      "type": "string"
                    },
                    {
                      "const": "none",
                      "description": "No tracker",
                      "type": "string"
                    }
                  ]
                },
                "project": {
                  "description": "Key of the Jira project.",
                  "type": "string"
                },
                "team": {
                  "description": "Key of the Linear team.",
                  "type": "string"
                }
              },
              "type": "object"
            }
          },
          "title": "crh.toml",
          "type": "object"
        }
    "#]]);
}

#[test]
fn init_template_changes_no_setting() {
    let desk = ConfigFixture::new();
    desk.repo.write("a/b.rs", "");
    let show = || desk.shown(desk.crh(&["config", "show"]));
    let before = show();
    let inside = desk.repo.path().join("a");
    desk.check(
        desk.crh_in(&inside, &["init"]),
        expect![[r#"
        exit 0
        note: wrote `REPO/crh.toml`
        ---
    "#]],
    );
    assert_eq!(show(), before);
    let written = fs::read_to_string(desk.repo.path().join("crh.toml")).unwrap();
    assert!(written.contains("\n# max_file_bytes = 1_000_000\n"), "{written}");
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
    desk.check(
        desk.crh(&["init", "--force"]),
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
    assert_eq!(names, [".git", "crh.toml"]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is what is printed")]
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
    for (server, expected) in [
        (
            &ollama,
            expect![[r#"
                exit 0
                note: wrote `HOME/.config/crh/config.toml`
                note: chose `qwen2.5-coder:7b`; the server also has `nomic-embed-text`
                warning: the server reads at most 4096 tokens; for larger changes start it with `OLLAMA_CONTEXT_LENGTH=32768 ollama serve`
                note: test it with `crh model check ollama:qwen2.5-coder:7b@URL`
                ---
                # Settings for Ollama, from `crh init --local`.

                [model]
                reviewer = "ollama:qwen2.5-coder:7b@URL"

                [review]
                strategy = "single"   # one reviewer; a panel makes dozens of model calls
                side_by_side = 1      # a local server answers one request at a time

                [budget]
                seconds = 3600        # local models are slow
            "#]],
        ),
        (
            &studio,
            expect![[r#"
                exit 0
                note: wrote `HOME/.config/crh/config.toml`
                note: chose `qwen/qwen3-coder-30b`; the server also has `nomic-embed-text`
                warning: the server reads at most 8192 tokens; for larger changes start it with `lms load qwen/qwen3-coder-30b --context-length 32768`
                note: test it with `crh model check openai:qwen/qwen3-coder-30b@URL`
                ---
                # Settings for LM Studio, from `crh init --local`.

                [model]
                reviewer = "openai:qwen/qwen3-coder-30b@URL"

                [review]
                strategy = "single"   # one reviewer; a panel makes dozens of model calls
                side_by_side = 1      # a local server answers one request at a time

                [budget]
                seconds = 3600        # local models are slow
            "#]],
        ),
        (
            &llama,
            expect![[r#"
                exit 0
                note: wrote `HOME/.config/crh/config.toml`
                note: chose `gpt-oss-20b`; the server also has `nomic-embed-text`
                note: test it with `crh model check openai:gpt-oss-20b@URL`
                ---
                # Settings for llama.cpp, from `crh init --local`.

                [model]
                reviewer = "openai:gpt-oss-20b@URL"

                [review]
                strategy = "single"   # one reviewer; a panel makes dozens of model calls
                side_by_side = 1      # a local server answers one request at a time

                [budget]
                seconds = 3600        # local models are slow
            "#]],
        ),
    ] {
        let desk = ConfigFixture::new();
        let output = desk.crh(&["init", "--local", &server.url()]).run();
        let config = desk.home.path().join(".config/crh/config.toml");
        let written = fs::read_to_string(&config).unwrap();
        let shown = format!("{}{written}", output.shown());
        let shown = shown.replace(&server.url(), "URL");
        expected.assert_eq(&shown.replace(desk.home.path().to_str().unwrap(), "HOME"));
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

#[test]
fn invalid_user_config_stops_the_command() {
    let desk = ConfigFixture::with("", "color = 1\n");
    let report = crate::root().join("crates/crh-review/tests/data/render/report.json");
    desk.check(
        desk.crh(&["render", report.to_str().unwrap()]),
        expect![[r#"
            exit 2
            error: ~/.config/crh/config.toml:1:9: `color` must be `auto`, `always` or `never`, not `1`
            hint: example: `color = "never"`
            ---
        "#]],
    );
}
