//! What comes of questions that were left: whoever comes back is asked again, and nothing that somebody did meanwhile is lost.

use super::*;
use crh_testkit::Signal;

const BOTH: fn() -> Vec<Value> = || vec![safe(), gated(), deferred()];

#[test]
fn who_comes_back_is_asked_again_and_nothing_is_reviewed_again() {
    let mut scene = Scene::begun(&BOTH());
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("Finding 2 of 2").types("\x03");
    assert_eq!(scene.ends("The tree", "left"), 130);
    scene.comes_back();
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("Finding 2 of 2").types("1");
    scene.sees("What should happen next?").types("2");
    assert_eq!(scene.ends("Review completed", "came_back"), 1);
    // Looking again at what was fixed is all that was asked since.
    let checks = scene.model.requests().iter().filter(|asked| asked.caller == "validate-1").count();
    assert_eq!(checks, 1);
    assert_eq!(
        scene.diff(),
        "+++ b/shop/mail.py\n-        pass\n+        raise\n\
         +++ b/shop/orders.py\n-    return result / len(items)\n+    return result\n"
    );
}

#[test]
fn leaving_where_a_ticket_failed_takes_the_fixes_back_too() {
    let mut scene = Scene::with_tracker(&BOTH());
    scene.user.write("down", "");
    scene.begins(USUAL);
    scene.sees("What should the agent do").types("c");
    scene.sees("Should the agent do this?").types("1");
    scene.sees("was not filed").types("\x03");
    assert_eq!(scene.ends("The tree", "left_at_ticket"), 130);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn who_was_cut_off_comes_back_to_the_tree_as_it_was() {
    let mut scene = Scene::begun(&BOTH());
    scene.sees("What should the agent do");
    scene.terminal().signal(Signal::KILL);
    assert_eq!(scene.terminal.take().unwrap().end().code, -1);
    assert_eq!(scene.diff(), "+++ b/shop/mail.py\n-        pass\n+        raise\n");
    scene.comes_back();
    scene.sees("What should the agent do").types("\x1b");
    assert_eq!(scene.ends("The tree", "cut_off"), 130);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn fixes_that_were_committed_meanwhile_are_not_taken_back() {
    let mut scene = Scene::begun(&BOTH());
    scene.sees("What should the agent do");
    scene.terminal().signal(Signal::KILL);
    scene.terminal.take().unwrap().end();
    scene.repo.git(&["commit", "--quiet", "-am", "mine"]);
    scene.comes_back();
    let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 2, "{paper}");
    assert_eq!(scene.git(&["status", "--porcelain"]), "", "{paper}");
}

/// Leaves after something was done to the checkout while the first question stood there: the fix of it stays, and that is said.
fn stays(name: &str, meanwhile: impl Fn(&Repo)) {
    let mut scene = Scene::begun(&BOTH());
    scene.sees("What should the agent do");
    meanwhile(&scene.repo);
    let (head, status) = (scene.repo.id("HEAD"), scene.git(&["status", "--porcelain"]));
    let diff = scene.diff();
    scene.types("\x03");
    assert_eq!(scene.ends("The fixes stay", name), 130);
    assert_eq!(scene.repo.id("HEAD"), head);
    assert_eq!((scene.git(&["status", "--porcelain"]), scene.diff()), (status, diff));
}

#[test]
fn fixes_that_were_committed_while_a_question_stood_there_are_not_taken_back() {
    stays("left_committed", |repo| drop(repo.git(&["commit", "--quiet", "-am", "mine"])));
}

#[test]
fn fixes_on_another_branch_than_before_are_not_taken_back() {
    stays("left_elsewhere", |repo| drop(repo.git(&["checkout", "--quiet", "-b", "other"])));
}

#[test]
fn a_file_that_was_edited_while_a_question_stood_there_is_not_taken_back() {
    stays("left_edited", |repo| {
        let mail = repo.path().join("shop/mail.py");
        let text = std::fs::read_to_string(&mail).unwrap();
        std::fs::write(&mail, format!("{text}# mine\n")).unwrap();
    });
}

#[test]
fn a_file_that_was_deleted_while_a_question_stood_there_is_not_made_again() {
    stays("left_deleted", |repo| std::fs::remove_file(repo.path().join("shop/mail.py")).unwrap());
}

#[test]
fn a_ticket_that_was_filed_before_leaving_is_not_filed_again() {
    let mut scene = Scene::at_github(&[deferred(), gated()]);
    scene.begins(USUAL);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("Finding 2 of 2").types("\x03");
    assert_eq!(scene.terminal.take().unwrap().end().code, 130);
    scene.script.clear();
    scene.comes_back();
    scene.sees("What should the agent do").types("c");
    scene.sees("Should the agent do this?").types("1");
    assert_eq!(scene.ends("Review completed", "filed_before"), 1);
    assert_eq!(scene.github().issues(NAME).len(), 2);
}

#[test]
fn a_talk_that_publishes_nothing_leaves_its_fixes_in_the_working_tree_alone() {
    let mut scene = Scene::begun(&BOTH());
    let known = |scene: &Scene| {
        let refs = scene.git(&["for-each-ref"]);
        [refs, scene.git(&["rev-parse", "HEAD"]), scene.git(&["symbolic-ref", "HEAD"])]
    };
    let before = known(&scene);
    scene.sees("What should the agent do").types("b");
    scene.sees("Should the agent do this?").types("1");
    scene.sees("What should happen next?").types("2");
    let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 1, "{paper}");
    assert_eq!(known(&scene), before);
    // Nothing is staged, and nothing else lies there.
    assert_eq!(
        scene.git(&["status", "--porcelain", "--untracked-files=all"]),
        " M shop/mail.py\n M shop/orders.py\n"
    );
    assert_eq!(scene.git(&["stash", "list"]), "");
}

#[test]
fn where_a_fix_is_half_done_that_cannot_be_rolled_back_nobody_is_asked_and_it_is_said() {
    let mut scene = Scene::new(&BOTH());
    scene.repo.write(".crh/fixing", "/nowhere\n");
    scene.begins(USUAL);
    let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 1, "{paper}");
    // The window breaks lines wherever they end.
    let paper = paper.replace('\n', "");
    let said = "nobody is asked about the report: a fix of this checkout was interrupted, and what it has written down in `/nowhere` cannot be read";
    assert!(paper.contains(said), "{paper}");
    assert!(paper.contains("delete `.crh/fixing` to keep them as they are"), "{paper}");
    assert_eq!(scene.diff(), "");
}
