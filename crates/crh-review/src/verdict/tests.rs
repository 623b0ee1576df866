//! The rules for the verdict, one by one.

use expect_test::{Expect, expect};

use super::*;
use crate::finding::tests_support::finding;
use crate::finding::{AutofixClass, Category, Finding, Member, Origin, Owner, Severity};
use crate::report::{
    AppliedFix, FileCoverage, FixOutcome, FixReviewGap, Plan, Requirement, ReviewerRow, RunOutcome,
    Validation,
};

/// A report with one open issue per word: `P1`, or `P2!` for an advisory one.
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
    let merged = crate::apply_judgements(all, &Default::default());
    Report { issues: merged.issues, ..Report::default() }
}

fn requirement(id: &str, state: RequirementState, waived: bool) -> Requirement {
    let (id, text, evidence) = (id.to_owned(), String::new(), String::new());
    Requirement { id, text, state, evidence, waived }
}

fn review_verdict(report: &Report) -> String {
    let (verdict, reason) = verdict(report, CommandKind::Review);
    format!("{verdict}: {reason}")
}

fn checks_verdict(report: &Report) -> String {
    let (verdict, reason) = verdict(report, CommandKind::Checks);
    format!("{verdict}: {reason}")
}

/// Each row starts with the command and the open issues.
fn check_issues(expected: &Expect) {
    let mut table = String::new();
    for row in expected.data.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let (input, _) = row.split_once(':').unwrap();
        let (command, issues) = input.split_once(' ').unwrap_or((input, ""));
        let verdict = match command {
            "Review" => review_verdict(&report(issues)),
            "Checks" => checks_verdict(&report(issues)),
            other => panic!("{other}"),
        };
        table += &format!("{input}: {verdict}\n");
    }
    expected.assert_eq(&table);
}

#[test]
fn checks_without_files_pass_only_if_nothing_changed() {
    let mut report = report("");
    report.change.head_sha = "b".repeat(40);
    assert_eq!(checks_verdict(&report), "Incomplete: no file of the change was reviewed");
    assert!(is_incomplete(&report, CommandKind::Checks));
    report.change.base_sha = report.change.head_sha.clone();
    assert_eq!(checks_verdict(&report), "Checks passed: nothing was found");
    assert!(!is_incomplete(&report, CommandKind::Checks));
}

#[test]
fn open_issues_decide_first() {
    check_issues(&expect![[r#"
        Review P0 P1 P3: Not ready: 2 issues must be fixed before the merge, 1 of them P0
        Review P1 P3: Ready with fixes: 1 issue to fix
        Checks P2: Ready with fixes: 1 issue to fix
        Review P2! P3 P3!: Ready to merge: no issue must be fixed before the merge
        Review: Ready to merge: nothing actionable was found
        Checks: Checks passed: nothing was found
        Checks P2! P3: Checks passed: no issue must be fixed before the merge
    "#]]);
}

#[test]
fn advisory_issue_is_named_but_is_no_work() {
    check_issues(&expect![[r#"
        Review P1!: Ready with fixes: no issue needs a fix; read 1 advisory issue of severity P0 or P1
        Review P1 P1!: Ready with fixes: 1 issue to fix; read 1 advisory issue of severity P0 or P1
        Review P0! P1!: Not ready: a person must decide about a P0 before the merge; read 2 advisory issues of severity P0 or P1
    "#]]);
}

#[test]
fn hidden_findings_are_not_called_nothing() {
    let with_fates = |fates: &[Fate]| {
        let dropped = |fate: &Fate| DroppedFinding::new(Member::new("r", finding()), *fate, "");
        Report { suppressed: fates.iter().map(dropped).collect(), ..report("") }
    };
    assert_eq!(
        checks_verdict(&with_fates(&[Fate::Dismissed])),
        "Checks passed: nothing was found except 1 dismissed issue"
    );
    assert_eq!(
        checks_verdict(&with_fates(&[Fate::Dismissed, Fate::Suppressed, Fate::Suppressed])),
        "Checks passed: nothing was found except 2 suppressed findings and 1 dismissed issue"
    );
    assert_eq!(
        review_verdict(&with_fates(&[Fate::Dismissed])),
        "Ready to merge: nothing actionable was found except 1 dismissed issue"
    );
    assert_eq!(checks_verdict(&with_fates(&[Fate::Merged])), "Checks passed: nothing was found");
    assert_eq!(
        checks_verdict(&with_fates(&[Fate::BelowGate])),
        "Checks passed: nothing actionable was found"
    );
}

/// A rule about words must not make a review green.
#[test]
fn urgent_finding_on_a_protected_document_keeps_the_review_from_being_ready() {
    let hidden = |severity, category| {
        let finding = Finding { severity, category, ..finding() };
        let dropped = DroppedFinding::new(Member::new("r", finding), Fate::ProtectedPath, "");
        review_verdict(&Report { suppressed: vec![dropped], ..report("") })
    };
    assert_eq!(
        hidden(Severity::P1, Category::Bug),
        "Incomplete: crh hid 1 finding of severity P0 or P1 about a protected document"
    );
    let ready = "Ready to merge: nothing actionable was found";
    assert_eq!(hidden(Severity::P2, Category::Bug), ready);
    assert_eq!(hidden(Severity::P0, Category::Maintainability), ready);
}

#[test]
fn truncated_review_names_what_is_missing() {
    let truncated = |report| Report { status: Status::Truncated, ..report };
    assert_eq!(
        review_verdict(&truncated(report(""))),
        "Incomplete: a part of the review is missing"
    );
    let truncated_file = |reason: &str| {
        let (path, state, reason) = ("a".to_owned(), CoverageState::Truncated, reason.to_owned());
        vec![FileCoverage { path, state, reason }]
    };
    let coverage = truncated_file("part of its diff is unreadable");
    assert_eq!(
        review_verdict(&truncated(Report { coverage, ..report("") })),
        "Incomplete: 1 file not fully reviewed (a)"
    );
    let coverage = truncated_file("the repeated review of its fix was stopped");
    let gap = |is_stopped: bool| {
        let (path, status) = ("a".to_owned(), Status::Truncated);
        FixReviewGap { path, is_stopped, status }
    };
    let unreviewed = |is_stopped: bool| Report {
        coverage: coverage.clone(),
        fix_review_gaps: vec![gap(is_stopped)],
        ..report("")
    };
    assert_eq!(
        review_verdict(&truncated(unreviewed(false))),
        "Incomplete: 1 file not fully reviewed (a)"
    );
    assert_eq!(
        review_verdict(&truncated(unreviewed(true))),
        "Incomplete: the repeated review of the fixes was stopped; 1 file not fully reviewed (a)"
    );
    let mut unvalidated = truncated(report("P1 P2"));
    for issue in &mut unvalidated.issues {
        issue.validation = Validation::NotRun;
        issue.members.iter_mut().for_each(|member| member.origin = Origin::Model);
    }
    assert_eq!(
        review_verdict(&unvalidated),
        "Ready with fixes: 2 issues to fix. The review is incomplete: 1 issue of severity P0 or P1 not validated"
    );
    // The model's context may be too small for a file and for the validation.
    for issue in &mut unvalidated.issues {
        issue.validation = Validation::Degraded;
    }
    unvalidated.coverage.clone_from(&coverage);
    assert_eq!(
        review_verdict(&unvalidated),
        "Ready with fixes: 2 issues to fix. The review is incomplete: 1 file not fully reviewed (a); 1 issue of severity P0 or P1 not validated"
    );
}

#[test]
fn failed_validation_of_urgent_issue_is_a_gap() {
    let verdict_of = |status, validation| {
        let mut report = Report { status, ..report("P1 P2") };
        for issue in &mut report.issues {
            issue.validation = validation;
            issue.members.iter_mut().for_each(|member| member.origin = Origin::Model);
        }
        review_verdict(&report)
    };
    let incomplete = "Ready with fixes: 2 issues to fix. The review is incomplete: 1 issue of severity P0 or P1 not validated";
    assert_eq!(verdict_of(Status::Truncated, Validation::Degraded), incomplete);
    assert_eq!(verdict_of(Status::Degraded, Validation::Degraded), incomplete);
    let complete = "Ready with fixes: 2 issues to fix";
    assert_eq!(verdict_of(Status::Ok, Validation::NotRun), complete);
    assert_eq!(verdict_of(Status::Degraded, Validation::Confirmed), complete);
}

#[test]
fn failed_validation_of_hidden_urgent_issue_is_a_gap() {
    let verdict_of = |status, severity, validation| {
        let mut member = Member::new("r", finding());
        member.finding.severity = severity;
        let hidden = DroppedFinding::new(member, Fate::Minor, "too small");
        let suppressed = vec![hidden.still_open(severity, Some(validation))];
        review_verdict(&Report { status, suppressed, ..report("") })
    };
    let incomplete = "Ready with fixes: 1 issue (hidden) to fix. The review is incomplete: 1 issue of severity P0 or P1 not validated";
    let complete = "Ready with fixes: 1 issue (hidden) to fix";
    let (p1, degraded) = (Severity::P1, Validation::Degraded);
    assert_eq!(verdict_of(Status::Degraded, p1, degraded), incomplete);
    assert_eq!(verdict_of(Status::Truncated, p1, Validation::NotRun), incomplete);
    assert_eq!(verdict_of(Status::Ok, p1, Validation::NotRun), complete);
    assert_eq!(verdict_of(Status::Degraded, p1, Validation::Confirmed), complete);
    assert_eq!(verdict_of(Status::Degraded, Severity::P2, degraded), complete);
}

#[test]
fn second_look_is_asked_for_alike_by_shown_and_hidden_issues() {
    let check = |origin: Origin, is_unvalidated: bool| {
        let mut issue = report("P1").issues.remove(0);
        let model = Member { origin: Origin::Model, ..issue.members[0].clone() };
        issue.members = vec![model.clone(), Member { origin, ..model }];
        issue.validation = Validation::NotRun;
        let mut merged = crate::MergeResult::default();
        merged.hide_open_issue(issue.clone(), Fate::BelowGate, "");
        assert_eq!(issue.is_urgent_and_unvalidated(), is_unvalidated, "{origin:?}");
        assert_eq!(merged.dropped[0].is_urgent_and_unvalidated(), is_unvalidated, "{origin:?}");
    };
    check(Origin::Model, true);
    // A requirement has its own run.
    check(Origin::Plan, false);
}

#[test]
fn fixed_issue_is_not_open() {
    let mut report = report("P0 P1");
    let fix = |number| AppliedFix { number, outcome: FixOutcome::Done, ..AppliedFix::default() };
    report.applied_fixes = vec![fix(1)];
    assert_eq!(review_verdict(&report), "Ready with fixes: 1 issue to fix");
    report.applied_fixes.push(fix(2));
    assert_eq!(review_verdict(&report), "Ready to merge: nothing actionable is left");
}

#[test]
fn only_explicit_plan_blocks_the_merge() {
    let mut report = report("P3");
    report.plan = Some(Plan {
        plan_source: PlanSource::Explicit,
        path: "docs/plans/a.md".to_owned(),
        requirements: vec![
            requirement("R1", RequirementState::Met, false),
            requirement("R2", RequirementState::NotAddressed, true),
            requirement("R3", RequirementState::PartiallyAddressed, false),
        ],
    });
    assert_eq!(
        review_verdict(&report),
        "Not ready: the change meets only a part of R3 of the plan"
    );
    report.plan.as_mut().unwrap().plan_source = PlanSource::Inferred;
    assert_eq!(
        review_verdict(&report),
        "Ready to merge: no issue must be fixed before the merge. The change meets only a part of R3 of the inferred plan docs/plans/a.md"
    );
}

#[test]
fn unjudged_plan_makes_review_incomplete() {
    let report_with = |source, states: &[(&str, RequirementState)]| {
        let requirements =
            states.iter().map(|(id, state)| requirement(id, *state, *id == "R9")).collect();
        let path = "docs/plans/a.md".to_owned();
        Report { plan: Some(Plan { plan_source: source, path, requirements }), ..report("") }
    };
    let (met, not_judged) = (RequirementState::Met, RequirementState::NotJudged);
    assert_eq!(
        review_verdict(&report_with(PlanSource::Explicit, &[("R1", not_judged), ("R9", met)])),
        "Incomplete: the plan's requirements were not judged"
    );
    assert_eq!(
        review_verdict(&report_with(
            PlanSource::Explicit,
            &[("R1", met), ("R2", not_judged), ("R9", not_judged)]
        )),
        "Incomplete: 1 of 2 requirements of the plan not judged"
    );
    for source in [PlanSource::Explicit, PlanSource::Inferred] {
        let judged = report_with(source, &[("R1", met), ("R9", not_judged)]);
        assert_eq!(review_verdict(&judged), "Ready to merge: nothing actionable was found");
    }
}

/// An inferred plan may be the wrong one, so it blocks nothing.
#[test]
fn reason_names_unjudged_requirements_of_an_inferred_plan() {
    let plan = |states: &[RequirementState]| Plan {
        plan_source: PlanSource::Inferred,
        path: "docs/plans/a.md".to_owned(),
        requirements: states.iter().map(|state| requirement("R1", *state, false)).collect(),
    };
    let verdict_with =
        |states: &[_]| review_verdict(&Report { plan: Some(plan(states)), ..report("") });
    let (not_judged, unmet) = (RequirementState::NotJudged, RequirementState::NotAddressed);
    assert_eq!(
        verdict_with(&[not_judged, not_judged]),
        "Ready to merge: nothing actionable was found. crh could not judge 2 of 2 requirements of the inferred plan docs/plans/a.md"
    );
    assert_eq!(
        verdict_with(&[unmet, not_judged]),
        "Ready to merge: nothing actionable was found. The change does not meet R1 of the inferred plan docs/plans/a.md. crh could not judge 1 of 2 requirements of the inferred plan docs/plans/a.md"
    );
}

#[test]
fn incomplete_review_is_never_ready() {
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
    assert_eq!(review_verdict(&failed("")), "Incomplete: failed reviewers: security");
    assert_eq!(
        review_verdict(&failed("P1")),
        "Ready with fixes: 1 issue to fix. The review is incomplete: failed reviewers: security"
    );
    let checks = |issues| Report {
        reviewers: vec![ReviewerRow { origin: Origin::Code, ..row("ruff", RunOutcome::Failed) }],
        ..report(issues)
    };
    assert_eq!(checks_verdict(&checks("")), "Incomplete: failed checks: ruff");
    assert_eq!(
        checks_verdict(&checks("P2")),
        "Ready with fixes: 1 issue to fix. The review is incomplete: failed checks: ruff"
    );
    let file = |state| FileCoverage { path: "a".to_owned(), state, reason: String::new() };
    let coverage = vec![file(CoverageState::Truncated), file(CoverageState::OutOfScope)];
    for command in [CommandKind::Review, CommandKind::Checks] {
        let report = Report { coverage: coverage.clone(), ..report("") };
        let (verdict, reason) = verdict(&report, command);
        assert_eq!(format!("{verdict}: {reason}"), "Incomplete: 1 file not fully reviewed (a)");
    }
    let coverage = vec![file(CoverageState::OutOfScope)];
    for command in [CommandKind::Review, CommandKind::Checks] {
        let report = Report { coverage: coverage.clone(), ..report("") };
        let (verdict, reason) = verdict(&report, command);
        assert_eq!(
            format!("{verdict}: {reason}"),
            "Incomplete: no file of the change was reviewed"
        );
    }
    assert_eq!(
        review_verdict(&Report { status: Status::Error, ..report("") }),
        "Incomplete: nothing was reviewed"
    );
    assert_eq!(
        review_verdict(&Report { strategy: Strategy::Static, ..report("") }),
        "Incomplete: only static checks ran"
    );
    assert_eq!(
        checks_verdict(&Report { strategy: Strategy::Static, ..report("") }),
        "Checks passed: nothing was found"
    );
}

/// If every reviewer failed, issues of static checks do not make the change "ready with fixes".
#[test]
fn unreviewed_change_is_incomplete_even_with_issues() {
    let row = ReviewerRow {
        origin: Origin::Model,
        name: "single".to_owned(),
        why: String::new(),
        outcome: RunOutcome::Failed,
        note: "401".to_owned(),
    };
    let unreviewed =
        |issues| Report { reviewers: vec![row.clone()], status: Status::Error, ..report(issues) };
    assert_eq!(
        review_verdict(&unreviewed("P1 P2")),
        "Incomplete: failed reviewers: single; no model reviewed the change; static checks found 2 issues to fix"
    );
    // A reviewer may report a finding and finish no file.
    let mut of_model = unreviewed("P1");
    of_model.issues[0].members[0].origin = Origin::Model;
    assert_eq!(
        review_verdict(&of_model),
        "Incomplete: failed reviewers: single; no file was marked as reviewed; reviewers found 1 issue to fix"
    );
    for (of_model, finders) in
        [(0, "reviewers and static checks found 2 issues"), (2, "static checks found 2 issues")]
    {
        let mut mixed = unreviewed("P1 P1 P3");
        mixed.issues[of_model].members[0].origin = Origin::Model;
        assert_eq!(
            review_verdict(&mixed),
            format!(
                "Incomplete: failed reviewers: single; no file was marked as reviewed; {finders} to fix"
            )
        );
    }
    // A reviewer and a static check report the same problem.
    let mut shared = unreviewed("P1");
    let of_check = shared.issues[0].members[0].clone();
    shared.issues[0].members.push(Member { origin: Origin::Model, ..of_check });
    assert!(
        review_verdict(&shared).ends_with("; reviewers and static checks found 1 issue to fix")
    );
    let cancelled = |outcome| Report {
        reviewers: vec![row.clone(), ReviewerRow { outcome, ..row.clone() }],
        status: Status::Truncated,
        ..report("P1")
    };
    assert_eq!(
        review_verdict(&cancelled(RunOutcome::Failed)),
        "Incomplete: failed reviewers: single, single; static checks found 1 issue to fix"
    );
    assert_eq!(
        review_verdict(&cancelled(RunOutcome::Completed)),
        "Ready with fixes: 1 issue to fix. The review is incomplete: failed reviewers: single"
    );
    assert_eq!(
        review_verdict(&unreviewed("P0")),
        "Not ready: 1 P0 issue must be fixed before the merge. The review is incomplete: failed reviewers: single; no model reviewed the change"
    );
}

#[test]
fn verdicts_map_to_other_vocabularies() {
    let all = [
        Verdict::NotReady,
        Verdict::ReadyWithFixes,
        Verdict::Incomplete,
        Verdict::ReadyToMerge,
        Verdict::ChecksPassed,
    ];
    let table: String = all
        .iter()
        .map(|v| format!("{v}: {}, {}\n", v.three_state_label(), v.launchpad_vote()))
        .collect();
    expect![[r#"
        Not ready: Not ready, Needs Fixing
        Ready with fixes: Ready with fixes, Needs Fixing
        Incomplete: Not ready, Abstain
        Ready to merge: Ready to merge, Approve
        Checks passed: Checks passed, Abstain
    "#]]
    .assert_eq(&table);
}
