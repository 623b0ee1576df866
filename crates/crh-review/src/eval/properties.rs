//! Properties of random small evaluations.

mod plain;

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use self::plain::{NaiveScores, is_close, ratio};
use super::baselines;
use super::case::{Expected, KnownBad, Labels, Span};
use super::compare::compare;
use super::evaluation::{About, CaseRun, CaseRuns, Ending, Evaluation, Reported, SCHEMA_VERSION};
use super::matching::{ReportClasses, Rule, classify_reports};
use super::scores::{Estimate, Paired, Stability, score};
use crate::finding::{Category, Confidence, Severity, Side};

const BY_PLACE: [Rule; 3] = [Rule::Category, Rule::Family, Rule::FileLine];
const RULES: [Rule; 5] = [Rule::Category, Rule::Family, Rule::FileLine, Rule::Text, Rule::Judge];
const TEXTS: [&str; 4] = [
    "the lock is released too early",
    "the lock is never released",
    "the index of the last page is wrong",
    "the last page is empty",
];

fn span() -> impl Strategy<Value = Span> {
    let side = prop_oneof![4 => Just(Side::New), 1 => Just(Side::Old)];
    (select(vec!["f", "g"]), 1..25_u32, 0..4_u32, side).prop_map(
        |(file, start, extra_lines, side)| {
            Span::new(file, start, start + extra_lines, side).unwrap()
        },
    )
}

fn category() -> impl Strategy<Value = Category> {
    select(vec![Category::Bug, Category::Logic, Category::Security])
}

fn severity() -> impl Strategy<Value = Severity> {
    select(vec![Severity::P0, Severity::P1, Severity::P2, Severity::P3])
}

fn expected() -> impl Strategy<Value = Expected> {
    let places = (vec(span(), 1..3), vec(span(), 0..2));
    (places, category(), severity(), select(TEXTS.to_vec()), any::<bool>()).prop_map(
        |((spans, on_twin), category, severity, text, omission)| Expected {
            spans,
            category: Some(category),
            severity,
            description: text.to_owned(),
            keywords: Vec::new(),
            omission,
            on_twin,
        },
    )
}

fn reported() -> impl Strategy<Value = Reported> {
    let class = (option::of(category()), option::of(severity()), option::of(0..1001_u16));
    (span(), select(TEXTS.to_vec()), class, select(vec!["", "k", "l"])).prop_map(
        |(span, title, (category, severity, confidence), key)| Reported {
            category,
            severity,
            confidence: confidence.map(Confidence::thousandths),
            key: key.to_owned(),
            ..Reported::new(span, title)
        },
    )
}

fn run() -> impl Strategy<Value = CaseRun> {
    let ending = prop_oneof![
        6 => Just(Ending::Reviewed),
        1 => Just(Ending::Incomplete(String::new())),
        1 => Just(Ending::Failed(String::new())),
        1 => Just(Ending::NotRun(String::new())),
    ];
    let judged = option::weighted(0.3, vec((0..4_usize, 0..6_usize), 0..4));
    (ending, vec(reported(), 0..6), judged)
        .prop_map(|(ending, reported, judged)| CaseRun { judged, ..CaseRun::new(ending, reported) })
}

/// Cases, each perhaps with its twin: the same change without the defect.
fn cases() -> impl Strategy<Value = Vec<CaseRuns>> {
    let known_bad = vec(span(), 0..2);
    let runs = (vec(run(), 0..4), option::of(vec(run(), 0..4)));
    let case = (vec(expected(), 0..4), known_bad, 0..400_u32, runs);
    vec(case, 0..5).prop_map(|cases| {
        let mut all = Vec::new();
        for (at, (expected, known_bad, lines, (runs, twin))) in cases.into_iter().enumerate() {
            let known_bad = known_bad
                .into_iter()
                .map(|span| KnownBad { span, description: TEXTS[0].to_owned() });
            let labels = Labels {
                id: format!("c{at}"),
                language: ["python", "rust"][at % 2].to_owned(),
                lines,
                twin_of: None,
                expected,
                known_bad: known_bad.collect(),
            };
            all.extend(twin.map(|runs| CaseRuns {
                labels: Labels {
                    id: format!("c{at}~"),
                    twin_of: Some(labels.id.clone()),
                    expected: Vec::new(),
                    known_bad: Vec::new(),
                    ..labels.clone()
                },
                title: String::new(),
                runs,
            }));
            all.push(CaseRuns { labels, title: String::new(), runs });
        }
        all
    })
}

fn evaluation(rule: Rule, cases: &[CaseRuns]) -> Evaluation {
    Evaluation {
        schema_version: SCHEMA_VERSION,
        about: About::default(),
        rule,
        repeats: 3,
        judged_by: None,
        cases: cases.to_vec(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn each_report_and_issue_is_counted_once(cases in cases(), rule in select(RULES.to_vec())) {
        for case in &cases {
            for run in &case.runs {
                let ReportClasses { matched, duplicates, known_bad, on_clean, unlabelled, missed } =
                    classify_reports(&case.labels, run, rule);
                let pairs = [&matched, &duplicates, &known_bad];
                let reports = pairs.iter().flat_map(|pairs| pairs.iter().map(|(_, report)| *report));
                let mut reports: Vec<_> = reports.chain(on_clean.clone()).chain(unlabelled.clone()).collect();
                reports.sort();
                prop_assert_eq!(reports, (0..run.reported.len()).collect::<Vec<_>>());
                let mut issues: Vec<_> = matched.iter().map(|(issue, _)| *issue).chain(missed).collect();
                issues.sort();
                prop_assert_eq!(issues, (0..case.labels.expected.len()).collect::<Vec<_>>());
                prop_assert!(duplicates.iter().all(|(issue, _)| matched.iter().any(|(other, _)| other == issue)));
                prop_assert!(known_bad.iter().all(|(bad, _)| *bad < case.labels.known_bad.len()));
                prop_assert!(on_clean.is_empty() || case.labels.expected.is_empty());
                prop_assert!(unlabelled.is_empty() || !case.labels.expected.is_empty());
            }
        }
    }

    #[test]
    fn scores_equal_naive_implementation(cases in cases(), rule in select(BY_PLACE.to_vec())) {
        let evaluation = evaluation(rule, &cases);
        let plain = NaiveScores::from_evaluation(&evaluation);
        let quality = score(&evaluation).quality;
        let scored = NaiveScores {
            expected: quality.expected,
            reported: quality.reported,
            matched: quality.matched,
            duplicates: quality.duplicates,
            known_bad: quality.known_bad,
            on_clean: quality.on_clean,
            unlabelled: quality.unlabelled,
            clean_reported: quality.clean_reported,
            // These are not part of the scores; their shares are compared below.
            changes: plain.changes,
            clean: plain.clean,
            flagged: plain.flagged,
        };
        prop_assert_eq!(&scored, &plain);
        let precision = ratio(plain.matched, plain.reported);
        let recall = ratio(plain.matched, plain.expected);
        let labelled = plain.matched + plain.duplicates + plain.known_bad + plain.on_clean;
        prop_assert!(is_close(quality.precision.value, precision));
        prop_assert!(is_close(quality.recall.value, recall));
        prop_assert!(is_close(quality.f1.value, plain.f1()));
        prop_assert!(is_close(quality.precision_labelled.value, ratio(plain.matched, labelled)));
        prop_assert!(is_close(quality.findings_per_change.value, ratio(plain.reported, plain.changes)));
        prop_assert!(is_close(quality.clean_flagged.value, ratio(plain.flagged, plain.clean)));
    }

    #[test]
    fn pair_scores_equal_naive_implementation(cases in cases(), rule in select(BY_PLACE.to_vec())) {
        let evaluation = evaluation(rule, &cases);
        let paired = score(&evaluation).paired;
        let scored = paired.as_ref().map(|paired| {
            let Paired { pairs, expected, matched, also_on_twin, reported, on_twins, .. } = *paired;
            (pairs, [expected, matched, also_on_twin, reported, on_twins])
        });
        let plain = plain::pairs(&evaluation);
        prop_assert_eq!(scored, plain);
        if let (Some(paired), Some((_, [expected, matched, also_on_twin, reported, _]))) = (paired, plain) {
            let credited = matched - also_on_twin;
            prop_assert!(is_close(paired.recall.value, ratio(credited, expected)));
            prop_assert!(is_close(paired.precision.value, ratio(credited, reported)));
            prop_assert!(is_close(paired.f1.value, ratio(2 * credited, expected + reported)));
        }
    }

    #[test]
    fn stability_equals_naive_pairwise_comparison(cases in cases(), rule in select(BY_PLACE.to_vec())) {
        let evaluation = evaluation(rule, &cases);
        let stability = score(&evaluation).stability;
        let plain = plain::stability(&evaluation);
        prop_assert_eq!(stability.is_some(), plain.is_some());
        if let (Some(stability), Some(plain)) = (stability, plain) {
            let Stability { returns, hit_variance, class_changes, f1_deviation, .. } = stability;
            for (number, plain) in [returns, hit_variance, class_changes, f1_deviation].into_iter().zip(plain) {
                prop_assert!(is_close(number, plain), "{number:?} {plain:?}");
            }
        }
    }

    #[test]
    fn unstarted_runs_cause_no_difference(
        cases in cases(),
        rule in select(RULES.to_vec()),
        left_out in vec(any::<bool>(), 16),
    ) {
        let whole = evaluation(rule, &cases);
        let mut part = whole.clone();
        let runs = part.cases.iter_mut().flat_map(|case| &mut case.runs);
        for (run, _) in runs.zip(left_out.iter().cycle()).filter(|(_, left_out)| **left_out) {
            run.ending = Ending::NotRun(String::new());
        }
        for (before, after) in [(&whole, &part), (&part, &whole)] {
            let comparison = compare(before, after);
            prop_assert_eq!(comparison.flips, []);
            for difference in comparison.differences {
                prop_assert_eq!(difference.before, difference.after, "{}", difference.metric);
            }
        }
    }

    #[test]
    fn report_order_does_not_change_scores(
        cases in cases(),
        rule in select(vec![Rule::Category, Rule::Family, Rule::FileLine, Rule::Text]),
        turn in 0..6_usize,
    ) {
        let scores = score(&evaluation(rule, &cases));
        let mut turned = cases;
        for run in turned.iter_mut().flat_map(|case| &mut case.runs) {
            run.reported.reverse();
            let by = turn.min(run.reported.len());
            run.reported.rotate_left(by);
        }
        prop_assert_eq!(score(&evaluation(rule, &turned)), scores);
    }

    #[test]
    fn numbers_are_finite_and_intervals_ordered(
        cases in cases(),
        rule in select(RULES.to_vec()),
    ) {
        let scores = score(&evaluation(rule, &cases));
        let quality = &scores.quality;
        let mut estimates = vec![
            quality.precision,
            quality.precision_labelled,
            quality.recall,
            quality.f1,
            quality.findings_per_change,
            quality.clean_flagged,
        ];
        estimates.extend(scores.paired.iter().flat_map(|paired| [paired.recall, paired.precision, paired.f1]));
        for Estimate { value, low, high } in estimates {
            prop_assert!([value, low, high].iter().flatten().all(|number| number.is_finite()));
            prop_assert!(low <= high);
            prop_assert!(value.is_some() || low.is_none() && high.is_none());
        }
        if let Some(calibration) = &scores.avg_confidence_calibration {
            let all = [calibration.brier, calibration.expected_calibration_error];
            prop_assert!(all.iter().all(|number| (0.0..=1.0).contains(number)));
        }
        if let Some(stability) = &scores.stability {
            let shares = [stability.returns, stability.class_changes];
            prop_assert!(shares.iter().flatten().all(|share| (0.0..=1.0).contains(share)));
            prop_assert!(stability.hit_variance.is_none_or(|variance| (0.0..=0.5).contains(&variance)));
        }
    }

    #[test]
    fn recall_groups_add_up_to_the_total(cases in cases(), rule in select(RULES.to_vec())) {
        let scores = score(&evaluation(rule, &cases));
        let by = &scores.recall_by;
        let size: BTreeMap<_, _> = by.size.iter().cloned().collect();
        prop_assert_eq!(size.len(), by.size.len());
        let sums = [&by.severity, &by.category, &by.language, &by.kind, &size].map(|shares| {
            shares.values().fold((0, 0), |(matched, expected), share| {
                (matched + share.matched, expected + share.expected)
            })
        });
        let whole = (scores.quality.matched, scores.quality.expected);
        prop_assert_eq!(sums, [whole; 5]);
        for (name, share) in &size {
            let is_of = |lines: u32| match name.as_str() {
                "1–10" => lines <= 10,
                "11–50" => (11..=50).contains(&lines),
                "51–200" => (51..=200).contains(&lines),
                _ => lines > 200,
            };
            let of_size = cases.iter().filter(|case| is_of(case.labels.lines)).cloned();
            let quality = score(&evaluation(rule, &of_size.collect::<Vec<_>>())).quality;
            prop_assert_eq!((share.matched, share.expected), (quality.matched, quality.expected));
        }
    }

    #[test]
    fn perfect_reviewer_scores_one_and_silent_one_zero(cases in cases(), rule in select(RULES.to_vec())) {
        let evaluation = evaluation(rule, &cases);
        let perfect = score(&baselines::perfect(&evaluation));
        let quality = perfect.quality;
        let full = (quality.expected > 0).then_some(1.0);
        let marks = [quality.precision, quality.precision_labelled, quality.recall, quality.f1];
        prop_assert_eq!(marks.map(|mark| mark.value), [full; 4]);
        prop_assert_eq!(quality.clean_flagged.value.unwrap_or_default(), 0.0);
        if let Some(paired) = perfect.paired {
            prop_assert_eq!([paired.precision.value, paired.recall.value], [Some(1.0); 2]);
        }
        let silent = score(&baselines::without_reports(&evaluation)).quality;
        prop_assert_eq!(silent.expected, quality.expected);
        prop_assert_eq!(silent.precision, Estimate::default());
        prop_assert_eq!(silent.recall.value, full.map(|_| 0.0));
    }
}
