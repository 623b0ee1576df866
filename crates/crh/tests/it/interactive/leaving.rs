//! Leaving at every question in every way restores the tree, `HEAD`, the refs and the terminal, and
//! the review can be resumed.

use std::collections::BTreeMap;

use super::*;
use crate::user::{assert_same, tree};
use crh_testkit::fake_github::Pull;
use crh_testkit::{Signal, runs_all_cases};

/// A question and how to reach it.
struct Asked {
    name: &'static str,
    begin: fn() -> Scene,
    /// Texts to wait for and keys to type. Nothing is typed at the last one.
    way: &'static [(&'static str, &'static str)],
}

const ROUTING: &str = "What should the agent do with the";
const PREVIEW: &str = "Should the agent do this?";
const NEXT: &str = "What should happen next?";
const INTENT: &str = "What is the primary goal of these changes?";

/// All questions before the last decision.
const QUESTIONS: &[Asked] = &[
    Asked { name: "intent", begin: unclear, way: &[(INTENT, "")] },
    Asked { name: "first of a plain review", begin: plain, way: &[(NOT_YET, "")] },
    Asked { name: "routing after agreement", begin: plain, way: &[(NOT_YET, "f"), (ROUTING, "")] },
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
];

/// The questions after the last decision.
const LAST_QUESTIONS: &[Asked] = &[
    Asked { name: "what next", begin: usual, way: &[(ROUTING, "b"), (PREVIEW, "1"), (NEXT, "")] },
    Asked { name: "what next, without a branch", begin: detached, way: &[(NEXT, "")] },
    Asked { name: "what next, with GitHub", begin: hosted, way: &[(NEXT, "")] },
    Asked { name: "what next, of a pull request", begin: proposed, way: &[(NEXT, "")] },
];

fn plain() -> Scene {
    Scene::begun(&[safe(), gated(), deferred()])
}

fn usual() -> Scene {
    Scene::begun_fixing_first(&[safe(), gated(), deferred()])
}

fn tracked() -> Scene {
    let mut scene = Scene::with_tracker(&[safe(), gated(), deferred()]).fixing_first();
    scene.begins(USUAL);
    scene
}

fn tracker_down() -> Scene {
    let mut scene = Scene::with_tracker(&[safe(), gated(), deferred()]).fixing_first();
    scene.user.write("down", "");
    scene.begins(USUAL);
    scene
}

fn one() -> Scene {
    Scene::begun_fixing_first(&[safe(), deferred()])
}

fn advice() -> Scene {
    Scene::begun_fixing_first(&[safe(), for_humans()])
}

fn detached() -> Scene {
    let mut scene = Scene::new(&[safe()]).fixing_first();
    scene.repo.git(&["checkout", "--quiet", "--detach"]);
    scene.begins(USUAL);
    scene
}

fn hosted() -> Scene {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
    scene.begins(USUAL);
    scene
}

fn proposed() -> Scene {
    let mut scene = Scene::at_github(&[safe()]).fixing_first();
    scene.repo.git(&["push", "--quiet", "--set-upstream", "origin", "topic"]);
    scene.github().refresh(NAME);
    scene.github().pull(NAME, Pull { head: "topic".to_owned(), ..Pull::default() });
    scene.starts(scene.crh(&[&["review", "--strategy", "single"], INTERACTIVE].concat()), USUAL);
    scene
}

fn unclear() -> Scene {
    let mut scene = Scene::unclear();
    scene.starts(scene.crh(&["review", "--base", "base", "--strategy", "panel"]), USUAL);
    scene
}

/// What leaving must not change: files, current branch, refs and status.
fn state(scene: &Scene) -> (BTreeMap<String, String>, [String; 3]) {
    let mut files = tree(scene.repo.path());
    // Git's and crh's own files are not part of the tree.
    files.retain(|path, _| ![".git", ".crh"].iter().any(|own| path.starts_with(own)));
    files.remove("");
    let git =
        [&["symbolic-ref", "--quiet", "HEAD"][..], &["for-each-ref"], &["status", "--porcelain"]];
    (files, git.map(|args| String::from_utf8(scene.repo.git_or_nothing(args)).unwrap()))
}

/// Waits for a question. One that is answered by a line has no keys.
fn stands_at(scene: &mut Scene, question: &str) {
    match question {
        INTENT => scene.sees_line(question),
        _ => scene.sees(question),
    };
}

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

/// Leaves, and checks that crh says how to resume.
fn leaves(asked: &Asked, scene: &mut Scene, leave: impl Fn(&Terminal)) {
    let name = asked.name;
    leave(scene.terminal());
    let TerminalOutput { code, full_output: paper, is_restored: is_as_usual, .. } =
        scene.terminal.take().unwrap().end();
    assert_eq!((code, is_as_usual), (130, true), "{name}: {paper}");
    scene.tree.take().unwrap().assert_reported(&scene.repo, &paper);
    assert!(paper.contains("--resume") && paper.contains("resume with"), "{name}: {paper}");
}

/// Leaves at every question, checks that the tree is that of `HEAD`, and resumes at the first
/// question. CI resumes after one of four.
fn check(leave: impl Fn(&Terminal)) {
    for (number, asked) in QUESTIONS.iter().enumerate() {
        let mut scene = comes_to(asked);
        let (_, [head, refs, _]) = state(&scene);
        leaves(asked, &mut scene, &leave);
        let after = state(&scene);
        assert_eq!(after.1, [head, refs, String::new()], "{}", asked.name);
        scene.repo.git(&["checkout", "--quiet", "--force", "HEAD", "--", "."]);
        assert_same(&state(&scene).0, &after.0, asked.name);
        if !number.is_multiple_of(4) && !runs_all_cases() {
            continue;
        }
        scene.comes_back();
        stands_at(&mut scene, asked.way[0].0);
        leaves(asked, &mut scene, &leave);
        assert_same(&after.0, &state(&scene).0, asked.name);
    }
}

#[test]
fn ctrl_c_at_every_question_restores_everything() {
    // At a line prompt, the terminal turns Ctrl-C into a signal.
    check(|terminal| match terminal.is_restored() {
        true => terminal.signal(Signal::INT),
        false => terminal.types("\x03"),
    });
}

/// Leaves at these questions and checks the tree.
fn check_tree<'q>(questions: impl Iterator<Item = &'q Asked>, leave: impl Fn(&Terminal)) {
    for asked in questions {
        let mut scene = comes_to(asked);
        leaves(asked, &mut scene, &leave);
        assert_eq!(scene.git(&["status", "--porcelain"]), "", "{}", asked.name);
    }
}

#[test]
fn escape_at_a_question_restores_the_tree() {
    // The line prompt has no Escape key.
    let step = if runs_all_cases() { 1 } else { 5 };
    let questions = QUESTIONS.iter().skip(1).step_by(step);
    check_tree(questions, |terminal| terminal.types("\x1b"));
}

#[test]
fn leaving_the_last_question_keeps_the_fixes() {
    let leaving: [fn(&Terminal); 4] = [
        |terminal| terminal.types("\x1b"),
        |terminal| terminal.types("\x03"),
        |terminal| terminal.signal(Signal::TERM),
        |terminal| terminal.types("\x1b"),
    ];
    for (asked, leave) in LAST_QUESTIONS.iter().zip(leaving) {
        let mut scene = comes_to(asked);
        let before = state(&scene);
        leave(scene.terminal());
        let TerminalOutput { code, full_output: paper, is_restored, .. } =
            scene.terminal.take().unwrap().end();
        assert!(code < 2 && is_restored, "{}: exit {code}: {paper}", asked.name);
        assert!(before.1[2].contains(" M shop/mail.py"), "{}: {paper}", asked.name);
        assert_same(&before.0, &state(&scene).0, asked.name);
        scene.tree.take().unwrap().assert_reported(&scene.repo, &paper);
    }
}

#[test]
fn signals_int_term_and_hup_restore_the_tree() {
    let named = |name: &'static str| QUESTIONS.iter().filter(move |asked| asked.name == name);
    check_tree(named("routing"), |terminal| terminal.signal(Signal::INT));
    check_tree(named("one of several"), |terminal| terminal.signal(Signal::TERM));
    check_tree(named("the plan for all"), |terminal| terminal.signal(Signal::HUP));
}

#[test]
fn repeated_signals_restore_the_tree() {
    let named = |name: &'static str| QUESTIONS.iter().filter(move |asked| asked.name == name);
    // A closed terminal sends two HUP signals: one from its shell and one of its own.
    check_tree(named("routing"), |terminal| {
        terminal.signal(Signal::HUP);
        terminal.signal(Signal::HUP);
    });
    check_tree(named("routing"), |terminal| {
        terminal.types("\x03");
        terminal.signal(Signal::INT);
    });
}

/// Killed during the repeated review of the fixes.
fn killed_in_second_look(begin: &[Value], way: &[(&str, &str)]) -> Scene {
    const NEVER: Duration = Duration::from_secs(3_600);
    let model = FakeModel::start()
        .on("single", [answers(begin), answers(&[]).delayed(NEVER)])
        .on("validate-1", [confirms()]);
    let mut scene = Scene::of(model, Repo::from_fixture(SHOP)).fixing_first();
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
fn resume_undoes_fixes_of_a_killed_review() {
    let check = |findings: &[Value], way: &[(&str, &str)], after: &[ScriptedReply]| {
        let mut scene = killed_in_second_look(findings, way);
        assert_ne!(scene.git(&["status", "--porcelain"]), "", "{way:?}");
        scene.model.script("single", after.to_vec());
        scene.comes_back();
        scene.sees(ROUTING);
        scene.terminal().types("\x03");
        let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
        assert_eq!(code, 130, "{paper}");
        let said = "undid the fixes of the interrupted questions";
        assert!(paper.contains(said), "{paper}");
        assert_eq!(scene.git(&["status", "--porcelain"]), "", "{way:?}");
    };
    check(&[safe(), gated(), deferred()], &[], &[answers(&[])]);
    check(&[gated(), deferred()], &[(ROUTING, "b"), (PREVIEW, "1")], &[]);
}

#[test]
fn resume_does_not_undo_fixes_of_crh_fix() {
    let mut scene = killed_in_second_look(&[safe(), gated()], &[]);
    let fixed = scene.crh(&["fix", "latest", "--issue", "1"]).run();
    assert_eq!(fixed.code, 0, "{}", fixed.shown());
    let before = state(&scene);
    scene.comes_back();
    let TerminalOutput { code, full_output: paper, .. } = scene.terminal.take().unwrap().end();
    assert_eq!(code, 2, "{paper}");
    assert!(paper.contains("fixes of this run that another command applied"), "{paper}");
    assert_same(&before.0, &state(&scene).0, "nothing is undone");
}
