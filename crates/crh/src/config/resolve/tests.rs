use std::path::PathBuf;

use expect_test::{Expect, expect};

use super::*;
use crate::config::key::SourcedValue;
use crate::config::page::settings_text;
use crate::config::review::FailOn;
use crate::config::value::{Color, GlobList, GlobPattern};

fn file(name: &str, text: &str) -> Option<ConfigFile> {
    let bytes = text.as_bytes().to_vec();
    (!text.is_empty()).then(|| ConfigFile::new(name.to_owned(), "/etc/crh".into(), bytes).unwrap())
}

/// Input of a test, one field per source.
#[derive(Default)]
struct SettingInput {
    user: &'static str,
    repository: &'static str,
    variables: &'static [(&'static str, &'static str)],
    flags: RawSettings,
}

/// Compares all settings that differ from the default.
fn check(input: SettingInput, expected: Expect) {
    let home = [("HOME", "/home/me".into())];
    let variables = input.variables.iter().map(|(name, value)| (*name, (*value).into()));
    let environment = Environment::new(PathBuf::from("/here"), home.into_iter().chain(variables));
    let user = file("~/.config/crh/config.toml", input.user);
    let repository = file("crh.toml", input.repository);
    let text = match resolve(&environment, user.as_ref(), repository.as_ref(), input.flags) {
        Ok(settings) => {
            let text = settings_text(&settings);
            let set = text.lines().filter(|line| !line.ends_with("  built in"));
            let warning = settings.milder_fail_on().map(|warning| format!("warning: {warning}"));
            set.map(str::to_owned).chain(warning).map(|line| format!("{line}\n")).collect()
        }
        Err(failure) => {
            format!("{:#}\nhint: {}\n", failure.error, failure.hint.unwrap_or_default())
        }
    };
    expected.assert_eq(&text);
}

#[test]
fn repository_overrides_user() {
    check(
        SettingInput {
            user: "[scope]\nexclude = ['mine']\ninclude = ['mine']\n[base]\nbranch = 'mine'",
            repository: "[scope]\nexclude = ['ours']\n\n[base]\nbranch = 'ours'",
            ..SettingInput::default()
        },
        expect![[r#"
            scope.exclude           ["ours"]                          crh.toml:2
            scope.include           ["mine"]                          ~/.config/crh/config.toml:3
            base.branch             "ours"                            crh.toml:5
        "#]],
    );
}

#[test]
fn environment_overrides_files() {
    check(
        SettingInput {
            user: "color = 'always'\n[git]\noffline = false\n[store]\nfolder = 'objects'",
            repository: "[base]\nbranch = 'ours'",
            variables: &[
                ("CRH_BASE", "theirs"),
                ("CRH_OFFLINE", "1"),
                ("CRH_STORE", "objects"),
                ("NO_COLOR", "please"),
            ],
            ..SettingInput::default()
        },
        expect![[r#"
            color                   "never"                           NO_COLOR
            base.branch             "theirs"                          CRH_BASE
            git.offline             true                              CRH_OFFLINE
            store.folder            "/here/objects"                   CRH_STORE
        "#]],
    );
}

#[test]
fn flags_override_everything_and_exclude_adds() {
    let exclude = GlobList(vec![GlobPattern::parse("*.md").unwrap()]);
    check(
        SettingInput {
            user: "[scope]\nexclude = ['mine']",
            repository: "[scope]\nexclude = ['ours']",
            variables: &[("NO_COLOR", "1"), ("CRH_OFFLINE", "0")],
            flags: RawSettings {
                color: Some(SourcedValue::from_flag("--color", Color::Auto)),
                git_offline: Some(SourcedValue::from_flag("--offline", true)),
                scope_exclude: Some(SourcedValue::from_flag("--exclude", exclude)),
                ..RawSettings::default()
            },
        },
        expect![[r#"
            color                   "auto"                            --color
            scope.exclude           ["ours", "*.md"]                  crh.toml:2, --exclude
            git.offline             true                              --offline
        "#]],
    );
}

#[test]
fn repository_can_only_make_fail_on_stricter() {
    let with_user = |user, repository, expected| {
        check(SettingInput { user, repository, ..SettingInput::default() }, expected);
    };
    with_user(
        "",
        "[review]\nfail_on = 'P2'",
        expect![[r#"
            review.fail_on          "P2"                              crh.toml:2
        "#]],
    );
    with_user(
        "",
        "[review]\nfail_on = 'never'",
        expect![[r#"
            warning: `crh.toml:2`: `review.fail_on = "never"` is ignored: a repository can only be stricter than "P1" (built in)
        "#]],
    );
    with_user(
        "[review]\nfail_on = 'P3'",
        "[review]\nfail_on = 'P2'",
        expect![[r#"
            review.fail_on          "P3"                              ~/.config/crh/config.toml:2
            warning: `crh.toml:2`: `review.fail_on = "P2"` is ignored: a repository can only be stricter than "P3" (~/.config/crh/config.toml:2)
        "#]],
    );
    check(
        SettingInput {
            repository: "[review]\nfail_on = 'P2'",
            flags: RawSettings {
                review_fail_on: Some(SourcedValue::from_flag("--fail-on", FailOn::Never)),
                ..RawSettings::default()
            },
            ..SettingInput::default()
        },
        expect![[r#"
            review.fail_on          "never"                           --fail-on
        "#]],
    );
}

#[test]
fn empty_list_replaces_full_list() {
    check(
        SettingInput {
            user: "[scope]\nexclude = ['mine']",
            repository: "[scope]\nexclude = []",
            ..SettingInput::default()
        },
        expect![[r#"
            scope.exclude           []                                crh.toml:2
        "#]],
    );
}

#[test]
fn empty_variable_is_ignored() {
    check(
        SettingInput {
            variables: &[("CRH_BASE", ""), ("CRH_OFFLINE", ""), ("NO_COLOR", "")],
            ..SettingInput::default()
        },
        expect![[""]],
    );
}

#[test]
fn invalid_variable_error_names_its_key() {
    let input = |variables| SettingInput { variables, ..SettingInput::default() };
    check(
        input(&[("CRH_OFFLINE", "maybe")]),
        expect![[r#"
            the variable `CRH_OFFLINE` must be `1`, `true`, `0` or `false`, not `maybe`
            hint: it sets `git.offline`; correct or unset it
        "#]],
    );
    check(
        input(&[("CRH_BASE", "-x\n")]),
        expect![[r#"
            the variable `CRH_BASE` must be the name of a branch, not `-x\n`
            hint: it sets `base.branch`; correct or unset it
        "#]],
    );
    check(
        input(&[("CRH_STORE", "~other")]),
        expect![[r#"
            the variable `CRH_STORE` cannot be `~other`: only `~/`, your own home, is supported
            hint: it sets `store.folder`; correct or unset it
        "#]],
    );
}

#[test]
fn non_utf8_variable_is_rejected() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = || std::ffi::OsString::from_vec(vec![0xff]);
    let settled = |name| {
        let environment = Environment::new("/here".into(), [(name, bytes())]);
        resolve(&environment, None, None, RawSettings::default())
    };
    let failure = settled("CRH_BASE").unwrap_err();
    assert_eq!(failure.error.to_string(), "the variable `CRH_BASE` is not UTF-8");
    assert_eq!(settled("NO_COLOR").unwrap().color.value, Color::Never);
}

#[test]
fn without_home_only_store_folder_is_unset() {
    let environment = Environment::new("/here".into(), [("HOME", "".into())]);
    let settings = resolve(&environment, None, None, RawSettings::default()).unwrap();
    let failure = settings.store_folder.value.path().unwrap_err();
    expect!["no folder for `store.folder`: `HOME` is not set to an absolute path"]
        .assert_eq(&failure.error.to_string());
    let cache = Environment::new("/here".into(), [("XDG_CACHE_HOME", "/c".into())]);
    let settings = resolve(&cache, None, None, RawSettings::default()).unwrap();
    assert_eq!(settings.store_folder.value.path().unwrap(), PathBuf::from("/c/crh"));
}

#[test]
fn todo_folder_must_be_inside_the_repository() {
    check(
        SettingInput { repository: "[todos]\ndir = './docs/todos/'", ..SettingInput::default() },
        expect![[r#"
            todos.dir               "docs/todos"                      crh.toml:2
        "#]],
    );
    let environment = Environment::new(PathBuf::from("/here"), []);
    for dir in ["../todos", "/etc/todos", "a/../../b", ".git/todos", "", ".", "~/todos/.."] {
        let input = file("crh.toml", &format!("[todos]\ndir = '{dir}'"));
        let no_flags = || RawSettings::default();
        assert!(resolve(&environment, None, input.as_ref(), no_flags()).is_err(), "{dir}");
        assert!(resolve(&environment, input.as_ref(), None, no_flags()).is_err(), "{dir}");
    }
}

#[test]
fn repository_may_set_tracker_but_no_command() {
    check(
        SettingInput {
            repository: "[tracker]\nkind = 'jira'\nteam = 'ENG'\nproject = 'SHOP_2'",
            user: "[tracker]\ncommand = ['file-ticket', '--board', 'a b']",
            ..SettingInput::default()
        },
        expect![[r#"
            tracker.kind            "jira"                            crh.toml:2
            tracker.team            "ENG"                             crh.toml:3
            tracker.project         "SHOP_2"                          crh.toml:4
            tracker.command         ["file-ticket", "--board", "a b"]  ~/.config/crh/config.toml:2
        "#]],
    );
    check(
        SettingInput {
            repository: "[tracker]\ncommand = ['rm', '-rf', '/']",
            ..SettingInput::default()
        },
        expect![[r#"
            crh.toml:2:1: `tracker.command` is not allowed in a repository's `crh.toml`
            hint: set it in `~/.config/crh/config.toml`
        "#]],
    );
    check(
        SettingInput { repository: "[tracker]\nproject = 'X\" OR 1=1'", ..SettingInput::default() },
        expect![[r#"
            crh.toml:2:11: `tracker.project` must be a key of letters, digits, `_` and `-`, not `X\" OR 1=1`
            hint: example: `project = "SHOP"`
        "#]],
    );
    check(
        SettingInput { user: "[tracker]\ncommand = ['']", ..SettingInput::default() },
        expect![[r#"
            ~/.config/crh/config.toml:2:11: `tracker.command` must be a list of a program and its arguments, not a list
            hint: example: `command = ["file-ticket", "--board", "shop"]`
        "#]],
    );
    check(
        SettingInput { user: "[tracker]\nkind = 'trello'", ..SettingInput::default() },
        expect![[r#"
            ~/.config/crh/config.toml:2:8: `tracker.kind` must be `auto`, `github`, `linear`, `jira`, `command` or `none`, not `trello`
            hint: example: `kind = "linear"`
        "#]],
    );
}
