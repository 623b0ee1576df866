use std::path::PathBuf;

use expect_test::{Expect, expect};

use super::*;
use crate::config::key::Given;
use crate::config::page::shown_text;
use crate::config::value::{Color, Glob, Globs};

fn file(name: &str, text: &str) -> Option<ConfigFile> {
    let bytes = text.as_bytes().to_vec();
    (!text.is_empty()).then(|| ConfigFile::new(name.to_owned(), "/etc/crh".into(), bytes).unwrap())
}

/// One source a field; what is left out says nothing.
#[derive(Default)]
struct Said {
    user: &'static str,
    repository: &'static str,
    variables: &'static [(&'static str, &'static str)],
    flags: RawSettings,
}

/// What is in effect, without what is built in.
fn check(said: Said, expected: Expect) {
    let home = [("HOME", "/home/me".into())];
    let variables = said.variables.iter().map(|(name, value)| (*name, (*value).into()));
    let environment = Environment::new(PathBuf::from("/here"), home.into_iter().chain(variables));
    let user = file("~/.config/crh/config.toml", said.user);
    let repository = file("crh.toml", said.repository);
    let shown = match settle(&environment, user.as_ref(), repository.as_ref(), said.flags) {
        Ok(settings) => {
            let text = shown_text(&settings);
            let set = text.lines().filter(|line| !line.ends_with("  built in"));
            set.map(|line| format!("{line}\n")).collect()
        }
        Err(failure) => {
            format!("{:#}\nhint: {}\n", failure.error, failure.hint.unwrap_or_default())
        }
    };
    expected.assert_eq(&shown);
}

#[test]
fn the_repository_counts_for_more_than_the_user() {
    check(
        Said {
            user: "[scope]\nexclude = ['mine']\ninclude = ['mine']\n[base]\nbranch = 'mine'",
            repository: "[scope]\nexclude = ['ours']\n\n[base]\nbranch = 'ours'",
            ..Said::default()
        },
        expect![[r#"
            scope.exclude           ["ours"]                          crh.toml:2
            scope.include           ["mine"]                          ~/.config/crh/config.toml:3
            base.branch             "ours"                            crh.toml:5
        "#]],
    );
}

#[test]
fn the_environment_counts_for_more_than_files() {
    check(
        Said {
            user: "color = 'always'\n[git]\noffline = false\n[store]\nfolder = 'objects'",
            repository: "[base]\nbranch = 'ours'",
            variables: &[
                ("CRH_BASE", "theirs"),
                ("CRH_OFFLINE", "1"),
                ("CRH_STORE", "objects"),
                ("NO_COLOR", "please"),
            ],
            ..Said::default()
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
fn flags_count_for_more_than_anything_and_exclude_adds() {
    let exclude = Globs(vec![Glob::parse("*.md").unwrap()]);
    check(
        Said {
            user: "[scope]\nexclude = ['mine']",
            repository: "[scope]\nexclude = ['ours']",
            variables: &[("NO_COLOR", "1"), ("CRH_OFFLINE", "0")],
            flags: RawSettings {
                color: Some(Given::by_flag("--color", Color::Auto)),
                git_offline: Some(Given::by_flag("--offline", true)),
                scope_exclude: Some(Given::by_flag("--exclude", exclude)),
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
fn an_empty_list_takes_the_place_of_a_full_one() {
    check(
        Said {
            user: "[scope]\nexclude = ['mine']",
            repository: "[scope]\nexclude = []",
            ..Said::default()
        },
        expect![[r#"
            scope.exclude           []                                crh.toml:2
        "#]],
    );
}

#[test]
fn an_empty_variable_says_nothing() {
    check(
        Said {
            variables: &[("CRH_BASE", ""), ("CRH_OFFLINE", ""), ("NO_COLOR", "")],
            ..Said::default()
        },
        expect![[""]],
    );
}

#[test]
fn a_variable_that_cannot_be_read_is_told_with_its_key() {
    let said = |variables| Said { variables, ..Said::default() };
    check(
        said(&[("CRH_OFFLINE", "maybe")]),
        expect![[r#"
        the variable `CRH_OFFLINE` takes `1`, `true`, `0` or `false`, not `maybe`
        hint: it stands for `git.offline`; unset it, or correct it
    "#]],
    );
    check(
        said(&[("CRH_BASE", "-x\n")]),
        expect![[r#"
        the variable `CRH_BASE` takes the name of a branch, not `-x\n`
        hint: it stands for `base.branch`; unset it, or correct it
    "#]],
    );
    check(
        said(&[("CRH_STORE", "~other")]),
        expect![[r#"
        the variable `CRH_STORE` cannot take `~other`: only `~/` is known, for your own home
        hint: it stands for `store.folder`; unset it, or correct it
    "#]],
    );
}

#[test]
fn a_variable_that_is_no_text_is_refused_where_text_is_needed() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = || std::ffi::OsString::from_vec(vec![0xff]);
    let settled = |name| {
        let environment = Environment::new("/here".into(), [(name, bytes())]);
        settle(&environment, None, None, RawSettings::default())
    };
    let failure = settled("CRH_BASE").unwrap_err();
    assert_eq!(failure.error.to_string(), "the variable `CRH_BASE` is not UTF-8");
    assert_eq!(settled("NO_COLOR").unwrap().color.value, Color::Never);
}

#[test]
fn without_a_home_only_the_store_has_no_place() {
    let environment = Environment::new("/here".into(), [("HOME", "".into())]);
    let settings = settle(&environment, None, None, RawSettings::default()).unwrap();
    let failure = settings.store_folder.value.path().unwrap_err();
    expect!["there is no place for `store.folder`: `HOME` is not set to an absolute path"]
        .assert_eq(&failure.error.to_string());
    let cache = Environment::new("/here".into(), [("XDG_CACHE_HOME", "/c".into())]);
    let settings = settle(&cache, None, None, RawSettings::default()).unwrap();
    assert_eq!(settings.store_folder.value.path().unwrap(), PathBuf::from("/c/crh"));
}

#[test]
fn a_folder_of_todos_is_inside_the_repository() {
    check(
        Said { repository: "[todos]\ndir = './docs/todos/'", ..Said::default() },
        expect![[r#"
            todos.dir               "docs/todos"                      crh.toml:2
        "#]],
    );
    let environment = Environment::new(PathBuf::from("/here"), []);
    for dir in ["../todos", "/etc/todos", "a/../../b", ".git/todos", "", ".", "~/todos/.."] {
        let said = file("crh.toml", &format!("[todos]\ndir = '{dir}'"));
        let none = || RawSettings::default();
        assert!(settle(&environment, None, said.as_ref(), none()).is_err(), "{dir}");
        assert!(settle(&environment, said.as_ref(), None, none()).is_err(), "{dir}");
    }
}

#[test]
fn a_repository_names_its_tracker_and_never_a_command() {
    check(
        Said {
            repository: "[tracker]\nkind = 'jira'\nteam = 'ENG'\nproject = 'SHOP_2'",
            user: "[tracker]\ncommand = ['file-ticket', '--board', 'a b']",
            ..Said::default()
        },
        expect![[r#"
            tracker.kind            "jira"                            crh.toml:2
            tracker.team            "ENG"                             crh.toml:3
            tracker.project         "SHOP_2"                          crh.toml:4
            tracker.command         ["file-ticket", "--board", "a b"]  ~/.config/crh/config.toml:2
        "#]],
    );
    check(
        Said { repository: "[tracker]\ncommand = ['rm', '-rf', '/']", ..Said::default() },
        expect![[r#"
            crh.toml:2:1: a repository may not set `tracker.command`
            hint: it belongs in your own config (`~/.config/crh/config.toml`)
        "#]],
    );
    check(
        Said { repository: "[tracker]\nproject = 'X\" OR 1=1'", ..Said::default() },
        expect![[r#"
            crh.toml:2:11: `tracker.project` takes a key of letters, digits, `_` and `-`, not `X\" OR 1=1`
            hint: for example: `project = "SHOP"`
        "#]],
    );
    check(
        Said { user: "[tracker]\ncommand = ['']", ..Said::default() },
        expect![[r#"
        ~/.config/crh/config.toml:2:11: `tracker.command` takes a list of words: a program and its arguments, not a list
        hint: for example: `command = ["file-ticket", "--board", "shop"]`
    "#]],
    );
    check(
        Said { user: "[tracker]\nkind = 'trello'", ..Said::default() },
        expect![[r#"
        ~/.config/crh/config.toml:2:8: `tracker.kind` takes `auto`, `github`, `linear`, `jira`, `command` or `none`, not `trello`
        hint: for example: `kind = "linear"`
    "#]],
    );
}
