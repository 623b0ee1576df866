use std::path::PathBuf;

use expect_test::{Expect, expect};

use super::*;
use crate::config::keys::Settings;
use crate::config::settle::Sources;

/// What a file of the given owner comes to: what it sets, or what is wrong with it.
fn check(owner: Owner, text: &str, expected: Expect) {
    let environment = Environment::new(PathBuf::from("/here"), [("HOME", "/home/me".into())]);
    let (name, folder) = ("crh.toml".to_owned(), PathBuf::from("/etc/crh"));
    let file = ConfigFile::new(name, folder, text.as_bytes().to_vec()).unwrap();
    let shown = match read(&file, owner, &environment) {
        Ok(raw) => {
            let sources = Sources { user: raw, ..Default::default() };
            let settings = Settings::resolve(sources, &environment);
            let rows = KEYS.iter().filter_map(|key| {
                let (value, origins) = (key.resolved)(&settings);
                let set = matches!(origins, [Origin::File { .. }]);
                set.then(|| format!("{} = {value} ({})\n", key.facts.path(), origins[0]))
            });
            rows.collect()
        }
        Err(failure) => {
            format!("{:#}\nhint: {}\n", failure.error, failure.hint.unwrap_or_default())
        }
    };
    expected.assert_eq(&shown);
}

fn repository(text: &str, expected: Expect) {
    check(Owner::Repository, text, expected);
}

fn user(text: &str, expected: Expect) {
    check(Owner::User, text, expected);
}

#[test]
fn every_value_has_the_line_it_stands_on() {
    user(
        "color = 'always'\ninstance = \"team-a\"\n\n[scope]\nexclude = [\n  \"docs/**\",\n  \"*.snap\",\n]\n\
         max_file_bytes = 0x10\n[base]\nbranch = \"release/1.x\"\n[git]\noffline = true\n\
         [store]\nfolder = \"~/objects\"\n",
        expect![[r#"
            instance = "team-a" (crh.toml:2)
            color = "always" (crh.toml:1)
            scope.exclude = ["docs/**","*.snap"] (crh.toml:5)
            scope.max_file_bytes = 16 (crh.toml:9)
            base.branch = "release/1.x" (crh.toml:11)
            git.offline = true (crh.toml:13)
            store.folder = "/home/me/objects" (crh.toml:15)
        "#]],
    );
}

#[test]
fn a_section_can_be_written_in_every_way_of_toml() {
    repository(
        "scope.include = ['a']\nbase = { branch = 'b' }",
        expect![[r#"
        scope.include = ["a"] (crh.toml:1)
        base.branch = "b" (crh.toml:2)
    "#]],
    );
    repository("[scope]\n", expect![[""]]);
    repository("", expect![[""]]);
}

#[test]
fn a_repository_sets_what_anyone_may() {
    repository(
        "[scope]\ninclude = ['vendor/ours/**']\ngenerated = ['*.pb.go']\n[base]\nbranch = 'main'",
        expect![[r#"
            scope.include = ["vendor/ours/**"] (crh.toml:2)
            scope.generated = ["*.pb.go"] (crh.toml:3)
            base.branch = "main" (crh.toml:5)
        "#]],
    );
}

#[test]
fn a_repository_that_reaches_for_the_users_keys_is_told_where_they_belong() {
    repository(
        "[git]\noffline = false",
        expect![[r#"
            crh.toml:2:1: a repository may not set `git.offline`
            hint: it belongs in your own config (`~/.config/crh/config.toml`), the variable `CRH_OFFLINE` or the flag `--offline`
        "#]],
    );
    repository(
        "[store]\nfolder = '/tmp'",
        expect![[r#"
        crh.toml:2:1: a repository may not set `store.folder`
        hint: it belongs in your own config (`~/.config/crh/config.toml`) or the variable `CRH_STORE`
    "#]],
    );
    repository(
        "instance = 'x'",
        expect![[r#"
        crh.toml:1:1: a repository may not set `instance`
        hint: it belongs in your own config (`~/.config/crh/config.toml`) or the flag `--instance`
    "#]],
    );
    repository(
        "color = 7",
        expect![[r#"
            crh.toml:1:1: a repository may not set `color`
            hint: it belongs in your own config (`~/.config/crh/config.toml`), the variable `NO_COLOR` or the flag `--color`
        "#]],
    );
}

#[test]
fn an_unknown_key_comes_with_the_known_one_that_is_nearest() {
    repository(
        "[scope]\n  exculde = []",
        expect![[r#"
        crh.toml:2:3: there is no key `exculde` in `[scope]`
        hint: did you mean `exclude`?
    "#]],
    );
    repository(
        "[scope]\nmax_file_size = 1",
        expect![[r#"
        crh.toml:2:1: there is no key `max_file_size` in `[scope]`
        hint: did you mean `max_file_bytes`?
    "#]],
    );
    repository(
        "[base]\nbranhc = 'a'",
        expect![[r#"
        crh.toml:2:1: there is no key `branhc` in `[base]`
        hint: did you mean `branch`?
    "#]],
    );
    repository(
        "colour = 'never'",
        expect![[r#"
        crh.toml:1:1: there is no key `colour` before the sections
        hint: did you mean `color`?
    "#]],
    );
    repository(
        "[scope]\ncommand = 'rm'",
        expect![[r#"
            crh.toml:2:1: there is no key `command` in `[scope]`
            hint: `command` stands in `[tracker]`
        "#]],
    );
    repository(
        "zebra = 1",
        expect![[r#"
            crh.toml:1:1: there is no key `zebra` before the sections
            hint: there are `[checks]`, `[scope]`, `[base]`, `[github]`, `[review]`, `[reviewers]`, `[todos]`, `[tracker]`
        "#]],
    );
}

#[test]
fn a_key_in_the_wrong_section_comes_with_the_right_one() {
    repository(
        "exclude = []",
        expect![[r#"
        crh.toml:1:1: there is no key `exclude` before the sections
        hint: `exclude` stands in `[scope]`
    "#]],
    );
    repository(
        "[scope]\nbranch = 'a'",
        expect![[r#"
        crh.toml:2:1: there is no key `branch` in `[scope]`
        hint: `branch` stands in `[base]`
    "#]],
    );
    repository(
        "[base]\nexcludes = []",
        expect![[r#"
        crh.toml:2:1: there is no key `excludes` in `[base]`
        hint: did you mean `exclude`, which stands in `[scope]`?
    "#]],
    );
    user(
        "[git]\ncolor = 'never'",
        expect![[r#"
        crh.toml:2:1: there is no key `color` in `[git]`
        hint: `color` stands before the sections
    "#]],
    );
}

#[test]
fn an_unknown_section_comes_with_the_nearest_or_all() {
    repository(
        "[scop]\nexclude = []",
        expect![[r#"
        crh.toml:1:2: there is no section `scop`
        hint: did you mean `[scope]`?
    "#]],
    );
    repository(
        "[model]\nendpoint = 'http://evil'",
        expect![[r#"
            crh.toml:2:1: there is no key `endpoint` in `[model]`
            hint: a repository may set nothing in `[model]`
        "#]],
    );
    repository(
        "scope = 1",
        expect![[r#"
            crh.toml:1:1: `scope` is a section, not a key
            hint: write `[scope]`, and its keys on the lines below
        "#]],
    );
    repository(
        "[[scope]]\nexclude = []",
        expect![[r#"
            crh.toml:1:3: `scope` is a section, not a key
            hint: write `[scope]`, and its keys on the lines below
        "#]],
    );
    repository(
        "[scope.exclude]\na = 1",
        expect![[r#"
            crh.toml:1:1: `scope.exclude` takes a list of globs, not a section
            hint: for example: `exclude = ["docs/**", "*.snap"]`
        "#]],
    );
}

#[test]
fn the_first_mistake_of_a_file_is_told() {
    repository(
        "[scope]\nzoo = 1\nalso = 2\n[base]\nno = 1",
        expect![[r#"
        crh.toml:2:1: there is no key `zoo` in `[scope]`
        hint: there are `exclude`, `include`, `generated`, `max_file_bytes`
    "#]],
    );
}

#[test]
fn a_bad_value_is_told_with_its_place_and_an_example() {
    repository(
        "[scope]\nexclude = 'docs'",
        expect![[r#"
            crh.toml:2:11: `scope.exclude` takes a list of globs, not `docs`
            hint: for example: `exclude = ["docs/**", "*.snap"]`
        "#]],
    );
    repository(
        "[scope]\nexclude = [\n  'ä', 7]",
        expect![[r#"
            crh.toml:3:8: `scope.exclude` cannot take the glob `7`: it is no string
            hint: for example: `exclude = ["docs/**", "*.snap"]`
        "#]],
    );
    repository(
        "[scope]\nexclude = [\n  'ä', 'a[']",
        expect![[r#"
            crh.toml:3:8: `scope.exclude` cannot take the glob `a[`: unclosed character class; missing ']'
            hint: for example: `exclude = ["docs/**", "*.snap"]`
        "#]],
    );
    repository(
        "[scope]\nmax_file_bytes = 0",
        expect![[r#"
            crh.toml:2:18: `scope.max_file_bytes` takes a whole number from 1 on, not `0`
            hint: for example: `max_file_bytes = 250_000`
        "#]],
    );
    repository(
        "[scope]\nmax_file_bytes = -5",
        expect![[r#"
            crh.toml:2:18: `scope.max_file_bytes` takes a whole number from 1 on, not `-5`
            hint: for example: `max_file_bytes = 250_000`
        "#]],
    );
    repository(
        "[scope]\nmax_file_bytes = 99999999999999999999999",
        expect![[r#"
            crh.toml:2:18: `scope.max_file_bytes` takes a whole number from 1 on, not `99999999999999999999999`
            hint: for example: `max_file_bytes = 250_000`
        "#]],
    );
    repository(
        "[scope]\nmax_file_bytes = 1.5",
        expect![[r#"
            crh.toml:2:18: `scope.max_file_bytes` takes a whole number from 1 on, not `1.5`
            hint: for example: `max_file_bytes = 250_000`
        "#]],
    );
    repository(
        "[base]\nbranch = '--upload-pack=x'",
        expect![[r#"
            crh.toml:2:10: `base.branch` takes the name of a branch, not `--upload-pack=x`
            hint: for example: `branch = "main"`
        "#]],
    );
    user(
        "[git]\noffline = 'yes'",
        expect![[r#"
            crh.toml:2:11: `git.offline` takes `true` or `false`, not `yes`
            hint: for example: `offline = true`
        "#]],
    );
    user(
        "color = 'sometimes'",
        expect![[r#"
            crh.toml:1:9: `color` takes `auto`, `always` or `never`, not `sometimes`
            hint: for example: `color = "never"`
        "#]],
    );
    user(
        "instance = 'a-->'",
        expect![[r#"
            crh.toml:1:12: `instance` cannot take `a-->`: use letters, digits, `.`, `_` and single `-`, at most 64 of them
            hint: for example: `instance = "team-a"`
        "#]],
    );
    user(
        "[store]\nfolder = '~other/x'",
        expect![[r#"
            crh.toml:2:10: `store.folder` cannot take `~other/x`: only `~/` is known, for your own home
            hint: for example: `folder = "~/.cache/crh"`
        "#]],
    );
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    repository(
        "[scope\n",
        expect![[r#"
        crh.toml:1:7: this is not TOML: unclosed table, expected `]`
        hint: `crh init` writes a file to start from; `crh config schema` serves editors
    "#]],
    );
    repository(
        "a = 1\na = 2",
        expect![[r#"
        crh.toml:2:1: this is not TOML: duplicate key
        hint: `crh init` writes a file to start from; `crh config schema` serves editors
    "#]],
    );
    repository(
        "[scope]\nexclude = [\"a\n",
        expect![[r#"
        crh.toml:2:14: this is not TOML: unclosed array, expected `]`
        hint: `crh init` writes a file to start from; `crh config schema` serves editors
    "#]],
    );
    let deep = format!("a = {}", "[".repeat(100_000));
    repository(
        &deep,
        expect![[r#"
        crh.toml:1:85: this is not TOML: cannot recurse further; max recursion depth met
        hint: `crh init` writes a file to start from; `crh config schema` serves editors
    "#]],
    );
}

#[test]
fn text_of_a_file_cannot_make_a_line_of_its_own_or_fill_an_error() {
    repository(
        "\"a\\nhint: run this\" = 1",
        expect![[r#"
            crh.toml:1:1: there is no key `a\nhint: run this` before the sections
            hint: there are `[checks]`, `[scope]`, `[base]`, `[github]`, `[review]`, `[reviewers]`, `[todos]`, `[tracker]`
        "#]],
    );
    repository(
        &format!("{} = 1", "a".repeat(5_000)),
        expect![[r#"
            crh.toml:1:1: there is no key `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…` before the sections
            hint: there are `[checks]`, `[scope]`, `[base]`, `[github]`, `[review]`, `[reviewers]`, `[todos]`, `[tracker]`
        "#]],
    );
    repository(
        "[base]\nbranch = \"a\\nb\\u001b\"",
        expect![[r#"
            crh.toml:2:10: `base.branch` takes the name of a branch, not `a\nb\u{1b}`
            hint: for example: `branch = "main"`
        "#]],
    );
}
