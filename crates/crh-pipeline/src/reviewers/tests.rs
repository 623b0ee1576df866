//! Tests of reviewer files and of the catalogue.

use expect_test::{Expect, expect};

use super::catalogue::FILES;
use super::*;

/// A valid file, for tests to modify.
const FILE: &str =
    "---\nname: queries\nlens: how tables are read\ncategory: performance\n---\nLook at queries.\n";

fn catalogue_with(files: &[(&str, &str)]) -> (ReviewerCatalogue, Vec<String>) {
    let file = |(path, text): &(&str, &str)| ReviewerFile {
        path: format!(".crh/reviewers/{path}"),
        bytes: text.as_bytes().to_vec(),
    };
    let files: Vec<ReviewerFile> = files.iter().map(file).collect();
    ReviewerCatalogue::built_in().clone().with_own_reviewers(&files)
}

#[test]
fn built_in_files_parse_and_match_their_names() {
    let names: Vec<&str> =
        ReviewerCatalogue::built_in().reviewers().iter().map(|it| it.name.as_str()).collect();
    let listed: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
    for (name, text) in FILES {
        let read = reviewer_file::parse_reviewer(text.as_bytes(), ReviewerOrigin::BuiltIn);
        assert_eq!(read.map(|it| it.name).as_deref(), Ok(*name));
    }
    assert_eq!(names, listed);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/reviewers");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    let mut expected: Vec<String> = listed.iter().map(|name| format!("{name}.md")).collect();
    files.sort();
    expected.sort();
    assert_eq!(files, expected);
}

#[test]
fn names_and_aliases_are_unique() {
    let mut seen = std::collections::BTreeSet::new();
    for reviewer in ReviewerCatalogue::built_in().reviewers() {
        for name in std::iter::once(&reviewer.name).chain(&reviewer.aliases) {
            assert!(seen.insert(name.clone()), "{name}");
            assert_eq!(ReviewerCatalogue::built_in().get(name), Some(reviewer));
        }
    }
}

#[test]
fn lookup_ignores_case_and_prefix() {
    let check = |name: &str, expected: Option<&str>| {
        let actual_name = ReviewerCatalogue::built_in().get(name).map(|it| it.name.as_str());
        assert_eq!(actual_name, expected, "{name}");
    };
    check("correctness", Some("correctness"));
    check("Correctness", Some("correctness"));
    check("ce-correctness-reviewer", Some("correctness"));
    check("review:ce-correctness-reviewer", Some("correctness"));
    check("kieran-python", Some("python"));
    check("dhh-rails", Some("rails-way"));
    check("kieran-rails", Some("rails-clarity"));
    check("kieran-typescript", Some("typescript"));
    check("julik-frontend-races", Some("frontend-races"));
    check("learnings-researcher", Some("learnings"));
    check("schema-drift-detector", Some("schema-drift"));
    check("deployment-verification-agent", Some("deployment"));
    check("correct", None);
}

#[test]
fn file_sets_every_field() {
    let text = "---
name: queries
aliases: [sql]
lens: how tables are read
when:
  - fact: migrations
  - languages: [py, ruby]
    lines: 10
  - paths: ['**/models/**']
    words: [SELECT, order_by]
soft: the change reads a table in a new way
tier: strong
category: performance
route: gated_auto -> human
max_severity: P1
cap: 3
returns: findings
given: [migrations, standards]
---

# Queries
";
    let (catalogue, notes) = catalogue_with(&[("queries.md", text)]);
    assert_eq!(notes, Vec::<String>::new());
    let reviewer = catalogue.get("sql").unwrap();
    let triggers = reviewer.when.iter().map(|trigger| format!("{trigger:?}\n"));
    let rest = Reviewer { when: Vec::new(), ..reviewer.clone() };
    expect![[r##"
        Trigger { fact: Some(Migrations), lines: None, paths: None, words: [], languages: [] }
        Trigger { fact: None, lines: Some(10), paths: None, words: [], languages: ["python", "ruby"] }
        Trigger { fact: None, lines: None, paths: Some(Globs(["**/models/**"])), words: ["select", "order_by"], languages: [] }
        Reviewer { name: "queries", aliases: ["sql"], lens: "how tables are read", role: Specialist, in_full: false, when: [], soft: "the change reads a table in a new way", tier: Strong, category: Performance, route: Route { class: GatedAuto, owner: Human }, max_severity: P1, cap: 3, returns: Findings, given: [Migrations, Standards], needs: [], prompt: "# Queries", origin: Repository(".crh/reviewers/queries.md") }
    "##]].assert_eq(&format!("{}{rest:?}\n", triggers.collect::<String>()));
}

#[test]
fn missing_keys_have_careful_defaults() {
    let (catalogue, notes) = catalogue_with(&[("queries.md", FILE)]);
    let reviewer = catalogue.get("queries").unwrap();
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(
        format!(
            "{} {} {} {} {:?} {:?}",
            reviewer.tier,
            reviewer.route,
            reviewer.max_severity,
            reviewer.cap,
            reviewer.returns,
            reviewer.when
        ),
        "mid manual -> downstream-resolver P0 8 Findings []"
    );
}

/// Notes on files that differ from [`FILE`] in one text each.
fn check(others: &[(&str, &str)], expected: Expect) {
    let mut actual = String::new();
    for (text, other) in others {
        assert!(FILE.contains(text), "{text}");
        let (catalogue, notes) = catalogue_with(&[("a.md", &FILE.replace(text, other))]);
        assert_eq!(&catalogue, ReviewerCatalogue::built_in());
        let start = "the reviewer `.crh/reviewers/a.md` is not used: ";
        let [note] = notes.as_slice() else { panic!("{other}: {notes:?}") };
        actual += &format!("{}\n", note.strip_prefix(start).unwrap());
    }
    expected.assert_eq(&actual);
}

#[test]
fn unusable_file_is_skipped_with_a_hint() {
    check(
        &[
            ("---\nname", "name"),
            ("---\nLook", "Look"),
            ("Look at queries.\n", ""),
            ("lens: how tables are read\n", ""),
            ("category: performance", "category: speed"),
            ("category", "tone: kind\ncategory"),
            ("queries\n", "Queries\n"),
            ("queries\n", "queries-2\n"),
            ("category", "cap: 0\ncategory"),
            ("category", "route: manual\ncategory"),
            ("category", "route: manual -> robot\ncategory"),
            ("category", "always: full\ncategory"),
            ("category", "returns: learnings\ncategory"),
            ("category", "aliases: [Two Words]\ncategory"),
            ("name: queries", "name: ["),
        ],
        expect![[r#"
            it has no front matter: write the keys between two `---` lines at the top
            its front matter is not closed: add a `---` line after the keys
            the prompt is empty: write it after the front matter
            its front matter is invalid: missing field `lens` at line 3, column 1
            its front matter is invalid: unknown variant `speed`, expected one of security, bug, error_handling, performance, style, logic, concurrency, api_contract, data, testing, maintainability, standards, requirements at line 4, column 11
            its front matter is invalid: unknown field `tone`, expected one of name, aliases, lens, role, always, when, soft, tier, category, route, max_severity, cap, returns, given, needs at line 4, column 1
            `name: Queries` is not a valid name: use at most 40 lower-case letters, digits and hyphens, a letter first and no number at the end, such as `query-plans`
            `name: queries-2` is not a valid name: use at most 40 lower-case letters, digits and hyphens, a letter first and no number at the end, such as `query-plans`
            `cap: 0` is out of range: write a number from 1 to 50
            `route: manual` is not a valid route: write a class and an owner, such as `manual -> downstream-resolver`
            `route: manual -> robot` is not a valid route: write a class and an owner, such as `manual -> downstream-resolver`
            `always` is reserved for built-in reviewers: use `when` or `soft`
            `returns: learnings` is reserved for the built-in reviewer: write `returns: findings`
            `Two Words` is not a valid name: use lower-case letters, digits and hyphens
            its front matter is invalid: expected string scalar at line 2, column 7
        "#]],
    );
}

#[test]
fn empty_or_unknown_triggers_are_refused() {
    check(
        &[
            ("category", "when: [{}]\ncategory"),
            ("category", "when: [{lines: 3}, {words: []}]\ncategory"),
            ("category", "when: [{lines: 0}]\ncategory"),
            ("category", "when: [{fact: luck}]\ncategory"),
            ("category", "when: [{words: ['a b']}]\ncategory"),
            ("category", "when: [{languages: [cobol]}]\ncategory"),
            ("category", "when: [{paths: ['a[']}]\ncategory"),
        ],
        expect![[r#"
            entry 1 of `when` is empty: set `fact`, `lines`, `paths`, `words` or `languages`
            entry 2 of `when` has an empty list `words`: fill it or remove it
            entry 1 of `when` has `lines: 0`: write at least 1
            its front matter is invalid: unknown variant `luck`, expected one of code, code_without_tests, tests, migrations, schema, public_api, guard, injection_risk, comments, standards, solutions, agent_surface, cli, docs, frontend, rails, structure, deletions at line 4, column 15
            entry 1 of `when` has the invalid word `a b`: use only letters, digits and `_`
            entry 1 of `when` has the unknown language `cobol`: use one of python, javascript, typescript, tsx, rust, go, java, ruby, c, cpp, csharp, php, kotlin, swift
            entry 1 of `when` cannot be used: `a[` is not a pattern for paths: unclosed character class; missing ']'
        "#]],
    );
}

#[test]
fn reserved_names_are_refused() {
    for name in [
        "correctness",
        "ce-correctness-reviewer",
        "secrets",
        "scout",
        "requirements",
        "editor",
        "single",
        "orchestrator",
        "sub-agent-x",
        "validate-x",
        "sarif-x",
    ] {
        let (catalogue, notes) =
            catalogue_with(&[("a.md", &FILE.replace("queries\n", &format!("{name}\n")))]);
        assert_eq!(notes.len(), 1, "{name}");
        assert!(notes[0].contains("choose another"), "{}", notes[0]);
        assert_eq!(&catalogue, ReviewerCatalogue::built_in());
    }
}

#[test]
fn own_reviewers_come_last_and_first_file_keeps_name() {
    let second = FILE.replace("name: queries", "name: about");
    let (catalogue, notes) = catalogue_with(&[("a.md", FILE), ("b.md", &second), ("c.md", FILE)]);
    let own: Vec<String> = catalogue
        .reviewers()
        .iter()
        .filter(|it| it.origin != ReviewerOrigin::BuiltIn)
        .map(|it| format!("{} {}", it.name, it.origin))
        .collect();
    assert_eq!(own, ["about `.crh/reviewers/b.md`", "queries `.crh/reviewers/a.md`"]);
    let taken = "the name `queries` is taken by another reviewer (`.crh/reviewers/a.md`): choose another one";
    assert_eq!(notes, [format!("the reviewer `.crh/reviewers/c.md` is not used: {taken}")]);
}

#[test]
fn binary_or_large_file_is_refused() {
    let file = |bytes: Vec<u8>| ReviewerFile { path: ".crh/reviewers/a.md".to_owned(), bytes };
    let large = format!("{FILE}{}", "x".repeat(64 << 10));
    let files = [file(b"---\n\xff".to_vec()), file(large.into_bytes())];
    let (_, notes) = ReviewerCatalogue::built_in().clone().with_own_reviewers(&files);
    let notes: Vec<&str> =
        notes.iter().filter_map(|it| it.split_once(" used: ")).map(|it| it.1).collect();
    assert_eq!(
        notes,
        [
            "it is not UTF-8: save it in that encoding",
            "it has 65623 bytes: make it shorter than 65536",
        ]
    );
}
