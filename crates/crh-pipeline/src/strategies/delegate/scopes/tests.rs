use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::strategies::delegate::files::tests::files;

/// Parses scopes from lines of `label: files`.
fn parse_scopes(text: &str) -> Vec<ScopeWanted> {
    let scope = |line: &str| {
        let (label, files) = line.split_once(':').unwrap();
        ScopeWanted {
            scope: label.trim().to_owned(),
            files: files.split_whitespace().map(str::to_owned).collect(),
            ..ScopeWanted::default()
        }
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(scope).collect()
}

fn show(division: &ScopeDivision) -> String {
    let mut actual = String::new();
    for AgentScope { label, why, focus, parts } in &division.scopes {
        let part = |part: &DiffPart| match part.diff_lines {
            Some((first, last)) => format!("{}:{first}-{last}", part.path),
            None => part.path.clone(),
        };
        let parts: Vec<String> = parts.iter().map(part).collect();
        let aside: String = [why, focus]
            .into_iter()
            .filter(|text| !text.is_empty())
            .map(|text| format!(" ({text})"))
            .collect();
        actual += &format!("{label} = {}{aside}\n", parts.join(" "));
    }
    for note in &division.notes {
        actual += &format!("- {note}\n");
    }
    actual
}

/// Files as `path changed size` with room for 100 bytes, scopes as `label: files`.
fn check(text: &str, scopes: &str, expected: Expect) {
    let division = files(text, 100).divide(&parse_scopes(scopes), &BTreeSet::new());
    expected.assert_eq(&show(&division));
}

#[test]
fn requested_scopes_are_used_in_order() {
    check(
        "a.rs 5 10\nb.rs 5 10\nc.rs 5 10",
        "second: c.rs\nfirst: b.rs a.rs",
        expect![[r#"
        second = c.rs
        first = a.rs b.rs
    "#]],
    );
}

#[test]
fn leftover_files_get_their_own_scopes() {
    check(
        "a.rs 5 10\nb.rs 5 60\nc.rs 5 60\nd.rs 5 20",
        "first: a.rs",
        expect![[r#"
            first = a.rs
            files in no scope (1 of 2) = b.rs (no scope had them)
            files in no scope (2 of 2) = c.rs d.rs (no scope had them)
            - in no scope, so they got one: `b.rs`, `c.rs`, `d.rs`
            - scope `files in no scope` was too large for one sub-agent and became 2
        "#]],
    );
}

#[test]
fn without_scopes_all_files_are_packed_in_diff_order() {
    check(
        "a.rs 5 40\nb.rs 5 40\nc.rs 5 40\nd.rs 5 40",
        "",
        expect![[r#"
        all files (1 of 2) = a.rs b.rs
        all files (2 of 2) = c.rs d.rs
        - scope `all files` was too large for one sub-agent and became 2
    "#]],
    );
}

#[test]
fn unknown_files_are_ignored_with_a_note() {
    check(
        "a.rs 5 10",
        "first: a.rs nowhere.rs ../secret ./a.rs",
        expect![[r#"
        first = a.rs
        - `nowhere.rs` of scope `first` is not a file under review
        - `../secret` of scope `first` is not a file under review
    "#]],
    );
}

#[test]
fn scope_of_unknown_files_is_dropped() {
    check(
        "a.rs 5 10",
        "first: nowhere.rs",
        expect![[r#"
            files in no scope = a.rs (no scope had them)
            - `nowhere.rs` of scope `first` is not a file under review
            - in no scope, so they got one: `a.rs`
        "#]],
    );
}

#[test]
fn file_in_two_scopes_goes_to_the_first() {
    check(
        "a.rs 5 10\nb.rs 5 10",
        "same: a.rs a.rs\nsame: a.rs b.rs",
        expect![[r#"
        same = a.rs
        same = b.rs
        - `a.rs` of scope `same` stays in scope `same`
    "#]],
    );
}

#[test]
fn large_file_gets_its_own_scope() {
    check(
        "a.rs 1499 10\nsrc/b.rs 1500 10\nc.rs 5 10\nd.rs 1500 10",
        "first: a.rs src/b.rs c.rs\nsecond: d.rs",
        expect![[r#"
            first = a.rs c.rs
            first: b.rs = src/b.rs
            second = d.rs
            - `src/b.rs` has 1500 changed lines and got a scope of its own
        "#]],
    );
}

#[test]
fn large_scopes_and_huge_files_are_split() {
    check(
        "a.rs 5 60\nhuge.rs 20000 90 90 90\nb.rs 5 60\nc.rs 5 30",
        "all: a.rs b.rs c.rs huge.rs",
        expect![[r#"
            all (1 of 2) = a.rs
            all (2 of 2) = b.rs c.rs
            all: huge.rs (1 of 3) = huge.rs:1-100
            all: huge.rs (2 of 3) = huge.rs:101-200
            all: huge.rs (3 of 3) = huge.rs:201-300
            - `huge.rs` has 20000 changed lines and was cut into 3 parts
            - scope `all` was too large for one sub-agent and became 2
        "#]],
    );
}

#[test]
fn label_is_one_short_line() {
    let long = "x".repeat(80);
    check(
        "a.rs 5 10\nb.rs 5 10",
        &format!(": a.rs\n{long}: b.rs"),
        expect![[r#"
        a.rs = a.rs
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… = b.rs
    "#]],
    );
    let hostile = ScopeWanted { scope: "a\u{1b}[2J\n\nb".to_owned(), ..ScopeWanted::default() };
    assert_eq!(label(&hostile), "a\\u{1b}[2J b");
}

#[test]
fn done_parts_are_not_assigned_again() {
    let files = files("a.rs 5 10\nhuge.rs 20000 90 90\nb.rs 5 10", 100);
    let piece = DiffPart { path: "huge.rs".to_owned(), diff_lines: Some((1, 100)) };
    let done = BTreeSet::from([DiffPart::whole("a.rs"), piece]);
    let division = files.divide(&parse_scopes("first: a.rs huge.rs"), &done);
    expect![[r#"
        first: huge.rs (2 of 2) = huge.rs:101-200
        files in no scope = b.rs (no scope had them)
        - `huge.rs` has 20000 changed lines and was cut into 2 parts
        - in no scope, so they got one: `b.rs`
        - reviewed in an earlier attempt, and not again: `a.rs`
    "#]]
    .assert_eq(&show(&division));
}

#[test]
fn confirming_scopes_may_share_a_file() {
    let confirming = |label: &str, ids: &[&str]| ScopeWanted {
        scope: label.to_owned(),
        files: vec!["a.rs".to_owned(), "nowhere.rs".to_owned()],
        focus: Some("the caller".to_owned()),
        confirms: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
    };
    let scopes = [confirming("first", &["1.1"]), confirming("second", &["1.2", "2.1"])];
    let division = files("a.rs 5 10\nb.rs 5 10", 100).divide_for_confirmation(&scopes);
    expect![[r#"
        first = a.rs (to confirm 1.1) (the caller)
        second = a.rs (to confirm 1.2, 2.1) (the caller)
        - `nowhere.rs` of scope `first` is not a file under review
        - `nowhere.rs` of scope `second` is not a file under review
    "#]]
    .assert_eq(&show(&division));
}

proptest! {
    /// For any request, every piece is in exactly one scope, no scope of several pieces is too
    /// large, and large files are alone.
    #[test]
    fn every_piece_is_in_exactly_one_scope(
        sizes in prop::collection::vec((0_u64..3_000, prop::collection::vec(1_usize..120, 1..4)), 0..12),
        scopes in prop::collection::vec(prop::collection::vec(0_usize..15, 0..8), 0..5),
    ) {
        let text: Vec<String> = sizes.iter().enumerate().map(|(at, (changed, bytes))| {
            let bytes: Vec<String> = bytes.iter().map(usize::to_string).collect();
            format!("f{at} {changed} {}", bytes.join(" "))
        }).collect();
        let files = files(&text.join("\n"), 100);
        let wanted: Vec<ScopeWanted> = scopes.iter().map(|scope| ScopeWanted {
            files: scope.iter().map(|at| format!("f{at}")).collect(),
            ..ScopeWanted::default()
        }).collect();
        let division = files.divide(&wanted, &BTreeSet::new());
        let mut given: Vec<DiffPart> = division.scopes.iter().flat_map(|scope| scope.parts.clone()).collect();
        let mut all: Vec<DiffPart> = files.iter().flat_map(|file| &file.pieces).map(|piece| piece.part.clone()).collect();
        given.sort();
        all.sort();
        prop_assert_eq!(given, all);
        for scope in &division.scopes {
            let size = |part: &DiffPart| {
                let mut pieces = files.iter().flat_map(|file| &file.pieces);
                pieces.find(|piece| piece.part == *part).unwrap().size
            };
            let is_large = |part: &DiffPart| files.iter().any(|file| file.path == part.path && is_large(file));
            prop_assert!(!scope.parts.is_empty());
            prop_assert!(scope.parts.len() == 1 || scope.parts.iter().map(size).sum::<usize>() <= 100);
            prop_assert!(scope.parts.len() == 1 || !scope.parts.iter().any(is_large));
        }
    }
}
