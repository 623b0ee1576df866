//! What does not match makes the review larger, each mismatch with its own words.

use super::*;

const HEAD: &str = "1111111111111111111111111111111111111111";
const NEW: &str = "2222222222222222222222222222222222222222";
const BASE: &str = "3333333333333333333333333333333333333333";

fn basis() -> Basis {
    Basis {
        configuration: "c".to_owned(),
        prompt_version: "p".to_owned(),
        reviewers: vec!["secrets".to_owned()],
    }
}

fn last() -> LastReview {
    LastReview {
        state: State {
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
        history: History::GoesOn,
        unchanged: BTreeSet::from(["a.py".to_owned()]),
    }
}

fn decided(change: impl FnOnce(&mut LastReview), head: &str) -> Result<Since, Widened> {
    let mut last = last();
    change(&mut last);
    let now = Now { base: BASE, head, basis: &basis(), models: "m", strategy: Strategy::Single };
    Last::Review(Box::new(last)).since(&now)
}

#[track_caller]
fn check(change: impl FnOnce(&mut LastReview), expected: &str) {
    assert_eq!(decided(change, NEW).map_err(|why| why.to_string()), Err(expected.to_owned()));
}

#[test]
fn what_matches_is_built_on() {
    let since = |moved| Since {
        head: HEAD.to_owned(),
        moved,
        unchanged: BTreeSet::from(["a.py".to_owned()]),
        issues: Vec::new(),
    };
    assert_eq!(decided(|_| {}, NEW), Ok(since(Moved::On)));
    assert_eq!(decided(|_| {}, HEAD), Ok(since(Moved::Not)));
}

#[test]
fn every_mismatch_has_its_own_reason() {
    check(|it| it.state.complete = false, "the last review, of `111111111111`, was not complete");
    check(
        |it| it.state.withheld = 1,
        "the last review, of `111111111111`, did not list all that it found open",
    );
    check(
        |it| it.history = History::Rewritten,
        "the head of the last review, `111111111111`, is not part of the change any more",
    );
    check(
        |it| it.state.base = NEW.to_owned(),
        "the change is compared with `333333333333` now, and the last review was not",
    );
    check(
        |it| it.state.strategy = Strategy::Static,
        "the strategy is `single` now, and was `static`",
    );
    check(|it| it.state.models = "n".to_owned(), "the last review was by another model");
    check(|it| it.state.basis.reviewers.clear(), "the last review was by other reviewers");
    check(
        |it| it.state.basis.prompt_version = "q".to_owned(),
        "the prompts are not those of the last review",
    );
    let other =
        "the settings, the instructions or the version of crh are not those of the last review";
    check(|it| it.state.basis.configuration = "d".to_owned(), other);
    check(|it| it.state.basis.configuration.clear(), other);
    check(
        |it| it.state.head = "no commit".to_owned(),
        "the state of the earlier review is damaged",
    );
}

#[test]
fn two_that_say_nothing_of_their_configuration_do_not_match() {
    let basis = Basis::default();
    let now = Now { base: BASE, head: NEW, basis: &basis, models: "m", strategy: Strategy::Single };
    let mut last = last();
    last.state.basis = Basis::default();
    assert_eq!(Last::Review(Box::new(last)).since(&now), Err(Widened::OtherConfiguration));
    let none = Last::Nothing("there is none".to_owned());
    assert_eq!(none.since(&now), Err(Widened::Nothing("there is none".to_owned())));
}
