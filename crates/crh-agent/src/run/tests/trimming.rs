//! Tests of trimming within a run.

use std::time::Duration;

use expect_test::expect;

use super::script::{Case, case};
use crate::RunStep;
use crh_llm::ModelError;

#[test]
fn old_results_are_trimmed_and_may_be_requested_again() {
    case().facts(|facts| facts.context = 8_500).check(
        "
        ~thought ; read a
        ok a*8000
        ~thought ; read b
        ok b*8000
        ~thought ; read c
        ok c*8000
        read a ; read c
        ok a*100
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model thinks
                model calls c1: read a
                c1 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (8000 characters)
            call read b
            ask Work
                model thinks
                model calls c1: read b
                c1 read: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (8000 characters)
            call read c
            ask Work
              ~ c1 read: [8000 characters from `read` were taken out to make room. Call it again if you need them.]
              ~ c1 read: [8000 characters from `read` were taken out to make room. Call it again if you need them.]
                model thinks
                model calls c1: read c
                c1 read: cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc… (8000 characters)
            call read a
            ask Work
                model calls c0: read a
                model calls c1: read c
                c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
                c1 read: Not called again: the same call has been made, see the result of `c1`. Use that, or call something else.
            stop Answered("done")
        "#]],
    );
}

#[test]
fn vendor_count_overrides_the_estimate() {
    // By our estimate the second question would not fit.
    case().facts(|facts| facts.context = 12_000).check(
        "
        in=300 out=10 read a
        ok a*8000
        in=2300 out=10 read b
        ok b*8000
        in=4300 out=10 read c
        ok c*8000
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (8000 characters)
            call read b
            ask Work
                model calls c0: read b
                c0 read: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (8000 characters)
            call read c
            ask Work
                model calls c0: read c
                c0 read: cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc… (8000 characters)
            stop Answered("done")
        "#]],
    );
}

#[test]
fn untrimmable_conversation_ends_the_run() {
    case().facts(|facts| facts.context = 500).check(
        "",
        expect![[r#"
            stop ContextFull(ContextShortage { needed: 616, context: 500 })
        "#]],
    );
}

#[test]
fn results_that_exceed_the_context_are_cut() {
    case().facts(|facts| facts.context = 12_000).check(
        "
        read a ; read b
        ok a*30000 ; ok b*100
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a; read b
            ask Work
                model calls c0: read a
                model calls c1: read b
                c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (16491 characters)
                c1 read: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
            stop Answered("done")
        "#]],
    );
}

#[test]
fn small_context_is_tried_before_the_task_is_refused() {
    // The estimate of the first request is more than the context, the real size is not.
    case().facts(|facts| (facts.context, facts.max_output) = (1_100, 800)).check(
        "in=600 out=10 submit done",
        expect![[r#"
            ask Work
                user: TASK
            stop Answered("done")
        "#]],
    );
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
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is what is sent")]
fn context_full_error_trims_and_retries() {
    let script = "
        read a
        ok a*8000
        read b
        ok b*8000
        failed context: too long
        ";
    case().check(&format!("{script}\nsubmit done"), expect![[r#"
        ask Work
            user: TASK
        call read a
        ask Work
            model calls c0: read a
            c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (8000 characters)
        call read b
        ask Work
            model calls c0: read b
            c0 read: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (8000 characters)
        ask Work
          ~ c0 read: [8000 characters from `read` were taken out to make room. Call it again if you need them.]
        stop Answered("done")
    "#]]);
    case().check(
        &format!("{script}\nread c\nok c*8000\nfailed context: too long\nfailed context: too long"),
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (8000 characters)
            call read b
            ask Work
                model calls c0: read b
                c0 read: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (8000 characters)
            ask Work
              ~ c0 read: [8000 characters from `read` were taken out to make room. Call it again if you need them.]
            call read c
            ask Work
                model calls c0: read c
                c0 read: cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc… (8000 characters)
            ask Work
              ~ c0 read: [8000 characters from `read` were taken out to make room. Call it again if you need them.]
            stop Model(ContextFull { message: "too long" })
        "#]],
    );
    case().check(&format!("{script}\nfailed context: too long"), expect![[r#"
        ask Work
            user: TASK
        call read a
        ask Work
            model calls c0: read a
            c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (8000 characters)
        call read b
        ask Work
            model calls c0: read b
            c0 read: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (8000 characters)
        ask Work
          ~ c0 read: [8000 characters from `read` were taken out to make room. Call it again if you need them.]
        stop Model(ContextFull { message: "too long" })
    "#]]);
    // Before the first turn, crh leaves out tools first.
    case().check(
        "failed context: too long\nfailed context: too long\nfailed context: too long",
        expect![[r#"
            ask Work
                user: TASK
            ask Work
            ask Work, has to submit
            stop Model(ContextFull { message: "too long" })
        "#]],
    );
}

#[test]
fn grace_turn_trims_old_results_to_fit_the_limits() {
    case().limits(|limits| limits.tokens = 11_500).check(
        "
        in=300 out=10 read a
        ok a*8000
        in=2300 out=10 read b
        ok b*24000
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (8000 characters)
            call read b
            ask LastTurn, has to submit
              ~ c0 read: [8000 characters from `read` were taken out to make room. Call it again if you need them.]
                model calls c0: read b
                c0 read: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (24000 characters)
                user: The limit on tokens is almost reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Tokens
        "#]],
    );
}

#[test]
fn estimate_is_scaled_after_trimming() {
    // This vendor counts twice our estimate, so the last result alone is too long.
    case().facts(|facts| facts.context = 20_000).check(
        "
        read a
        ok a*8000
        in=10600 out=10 read b
        ok b*20000
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (8000 characters)
            call read b
            stop ContextFull(ContextShortage { needed: 23816, context: 20000 })
        "#]],
    );
}
