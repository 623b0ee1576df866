//! The walk-through.

use expect_test::expect;

use super::*;

#[test]
fn chosen_fixes_are_applied_at_the_end() {
    let mut scene = Scene::begun_fixing_first(&[safe(), gated(), deferred(), for_humans()]);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 3").types("2");
    scene.sees("Finding 2 of 3").types("1");
    assert_eq!(scene.diff(), "+++ b/shop/mail.py\n-        pass\n+        raise\n");
    scene.sees("Finding 3 of 3").types("\r");
    scene.sees("What should happen next?").types("\x1b[A\r");
    assert_eq!(scene.ends("Review completed", "walk_through"), 1);
    assert_eq!(
        scene.diff(),
        "+++ b/shop/mail.py\n-        pass\n+        raise\n\
         +++ b/shop/orders.py\n-    return result / len(items)\n+    return result\n"
    );
    scene.keeps(&expect![[r##"
        #1 open: An unpaid order is refunded
        #2 fixed: The total is divided by the count
        #3 fixed: A failed mail is swallowed
        #4 open: Prices are multiplied without rounding
        queues: {"fixer":[],"report":[4],"residual":[1]}
        fix order: [1]
        applied-fixes.json: [{"description":"Return the sum.","files":["shop/orders.py"],"number":2},{"description":"Let the exception through.","files":["shop/mail.py"],"number":3}]
        residual-work.json:
          #1 An unpaid order is refunded
        advisory.json:
          #4 Prices are multiplied without rounding
        questions.json: {"decisions":[{"decision":"skipped","number":1},{"decision":"applied","number":2},{"decision":"skipped","number":4}],"state":"answered"}
    "##]]);
}

#[test]
fn single_issue_without_tracker_has_two_options() {
    let mut scene = Scene::begun(&[deferred()]);
    scene.sees("What should the agent do").types("1");
    scene.sees("Finding —").types("\r");
    assert_eq!(scene.ends("Review completed", "only_issue"), 1);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn issue_for_people_is_acknowledged() {
    let mut scene = Scene::begun(&[for_humans()]);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding —").types("\r");
    assert_eq!(scene.ends("Review completed", "acknowledged"), 0);
}

#[test]
fn cancel_of_rest_plan_returns_to_the_same_issue() {
    let mut scene = Scene::begun(&[gated(), deferred(), for_humans()]);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 3").types("2");
    scene.sees("Finding 2 of 3").types("3");
    scene.sees("Should the agent do this?").types("2");
    scene.sees("Finding 2 of 3").types("3");
    scene.sees("Should the agent do this?").types("1");
    scene.sees("What should happen next?").types("\x1b[F\r");
    assert_eq!(scene.ends("Review completed", "the_rest"), 1);
}

#[test]
fn deferred_issue_is_filed_at_once() {
    let mut scene = Scene::with_tracker(&[gated(), deferred()]);
    scene.begins(USUAL);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("\r");
    scene.sees("Finding 2 of 2");
    assert_eq!(scene.tickets(), 1);
    scene.types("3");
    assert_eq!(scene.ends("Review completed", "deferred"), 1);
}

#[test]
fn failed_ticket_is_retried_or_skipped() {
    let mut scene = Scene::with_tracker(&[deferred(), gated()]);
    scene.user.write("down", "");
    scene.begins(USUAL);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("was not filed").types("1");
    scene.sees("was not filed").types("2");
    scene.sees("Finding 2 of 2").types("2");
    scene.sees("was not filed").types("2");
    assert_eq!(scene.ends("Review completed", "not_filed"), 1);
    assert_eq!(scene.tickets(), 3);
    scene.keeps(&expect![[r##"
        #1 open: An unpaid order is refunded
        #2 open: The total is divided by the count
        queues: {"fixer":[],"report":[],"residual":[1,2]}
        fix order: [1,2]
        applied-fixes.json: []
        residual-work.json:
          #1 An unpaid order is refunded
          #2 The total is divided by the count
        advisory.json:
        questions.json: {"decisions":[{"decision":"not_filed","detail":"`tracker.command` failed: the tracker is down","number":1},{"decision":"not_filed","detail":"`tracker.command` failed: the tracker is down","number":2}],"state":"answered"}
    "##]]);
}

#[test]
fn failed_ticket_moves_to_the_next_tracker() {
    let mut scene = Scene::at_github(&[deferred(), gated()]).and_tracker();
    scene.user.write("down", "");
    scene.begins(USUAL);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("was not filed").types("2");
    scene.sees("Finding 2 of 2").types("2");
    assert_eq!(scene.ends("Review completed", "filed_elsewhere"), 1);
    assert_eq!((scene.tickets(), scene.github().issues(NAME).len()), (1, 2));
}

#[test]
fn issue_for_people_can_be_deferred() {
    let mut scene = Scene::with_tracker(&[for_humans(), gated()]);
    scene.begins(USUAL);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("\r");
    scene.sees("Finding 2 of 2").types("2");
    scene.sees("What should happen next?").types("\r");
    assert_eq!(scene.ends("Review completed", "acknowledged_of_two"), 0);
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn single_issue_has_no_counter_and_no_rest() {
    let mut scene = Scene::with_tracker(&[gated()]);
    scene.begins(USUAL);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding —").types("\x1b[F\r");
    assert_eq!(scene.ends("Review completed", "only_issue_with_tracker"), 1);
}

#[test]
fn findings_of_the_repeated_review_show_current_code() {
    let fixed =
        json!({ "replacement": "    except OSError:\n        log(\"mail\")\n        raise" });
    let quote = "        log(\"mail\")";
    let logged = finding("P1", "The log does not say whose mail", "shop/mail.py:5", quote);
    let logged = with(
        logged,
        json!({
            "autofix_class": "gated_auto", "owner": "downstream-resolver",
            "suggested_fix": "Say to whom it was.", "replacement": "        log(f\"mail to {to}\")",
        }),
    );
    let first = with(safe(), fixed);
    let model = FakeModel::start()
        .on("single", [answers(&[first]), answers(&[logged]), answers(&[])])
        .on("validate-1", [confirms(), confirms()]);
    let mut scene = Scene::of(model, Repo::from_fixture(SHOP)).fixing_first();
    scene.begins(USUAL);
    scene.sees_question("(D)").types("a");
    scene.sees("Finding").types("1");
    scene.sees("What should happen next?").types("\x03");
    assert_eq!(scene.ends("Review completed", "second_look"), 0);
}

#[test]
fn issue_found_again_after_its_fix_is_reported_as_applied() {
    let line = "return result / len(items)";
    let longer = json!({ "replacement": format!("    items = list(items)\n    {line}") });
    let first = with(gated(), longer.clone());
    let again = with(
        first.clone(),
        json!({ "line_start": 6, "evidence": [
        { "file": "shop/orders.py", "line": 6, "side": "new", "snippet": line },
    ] }),
    );
    let model = FakeModel::start()
        .on("single", [answers(&[first]), answers(&[again])])
        .on("validate-1", [confirms(), confirms()]);
    let mut scene = Scene::of(model, Repo::from_fixture(SHOP));
    scene.begins(USUAL);
    scene.sees_question("(D)").types("a");
    scene.sees("Finding").types("1");
    scene.sees("What should happen next?").types("2");
    assert_eq!(scene.ends("Review completed", "found_again"), 1);
    assert_eq!(scene.diff(), "+++ b/shop/orders.py\n+    items = list(items)\n");
}

#[test]
fn dismissed_finding_is_hidden_in_later_reviews() {
    let mut scene = Scene::begun(&[deferred(), for_humans()]);
    scene.sees_question("(D)").types("a");
    scene.sees("Finding 1 of 2").types("4");
    scene.sees("Finding 2 of 2").types("2");
    scene.ends("Review completed", "dismissed");
    let listed = scene.crh(&["dismiss", "--list"]).run();
    assert!(listed.stdout.contains("An unpaid order is refunded"), "{}", listed.shown());
}

#[test]
fn untracked_files_are_asked_about() {
    for (key, is_reviewed) in [("1", false), ("2", true)] {
        let mut scene = Scene::new(&[]);
        scene.repo.write("new.py", "print(1)\n");
        scene.begins(USUAL);
        scene.sees("Should crh review untracked files?").types(key);
        let name = if is_reviewed { "untracked_reviewed" } else { "untracked_left_out" };
        scene.ends("Scope:", name);
    }
    let mut scene = Scene::new(&[]);
    scene.model = FakeModel::start();
    scene.repo.write("new.py", "print(1)\n");
    scene.begins(USUAL);
    scene.sees("Should crh review untracked files?").types("3");
    assert_eq!(scene.ends("note:", "untracked_stopped"), 130);
    assert!(!scene.repo.path().join(".crh/runs").exists());
}
