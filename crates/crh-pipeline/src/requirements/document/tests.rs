//! Tests of parsing documents.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn check(text: &str, expected: Expect) {
    let (document, notes) = parse_document("docs/plans/a.md", PlanSource::Explicit, text);
    let row = |item: &RequirementItem| {
        let done = item.done.map(|done| format!(" [{done}]")).unwrap_or_default();
        format!("{}{done} line {}: {}\n", item.id, item.line, item.text)
    };
    let mut actual: String = document.items.iter().map(row).collect();
    actual.extend(notes.iter().map(|note| format!("note: {note}\n")));
    expected.assert_eq(&actual);
}

#[test]
fn items_are_parsed_only_in_their_sections() {
    check(
        "---\ntitle: Pay\nnote: R9\n---\n# Pay\n\n- R8. not in a section\n\n## Requirements Trace\n\n\
         - R1. Charge **once**, in `cents`\n  and in one step\n- **R2:** Refund\n  - R2a: in part\n  - why\n\
         - [x] R3 — Log\n\nR4: Tell the user\nR5) Wait\n\n### R6\n\nA retry.\n\n\
         ## Open Questions\n- R7. not answered\n\n\
         ## 4. Implementation Units\n\n- [ ] **Unit 1: Charges**\n\n**Files:**\n- Create: `pay.rs`\n\n\
         **Requirements:** R1, R2\n\n#### Requirements\n- R12. of a unit\n\n- [x] U2. Refunds\n- [X] The log\n  - [ ] a detail\n",
        expect![[r#"
            R1 line 11: Charge once, in `cents` and in one step
            R2 line 13: Refund
            R2a line 14: in part
            R3 [true] line 16: Log
            R4 line 18: Tell the user
            R5 line 19: Wait
            R6 line 21: A retry.
            U1 [false] line 30: Charges
            U2 [true] line 40: Refunds
            U3 [true] line 41: The log
        "#]],
    );
}

#[test]
fn tables_headings_and_plain_lists_are_parsed() {
    check(
        "Requirements\n============\n\n| ID | What | Why |\n|---|---|---|\n| R1 | charge | money |\n| **R2** | refund | |\n| total | 2 | |\n\n\
         Implementation units:\n---------------------\n\n### Charges\n\nText.\n\n#### Files\n\n- `pay.rs`\n\n### Refunds\n",
        expect![[r#"
            R1 line 6: charge; money
            R2 line 7: refund
            U1 line 13: Charges
            U2 line 21: Refunds
        "#]],
    );
    check(
        "# Requirements\n## Functional\n* one\n  * a detail\n* two\n\n  more about two\n",
        expect![[r#"
            R1 line 3: one
            R2 line 5: two
        "#]],
    );
    check(
        "# Implementation Units\n- U3 three\n- [ ] free\n- [ ] free too\n- U1: one\n- U1: one again\n",
        expect![[r#"
            U3 line 2: three
            U2 [false] line 3: free
            U4 [false] line 4: free too
            U1 line 5: one
        "#]],
    );
}

#[test]
fn examples_are_not_items() {
    check(
        "## Requirements\n\n- R1: real\n\n```md\n- R2: in a fence\n```\n\n    - R3: in a block\n\n\
         <!--\n- R4: in a comment\n-->\n\n> - R5: quoted\n\n- R6: real too\n\n  ```\n  - R7: fenced in an item\n  ```\n\
         \n~~~\n## Implementation Units\n- [ ] never closed\n",
        expect![[r#"
            R1 line 3: real
            R6 line 17: real too
        "#]],
    );
}

#[test]
fn id_look_alikes_are_rejected() {
    let parsed_id = |text: &str, section| {
        parse_id(text, section).map(|(id, rest)| format!("{id}|{rest}")).unwrap_or_default()
    };
    for (text, expected) in [
        ("R1. Charge", "R1|Charge"),
        ("R1", "R1|"),
        ("[R12] Charge", "R12|Charge"),
        ("(R1) Charge", "R1|Charge"),
        ("R1a: Charge", "R1a|Charge"),
        ("R1.2 Charge", "R1.2|Charge"),
        ("R1 – Charge", "R1|Charge"),
        ("R1-R4: Charge", ""),
        ("R1, R2: Charge", ""),
        ("R1xy Charge", ""),
        ("R2024 Charge", ""),
        ("Refund", ""),
        ("U1. Charge", ""),
        ("Unit 1: Charge", ""),
        ("", ""),
    ] {
        assert_eq!(parsed_id(text, DocSection::Requirements), expected, "{text}");
    }
    assert_eq!(parsed_id("Unit 3: Log", DocSection::Units), "U3|Log");
    assert_eq!(parsed_id("U4 — Log", DocSection::Units), "U4|Log");
    assert_eq!(parsed_id("Units", DocSection::Units), "");
}

#[test]
fn omitted_items_are_noted() {
    let many: String = (1..=70).map(|at| format!("- R{at}: thing\n")).collect();
    let (plan, notes) =
        parse_document("a.md", PlanSource::Inferred, &format!("# Requirements\n{many}"));
    assert_eq!(plan.items.len(), ITEMS_MAX);
    assert_eq!(notes, ["10 of the 70 requirements of the plan `a.md` were not checked"]);
    let long = format!("# Requirements\n- R1: {}\n", "ä".repeat(BYTES_MAX));
    let (plan, notes) = parse_document("a.md", PlanSource::Inferred, &long);
    assert_eq!(plan.items[0].text.chars().count(), ITEM_CHARS + 1);
    assert_eq!(notes, [format!("only the first {BYTES_MAX} bytes of the plan `a.md` were read")]);
    let (plan, notes) = parse_document("a.md", PlanSource::Inferred, "# Notes\n");
    assert_eq!(plan.items, []);
    assert_eq!(
        notes,
        [
            "crh checked nothing of the plan `a.md`: it has neither a section `Requirements` (`R1`, `R2` …) nor a section `Implementation Units` (`U1`, `U2` …)"
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ids_are_unique_and_lines_exist(
        lines in prop::collection::vec("(#{1,3} (Requirements|Implementation Units)|[-*|>`~ ]{0,4}(\\[[ x]\\] )?[RU][0-9]{0,2}[.:|]? ?[a-z]{0,3}|.{0,12})", 0..30)
    ) {
        let text = lines.join("\n");
        let (document, _) = parse_document("a.md", PlanSource::Explicit, &text);
        let ids: BTreeSet<&str> = document.items.iter().map(|item| item.id.as_str()).collect();
        prop_assert_eq!(ids.len(), document.items.len());
        let last = text.split('\n').count();
        for item in &document.items {
            prop_assert!(item.line >= 1 && item.line as usize <= last, "{:?} of {}", item, last);
            prop_assert!(!item.text.is_empty());
        }
    }
}
