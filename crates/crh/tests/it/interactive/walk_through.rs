//! One issue at a time.

use super::*;

#[test]
fn each_issue_is_shown_with_its_code_and_all_fixes_are_made_at_the_end() {
    let mut scene = Scene::begun(&[safe(), gated(), deferred(), for_humans()]);
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
}

#[test]
fn the_only_issue_without_a_tracker_has_two_options() {
    let mut scene = Scene::begun(&[deferred()]);
    scene.sees("What should the agent do").types("1");
    scene.sees("Finding —").types("\r");
    assert_eq!(scene.ends("Review completed", "only_issue"), 1);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_is_for_people_is_acknowledged() {
    let mut scene = Scene::begun(&[for_humans()]);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding —").types("\r");
    assert_eq!(scene.ends("Review completed", "acknowledged"), 0);
}

#[test]
fn the_rest_is_shown_before_it_is_done_and_cancel_comes_back_to_the_same_issue() {
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
