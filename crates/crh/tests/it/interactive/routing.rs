//! The first question and each of its answers.

use expect_test::expect;

use super::*;

#[test]
fn explicit_mode_fixes_first_and_skips_an_empty_question() {
    let mut scene = Scene::begun_fixing_first(&[safe(), advisory()]);
    scene.sees("What should happen next?").types("2");
    assert_eq!(scene.ends("All findings resolved", "nothing_left"), 0);
    assert_eq!(scene.diff(), "+++ b/shop/mail.py\n-        pass\n+        raise\n");
}

#[test]
fn report_only_without_safe_fixes_changes_nothing() {
    let mut scene = Scene::begun(&[gated(), deferred()]);
    scene.sees("What should the agent do").types("d");
    assert_eq!(scene.ends("Review completed", "report_only"), 1);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
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
        questions.json: {"decisions":[],"state":"answered"}
    "##]]);
}

#[test]
fn plan_is_shown_before_it_runs() {
    let mut scene = Scene::begun(&[gated(), deferred(), for_humans()]);
    scene.sees("What should the agent do").types("b");
    scene.sees("Should the agent do this?").types("\x1b[B\r");
    scene.sees("What should the agent do").types("b");
    scene.sees("Should the agent do this?").types("1");
    scene.sees("What should happen next?").types("1");
    assert_eq!(scene.ends("Review completed", "best_judgment"), 1);
    let fixed = "+++ b/shop/orders.py\n-    return result / len(items)\n+    return result\n";
    assert_eq!(scene.diff(), fixed);
    scene.keeps(&expect![[r##"
        #1 open: An unpaid order is refunded
        #2 fixed: The total is divided by the count
        #3 open: Prices are multiplied without rounding
        queues: {"fixer":[],"report":[3],"residual":[1]}
        fix order: [1]
        applied-fixes.json: [{"description":"Return the sum.","files":["shop/orders.py"],"number":2}]
        residual-work.json:
          #1 An unpaid order is refunded
        advisory.json:
          #3 Prices are multiplied without rounding
        questions.json: {"decisions":[{"decision":"skipped","number":1},{"decision":"applied","number":2},{"decision":"skipped","number":3}],"state":"answered"}
    "##]]);
}

#[test]
fn clean_review_asks_nothing() {
    let mut scene = Scene::begun(&[]);
    assert_eq!(scene.ends("Scope:", "clean"), 0);
}

#[test]
fn tickets_for_all_apply_nothing() {
    let mut scene = Scene::with_tracker(&[gated(), deferred(), for_humans()]);
    scene.begins(USUAL);
    scene.sees("What should the agent do").types("c");
    scene.sees("Should the agent do this?").types("2");
    scene.sees("What should the agent do").types("c");
    scene.sees("Should the agent do this?").types("1");
    assert_eq!(scene.ends("Review completed", "tickets"), 1);
    assert_eq!((scene.tickets(), scene.git(&["status", "--porcelain"]).as_str()), (3, ""));
    scene.keeps(&expect![[r##"
        #1 open: An unpaid order is refunded
        #2 open: The total is divided by the count
        #3 open: Prices are multiplied without rounding
        queues: {"fixer":[],"report":[3],"residual":[1,2]}
        fix order: [1,2]
        applied-fixes.json: []
        residual-work.json:
          #1 An unpaid order is refunded
          #2 The total is divided by the count
        advisory.json:
          #3 Prices are multiplied without rounding
        questions.json: {"decisions":[{"decision":"deferred","detail":"https://tracker.example/1","number":1},{"decision":"deferred","detail":"https://tracker.example/2","number":2},{"decision":"deferred","detail":"https://tracker.example/3","number":3}],"state":"answered"}
    "##]]);
}

#[test]
fn certain_tracker_is_named() {
    let mut scene = Scene::at_github(&[gated(), deferred()]);
    // Agent instructions that are not part of the change.
    std::fs::write(scene.repo.path().join(".git/info/exclude"), "AGENTS.md\n").unwrap();
    scene.repo.write("AGENTS.md", "Bugs are GitHub issues.\n");
    scene.begins(USUAL);
    scene.sees("What should the agent do").types("b");
    scene.sees("Should the agent do this?").types("2");
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("Finding 2 of 2").types("4");
    scene.sees("Should the agent do this?").types("2");
    scene.sees("Finding 2 of 2").types("3");
    assert_eq!(scene.ends("Review completed", "named_tracker"), 1);
    let titles = scene.github().issues(NAME).into_iter().map(|issue| issue.title);
    assert_eq!(titles.collect::<Vec<_>>(), ["[P0] An unpaid order is refunded"]);
}
