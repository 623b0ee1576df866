//! The table, row by row.

use expect_test::{Expect, expect};

use super::*;
use crate::finding::tests_support::finding;
use crate::finding::{AutofixClass, Finding, Member, Origin, Owner, Severity};
use crate::report::{AppliedFix, FileCoverage, Plan, Requirement, ReviewerRow, RunOutcome};

/// A report with one open issue a word: `P1`, or `P2!` for one that is only reported.
fn report(issues: &str) -> Report {
    let members = issues.split_whitespace().zip(1_u32..).map(|(word, line)| {
        let (severity, class) = match word.strip_suffix('!') {
            Some(severity) => (severity, AutofixClass::Advisory),
            None => (word, AutofixClass::Manual),
        };
        let severity: Severity = serde_json::from_value(severity.into()).unwrap();
        let finding = Finding {
            title: format!("Issue number {line}"),
            severity,
            autofix_class: class,
            owner: Owner::DownstreamResolver,
            line_start: std::num::NonZeroU32::new(line * 10),
            ..finding()
        };
        Member { origin: Origin::Code, ..Member::new("r", finding) }
    });
    let sources = crate::Sources::new(crate::diff::Diff::read(""));
    let all =
        crate::consolidate(members.collect(), &sources, &Default::default(), &Default::default());
    let merged = crate::conclude(all, &Default::default());
    Report { issues: merged.issues, ..Report::default() }
}

fn check(report: &Report, asked: Asked, expected: Expect) {
    let (verdict, reason) = verdict(report, asked);
    expected.assert_eq(&format!("{verdict}: {reason}"));
}

#[test]
fn checks_of_no_file_pass_only_where_nothing_changed() {
    let mut report = report("");
    report.change.head_sha = "b".repeat(40);
    check(&report, Asked::Checks, expect!["Incomplete: no file of the change was reviewed"]);
    assert!(is_incomplete(&report, Asked::Checks));
    report.change.base_sha = report.change.head_sha.clone();
    check(&report, Asked::Checks, expect!["Checks passed: nothing was found"]);
    assert!(!is_incomplete(&report, Asked::Checks));
}

#[test]
fn open_issues_decide_first() {
    check(
        &report("P0 P1 P3"),
        Asked::Review,
        expect!["Not ready: 1 P0 issue must be fixed before the merge"],
    );
    check(&report("P1 P3"), Asked::Review, expect!["Ready with fixes: 1 issue to fix"]);
    check(&report("P1!"), Asked::Review, expect!["Ready with fixes: 1 issue to fix"]);
    check(&report("P2"), Asked::Checks, expect!["Ready with fixes: 1 issue to fix"]);
    check(
        &report("P2! P3 P3!"),
        Asked::Review,
        expect!["Ready to merge: nothing actionable was found"],
    );
    check(&report(""), Asked::Review, expect!["Ready to merge: nothing actionable was found"]);
    check(&report(""), Asked::Checks, expect!["Checks passed: nothing was found"]);
    check(&report("P2! P3"), Asked::Checks, expect!["Checks passed: nothing actionable was found"]);
}

#[test]
fn a_fixed_issue_is_not_open() {
    let mut report = report("P0 P1");
    let fix = |number| AppliedFix { number, description: String::new(), files: Vec::new() };
    report.applied_fixes = vec![fix(1)];
    check(&report, Asked::Review, expect!["Ready with fixes: 1 issue to fix"]);
    report.applied_fixes.push(fix(2));
    check(&report, Asked::Review, expect!["Ready to merge: nothing actionable was found"]);
}

#[test]
fn an_explicit_plan_is_a_contract_and_a_guessed_one_is_not() {
    let mut report = report("P3");
    let requirement = |id: &str, state, waived| Requirement {
        id: id.to_owned(),
        text: String::new(),
        state,
        evidence: String::new(),
        waived,
    };
    report.plan = Some(Plan {
        plan_source: PlanSource::Explicit,
        path: "docs/plans/a.md".to_owned(),
        requirements: vec![
            requirement("R1", RequirementState::Met, false),
            requirement("R2", RequirementState::NotAddressed, true),
            requirement("R3", RequirementState::PartiallyAddressed, false),
        ],
    });
    check(
        &report,
        Asked::Review,
        expect!["Not ready: the plan asks for R3, which this change does not have"],
    );
    report.plan.as_mut().unwrap().plan_source = PlanSource::Inferred;
    check(&report, Asked::Review, expect!["Ready to merge: nothing actionable was found"]);
}

#[test]
fn a_plan_that_nobody_judged_is_a_doubt_and_nothing_that_is_missing() {
    let requirement = |id: &str, state| Requirement {
        id: id.to_owned(),
        text: String::new(),
        state,
        evidence: String::new(),
        waived: id == "R9",
    };
    let with = |source, states: &[(&str, RequirementState)]| {
        let requirements = states.iter().map(|(id, state)| requirement(id, *state)).collect();
        let path = "docs/plans/a.md".to_owned();
        Report { plan: Some(Plan { plan_source: source, path, requirements }), ..report("") }
    };
    let (met, not_judged) = (RequirementState::Met, RequirementState::NotJudged);
    check(
        &with(PlanSource::Explicit, &[("R1", not_judged), ("R9", met)]),
        Asked::Review,
        expect!["Incomplete: the plan's requirements were not judged"],
    );
    check(
        &with(PlanSource::Explicit, &[("R1", met), ("R2", not_judged), ("R9", not_judged)]),
        Asked::Review,
        expect!["Incomplete: 1 of 2 requirements of the plan not judged"],
    );
    for quiet in [
        with(PlanSource::Explicit, &[("R1", met), ("R9", not_judged)]),
        with(PlanSource::Inferred, &[("R1", not_judged)]),
    ] {
        check(&quiet, Asked::Review, expect!["Ready to merge: nothing actionable was found"]);
    }
}

#[test]
fn a_review_never_turns_green_by_absence() {
    let row = |name: &str, outcome| ReviewerRow {
        origin: Origin::Model,
        name: name.to_owned(),
        why: String::new(),
        outcome,
        note: String::new(),
    };
    let failed = |issues| Report {
        reviewers: vec![
            row("security", RunOutcome::Failed),
            row("correctness", RunOutcome::Completed),
        ],
        ..report(issues)
    };
    check(&failed(""), Asked::Review, expect!["Incomplete: failed reviewers: security"]);
    check(
        &failed("P1"),
        Asked::Review,
        expect![
            "Ready with fixes: 1 issue to fix; the review is incomplete: failed reviewers: security"
        ],
    );
    let file = |state| FileCoverage { path: "a".to_owned(), state, reason: String::new() };
    let coverage = vec![file(CoverageState::Truncated), file(CoverageState::OutOfScope)];
    check(
        &Report { coverage, ..report("") },
        Asked::Review,
        expect!["Incomplete: 1 file not wholly reviewed"],
    );
    let coverage = vec![file(CoverageState::OutOfScope)];
    for asked in [Asked::Review, Asked::Checks] {
        let report = Report { coverage: coverage.clone(), ..report("") };
        check(&report, asked, expect!["Incomplete: no file of the change was reviewed"]);
    }
    check(
        &Report { status: Status::Truncated, ..report("") },
        Asked::Review,
        expect!["Incomplete: the review was cut short"],
    );
    check(
        &Report { status: Status::Error, ..report("") },
        Asked::Review,
        expect!["Incomplete: nothing was reviewed"],
    );
    check(
        &Report { strategy: Strategy::Static, ..report("") },
        Asked::Review,
        expect!["Incomplete: only checks that need no model ran"],
    );
    check(
        &Report { strategy: Strategy::Static, ..report("") },
        Asked::Checks,
        expect!["Checks passed: nothing was found"],
    );
}

#[test]
fn each_verdict_has_its_word_elsewhere() {
    let all = [
        Verdict::NotReady,
        Verdict::ReadyWithFixes,
        Verdict::Incomplete,
        Verdict::ReadyToMerge,
        Verdict::ChecksPassed,
    ];
    let table: String = all
        .iter()
        .map(|v| format!("{v}: {}, {}, {}\n", v.of_three(), v.crh_word(), v.launchpad_vote()))
        .collect();
    expect![[r#"
        Not ready: Not ready, needs-work, Needs Fixing
        Ready with fixes: Ready with fixes, needs-work, Needs Fixing
        Incomplete: Not ready, abstain, Abstain
        Ready to merge: Ready to merge, approve, Approve
        Checks passed: Checks passed, abstain, Abstain
    "#]]
    .assert_eq(&table);
}
