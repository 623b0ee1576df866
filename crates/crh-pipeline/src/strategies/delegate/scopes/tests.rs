use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::strategies::delegate::files::tests::files;

/// A scope from a line of `label: files`.
fn wanted(text: &str) -> Vec<ScopeWanted> {
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

fn shown(divided: &Divided) -> String {
    let mut shown = String::new();
    for Scope { label, why, focus, parts } in &divided.scopes {
        let part = |part: &Part| match part.diff_lines {
            Some((first, last)) => format!("{}:{first}-{last}", part.path),
            None => part.path.clone(),
        };
        let parts: Vec<String> = parts.iter().map(part).collect();
        let aside: String = [why, focus]
            .into_iter()
            .filter(|text| !text.is_empty())
            .map(|text| format!(" ({text})"))
            .collect();
        shown += &format!("{label} = {}{aside}\n", parts.join(" "));
    }
    for said in &divided.said {
        shown += &format!("- {said}\n");
    }
    shown
}

/// Files as `path changed size` with room for 100 bytes, and scopes as `label: files`.
fn check(text: &str, scopes: &str, expected: Expect) {
    let divided = files(text, 100).divided(&wanted(scopes), &BTreeSet::new());
    expected.assert_eq(&shown(&divided));
}

#[test]
fn scopes_come_as_they_are_wanted() {
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
fn files_in_no_scope_get_one_and_are_packed_together() {
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
fn without_any_scope_all_files_are_packed_in_the_order_of_the_diff() {
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
fn what_is_no_file_under_review_is_ignored_and_said() {
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
fn a_scope_of_unknown_files_is_none() {
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
fn a_file_in_two_scopes_goes_to_the_first() {
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
fn a_file_with_many_changed_lines_is_a_scope_of_its_own() {
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
fn a_scope_that_is_too_large_is_split_and_so_is_a_very_large_file() {
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
fn a_label_is_one_short_line_and_never_empty() {
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
fn what_was_done_earlier_is_given_to_nobody() {
    let files = files("a.rs 5 10\nhuge.rs 20000 90 90\nb.rs 5 10", 100);
    let piece = Part { path: "huge.rs".to_owned(), diff_lines: Some((1, 100)) };
    let done = BTreeSet::from([Part::whole("a.rs"), piece]);
    let divided = files.divided(&wanted("first: a.rs huge.rs"), &done);
    expect![[r#"
        first: huge.rs (2 of 2) = huge.rs:101-200
        files in no scope = b.rs (no scope had them)
        - `huge.rs` has 20000 changed lines and was cut into 2 parts
        - in no scope, so they got one: `b.rs`
        - reviewed in an earlier attempt, and not again: `a.rs`
    "#]]
    .assert_eq(&shown(&divided));
}

#[test]
fn those_who_confirm_may_look_at_the_same_file() {
    let confirming = |label: &str, ids: &[&str]| ScopeWanted {
        scope: label.to_owned(),
        files: vec!["a.rs".to_owned(), "nowhere.rs".to_owned()],
        focus: Some("the caller".to_owned()),
        confirms: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
    };
    let scopes = [confirming("first", &["1.1"]), confirming("second", &["1.2", "2.1"])];
    let divided = files("a.rs 5 10\nb.rs 5 10", 100).confirming(&scopes);
    expect![[r#"
        first = a.rs (to confirm 1.1) (the caller)
        second = a.rs (to confirm 1.2, 2.1) (the caller)
        - `nowhere.rs` of scope `first` is not a file under review
        - `nowhere.rs` of scope `second` is not a file under review
    "#]]
    .assert_eq(&shown(&divided));
}

proptest! {
    /// Whatever is wanted: every piece is in exactly one scope, none of several pieces is too large, and what is large
    /// stays alone.
    #[test]
    fn every_piece_of_every_file_is_given_to_one(
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
        let divided = files.divided(&wanted, &BTreeSet::new());
        let mut given: Vec<Part> = divided.scopes.iter().flat_map(|scope| scope.parts.clone()).collect();
        let mut all: Vec<Part> = files.iter().flat_map(|file| &file.pieces).map(|piece| piece.part.clone()).collect();
        given.sort();
        all.sort();
        prop_assert_eq!(given, all);
        for scope in &divided.scopes {
            let size = |part: &Part| {
                let mut pieces = files.iter().flat_map(|file| &file.pieces);
                pieces.find(|piece| piece.part == *part).unwrap().size
            };
            let is_large = |part: &Part| files.iter().any(|file| file.path == part.path && is_large(file));
            prop_assert!(!scope.parts.is_empty());
            prop_assert!(scope.parts.len() == 1 || scope.parts.iter().map(size).sum::<usize>() <= 100);
            prop_assert!(scope.parts.len() == 1 || !scope.parts.iter().any(is_large));
        }
    }
}
