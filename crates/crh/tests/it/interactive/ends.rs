//! Leaving the questions and resuming them. Edits of the user are never lost.

use super::*;
use crh_testkit::Signal;

const BOTH: fn() -> Vec<Value> = || vec![safe(), gated(), deferred()];

#[test]
fn resumed_review_asks_again_without_a_new_review() {
    let mut scene = Scene::begun_fixing_first(&BOTH());
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("Finding 2 of 2").types("\x03");
    assert_eq!(scene.ends("The fixes are undone", "left"), 130);
    scene.comes_back();
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("Finding 2 of 2").types("1");
    scene.sees("What should happen next?").types("2");
    assert_eq!(scene.ends("Review completed", "came_back"), 1);
    // Only the repeated review of the fixes was new.
    let checks = scene.model.requests().iter().filter(|asked| asked.caller == "validate-1").count();
    assert_eq!(checks, 1);
    assert_eq!(
        scene.diff(),
        "+++ b/shop/mail.py\n-        pass\n+        raise\n\
         +++ b/shop/orders.py\n-    return result / len(items)\n+    return result\n"
    );
}

#[test]
fn resume_after_a_kill_undoes_the_fixes() {
    let mut scene = Scene::begun_fixing_first(&BOTH());
    scene.sees("What should the agent do");
    scene.terminal().signal(Signal::KILL);
    assert_eq!(scene.terminal.take().unwrap().end().code, -1);
    assert_eq!(scene.diff(), "+++ b/shop/mail.py\n-        pass\n+        raise\n");
    scene.comes_back();
    scene.sees("What should the agent do").types("\x1b");
    assert_eq!(scene.ends("The fixes are undone", "cut_off"), 130);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn committed_fixes_are_not_undone_by_resume() {
    let mut scene = Scene::begun_fixing_first(&BOTH());
    scene.sees("What should the agent do");
    scene.terminal().signal(Signal::KILL);
    scene.terminal.take().unwrap().end();
    scene.repo.git(&["commit", "--quiet", "-am", "mine"]);
    scene.comes_back();
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 2, "{paper}");
    assert_eq!(scene.git(&["status", "--porcelain"]), "", "{paper}");
}

/// Leaves after the checkout was changed at the first question: the fixes stay, and crh says so.
fn stays(name: &str, meanwhile: impl Fn(&Repo)) {
    let mut scene = Scene::begun_fixing_first(&BOTH());
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
fn edited_file_is_not_undone() {
    stays("left_edited", |repo| {
        let mail = repo.path().join("shop/mail.py");
        let text = std::fs::read_to_string(&mail).unwrap();
        std::fs::write(&mail, format!("{text}# mine\n")).unwrap();
    });
}

#[test]
fn ticket_is_not_filed_twice_after_resume() {
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
fn unpublished_fixes_change_only_the_working_tree() {
    let mut scene = Scene::begun_fixing_first(&BOTH());
    let known = |scene: &Scene| {
        let refs = scene.git(&["for-each-ref"]);
        [refs, scene.git(&["rev-parse", "HEAD"]), scene.git(&["symbolic-ref", "HEAD"])]
    };
    let before = known(&scene);
    scene.sees("What should the agent do").types("b");
    scene.sees("Should the agent do this?").types("1");
    scene.sees("What should happen next?").types("2");
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 1, "{paper}");
    assert_eq!(known(&scene), before);
    // Nothing is staged or untracked.
    assert_eq!(
        scene.git(&["status", "--porcelain", "--untracked-files=all"]),
        " M shop/mail.py\n M shop/orders.py\n"
    );
    assert_eq!(scene.git(&["stash", "list"]), "");
}

#[test]
fn failed_rollback_prevents_the_questions() {
    let mut scene = Scene::new(&BOTH());
    scene.repo.write(".crh/fixing", "/nowhere\n");
    scene.begins(USUAL);
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 1, "{paper}");
    // The window breaks lines.
    let paper = paper.replace('\n', "");
    let said = "no questions are asked: `.crh/fixing` names `/nowhere`, which crh did not write on this machine";
    assert!(paper.contains(said), "{paper}");
    assert_eq!(scene.diff(), "");
}
