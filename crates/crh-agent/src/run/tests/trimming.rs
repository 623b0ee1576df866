//! Tests of trimming within a run.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use super::script::{Case, case, spec};
use crate::{RunStep, SubmitTool, ToolOutcome};
use crh_llm::{
    CallArguments, ModelError, ModelReply, StopCause, TokenUsage, ToolCall, ToolSpec, Turn,
    TurnPart,
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

#[test]
fn uncalled_tools_are_left_out_of_later_turns() {
    let mut case = case().facts(|facts| facts.context = 9_000);
    case.tools[0].description = "word ".repeat(2_000);
    let mut run = case.run();
    let mut tools = Vec::new();
    for _ in 0..2 {
        let RunStep::Ask(ask) = run.next(Duration::ZERO) else { panic!("the run has ended") };
        tools.push(ask.request.tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>());
        let turn = Turn {
            parts: vec![TurnPart::Call(ToolCall {
                id: "c0".to_owned(),
                name: "read".to_owned(),
                arguments: CallArguments::Json(json!({ "path": "a" })),
                signatures: Vec::new(),
            })],
        };
        let usage = Some(TokenUsage { input: 4_000, output: 10, ..TokenUsage::default() });
        run.on_reply(ModelReply { turn, stop: StopCause::Calls, usage, served: None });
        run.on_tool_results(vec![ToolOutcome::Answered("word ".repeat(5_000))]);
    }
    assert_eq!(tools, [vec!["grep", "read", "submit"], vec!["read", "submit"]]);
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
        > submit done
        stop Answered("done")
    "#]]);
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
        > failed context: too long
        stop Model(ContextFull { message: "too long" })
    "#]]);
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
        > failed context: too long
        ask Work
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
    // This vendor counts twice our estimate, so the last result alone is too long.
    case().facts(|facts| facts.context = 20_000).check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok a*8000
        ask Work
        > in=10600 out=10 read b
        call read b
        > ok b*20000
        stop ContextFull(ContextShortage { needed: 23681, context: 20000 })
    "#]]);
}
