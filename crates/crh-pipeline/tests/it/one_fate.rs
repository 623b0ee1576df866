//! Properties of any review: every finding has one fate, no invented quote is shown, quotes decide
//! the location of an issue, and the order of runs does not matter.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::test_change::{TestChange, finding, options, run};
use crh_agent::UsageTotals;
use crh_pipeline::assemble::{ReportInputs, assemble};
use crh_pipeline::collect::collect;
use crh_pipeline::consolidate::consolidate;
use crh_pipeline::context::PanelContext;
use crh_pipeline::edit::EditOutcome;
use crh_pipeline::plan::Plan;
use crh_pipeline::runs::{RunEnd, RunRecord, RunResults};
use crh_pipeline::validate::validate;
use crh_review::finding::{Confidence, Evidence, Finding, Member, Origin, Severity};
use crh_review::report::{DroppedFinding, Fate, Issue, Report, Strategy as ReviewStrategy};
use crh_review::{Judgement, JudgementResult, PastDecisions, apply_judgements};

/// Lines of each file after the change.
const LINES: u32 = 60;
/// Lines that the change adds to each file.
const ADDED: std::ops::RangeInclusive<u32> = 20..=40;

fn line_of(file: &str, line: u32) -> String {
    format!("value_{line} = compute_{}({line})", file.trim_end_matches(".py"))
}

fn change() -> TestChange {
    let mut fixture = String::new();
    for (head, files) in [("", ["a.py", "b.py"]), ("//- head\n", ["a.py", "b.py"])] {
        fixture += head;
        for file in files {
            fixture += &format!("//- {file}\n");
            for line in (1..=LINES).filter(|line| !head.is_empty() || !ADDED.contains(line)) {
                fixture += &format!("{}\n", line_of(file, line));
            }
        }
    }
    TestChange::new(&fixture)
}

/// What a finding quotes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum QuoteKind {
    /// The line that it cites.
    Right,
    /// Another line.
    Elsewhere(u32),
    /// Text that does not exist.
    Invented,
}

fn quotes() -> impl Strategy<Value = QuoteKind> {
    prop_oneof![
        3 => Just(QuoteKind::Right),
        2 => (1..=LINES).prop_map(QuoteKind::Elsewhere),
        1 => Just(QuoteKind::Invented),
    ]
}

fn a_finding() -> impl Strategy<Value = Finding> {
    let severity = prop::sample::select(vec!["P0", "P1", "P2", "P3"]);
    let title = prop::sample::select(vec!["Off by one", "Wrong value", "`x` is unused", "Slow"]);
    let file = prop::sample::select(vec!["a.py", "b.py"]);
    (severity, title, file, 1..=LINES, 0..=1000_u16, quotes(), any::<bool>()).prop_map(
        |(severity, title, file, line, confidence, quotes, pre_existing)| {
            let quote = match quotes {
                QuoteKind::Right => line_of(file, line),
                QuoteKind::Elsewhere(other) => line_of(file, other),
                QuoteKind::Invented => format!("invented_call({line})"),
            };
            Finding {
                title: title.to_owned(),
                file: file.to_owned(),
                line_start: NonZeroU32::new(line),
                confidence: Confidence::thousandths(confidence),
                pre_existing,
                ..finding(severity, 0.5, &quote)
            }
        },
    )
}

fn a_member() -> impl Strategy<Value = Member> {
    let reviewer = prop::sample::select(vec!["alice", "bob", "carol"]);
    (reviewer, a_finding(), prop::bool::weighted(0.2)).prop_map(|(reviewer, finding, by_code)| {
        let mut member = Member::new(reviewer, finding);
        if by_code {
            member.origin = Origin::Code;
        }
        member
    })
}

fn a_dropped() -> impl Strategy<Value = DroppedFinding> {
    let fate = prop::sample::select(vec![Fate::Malformed, Fate::Nit, Fate::Softened]);
    (fate, a_member(), any::<bool>(), 0..3_u32).prop_map(|(fate, member, is_read, raw)| {
        DroppedFinding {
            fate,
            reason: "set aside".to_owned(),
            cause: None,
            into: None,
            open: None,
            validation: None,
            reviewer: member.reviewer.clone(),
            member: is_read.then(|| member.clone()),
            raw: (!is_read).then(|| json!({ "raw": raw })),
        }
    })
}

fn a_run() -> impl Strategy<Value = RunRecord> {
    let ended = prop_oneof![
        Just(RunEnd::Completed),
        Just(RunEnd::Failed("the model hung up".to_owned())),
        Just(RunEnd::Cancelled),
    ];
    let members = prop::collection::vec(a_member(), 0..12);
    let set_aside = prop::collection::vec(a_dropped(), 0..3);
    (ended, members, set_aside).prop_map(|(ended, members, set_aside)| RunRecord {
        ended,
        members,
        dropped: set_aside,
        summary: "It was looked at.".to_owned(),
        notes: vec!["something happened".to_owned()],
        ..run("", &["a.py", "b.py"])
    })
}

/// A whole review: runs in two orders, verdicts and limits.
#[derive(Debug, Clone)]
struct Input {
    records: Vec<RunRecord>,
    shuffled: Vec<RunRecord>,
    judged: Vec<JudgementResult>,
    min_severity: Option<Severity>,
    cap: usize,
}

fn an_input() -> impl Strategy<Value = Input> {
    let judged = vec![
        JudgementResult::Confirmed,
        JudgementResult::Refuted,
        JudgementResult::Unsure,
        JudgementResult::Failed,
    ];
    let min = vec![None, Some(Severity::P0), Some(Severity::P1), Some(Severity::P2)];
    let records = prop::collection::vec(a_run(), 1..6).prop_map(|mut records| {
        for (at, record) in records.iter_mut().enumerate() {
            record.assignment.name = format!("sub-agent-{}", at + 1);
        }
        records
    });
    let judged = prop::collection::vec(prop::sample::select(judged), 40);
    let records =
        records.prop_flat_map(|records| (Just(records.clone()), Just(records).prop_shuffle()));
    (records, judged, prop::sample::select(min), 0..20_usize).prop_map(
        |((records, shuffled), judged, min_severity, cap)| Input {
            records,
            shuffled,
            judged,
            min_severity,
            cap,
        },
    )
}

fn report(test_change: &TestChange, records: &[RunRecord], input: &Input) -> Report {
    let subject = &test_change.subject;
    let runs = RunResults { records: records.to_vec(), notes: Vec::new() };
    let collected = collect(&runs);
    let merged = consolidate(collected.members.clone(), subject, &PastDecisions::default());
    let waiting = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut validated = waiting.block_on(validate(&merged, None, &collected, subject, None));
    for (issue, result) in merged.issues.iter().zip(&input.judged) {
        let judgement = Judgement::new(*result, "so it is".to_owned());
        validated.judgements.insert(issue.dedupe_key.clone(), judgement);
    }
    let mut terms = options(ReviewStrategy::Delegate);
    terms.budget.issues = input.cap;
    assemble(ReportInputs {
        change: subject,
        options: &terms,
        context: &PanelContext::default(),
        requirements: None,
        edit: &EditOutcome::default(),
        plan: &Plan {
            strategy: ReviewStrategy::Delegate,
            assignments: Vec::new(),
            notes: Vec::new(),
        },
        runs: &runs,
        collected: &collected,
        merged: apply_judgements(merged, &validated.judgements),
        validation: &validated,
        models: String::new(),
        prompt_version: String::new(),
        run_id: String::new(),
        artifact: String::new(),
        spent: UsageTotals::default(),
        took_ms: 0,
        interrupted: false,
        write_errors: Vec::new(),
        min_severity: input.min_severity,
    })
}

fn issues(report: &Report) -> impl Iterator<Item = &Issue> {
    report.issues.iter().chain(&report.pre_existing)
}

/// Findings with their number of occurrences.
fn count_findings<'a>(members: impl Iterator<Item = &'a Member>) -> BTreeMap<&'a Member, usize> {
    let mut counted = BTreeMap::new();
    for member in members {
        *counted.entry(member).or_default() += 1;
    }
    counted
}

/// The line that a finding quotes, if it exists.
fn quoted_line(finding: &Finding) -> Option<u32> {
    let [Evidence { snippet, .. }] = finding.evidence.as_slice() else { return None };
    (1..=LINES).find(|line| line_of(&finding.file, *line) == *snippet)
}

#[test]
fn every_finding_has_exactly_one_fate() {
    let test_change = Arc::new(change());
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() };
    let check = |input: Input| {
        let report_of = |records: &[RunRecord]| report(&test_change, records, &input);
        let report = report_of(&input.records);
        let members = input.records.iter().flat_map(|record| &record.members);
        let set_aside = input.records.iter().flat_map(|record| &record.dropped);
        let brought = members.chain(set_aside.clone().filter_map(|it| it.member.as_ref()));
        // The first finding of an issue is kept; the others are dropped as duplicates.
        let first_members = issues(&report).filter_map(|issue| issue.members.first());
        let dropped = report.suppressed.iter().filter_map(|it| it.member.as_ref());
        prop_assert_eq!(count_findings(brought), count_findings(first_members.chain(dropped)));
        let unread = set_aside.filter(|it| it.raw.is_some()).count();
        prop_assert_eq!(unread, report.suppressed.iter().filter(|it| it.raw.is_some()).count());
        for issue in issues(&report) {
            let is_merged = |it: &&DroppedFinding| it.into.as_ref() == Some(&issue.dedupe_key);
            let merged =
                report.suppressed.iter().filter(is_merged).filter_map(|it| it.member.as_ref());
            prop_assert_eq!(count_findings(merged), count_findings(issue.members.iter().skip(1)));
            let by_model = || issue.members.iter().filter(|it| it.origin == Origin::Model);
            prop_assert!(by_model().all(|it| quoted_line(&it.finding).is_some()));
            let first_member = &issue.members[0];
            if first_member.origin == Origin::Model {
                prop_assert_eq!(
                    Some(issue.location.line_start),
                    quoted_line(&first_member.finding)
                );
            }
            prop_assert!(input.min_severity.is_none_or(|min| issue.severity <= min));
        }
        prop_assert_eq!(report.location_problem(), None);
        let named = Report { review_id: "0123456789abcdef".to_owned(), ..report.clone() };
        prop_assert_eq!(named.id_problem(), None);
        prop_assert_eq!(report, report_of(&input.shuffled));
        Ok(())
    };
    TestRunner::new(config).run(&an_input(), check).unwrap();
}
