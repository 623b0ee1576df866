//! Votes by verdict.

use std::fs;
use std::path::PathBuf;

use expect_test::expect;
use serde_json::Value;

use super::{FORK, LaunchpadScenario};
use crate::review::script::answers;
use crate::review::{runs, with_model};
use crh_testkit::fake_launchpad::{Merge, REVIEWER};
use crh_testkit::{FakeModel, Repo};

/// A merge proposal without issues.
fn clean() -> LaunchpadScenario {
    let repo = Repo::from_fixture(super::BASE);
    let fork = repo.cloned(&[]);
    fork.git(&["checkout", "--quiet", "-b", "feature"]);
    fork.write("more.py", "z = 1\n");
    fork.commit("more");
    LaunchpadScenario::with(repo, fork)
}

struct Run {
    folder: PathBuf,
    report: Value,
}

/// Reviews the merge proposal with a model that finds nothing.
fn reviewed(pad: &LaunchpadScenario) -> Run {
    let model = FakeModel::start().on("single", [answers(&[])]);
    let args = ["review", &pad.url(), "--strategy", "single", "--run-dir", "runs"];
    let output = with_model(pad.crh(pad.elsewhere.path(), &args), &model).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let folder = runs(&pad.elsewhere.path().join("runs")).remove(0);
    let report = fs::read_to_string(folder.join("review.json")).unwrap();
    Run { folder, report: serde_json::from_str(&report).unwrap() }
}

/// Posts the run with this verdict and returns the resulting vote and message.
fn voted(pad: &LaunchpadScenario, run: &Run, verdict: &str, more: &[&str]) -> String {
    let mut report = run.report.clone();
    report["verdict"] = verdict.into();
    fs::write(run.folder.join("review.json"), report.to_string()).unwrap();
    let (url, head, folder) = (pad.url(), pad.fork.id("feature"), run.folder.to_str().unwrap());
    let usual = ["post", folder, "--sink", "launchpad", "--proposal", &url];
    let output = pad.run(&[&usual[..], &["--head", &head], more].concat());
    assert_eq!(output.code, 0, "{}", output.shown());
    let outcome: Value = serde_json::from_str(&output.stdout).unwrap();
    let receipts = outcome["receipts"].as_array().unwrap().iter();
    let vote = receipts.into_iter().find(|receipt| receipt["item"].get("vote").is_some());
    let said = vote.map_or("nothing".to_owned(), |receipt| receipt["delivery"].to_string());
    let comments = pad.launchpad.comments(&pad.merge);
    let vote = comments.last().and_then(|comment| comment.vote.as_deref()).unwrap_or("-");
    format!("{verdict} {more:?}: {vote} ({said})\n")
}

#[test]
fn own_proposal_is_never_approved() {
    let mut pad = clean();
    pad.merge = pad.launchpad.propose(Merge {
        source: FORK.to_owned(),
        registrant: REVIEWER.to_owned(),
        ..Merge::default()
    });
    let run = reviewed(&pad);
    let table = voted(&pad, &run, "Ready to merge", &["--allow-approve"])
        + &voted(&pad, &run, "Ready with fixes", &["--allow-approve"]);
    expect![[r#"
        Ready to merge ["--allow-approve"]: - ({"skipped":"the posting account is the author of the merge proposal"})
        Ready with fixes ["--allow-approve"]: Needs Fixing ("posted")
    "#]].assert_eq(&table);
}
