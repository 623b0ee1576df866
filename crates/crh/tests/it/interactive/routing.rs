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
