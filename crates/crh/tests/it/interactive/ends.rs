//! How a talk ends before its end: at every question, by every way out, the tree is as it was and the review can go on.

use std::time::Duration;

use crh_testkit::Signal;

use super::*;

const BOTH: fn() -> Vec<Value> = || vec![safe(), gated(), deferred()];

/// Leaves where `until` has brought the talk. The terminal and the tree are as they were, and how to go on is said.
fn leaves(until: impl Fn(&mut Scene), leave: impl Fn(&Terminal)) {
    let mut scene = Scene::begun(&BOTH());
    until(&mut scene);
    leave(scene.terminal());
    let ended = scene.terminal.take().unwrap().end();
    let said = scene.timeless(&ended.paper);
    let run = "goes on with it";
    assert!(said.contains("--resume RUN`") && ended.paper.contains(run), "{said}");
    assert_eq!((ended.code, ended.is_as_usual), (130, true), "{said}");
    assert_eq!(scene.git(&["status", "--porcelain"]), "", "{said}");
}

fn types(keys: &str) -> impl Fn(&Terminal) + '_ {
    move |terminal| terminal.types(keys)
}

fn first_question(scene: &mut Scene) {
    scene.sees("What should the agent do with the remaining 2 findings?");
}

fn first_finding(scene: &mut Scene) {
    first_question(scene);
    scene.types("a").sees("Finding 1 of 2");
}

fn preview(scene: &mut Scene) {
    first_question(scene);
    scene.types("b").sees("Should the agent do this?");
}

fn preview_of_the_rest(scene: &mut Scene) {
    first_finding(scene);
    scene.types("3").sees("Should the agent do this?");
}

fn next_steps(scene: &mut Scene) {
    preview(scene);
    scene.types("1").sees("What should happen next?");
}

#[test]
fn ctrl_c_and_escape_at_every_question_leave_the_tree_as_it_was() {
    leaves(first_question, types("\x03"));
    leaves(first_question, types("\x1b"));
    leaves(first_finding, types("\x03"));
    leaves(preview, types("\x03"));
    leaves(preview_of_the_rest, types("\x1b"));
    leaves(next_steps, types("\x03"));
}

#[test]
fn signals_leave_it_too() {
    leaves(first_question, |terminal| terminal.signal(Signal::INT));
    leaves(first_finding, |terminal| terminal.signal(Signal::TERM));
    leaves(preview, |terminal| terminal.signal(Signal::HUP));
}

#[test]
fn who_comes_back_is_asked_again_and_nothing_is_reviewed_again() {
    let mut scene = Scene::begun(&BOTH());
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("Finding 2 of 2").types("\x03");
    assert_eq!(scene.ends("The tree", "left"), 130);
    let run = scene.run().file_name().unwrap().to_str().unwrap().to_owned();
    scene.starts(scene.crh(&["review", "--resume", &run]), USUAL);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    scene.sees("Finding 2 of 2").types("1");
    scene.sees("What should happen next?").types("3");
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
fn fixes_are_committed_and_pushed_only_when_that_is_chosen() {
    let mut scene = Scene::new(&[safe()]);
    let origin = Repo::new();
    scene.repo.git(&["remote", "add", "origin", &origin.url()]);
    let before = scene.git(&["rev-parse", "HEAD"]);
    scene.begins(USUAL);
    scene.sees("What should happen next?").types("1");
    assert_eq!(scene.ends("All findings", "pushed"), 0);
    let log = scene.git(&["log", "--format=%s", &format!("{}..HEAD", before.trim())]);
    assert_eq!(log, "fix(review): A failed mail is swallowed\n");
    assert_eq!(origin.id("topic"), scene.repo.id("HEAD"));
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_file_that_was_edited_after_its_fix_is_not_committed() {
    let mut scene = Scene::begun(&[safe()]);
    let head = scene.repo.id("HEAD");
    scene.sees("What should happen next?");
    let mail = scene.repo.path().join("shop/mail.py");
    let text = std::fs::read_to_string(&mail).unwrap();
    std::fs::write(&mail, format!("{text}# mine\n")).unwrap();
    scene.types("1");
    let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
    let why = "nothing was committed: `shop/mail.py` is not as the fix has left it";
    assert!(paper.contains(why), "{paper}");
    assert_eq!(code, 3, "{paper}");
    assert_eq!(scene.repo.id("HEAD"), head);
}

#[test]
fn who_leaves_while_fixes_are_pushed_comes_too_late() {
    let mut scene = Scene::new(&[safe()]);
    let origin = Repo::new();
    scene.repo.git(&["remote", "add", "origin", &origin.url()]);
    let (pushing, left) = (scene.user.path("pushing"), scene.user.path("left"));
    let wait = format!("until test -e '{}'; do sleep 0.05; done", left.display());
    let hook = scene.repo.path().join(".git/hooks/pre-push");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\n: > '{}'\n{wait}\n", pushing.display())).unwrap();
    std::fs::set_permissions(&hook, Permissions::from_mode(0o755)).unwrap();
    scene.begins(USUAL);
    scene.sees("What should happen next?").types("1");
    // Far longer than a push takes to begin.
    let is_pushing = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        pushing.exists()
    });
    assert!(is_pushing, "{}", scene.terminal().screen());
    scene.terminal().signal(Signal::TERM);
    std::fs::write(&left, "").unwrap();
    let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 0, "{paper}");
    assert!(!paper.contains("taken back"), "{paper}");
    assert_eq!(origin.id("topic"), scene.repo.id("HEAD"));
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
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
    let run = scene.run().file_name().unwrap().to_str().unwrap().to_owned();
    scene.starts(scene.crh(&["review", "--resume", &run]), USUAL);
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
    let run = scene.run().file_name().unwrap().to_str().unwrap().to_owned();
    scene.starts(scene.crh(&["review", "--resume", &run]), USUAL);
    let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 2, "{paper}");
    assert_eq!(scene.git(&["status", "--porcelain"]), "", "{paper}");
}

#[test]
fn what_is_not_on_a_branch_of_its_own_is_not_pushed() {
    let mut scene = Scene::new(&[safe()]);
    scene.repo.git(&["checkout", "--quiet", "--detach"]);
    scene.begins(USUAL);
    scene.sees("What should happen next?").types("1");
    assert_eq!(scene.ends("All findings", "no_branch"), 0);
}

#[test]
fn fixes_that_are_mixed_with_other_changes_are_not_pushed() {
    let mut scene = Scene::new(&[safe()]);
    let orders = scene.repo.path().join("shop/orders.py");
    let text = std::fs::read_to_string(&orders).unwrap();
    std::fs::write(&orders, format!("{text}\n# mine\n")).unwrap();
    scene.begins(USUAL);
    scene.sees("What should happen next?").types("2");
    assert_eq!(scene.ends("All findings", "mixed"), 0);
}

#[test]
fn what_cannot_be_pushed_is_said_and_the_fixes_stay() {
    let mut scene = Scene::begun(&[safe()]);
    scene.sees("What should happen next?").types("1");
    let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
    let hint = "hint: the fixes are committed; push them by hand";
    assert!(paper.contains("error: `git push` failed: ") && paper.contains(hint), "{paper}");
    assert_eq!(code, 3);
    let log = scene.git(&["log", "--format=%s", "-1"]);
    assert_eq!(log, "fix(review): A failed mail is swallowed\n");
}
