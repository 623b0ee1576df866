//! `crh config` and `crh init`: settings as a user meets them, in real folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use expect_test::{Expect, expect};
use tempfile::TempDir;

use crh_testkit::{Program, Repo};

/// A repository and a user with a home.
struct Desk {
    repo: Repo,
    home: TempDir,
}

impl Desk {
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

    /// What a run shows, with the folders of this desk by name.
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
fn every_value_is_shown_with_where_it_comes_from() {
    let desk = Desk::with(
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
            scope.include           []                                built in
            scope.generated         []                                built in
            scope.max_file_bytes    1000000                           built in
            base.branch             "trunk"                           crh.toml:5
            git.offline             true                              CRH_OFFLINE
            github.drafts           "skip"                            built in
            github.bots             "skip"                            built in
            github.skip_labels      ["crh:skip"]                      built in
            github.only_labels      []                                built in
            launchpad.service_root  "https://api.launchpad.net/devel"  built in
            launchpad.credentials   none                              built in
            model.reviewer          of the first provider with a key  built in
            model.cheap             the provider's own, or the reviewer if one is named  built in
            model.escalation        the provider's own, or the reviewer if one is named  built in
            model.keys              {}                                built in
            model.tiers             {}                                built in
            review.depth            "auto"                            built in
            review.strategy         "panel"                           built in
            review.budget           "standard"                        built in
            review.fail_on          "P1"                              built in
            review.min_severity     "P3"                              built in
            review.language         English                           built in
            review.side_by_side     8                                 built in
            reviewers.off           []                                built in
            budget.usd              the profile's own                 built in
            budget.llm_calls        the profile's own                 built in
            budget.tool_calls       the profile's own                 built in
            budget.input_tokens     the profile's own                 built in
            budget.seconds          the profile's own                 built in
            budget.verify           the profile's own                 built in
            budget.issues           the profile's own                 built in
            fix.verify              []                                built in
            fix.verify_seconds      600                               built in
            store.folder            "HOME/.config/crh/objects"  ~/.config/crh/config.toml:5
            state.folder            "HOME/.local/state/crh"  built in
            todos.dir               ".context/compound-engineering/todos"  built in
            tracker.kind            "auto"                            built in
            tracker.team            Linear is not asked               built in
            tracker.project         Jira is not asked                 built in
            tracker.command         []                                built in
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
              "budget.issues": {
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
              "model.escalation": {
                "from": [
                  "built in"
                ],
                "value": null
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
              }
            }
        "#]],
    );
}

#[test]
fn the_file_of_the_root_counts_in_every_folder_of_the_checkout() {
    let desk = Desk::with("[base]\nbranch = \"trunk\"\n", "");
    desk.repo.write("a/b/crh.toml", "[base]\nbranch = \"other\"\n");
    let output = desk.crh_in(&desk.repo.path().join("a/b"), &["config", "show"]).run();
    assert!(output.stdout.contains("\"trunk\""), "{}", output.shown());
}

#[test]
fn outside_a_repository_and_in_a_bare_one_the_user_still_counts() {
    let desk = Desk::with("", "color = \"always\"\n");
    let outside = TempDir::new().unwrap();
    let output = desk.crh_in(outside.path(), &["config", "show"]).run();
    assert_eq!(output.code, 0);
    let folder = outside.path().display();
    assert_eq!(
        output.stderr,
        format!("note: `{folder}` is not inside a git repository, so no `crh.toml` is in effect\n")
    );
    assert!(output.stdout.contains("~/.config/crh/config.toml:1"), "{}", output.stdout);

    desk.repo.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    let output = desk.crh_in(&desk.repo.path().join("bare.git"), &["config", "show"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    assert!(output.stdout.contains("~/.config/crh/config.toml:1"), "{}", output.stdout);
}

#[test]
fn in_a_bare_repository_the_committed_file_counts() {
    let desk = Desk::with("[base]\nbranch = \"trunk\"\n", "");
    desk.repo.commit("settings");
    desk.repo.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    let bare = desk.repo.path().join("bare.git");
    let output = desk.crh_in(&bare, &["config", "show"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    assert!(output.stdout.contains("HEAD:crh.toml:2"), "{}", output.stdout);
    // One that cannot be read is not the same as none.
    fs::remove_file(desk.repo.path().join("crh.toml")).unwrap();
    symlink("/etc/passwd", desk.repo.path().join("crh.toml")).unwrap();
    desk.repo.git(&["add", "crh.toml"]);
    desk.repo.git(&["commit", "--quiet", "--message", "a link"]);
    desk.repo.git(&["push", "--quiet", "bare.git", "main"]);
    desk.check(
        desk.crh_in(&bare, &["config", "show"]),
        expect![[r#"
            exit 2
            error: `HEAD:crh.toml` is a link, not a file
            hint: commit the file itself
            ---
        "#]],
    );
}

#[test]
fn what_a_repository_may_not_set_is_refused_and_never_followed() {
    let desk = Desk::with("[store]\nfolder = \"/\"\n", "");
    desk.check(desk.crh(&["config", "show"]), expect![[r#"
        exit 2
        error: crh.toml:2:1: a repository may not set `store.folder`
        hint: it belongs in your own config (`~/.config/crh/config.toml`) or the variable `CRH_STORE`
        ---
    "#]]);
    let desk = Desk::with("[scope]\nexlude = []\n", "");
    desk.check(
        desk.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: crh.toml:2:1: there is no key `exlude` in `[scope]`
        hint: did you mean `exclude`?
        ---
    "#]],
    );
}

#[test]
fn the_users_config_is_where_xdg_or_the_variable_says() {
    let desk = Desk::with("", "instance = \"usual\"\n");
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
        error: reading `REPO/missing.toml`: No such file or directory (os error 2)
        hint: `CRH_CONFIG` names it; is it a file?
        ---
    "#]],
    );
    // The idiom for "none at all".
    assert_eq!(show().env("CRH_CONFIG", "/dev/null").run().code, 0);
}

#[test]
fn what_is_no_file_is_one_sentence() {
    let folder = Desk::new();
    fs::create_dir_all(folder.home.path().join(".config/crh/config.toml")).unwrap();
    folder.check(
        folder.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `~/.config/crh/config.toml` is a folder, not a file
        hint: move it away, or put the file itself there
        ---
    "#]],
    );
    folder.check(
        folder.crh(&["config", "show"]).env("CRH_CONFIG", "."),
        expect![[r#"
        exit 2
        error: reading `REPO/.`: Is a directory (os error 21)
        hint: `CRH_CONFIG` names it; is it a file?
        ---
    "#]],
    );
    let folder = Desk::new();
    fs::create_dir(folder.repo.path().join("crh.toml")).unwrap();
    folder.check(
        folder.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `crh.toml` is a folder, not a file
        hint: move it away, or put the file itself there
        ---
    "#]],
    );
    let link = Desk::new();
    symlink("/etc/passwd", link.repo.path().join("crh.toml")).unwrap();
    link.check(
        link.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `crh.toml` is a symbolic link, not a file
        hint: move it away, or put the file itself there
        ---
    "#]],
    );
}

#[test]
fn what_cannot_be_read_as_text_is_one_sentence() {
    let huge = Desk::with("", "");
    let path = huge.home.path().join(".config/crh/config.toml");
    fs::File::create(path).unwrap().set_len(1 << 30).unwrap();
    huge.check(
        huge.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `~/.config/crh/config.toml` is larger than 1 MiB
        hint: a file of settings is a few lines; is it the right file?
        ---
    "#]],
    );
    // As a folder that the user may not enter: something is there, and it cannot be looked at.
    let closed = huge.crh(&["config", "show"]).env("HOME", &format!("/{}", "n".repeat(300)));
    let shown = huge.shown(closed);
    assert!(shown.starts_with("exit 2\nerror: reading `~/.config/crh/config.toml`: "), "{shown}");
    let bytes = Desk::new();
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
    let mark = Desk::with("\u{feff}[scope]\n", "");
    mark.check(
        mark.crh(&["config", "show"]),
        expect![[r#"
        exit 2
        error: `crh.toml` starts with a byte order mark
        hint: save it as UTF-8 without one
        ---
    "#]],
    );
    let control = Desk::with("\"\u{9b}2J\\u001b\" = 1\n", "");
    control.check(
        control.crh(&["config", "show"]),
        expect![[r#"
            exit 2
            error: crh.toml:1:1: there is no key `\u{9b}2J\u{1b}` before the sections
            hint: there are `[checks]`, `[scope]`, `[base]`, `[github]`, `[review]`, `[reviewers]`, `[todos]`, `[tracker]`
            ---
        "#]],
    );
}

#[test]
fn a_file_in_the_place_of_the_config_folder_is_no_config() {
    let desk = Desk::new();
    let output = desk.crh(&["config", "show"]).env("HOME", "/dev/null").run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
}

#[test]
fn without_a_home_the_store_has_no_place() {
    let desk = Desk::new();
    desk.check(
        desk.crh(&["config", "show"]).env("HOME", ""),
        expect![[r#"
        exit 2
        error: there is no place for `store.folder`: `HOME` is not set to an absolute path
        hint: set `HOME`, or name a folder in `CRH_STORE`
        ---
    "#]],
    );
    let output = desk.crh(&["config", "show"]).env("HOME", "").env("CRH_STORE", "/s").run();
    assert_eq!(output.code, 0, "{}", output.stderr);
}

#[test]
fn the_schema_has_what_a_repository_may_set() {
    let desk = Desk::new();
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
                  "description": "The branch that changes are compared with, instead of the one that is detected.",
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
                  "description": "Files in which findings of static reviewers do not count, by rules: `*` for all, `REVIEWER/*`, or the name of a rule. Never for `injection`.",
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
                  "description": "Whether a pull request that a bot proposes is reviewed, as `github.drafts` says it of drafts.",
                  "oneOf": [
                    {
                      "const": "skip",
                      "description": "It is not reviewed",
                      "type": "string"
                    },
                    {
                      "const": "review",
                      "description": "It is reviewed as any other",
                      "type": "string"
                    }
                  ]
                },
                "drafts": {
                  "default": "skip",
                  "description": "Whether a draft is reviewed in CI and where the review is posted. Whoever names a pull request at a terminal wants it reviewed; `--no-skip` says so in CI. What is skipped ends with exit code 4.",
                  "oneOf": [
                    {
                      "const": "skip",
                      "description": "It is not reviewed",
                      "type": "string"
                    },
                    {
                      "const": "review",
                      "description": "It is reviewed as any other",
                      "type": "string"
                    }
                  ]
                },
                "only_labels": {
                  "default": [],
                  "description": "If there are any, pull requests with none of these labels are skipped, as drafts are.",
                  "items": {
                    "type": "string"
                  },
                  "type": "array"
                },
                "skip_labels": {
                  "default": [
                    "crh:skip"
                  ],
                  "description": "Pull requests with one of these labels are skipped, as drafts are.",
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
                  "description": "How many reviewers of a panel a change is worth.",
                  "oneOf": [
                    {
                      "const": "lite",
                      "description": "One reviewer, and the checks that need no model",
                      "type": "string"
                    },
                    {
                      "const": "auto",
                      "description": "As many as have something to look at",
                      "type": "string"
                    },
                    {
                      "const": "full",
                      "description": "The whole panel, and whoever the change asks for besides",
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
                  "description": "Reviewers of a panel that are switched off here.",
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
                  "description": "Files that are generated here, besides those that can be told by their looks.",
                  "items": {
                    "type": "string"
                  },
                  "type": "array"
                },
                "include": {
                  "default": [],
                  "description": "Files that are reviewed even if they are generated, vendored or lock files.",
                  "items": {
                    "type": "string"
                  },
                  "type": "array"
                },
                "max_file_bytes": {
                  "default": 1000000,
                  "description": "A changed file with more bytes than this is left out.",
                  "format": "uint64",
                  "minimum": 1,
                  "type": "integer"
                }
              },
              "type": "object"
            },
            "todos": {
              "additionalProperties": false,
              "properties": {
                "dir": {
                  "default": ".context/compound-engineering/todos",
                  "description": "The folder, inside the repository, that todo files are written to in autofix mode.",
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
                  "description": "Where tickets are filed, if you ask for it: `auto` means where the project's own texts say, else issues at GitHub.",
                  "oneOf": [
                    {
                      "const": "auto",
                      "description": "Where the project's own texts say",
                      "type": "string"
                    },
                    {
                      "const": "github",
                      "description": "Issues at GitHub",
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
                      "description": "The command of `tracker.command`",
                      "type": "string"
                    },
                    {
                      "const": "none",
                      "description": "Nowhere",
                      "type": "string"
                    }
                  ]
                },
                "project": {
                  "description": "The key of the project at Jira.",
                  "type": "string"
                },
                "team": {
                  "description": "The key of the team at Linear.",
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
fn init_writes_a_file_that_changes_nothing() {
    let desk = Desk::new();
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
fn init_replaces_a_file_only_when_told_to() {
    let desk = Desk::with("# mine\n", "");
    let path = desk.repo.path().join("crh.toml");
    desk.check(
        desk.crh(&["init"]),
        expect![[r#"
        exit 2
        error: there is a `REPO/crh.toml` already
        hint: move it away; `--force` replaces a `crh.toml`
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
    // A link is replaced, and what it leads to is left alone.
    let outside = desk.home.path().join("precious");
    fs::write(&outside, "precious").unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&outside, &path).unwrap();
    assert_eq!(desk.crh(&["init"]).run().code, 2);
    assert_eq!(desk.crh(&["init", "--force"]).run().code, 0);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
    assert!(path.symlink_metadata().unwrap().is_file());
    // Nothing else is left behind, not even by a failure.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(desk.crh(&["init", "--force"]).run().code, 2);
    let mut names: Vec<_> =
        fs::read_dir(desk.repo.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".git", "crh.toml"]);
}

#[test]
fn init_needs_a_checkout() {
    let desk = Desk::new();
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
        error: there is no checkout here to write into
        hint: run `crh init` inside a checkout
        ---
    "#]],
    );
}

#[test]
fn how_a_report_looks_is_a_setting_that_a_flag_overrides() {
    let desk = Desk::with("", "color = \"always\"\ninstance = \"team-a\"\n");
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
fn a_broken_config_of_the_user_stops_what_reads_it() {
    let desk = Desk::with("", "color = 1\n");
    let report = crate::root().join("crates/crh-review/tests/data/render/report.json");
    desk.check(
        desk.crh(&["render", report.to_str().unwrap()]),
        expect![[r#"
        exit 2
        error: ~/.config/crh/config.toml:1:9: `color` takes `auto`, `always` or `never`, not `1`
        hint: for example: `color = "never"`
        ---
    "#]],
    );
}
