//! The question for the purpose of the change, if neither the change nor the scout tells it.

use super::*;
use crate::review::panel::no_findings;
use crh_testkit::Signal;
use crh_testkit::fake_model::calls;

/// The part that fits into a narrow window.
const ASKED: &str = "What is the primary goal of these";

impl Scene {
    /// A panel review whose scout does not know the purpose.
    pub(super) fn unclear() -> Self {
        Self::of(FakeModel::answering(doubts), Repo::from_fixture(SHOP))
    }
}

fn doubts(asked: &FakeRequest) -> ScriptedReply {
    match asked.caller.as_str() {
        "scout" => calls(
            "report_scout",
            json!({
                "intent": "Totals count items.",
                "doubt": "It is unclear why totals are divided, and whether refunds of unpaid orders are wanted.",
                "reviewers": [],
            }),
        ),
        _ => no_findings(asked),
    }
}

fn begun(size: (u16, u16), term: &str) -> Scene {
    let mut scene = Scene::unclear();
    let program = scene.crh(&["review", "--base", "base", "--strategy", "panel"]);
    scene.starts(program.env("TERM", term), size);
    scene
}

/// Whether each reviewer got the purpose.
fn told(scene: &Scene) -> Vec<bool> {
    let requests = scene.model.requests();
    let reviewers = requests.iter().filter(|asked| asked.caller == "correctness");
    reviewers
        .map(|asked| format!("{:?}", asked.prompt_parts()).contains("Totals are averages."))
        .collect()
}

#[test]
fn purpose_is_given_to_every_reviewer() {
    let mut scene = begun(USUAL, "xterm-256color");
    scene.sees_line(ASKED).types("Totals are averages.\n");
    assert_eq!(scene.ends("Scope:", "intent"), 0);
    assert_eq!(told(&scene), [true]);
}

#[test]
fn empty_purpose_is_not_asked_again() {
    for (nothing, name) in [("\n", "intent_nothing"), ("\x04", "intent_end")] {
        let mut scene = begun((40, 10), "dumb");
        scene.sees_line(ASKED).types(nothing);
        assert_eq!(scene.ends("Scope:", name), 0);
        assert_eq!(told(&scene), [false]);
    }
}

#[test]
fn early_typing_does_not_answer_the_purpose() {
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
