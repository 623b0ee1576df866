//! Claims that code refutes, and claims that it must leave alone, on real trees.

use expect_test::{Expect, expect};

use crate::test_change::TestChange;
use crh_pipeline::collect::ReviewFindings;
use crh_pipeline::consolidate::consolidate;
use crh_pipeline::validate::validate;
use crh_review::report::Fate;
use crh_review::{PastDecisions, apply_judgements};

/// Fate of each finding on its own.
async fn check(fixture: &str, findings: &str, expected: Expect) {
    let test_change = TestChange::new(fixture);
    let mut actual = String::new();
    for finding in findings.lines().filter(|row| !row.trim().is_empty()) {
        actual += &validated(&test_change, finding).await;
    }
    expected.assert_eq(&actual);
}

/// Titles of the remaining issues, and why the others were dropped.
async fn validated(test_change: &TestChange, findings: &str) -> String {
    let collected = test_change.collected_findings(findings);
    let count = collected.members.len();
    let merged = consolidate(collected.members, &test_change.subject, &PastDecisions::default());
    let validated =
        validate(&merged, None, &ReviewFindings::default(), &test_change.subject, None).await;
    assert!(validated.runs.is_empty() && validated.notes.is_empty());
    let merged = apply_judgements(merged, &validated.judgements);
    let mut actual = String::new();
    for issue in &merged.issues {
        actual += &format!("stays: {}\n", issue.title);
    }
    for dropped in &merged.dropped {
        assert_eq!(dropped.fate, Fate::Refuted, "{}", dropped.reason);
        let title = &dropped.member.as_ref().unwrap().finding.title;
        actual += &format!("refuted: {title} -- {}\n", dropped.reason);
    }
    let members: usize = merged.issues.iter().map(|issue| issue.members.len()).sum();
    assert_eq!(members + merged.dropped.len(), count);
    actual
}

const SHOP: &str = r#"
    //- shop/orders.py
    x = 1
    //- shop/report.py
    from shop.orders import total, Cart
    from shop.other import rounded

    def show(order):
        # unused_one() is not called here
        return total(order) + rounded(order) + "unused_one()"

    def build(x: Cart):
        pass
    //- shop/prices.py
    def helper(total):
        return total()
    //- tests/test_orders.py
    from shop.orders import only_tested

    def test_it():
        assert only_tested()
    //- head
    //- shop/orders.py
    import json
    import os.path
    from decimal import Decimal as D, getcontext
    if True:
        import sometimes

    def total(order):
        return json.dumps(sum(order)) + private_rate(order)

    def rounded(order):
        return round(total(order))

    def private_rate(order):
        """private_rate(order)"""
        return D(1) if sometimes else undefined_thing(order)

    def unused_one(order):
        return unused_one(order)

    def only_tested():
        return 1

    class Cart:
        def add(self, item):
            self.check(item)

        def check(self, item):
            return getcontext().add(item)

        def never(self):
            pass

    early = later_defined(1)

    def later_defined(x):
        return later_defined_too(x)

    def later_defined_too(x):
        value = x
        return value
"#;

#[tokio::test]
async fn claims_about_unused_symbols_are_refuted() {
    check(
        SHOP,
        r#"
        a shop/orders.py:7 P1 0.9 "`total` is never called"
        a shop/orders.py:10 P1 0.9 "Function `rounded` is unused"
        a shop/orders.py:13 P1 0.9 "`private_rate` is never called anywhere"
        a shop/orders.py:17 P1 0.9 "`unused_one` is never called"
        a shop/orders.py:20 P1 0.9 "`only_tested` is unused"
        a shop/orders.py:23 P1 0.9 "Class `Cart` is unused"
        a shop/orders.py:24 P1 0.9 "`Cart.add` is never called"
        a shop/orders.py:27 P1 0.9 "`check` is never called"
        a shop/orders.py:30 P1 0.9 "`never` is never called"
        a shop/orders.py:14 P1 0.9 "`total` is never used"
        "#,
        expect![[r#"
            refuted: `total` is never called -- `total` is used at `shop/orders.py:11`
            stays: Function `rounded` is unused
            refuted: `private_rate` is never called anywhere -- `private_rate` is used at `shop/orders.py:8`
            stays: `unused_one` is never called
            stays: `only_tested` is unused
            refuted: Class `Cart` is unused -- `Cart` is used at `shop/report.py:8`
            stays: `Cart.add` is never called
            refuted: `check` is never called -- `check` is used at `shop/orders.py:25`
            stays: `never` is never called
            stays: `total` is never used
        "#]],
    )
    .await;
}

#[tokio::test]
async fn claims_about_used_imports_are_refuted() {
    check(
        SHOP,
        r#"
        a shop/orders.py:1 P2 0.9 "Unused import `json`"
        a shop/orders.py:2 P2 0.9 "Unused import `os`"
        a shop/orders.py:3 P2 0.9 "`getcontext` imported but unused"
        a shop/orders.py:3 P2 0.9 "`Decimal` is imported but never used"
        a shop/orders.py:8 P1 0.9 "`json` is not imported"
        a shop/orders.py:8 P1 0.9 "`private_rate` is not defined"
        a shop/orders.py:15 P1 0.9 "`sometimes` is not imported"
        a shop/orders.py:15 P0 0.9 "NameError" why="`undefined_thing` is not defined. It fails."
        a shop/orders.py:33 P1 0.9 "`later_defined` is undefined"
        a shop/orders.py:36 P1 0.9 "`later_defined_too` is not defined"
        a shop/orders.py:15 P0 0.9 "`D` is not defined"
        "#,
        expect![[r#"
            refuted: Unused import `json` -- `json` is used at `shop/orders.py:8`
            stays: Unused import `os`
            refuted: `getcontext` imported but unused -- `getcontext` is used at `shop/orders.py:28`
            stays: `Decimal` is imported but never used
            refuted: `json` is not imported -- `json` is imported at `shop/orders.py:1`
            refuted: `private_rate` is not defined -- `private_rate` is defined at `shop/orders.py:13`
            stays: `sometimes` is not imported
            stays: NameError
            stays: `later_defined` is undefined
            refuted: `later_defined_too` is not defined -- `later_defined_too` is defined at `shop/orders.py:38`
            refuted: `D` is not defined -- `D` is imported at `shop/orders.py:3`
        "#]],
    )
    .await;
}

#[tokio::test]
async fn claims_about_duplicates_are_refuted() {
    check(
        r#"
        //- a.py
        x = 1
        //- b.py
        def shared(): pass
        //- head
        //- a.py
        import os
        import re
        import re
        def once(): pass
        def twice(): pass
        def twice(x): pass
        def shared(): pass
        def shadowed(): pass
        shadowed = 3
        "#,
        r#"
        a a.py:4 P1 0.9 "`once` is defined twice"
        a a.py:5 P1 0.9 "Duplicate definition of `twice`"
        a a.py:7 P1 0.9 "Duplicate definition of `shared`"
        a a.py:8 P1 0.9 "`shadowed` is defined twice"
        a a.py:1 P2 0.9 "`os` is imported twice" quote="import os\nimport re"
        a a.py:2 P2 0.9 "`re` is imported twice" quote="import re\nimport re"
        "#,
        expect![[r#"
            refuted: `once` is defined twice -- `once` is defined at `a.py:4` and nowhere else
            stays: Duplicate definition of `twice`
            stays: Duplicate definition of `shared`
            stays: `shadowed` is defined twice
            refuted: `os` is imported twice -- `os` is imported at `a.py:1` alone
            stays: `re` is imported twice
        "#]],
    )
    .await;
}

#[tokio::test]
async fn issue_is_refuted_only_if_all_findings_are() {
    let test_change = TestChange::new(
        r#"
        //- a.py
        x = 1
        //- head
        //- a.py
        def total(x):
            return x

        print(total(3))
        "#,
    );
    let claim = r#"a a.py:1 P1 0.9 "`total` is never called""#;
    let same = r#"b a.py:1 P1 0.7 "`total` is never used""#;
    let other = r#"b a.py:1 P1 0.7 "`total` ignores its currency""#;
    let both = validated(&test_change, &format!("{claim}\n{same}")).await;
    expect![[r#"
        refuted: `total` is never called -- `total` is used at `a.py:4`
        refuted: `total` is never used -- `total` is used at `a.py:4`
    "#]]
    .assert_eq(&both);
    let one = validated(&test_change, &format!("{claim}\n{other}")).await;
    expect![[r#"
        stays: `total` is never called
    "#]]
    .assert_eq(&one);
}

#[tokio::test]
async fn claims_in_other_languages_are_refuted() {
    check(
        r#"
        //- src/lib.rs
        mod a;
        //- src/user.rs
        use crate::a::{Kept, parse as p};

        pub fn go(k: Kept) { p(k); }
        //- web/page.ts
        import { format, Shown } from "./text";
        export const page = (x: Shown) => format(x);
        //- go/main.go
        package main

        func main() { run() }
        //- head
        //- src/a.rs
        use std::fmt::Debug;

        pub struct Kept;

        pub fn parse(k: Kept) { helper(k) }

        fn helper<T: Debug>(k: T) {}

        fn tested() {}

        #[cfg(test)]
        mod tests {
            #[test]
            fn it() { super::tested(); tested(); }
        }
        //- web/text.ts
        export function format(x: Shown) { return x.name; }
        export interface Shown { name: string }
        //- go/run.go
        package main

        func run() {}
        "#,
        r#"
        a src/a.rs:3 P1 0.9 "Struct `Kept` is never used"
        a src/a.rs:5 P1 0.9 "`parse` is never called" quote="pub fn parse(k: Kept)"
        a src/a.rs:7 P1 0.9 "`helper` is dead code"
        a src/a.rs:9 P1 0.9 "`tested` is never called" quote="fn tested() {}"
        a src/a.rs:1 P2 0.9 "Unused import: `Debug`" quote="use std::fmt::Debug;"
        a web/text.ts:1 P1 0.9 "`format()` is unused"
        a web/text.ts:2 P1 0.9 "`Shown` is unused"
        a web/text.ts:1 P1 0.9 "`Shown` is undefined" quote="format(x: Shown)"
        a go/run.go:3 P1 0.9 "`run` is never called" quote="func run() {}"
        "#,
        expect![[r#"
            refuted: Struct `Kept` is never used -- `Kept` is used at `src/a.rs:5`
            stays: `parse` is never called
            refuted: `helper` is dead code -- `helper` is used at `src/a.rs:5`
            stays: `tested` is never called
            refuted: Unused import: `Debug` -- `Debug` is used at `src/a.rs:7`
            refuted: `format()` is unused -- `format` is used at `web/page.ts:2`
            refuted: `Shown` is unused -- `Shown` is used at `web/text.ts:1`
            stays: `Shown` is undefined
            refuted: `run` is never called -- `run` is used at `go/main.go:3`
        "#]],
    )
    .await;
}
