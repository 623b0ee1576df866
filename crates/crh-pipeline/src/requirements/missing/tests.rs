//! Tests of findings for unmet requirements.

use expect_test::{Expect, expect};

use super::*;
use crate::requirements::parse_document;
use crh_review::diff::Diff;
use crh_review::{Sources, consolidate};

const PLAN: &str = "# Requirements\n- R1: charge\n- R2: refund\n- R3: log\n- R4: wait\n";

fn sample_judgements() -> RequirementJudgements {
    let item = |id: &str, state, evidence: &str| RequirementJudgement {
        id: id.to_owned(),
        state,
        evidence: evidence.to_owned(),
    };
    RequirementJudgements {
        items: vec![
            item("R1", RequirementState::Met, "`pay.rs:3`"),
            item("R2", RequirementState::NotAddressed, "No line refunds."),
            item("R3", RequirementState::PartiallyAddressed, "Only errors are logged."),
            item("R4", RequirementState::NotAddressed, "Nothing waits."),
        ],
    }
}

/// Rows of the report, and the issues that the findings become.
fn check(
    path: &str,
    source: PlanSource,
    judged: Option<&RequirementJudgements>,
    waived: &str,
    expected: Expect,
) {
    let (document, _) = parse_document(path, source, PLAN);
    let waived = waived.split_whitespace().map(str::to_owned).collect();
    let (plan, members) = missing_findings(&document, judged, &waived);
    let mut actual = String::new();
    for it in plan.requirements {
        let waived = if it.waived { " waived" } else { "" };
        actual += format!("{} {:?}{waived} {}", it.id, it.state, it.evidence).trim_end();
        actual.push('\n');
    }
    let sources = Sources::new(Diff::read(""));
    let merged = consolidate(members, &sources, &Default::default(), &BTreeSet::new());
    assert!(merged.dropped.is_empty(), "{:?}", merged.dropped);
    for issue in merged.issues {
        let (class, owner) = (issue.autofix_class, issue.owner);
        actual +=
            &format!("{} {} {class}/{owner} {}\n", issue.severity, issue.location, issue.title);
        actual += &format!("  {} `{}`\n", issue.why_it_matters, issue.evidence_snippet);
    }
    expected.assert_eq(&actual);
}

#[test]
fn explicit_document_gives_p1_findings() {
    check(
        "docs/plans/a.md",
        PlanSource::Explicit,
        Some(&sample_judgements()),
        "r4",
        expect![[r#"
        R1 Met `pay.rs:3`
        R2 NotAddressed No line refunds.
        R3 PartiallyAddressed Only errors are logged.
        R4 NotAddressed waived Nothing waits.
        P1 docs/plans/a.md:3 manual/downstream-resolver R2 of the plan is not addressed: refund
          The plan asks for it. No line refunds. If it is left out on purpose, pass `--waive R2`. `refund`
        P1 docs/plans/a.md:4 manual/downstream-resolver R3 of the plan is only partly addressed: log
          The plan asks for it. Only errors are logged. If it is left out on purpose, pass `--waive R3`. `log`
    "#]],
    );
}

#[test]
fn inferred_document_gives_p3_findings() {
    check(
        "docs/plans/a.md",
        PlanSource::Inferred,
        Some(&sample_judgements()),
        "",
        expect![[r#"
        R1 Met `pay.rs:3`
        R2 NotAddressed No line refunds.
        R3 PartiallyAddressed Only errors are logged.
        R4 NotAddressed Nothing waits.
        P3 docs/plans/a.md:3 advisory/human R2 of the plan is not addressed: refund
          The plan asks for it. No line refunds. `refund`
        P3 docs/plans/a.md:4 advisory/human R3 of the plan is only partly addressed: log
          The plan asks for it. Only errors are logged. `log`
        P3 docs/plans/a.md:5 advisory/human R4 of the plan is not addressed: wait
          The plan asks for it. Nothing waits. `wait`
    "#]],
    );
}

#[test]
fn unjudged_requirements_give_no_findings() {
    check(
        "docs/plans/a.md",
        PlanSource::Explicit,
        None,
        "R1",
        expect![[r#"
        R1 NotJudged waived
        R2 NotJudged
        R3 NotJudged
        R4 NotJudged
    "#]],
    );
}

#[test]
fn document_outside_the_repository_has_no_path_in_it() {
    check(
        "/home/me/../plan.md",
        PlanSource::Explicit,
        Some(&sample_judgements()),
        "R2 R3",
        expect![[r#"
        R1 Met `pay.rs:3`
        R2 NotAddressed waived No line refunds.
        R3 PartiallyAddressed waived Only errors are logged.
        R4 NotAddressed Nothing waits.
        P1 (plan):5 manual/downstream-resolver R4 of the plan is not addressed: wait
          The plan `/home/me/../plan.md` asks for it. Nothing waits. If it is left out on purpose, pass `--waive R4`. `wait`
    "#]],
    );
}

#[test]
fn long_requirement_title_is_truncated() {
    let text = format!("# Requirements\n- R1: {}\n", "ä".repeat(300));
    let (document, _) = parse_document("a.md", PlanSource::Explicit, &text);
    let judged = RequirementJudgements {
        items: vec![RequirementJudgement {
            id: "R1".to_owned(),
            state: RequirementState::NotAddressed,
            evidence: String::new(),
        }],
    };
    let (_, members) = missing_findings(&document, Some(&judged), &BTreeSet::new());
    assert_eq!(members[0].finding.title.chars().count(), TITLE_MAX);
}

#[test]
fn unknown_waived_ids_are_listed() {
    let (document, _) = parse_document("a.md", PlanSource::Explicit, PLAN);
    let waived = ["R2", "r3", "R9"].map(str::to_owned).into();
    assert_eq!(not_in_plan(&document, &waived), ["R9"]);
}
