//! Terminals that are small, that change, that can only go on, and that come without a person.

use std::fs::File;

use super::*;
use crh_testkit::Signal;
use crh_testkit::fake_github::Pull;

#[test]
fn a_question_is_drawn_again_when_the_window_changes() {
    let mut scene = Scene::begun(&[gated(), deferred()]);
    scene.sees("What should the agent do");
    scene.terminal().resize(50, 12);
    let is_narrow =
        |screen: &str| screen.contains("remaining 2\nfindings?") && screen.contains("(D)");
    scene.terminal().wait_until("a narrow question", is_narrow);
    scene.keeps_screen();
    scene.types("j");
    scene.sees_last("> (B)");
    scene.terminal().resize(100, 30);
    scene.sees("accept the recommendation or choose another action").types("d");
    assert_eq!(scene.ends("Review completed", "resized"), 1);
}

#[test]
fn one_issue_and_a_plan_are_drawn_again_too() {
    let mut scene = Scene::begun(&[gated(), deferred()]);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2");
    scene.terminal().resize(40, 10);
    // What was drawn before is cut off at the edge, until it is drawn again.
    scene.sees_last("track\n     (recommended)").types("k");
    scene.sees_last("> 1. Apply");
    scene.terminal().resize(80, 24);
    scene.sees("Finding 1 of 2").types("3");
    scene.sees("Should the agent do this?");
    scene.terminal().resize(40, 10);
    scene.sees_last("leave, and nothing stays\n").types("j");
    scene.sees_last("> 2. Cancel");
    scene.terminal().resize(120, 40);
    scene.sees("> 2. Cancel").types("\x1b");
    assert_eq!(scene.ends("note:", "resized_in_between"), 130);
}

#[test]
fn a_narrow_window_has_room_for_everything() {
    let mut scene = Scene::new(&[safe(), gated(), deferred(), for_humans()]);
    scene.begins((40, 10));
    scene.sees_question("(D)").types("a");
    scene.sees_finding(1).types("2");
    scene.sees_finding(2).types("3");
    scene.sees_question("2. Cancel").types("1");
    scene.sees_question("2. Exit").types("2");
    assert_eq!(scene.ends("Review completed", "narrow"), 1);
}

#[test]
fn a_terminal_of_a_few_lines_shows_what_can_be_chosen() {
    let mut scene = Scene::new(&[gated(), deferred()]);
    scene.begins((40, 6));
    scene.sees_last("(D)").types("k");
    scene.sees_last("> (D)").types("\r");
    assert_eq!(scene.ends("Review completed", "small"), 1);
}

#[test]
fn a_terminal_that_can_only_go_on_is_asked_by_numbers() {
    let mut scene = Scene::new(&[gated(), for_humans()]);
    let program = scene.crh(&["review", "--base", "base", "--strategy", "single"]);
    scene.starts(program.env("TERM", "dumb"), USUAL);
    scene.sees_prompt("What should the agent do").types("7\n");
    scene.sees_prompt("That is none of them.").types("ab\n");
    scene.sees_prompt("That is none of them.").types("a\n");
    scene.sees_prompt("Finding 1 of 2");
    assert!(scene.terminal().is_as_usual());
    scene.types("2\n");
    scene.sees_prompt("Finding 2 of 2").types("3\n");
    scene.sees_prompt("Should the agent do this?").types("2\n");
    scene.sees_prompt("Finding 2 of 2").types("\n");
    assert_eq!(scene.ends("Review completed", "numbered"), 1);
}

#[test]
fn a_terminal_that_can_only_go_on_gets_no_escape_from_any_command() {
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
        // Nobody has said that they want no colours.
        let program = scene.crh(args).env("NO_COLOR", "").env("TERM", "dumb");
        scene.starts(program, USUAL);
        if args.contains(&"--base") {
            scene.sees_prompt("What should the agent do").types("\x04");
        }
        let Ended { sent, .. } = scene.terminal.take().unwrap().end();
        assert!(!sent.contains('\u{1b}'), "{args:?}: {sent:?}");
    }
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    for term in ["dumb", "xterm-256color"] {
        let (model, hold) = held(finding_once(&[gated(), for_humans()]));
        let mut scene = Scene::of(model, Repo::from_fixture(SHOP));
        let program = scene.crh(&["review", "--base", "base", "--strategy", "single"]);
        scene.starts(program.env("TERM", term), USUAL);
        scene.types("d\n");
        drop(hold);
        scene.terminal().wait_for("What should the agent do");
        scene.terminal().wait_until("the end of the question", |screen| {
            screen.contains(KEYS) || screen.trim_end().ends_with("]:")
        });
        scene.types("a\n");
        scene.terminal().wait_for("Finding 1 of 2");
        scene.terminal().signal(Signal::INT);
        assert_eq!(scene.terminal.take().unwrap().end().code, 130, "{term}");
    }
}

#[test]
fn the_end_of_input_leaves_a_numbered_question() {
    let mut scene = Scene::new(&[gated()]);
    let program = scene.crh(&["review", "--base", "base", "--strategy", "single"]);
    scene.starts(program.env("TERM", "dumb"), USUAL);
    scene.sees_prompt("What should the agent do").types("\x04");
    assert_eq!(scene.ends("Choose", "numbered_left"), 130);
}

#[test]
fn what_is_written_elsewhere_is_the_report_alone_as_it_is_at_the_end() {
    let mut scene = Scene::new(&[safe(), gated()]);
    let file = scene.user.path("report.json");
    let args = ["review", "--base", "base", "--strategy", "single", "--format", "json"];
    let program = scene.crh(&args);
    let (columns, rows) = USUAL;
    let stdout = File::create(&file).unwrap();
    scene.terminal = Some(program.at_terminal_writing(columns, rows, stdout));
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding —").types("1");
    scene.sees("What should happen next?").types("2");
    assert_eq!(scene.ends("Review completed", "written_elsewhere"), 0);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(report["applied_fixes"].as_array().unwrap().len(), 2);
}

#[test]
fn a_service_that_pretends_to_be_a_terminal_is_not_asked() {
    let mut scene = Scene::new(&[gated()]);
    let program = scene.crh(&["review", "--base", "base", "--strategy", "single"]);
    scene.starts(program.env("CI", "true"), USUAL);
    assert_eq!(scene.ends("Scope:", "in_ci"), 1);
}

#[test]
fn what_is_not_the_checkout_is_not_asked_about_and_the_report_says_why() {
    let mut scene = Scene::new(&[gated()]);
    scene.repo.git(&["branch", "--force", "main", "base"]);
    scene.repo.git(&["checkout", "--quiet", "base"]);
    let program = scene.crh(&["review", "topic", "--strategy", "single"]);
    scene.starts(program, USUAL);
    assert_eq!(scene.ends("Scope:", "elsewhere"), 1);
}

#[test]
fn what_is_posted_is_not_asked_about_and_the_report_says_why() {
    let mut scene = Scene::at_github(&[gated()]);
    scene.repo.git(&["push", "--quiet", "--set-upstream", "origin", "topic"]);
    scene.github().refresh(NAME);
    scene.github().pull(NAME, Pull { head: "topic".to_owned(), ..Pull::default() });
    let program = scene.crh(&["review", "1", "--strategy", "single", "--sink", "github"]);
    scene.starts(program, USUAL);
    let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 1, "{paper}");
    let why = "nothing was applied, and nobody was asked: the review is posted, and the pull request does not have what would be fixed here";
    // The window breaks lines wherever they end.
    let paper = paper.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(paper.contains(why), "{paper}");
}

#[test]
fn checks_of_what_is_not_the_checkout_say_nothing_of_questions() {
    let mut scene = Scene::new(&[]);
    let program = scene.crh(&["check", "HEAD~1..HEAD"]);
    scene.starts(program, USUAL);
    let Ended { paper, .. } = scene.terminal.take().unwrap().end();
    assert!(paper.contains("Scope:") && !paper.contains("nobody was asked"), "{paper}");
}
