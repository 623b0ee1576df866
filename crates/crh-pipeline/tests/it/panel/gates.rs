//! Checks that a reviewer's report must pass.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::scene::{CART, Scene, confirms, divides, finding, reports, with_fields};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{PromptPart, ScriptedReply, calls, says};

fn vague() -> Value {
    with_fields(
        divides("P1", 0.75, "Empty orders"),
        json!({ "suggested_fix": "Consider whether an order can be empty." }),
    )
}

/// Reviews the change with the reviewer `correctness` and with a validation, which answer so.
async fn check(
    answers: impl IntoIterator<Item = ScriptedReply>,
    checks: impl IntoIterator<Item = ScriptedReply>,
    expected: Expect,
) -> FakeModel {
    let model = FakeModel::start().on("correctness", answers).on("validate-1", checks);
    Scene::new(CART).with_reviewers(&["correctness"]).check(&model, expected).await;
    model
}

/// A report without findings, and with this summary.
fn reports_nothing(summary: &str) -> ScriptedReply {
    calls("report_findings", json!({ "findings": [], "summary": summary }))
}

/// Tool replies to the reviewer in its last request.
fn tool_replies(model: &FakeModel) -> String {
    let requests = model.requests();
    let last = requests.iter().rfind(|asked| asked.caller == "correctness").unwrap();
    let results = last.prompt_parts().into_iter().filter_map(|read| match read {
        PromptPart::Result(text) => Some(text),
        _ => None,
    });
    results.collect()
}

#[tokio::test]
async fn vague_advice_is_returned_once() {
    let firm = divides("P1", 0.75, "An empty order divides by zero");
    let model = check([reports(&[vague()]), reports(&[firm])], [confirms()], expect![[r#"
        ReadyWithFixes: 1 issue to fix
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.75, Confirmed, manual -> downstream-resolver) by correctness
    "#]]).await;
    expect![[r#"
        The answer was not accepted: these findings cannot be used as they are:
        - `Empty orders`: it asks the reader to consider something instead of saying what fails and what to change: name the failing case and the change in `suggested_fix`
        Repair each of them and report it again with all its fields. Quotes must be verbatim. Leave a finding out only if the code does not prove it; if it is P0 or P1, write the sentence `Withdrawn: TITLE` with its title in `summary` then. crh keeps the findings that are not listed here. Submit the whole answer again, corrected."#]].assert_eq(&tool_replies(&model));
}

#[tokio::test]
async fn repeated_vague_advice_is_advisory() {
    check(
        [reports(&[vague()]), reports(&[vague()])],
        [confirms()],
        expect![[r#"
            ReadyWithFixes: 1 issue to fix
            #1 P1 shop/cart.py:3 Empty orders (0.75, Confirmed, manual -> human) by correctness
            ! correctness: no concrete fix is given for 1 finding; assigned to humans
        "#]],
    )
    .await;
}

#[tokio::test]
async fn returned_report_counts_if_not_replaced() {
    let firm =
        finding("P2", 0.75, "A name may be missing", "shop/cart.py:8", "return name.strip()");
    let goes_silent = (0..2).map(|_| says("I am done."));
    check([reports(&[vague(), firm])].into_iter().chain(goes_silent), [confirms()], expect![[r#"
        ReadyWithFixes: 2 issues to fix
        #1 P1 shop/cart.py:3 Empty orders (0.75, Confirmed, manual -> human) by correctness
        #2 P2 shop/cart.py:8 A name may be missing (0.75, Confirmed, manual -> downstream-resolver) by correctness
        ! correctness: crh uses the first report, which it had refused, because the run failed afterwards: the model did not submit an answer
        ! correctness: no concrete fix is given for 1 finding; assigned to humans
    "#]]).await;
}

#[tokio::test]
async fn reviewer_limits_on_count_and_severity_apply() {
    let places = [
        ("shop/cart.py:2", "count = len(lines)"),
        ("shop/cart.py:3", "return sum(lines) / count"),
        ("shop/cart.py:7", "name = line.name"),
        ("shop/cart.py:8", "return name.strip()"),
    ];
    let many: Vec<Value> = (0..7)
        .map(|number| {
            let (place, quote) = places[number % places.len()];
            let severity = if number == 0 { "P0" } else { "P2" };
            let title = format!("Layer {number} hides what is read");
            let found = finding(severity, 0.75 + number as f64 / 100.0, &title, place, quote);
            with_fields(found, json!({ "category": "maintainability" }))
        })
        .collect();
    let model =
        FakeModel::start().on("maintainability", [reports(&many)]).on("validate-1", [confirms()]);
    let reviewed = Scene::new(CART).with_reviewers(&["maintainability"]).check(&model, expect![[r#"
        ReadyWithFixes: 4 issues (2 hidden) to fix
        #1 P2 shop/cart.py:3 Layer 5 hides what is read (0.8, Confirmed, manual -> downstream-resolver) by maintainability
        #2 P2 shop/cart.py:7 Layer 6 hides what is read (0.81, Confirmed, manual -> downstream-resolver) by maintainability
        merged Layer 2 hides what is read [maintainability]: duplicate of "Layer 6 hides what is read"
        merged Layer 3 hides what is read [maintainability]: duplicate of "Layer 6 hides what is read"
        merged Layer 4 hides what is read [maintainability]: duplicate of "Layer 5 hides what is read"
        over_cap Layer 0 hides what is read [maintainability]: `maintainability` may report at most 5 findings
        over_cap Layer 1 hides what is read [maintainability]: `maintainability` may report at most 5 findings
        ! maintainability: 1 finding lowered to P2, the maximum of this reviewer
    "#]]).await;
    // The summary has the same two hidden issues as the verdict.
    let summary = reviewed.report.summary;
    assert!(summary.contains("; 2 more issues are hidden, but count for the verdict"), "{summary}");
}

#[tokio::test]
async fn finding_over_the_cap_needs_evidence_too() {
    let quote = "return sum(lines) / count";
    let sound = |number: usize| {
        let title = format!("Layer {number} divides by zero");
        finding("P1", 0.9, &title, "shop/cart.py:3", quote)
    };
    let invented = || finding("P2", 0.75, "Zeta", "shop/nothere.py:77", "invented(anywhere)");
    let removal = "Delete docs/plans/a.md from the repository";
    let removal = finding("P2", 0.75, removal, "shop/cart.py:3", quote);
    let mut findings: Vec<Value> = (0..15).map(sound).collect();
    findings.extend([invented(), removal]);
    let second = reports(&[invented()]);
    check([reports(&findings), second], [confirms()], expect![[r#"
        ReadyWithFixes: 1 issue to fix
        #1 P1 shop/cart.py:3 Layer 0 divides by zero (0.9, Confirmed, manual -> downstream-resolver) by correctness
        merged Layer 1 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 10 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 11 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 12 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 13 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 14 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 2 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 3 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 4 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 5 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 6 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 7 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 8 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        merged Layer 9 divides by zero [correctness]: duplicate of "Layer 0 divides by zero"
        unsupported Zeta [correctness]: the quote `invented(anywhere)` is from `shop/nothere.py`, which is not part of the review
        protected_path Delete docs/plans/a.md from the repository [correctness]: asks to remove a protected document
    "#]]).await;
}

/// A P0 on the changed division with this quote.
fn zero_division(quote: &str) -> Value {
    finding("P0", 0.9, "An empty order divides by zero", "shop/cart.py:3", quote)
}

fn missing_name() -> Value {
    finding("P2", 0.75, "A name may be missing", "shop/cart.py:8", "return name.strip()")
}

#[tokio::test]
async fn problems_of_all_findings_are_returned_in_one_message() {
    let malformed = with_fields(missing_name(), json!({ "severity": "major" }));
    let misquoted = zero_division("return sum(lines) // count");
    let repaired = [missing_name(), zero_division("return sum(lines) / count")];
    let model = check([reports(&[misquoted, malformed]), reports(&repaired)], [confirms()], expect![[r#"
        NotReady: 2 issues must be fixed before the merge, 1 of them P0
        #1 P0 shop/cart.py:3 An empty order divides by zero (0.9, Confirmed, manual -> downstream-resolver) by correctness
        #2 P2 shop/cart.py:8 A name may be missing (0.75, Confirmed, manual -> downstream-resolver) by correctness
    "#]]).await;
    expect![[r#"
        The answer was not accepted: these findings cannot be used as they are:
        - `A name may be missing`: findings[1]: `severity`: unknown variant `major`, expected one of `P0`, `P1`, `P2`, `P3`
        - `An empty order divides by zero`: the quote `return sum(lines) // count` is not in `shop/cart.py`; the nearest text: line 3 of `shop/cart.py` is `return sum(lines) / count`
        Repair each of them and report it again with all its fields. Quotes must be verbatim. Leave a finding out only if the code does not prove it; if it is P0 or P1, write the sentence `Withdrawn: TITLE` with its title in `summary` then. crh keeps the findings that are not listed here. Submit the whole answer again, corrected."#]].assert_eq(&tool_replies(&model));
}

#[tokio::test]
async fn accepted_finding_is_kept_if_only_the_listed_one_is_repaired() {
    let first = [missing_name(), zero_division("return sum(lines) // count")];
    let second = [zero_division("return sum(lines) / count")];
    check([reports(&first), reports(&second)], [confirms()], expect![[r#"
        NotReady: 2 issues must be fixed before the merge, 1 of them P0
        #1 P0 shop/cart.py:3 An empty order divides by zero (0.9, Confirmed, manual -> downstream-resolver) by correctness
        #2 P2 shop/cart.py:8 A name may be missing (0.75, Confirmed, manual -> downstream-resolver) by correctness
    "#]]).await;
}

#[tokio::test]
async fn malformed_finding_that_is_left_out_stays_malformed() {
    let malformed = with_fields(missing_name(), json!({ "severity": "major" }));
    check([reports(&[malformed]), reports(&[])], [], expect![[r#"
        Incomplete: 1 finding could not be read
        malformed - [correctness]: findings[0]: `severity`: unknown variant `major`, expected one of `P0`, `P1`, `P2`, `P3`
    "#]]).await;
}

#[tokio::test]
async fn unproven_p2_that_is_left_out_counts_as_taken_back() {
    let misquoted =
        with_fields(zero_division("return sum(lines) // count"), json!({ "severity": "P2" }));
    check([reports(&[misquoted]), reports(&[])], [], expect![[r#"
        ReadyToMerge: nothing actionable was found
        refuted An empty order divides by zero [correctness]: its reviewer took it back: the quote `return sum(lines) // count` is not in `shop/cart.py`; the nearest text: line 3 of `shop/cart.py` is `return sum(lines) / count`
    "#]]).await;
}

/// A reviewer leaves an unproven P0 out of its second report, which has this summary.
async fn check_left_out_p0(summary: &str, expected: Expect) {
    let misquoted = zero_division("return sum(lines) // count");
    check([reports(&[misquoted]), reports_nothing(summary)], [], expected).await;
}

#[tokio::test]
async fn unproven_p0_is_taken_back_only_by_a_whole_sentence() {
    let kept = || {
        expect![[r#"
            Incomplete: crh did not find the quoted code of 1 finding of severity P0 or P1
            unsupported An empty order divides by zero [correctness]: the quote `return sum(lines) // count` is not in `shop/cart.py`; the nearest text: line 3 of `shop/cart.py` is `return sum(lines) / count`; its reviewer did not repair it
        "#]]
    };
    check_left_out_p0("Looked at it.", kept()).await;
    check_left_out_p0("An empty order divides by zero, I just cannot quote it.", kept()).await;
    let other_title = "Withdrawn: An empty order divides by zero in the tests";
    check_left_out_p0(other_title, kept()).await;
    let withdrawal =
        "I looked again. Withdrawn: \"An empty order divides by zero\". All callers check.";
    check_left_out_p0(withdrawal, expect![[r#"
        ReadyToMerge: nothing actionable was found
        refuted An empty order divides by zero [correctness]: its reviewer took it back: the quote `return sum(lines) // count` is not in `shop/cart.py`; the nearest text: line 3 of `shop/cart.py` is `return sum(lines) / count`
    "#]]).await;
}

/// A reviewer without findings writes this, and then this.
async fn check_words(first: &str, second: &str, expected: Expect) {
    check([reports_nothing(first), reports_nothing(second)], [], expected).await;
}

#[tokio::test]
async fn defect_in_words_only_is_asked_about_once() {
    let words = "shop/cart.py:3 raises ZeroDivisionError for an empty order.";
    check_words(
        words,
        "I was wrong about it: the caller checks.",
        expect![[r#"
        ReadyToMerge: nothing actionable was found
    "#]],
    )
    .await;
    check_words(words, words, expect![[r#"
        Incomplete: 1 finding could not be read
        malformed - [correctness]: the reviewer reported no finding, but wrote: "shop/cart.py:3 raises ZeroDivisionError for an empty order."
    "#]]).await;
    let second = reports(&[zero_division("return sum(lines) / count")]);
    let model = check([reports_nothing(words), second], [confirms()], expect![[r#"
        NotReady: 1 P0 issue must be fixed before the merge
        #1 P0 shop/cart.py:3 An empty order divides by zero (0.9, Confirmed, manual -> downstream-resolver) by correctness
    "#]]).await;
    expect![[r#"The answer was not accepted: `findings` is empty, but you write: "shop/cart.py:3 raises ZeroDivisionError for an empty order.". Report each problem of the change as a finding with all its fields, or say that there is none. Submit the whole answer again, corrected."#]].assert_eq(&tool_replies(&model));
    // No second question.
    let model =
        FakeModel::start().on("correctness", [reports_nothing("No bugs in shop/cart.py:3.")]);
    Scene::new(CART).with_reviewers(&["correctness"]).review(&model).await;
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn defect_in_words_beside_a_nit_is_asked_about() {
    let nit = with_fields(missing_name(), json!({ "severity": "nit" }));
    let words = "shop/cart.py:3 raises ZeroDivisionError for an empty order.";
    let report = || calls("report_findings", json!({ "findings": [nit], "summary": words }));
    check([report(), report()], [], expect![[r#"
        Incomplete: 1 finding could not be read
        malformed - [correctness]: the reviewer reported no finding, but wrote: "shop/cart.py:3 raises ZeroDivisionError for an empty order."
        nit - [correctness]: the reviewer calls it a nit
    "#]]).await;
}

#[tokio::test]
async fn risk_that_is_taken_back_after_the_question_is_dropped() {
    let report = |risks: &[&str], summary: &str| {
        let report = json!({ "findings": [], "residual_risks": risks, "summary": summary });
        calls("report_findings", report)
    };
    let first = report(&["shop/cart.py:3 raises ZeroDivisionError."], "Looked at it.");
    let second = report(&[], "The caller checks the count.");
    check(
        [first, second],
        [],
        expect![[r#"
            ReadyToMerge: nothing actionable was found
        "#]],
    )
    .await;
}

#[tokio::test]
async fn defect_in_words_counts_if_the_run_fails_after_the_question() {
    let words = "shop/cart.py:3 raises ZeroDivisionError for an empty order.";
    let goes_silent = (0..2).map(|_| says("I am done."));
    check([reports_nothing(words)].into_iter().chain(goes_silent), [], expect![[r#"
        Incomplete: 1 finding could not be read
        malformed - [correctness]: the reviewer reported no finding, but wrote: "shop/cart.py:3 raises ZeroDivisionError for an empty order."
        ! correctness: crh uses the first report, which it had refused, because the run failed afterwards: the model did not submit an answer
    "#]]).await;
}

#[tokio::test]
async fn contradicting_positions_are_noted() {
    let contradicting =
        with_fields(zero_division("return sum(lines) / count"), json!({ "diff_line": 8 }));
    check([reports(&[contradicting])], [confirms()], expect![[r#"
        NotReady: 1 P0 issue must be fixed before the merge
        #1 P0 shop/cart.py:3 An empty order divides by zero (0.9, Confirmed, manual -> downstream-resolver) by correctness
        ! correctness: `diff_line` 8 is shop/cart.py:2, but the finding also cites shop/cart.py:3; crh uses `diff_line`
    "#]]).await;
}
