//! Whole panel reviews: envelope and Markdown compared with golden files.

use std::fs;

use expect_test::{ExpectFile, expect, expect_file};
use serde_json::{Value, json};

use super::script::{confirms, finding, reports, with};
use super::{FinishedReview, ORDERS, ReviewFixture, items, with_key, without_times};
use crate::user::User;
use crh_testkit::fake_model::{FakeRequest, ScriptedReply, bad_request, calls};
use crh_testkit::{FakeModel, Repo};

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

const MIGRATION: &str = "
    //- db/migrate/1_orders.rb
    class Orders < ActiveRecord::Migration[7.0]
    end
    //- db/schema.rb
    ActiveRecord::Schema[7.0].define(version: 1) do
    end
    //- head
    //- db/migrate/2_paid.rb
    class Paid < ActiveRecord::Migration[7.0]
      def change
        add_column :orders, :paid, :boolean, null: false
      end
    end
    //- db/schema.rb
    ActiveRecord::Schema[7.0].define(version: 2) do
      create_table \"orders\" do |t|
        t.boolean \"paid\", null: false
      end
    end
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
    check_of(desk, model, &[&["HEAD~1..HEAD"], args].concat(), envelope, page)
}

/// Like `check`, for any change.
fn check_of(
    desk: &ReviewFixture,
    model: &FakeModel,
    args: &[&str],
    envelope: ExpectFile,
    page: ExpectFile,
) -> FinishedReview {
    let program = desk.crh(&[&["review", "--mode", "headless"], args].concat());
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
fn one_reviewer_failed() {
    let model = FakeModel::answering(|asked| match asked.caller.as_str() {
        "security" => bad_request("no"),
        _ => looks_at_refunds(asked),
    });
    let reviewed = check(
        &ReviewFixture::with(REFUNDS),
        &model,
        &["--reviewers", "correctness,security"],
        expect_file!["../../data/panel/failed.txt"],
        expect_file!["../../data/panel/failed.md"],
    );
    assert_eq!(reviewed.end().1, "degraded");
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

        Review complete
    "#]]
    .assert_eq(&reviewed.output.stdout);
    assert_eq!(reviewed.end(), (3, "error", "Incomplete"));
}

#[test]
fn a_change_with_a_migration() {
    let model = FakeModel::answering(|asked| match asked.caller.as_str() {
        "data-migrations" => reports(&[with(
            finding(
                "P1",
                "Orders that are there have no value",
                "db/migrate/2_paid.rb:3",
                "add_column :orders, :paid, :boolean, null: false",
            ),
            json!({ "category": "data" }),
        )]),
        "deployment" => {
            notes(&["Before: count the orders.", "After: watch the locks on `orders`."])
        }
        _ => no_findings(asked),
    });
    let reviewed = check(
        &ReviewFixture::with(MIGRATION),
        &model,
        &[],
        expect_file!["../../data/panel/migration.txt"],
        expect_file!["../../data/panel/migration.md"],
    );
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"));
}

#[test]
fn a_change_of_prose_alone() {
    let desk = ReviewFixture::new();
    desk.repo.write("README.md", "# Shop\n\nTotals are in euros.\n");
    desk.repo.commit("Say what totals are");
    let lie = finding("P2", "Totals are in cents", "README.md:3", "Totals are in euros.");
    let model = FakeModel::answering(move |asked| match asked.caller.as_str() {
        "docs-that-lie" => reports(std::slice::from_ref(&lie)),
        _ => no_findings(asked),
    });
    let reviewed = check(
        &desk,
        &model,
        &[],
        expect_file!["../../data/panel/prose.txt"],
        expect_file!["../../data/panel/prose.md"],
    );
    assert_eq!(reviewed.end().1, "ok");
}

#[test]
fn a_change_of_one_line() {
    let desk = ReviewFixture::new();
    let orders = fs::read_to_string(desk.repo.path().join(ORDERS)).unwrap();
    desk.repo.write(ORDERS, format!("{orders}LIMIT = 3\n"));
    desk.repo.commit("A limit");
    let model = FakeModel::answering(no_findings);
    let reviewed = check(
        &desk,
        &model,
        &[],
        expect_file!["../../data/panel/one_line.txt"],
        expect_file!["../../data/panel/one_line.md"],
    );
    assert_eq!(reviewed.end(), (0, "ok", "Ready to merge"));
}

/// A plan inferred from the name of the branch.
#[test]
fn a_change_with_a_plan_that_its_branch_names() {
    let desk = ReviewFixture::with(REFUNDS);
    desk.repo.git(&["branch", "order-refunds"]);
    desk.repo.git(&["checkout", "--quiet", "order-refunds"]);
    let model = FakeModel::answering(looks_at_refunds);
    let reviewed = check_of(
        &desk,
        &model,
        &["HEAD~1..order-refunds", "--reviewers", "testing"],
        expect_file!["../../data/panel/inferred_plan.txt"],
        expect_file!["../../data/panel/inferred_plan.md"],
    );
    assert_eq!(reviewed.report["plan"]["plan_source"], "inferred");
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

/// Two plans are named, and neither fits better.
#[test]
fn a_change_that_names_two_plans() {
    let desk = ReviewFixture::with(REFUNDS);
    desk.repo
        .write("docs/plans/2026-01-06-mail-plan.md", "## Requirements\n\n- R1. Mail is sent\n");
    desk.repo.write("shop/mail.py", "def send(to):\n    to.send()\n    return to\n");
    desk.repo.commit(
        "Letters\n\nSee docs/plans/2026-01-05-order-refunds-plan.md and docs/plans/2026-01-06-mail-plan.md.",
    );
    let model = FakeModel::answering(no_findings);
    let reviewed = check(
        &desk,
        &model,
        &["--reviewers", "correctness"],
        expect_file!["../../data/panel/ambiguous_plan.txt"],
        expect_file!["../../data/panel/ambiguous_plan.md"],
    );
    assert_eq!(reviewed.report["plan"], Value::Null);
}

#[test]
fn a_change_that_people_have_commented_on() {
    let desk = ReviewFixture::with(REFUNDS);
    desk.user.prepared(desk.repo.path(), &["HEAD~1..HEAD"], "ws");
    let workspace = desk.user.path("ws");
    let comments = json!([{ "id": "7", "author": "commenter", "createdAt": null, "content": "Orders that are not paid must not be refunded." }]);
    let file = workspace.join("preview-diffs/latest/comments/general.json");
    fs::write(file, comments.to_string()).unwrap();
    let unheard =
        finding("P1", "Unpaid orders are refunded", "shop/orders.py:11", "amount = order.amount");
    let model = FakeModel::answering(move |asked| match asked.caller.as_str() {
        "previous-comments" => reports(std::slice::from_ref(&unheard)),
        _ => no_findings(asked),
    });
    let reviewed = check_of(
        &desk,
        &model,
        &[
            "--workspace",
            workspace.to_str().unwrap(),
            "--reviewers",
            "correctness,previous-comments",
        ],
        expect_file!["../../data/panel/commented.txt"],
        expect_file!["../../data/panel/commented.md"],
    );
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"));
}

#[test]
fn a_change_of_four_hundred_files() {
    let repo = Repo::new();
    for value in [1, 2] {
        repo.import((0..400).map(|file| {
            let lines: String = (0..8).map(|it| format!("    step_{it} = x + {value}\n")).collect();
            (format!("src/part_{}/file_{file}.py", file / 50), format!("def f_{file}(x):\n{lines}"))
        }));
    }
    let desk = ReviewFixture { user: User::new(), repo };
    let model = FakeModel::answering(|asked| match asked.caller.as_str() {
        "correctness-2" => reports(&[finding(
            "P1",
            "One too much is added",
            "src/part_7/file_399.py:2",
            "step_0 = x + 2",
        )]),
        _ => no_findings(asked),
    });
    let reviewed = check(
        &desk,
        &model,
        &[],
        expect_file!["../../data/panel/many_files.txt"],
        expect_file!["../../data/panel/many_files.md"],
    );
    let states: Vec<_> =
        items(&reviewed.report["coverage"]).iter().map(|it| &it["state"]).collect();
    assert_eq!(states, vec!["reviewed"; 400]);
    // Every reviewer reviews every part once.
    let reviewers = items(&reviewed.report["reviewers"]);
    let judging = reviewers.iter().filter(|row| row["origin"] == "model").count();
    assert_eq!(
        model.requests().len(),
        4 * judging + 3,
        "four parts; the scout, the editor and one check besides: {:?}",
        model.requests().iter().map(|asked| asked.caller.clone()).collect::<Vec<_>>()
    );
}
