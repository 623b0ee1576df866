use std::path::PathBuf;

use expect_test::{Expect, expect};

use super::*;
use crate::config::keys::Settings;
use crate::config::resolve::SettingSources;

/// The settings of a file of the given owner, or the error.
fn settings_or_error(owner: ConfigOwner, text: &str) -> String {
    let environment = Environment::new(PathBuf::from("/here"), [("HOME", "/home/me".into())]);
    let (name, folder) = ("crh.toml".to_owned(), PathBuf::from("/etc/crh"));
    let file = ConfigFile::new(name, folder, text.as_bytes().to_vec()).unwrap();
    match read(&file, owner, &environment) {
        Ok(raw) => {
            let sources = SettingSources { user: raw, ..Default::default() };
            let settings = Settings::resolve(sources, &environment);
            let rows = KEYS.iter().filter_map(|key| {
                let (value, origins) = (key.resolved)(&settings);
                let set = matches!(origins, [SettingOrigin::File { .. }]);
                set.then(|| format!("{} = {value} ({})\n", key.spec.path(), origins[0]))
            });
            rows.collect()
        }
        Err(failure) => {
            format!("{:#}\nhint: {}\n", failure.error, failure.hint.unwrap_or_default())
        }
    }
}

/// Parses a file of the given owner and compares the settings or the error.
fn check(owner: ConfigOwner, text: &str, expected: Expect) {
    expected.assert_eq(&settings_or_error(owner, text));
}

fn repository(text: &str, expected: Expect) {
    check(ConfigOwner::Repository, text, expected);
}

fn user(text: &str, expected: Expect) {
    check(ConfigOwner::User, text, expected);
}

#[test]
fn values_have_line_numbers() {
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
fn sections_accept_all_toml_notations() {
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
fn invalid_ignored_rules_are_rejected() {
    let values = [
        r#"{ "injection/*" = ["a"] }"#,
        r#"{ "sec*" = ["a"] }"#,
        r#"{ "*" = ["a["] }"#,
        r#"["vendor/**"]"#,
    ];
    let errors = values.map(|value| {
        settings_or_error(ConfigOwner::Repository, &format!("[checks]\nignore = {value}\n"))
    });
    expect![[r#"
        crh.toml:2:12: `checks.ignore` has an invalid rule `injection/*`: findings of `injection` cannot be ignored
        hint: example: `ignore = { "*" = ["vendor/**"], "secrets/*" = ["testdata/**"] }`
        crh.toml:2:12: `checks.ignore` has an invalid rule `sec*`: use `*`, `CHECK/*` or a full rule name
        hint: example: `ignore = { "*" = ["vendor/**"], "secrets/*" = ["testdata/**"] }`
        crh.toml:2:19: `checks.ignore` has an invalid glob `a[`: unclosed character class; missing ']'
        hint: example: `ignore = { "*" = ["vendor/**"], "secrets/*" = ["testdata/**"] }`
        crh.toml:2:10: `checks.ignore` must be a table from rules to lists of globs, not a list
        hint: example: `ignore = { "*" = ["vendor/**"], "secrets/*" = ["testdata/**"] }`
    "#]]
    .assert_eq(&errors.concat());
}

#[test]
fn repository_may_set_public_keys() {
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
fn user_only_key_in_repository_is_rejected_with_hint() {
    repository(
        "[git]\noffline = false",
        expect![[r#"
            crh.toml:2:1: `git.offline` is not allowed in a repository's `crh.toml`
            hint: set it in `~/.config/crh/config.toml`, or use the variable `CRH_OFFLINE` or the flag `--offline`
        "#]],
    );
    repository(
        "[store]\nfolder = '/tmp'",
        expect![[r#"
            crh.toml:2:1: `store.folder` is not allowed in a repository's `crh.toml`
            hint: set it in `~/.config/crh/config.toml`, or use the variable `CRH_STORE`
        "#]],
    );
    repository(
        "instance = 'x'",
        expect![[r#"
            crh.toml:1:1: `instance` is not allowed in a repository's `crh.toml`
            hint: set it in `~/.config/crh/config.toml`, or use the flag `--instance`
        "#]],
    );
    repository(
        "color = 7",
        expect![[r#"
            crh.toml:1:1: `color` is not allowed in a repository's `crh.toml`
            hint: set it in `~/.config/crh/config.toml`, or use the variable `NO_COLOR` or the flag `--color`
        "#]],
    );
}

#[test]
fn unknown_key_suggests_nearest_key() {
    repository(
        "[scope]\n  exculde = []",
        expect![[r#"
        crh.toml:2:3: unknown key `exculde` in `[scope]`
        hint: did you mean `exclude`?
    "#]],
    );
    repository(
        "[scope]\nmax_file_size = 1",
        expect![[r#"
        crh.toml:2:1: unknown key `max_file_size` in `[scope]`
        hint: did you mean `max_file_bytes`?
    "#]],
    );
    repository(
        "[base]\nbranhc = 'a'",
        expect![[r#"
        crh.toml:2:1: unknown key `branhc` in `[base]`
        hint: did you mean `branch`?
    "#]],
    );
    repository(
        "colour = 'never'",
        expect![[r#"
            crh.toml:1:1: unknown key `colour` above the first section
            hint: did you mean `color`? Set it in `~/.config/crh/config.toml`, or use the variable `NO_COLOR` or the flag `--color`
        "#]],
    );
    repository(
        "[scope]\ncommand = 'rm'",
        expect![[r#"
            crh.toml:2:1: unknown key `command` in `[scope]`
            hint: `command` belongs in `[tracker]`
        "#]],
    );
    repository(
        "zebra = 1",
        expect![[r#"
            crh.toml:1:1: unknown key `zebra` above the first section
            hint: a repository may set: `[checks]`, `[scope]`, `[base]`, `[github]`, `[review]`, `[reviewers]`, `[todos]`, `[tracker]`
        "#]],
    );
}

#[test]
fn key_in_wrong_section_suggests_right_section() {
    repository(
        "exclude = []",
        expect![[r#"
            crh.toml:1:1: unknown key `exclude` above the first section
            hint: `exclude` belongs in `[scope]`
        "#]],
    );
    repository(
        "[scope]\nbranch = 'a'",
        expect![[r#"
            crh.toml:2:1: unknown key `branch` in `[scope]`
            hint: `branch` belongs in `[base]`
        "#]],
    );
    repository(
        "[base]\nexcludes = []",
        expect![[r#"
        crh.toml:2:1: unknown key `excludes` in `[base]`
        hint: did you mean `exclude`, which belongs in `[scope]`?
    "#]],
    );
    user(
        "[git]\ncolor = 'never'",
        expect![[r#"
            crh.toml:2:1: unknown key `color` in `[git]`
            hint: `color` belongs above the first section
        "#]],
    );
}

#[test]
fn unknown_section_suggests_nearest_or_lists_all() {
    repository(
        "[scop]\nexclude = []",
        expect![[r#"
        crh.toml:1:2: unknown section `scop`
        hint: did you mean `[scope]`?
    "#]],
    );
    repository(
        "[model]\nendpoint = 'http://evil'",
        expect![[r#"
            crh.toml:2:1: unknown key `endpoint` in `[model]`
            hint: a repository cannot set any key in `[model]`
        "#]],
    );
    user(
        "[foo]\n",
        expect![[r#"
        crh.toml:1:2: unknown section `foo`
        hint: known sections: `[models]`, `[checks]`, `[scope]`, `[base]`, `[git]`, `[github]`, `[launchpad]`, `[model]`, `[review]`, `[reviewers]`, `[budget]`, `[fix]`, `[verify]`, `[store]`, `[state]`, `[todos]`, `[tracker]`, `[watch]`
    "#]],
    );
    repository(
        "scope = 1",
        expect![[r#"
            crh.toml:1:1: `scope` is a section, not a key
            hint: write `[scope]` and put its keys on the lines below
        "#]],
    );
    repository(
        "[[scope]]\nexclude = []",
        expect![[r#"
            crh.toml:1:3: `scope` is a section, not a key
            hint: write `[scope]` and put its keys on the lines below
        "#]],
    );
    repository(
        "[scope.exclude]\na = 1",
        expect![[r#"
            crh.toml:1:1: `scope.exclude` must be a list of globs, not a section
            hint: example: `exclude = ["docs/**", "*.snap"]`
        "#]],
    );
}

#[test]
fn first_error_of_a_file_is_reported() {
    repository(
        "[scope]\nzoo = 1\nalso = 2\n[base]\nno = 1",
        expect![[r#"
            crh.toml:2:1: unknown key `zoo` in `[scope]`
            hint: a repository may set: `exclude`, `include`, `generated`, `max_file_bytes`, `strict`
        "#]],
    );
}

#[test]
fn invalid_value_error_has_position_and_example() {
    repository(
        "[scope]\nexclude = 'docs'",
        expect![[r#"
            crh.toml:2:11: `scope.exclude` must be a list of globs, not `docs`
            hint: example: `exclude = ["docs/**", "*.snap"]`
        "#]],
    );
    repository(
        "[scope]\nexclude = [\n  'ä', 7]",
        expect![[r#"
            crh.toml:3:8: `scope.exclude` has an invalid glob `7`: not a string
            hint: example: `exclude = ["docs/**", "*.snap"]`
        "#]],
    );
    repository(
        "[scope]\nexclude = [\n  'ä', 'a[']",
        expect![[r#"
            crh.toml:3:8: `scope.exclude` has an invalid glob `a[`: unclosed character class; missing ']'
            hint: example: `exclude = ["docs/**", "*.snap"]`
        "#]],
    );
    repository(
        "[scope]\nmax_file_bytes = 0",
        expect![[r#"
            crh.toml:2:18: `scope.max_file_bytes` must be a positive integer, not `0`
            hint: example: `max_file_bytes = 250_000`
        "#]],
    );
    repository(
        "[scope]\nmax_file_bytes = -5",
        expect![[r#"
            crh.toml:2:18: `scope.max_file_bytes` must be a positive integer, not `-5`
            hint: example: `max_file_bytes = 250_000`
        "#]],
    );
    repository(
        "[scope]\nmax_file_bytes = 99999999999999999999999",
        expect![[r#"
            crh.toml:2:18: `scope.max_file_bytes` must be a positive integer, not `99999999999999999999999`
            hint: example: `max_file_bytes = 250_000`
        "#]],
    );
    repository(
        "[scope]\nmax_file_bytes = 1.5",
        expect![[r#"
            crh.toml:2:18: `scope.max_file_bytes` must be a positive integer, not `1.5`
            hint: example: `max_file_bytes = 250_000`
        "#]],
    );
    repository(
        "[base]\nbranch = '--upload-pack=x'",
        expect![[r#"
            crh.toml:2:10: `base.branch` must be the name of a branch, not `--upload-pack=x`
            hint: example: `branch = "main"`
        "#]],
    );
    user(
        "[git]\noffline = 'yes'",
        expect![[r#"
            crh.toml:2:11: `git.offline` must be `true` or `false`, not `yes`
            hint: example: `offline = true`
        "#]],
    );
    user(
        "color = 'sometimes'",
        expect![[r#"
            crh.toml:1:9: `color` must be `auto`, `always` or `never`, not `sometimes`
            hint: example: `color = "never"`
        "#]],
    );
    user(
        "instance = 'a-->'",
        expect![[r#"
            crh.toml:1:12: `instance` cannot be `a-->`: use at most 64 letters, digits, `.`, `_` and `-`, but not `--`
            hint: example: `instance = "team-a"`
        "#]],
    );
    user(
        "[store]\nfolder = '~other/x'",
        expect![[r#"
            crh.toml:2:10: `store.folder` cannot be `~other/x`: only `~/`, your own home, is supported
            hint: example: `folder = "~/.cache/crh"`
        "#]],
    );
}

#[test]
fn invalid_toml_error_has_position() {
    repository(
        "[scope\n",
        expect![[r#"
        crh.toml:1:7: invalid TOML: unclosed table, expected `]`
        hint: `crh init` writes a template; `crh config schema` prints a JSON Schema for editors
    "#]],
    );
    repository(
        "a = 1\na = 2",
        expect![[r#"
        crh.toml:2:1: invalid TOML: duplicate key
        hint: `crh init` writes a template; `crh config schema` prints a JSON Schema for editors
    "#]],
    );
    repository(
        "[scope]\nexclude = [\"a\n",
        expect![[r#"
        crh.toml:2:14: invalid TOML: unclosed array, expected `]`
        hint: `crh init` writes a template; `crh config schema` prints a JSON Schema for editors
    "#]],
    );
    let deep = format!("a = {}", "[".repeat(100_000));
    repository(
        &deep,
        expect![[r#"
        crh.toml:1:85: invalid TOML: cannot recurse further; max recursion depth met
        hint: `crh init` writes a template; `crh config schema` prints a JSON Schema for editors
    "#]],
    );
}

#[test]
fn quoted_config_text_is_escaped_and_shortened() {
    repository(
        "\"a\\nhint: run this\" = 1",
        expect![[r#"
            crh.toml:1:1: unknown key `a\nhint: run this` above the first section
            hint: a repository may set: `[checks]`, `[scope]`, `[base]`, `[github]`, `[review]`, `[reviewers]`, `[todos]`, `[tracker]`
        "#]],
    );
    repository(
        &format!("{} = 1", "a".repeat(5_000)),
        expect![[r#"
            crh.toml:1:1: unknown key `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…` above the first section
            hint: a repository may set: `[checks]`, `[scope]`, `[base]`, `[github]`, `[review]`, `[reviewers]`, `[todos]`, `[tracker]`
        "#]],
    );
    repository(
        "[base]\nbranch = \"a\\nb\\u001b\"",
        expect![[r#"
            crh.toml:2:10: `base.branch` must be the name of a branch, not `a\nb\u{1b}`
            hint: example: `branch = "main"`
        "#]],
    );
}
