//! Whole panel reviews: envelope and Markdown compared with golden files.

use expect_test::{ExpectFile, expect, expect_file};
use serde_json::{Value, json};

use super::script::{confirms, finding, reports, with};
use super::{FinishedReview, ReviewFixture, with_key, without_times};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{FakeRequest, ScriptedReply, bad_request, calls};

/// A change for all reviewers: standards, a plan, earlier solutions, untouched tests.
const REFUNDS: &str = "
    //- AGENTS.md
    Amounts are whole cents.
    //- docs/solutions/orders/empty-orders.md
    ---
    title: Totals of empty orders
    tags: [orders, total]
    ---
    An empty order has no average. Return zero.
    //- docs/plans/2026-01-05-order-refunds-plan.md
    # Refunds

    ## Requirements

    - R1. A refund is the amount of the order
    - R2. An order that is not paid has no refund
    - R3. A refund is written to the log
    //- tests/test_orders.py
    def test_total():
        assert total([]) == 0
    //- shop/orders.py
    def total(items):
        return sum(item.price for item in items)


    def refund(order):
        if order.paid:
            return order.amount
        return 0
    //- head
    //- shop/orders.py
    def total(items):
        result = 0
        for item in items:
            result += item.price * item.count
        return result / len(items)


    def refund(order, password):
        user = current_user(password)
        note(user, order)
        amount = order.amount
        if amount < 0:
            amount = 0
        return amount
";

/// The answer of a reviewer without findings.
pub(crate) fn no_findings(asked: &FakeRequest) -> ScriptedReply {
    match asked.caller.as_str() {
        "scout" => calls("report_scout", json!({ "intent": "Orders change.", "reviewers": [] })),
        "learnings" | "agent-native" | "schema-drift" | "deployment" => notes(&[]),
        caller if caller.starts_with("validate") => confirms(),
        _ => reports(&[]),
    }
}

fn notes(notes: &[&str]) -> ScriptedReply {
    calls("report_notes", json!({ "notes": notes }))
}

/// Answers of the reviewers for the refunds change.
fn looks_at_refunds(asked: &FakeRequest) -> ScriptedReply {
    let total =
        || finding("P1", "The total is divided", "shop/orders.py:5", "return result / len(items)");
    let unpaid = || {
        finding("P0", "Unpaid orders are refunded", "shop/orders.py:11", "amount = order.amount")
    };
    let of = |category: &str, value: Value| with(value, json!({ "category": category }));
    match asked.caller.as_str() {
        "scout" => calls(
            "report_scout",
            json!({
                "intent": "Totals count items, and refunds ask for a password.",
                "doubt": "It is not said why totals are divided.",
                "reviewers": [{ "name": "maintainability", "why": "`shop/orders.py` does two things" }],
            }),
        ),
        "correctness" => reports(&[total(), with(unpaid(), json!({ "confidence": 0.8 }))]),
        "security" => reports(&[with(of("security", unpaid()), json!({ "severity": "P1" }))]),
        "python" => reports(&[with(total(), json!({ "severity": "P2", "owner": "review-fixer" }))]),
        "testing" => reports(&[of(
            "testing",
            finding(
                "P2",
                "No test for a refund",
                "shop/orders.py:8",
                "def refund(order, password):",
            ),
        )]),
        "project-standards" => reports(&[with(
            of(
                "standards",
                finding(
                    "P3",
                    "An average is no whole number of cents",
                    "shop/orders.py:5",
                    "return result / len(items)",
                ),
            ),
            json!({ "autofix_class": "advisory" }),
        )]),
        "learnings" => notes(&[
            "Empty orders were a problem before: docs/solutions/orders/empty-orders.md returns zero.",
        ]),
        "requirements" => calls(
            "report_requirements",
            json!({ "requirements": [
                { "id": "R1", "state": "met", "evidence": "shop/orders.py:11 takes the amount" },
                { "id": "R2", "state": "not_addressed", "evidence": "shop/orders.py:10 does not ask whether it is paid" },
                { "id": "R3", "state": "partially_addressed", "evidence": "shop/orders.py:10 notes the order and not the amount" },
            ] }),
        ),
        _ => no_findings(asked),
    }
}

/// Reviews the last commit in headless mode and compares envelope and Markdown with golden files.
fn check(
    desk: &ReviewFixture,
    model: &FakeModel,
    args: &[&str],
    envelope: ExpectFile,
    page: ExpectFile,
) -> FinishedReview {
    let review = ["review", "--mode", "headless", "HEAD~1..HEAD"];
    let program = desk.crh(&[&review, args].concat());
    let reviewed = desk.reviewed(with_key(program, model).run());
    let named = |text: &str| without_times(&desk.user.replace_paths(&desk.repo, text));
    envelope.assert_eq(&named(&reviewed.output.stdout));
    page.assert_eq(&named(&desk.crh(&["show", "--format", "markdown"]).run().stdout));
    reviewed
}

#[test]
fn a_change_with_a_plan_and_notes() {
    let model = FakeModel::answering(looks_at_refunds);
    let reviewed = check(
        &ReviewFixture::with(REFUNDS),
        &model,
        &["--plan", "docs/plans/2026-01-05-order-refunds-plan.md"],
        expect_file!["../../data/panel/refunds.txt"],
        expect_file!["../../data/panel/refunds.md"],
    );
    assert_eq!(reviewed.end(), (1, "ok", "Not ready"));
}

#[test]
fn all_reviewers_failed() {
    let desk = ReviewFixture::with(REFUNDS);
    let model = FakeModel::answering(|_| bad_request("no"));
    let reviewed = check(
        &desk,
        &model,
        &["--reviewers", "correctness,security,testing"],
        expect_file!["../../data/panel/all_failed.txt"],
        expect_file!["../../data/panel/all_failed.md"],
    );
    expect![[r#"
        Code review degraded (headless mode). Reason: 0 of 3 reviewers returned results.

        Verdict: Not ready (incomplete): failed reviewers: correctness, testing, security; nothing was reviewed

        Review complete
    "#]]
    .assert_eq(&reviewed.output.stdout);
    assert_eq!(reviewed.end(), (3, "error", "Incomplete"));
}

#[test]
fn team_is_shown_once_at_a_terminal() {
    let desk = ReviewFixture::with(REFUNDS);
    let model = FakeModel::answering(no_findings);
    let program = || {
        let team = ["--reviewers", "correctness,security"];
        let args = [&["review", "HEAD~1..HEAD", "--mode", "report-only"][..], &team].concat();
        with_key(desk.crh(&args), &model).env("TERM", "xterm-256color").env("NO_COLOR", "1")
    };
    let screen = program().at_terminal(100, 40).end().full_output;
    assert_eq!(screen.to_lowercase().matches("reviewers:").count(), 1, "{screen}");
    assert!(screen.contains("  - correctness: "), "{screen}");
    // Without the report beside it, the progress lists the team.
    let report = desk.user.path("report.txt");
    let stdout = std::fs::File::create(report).unwrap();
    let screen = program().at_terminal_writing(100, 40, stdout).end().full_output;
    assert_eq!(screen.matches("Reviewers:").count(), 1, "{screen}");
    assert!(screen.contains("  correctness: "), "{screen}");
}

#[test]
fn untracked_plan_is_found_unless_it_is_ignored() {
    let desk = ReviewFixture::with(REFUNDS);
    desk.repo.git(&["checkout", "--quiet", "-b", "zebra-import"]);
    let plan = "docs/plans/2026-03-01-zebra-import-plan.md";
    desk.repo.write(plan, "## Requirements\n\n- R1. Zebras are imported\n");
    let model = FakeModel::answering(no_findings);
    let found_plan = |target: &[&str]| {
        let args = ["review", "--mode", "headless", "--reviewers", "correctness"];
        let program = desk.crh(&[&args, target].concat());
        desk.reviewed(with_key(program, &model).run()).report["plan"]["path"].clone()
    };
    assert_eq!(found_plan(&["--base", "HEAD~1"]), plan);
    assert_eq!(found_plan(&["HEAD~1..zebra-import"]), Value::Null);
    desk.repo.write(".git/info/exclude", "docs/plans/2026-03*\n");
    assert_eq!(found_plan(&["--base", "HEAD~1"]), Value::Null);
}
