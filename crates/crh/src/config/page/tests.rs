use std::path::PathBuf;

use expect_test::expect;

use super::*;
use crate::config::file::ConfigFile;
use crate::config::key::BuiltIn;
use crate::config::keys::{KEYS, RawSettings};
use crate::config::read::{Owner, read};

fn nobody() -> Environment {
    Environment::new(PathBuf::from("/here"), [("HOME", "/home/me".into())])
}

fn read_text(text: &str, owner: Owner) -> RawSettings {
    let bytes = text.as_bytes().to_vec();
    let file = ConfigFile::new("crh.toml".to_owned(), PathBuf::from("/r"), bytes).unwrap();
    read(&file, owner, &nobody()).unwrap_or_else(|failure| panic!("{}\n{text}", failure.error))
}

/// What one key has in a file that sets it alone.
fn value_of(key: &Key, written: &str) -> Value {
    let section = key.facts.section.map(|name| format!("[{name}]\n")).unwrap_or_default();
    let user = read_text(&format!("{section}{} = {written}", key.facts.name), Owner::User);
    let settings = Settings::resolve(Sources { user, ..Sources::default() }, &nobody());
    let (value, origins) = (key.resolved)(&settings);
    assert_ne!(origins, [Origin::BuiltIn], "{}", key.facts.path());
    value
}

#[test]
fn a_written_default_is_the_one_that_is_built_in_and_an_example_is_another() {
    let settings = Settings::resolve(Sources::default(), &nobody());
    for key in KEYS {
        let (built_in, origins) = (key.resolved)(&settings);
        assert_eq!(origins, [Origin::BuiltIn]);
        match key.facts.built_in {
            BuiltIn::Written(written) => {
                assert_eq!(value_of(key, written), built_in, "{}", key.facts.path());
                assert_ne!(value_of(key, key.facts.example), built_in, "{}", key.facts.path());
            }
            BuiltIn::Found(_) => assert!(!value_of(key, key.facts.example).is_null()),
        }
    }
}

#[test]
fn the_template_sets_nothing() {
    assert_eq!(read_text(&template(), Owner::Repository), RawSettings::default());
}

#[test]
fn every_line_of_the_template_can_be_uncommented() {
    let template = template();
    let uncommented: Vec<&str> =
        template.lines().map(|line| line.strip_prefix('#').unwrap_or(line)).collect();
    let repository = read_text(&uncommented.join("\n"), Owner::Repository);
    let settings = Settings::resolve(Sources { repository, ..Sources::default() }, &nobody());
    for key in KEYS {
        let (_, origins) = (key.resolved)(&settings);
        let from_file = matches!(origins, [Origin::File { .. }]);
        assert_eq!(from_file, key.facts.rank == Rank::Anyone, "{}", key.facts.path());
    }
}

#[test]
fn keys_before_the_sections_come_first_and_sections_stay_together() {
    let mut sections: Vec<_> = KEYS.iter().map(|key| key.facts.section).collect();
    sections.dedup();
    let distinct: std::collections::BTreeSet<_> = sections.iter().collect();
    assert_eq!(distinct.len(), sections.len(), "{sections:?}");
    assert_eq!(sections[0], None);
}

#[test]
fn values_are_shown_as_a_file_has_them_and_cannot_act_on_a_terminal() {
    let user = read_text(
        "color = \"never\"\n[store]\nfolder = \"/a\\u001b[2J\\u202e\"\n[scope]\nexclude = [\"a\", \"b\"]",
        Owner::User,
    );
    let settings = Settings::resolve(Sources { user, ..Sources::default() }, &nobody());
    expect![[r#"
        instance                "crh"                             built in
        color                   "never"                           crh.toml:1
        models                  {}                                built in
        trust                   []                                built in
        checks.analysers        "auto"                            built in
        checks.ignore           {}                                built in
        scope.exclude           ["a", "b"]                        crh.toml:5
        scope.include           []                                built in
        scope.generated         []                                built in
        scope.max_file_bytes    1000000                           built in
        base.branch             it is detected                    built in
        git.offline             false                             built in
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
        store.folder            "/a\u001b[2J\u{202e}"             crh.toml:3
        state.folder            "/home/me/.local/state/crh"       built in
        todos.dir               ".context/compound-engineering/todos"  built in
        tracker.kind            "auto"                            built in
        tracker.team            Linear is not asked               built in
        tracker.project         Jira is not asked                 built in
        tracker.command         []                                built in
    "#]]
    .assert_eq(&shown_text(&settings));
}

#[test]
fn a_template_says_what_a_key_means_and_what_is_built_in() {
    expect![[r###"
        ## How crh reviews this repository. Every line with one `#` is a setting: take the `#` off to set it.
        ## `crh config show` prints what is in effect, and where it comes from.

        [checks]
        ## Files in which findings of static reviewers do not count, by rules: `*` for all, `REVIEWER/*`, or the name of a rule. Never for `injection`.
        ## Takes a list of globs for each rule, such as ignore = { "*" = ["vendor/**"], "secrets/*" = ["testdata/**"] }
        # ignore = {}

        [scope]
        ## Files that are never reviewed.
        ## Takes a list of globs, such as exclude = ["docs/**", "*.snap"]
        # exclude = []
        ## Files that are reviewed even if they are generated, vendored or lock files.
        ## Takes a list of globs, such as include = ["vendor/ours/**"]
        # include = []
        ## Files that are generated here, besides those that can be told by their looks.
        ## Takes a list of globs, such as generated = ["src/schema.rs"]
        # generated = []
        ## A changed file with more bytes than this is left out.
        ## Takes a whole number from 1 on, such as max_file_bytes = 250_000
        # max_file_bytes = 1_000_000

        [base]
        ## The branch that changes are compared with, instead of the one that is detected.
        ## Takes the name of a branch. If it is not set, it is detected.
        # branch = "main"

        [github]
        ## Whether a draft is reviewed in CI and where the review is posted. Whoever names a pull request at a terminal wants it reviewed; `--no-skip` says so in CI. What is skipped ends with exit code 4.
        ## Takes `skip` or `review`, such as drafts = "review"
        # drafts = "skip"
        ## Whether a pull request that a bot proposes is reviewed, as `github.drafts` says it of drafts.
        ## Takes `skip` or `review`, such as bots = "review"
        # bots = "skip"
        ## Pull requests with one of these labels are skipped, as drafts are.
        ## Takes a list of labels, each of at most 50 characters, such as skip_labels = ["no-review", "wip"]
        # skip_labels = ["crh:skip"]
        ## If there are any, pull requests with none of these labels are skipped, as drafts are.
        ## Takes a list of labels, each of at most 50 characters, such as only_labels = ["review"]
        # only_labels = []

        [review]
        ## How many reviewers of a panel a change is worth.
        ## Takes `lite`, `auto` or `full`, such as depth = "full"
        # depth = "auto"

        [reviewers]
        ## Reviewers of a panel that are switched off here.
        ## Takes a list of reviewers, as `crh reviewers` names them, such as off = ["cli-readiness", "rails-way"]
        # off = []

        [todos]
        ## The folder, inside the repository, that todo files are written to in autofix mode.
        ## Takes the path of a folder inside the repository, such as dir = "docs/todos"
        # dir = ".context/compound-engineering/todos"

        [tracker]
        ## Where tickets are filed, if you ask for it: `auto` means where the project's own texts say, else issues at GitHub.
        ## Takes `auto`, `github`, `linear`, `jira`, `command` or `none`, such as kind = "linear"
        # kind = "auto"
        ## The key of the team at Linear.
        ## Takes a key of letters, digits, `_` and `-`. If it is not set, Linear is not asked.
        # team = "ENG"
        ## The key of the project at Jira.
        ## Takes a key of letters, digits, `_` and `-`. If it is not set, Jira is not asked.
        # project = "SHOP"
    "###]].assert_eq(&template());
}
