//! Large changes: many files, or one huge file. Every file is assigned even if the orchestrator
//! forgets it, and counts as reviewed only if all of it was.

use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{finding, reports};
use super::{ReviewFixture, items, json, text};
use crate::user::User;
use crh_testkit::fake_model::{
    FakeRequest, PromptPart, ScriptedReply, bad_request, calls, calls_all,
};
use crh_testkit::{FakeModel, Repo};

const FILES: usize = 300;

fn path(file: usize) -> String {
    format!("src/file_{file}.py")
}

/// A user in a repository whose last commit changes these files.
fn desk(files: impl Iterator<Item = (String, String, String)>) -> ReviewFixture {
    let repo = Repo::new();
    let (before, after): (Vec<_>, Vec<_>) =
        files.map(|(path, before, after)| ((path.clone(), before), (path, after))).unzip();
    repo.import(before);
    repo.import(after);
    ReviewFixture { user: User::new(), repo }
}

/// The turn number, starting at 0.
fn turn(asked: &FakeRequest) -> usize {
    asked.number - 1
}

/// The files assigned to a sub-agent.
fn given(asked: &FakeRequest) -> Vec<String> {
    let own = asked.prompt_parts().into_iter().find_map(|read| match read {
        PromptPart::User(text) => Some(text.split_once("Your files:\n")?.1.to_owned()),
        _ => None,
    });
    let own = own.unwrap();
    own.lines().filter(|line| line.starts_with("src/")).map(str::to_owned).collect()
}

/// A good sub-agent: marks its files over several turns, then reports findings.
fn reviews(asked: &FakeRequest, findings: &[Value]) -> ScriptedReply {
    let rows = given(asked);
    let paths: Vec<&str> = rows.iter().map(|row| row.split(':').next().unwrap()).collect();
    match paths.chunks(100).nth(turn(asked)) {
        None => reports(findings),
        Some(paths) => {
            calls_all(paths.iter().map(|path| ("mark_file_reviewed", json!({ "path": path }))))
        }
    }
}

/// Reads the diff of a file, which is too long for the prompt, and marks the file.
fn reads_and_marks(asked: &FakeRequest) -> ScriptedReply {
    let path = json!({ "path": "src/huge.py" });
    match turn(asked) {
        0 => calls("diff_get_file", path),
        1 => calls("mark_file_reviewed", path),
        _ => reports(&[]),
    }
}

/// Keeps all findings of the sub-agents.
fn submits_everything(asked: &FakeRequest) -> ScriptedReply {
    let mut answers = asked.prompt_parts().into_iter().filter_map(|read| match read {
        PromptPart::Result(text) => Some(text),
        _ => None,
    });
    let answer: Value = serde_json::from_str(&answers.next_back().unwrap()).unwrap();
    let ids: Vec<&str> = items(&answer["findings"]).iter().map(|row| text(&row["id"])).collect();
    calls("submit_review", json!({ "keep": ids, "drop": [], "summary": "All of it." }))
}

fn confirms(asked: &FakeRequest) -> ScriptedReply {
    let mut claims = asked.prompt_parts().into_iter().filter_map(|read| match read {
        PromptPart::User(text) => Some(text),
        _ => None,
    });
    let claims = claims.next_back().unwrap();
    let ids = claims.lines().filter_map(|line| line.strip_prefix("id: "));
    let check = |id| json!({ "id": id, "verdict": "confirmed", "reason": "The line shows it." });
    calls("report_checks", json!({ "checks": ids.map(check).collect::<Vec<_>>() }))
}

#[test]
fn files_forgotten_by_orchestrator_are_still_reviewed() {
    let desk = desk((0..FILES).map(|file| {
        let text = |value: usize| format!("def f_{file}(x):\n    return x + {value}\n");
        (path(file), text(file), text(file + 1))
    }));
    let forgotten = finding("P1", "One too much is added", "src/file_151.py:2", "return x + 152");
    let model = FakeModel::answering(move |asked| match asked.caller.as_str() {
        "orchestrator" if turn(asked) == 0 => {
            let even: Vec<String> = (0..FILES).step_by(2).map(path).collect();
            let scope = |files: &[String]| json!({ "scope": files[0], "files": files });
            calls(
                "delegate_review",
                json!({ "scopes": even.chunks(15).map(scope).collect::<Vec<_>>() }),
            )
        }
        "orchestrator" => submits_everything(asked),
        "validate-1" => confirms(asked),
        _ if given(asked).contains(&path(151)) => reviews(asked, std::slice::from_ref(&forgotten)),
        _ => reviews(asked, &[]),
    });
    let reviewed = desk.review(&model, &[]);
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"), "{}", reviewed.output.shown());
    let states: Vec<_> =
        items(&reviewed.report["coverage"]).iter().map(|it| &it["state"]).collect();
    assert_eq!(states, vec!["reviewed"; FILES]);
    expect![[r#"
        #1 P1 src/file_151.py:2 One too much is added (0.75, confirmed)
    "#]]
    .assert_eq(&reviewed.issues());
    expect![[r#"
        orchestrator: in no scope, so they got one: `src/file_1.py`, `src/file_101.py`, `src/file_103.py`, `src/file_105.py`, `src/file_107.py`, `src/file_109.py`, `src/file_11.py`, `src/file_111.py`, `src/file_113.py`, `src/file_115.py` and 140 more
    "#]].assert_eq(&reviewed.warnings());
    // Each file was assigned exactly once, and all marks are in the workspace.
    let first_turns = model
        .requests()
        .into_iter()
        .filter(|asked| asked.caller.starts_with("sub-agent-") && turn(asked) == 0);
    let mut all: Vec<String> = first_turns.flat_map(|asked| given(&asked)).collect();
    all.sort();
    let mut expected: Vec<String> = (0..FILES).map(path).collect();
    expected.sort();
    assert_eq!(all, expected);
    let run = desk.runs().pop().unwrap();
    let marked = json(&run.join("workspace/reviewed.json"));
    let mut marked: Vec<&str> = items(&marked).iter().map(text).collect();
    marked.sort_unstable();
    assert_eq!(marked, expected);
}

#[test]
fn large_file_is_reviewed_only_if_all_parts_are() {
    let text = |added: usize| -> String {
        (0..20_000).map(|line| format!("value_{line} = {}\n", line + added)).collect()
    };
    let desk = desk([("src/huge.py".to_owned(), text(0), text(1))].into_iter());
    let answer =
        |asked: &FakeRequest, third: fn(&FakeRequest) -> ScriptedReply| match asked.caller.as_str()
        {
            "orchestrator" if turn(asked) == 0 => {
                let scopes = json!([{ "scope": "values", "files": ["src/huge.py"] }]);
                calls("delegate_review", json!({ "scopes": scopes }))
            }
            "orchestrator" => submits_everything(asked),
            "sub-agent-3" => third(asked),
            _ => reads_and_marks(asked),
        };
    let model = FakeModel::answering(move |asked| answer(asked, |_| bad_request("not this one")));
    let broken = desk.review(&model, &[]);
    assert_eq!(broken.end(), (4, "truncated", "Incomplete"), "{}", broken.output.shown());
    expect![[r#"
        src/huge.py truncated sub-agent-3 failed
    "#]]
    .assert_eq(&broken.coverage());
    expect![[r#"
        orchestrator: `src/huge.py` has 40000 changed lines and was cut into 6 parts
    "#]]
    .assert_eq(&broken.warnings());

    let model = FakeModel::answering(move |asked| answer(asked, reads_and_marks));
    let whole = desk.reviewed(desk.crh_with_model(&model, &["review", "--resume", "latest"]).run());
    assert_eq!(whole.end(), (0, "ok", "Ready to merge"), "{}", whole.output.shown());
    expect![[r#"
        src/huge.py reviewed
    "#]]
    .assert_eq(&whole.coverage());
    let asked: BTreeSet<String> = model.requests().into_iter().map(|asked| asked.caller).collect();
    expect![[r#"{"orchestrator", "sub-agent-7"}"#]].assert_eq(&format!("{asked:?}"));
}
