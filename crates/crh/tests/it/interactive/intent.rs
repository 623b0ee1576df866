//! What the change is for, asked before the reviewers begin, where neither the change nor whoever read it first can say.

use super::*;
use crate::review::panel::is_content;
use crh_testkit::Signal;
use crh_testkit::fake_model::calls;

/// However narrow the window is.
const ASKED: &str = "What is the primary goal of these";

impl Scene {
    /// A review by a panel, whose scout does not know what the change is for.
    pub(super) fn unclear() -> Self {
        Self::of(FakeModel::answering(doubts), Repo::from_fixture(SHOP))
    }
}

fn doubts(asked: &Asked) -> Scripted {
    match asked.caller.as_str() {
        "scout" => calls(
            "report_scout",
            json!({
                "intent": "Totals count items.",
                "doubt": "It is not said why totals are divided, nor whether refunds of orders that nobody has paid for are wanted.",
                "reviewers": [],
            }),
        ),
        _ => is_content(asked),
    }
}

fn begun(size: (u16, u16), term: &str) -> Scene {
    let mut scene = Scene::unclear();
    let program = scene.crh(&["review", "--base", "base", "--strategy", "panel"]);
    scene.starts(program.env("TERM", term), size);
    scene
}

/// The words by which reviewers are told what the change is for.
fn told(scene: &Scene) -> Vec<bool> {
    let requests = scene.model.requests();
    let reviewers = requests.iter().filter(|asked| asked.caller == "correctness");
    reviewers.map(|asked| format!("{:?}", asked.read()).contains("Totals are averages.")).collect()
}

#[test]
fn what_somebody_says_the_change_is_for_is_told_to_every_reviewer() {
    let mut scene = begun(USUAL, "xterm-256color");
    scene.sees_line(ASKED).types("Totals are averages.\n");
    assert_eq!(scene.ends("Scope:", "intent"), 0);
    assert_eq!(told(&scene), [true]);
}

#[test]
fn who_says_nothing_is_not_asked_again() {
    for (nothing, name) in [("\n", "intent_nothing"), ("\x04", "intent_end")] {
        let mut scene = begun((40, 10), "dumb");
        scene.sees_line(ASKED).types(nothing);
        assert_eq!(scene.ends("Scope:", name), 0);
        assert_eq!(told(&scene), [false]);
    }
}

#[test]
fn what_was_typed_before_is_not_what_the_change_is_for() {
    let (model, hold) = held(doubts);
    let mut scene = Scene::of(model, Repo::from_fixture(SHOP));
    let program = scene.crh(&["review", "--base", "base", "--strategy", "panel"]);
    scene.starts(program, USUAL);
    scene.types("Nonsense.\n");
    drop(hold);
    scene.sees_line(ASKED);
    scene.terminal().signal(Signal::INT);
    assert_eq!(scene.terminal.take().unwrap().end().code, 130);
    assert_eq!(told(&scene), [false; 0]);
}
