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
