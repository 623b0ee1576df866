//! Tests of which findings are claims.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn finding(title: &str, why: &str) -> Finding {
    serde_json::from_value(json!({
        "title": title, "severity": "P1", "category": "bug", "file": "a.rs", "line_start": 1,
        "confidence": 0.75, "evidence": [], "why_it_matters": why, "autofix_class": "manual",
        "owner": "human", "requires_verification": false, "pre_existing": false,
    }))
    .unwrap()
}

/// One finding per line: title, and explanation after `//`.
fn check(table: &str, expected: Expect) {
    let mut actual = String::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (title, why) = line.split_once(" // ").unwrap_or((line, "It is wrong."));
        let claim = match parse_claim(&finding(title, why)) {
            Some(claim) => format!("{:?} {}", claim.kind, claim.name),
            None => "no claim".to_owned(),
        };
        actual += &format!("{claim} | {line}\n");
    }
    expected.assert_eq(&actual);
}

#[test]
fn word_lists_are_sorted() {
    assert!(FILLER_WORDS.is_sorted());
    assert!(SYNONYMS.is_sorted_by_key(|(from, _)| from));
}

#[test]
fn plain_statements_about_one_name_are_claims() {
    check(
        "
        `total` is never called
        The new helper `total()` is never called anywhere.
        Function parse_total is unused
        Unused function `total`
        Dead code: `Cart.total` is never used
        `total` is dead code, so it should go
        Nothing calls parseTotal any more
        Unused import: `os`
        Unused import 'os'
        `json` imported but unused
        The import `json` isn't used
        `Decimal` is not defined
        Undefined variable `rate`
        Missing import for `Decimal`
        NameError at start // `json` is used but never imported. It fails.
        Dead code // `total` is never called.
        Duplicate definition of `total`
        `Cart::total` is defined twice
        `os` is imported twice
        ",
        expect![[r#"
            Uncalled total | `total` is never called
            Uncalled total | The new helper `total()` is never called anywhere.
            Unused parse_total | Function parse_total is unused
            Unused total | Unused function `total`
            Unused Cart.total | Dead code: `Cart.total` is never used
            Unused total | `total` is dead code, so it should go
            Uncalled parseTotal | Nothing calls parseTotal any more
            UnusedImport os | Unused import: `os`
            UnusedImport os | Unused import 'os'
            UnusedImport json | `json` imported but unused
            UnusedImport json | The import `json` isn't used
            Undefined Decimal | `Decimal` is not defined
            Undefined rate | Undefined variable `rate`
            NotImported Decimal | Missing import for `Decimal`
            NotImported json | NameError at start // `json` is used but never imported. It fails.
            Uncalled total | Dead code // `total` is never called.
            DefinedTwice total | Duplicate definition of `total`
            DefinedTwice Cart::total | `Cart::total` is defined twice
            ImportedTwice os | `os` is imported twice
        "#]],
    );
}

#[test]
fn other_statements_are_no_claims() {
    check(
        "
        `total` is never called on shutdown
        `total` is never called with the lock held
        If it fails, `total` is never called
        `total` is not used when empty
        The result of `total` is never used
        Return value of `total()` is unused
        Unused variable `total`
        Unused parameter `total` in `sum`
        `total` may be undefined
        `total` is undefined if the loop never runs
        `total` returns undefined
        `total` and `sum` are unused
        total is unused
        Wrong total // `apply_discount` is never called. Full price is charged.
        `total` duplicates `sum`
        Duplicated logic in `total`
        `total` is only used in tests
        `a b` is unused
        Unused
        `HTTP_OK` is not used for errors
        ",
        expect![[r#"
            no claim | `total` is never called on shutdown
            no claim | `total` is never called with the lock held
            no claim | If it fails, `total` is never called
            no claim | `total` is not used when empty
            no claim | The result of `total` is never used
            no claim | Return value of `total()` is unused
            no claim | Unused variable `total`
            no claim | Unused parameter `total` in `sum`
            no claim | `total` may be undefined
            no claim | `total` is undefined if the loop never runs
            no claim | `total` returns undefined
            no claim | `total` and `sum` are unused
            no claim | total is unused
            no claim | Wrong total // `apply_discount` is never called. Full price is charged.
            no claim | `total` duplicates `sum`
            no claim | Duplicated logic in `total`
            no claim | `total` is only used in tests
            no claim | `a b` is unused
            no claim | Unused
            no claim | `HTTP_OK` is not used for errors
        "#]],
    );
}
