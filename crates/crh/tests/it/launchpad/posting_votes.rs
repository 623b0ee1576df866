//! Which vote goes along with which verdict.

use std::fs;

use crh_testkit::FakeModel;
use crh_testkit::Repo;
use crh_testkit::fake_launchpad::Merge;
use crh_testkit::fake_launchpad::REVIEWER;
use expect_test::expect;
use serde_json::Value;

use super::FORK;
use super::Pad;
use crate::review::runs;
use crate::review::script::answers;
use crate::review::with_model;

/// A merge proposal in which nothing is wrong.
fn clean() -> Pad {
    let repo = Repo::from_fixture(super::BASE);
    let fork = repo.cloned(&[]);
    fork.git(&["checkout", "--quiet", "-b", "feature"]);
    fork.write("more.py", "z = 1\n");
    fork.commit("more");
    Pad::with(repo, fork)
}

/// Reviews it with a model that finds nothing; the report.
fn reviewed(pad: &Pad) -> Value {
    let model = FakeModel::start().on("single", [answers(&[])]);
    let args = ["review", &pad.url(), "--strategy", "single", "--run-dir", "runs"];
    let output = with_model(pad.crh(pad.elsewhere.path(), &args), &model).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let runs = runs(&pad.elsewhere.path().join("runs"));
    serde_json::from_str(&fs::read_to_string(runs[0].join("review.json")).unwrap()).unwrap()
}

/// Posts a report that came to this verdict, the one with this number; the vote that stands then, and what was said of it.
fn voted(pad: &Pad, report: &Value, number: usize, verdict: &str, more: &[&str]) -> String {
    let mut report = report.clone();
    report["verdict"] = verdict.into();
    report["review_id"] = format!("{number:016x}").into();
    fs::write(pad.elsewhere.path().join("review.json"), report.to_string()).unwrap();
    let (url, head) = (pad.url(), pad.fork.id("feature"));
    let usual = ["post", "review.json", "--sink", "launchpad", "--proposal", &url];
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
fn a_vote_follows_from_the_verdict_and_an_approval_is_asked_for() {
    let pad = clean();
    let report = reviewed(&pad);
    assert_eq!(report["verdict"], "Ready to merge", "{report:#}");
    let approve = "--allow-approve";
    let mut table = String::new();
    for (number, (verdict, more)) in [
        ("Not ready", &[][..]),
        ("Incomplete", &[]),
        ("Ready with fixes", &[]),
        ("Ready to merge", &[]),
        ("Not ready", &[approve]),
        ("Incomplete", &[approve]),
        ("Ready to merge", &[approve]),
    ]
    .into_iter()
    .enumerate()
    {
        table += &voted(&pad, &report, number, verdict, more);
    }
    expect![[r#"
        Not ready []: Needs Fixing ("posted")
        Incomplete []: Abstain ("posted")
        Ready with fixes []: Needs Fixing ("posted")
        Ready to merge []: - ({"skipped":"an approval was not asked for"})
        Not ready ["--allow-approve"]: Needs Fixing ("posted")
        Incomplete ["--allow-approve"]: Abstain ("posted")
        Ready to merge ["--allow-approve"]: Approve ("posted")
    "#]]
    .assert_eq(&table);
}

#[test]
fn nobody_approves_a_proposal_of_their_own() {
    let mut pad = clean();
    pad.merge = pad.launchpad.propose(Merge {
        source: FORK.to_owned(),
        registrant: REVIEWER.to_owned(),
        ..Merge::default()
    });
    let report = reviewed(&pad);
    let table = voted(&pad, &report, 1, "Ready to merge", &["--allow-approve"])
        + &voted(&pad, &report, 2, "Ready with fixes", &["--allow-approve"]);
    expect![[r#"
        Ready to merge ["--allow-approve"]: - ({"skipped":"the merge proposal is by the account that posts"})
        Ready with fixes ["--allow-approve"]: Needs Fixing ("posted")
    "#]].assert_eq(&table);
}
