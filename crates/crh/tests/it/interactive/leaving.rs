//! Leaving at every question, by every way out: the tree, `HEAD`, the refs and the terminal are as they were, and the review goes on
//! where it was left.

use std::collections::BTreeMap;

use super::*;
use crate::user::{assert_same, tree};
use crh_testkit::Signal;
use crh_testkit::fake_github::Pull;

/// A question: how it is reached, and what its review asks first.
struct Asked {
    name: &'static str,
    begin: fn() -> Scene,
    /// What is seen, and what is typed then to come to the next one. At the last nothing is typed.
    way: &'static [(&'static str, &'static str)],
}

const ROUTING: &str = "What should the agent do with the remaining";
const PREVIEW: &str = "Should the agent do this?";
const NEXT: &str = "What should happen next?";
const INTENT: &str = "What is the primary goal of these changes?";

/// Every question that there is.
const QUESTIONS: &[Asked] = &[
    Asked { name: "intent", begin: unclear, way: &[(INTENT, "")] },
    Asked { name: "routing", begin: usual, way: &[(ROUTING, "")] },
    Asked { name: "routing with a tracker", begin: tracked, way: &[(ROUTING, "")] },
    Asked {
        name: "one of several",
        begin: tracked,
        way: &[(ROUTING, "a"), ("Finding 1 of 2", "")],
    },
    Asked {
        name: "the second, after a ticket",
        begin: tracked,
        way: &[(ROUTING, "a"), ("Finding 1 of 2", "2"), ("Finding 2 of 2", "")],
    },
    Asked {
        name: "without a tracker",
        begin: usual,
        way: &[(ROUTING, "a"), ("Finding 1 of 2", "")],
    },
    Asked { name: "the only one", begin: one, way: &[(ROUTING, "a"), ("Finding —", "")] },
    Asked { name: "for people", begin: advice, way: &[(ROUTING, "a"), ("Finding —", "")] },
    Asked { name: "the plan for all", begin: usual, way: &[(ROUTING, "b"), (PREVIEW, "")] },
    Asked {
        name: "the plan for the rest",
        begin: usual,
        way: &[(ROUTING, "a"), ("Finding 1 of 2", "3"), (PREVIEW, "")],
    },
    Asked { name: "the plan for tickets", begin: tracked, way: &[(ROUTING, "c"), (PREVIEW, "")] },
    Asked {
        name: "a ticket that failed",
        begin: tracker_down,
        way: &[(ROUTING, "c"), (PREVIEW, "1"), ("was not filed", "")],
    },
    Asked { name: "what next", begin: usual, way: &[(ROUTING, "b"), (PREVIEW, "1"), (NEXT, "")] },
    Asked { name: "what next, without a branch", begin: detached, way: &[(NEXT, "")] },
    Asked { name: "what next, with GitHub", begin: hosted, way: &[(NEXT, "")] },
    Asked { name: "what next, of a pull request", begin: proposed, way: &[(NEXT, "")] },
];

fn usual() -> Scene {
    Scene::begun(&[safe(), gated(), deferred()])
}

fn tracked() -> Scene {
    let mut scene = Scene::with_tracker(&[safe(), gated(), deferred()]);
    scene.begins(USUAL);
    scene
}

fn tracker_down() -> Scene {
    let mut scene = Scene::with_tracker(&[safe(), gated(), deferred()]);
    scene.user.write("down", "");
    scene.begins(USUAL);
    scene
}

fn one() -> Scene {
    Scene::begun(&[safe(), deferred()])
}

fn advice() -> Scene {
    Scene::begun(&[safe(), for_humans()])
}

fn detached() -> Scene {
    let mut scene = Scene::new(&[safe()]);
    scene.repo.git(&["checkout", "--quiet", "--detach"]);
    scene.begins(USUAL);
    scene
}

fn hosted() -> Scene {
    let mut scene = Scene::at_github(&[safe()]);
    scene.begins(USUAL);
    scene
}

fn proposed() -> Scene {
    let mut scene = Scene::at_github(&[safe()]);
    scene.repo.git(&["push", "--quiet", "--set-upstream", "origin", "topic"]);
    scene.github().refresh(NAME);
    scene.github().pull(NAME, Pull { head: "topic".to_owned(), ..Pull::default() });
    scene.starts(scene.crh(&["review", "--strategy", "single"]), USUAL);
    scene
}

fn unclear() -> Scene {
    let mut scene = Scene::unclear();
    scene.starts(scene.crh(&["review", "--base", "base", "--strategy", "panel"]), USUAL);
    scene
}

/// What leaving must not change: the files of the checkout, what is checked out, and every ref.
fn state(scene: &Scene) -> (BTreeMap<String, String>, [String; 3]) {
    let mut files = tree(scene.repo.path());
    // What git and a review write down for themselves is not the tree.
    files.retain(|path, _| ![".git", ".crh"].iter().any(|own| path.starts_with(own)));
    files.remove("");
    let git =
        [&["symbolic-ref", "--quiet", "HEAD"][..], &["for-each-ref"], &["status", "--porcelain"]];
    (files, git.map(|args| String::from_utf8(scene.repo.git_or_nothing(args)).unwrap()))
}

/// Waits until a question can be answered: what is answered by a line has no keys.
fn stands_at(scene: &mut Scene, question: &str) {
    match question {
        INTENT => scene.sees_line(question),
        _ => scene.sees(question),
    };
}

/// A review that stands at a question.
fn comes_to(asked: &Asked) -> Scene {
    let mut scene = (asked.begin)();
    for (seen, typed) in asked.way {
        stands_at(&mut scene, seen);
        if !typed.is_empty() {
            scene.types(typed);
        }
    }
    scene
}

/// Leaves there; nothing is changed, and how to go on is said.
fn leaves(asked: &Asked, scene: &mut Scene, leave: impl Fn(&Terminal)) {
    let name = asked.name;
    leave(scene.terminal());
    let Ended { code, paper, is_as_usual, .. } = scene.terminal.take().unwrap().end();
    assert_eq!((code, is_as_usual), (130, true), "{name}: {paper}");
    assert!(paper.contains("--resume") && paper.contains("goes on with it"), "{name}: {paper}");
}

/// Leaves at every question; the tree is that of `HEAD` then, as it was before, and the review comes back to its first question.
fn check(leave: impl Fn(&Terminal)) {
    for asked in QUESTIONS {
        let mut scene = comes_to(asked);
        let (_, [head, refs, _]) = state(&scene);
        leaves(asked, &mut scene, &leave);
        let after = state(&scene);
        assert_eq!(after.1, [head, refs, String::new()], "{}", asked.name);
        scene.repo.git(&["checkout", "--quiet", "--force", "HEAD", "--", "."]);
        assert_same(&state(&scene).0, &after.0, asked.name);
        scene.comes_back();
        stands_at(&mut scene, asked.way[0].0);
        leaves(asked, &mut scene, &leave);
        assert_same(&after.0, &state(&scene).0, asked.name);
    }
}

#[test]
fn ctrl_c_at_every_question_leaves_everything_as_it_was() {
    // At the line that is asked for first, the terminal makes a signal of it.
    check(|terminal| match terminal.is_as_usual() {
        true => terminal.signal(Signal::INT),
        false => terminal.types("\x03"),
    });
}

/// Leaves at every question of these; the tree is as it was.
fn check_tree<'q>(questions: impl Iterator<Item = &'q Asked>, leave: impl Fn(&Terminal)) {
    for asked in questions {
        let mut scene = comes_to(asked);
        leaves(asked, &mut scene, &leave);
        assert_eq!(scene.git(&["status", "--porcelain"]), "", "{}", asked.name);
    }
}

#[test]
fn escape_leaves_too() {
    // The line that is asked for first has no such key.
    check_tree(QUESTIONS.iter().skip(1), |terminal| terminal.types("\x1b"));
}

#[test]
fn an_interrupt_a_closed_terminal_and_a_shutdown_leave_too() {
    let named = |name: &'static str| QUESTIONS.iter().filter(move |asked| asked.name == name);
    check_tree(named("routing"), |terminal| terminal.signal(Signal::INT));
    check_tree(named("one of several"), |terminal| terminal.signal(Signal::TERM));
    check_tree(named("the plan for all"), |terminal| terminal.signal(Signal::HUP));
}

#[test]
fn who_is_impatient_leaves_everything_as_it_was_too() {
    let named = |name: &'static str| QUESTIONS.iter().filter(move |asked| asked.name == name);
    // A terminal that is closed sends one from its shell and one of its own.
    check_tree(named("routing"), |terminal| {
        terminal.signal(Signal::HUP);
        terminal.signal(Signal::HUP);
    });
    check_tree(named("routing"), |terminal| {
        terminal.types("\x03");
        terminal.signal(Signal::INT);
    });
}

/// Killed by nobody's will while what was fixed is looked at again.
fn killed_in_second_look(begin: &[Value], way: &[(&str, &str)]) -> Scene {
    const NEVER: Duration = Duration::from_secs(3_600);
    let model = FakeModel::start()
        .on("single", [answers(begin), answers(&[]).delayed(NEVER)])
        .on("validate-1", [confirms()]);
    let mut scene = Scene::of(model, Repo::from_fixture(SHOP));
    scene.begins(USUAL);
    for (seen, typed) in way {
        scene.sees(seen).types(typed);
    }
    scene.model.wait_for("single", 2);
    scene.terminal().signal(Signal::KILL);
    scene.terminal.take().unwrap().end();
    scene
}

#[test]
fn what_questions_had_fixed_is_taken_back_after_a_kill_too() {
    let check = |findings: &[Value], way: &[(&str, &str)], after: &[Scripted]| {
        let mut scene = killed_in_second_look(findings, way);
        assert_ne!(scene.git(&["status", "--porcelain"]), "", "{way:?}");
        scene.model.script("single", after.to_vec());
        scene.comes_back();
        scene.sees(ROUTING);
        scene.terminal().types("\x03");
        let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
        assert_eq!(code, 130, "{paper}");
        let said = "what the questions had fixed is taken back before they come again";
        assert!(paper.contains(said), "{paper}");
        assert_eq!(scene.git(&["status", "--porcelain"]), "", "{way:?}");
    };
    check(&[safe(), gated(), deferred()], &[], &[answers(&[])]);
    check(&[gated(), deferred()], &[(ROUTING, "b"), (PREVIEW, "1")], &[]);
}

#[test]
fn fixes_that_questions_have_not_made_are_not_taken_back_by_them() {
    let mut scene = killed_in_second_look(&[safe(), gated()], &[]);
    let fixed = scene.crh(&["fix", "latest", "--issue", "1"]).run();
    assert_eq!(fixed.code, 0, "{}", fixed.shown());
    let before = state(&scene);
    scene.comes_back();
    let Ended { code, paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 2, "{paper}");
    assert!(paper.contains("fixes of this run that its questions have not made"), "{paper}");
    assert_same(&before.0, &state(&scene).0, "nothing is taken back");
}
