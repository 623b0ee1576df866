use expect_test::expect;

use super::*;
use crate::history::tests::{issue, outcome, review};
use crate::history::{History, ReviewEntry};

fn histories() -> Vec<History> {
    let kinds = [
        OutcomeKind::FixedInPlace,
        OutcomeKind::FixedElsewhere,
        OutcomeKind::Dismissed,
        OutcomeKind::Ignored,
        OutcomeKind::Open,
    ];
    let issues = (0..6).map(|index| issue(&format!("k{index}"), None, "t")).collect();
    let again = ReviewEntry {
        at: "2026-12-01T00:00:00Z".to_owned(),
        issues: vec![issue("k0", None, "t")],
        ..review("1", "r2", Vec::new())
    };
    let outcomes = kinds.iter().enumerate().map(|(index, kind)| {
        let key = format!("k{index}");
        (("1".to_owned(), key.clone()), outcome("1", &key, *kind))
    });
    let reviews = vec![review("1", "r1", issues), again];
    vec![History { reviews, outcomes: outcomes.collect(), unreadable: 1 }]
}

#[test]
fn issues_are_counted_once_with_their_outcome() {
    let stats = LearningStats::new(&histories());
    let total = IssueCounts { shown: 6, acted_on: 2, rejected: 1, left_alone: 1, undecided: 2 };
    assert_eq!(stats.total, total);
    assert_eq!(stats.total.acted_on_percent(), Some(50));
    assert_eq!(stats.by_reviewer["leftovers"], total);
    assert_eq!(stats.by_month["2026-12"].issues, IssueCounts::default());
    expect![[r#"
        issues                        shown  acted on  rejected left alone  undecided acted on %
          all                             6         2         1          1          2       50 %

        category                      shown  acted on  rejected left alone  undecided acted on %
          maintainability                 6         2         1          1          2       50 %

        severity                      shown  acted on  rejected left alone  undecided acted on %
          P2                              6         2         1          1          2       50 %

        reviewer                      shown  acted on  rejected left alone  undecided acted on %
          leftovers                       6         2         1          1          2       50 %

        repository                    shown  acted on  rejected left alone  undecided acted on %
          o/r                             6         2         1          1          2       50 %

        month                        reviews   cost USD mean seconds
          2026-11                          1       0.25         30.0
          2026-12                          1       0.25         30.0

        unreadable lines in the stored data: 1
    "#]]
    .assert_eq(&stats.to_text());
}

#[test]
fn page_escapes_names_and_plots_the_months() {
    let mut histories = histories();
    histories[0].reviews[0].repo = "<script>alert(1)</script>".to_owned();
    let page = LearningStats::new(&histories).to_html();
    assert!(!page.contains("<script"), "{page}");
    assert_eq!(page.matches("<svg").count(), 3);
    assert_eq!(page.matches("<rect").count(), 6);
}

#[test]
fn dismissals_of_unposted_issues_are_counted_apart() {
    let reviews = vec![review("", "r1#1", vec![issue("k", None, "t"), issue("l", None, "t")])];
    let outcomes = [("k", OutcomeKind::Dismissed), ("l", OutcomeKind::Open)];
    let outcomes =
        outcomes.map(|(key, kind)| ((String::new(), key.to_owned()), outcome("", key, kind)));
    let history = History { reviews, outcomes: outcomes.into(), unreadable: 0 };
    let stats = LearningStats::new(&[history]);
    assert_eq!(stats.total, IssueCounts::default());
    expect![[r#"
        dismissed before posting     issues
          maintainability                 1
    "#]]
    .assert_eq(&stats.to_text());
    assert_eq!(LearningStats::default().to_text(), "");
}
