//! `single` from end to end, with a real repository and a model over loopback.

mod scene;

use std::sync::{Arc, Mutex, OnceLock};

use serde_json::json;

use self::scene::{
    BAD, SUBMIT, SingleScene, finding, journal, last_request_text, result, shop, submits, titles,
    verdict, with,
};
use crh_agent::{CancelToken, Ledger, LimitKind, TranscriptDetail as Logged};
use crh_llm::{Money, Redactor};
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::review_options::{Profile, ReviewBudget};
use crh_pipeline::runs::{RunEnd, RunRecord};
use crh_review::JudgementResult;
use crh_review::report::{CoverageState, Fate};
use crh_testkit::fake_model::{ScriptedReply, bad_key, calls, calls_raw, says};
use crh_testkit::{FakeModel, Repo};

#[tokio::test]
async fn clear_change_takes_one_call_with_its_function() {
    let fake = FakeModel::start().on("single", [submits(result(&[finding("a", "P1", 0.75)]))]);
    let stage = SingleScene::standard(&fake);
    let record = stage.run().await;
    assert_eq!(record.ended, RunEnd::Completed);
    assert_eq!((titles(&record), record.summary.as_str()), (vec!["a"], "One division."));
    assert_eq!((record.checked.len(), record.limited, &record.notes), (0, None, &Vec::new()));
    assert_eq!((record.totals.llm_calls, record.totals.tool_calls), (1, 0));
    assert_eq!(record.models, ["openai:mini"]);
    assert_eq!(record.coverage[0].state, CoverageState::Reviewed);
    let prompt = last_request_text(&fake, "single");
    assert!(prompt.contains("    1  def price(order):\n    2      step_1 = 1\n"), "{prompt}");
    assert_eq!(
        stage.event_lines(),
        ["single begins, 1 files", "single ends, 1 findings", "reviewed shop/orders.py"]
    );
}

#[tokio::test]
async fn doubtful_findings_get_lookups_and_a_second_round() {
    let mut contract = finding("callers break", "P2", 0.75);
    contract["category"] = json!("api_contract");
    let findings = [finding("a guess", "P1", 0.62), finding("sure", "P3", 1.0), contract];
    let requests = json!([
        { "tool": "read_file", "arguments": { "path": "shop/limits.py", "line": 150 }, "for_finding": 0, "why": "limits" },
        { "tool": "get_function_context", "arguments": { "path": "shop/orders.py", "function_name": "price" }, "for_finding": 2, "why": "body" },
        { "tool": "run_ruff", "arguments": { "path": "shop/orders.py" }, "why": "lint" },
    ]);
    let second = with(
        result(&[finding("new", "P2", 0.75)]),
        "verdicts",
        json!([verdict("F1", "refuted"), { "id": "F2", "verdict": "confirmed", "reason": "line 32", "confidence": 1.0 }]),
    );
    let fake = FakeModel::start()
        .on("single", [submits(with(result(&findings), "context_requests", requests))])
        .on("single-round", [submits(second)]);
    let stage = SingleScene::standard(&fake);
    let record = stage.run().await;
    assert_eq!(titles(&record), ["sure", "callers break", "new"]);
    let refuted: Vec<_> = record.dropped.iter().map(|it| (it.fate, it.reason.as_str())).collect();
    assert_eq!(refuted, [(Fate::Refuted, "line 32 shows it")]);
    let [checked] = record.checked.as_slice() else { panic!("{:?}", record.checked) };
    assert_eq!(
        (checked.finding.title.as_str(), checked.judgement.result),
        ("callers break", JudgementResult::Confirmed)
    );
    assert_eq!(checked.finding, record.members[1].finding, "with its new confidence");
    assert_eq!((record.totals.llm_calls, record.totals.tool_calls), (2, 3));
    assert_eq!(stage.context.ledger.spent().tool_calls, 3);
    assert_eq!(
        (record.models.as_slice(), record.limited, &record.notes),
        (["openai:mini".to_owned()].as_slice(), None, &Vec::new())
    );
    let prompt = last_request_text(&fake, "single-round");
    for part in [
        r#""id": "F1""#,
        r#""title": "a guess""#,
        "read_file `shop/limits.py` (limits):\nlines 50 to 249 of 300",
        "  150  LIMIT_150 = 150\n",
        "get_function_context `price` in `shop/orders.py` (body):\n    1  def price(order):\n",
        "run_ruff `shop/orders.py` (lint):\n{\n  \"error\"",
    ] {
        assert!(prompt.contains(part), "{part} is not in {prompt}");
    }
    assert!(!prompt.contains(r#""title": "sure""#), "what is in no doubt is not asked about");
    assert_eq!(
        stage.event_lines(),
        [
            "single begins, 1 files",
            "single ends, 3 findings",
            "reviewed shop/orders.py",
            "single-round begins, 1 files",
            "single-round read_file `shop/limits.py`",
            "single-round get_function_context `price` in `shop/orders.py`",
            "single-round run_ruff `shop/orders.py`",
            "single-round ends, 1 findings",
        ]
    );
}

#[tokio::test]
async fn both_calls_share_the_prompt_prefix() {
    let fake = FakeModel::start()
        .on("single", [submits(result(&[finding("a", "P1", 0.62)]))])
        .on("single-round", [submits(result(&[]))]);
    SingleScene::standard(&fake).run().await;
    let requests = fake.requests();
    let [first, second] = requests.as_slice() else { panic!("{requests:?}") };
    let shared =
        first.prompt_parts().iter().zip(&second.prompt_parts()).take_while(|(a, b)| a == b).count();
    assert_eq!(shared, first.prompt_parts().len() - 1, "all but what each is told at the end");
}

#[tokio::test]
async fn unverified_quote_is_doubtful() {
    let mut invented = finding("invented", "P2", 1.0);
    invented["evidence"] = json!([{ "snippet": "return nothing_like_this()" }]);
    let fake = FakeModel::start()
        .on("single", [submits(result(&[invented]))])
        .on("single-round", [submits(result(&[finding("found", "P2", 1.0)]))]);
    let record = SingleScene::standard(&fake).run().await;
    assert_eq!(titles(&record), ["invented", "found"]);
    assert_eq!(record.checked[0].judgement.result, JudgementResult::Unsure);
    let prompt = last_request_text(&fake, "single-round");
    assert!(prompt.contains("the quote `return nothing_like_this()` is not in `shop/orders.py`"));
    assert!(
        prompt.contains("read_file `shop/orders.py` (around F1):\nall 32 lines:\n"),
        "{prompt}"
    );
}

#[tokio::test]
async fn second_round_repairs_malformed_and_unproven_findings() {
    let mut misquoted = finding("misquoted", "P0", 1.0);
    misquoted["evidence"] = json!([{ "snippet": "return total(order) / order.discounts" }]);
    let mut malformed = finding("malformed", "P1", 1.0);
    malformed["severity"] = json!("major");
    let repaired = [finding("misquoted", "P0", 1.0), finding("malformed", "P1", 1.0)];
    let fake = FakeModel::start()
        .on("single", [submits(result(&[misquoted.clone(), malformed.clone()]))])
        .on("single-round", [submits(result(&repaired))]);
    let record = SingleScene::standard(&fake).run().await;
    assert_eq!((titles(&record), record.dropped.len()), (vec!["misquoted", "malformed"], 0));
    let prompt = last_request_text(&fake, "single-round");
    assert!(prompt.contains(&format!("line 32 of `shop/orders.py` is `{BAD}`")), "{prompt}");
    assert!(prompt.contains("unknown variant `major`"), "{prompt}");
    // Without a repair, both keep their fate.
    let fake = FakeModel::start()
        .on("single", [submits(result(&[misquoted, malformed]))])
        .on("single-round", [submits(result(&[]))]);
    let record = SingleScene::standard(&fake).run().await;
    assert_eq!(titles(&record), ["misquoted"]);
    assert_eq!(record.dropped[0].fate, Fate::Malformed);
}

#[tokio::test]
async fn suspicion_is_looked_up_and_may_become_a_finding() {
    let look = json!([{ "tool": "search_code", "arguments": { "query": "LIMIT_299" }, "why": "who uses it?" }]);
    let fake = FakeModel::start()
        .on("single", [submits(with(result(&[]), "context_requests", look))])
        .on("single-round", [submits(result(&[finding("a caller breaks", "P1", 1.0)]))]);
    let record = SingleScene::standard(&fake).run().await;
    assert_eq!((titles(&record), record.totals.tool_calls), (vec!["a caller breaks"], 1));
    let prompt = last_request_text(&fake, "single-round");
    assert!(prompt.contains("search_code `LIMIT_299` (who uses it?):\n"), "{prompt}");
    assert!(prompt.contains(r#""snippet": "LIMIT_299 = 299""#), "{prompt}");
}

#[tokio::test]
async fn second_round_takes_the_most_severe_findings() {
    let findings = [finding("minor", "P2", 0.62), finding("major", "P1", 0.62)];
    let fake = FakeModel::start().on("single", [submits(result(&findings))]).on(
        "single-round",
        [submits(with(result(&[]), "verdicts", json!([verdict("F1", "refuted")])))],
    );
    let allowance = ReviewBudget { verify: 1, ..Profile::Standard.budget() };
    let record = SingleScene::new(shop(), &fake, allowance).run().await;
    assert_eq!((titles(&record), record.checked.len()), (vec!["minor"], 0));
    assert_eq!(record.notes, ["1 more doubtful findings were not checked again: the limit is 1"]);
}

#[tokio::test]
async fn invented_id_is_sent_back() {
    let invents = with(result(&[]), "verdicts", json!([verdict("F7", "refuted")]));
    let corrected = with(result(&[]), "verdicts", json!([verdict("F1", "refuted")]));
    let fake = FakeModel::start()
        .on("single", [submits(result(&[finding("a", "P1", 0.62)]))])
        .on("single-round", [submits(invents), submits(corrected)]);
    let record = SingleScene::standard(&fake).run().await;
    assert_eq!((titles(&record), record.dropped.len()), (vec![], 1));
    let prompt = last_request_text(&fake, "single-round");
    assert!(prompt.contains("there is no finding `F7`; there are `F1`."), "{prompt}");
}

#[tokio::test]
async fn severe_guess_goes_to_the_stronger_model() {
    let script = || {
        FakeModel::start()
            .on("single", [submits(result(&[finding("a", "P0", 0.5)]))])
            .on("single-round", [submits(result(&[]))])
    };
    let fake = script();
    let record = SingleScene::standard(&fake).run().await;
    assert_eq!(record.models, ["openai:mini", "openai:strong"]);
    assert_eq!(record.notes, ["`openai:strong` checked severe findings of low confidence"]);
    let models: Vec<_> = fake.requests().iter().map(|asked| asked.model.clone()).collect();
    assert_eq!(models, ["mini", "strong"]);
    let fake = script();
    let mut stage = SingleScene::standard(&fake);
    stage.context.models.escalation = stage.context.models.reviewer.clone();
    let record = stage.run().await;
    assert_eq!((record.models.len(), record.notes.len()), (1, 0), "{record:?}");
}

#[tokio::test]
async fn second_of_two_calls_validates_severe_findings() {
    let verdicts = json!([verdict("F1", "confirmed"), verdict("F9", "refuted")]);
    let fake = FakeModel::start()
        .on("single", [submits(result(&[finding("sure", "P1", 1.0), finding("minor", "P2", 1.0)]))])
        .on("single-round", [submits(with(result(&[]), "verdicts", verdicts))]);
    let record = SingleScene::quick(&fake).run().await;
    assert_eq!(titles(&record), ["sure", "minor"]);
    assert_eq!(record.checked[0].judgement.result, JudgementResult::Confirmed);
    // No call is left to ask again, so the invented finding is dropped.
    assert_eq!(record.notes, ["second round: there is no finding `F9`; there are `F1`"]);
    assert_eq!((record.totals.llm_calls, record.limited), (2, None));
}

#[tokio::test]
async fn repair_call_leaves_no_call_for_a_round() {
    let doubtful = submits(result(&[finding("a", "P1", 0.5)]));
    let fake = FakeModel::start().on("single", [calls_raw(SUBMIT, "{\"findings\": ["), doubtful]);
    let stage = SingleScene::quick(&fake);
    let record = stage.run().await;
    assert_eq!((record.ended.clone(), titles(&record)), (RunEnd::Completed, vec!["a"]));
    assert_eq!(record.limited, Some(LimitKind::Turns));
    assert_eq!(
        record.notes,
        [
            "the budget for model calls was too small to check doubtful findings again; the first answer is used unchanged"
        ]
    );
    assert_eq!((record.totals.llm_calls, record.totals.tool_calls), (2, 0));
    // A draft without doubts is complete, repaired or not.
    let fake = FakeModel::start().on("single", [says("no"), submits(result(&[]))]);
    let record = SingleScene::quick(&fake).run().await;
    assert_eq!((record.ended, record.limited, record.notes.len()), (RunEnd::Completed, None, 0));
}

/// Scripted behaviour of a model.
type Behaviour = fn() -> ScriptedReply;

/// Good and bad behaviours for the first and second call.
fn behaviours() -> Vec<Behaviour> {
    vec![
        || submits(result(&[])),
        || submits(result(&[finding("a", "P0", 0.25), finding("b", "P1", 1.0)])),
        || {
            let looks: Vec<_> = (0..9).map(|number| json!({ "tool": "search_code", "arguments": { "query": format!("step_{number}") } })).collect();
            submits(with(result(&[finding("a", "P0", 0.25)]), "context_requests", json!(looks)))
        },
        || {
            submits(with(
                result(&[]),
                "verdicts",
                json!([verdict("F1", "refuted"), verdict("X", "refuted")]),
            ))
        },
        || submits(json!({ "findings": "none" })),
        || calls_raw(SUBMIT, "{"),
        || calls("search_code", json!({ "query": "x" })),
        || says("I am done."),
        || submits(result(&[])).without_usage(),
    ]
}

#[tokio::test]
async fn quick_review_makes_at_most_two_model_calls() {
    // Next behaviours, last first.
    let next: Arc<Mutex<Vec<Behaviour>>> = Arc::default();
    let script = Arc::clone(&next);
    let fake = FakeModel::answering(move |_| {
        script.lock().unwrap().pop().map_or_else(|| says("?"), |it| it())
    });
    let mut stage = SingleScene::quick(&fake);
    let budget = stage.context.options.budget.ledger_budget();
    let mut most = (0, 0);
    for first in behaviours() {
        for second in behaviours() {
            *next.lock().unwrap() = vec![second, first];
            stage.context.ledger = Ledger::open(budget);
            let before = fake.usage().requests;
            let record = stage.run().await;
            assert!(fake.usage().requests - before <= 2, "{record:?}");
            let spent = stage.context.ledger.spent();
            assert!(spent.llm_calls <= 2 && spent.tool_calls <= 3, "{spent:?}");
            assert_eq!(spent, record.totals, "everything is on the record");
            most = (most.0.max(spent.llm_calls), most.1.max(spent.tool_calls));
        }
    }
    assert_eq!(most, (2, 3), "so the bounds were reached");
}

#[tokio::test]
async fn unaffordable_round_is_noted() {
    let fake = FakeModel::start()
        .on("single", [submits(result(&[finding("a", "P1", 0.62)])).without_usage()]);
    // Enough for exactly one call that is booked at its maximum cost.
    let allowance = ReviewBudget { money: Money::cents(2), ..Profile::Standard.budget() };
    let stage = SingleScene::new(shop(), &fake, allowance);
    let record = stage.run().await;
    assert_eq!(
        (record.ended.clone(), record.limited),
        (RunEnd::Completed, Some(LimitKind::Money)),
        "{record:?}"
    );
    assert_eq!(record.totals.tool_calls, 0);
    assert_eq!(
        record.notes,
        [
            "the token budget is too small for all code around the changes in `shop/orders.py`",
            "the budget for money was too small to check doubtful findings again; the first answer is used unchanged"
        ]
    );
}

#[tokio::test]
async fn second_round_uses_the_reserved_budget() {
    let look = json!([{ "tool": "read_file", "arguments": { "path": "shop/limits.py" } }]);
    let doubtful = with(result(&[finding("a", "P1", 0.75)]), "context_requests", look);
    let fake = FakeModel::start()
        .on("single", [submits(result(&[])).without_usage(), submits(doubtful).without_usage()])
        .on("single-round", [submits(result(&[]))]);
    let first = SingleScene::quick(&fake).run().await;
    // A call without reported usage is booked at its maximum cost: two of them exceed four fifths
    // of this.
    let input_tokens = first.totals.usage.input * 21 / 10;
    let allowance = ReviewBudget { input_tokens, ..Profile::Quick.budget() };
    let record = SingleScene::new(shop(), &fake, allowance).run().await;
    assert_eq!((record.totals.llm_calls, record.limited), (2, None), "{:?}", record.notes);
    let prompt = last_request_text(&fake, "single-round");
    assert!(prompt.contains("    1  LIMIT_1 = 1\n") && !prompt.contains("LIMIT_200"), "{prompt}");
    assert!(prompt.contains(" lines are left out: there is no room for them]"), "{prompt}");
}

#[tokio::test]
async fn failed_lookup_is_noted() {
    let look = json!([{ "tool": "read_file", "arguments": { "path": "shop/../../etc/passwd" }, "for_finding": 0 }]);
    let fake = FakeModel::start()
        .on(
            "single",
            [submits(with(result(&[finding("a", "P1", 0.62)]), "context_requests", look))],
        )
        .on(
            "single-round",
            [submits(with(result(&[]), "verdicts", json!([verdict("F1", "confirmed")])))],
        );
    let record = SingleScene::standard(&fake).run().await;
    assert_eq!(record.checked[0].judgement.result, JudgementResult::Confirmed);
    let [note] = record.notes.as_slice() else { panic!("{:?}", record.notes) };
    assert!(note.starts_with("read_file `shop/../../etc/passwd` failed: "), "{note}");
    assert!(last_request_text(&fake, "single-round").contains("this failed: "));
}

#[tokio::test]
async fn lookups_stay_within_the_budget() {
    let fake = FakeModel::start()
        .on(
            "single",
            [submits(with(
                result(&[finding("a", "P1", 0.62)]),
                "context_requests",
                json!([
                    { "tool": "search_code", "arguments": { "query": "step_1" }, "for_finding": 0 },
                    { "tool": "search_code", "arguments": { "query": "step_2" }, "for_finding": 0 },
                ]),
            ))],
        )
        .on("single-round", [submits(result(&[]))]);
    let allowance = ReviewBudget { tool_calls: 1, ..Profile::Standard.budget() };
    let record = SingleScene::new(shop(), &fake, allowance).run().await;
    assert_eq!((record.totals.tool_calls, record.limited), (1, Some(LimitKind::ToolCalls)));
    let prompt = last_request_text(&fake, "single-round");
    assert!(prompt.contains("search_code `step_1`") && !prompt.contains("search_code `step_2`"));
}

#[tokio::test]
async fn failed_or_cancelled_run_covers_nothing() {
    let fake = FakeModel::start().on("single", [bad_key()]);
    let stage = SingleScene::standard(&fake);
    let record = stage.run().await;
    assert!(matches!(&record.ended, RunEnd::Failed(why) if why.contains("key")), "{record:?}");
    assert_eq!(record.coverage[0].state, CoverageState::NotReviewed);
    let fake = FakeModel::start();
    let stage = SingleScene::standard(&fake);
    stage.context.journal.cancel().cancel();
    let record = stage.run().await;
    assert_eq!(
        (&record.ended, record.coverage[0].state),
        (&RunEnd::Cancelled, CoverageState::NotReviewed)
    );
    assert_eq!(record.coverage[0].reason, "the review was stopped");
}

#[tokio::test]
async fn failed_round_keeps_the_draft() {
    let fake = FakeModel::start()
        .on("single", [submits(result(&[finding("a", "P1", 0.62)]))])
        .on("single-round", [bad_key()]);
    let record = SingleScene::standard(&fake).run().await;
    assert_eq!((&record.ended, titles(&record)), (&RunEnd::Completed, vec!["a"]));
    let checked: Vec<_> = record.checked.iter().map(|it| it.judgement.result).collect();
    assert_eq!(checked, [JudgementResult::Failed], "a failed check is recorded");
    assert_eq!(record.notes.len(), 1, "{:?}", record.notes);
}

#[tokio::test]
async fn completed_runs_are_not_repeated() {
    let fake = FakeModel::start()
        .on("single", [submits(result(&[])), submits(result(&[finding("a", "P3", 1.0)]))]);
    let mut stage = SingleScene::standard(&fake);
    let done = stage.run().await;
    stage.context.journal = journal(vec![done.clone()], &stage.events);
    assert_eq!(stage.run().await, done);
    let failed = RunRecord { ended: RunEnd::Cancelled, ..done.clone() };
    stage.context.journal = journal(vec![failed], &stage.events);
    assert_eq!(titles(&stage.run().await), ["a"], "what was not completed is done again");
}

/// A change with a file of `lines` lines, and a small one before it.
fn large(lines: usize) -> Repo {
    let repo = Repo::new();
    repo.write("a_small.py", "x = 1\n");
    repo.commit("base");
    repo.write("a_small.py", "x = 2\n");
    let lines = (1..=lines).map(|number| format!("value_{number} = compute()\n"));
    repo.write("large.py", lines.collect::<String>());
    repo.commit("change");
    repo
}

fn states(record: &RunRecord) -> Vec<(&str, CoverageState)> {
    record.coverage.iter().map(|file| (file.path.as_str(), file.state)).collect()
}

#[tokio::test]
async fn large_diff_is_shown_again_in_the_second_round() {
    let mut doubtful = finding("a", "P1", 0.62);
    doubtful["file"] = json!("large.py");
    doubtful["line_start"] = json!(3900);
    doubtful["evidence"] = json!([{ "snippet": "value_3900 = compute()" }]);
    let fake = FakeModel::start()
        .on("single", [submits(result(&[doubtful]))])
        .on("single-round", [submits(result(&[]))]);
    let stage = SingleScene::new(large(4_000), &fake, Profile::Standard.budget());
    assert!(!stage.context.prompts.shows_diff_of("large.py"));
    let record = stage.run().await;
    assert_eq!(
        states(&record),
        [("a_small.py", CoverageState::Reviewed), ("large.py", CoverageState::Reviewed)]
    );
    for caller in ["single", "single-round"] {
        assert!(last_request_text(&fake, caller).contains("+value_4000 = compute()\n"), "{caller}");
    }
}

#[tokio::test]
async fn oversized_diff_is_not_covered() {
    let fake = FakeModel::start().on("single", [submits(result(&[]))]);
    let record = SingleScene::new(large(10_000), &fake, Profile::Quick.budget()).run().await;
    assert_eq!(
        states(&record),
        [("a_small.py", CoverageState::Reviewed), ("large.py", CoverageState::Truncated)]
    );
    assert_eq!(record.coverage[1].reason, "its diff did not fit into the prompt");
    let prompt = last_request_text(&fake, "single");
    assert!(prompt.contains("+x = 2\n") && !prompt.contains("+value_10000"), "{prompt}");
}

#[tokio::test]
async fn largest_diffs_are_shown_if_not_all_fit() {
    let repo = Repo::new();
    repo.commit("base");
    for number in 0..30_usize {
        let lines = (0..100 + number * 10).map(|line| format!("value_{line} = compute()\n"));
        repo.write(&format!("file_{number:02}.py"), lines.collect::<String>());
    }
    repo.commit("change");
    let fake = FakeModel::start().on("single", [submits(result(&[]))]);
    let record = SingleScene::new(repo, &fake, Profile::Quick.budget()).run().await;
    let states = states(&record);
    let truncated = states.iter().filter(|(_, state)| *state == CoverageState::Truncated).count();
    assert!((5..25).contains(&truncated), "{truncated}");
    let largest = &states[30 - 8..];
    assert!(largest.iter().all(|(_, state)| *state == CoverageState::Reviewed), "{states:?}");
    assert_eq!(record.limited, None, "{record:?}");
}

#[tokio::test]
async fn cancel_in_second_round_keeps_the_draft() {
    let fake = FakeModel::start().on("single", [submits(result(&[finding("a", "P1", 0.62)]))]);
    let mut stage = SingleScene::standard(&fake);
    let cancel: Arc<OnceLock<CancelToken>> = Arc::default();
    let to_cancel = Arc::clone(&cancel);
    let listen = move |event: &ReviewEvent| {
        if matches!(event, ReviewEvent::RunStarted { run, .. } if run == "single-round") {
            to_cancel.get().unwrap().cancel();
        }
    };
    let redactor = Redactor::default();
    stage.context.journal =
        ReviewJournal::open(None, redactor, Logged::LengthsOnly, Vec::new(), listen);
    cancel.set(stage.context.journal.cancel().clone()).unwrap();
    let record = stage.run().await;
    assert_eq!((&record.ended, titles(&record)), (&RunEnd::Completed, vec!["a"]));
    assert_eq!(record.notes, ["the review was cancelled in the second round"]);
}
