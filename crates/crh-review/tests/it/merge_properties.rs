//! Properties of merging random findings: nothing is lost, the order does not matter, merging is
//! idempotent.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use proptest::prelude::*;

use crh_review::diff::Diff;
use crh_review::finding::{
    AutofixClass, Category, Confidence, Evidence, Finding, Member, Origin, Owner, Proof, Severity,
    Side,
};
use crh_review::report::{Fate, Issue, Report, Validation};
use crh_review::verdict::{CommandKind, Verdict};
use crh_review::{
    EditedGroup, EditorJudgement, Grouping, Judgement, JudgementResult, MergeResult, PastDecisions,
    PublishRules, Sources, apply_edit, apply_judgements, consolidate, consolidate_for_editor,
    into_report, severity_cap,
};

/// Two files of 60 lines; every third line is new.
fn sources() -> Sources {
    let mut diff = String::new();
    for path in ["a.rs", "A.rs"] {
        diff += &format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,40 +1,60 @@\n"
        );
        for line in 1..=60 {
            let sign = if line % 3 == 0 { '+' } else { ' ' };
            diff += &format!("{sign}{}\n", text_of(line));
        }
    }
    Sources::new(Diff::read(diff))
}

/// Lines repeat, so that a quote can match several places.
fn text_of(line: u32) -> String {
    format!("let value = call({});", line % 20)
}

fn one_of<T: Clone + std::fmt::Debug + 'static>(items: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(items.to_vec())
}

fn title() -> impl Strategy<Value = &'static str> {
    one_of(&[
        "Off by one in loop",
        "off by one, in the loop",
        "Loop is off by one at the end",
        "Slow query in loop",
        "SQL injection | with pipe",
        "Delete docs/plans/a.md",
        "No test covers the loop",
        "",
    ])
}

fn finding() -> impl Strategy<Value = Finding> {
    let place = (
        one_of(&["a.rs", "A.rs", "missing.rs"]),
        1_u32..64,
        1_u32..64,
        one_of(&[None, Some(0), Some(5), Some(1_000_000)]),
        any::<bool>(),
        prop::option::of(1_u32..64),
    );
    let kind = (
        one_of(&[Severity::P0, Severity::P1, Severity::P2, Severity::P3]),
        one_of(&[
            Category::Bug,
            Category::Logic,
            Category::Security,
            Category::Performance,
            Category::Testing,
            Category::Maintainability,
        ]),
        0_u16..=20,
    );
    let route = (
        one_of(&[
            AutofixClass::SafeAuto,
            AutofixClass::GatedAuto,
            AutofixClass::Manual,
            AutofixClass::Advisory,
        ]),
        one_of(&[Owner::ReviewFixer, Owner::DownstreamResolver, Owner::Human, Owner::Release]),
        any::<bool>(),
        prop::option::of(one_of(&["fix one", "fix two"])),
    );
    (title(), place, kind, route).prop_map(|(title, place, kind, route)| {
        let (file, line, quoted, length, by_diff_line, second) = place;
        let (severity, category, twentieths) = kind;
        let (autofix_class, owner, pre_existing, replacement) = route;
        let piece = |line: u32, given: bool| Evidence {
            file: None,
            line: NonZeroU32::new(line).filter(|_| given),
            side: None,
            // Every fifth quote has two lines, one with its sign.
            snippet: match line % 5 {
                0 => format!(" {}\n+{}", text_of(line), text_of(line + 1)),
                _ => text_of(line),
            },
        };
        let mut evidence = vec![piece(quoted, false)];
        evidence.extend(second.map(|line| piece(line, true)));
        let by_line = |value: u32| NonZeroU32::new(value).filter(|_| !by_diff_line);
        Finding {
            title: title.to_owned(),
            severity,
            category,
            file: file.to_owned(),
            line_start: by_line(line),
            line_end: length.and_then(|length| by_line(line + length)),
            side: (line % 7 == 0 && !by_diff_line).then_some(Side::Old),
            diff_line: NonZeroU32::new(line * 2).filter(|_| by_diff_line),
            confidence: Confidence::thousandths(twentieths * 50),
            evidence,
            why_it_matters: format!("It fails for {line}."),
            suggested_fix: None,
            replacement: replacement.map(str::to_owned),
            autofix_class,
            owner,
            requires_verification: line % 2 == 0,
            pre_existing,
        }
    })
}

fn members() -> impl Strategy<Value = Vec<Member>> {
    let reviewer = one_of(&["correctness", "security", "performance"]);
    let source = (
        reviewer,
        one_of(&[None, Some("engine")]),
        one_of(&[Origin::Model, Origin::Model, Origin::Code]),
        one_of(&[Proof::Quotes, Proof::Quotes, Proof::CitedLine]),
        one_of(&["x/one", "x/two"]),
    );
    let member =
        (source, finding()).prop_map(|((reviewer, voice, origin, proof, rule), finding)| {
            let rule = (origin == Origin::Code).then(|| rule.to_owned());
            let voice = voice.map(str::to_owned);
            Member { voice, origin, proof, rule, ..Member::new(reviewer, finding) }
        });
    prop::collection::vec(member, 0..40)
}

/// Dismisses some issues of the same findings.
fn past_decisions(members: &[Member]) -> PastDecisions {
    let none = PastDecisions::default();
    let all = consolidate(members.to_vec(), &sources(), &none, &BTreeSet::new());
    let keys = all.issues.iter().map(|issue| issue.dedupe_key.clone());
    let keys = keys.filter(|key| key.as_bytes()[1] % 3 == 0);
    PastDecisions { dismissed: keys.map(|key| (key, "no".to_owned())).collect(), ..none }
}

/// Merges with different judgements for the issues.
fn merge(members: Vec<Member>) -> MergeResult {
    // About half of the candidate pairs are the same issue.
    let remembered = past_decisions(&members);
    let apart = consolidate(members.clone(), &sources(), &remembered, &BTreeSet::new());
    let pairs = apart.candidate_pairs.into_iter().map(|pair| pair.id);
    let same = pairs.filter(|id| id.as_bytes()[0] % 2 == 0).collect();
    let all = consolidate(members, &sources(), &remembered, &same);
    let judgements: BTreeMap<String, Judgement> = all
        .issues
        .iter()
        .map(|issue| {
            let result = match issue.dedupe_key.as_bytes()[0] % 4 {
                0 => JudgementResult::Refuted,
                1 => JudgementResult::Unsure,
                2 => JudgementResult::Confirmed,
                _ => JudgementResult::Failed,
            };
            (issue.dedupe_key.clone(), Judgement::new(result, "so".to_owned()))
        })
        .collect();
    apply_judgements(all, &judgements)
}

const SEVERITIES: [Severity; 4] = [Severity::P0, Severity::P1, Severity::P2, Severity::P3];

/// Groups of model findings with random decisions, and random judgements on single findings.
fn edit(
    members: &[Member],
    answers: &[(u8, Severity, u16)],
    checks: &[(u8, Option<Severity>, u16)],
) -> (Vec<EditedGroup>, BTreeMap<Member, Judgement>) {
    let by_rules = consolidate_for_editor(
        members.to_vec(),
        &sources(),
        &PastDecisions::default(),
        Grouping::Rules(&BTreeSet::new()),
    );
    let edited = by_rules.issues.iter().filter(|issue| issue.validation != Validation::ByCode);
    let edited: BTreeSet<Member> = edited.flat_map(|issue| issue.members.clone()).collect();
    let mut groups: Vec<EditedGroup> = Vec::new();
    for (member, &(kind, severity, thousandths)) in edited.iter().zip(answers.iter().cycle()) {
        let judgement = match kind % 3 {
            0 => EditorJudgement::Probable(Confidence::thousandths(thousandths)),
            1 => EditorJudgement::Minor,
            _ => EditorJudgement::Refuted("no".to_owned()),
        };
        let members = vec![member.clone()];
        match groups.last_mut() {
            Some(group) if kind > 3 => group.members.extend(members),
            _ => groups.push(EditedGroup {
                members,
                judgement,
                severity,
                title: None,
                text: None,
                is_forgotten: false,
                test: None,
            }),
        }
    }
    let judgements = edited.iter().zip(checks.iter().cycle());
    let judgements = judgements.filter_map(|(member, &(kind, severity, thousandths))| {
        let result = match kind {
            0 => JudgementResult::Refuted,
            1 => JudgementResult::Unsure,
            2 => JudgementResult::Confirmed,
            3 => JudgementResult::Failed,
            _ => return None,
        };
        let probability = Some(Confidence::thousandths(thousandths));
        Some((member.clone(), Judgement { probability, severity, ..Judgement::new(result, "so") }))
    });
    (groups, judgements.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merging_ignores_input_order(
        (members, shuffled) in members().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))
    ) {
        prop_assert_eq!(merge(members), merge(shuffled));
    }

    #[test]
    fn merging_is_idempotent(members in members()) {
        let once = merge(members);
        let (again, unread) = once.clone().flatten();
        prop_assert_eq!(unread, vec![]);
        prop_assert_eq!(merge(again), once);
    }

    #[test]
    fn every_finding_has_exactly_one_fate(members in members(), cap in 0_usize..6) {
        let mut all = members.clone();
        let report = into_report(Report::default(), merge(members), CommandKind::Review, cap);
        let is_counted = |issue: &&Issue| issue.validation != Validation::ByCode;
        prop_assert!(report.issues.iter().filter(is_counted).count() <= cap);
        let shown = report.issues.iter().chain(&report.pre_existing);
        // The first member represents the issue; the others are listed as merged.
        let mut seen: Vec<Member> = shown.map(|issue| issue.members[0].clone()).collect();
        seen.extend(report.suppressed.iter().filter_map(|dropped| dropped.member.clone()));
        seen.sort();
        all.sort();
        prop_assert_eq!(seen, all);
        for dropped in &report.suppressed {
            prop_assert!(dropped.fate != Fate::Kept);
            let has_issue = matches!(dropped.fate, Fate::Merged | Fate::Dismissed);
            prop_assert_eq!(dropped.into.is_some(), has_issue);
        }
    }

    /// Grouping by the editor loses no finding, and neither its answers nor threshold and limit turn
    /// an open P0 or P1 green.
    #[test]
    fn editor_loses_nothing_and_hides_no_urgent_issue(
        members in members(),
        answers in prop::collection::vec((0_u8..6, one_of(&SEVERITIES), 0_u16..=1000), 40),
        checks in prop::collection::vec((0_u8..5, prop::option::of(one_of(&SEVERITIES)), 0_u16..=1000), 40),
        (threshold, cap) in (0_u16..=1000, 0_usize..6),
        min_severity in one_of(&SEVERITIES),
    ) {
        let rules = PublishRules { threshold: Confidence::thousandths(threshold), min_severity };
        let (groups, judgements) = edit(&members, &answers, &checks);
        let member_groups: Vec<Vec<Member>> = groups.iter().map(|group| group.members.clone()).collect();
        let remembered = PastDecisions::default();
        let grouping = Grouping::Editor(&member_groups);
        let merged = consolidate_for_editor(members.clone(), &sources(), &remembered, grouping);
        // Only a confirming judgement makes a finding more severe than its reviewer did.
        let is_urgent = |member: &Member, judgement: &Judgement| {
            let is_confirmed = judgement.result == JudgementResult::Confirmed;
            judgement.result != JudgementResult::Refuted
                && judgement.severity.is_none_or(|severity| {
                    severity <= Severity::P1
                        && (is_confirmed || member.finding.severity <= Severity::P1)
                })
        };
        let is_open = |issue: &Issue| {
            let is_member_open = |member: &Member| {
                judgements.get(member).is_none_or(|judgement| is_urgent(member, judgement))
            };
            issue.severity <= Severity::P1 && issue.members.iter().any(is_member_open)
        };
        let has_open = merged.issues.iter().any(is_open);
        let merged = apply_edit(merged, &groups, &judgements, rules);
        let report = into_report(Report::default(), merged, CommandKind::Review, cap);
        if has_open {
            prop_assert!(matches!(report.verdict, Verdict::NotReady | Verdict::ReadyWithFixes), "{:?}", report.verdict);
        }
        let shown = report.issues.iter().chain(&report.pre_existing);
        let mut seen: Vec<Member> = shown.map(|issue| issue.members[0].clone()).collect();
        seen.extend(report.suppressed.iter().filter_map(|dropped| dropped.member.clone()));
        let mut all = members;
        seen.sort();
        all.sort();
        prop_assert_eq!(seen, all);
    }

    /// Softened findings are listed as notes and not as issues.
    #[test]
    fn softened_findings_are_mild_model_findings(members in members()) {
        let merged = merge(members);
        let softened = merged.dropped.iter().filter(|dropped| dropped.fate == Fate::Softened);
        let (mut gaps, mut risks) = (0, 0);
        for member in softened.filter_map(|dropped| dropped.member.as_ref()) {
            let cap = severity_cap(member.finding.category);
            prop_assert!(member.origin == Origin::Model);
            prop_assert!(member.finding.severity.max(cap) >= Severity::P2);
            let lines = match member.finding.category {
                Category::Testing => { gaps += 1; &merged.testing_gaps }
                _ => { risks += 1; &merged.residual_risks }
            };
            let is_there = lines.iter().any(|line| line.starts_with(&member.finding.file));
            prop_assert!(is_there, "{lines:?}");
        }
        prop_assert!(merged.testing_gaps.len() <= gaps && merged.residual_risks.len() <= risks);
    }

    /// The cited lines overlap the quote, on the same side.
    #[test]
    fn issue_location_overlaps_its_quote(members in members()) {
        for issue in merge(members).issues {
            // Static checks may cite any line.
            if issue.members[0].origin == Origin::Code {
                continue;
            }
            let quote = issue.evidence.iter().find(|quote| quote.file == issue.location.file).unwrap();
            let last = quote.line + u32::try_from(quote.snippet.lines().count()).unwrap() - 1;
            prop_assert_eq!(issue.location.side, quote.side);
            prop_assert!(issue.location.line_start <= last && quote.line <= issue.location.line_end);
            let first = quote.snippet.lines().next().unwrap().trim_start_matches([' ', '+']);
            prop_assert!(quote.side == Side::Old || first == text_of(quote.line));
        }
    }

    #[test]
    fn keys_and_numbers_are_unique(members in members()) {
        let all = merge(members);
        let issues: Vec<_> = all.issues.iter().chain(&all.pre_existing).collect();
        let keys: BTreeSet<_> = issues.iter().map(|issue| &issue.dedupe_key).collect();
        prop_assert_eq!(keys.len(), issues.len());
        let numbers: Vec<_> = issues.iter().map(|issue| issue.number as usize).collect();
        prop_assert_eq!(numbers, (1..=issues.len()).collect::<Vec<_>>());
    }
}
