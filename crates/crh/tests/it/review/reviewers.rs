//! Reviewers that work, and reviewers that crash, hang, invent quotes, send malformed answers or
//! report nothing.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{confirms, delegates, finding, marks, reports, submits, with, works};
use super::{MAIL, ORDERS, ReviewFixture};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::bad_key;

/// A real defect.
fn mean() -> Value {
    finding(
        "P1",
        "The total is divided by the count",
        "shop/orders.py:5",
        "return result / len(items)",
    )
}

/// Another real defect.
fn swallowed() -> Value {
    finding("P2", "A failed mail is swallowed", "shop/mail.py:4", "except Exception:")
}

/// A model that assigns each file to its own sub-agent and keeps these findings.
fn delegating(keep: &[&str]) -> FakeModel {
    let scopes = delegates(&[("orders", &[ORDERS]), ("mail", &[MAIL])]);
    FakeModel::start().on("orchestrator", [scopes, submits(keep, &[])])
}

#[test]
fn findings_are_shown_with_quotes() {
    let desk = ReviewFixture::new();
    let unpaid = "An unpaid order is refunded";
    let findings = [
        mean(),
        finding("P0", unpaid, "shop/orders.py:9", "    return order.amount"),
        finding("P3", "The sum has a needless name", "shop/orders.py:2", "    result = 0"),
        finding("nit", "The name could be shorter", "shop/orders.py:3", "for item in items:"),
    ];
    let model = delegating(&["1.1", "1.2", "1.3", "2.1"])
        .on("sub-agent-1", works(&[ORDERS], &findings))
        .on("sub-agent-2", works(&[MAIL], &[swallowed()]))
        .on("validate-1", [confirms()]);
    let reviewed = desk.review(&model, &[]);
    expect![[r#"
        exit 1
        Not ready · 1 P0, 1 P1, 1 P2 · 2 findings left out · 0.03 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; base 3e4bebcd7dbb, head c6b083bca9cf
        Reviewers:
          - orchestrator: the strategy is `delegate`
          - sub-agent-1
          - sub-agent-2
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        3 issues (1 P0, 1 P1, 1 P2) in 2 reviewed files. 2 findings left out (1 minor, 1
          nitpick).
        The change rewrites how orders are added up.
        [1] orders: Looked at all of it.
        [2] mail: Looked at all of it.

        1 P0 shop/orders.py:9
            An unpaid order is refunded
            |     return order.amount
            An unpaid order is refunded: an order of two items shows it.
            category bug; found by delegate; confidence 0.75; probability that
            maintainers agree 0.75; confirmed by a second model run; a person must
            decide this

        2 P1 shop/orders.py:5
            The total is divided by the count
            | return result / len(items)
            The total is divided by the count: an order of two items shows it.
            category bug; found by delegate; confidence 0.75; probability that
            maintainers agree 0.75; confirmed by a second model run; a person must
            decide this

        3 P2 shop/mail.py:4
            A failed mail is swallowed
            | except Exception:
            A failed mail is swallowed: an order of two items shows it.
            category bug; found by delegate; confidence 0.75; probability that
            maintainers agree 0.75; confirmed by a second model run; a person must
            decide this

        Open work
          - 1 P0 shop/orders.py:9: a person must decide this
          - 2 P1 shop/orders.py:5: a person must decide this

        Review coverage
          - 2 findings left out (1 minor, 1 nitpick)

        Not ready: 2 issues must be fixed before the merge, 1 of them P0
        Fix in this order: 1, 2
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
    expect![[r#"
        #1 P0 shop/orders.py:9 An unpaid order is refunded (0.75, confirmed)
        #2 P1 shop/orders.py:5 The total is divided by the count (0.75, confirmed)
        #3 P2 shop/mail.py:4 A failed mail is swallowed (0.75, confirmed)
    "#]]
    .assert_eq(&reviewed.issues());
    expect![[r#"
        minor The sum has a needless name: P3 issues are hidden
        nit The name could be shorter: the reviewer calls it a nit
    "#]]
    .assert_eq(&reviewed.fates());
}

#[test]
fn hanging_reviewer_is_stopped_by_time_limit() {
    let desk = ReviewFixture::new();
    // Not scripted, because on slow machines the last sub-agents are not started.
    let model = FakeModel::answering(|asked| match (asked.caller.as_str(), asked.number) {
        ("orchestrator", 1) => delegates(&[("orders", &[ORDERS]), ("mail", &[MAIL])]),
        ("orchestrator", _) => submits(&["2.1"], &[]),
        ("sub-agent-1", _) => reports(&[]).delayed(Duration::from_secs(600)),
        ("sub-agent-2", 1) => marks(&[MAIL]),
        ("sub-agent-2", _) => reports(&[with(swallowed(), json!({ "severity": "P1" }))]),
        (_, _) => confirms(),
    });
    // Long enough for a slow machine to end the other runs first.
    let reviewed = desk.review(&model, &["--max-seconds", "12"]);
    assert_eq!(reviewed.end(), (1, "truncated", "Ready with fixes"));
    expect![[r#"
        #1 P1 shop/mail.py:4 A failed mail is swallowed (0.75, confirmed)
        shop/mail.py reviewed
        shop/orders.py not_reviewed sub-agent-1 failed
        reviewer sub-agent-1 failed: sub-agent ended without calling report_findings: the remaining budget for time is too small for another request
    "#]]
    .assert_eq(&(reviewed.issues() + &reviewed.coverage() + &reviewed.warnings()));
}

#[test]
fn invented_quote_is_dropped() {
    let desk = ReviewFixture::new();
    let invented = [
        finding("P0", "The key is logged", "shop/orders.py:5", "log.info(order.card_number)"),
        finding("P1", "The loop skips", "shop/orders.py:3", "for item in ... items:"),
        finding("P1", "A short quote", "shop/orders.py:3", "items"),
        finding("P1", "Another file", "shop/secret.py:3", "return result / len(items)"),
    ];
    let model = delegating(&["1.1", "1.2", "1.3", "1.4"])
        .on("sub-agent-1", works(&[ORDERS], &invented).into_iter().chain([reports(&invented)]))
        .on("sub-agent-2", works(&[MAIL], &[]));
    let reviewed = desk.review(&model, &[]);
    expect![[r#"
        exit 4
        Incomplete · no issues · 4 findings left out · 0.02 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; base 3e4bebcd7dbb, head c6b083bca9cf
        Reviewers:
          - orchestrator: the strategy is `delegate`
          - sub-agent-1
          - sub-agent-2
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        No issues in 2 reviewed files. 4 findings left out (quote not found).
        The change rewrites how orders are added up.
        [1] orders: Looked at all of it.
        [2] mail: Looked at all of it.

        Review coverage
          - 4 findings left out (quote not found)

        Incomplete: crh did not find the quoted code of 4 findings of severity P0 or P1
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
    assert_eq!(reviewed.issues(), "");
    expect![[r#"
        unsupported A short quote: the quote `items` is too short: quote the whole cited line, or at least 8 visible characters
        unsupported Another file: the quote `return result / len(items)` is from `shop/secret.py`, which is not part of the review
        unsupported The key is logged: the quote `log.info(order.card_number)` is not in `shop/orders.py`
        unsupported The loop skips: the quote `for item in ... items:` is not in `shop/orders.py`
    "#]].assert_eq(&reviewed.fates());
}

#[test]
fn wrong_api_key_is_reported_once() {
    let desk = ReviewFixture::new();
    let model = FakeModel::start().on("orchestrator", [bad_key()]);
    let reviewed = desk.review(&model, &[]);
    assert_eq!(reviewed.end(), (3, "error", "Incomplete"));
    expect![[r#"
        exit 3
        note: no model reviewed the change, see the report; `crh doctor` and `crh model check MODEL` test your setup
        Incomplete · no issues · 0.00 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; 2 files not fully reviewed (shop/mail.py,
                shop/orders.py); base 3e4bebcd7dbb, head c6b083bca9cf
        Reviewers:
          - orchestrator: the strategy is `delegate`
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        No issues; no file was fully reviewed.

        Review coverage
          - reviewer orchestrator failed: the API key was rejected: Incorrect API key
            provided: [redacted].
          - shop/mail.py: not reviewed (orchestrator failed)
          - shop/orders.py: not reviewed (orchestrator failed)

        Incomplete: failed reviewers: orchestrator; nothing was reviewed
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
}

#[test]
fn wrong_api_key_with_a_static_issue_is_incomplete() {
    let conflict = "//- a.py\na = 1\n//- head\n//- a.py\n<<<<<<< ours\na = 2\n=======\na = 3\n>>>>>>> theirs\n";
    let desk = ReviewFixture::with(conflict);
    let model = FakeModel::start().on("orchestrator", [bad_key()]);
    let reviewed = desk.review(&model, &[]);
    assert_eq!(reviewed.end(), (1, "error", "Incomplete"), "{}", reviewed.output.shown());
    let counts = "1 issue (1 P1); no file was fully reviewed";
    assert!(reviewed.output.stdout.contains(counts), "{}", reviewed.output.shown());
    assert_eq!(reviewed.report["model_used"], "", "no model answered");
}

/// The server is asked for its context length with requests of their own, which do not count.
#[test]
fn stopped_server_is_asked_twice_per_review() {
    let desk = ReviewFixture::new();
    // Port 9 of the loopback interface is closed.
    let name = "ollama:qwen3:8b@http://127.0.0.1:9/v1";
    let args = ["review", "HEAD~1..HEAD", "--strategy", "single", "--model", name];
    let reviewed = desk.reviewed(desk.crh(&args).run());
    assert_eq!(reviewed.end(), (3, "error", "Incomplete"), "{}", reviewed.output.shown());
    assert_eq!(reviewed.report["stats"]["failed_calls"], 2, "{}", reviewed.output.shown());
}
