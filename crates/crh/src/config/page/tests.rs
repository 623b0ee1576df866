use std::path::PathBuf;

use expect_test::expect;

use super::*;
use crate::config::file::ConfigFile;
use crate::config::key::DefaultValue;
use crate::config::keys::{KEYS, RawSettings};
use crate::config::read::{ConfigOwner, read};

fn empty_environment() -> Environment {
    Environment::new(PathBuf::from("/here"), [("HOME", "/home/me".into())])
}

fn read_text(text: &str, owner: ConfigOwner) -> RawSettings {
    let bytes = text.as_bytes().to_vec();
    let file = ConfigFile::new("crh.toml".to_owned(), PathBuf::from("/r"), bytes).unwrap();
    read(&file, owner, &empty_environment())
        .unwrap_or_else(|failure| panic!("{}\n{text}", failure.error))
}

/// The value of a key in a file that sets only this key.
fn value_of(key: &ConfigKey, written: &str) -> Value {
    let section = key.spec.section.map(|name| format!("[{name}]\n")).unwrap_or_default();
    let user = read_text(&format!("{section}{} = {written}", key.spec.name), ConfigOwner::User);
    let settings = Settings::resolve(
        SettingSources { user, ..SettingSources::default() },
        &empty_environment(),
    );
    let (value, origins) = (key.resolved)(&settings);
    assert_ne!(origins, [SettingOrigin::Default], "{}", key.spec.path());
    value
}

#[test]
fn documented_default_is_correct_and_example_differs() {
    let settings = Settings::resolve(SettingSources::default(), &empty_environment());
    for key in KEYS {
        let (built_in, origins) = (key.resolved)(&settings);
        assert_eq!(origins, [SettingOrigin::Default]);
        match key.spec.default {
            DefaultValue::Literal(written) => {
                assert_eq!(value_of(key, written), built_in, "{}", key.spec.path());
                assert_ne!(value_of(key, key.spec.example), built_in, "{}", key.spec.path());
            }
            DefaultValue::Computed(_) => assert!(!value_of(key, key.spec.example).is_null()),
        }
    }
}

#[test]
fn template_sets_nothing() {
    assert_eq!(read_text(&template(), ConfigOwner::Repository), RawSettings::default());
}

#[test]
fn every_template_line_can_be_uncommented() {
    let template = template();
    let uncommented: Vec<&str> =
        template.lines().map(|line| line.strip_prefix('#').unwrap_or(line)).collect();
    let repository = read_text(&uncommented.join("\n"), ConfigOwner::Repository);
    let settings = Settings::resolve(
        SettingSources { repository, ..SettingSources::default() },
        &empty_environment(),
    );
    for key in KEYS {
        let (_, origins) = (key.resolved)(&settings);
        let from_file = matches!(origins, [SettingOrigin::File { .. }]);
        assert_eq!(from_file, key.spec.access != KeyAccess::UserOnly, "{}", key.spec.path());
    }
}

#[test]
fn top_level_keys_come_before_contiguous_sections() {
    let mut sections: Vec<_> = KEYS.iter().map(|key| key.spec.section).collect();
    sections.dedup();
    let distinct: std::collections::BTreeSet<_> = sections.iter().collect();
    assert_eq!(distinct.len(), sections.len(), "{sections:?}");
    assert_eq!(sections[0], None);
}

#[test]
fn values_are_shown_as_toml_and_escaped() {
    let user = read_text(
        "color = \"never\"\n[store]\nfolder = \"/a\\u001b[2J\\u202e\"\n[scope]\nexclude = [\"a\", \"b\"]",
        ConfigOwner::User,
    );
    let settings = Settings::resolve(
        SettingSources { user, ..SettingSources::default() },
        &empty_environment(),
    );
    expect![[r#"
        instance                "crh"                             built in
        color                   "never"                           crh.toml:1
        models                  {}                                built in
        trust                   []                                built in
        checks.analysers        "auto"                            built in
        checks.ignore           {}                                built in
        scope.exclude           ["a", "b"]                        crh.toml:5
        scope.paths             []                                built in
        scope.include           []                                built in
        scope.generated         []                                built in
        scope.max_file_bytes    1000000                           built in
        scope.strict            false                             built in
        base.branch             detected from the repository      built in
        git.offline             false                             built in
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
        review.threshold        0.5                               built in
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
        store.folder            "/a\u001b[2J\u{202e}"             crh.toml:3
        state.folder            "/home/me/.local/state/crh"       built in
        todos.dir               ".context/compound-engineering/todos"  built in
        tracker.kind            "auto"                            built in
        tracker.team            none; Linear is not used          built in
        tracker.project         none; Jira is not used            built in
        tracker.command         []                                built in
        watch.max_usd_per_day   5.0                               built in
        watch.quiet_seconds     20                                built in
    "#]]
    .assert_eq(&settings_text(&settings));
}

#[test]
fn template_has_description_and_default() {
    expect![[r###"
        ## How crh reviews this repository. Lines with a single `#` are settings with their defaults:
        ## remove the `#` to change one. `crh config show` prints the settings in effect.

        [checks]
        ## Files in which findings of static checks are ignored, by rule: `*` for all rules, `CHECK/*`, such as `secrets/*`, or the name of a rule. Findings of `injection` (text that tries to instruct the reviewing model) cannot be ignored.
        ## Value: a table from rules to lists of globs. Example: ignore = { "*" = ["vendor/**"], "secrets/*" = ["testdata/**"] }
        # ignore = {}

        [scope]
        ## Files that are never reviewed. crh still searches the changes in them for credentials of unambiguous formats.
        ## Value: a list of globs. Example: exclude = ["docs/**", "*.snap"]
        # exclude = []
        ## Files to review even if they are generated, vendored or lock files.
        ## Value: a list of globs. Example: include = ["vendor/ours/**"]
        # include = []
        ## Generated files of this repository that crh does not recognise by itself.
        ## Value: a list of globs. Example: generated = ["src/schema.rs"]
        # generated = []
        ## Changed files larger than this many bytes are not reviewed.
        ## Value: a positive integer. Example: max_file_bytes = 250_000
        # max_file_bytes = 1_000_000
        ## Whether crh exits with code 4 if it left out a change of a vendored, generated or lock file, of a submodule or of a file mode. If this is off, that counts only if crh reviewed no file at all. New code that is left out always counts.
        ## Value: `true` or `false`. Example: strict = true
        # strict = false

        [base]
        ## Branch to compare changes with.
        ## Value: the name of a branch. Default: detected from the repository.
        # branch = "main"

        [github]
        ## Whether to review draft pull requests. Applies only if crh runs in CI or posts the review. With `--no-skip`, crh reviews every pull request. A skipped review exits with code 4.
        ## Value: `skip` or `review`. Example: drafts = "review"
        # drafts = "skip"
        ## Whether to review pull requests of bots. Applies only if crh runs in CI or posts the review.
        ## Value: `skip` or `review`. Example: bots = "review"
        # bots = "skip"
        ## crh skips pull requests with one of these labels. Applies only if crh runs in CI or posts the review.
        ## Value: a list of labels, each of at most 50 characters. Example: skip_labels = ["no-review", "wip"]
        # skip_labels = ["crh:skip"]
        ## If not empty, crh reviews only pull requests with one of these labels. Applies only if crh runs in CI or posts the review.
        ## Value: a list of labels, each of at most 50 characters. Example: only_labels = ["review"]
        # only_labels = []

        [review]
        ## How many reviewers to run: `lite` runs one, `auto` runs one or two general reviewers and specialised ones for the most important topics of the change, and `full` runs all general reviewers and the specialised ones whose topic the change touches.
        ## Value: `lite`, `auto` or `full`. Example: depth = "full"
        # depth = "auto"
        ## `crh review` and `crh check` exit with code 1 if there is an issue of this severity or worse. A repository can make it stricter; a milder value of a repository has no effect.
        ## Value: `P0`, `P1`, `P2`, `P3` or `never`. Example: fail_on = "P2"
        # fail_on = "P1"

        [reviewers]
        ## Reviewers that never run in this repository.
        ## Value: a list of reviewers, as `crh reviewers` names them. Example: off = ["cli-readiness", "rails-way"]
        # off = []

        [todos]
        ## Folder inside the repository for todo files, which autofix mode writes.
        ## Value: the path of a folder inside the repository, relative to its root. Example: dir = "docs/todos"
        # dir = ".context/compound-engineering/todos"

        [tracker]
        ## Issue tracker in which crh files a ticket if you choose so in an interactive review. `auto` uses the tracker that the project's documentation names, else GitHub issues. `command` runs `tracker.command`.
        ## Value: `auto`, `github`, `linear`, `jira`, `command` or `none`. Example: kind = "linear"
        # kind = "auto"
        ## Key of the Linear team.
        ## Value: a key of letters, digits, `_` and `-`. Default: none; Linear is not used.
        # team = "ENG"
        ## Key of the Jira project.
        ## Value: a key of letters, digits, `_` and `-`. Default: none; Jira is not used.
        # project = "SHOP"
    "###]].assert_eq(&template());
}
