//! Merging over random findings: nothing is lost, order does not matter, twice is once.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

use crh_review::Judgement;
use crh_review::Merged;
use crh_review::Remembered;
use crh_review::Sources;
use crh_review::conclude;
use crh_review::consolidate;
use crh_review::diff::Diff;
use crh_review::finding::AutofixClass;
use crh_review::finding::Category;
use crh_review::finding::Confidence;
use crh_review::finding::Evidence;
use crh_review::finding::Finding;
use crh_review::finding::Member;
use crh_review::finding::Owner;
use crh_review::finding::Severity;
use crh_review::finding::Side;
use crh_review::into_report;
use crh_review::report::Fate;
use crh_review::report::Report;
use crh_review::verdict::Asked;
use proptest::prelude::*;

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

/// Lines repeat, so that a quote may stand in several places.
fn text_of(line: u32) -> String {
    format!("let value = call({});", line % 20)
}

fn one_of<T: Clone + std::fmt::Debug + 'static>(items: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(items.to_vec())
}

fn finding() -> impl Strategy<Value = Finding> {
    let title = one_of(&[
        "Off by one in loop",
        "off by one, in the loop",
        "Loop is off by one at the end",
        "Slow query in loop",
        "SQL injection | with pipe",
        "Delete docs/plans/a.md",
        "",
    ]);
    let place = (one_of(&["a.rs", "A.rs", "missing.rs"]), 1_u32..64, 1_u32..64);
    let kind = (
        one_of(&[Severity::P0, Severity::P1, Severity::P2, Severity::P3]),
        one_of(&[Category::Bug, Category::Logic, Category::Security, Category::Performance]),
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
    (title, place, kind, route).prop_map(|(title, (file, line, quoted), kind, route)| {
        let (severity, category, twentieths) = kind;
        let (autofix_class, owner, pre_existing, replacement) = route;
        let snippet = text_of(quoted);
        Finding {
            title: title.to_owned(),
            severity,
            category,
            file: file.to_owned(),
            line_start: NonZeroU32::new(line),
            line_end: None,
            side: (line % 7 == 0).then_some(Side::Old),
            diff_line: None,
            confidence: Confidence::thousandths(twentieths * 50),
            evidence: vec![Evidence { file: None, line: None, side: None, snippet }],
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
    let member =
        (reviewer, finding()).prop_map(|(reviewer, finding)| Member::new(reviewer, finding));
    prop::collection::vec(member, 0..40)
}

/// Merged with a check that says something different about every third issue.
fn merged(members: Vec<Member>) -> Merged {
    let all = consolidate(members, &sources(), &Remembered::default(), &BTreeSet::new());
    let judgements: BTreeMap<String, Judgement> = all
        .issues
        .iter()
        .map(|issue| {
            let judgement = match issue.dedupe_key.as_bytes()[0] % 4 {
                0 => Judgement::Refuted("not so".to_owned()),
                1 => Judgement::Unsure,
                2 => Judgement::Confirmed,
                _ => Judgement::Failed,
            };
            (issue.dedupe_key.clone(), judgement)
        })
        .collect();
    conclude(all, &judgements)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merging_does_not_depend_on_the_order_of_the_input(
        (members, shuffled) in members().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))
    ) {
        prop_assert_eq!(merged(members), merged(shuffled));
    }

    #[test]
    fn merging_twice_is_merging_once(members in members()) {
        let once = merged(members);
        let (again, unread) = once.clone().flatten();
        prop_assert_eq!(unread, vec![]);
        prop_assert_eq!(merged(again), once);
    }

    #[test]
    fn every_finding_has_exactly_one_fate(members in members(), cap in 0_usize..6) {
        let mut all = members.clone();
        let report = into_report(Report::default(), merged(members), Asked::Review, cap);
        prop_assert!(report.issues.len() <= cap);
        let shown = report.issues.iter().chain(&report.pre_existing);
        // The first member speaks for the issue; the others are noted as merged into it.
        let mut seen: Vec<Member> = shown.map(|issue| issue.members[0].clone()).collect();
        seen.extend(report.suppressed.iter().filter_map(|dropped| dropped.member.clone()));
        seen.sort();
        all.sort();
        prop_assert_eq!(seen, all);
        for dropped in &report.suppressed {
            prop_assert!(dropped.fate != Fate::Kept);
            prop_assert_eq!(dropped.into.is_some(), dropped.fate == Fate::Merged);
        }
    }

    #[test]
    fn an_issue_stands_where_its_quote_is(members in members()) {
        for issue in merged(members).issues {
            let quote = &issue.evidence[0];
            prop_assert_eq!(issue.location.line_start, quote.line);
            prop_assert_eq!(issue.location.side, quote.side);
            if issue.location.side == Side::New {
                prop_assert_eq!(&quote.snippet, &text_of(quote.line));
            }
        }
    }

    #[test]
    fn no_key_and_no_number_is_given_twice(members in members()) {
        let all = merged(members);
        let issues: Vec<_> = all.issues.iter().chain(&all.pre_existing).collect();
        let keys: BTreeSet<_> = issues.iter().map(|issue| &issue.dedupe_key).collect();
        prop_assert_eq!(keys.len(), issues.len());
        let numbers: Vec<_> = issues.iter().map(|issue| issue.number as usize).collect();
        prop_assert_eq!(numbers, (1..=issues.len()).collect::<Vec<_>>());
    }
}
