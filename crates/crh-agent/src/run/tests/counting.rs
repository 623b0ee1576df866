//! What is reserved for a question: what the vendor has counted of it, and an estimate of the rest.

use std::time::Duration;

use super::script::{Case, case};
use crate::{Ask, Step, ToolOutcome};
use crh_llm::{Abilities, ModelError, Part, Reply, Stop, Turn, Usage, estimated_tokens};

/// The first question, of which the vendor counts ten tokens, and the second.
fn two_questions(case: &Case) -> [Ask; 2] {
    let mut run = case.run();
    let Step::Ask(first) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    let call = r#"{"answer": null, "calls": [{"name": "read", "arguments": {"path": "a"}}]}"#;
    let turn = Turn { parts: vec![Part::Text(call.to_owned())] };
    let usage = Some(Usage { input: 10, output: 1, ..Usage::default() });
    run.replied(Reply { turn, stop: Stop::Done, usage, served: None });
    let Step::CallTools(_) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    run.called(vec![ToolOutcome::Answered("text".to_owned())]);
    let Step::Ask(second) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    [first, second]
}

#[test]
fn of_a_question_only_what_was_counted_is_not_estimated() {
    let case = case().facts(|facts| facts.abilities = Abilities { tools: false, schema: true });
    let [first, second] = two_questions(&case);
    let estimates = [&first, &second].map(|ask| estimated_tokens(&ask.request));
    assert_eq!([first.input, second.input], [estimates[0], 10 + estimates[1] - estimates[0]]);
    // The grace turn has a schema of its own, so that nothing of it has been counted.
    let [_, grace] = two_questions(&case.limits(|limits| limits.turns = 2));
    assert_eq!(grace.input, estimated_tokens(&grace.request));
}

#[test]
fn of_a_question_that_is_asked_another_way_nothing_has_been_counted() {
    let mut run = case().run();
    run.next(Duration::ZERO);
    let turn = Turn::text("Well.");
    let usage = Some(Usage { input: 10, output: 1, ..Usage::default() });
    run.replied(Reply { turn, stop: Stop::Done, usage, served: None });
    run.next(Duration::ZERO);
    run.failed(ModelError::BadRequest { message: "unknown field `tools`".to_owned() });
    let Step::Ask(ask) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    assert_eq!(ask.input, estimated_tokens(&ask.request));
}
