//! Tests of trimming within a run.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use super::script::{Case, case, spec};
use crate::{RunStep, SubmitTool, ToolOutcome};
use crh_llm::{
    CallArguments, Message, ModelError, ModelReply, StopCause, TokenUsage, ToolCall, ToolSpec,
    Turn, TurnPart,
};

#[test]
fn old_results_are_trimmed_and_may_be_requested_again() {
    case().facts(|facts| facts.context = 8_500).check(expect![[r#"
        ask Work
        > ~thought ; read a
        call read a
        > ok a*8000
        ask Work
        > ~thought ; read b
        call read b
        > ok b*8000
        ask Work
        > ~thought ; read c
        call read c
        > ok c*8000
        ask Work
          ~ c1 read: [8000 characters from `read` were taken out to make room. Call it again if you n… (90 characters)
          ~ c1 read: [8000 characters from `read` were taken out to make room. Call it again if you n… (90 characters)
        > read a ; read c
        call read a
        > ok a*100
        ask Work
            c1 read: Not called again: the same call has been made, see the result of `c1`. Use that,… (104 characters)
        > submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn vendor_count_overrides_the_estimate() {
    // By our estimate the second question would not fit.
    case().facts(|facts| facts.context = 12_000).check(expect![[r#"
        ask Work
        > in=300 out=10 read a
        call read a
        > ok a*8000
        ask Work
        > in=2300 out=10 read b
        call read b
        > ok b*8000
        ask Work
        > in=4300 out=10 read c
        call read c
        > ok c*8000
        ask Work
        > submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn untrimmable_conversation_ends_the_run() {
    case().facts(|facts| facts.context = 500).check(expect![[r#"
        stop ContextFull(ContextShortage { needed: 616, context: 500 })
    "#]]);
}

#[test]
fn results_that_exceed_the_context_are_cut() {
    case().facts(|facts| facts.context = 12_000).check(expect![[r#"
        ask Work
        > read a ; read b
        call read a; read b
        > ok a*30000 ; ok b*100
        ask Work
          - c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (30000 characters)
            c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (16491 characters)
        > submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn small_context_is_tried_before_the_task_is_refused() {
    // The estimate of the first request is more than the context, the real size is not.
    let case = || case().facts(|facts| (facts.context, facts.max_output) = (1_100, 800));
    case().check(expect![[r#"
        ask Work
        > in=600 out=10 submit done
        stop Answered("done")
    "#]]);
    match case().run().next(Duration::ZERO) {
        RunStep::Ask(ask) => assert_eq!(ask.request.tools.len(), 3, "no tool is left out"),
        step => panic!("{step:?}"),
    }
}

#[test]
fn tools_are_left_out_before_the_task_is_refused() {
    let mut case = case().facts(|facts| (facts.context, facts.max_output) = (4_000, 800));
    let tools = |case: &Case| match case.run().next(Duration::ZERO) {
        RunStep::Ask(ask) => {
            ask.request.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>().join(" ")
        }
        step => panic!("{step:?}"),
    };
    assert_eq!(tools(&case), "grep read submit");
    case.tools[1].description = "word ".repeat(3_000);
    assert_eq!(tools(&case), "grep submit");
    case.tools[0].description = "word ".repeat(3_000);
    assert_eq!(tools(&case), "submit");
    case.tools[1].description = "word ".repeat(300);
    case.submit_tool = |tool| tool.with_required_tool("read");
    assert_eq!(tools(&case), "read submit");
}

#[test]
fn run_is_refused_if_required_tools_do_not_fit() {
    let mut case = case().facts(|facts| (facts.context, facts.max_output) = (4_000, 800));
    case.tools[1].description = "word ".repeat(3_000);
    let submit_tools: [fn(SubmitTool<String>) -> SubmitTool<String>; 2] =
        [|tool| tool.with_required_tool("read"), |tool| tool.with_companion("read")];
    for submit_tool in submit_tools {
        case.submit_tool = submit_tool;
        let end = format!("{:?}", case.run().next(Duration::ZERO));
        assert!(end.contains("ContextFull(ContextShortage"), "{end}");
    }
}

/// The tools of two questions and the length of the result between them, with a context of 9,000
/// tokens. `first_count` is the vendor's count of the first question.
fn questions_around_a_long_result(first_count: u64) -> (Vec<String>, usize) {
    let mut case = case().facts(|facts| facts.context = 9_000);
    case.tools[0].description = "word ".repeat(2_000);
    let mut run = case.run();
    let (mut tools, mut length) = (Vec::new(), 0);
    for _ in 0..2 {
        let RunStep::Ask(ask) = run.next(Duration::ZERO) else { panic!("the run has ended") };
        let names: Vec<String> = ask.request.tools.into_iter().map(|tool| tool.name).collect();
        tools.push(names.join(" "));
        if let Some(Message::Results(results)) = ask.request.conversation.messages.last() {
            length = results[0].text.len();
        }
        let turn = Turn {
            parts: vec![TurnPart::Call(ToolCall {
                id: "c0".to_owned(),
                name: "read".to_owned(),
                arguments: CallArguments::Json(json!({ "path": "a" })),
                signatures: Vec::new(),
            })],
        };
        let usage = Some(TokenUsage { input: first_count, output: 10, ..TokenUsage::default() });
        run.on_reply(ModelReply { turn, stop: StopCause::Calls, usage, served: None });
        run.on_tool_results(vec![ToolOutcome::Answered("word ".repeat(5_000))]);
    }
    (tools, length)
}

#[test]
fn last_results_are_cut_before_tools_are_left_out() {
    // The results of one turn may have 12,000 characters. The context has room for fewer.
    let (tools, length) = questions_around_a_long_result(4_000);
    assert_eq!(tools, ["grep read submit", "grep read submit"]);
    assert!((8_000..11_000).contains(&length), "{length}");
}

#[test]
fn uncalled_tools_are_left_out_of_later_turns() {
    let (tools, length) = questions_around_a_long_result(6_800);
    assert_eq!(tools, ["grep read submit", "read submit"]);
    assert!((2_000..2_200).contains(&length), "{length}");
}

#[test]
fn little_room_for_results_does_not_end_the_run() {
    // The submit tool takes most of the context. About 500 characters of the result fit.
    let mut case = case().facts(|facts| facts.context = 2_000);
    case.tools.remove(0);
    case.submit_schema = json!({ "type": "object", "description": "word ".repeat(780) });
    let played = case.play(["read a", "ok a*8000", "submit done"]);
    assert!(played.ends_with("stop Answered(\"done\")\n"), "{played}");
}

#[test]
fn context_full_error_leaves_out_tools() {
    let mut run = case().run();
    let mut counts = Vec::new();
    while let RunStep::Ask(ask) = run.next(Duration::ZERO) {
        counts.push(ask.request.tools.len());
        run.on_failure(ModelError::ContextFull { message: "too long".to_owned() });
    }
    // Two tools and the answer, then one, then none.
    assert_eq!(counts, [3, 2, 1]);
    let end = format!("{:?}", run.next(Duration::ZERO));
    assert!(end.contains("Model(ContextFull"), "{end}");
}

#[test]
fn shared_submit_tool_is_listed_once_in_a_small_context() {
    for has_tools in [true, false] {
        let mut case = case().facts(|facts| facts.abilities.tools = has_tools);
        case.tools.insert(1, spec("submit", json!({"type": "object"})));
        let mut run = case.run();
        let mut counts = Vec::new();
        while let RunStep::Ask(ask) = run.next(Duration::ZERO) {
            let is_submit = |tool: &&ToolSpec| tool.name == "submit";
            let in_list = ask.request.tools.iter().filter(is_submit).count();
            let in_prompt = ask.request.conversation.system.matches("`submit`: ").count();
            counts.push(in_list + in_prompt);
            run.on_failure(ModelError::ContextFull { message: "too long".to_owned() });
        }
        assert!(counts.len() >= 3 && counts.iter().all(|count| *count == 1), "{counts:?}");
    }
}

#[test]
fn context_full_error_trims_and_retries() {
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok a*8000
        ask Work
        > read b
        call read b
        > ok b*8000
        ask Work
        > failed context: too long
        ask Work
          ~ c0 read: [8000 characters from `read` were taken out to make room. Call it again if you n… (90 characters)
        > read c
        call read c
        > ok c*8000
        ask Work
        > failed context: too long
        ask Work
          ~ c0 read: [8000 characters from `read` were taken out to make room. Call it again if you n… (90 characters)
        > failed context: too long
        ask Work
          ~ c0 read: cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc… (2090 characters)
        > failed context: too long
        ask Work
        > failed context: too long
        ask Work
          ~ c0 read: [cut: the whole result has 8000 characters. Ask for fewer or smaller pieces in o… (90 characters)
        > failed context: too long
        stop Model(ContextFull { message: "too long" })
    "#]]);
}

#[test]
fn last_turn_trims_old_results_to_fit_the_limits() {
    case().limits(|limits| limits.tokens = 11_500).check(expect![[r#"
        ask Work
        > in=300 out=10 read a
        call read a
        > ok a*8000
        ask Work
        > in=2300 out=10 read b
        call read b
        > ok b*24000
        ask LastTurn, has to submit
          ~ c0 read: [8000 characters from `read` were taken out to make room. Call it again if you n… (90 characters)
            user: The limit on tokens is almost reached. This is your last turn: submit your answe… (147 characters)
        > submit done
        stop Answered("done"), limited by Tokens
    "#]]);
}

#[test]
fn estimate_is_scaled_after_trimming() {
    // This vendor counts twice our estimate, so the last result alone is too long, and is cut.
    case().facts(|facts| facts.context = 20_000).check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok a*8000
        ask Work
        > in=10600 out=10 read b
        call read b
        > ok b*20000
        ask Work
          - c0 read: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (20000 characters)
          ~ c0 read: [8000 characters from `read` were taken out to make room. Call it again if you n… (90 characters)
            c0 read: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (16041 characters)
        > submit done
        stop Answered("done")
    "#]]);
}
