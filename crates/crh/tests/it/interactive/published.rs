//! Publishing fixes at the last question, and when it is not offered.

use super::*;
use crh_testkit::Signal;
use crh_testkit::fake_github::{Permission, Pull, REVIEWER};

#[test]
fn fixes_are_pushed_only_if_chosen() {
    let mut scene = Scene::at_github(&[safe()]);
    let before = scene.git(&["rev-parse", "HEAD"]);
    scene.begins(USUAL);
    scene.sees(NOT_YET).types("f");
    scene.sees("What should happen next?").types("1");
    assert_eq!(scene.ends("All findings", "pushed"), 0);
    let log = scene.git(&["log", "--format=%s", &format!("{}..HEAD", before.trim())]);
    assert_eq!(log, "fix(review): A failed mail is swallowed\n");
    let opened = Pull {
        head: "acme:topic".to_owned(),
        title: "change".to_owned(),
        author: REVIEWER.to_owned(),
        ..Pull::default()
    };
    assert_eq!(scene.github().pulls(NAME), [opened]);
    assert_eq!(scene.origin().id("topic"), scene.repo.id("HEAD"));
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn base_branch_is_never_pushed() {
    for base in [&[][..], &["--base", "HEAD~1"]] {
        let mut scene = Scene::at_github(&[safe()]).fixing_first();
        scene.repo.git(&["checkout", "--quiet", "-B", "main"]);
        let before = (scene.origin().id("main"), scene.repo.id("HEAD"));
        scene.starts(
            scene.crh(&[&["review", "--strategy", "single"], base, INTERACTIVE].concat()),
            USUAL,
        );
        scene.sees("What should happen next?");
        let screen = scene.terminal().screen();
        assert!(screen.contains("> 1. Continue") && !screen.contains("Create a PR"), "{screen}");
        scene.types("1");
        let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
        assert_eq!(code, 0, "{paper}");
        assert_eq!((scene.origin().id("main"), scene.repo.id("HEAD")), before, "{base:?}");
        assert_eq!(scene.github().pulls(NAME), []);
    }
}

#[test]
fn pull_request_targets_the_compared_branch() {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
    scene.repo.git(&["push", "--quiet", "origin", "base:release"]);
    scene.github().refresh(NAME);
    scene.repo.git(&["fetch", "--quiet", "origin"]);
    let args = ["review", "--strategy", "single", "--base", "origin/release"];
    scene.starts(scene.crh(&[&args, INTERACTIVE].concat()), USUAL);
    scene.sees("What should happen next?").types("1");
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 0, "{paper}");
    let pulls = scene.github().pulls(NAME);
    assert_eq!(pulls.iter().map(|pull| pull.base.as_str()).collect::<Vec<_>>(), ["release"]);
}

#[test]
fn file_edited_after_its_fix_is_not_committed() {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
    scene.begins(USUAL);
    let head = scene.repo.id("HEAD");
    scene.sees("What should happen next?");
    let mail = scene.repo.path().join("shop/mail.py");
    let text = std::fs::read_to_string(&mail).unwrap();
    std::fs::write(&mail, format!("{text}# mine\n")).unwrap();
    scene.types("1");
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    let why = "nothing was committed: `shop/mail.py` was changed after the fix";
    assert!(paper.contains(why), "{paper}");
    assert_eq!(code, 3, "{paper}");
    assert_eq!(scene.repo.id("HEAD"), head);
}

#[test]
fn file_edited_before_its_fix_is_not_committed() {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
    let (mail, is_first) = (scene.repo.path().join("shop/mail.py"), AtomicBool::new(true));
    scene.model = FakeModel::answering(move |asked| match asked.caller.as_str() {
        "single" if is_first.swap(false, Ordering::SeqCst) => {
            let text = std::fs::read_to_string(&mail).unwrap();
            std::fs::write(&mail, format!("{text}# mine\n")).unwrap();
            answers(&[safe()])
        }
        "single" => answers(&[]),
        _ => confirms(),
    });
    let head = scene.repo.id("HEAD");
    scene.begins(USUAL);
    scene.sees("What should happen next?");
    let screen = scene.terminal().screen();
    assert!(screen.contains("uncommitted changes"), "{screen}");
    scene.types("1");
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 0, "{paper}");
    assert_eq!(scene.repo.id("HEAD"), head);
    assert!(scene.diff().contains("+        raise\n+# mine\n"), "{}", scene.diff());
}

#[test]
fn signal_during_push_does_not_undo_it() {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
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
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 0, "{paper}");
    assert!(!paper.contains("undone"), "{paper}");
    assert_eq!(scene.origin().id("topic"), scene.repo.id("HEAD"));
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn failed_push_is_reported_and_keeps_the_fixes() {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
    let nowhere = scene.user.path("nowhere").display().to_string();
    scene.repo.git(&["remote", "set-url", "--push", "origin", &nowhere]);
    scene.begins(USUAL);
    scene.sees("What should happen next?").types("1");
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    let hint = "hint: the fixes are committed; push them by hand";
    assert!(paper.contains("error: `git push` failed: ") && paper.contains(hint), "{paper}");
    assert_eq!(code, 3);
    let log = scene.git(&["log", "--format=%s", "-1"]);
    assert_eq!(log, "fix(review): A failed mail is swallowed\n");
}

#[test]
fn failed_pull_request_keeps_the_pushed_branch() {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
    scene.github().token("reader", REVIEWER, &[Permission::ReadPulls, Permission::Contents]);
    let args = ["review", "--base", "origin/main", "--strategy", "single"];
    let program = scene.crh(&[&args, INTERACTIVE].concat()).env("GITHUB_TOKEN", "reader");
    scene.starts(program, USUAL);
    scene.sees("What should happen next?").types("1");
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    let why = "the branch is pushed, but the pull request could not be opened";
    assert!(paper.contains(why), "{paper}");
    assert_eq!((code, scene.origin().id("topic")), (3, scene.repo.id("HEAD")), "{paper}");
}

#[test]
fn fixes_go_to_the_checked_out_pull_request() {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
    scene.repo.git(&["push", "--quiet", "--set-upstream", "origin", "topic"]);
    scene.github().refresh(NAME);
    scene.github().pull(NAME, Pull { head: "topic".to_owned(), ..Pull::default() });
    scene.starts(scene.crh(&[&["review", "--strategy", "single"], INTERACTIVE].concat()), USUAL);
    scene.sees("What should happen next?").types("1");
    assert_eq!(scene.ends("All findings", "pushed_to_pull"), 0);
    assert_eq!(scene.origin().id("topic"), scene.repo.id("HEAD"));
    let log = scene.git(&["log", "--format=%s", "-1"]);
    assert_eq!(log, "fix(review): A failed mail is swallowed\n");
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

/// Checks that no push is offered, and that the question says why.
fn stays(name: &str, arrange: impl Fn(&Scene), change: impl Fn(Program) -> Program) {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
    arrange(&scene);
    let args = ["review", "--base", "base", "--strategy", "single", "--no-pr"];
    scene.starts(change(scene.crh(&[&args, INTERACTIVE].concat())), USUAL);
    scene.sees("What should happen next?").types("\r");
    assert_eq!(scene.ends("All findings", name), 0);
}

#[test]
fn pull_request_is_offered_only_if_possible() {
    let nothing = |_: &Scene| {};
    let same = |program: Program| program;
    stays("no_token", nothing, |program| program.env("GITHUB_TOKEN", ""));
    stays("offline", nothing, |program| program.env("CRH_OFFLINE", "1"));
    stays(
        "not_at_github",
        |scene| drop(scene.repo.git(&["remote", "set-url", "origin", "/x"])),
        same,
    );
    stays("no_origin", |scene| drop(scene.repo.git(&["remote", "rename", "origin", "o"])), same);
}
