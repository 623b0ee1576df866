//! The documented example: an orchestrator and sub-agents review a merge proposal, and crh posts
//! the review.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use expect_test::expect_file;
use serde_json::Value;
use tempfile::TempDir;

use super::LaunchpadScenario;
use crate::review::script::confirms;
use crate::review::with_model;
use crate::user::User;
use crate::{read, root};
use crh_testkit::fake_launchpad::Merge;
use crh_testkit::fake_model::{ScriptedReply, calls};
use crh_testkit::{FakeLaunchpad, FakeModel, Output, Repo};

const EXAMPLE: &str = "examples/launchpad";

/// Target and source repository.
const TICKETS: &str = "~acme/tickets/+git/tickets";
const FORK: &str = "~ann/tickets/+git/tickets";

/// Writes the files of a demo folder into a repository.
fn lay_out(repo: &Repo, name: &str) {
    let mut left = vec![root().join("crates/crh/demo").join(name)];
    let top = left[0].clone();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let file: &Path = path.strip_prefix(&top).unwrap();
        repo.write(file.to_str().unwrap(), fs::read(&path).unwrap());
    }
}

/// A merge proposal of the change of the demo.
fn pad() -> LaunchpadScenario {
    let repo = Repo::new();
    lay_out(&repo, "base");
    repo.commit("Tickets, and mails about them");
    let fork = repo.cloned(&[]);
    fork.git(&["checkout", "--quiet", "-b", "search"]);
    lay_out(&fork, "change");
    fork.commit("Search tickets, and say how many pages there are");
    let launchpad = FakeLaunchpad::start();
    launchpad.repository(TICKETS, &repo).repository(FORK, &fork);
    let merge = launchpad.propose(Merge {
        source: FORK.to_owned(),
        branch: "search".to_owned(),
        target: TICKETS.to_owned(),
        description: "Customers want to find what they wrote.".to_owned(),
        commit_message: "Search tickets, and say how many pages there are".to_owned(),
        ..Merge::default()
    });
    LaunchpadScenario {
        launchpad,
        repo,
        fork,
        merge,
        user: User::new(),
        elsewhere: TempDir::new().unwrap(),
    }
}

/// A model that replies from the file and confirms its findings.
fn model() -> FakeModel {
    let replies: Vec<Value> =
        serde_json::from_str(&read(&format!("{EXAMPLE}/replies.json"))).unwrap();
    let mut by_caller: BTreeMap<&str, Vec<ScriptedReply>> = BTreeMap::new();
    for reply in &replies {
        let reply_of = |name: &str| reply[name].as_str().unwrap();
        let said = calls(reply_of("tool"), reply["arguments"].clone());
        by_caller.entry(reply_of("caller")).or_default().push(said);
    }
    let model = FakeModel::start().on("validate-1", [confirms()]);
    by_caller.into_iter().fold(model, |model, (caller, said)| model.on(caller, said))
}

/// A command with its output, with the address of launchpad.net.
fn shown(pad: &LaunchpadScenario, args: &[&str], output: &Output) -> String {
    // Progress, durations and times vary.
    let (before, last) = output.stderr.trim_end().rsplit_once('\n').unwrap();
    let notes = before.lines().filter(|line| line.starts_with("note: "));
    let notes: String = notes.map(|line| format!("{line}\n")).collect();
    let closing: Vec<&str> = last.split(" · ").take(2).collect();
    let said = format!("{notes}{} · … s · .crh/runs/…", closing.join(" · "));
    let (typed, shown, code) = (args.join(" "), &output.stdout, output.code);
    let all = format!(
        "$ crh {typed}\n\n--- standard error\n{said}\n\n--- standard output\n{shown}\n--- exit code {code}\n"
    );
    as_at_launchpad(pad, &all)
}

fn as_at_launchpad(pad: &LaunchpadScenario, text: &str) -> String {
    let comments = pad.launchpad.comments(&pad.merge);
    let mut lines = comments[0].content.lines();
    let (_, id) = lines.find_map(|line| line.split_once("review_id=")).unwrap();
    let text = text.replace(id.trim_end_matches(" -->"), "…");
    pad.shown(&text)
        .replace("LAUNCHPAD", "https://code.launchpad.net")
        .replace("HOST", "launchpad.net")
}

#[test]
fn example_transcript_is_up_to_date() {
    let pad = pad();
    let url = pad.url();
    let args = ["review", &url, "--strategy", "delegate", "--sink", "launchpad"];
    let reviewed = || {
        let model = model();
        let output = with_model(pad.crh(pad.elsewhere.path(), &args), &model).run();
        super::assert_secret(&output);
        model.verify();
        shown(&pad, &args, &output)
    };
    let first = reviewed();
    let stands = as_at_launchpad(&pad, &pad.launchpad.render(&pad.merge));
    let second = reviewed();
    assert_eq!(as_at_launchpad(&pad, &pad.launchpad.render(&pad.merge)), stands);
    assert_eq!(pad.launchpad.surprises(), Vec::<String>::new());
    let transcript = format!(
        "{first}\n=== What stands on the merge proposal now ===\n\n{stands}\n=== The same once more ===\n\n{second}"
    );
    expect_file![root().join(EXAMPLE).join("transcript.txt")].assert_eq(&transcript);
}
