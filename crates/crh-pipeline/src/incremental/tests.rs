//! Tests: every mismatch leads to a full review with its own reason.

use super::*;

const HEAD: &str = "1111111111111111111111111111111111111111";
const NEW: &str = "2222222222222222222222222222222222222222";
const BASE: &str = "3333333333333333333333333333333333333333";

fn basis() -> ReviewBasis {
    ReviewBasis {
        configuration: "c".to_owned(),
        prompt_version: "p".to_owned(),
        reviewers: vec!["secrets".to_owned()],
    }
}

fn previous_review() -> PreviousReview {
    PreviousReview {
        state: SavedReview {
            version: 1,
            review_id: "id".to_owned(),
            base: BASE.to_owned(),
            head: HEAD.to_owned(),
            basis: basis(),
            models: "m".to_owned(),
            strategy: Strategy::Single,
            complete: true,
            issues: Vec::new(),
            withheld: 0,
            refused: Vec::new(),
        },
        history: HeadHistory::Continued,
        unchanged_files: BTreeSet::from(["a.py".to_owned()]),
    }
}

fn incremental_review(
    change: impl FnOnce(&mut PreviousReview),
    head: &str,
) -> Result<IncrementalReview, FullReviewReason> {
    let mut last = previous_review();
    change(&mut last);
    let now = CurrentReview {
        base: BASE,
        head,
        basis: &basis(),
        models: "m",
        strategy: Strategy::Single,
    };
    PreviousReviewLookup::Review(Box::new(last)).incremental(&now)
}

#[track_caller]
fn check(change: impl FnOnce(&mut PreviousReview), expected: &str) {
    assert_eq!(
        incremental_review(change, NEW).map_err(|why| why.to_string()),
        Err(expected.to_owned())
    );
}

#[test]
fn matching_review_is_continued() {
    let since = |moved| IncrementalReview {
        head: HEAD.to_owned(),
        head_change: moved,
        unchanged_files: BTreeSet::from(["a.py".to_owned()]),
        issues: Vec::new(),
    };
    assert_eq!(incremental_review(|_| {}, NEW), Ok(since(HeadChange::Moved)));
    assert_eq!(incremental_review(|_| {}, HEAD), Ok(since(HeadChange::Same)));
}

#[test]
fn every_mismatch_has_its_own_reason() {
    check(|it| it.state.complete = false, "the previous review, of `111111111111`, was incomplete");
    check(
        |it| it.state.withheld = 1,
        "the previous review, of `111111111111`, did not list all of its open issues",
    );
    check(
        |it| it.history = HeadHistory::Rewritten,
        "the head of the previous review, `111111111111`, is no longer part of the change",
    );
    check(
        |it| it.state.base = NEW.to_owned(),
        "the base is now `333333333333`; the previous review used another one",
    );
    check(
        |it| it.state.strategy = Strategy::Static,
        "the strategy is now `single`; it was `static`",
    );
    check(|it| it.state.models = "n".to_owned(), "the previous review used another model");
    check(|it| it.state.basis.reviewers.clear(), "the previous review used other reviewers");
    check(
        |it| it.state.basis.prompt_version = "q".to_owned(),
        "the prompts have changed since the previous review",
    );
    let other = "the settings, the instructions or the version of crh have changed since the previous review";
    check(|it| it.state.basis.configuration = "d".to_owned(), other);
    check(|it| it.state.basis.configuration.clear(), other);
    check(
        |it| it.state.head = "no commit".to_owned(),
        "the state of the earlier review is damaged",
    );
}

#[test]
fn unknown_configurations_do_not_match() {
    let basis = ReviewBasis::default();
    let now = CurrentReview {
        base: BASE,
        head: NEW,
        basis: &basis,
        models: "m",
        strategy: Strategy::Single,
    };
    let mut last = previous_review();
    last.state.basis = ReviewBasis::default();
    assert_eq!(
        PreviousReviewLookup::Review(Box::new(last)).incremental(&now),
        Err(FullReviewReason::OtherConfiguration)
    );
    let none = PreviousReviewLookup::Unavailable("there is none".to_owned());
    assert_eq!(
        none.incremental(&now),
        Err(FullReviewReason::NoPreviousReview("there is none".to_owned()))
    );
}
