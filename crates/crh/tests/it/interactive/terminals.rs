//! Small, resized and dumb terminals, and terminals without a user.

use std::fs::File;

use super::*;
use crh_testkit::Signal;
use crh_testkit::fake_github::Pull;

#[test]
fn question_is_redrawn_after_a_resize() {
    let mut scene = Scene::begun(&[gated(), deferred()]);
    scene.sees("What should the agent do");
    scene.terminal().resize(50, 12);
    let is_narrow =
        |screen: &str| screen.contains("accept the\n      rec") && screen.contains("(D)");
    scene.terminal().wait_until("a narrow question", is_narrow);
    scene.keeps_screen();
    scene.types("j");
    scene.sees_last("> (B)");
    scene.terminal().resize(100, 30);
    scene.sees("accept the recommendation or choose another action").types("d");
    assert_eq!(scene.ends("Review completed", "resized"), 1);
}

#[test]
fn tiny_terminal_shows_the_options() {
    let mut scene = Scene::new(&[gated(), deferred()]);
    scene.begins((40, 6));
    scene.sees_last("(D)").types("k");
    scene.sees_last("> (D)").types("\r");
    assert_eq!(scene.ends("Review completed", "small"), 1);
}

#[test]
fn dumb_terminal_gets_numbered_options() {
    let mut scene = Scene::new(&[gated(), for_humans()]);
    let program = scene.crh(&["review", "--base", "base", "--strategy", "single"]);
    scene.starts(program.env("TERM", "dumb"), USUAL);
    scene.sees_prompt("What should the agent do").types("7\n");
    scene.sees_prompt("Not a valid choice.").types("ab\n");
    scene.sees_prompt("Not a valid choice.").types("a\n");
    scene.sees_prompt("Finding 1 of 2");
    assert!(scene.terminal().is_restored());
    scene.types("2\n");
    scene.sees_prompt("Finding 2 of 2").types("3\n");
    scene.sees_prompt("Should the agent do this?").types("2\n");
    scene.sees_prompt("Finding 2 of 2").types("\n");
    assert_eq!(scene.ends("Review completed", "numbered"), 1);
}

#[test]
fn dumb_terminal_gets_no_escape_sequences() {
    let mut scene = Scene::new(&[gated()]);
    let args = [
        &["review", "--base", "base", "--strategy", "single"][..],
        &["review", "HEAD~1..HEAD", "--strategy", "single"],
        &["check", "HEAD~1..HEAD"],
        &["show"],
        &["runs"],
        &["fix", "--dry-run"],
        &["--help"],
        &["doctor"],
        &["nonsense"],
    ];
    for args in args {
        // Colours are not turned off.
        let program = scene.crh(args).env("NO_COLOR", "").env("TERM", "dumb");
        scene.starts(program, USUAL);
        if args.contains(&"--base") {
            scene.sees_prompt("What should the agent do").types("\x04");
        }
        let TerminalOutput { raw_output: sent, .. } = scene.terminal.take().unwrap().end();
        assert!(!sent.contains('\u{1b}'), "{args:?}: {sent:?}");
    }
}

#[test]
fn early_typing_does_not_answer_a_question() {
    for term in ["dumb", "xterm-256color"] {
        let (model, hold) = held(finding_once(&[gated(), for_humans()]));
        let mut scene = Scene::of(model, Repo::from_fixture(SHOP));
        let program = scene.crh(&["review", "--base", "base", "--strategy", "single"]);
        scene.starts(program.env("TERM", term), USUAL);
        scene.types("d\n");
        drop(hold);
        scene.terminal().wait_for("What should the agent do");
        scene.terminal().wait_until("the end of the question", |screen| {
            KEYS.iter().any(|keys| screen.contains(keys)) || screen.trim_end().ends_with("]:")
        });
        scene.types("a\n");
        scene.terminal().wait_for("Finding 1 of 2");
        scene.terminal().signal(Signal::INT);
        assert_eq!(scene.terminal.take().unwrap().end().code, 130, "{term}");
    }
}

#[test]
fn end_of_input_leaves_a_numbered_question() {
    let mut scene = Scene::new(&[gated()]);
    let program = scene.crh(&["review", "--base", "base", "--strategy", "single"]);
    scene.starts(program.env("TERM", "dumb"), USUAL);
    scene.sees_prompt("What should the agent do").types("\x04");
    assert_eq!(scene.ends("Choose", "numbered_left"), 130);
}

#[test]
fn redirected_output_has_only_the_final_report() {
    let mut scene = Scene::new(&[safe(), gated()]);
    let file = scene.user.path("report.json");
    let args = ["review", "--base", "base", "--strategy", "single", "--format", "json"];
    let program = scene.crh(&args);
    let (columns, rows) = USUAL;
    let stdout = File::create(&file).unwrap();
    scene.terminal = Some(program.at_terminal_writing(columns, rows, stdout));
    scene.sees(NOT_YET).types("f");
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding —").types("1");
    scene.sees("What should happen next?").types("2");
    assert_eq!(scene.ends("Review completed", "written_elsewhere"), 0);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(report["applied_fixes"].as_array().unwrap().len(), 2);
}

#[test]
fn ci_with_a_terminal_is_not_asked() {
    let mut scene = Scene::new(&[gated()]);
    let program = scene.crh(&["review", "--base", "base", "--strategy", "single"]);
    scene.starts(program.env("CI", "true"), USUAL);
    assert_eq!(scene.ends("Scope:", "in_ci"), 1);
}

#[test]
fn change_outside_the_checkout_asks_nothing() {
    let mut scene = Scene::new(&[gated()]);
    scene.repo.git(&["branch", "--force", "main", "base"]);
    scene.repo.git(&["checkout", "--quiet", "base"]);
    let program = scene.crh(&["review", "topic", "--strategy", "single"]);
    scene.starts(program, USUAL);
    assert_eq!(scene.ends("Scope:", "elsewhere"), 1);
}

#[test]
fn posted_review_asks_nothing() {
    let mut scene = Scene::at_github(&[gated()]);
    scene.repo.git(&["push", "--quiet", "--set-upstream", "origin", "topic"]);
    scene.github().refresh(NAME);
    scene.github().pull(NAME, Pull { head: "topic".to_owned(), ..Pull::default() });
    let program = scene.crh(&["review", "1", "--strategy", "single", "--sink", "github"]);
    scene.starts(program, USUAL);
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 1, "{paper}");
    let why = "nothing was applied, and no question was asked: the review is posted, and the fixes would not be in the pull request";
    // The window breaks lines.
    let paper = paper.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(paper.contains(why), "{paper}");
}

#[test]
fn checks_do_not_mention_questions() {
    let mut scene = Scene::new(&[]);
    let program = scene.crh(&["check", "HEAD~1..HEAD"]);
    scene.starts(program, USUAL);
    let TerminalOutput { full_output: paper, .. } = scene.terminal.take().unwrap().end();
    assert!(paper.contains("Scope:") && !paper.contains("question was asked"), "{paper}");
}
