//! What comes from a merge proposal, from wherever the user stands.

#[path = "reading/sources.rs"]
mod places;
mod rounds;
mod same_bytes;
mod secrets;
#[path = "reading/failures.rs"]
mod trouble;

use expect_test::expect;
use serde_json::{Value, json};

use super::Pad;

/// The files of a change, with their status.
fn files(summary: &Value) -> Vec<String> {
    let files = summary["scope"]["files"].as_array().unwrap().iter();
    files
        .map(|file| {
            format!("{} {}", file["status"].as_str().unwrap(), file["path"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn a_merge_proposal_is_read_from_its_address_without_any_clone() {
    let pad = Pad::new();
    let summary = pad.prepared();
    assert_eq!(files(&summary), ["modified AGENTS.md", "modified shop/orders.py"]);
    assert_eq!(summary["headRev"], json!(pad.fork.id("feature")));
    assert_eq!(summary["baseRev"], json!(pad.repo.id("main~1")), "where it left, not the tip");
    assert_eq!(summary["title"], json!("Totals of several items"));
    let metadata = pad.json("metadata.json");
    assert_eq!(metadata["url"], json!(pad.url()));
    assert_eq!(metadata["state"], json!("Needs review"));
    assert_eq!(metadata["author"], json!("ann"));
    assert_eq!(
        pad.written("agent/AGENTS.md"),
        "Totals are in cents.\n",
        "not what the change says"
    );
    assert_eq!(pad.launchpad.writes().len(), 0);
}

#[test]
fn a_merge_proposal_is_reviewed_by_its_page_and_by_its_address_in_the_web_service() {
    let pad = Pad::new();
    let in_service = format!("{}/{}", pad.launchpad.api_url(), pad.merge);
    for url in [pad.url(), in_service] {
        let output = pad.run(&["review", &url, "--strategy", "static"]);
        assert_eq!(output.code, 1, "{}", output.shown());
        assert!(output.stdout.contains("shop/orders.py"), "{}", output.shown());
    }
}

#[test]
fn what_cannot_be_reviewed_is_refused_before_anybody_is_asked() {
    let pad = Pad::new();
    let url = pad.url();
    let bazaar = format!("{}/~ann/shop/trunk/+merge/7", pad.launchpad.url());
    let elsewhere = "https://code.launchpad.net/~ann/shop/+git/shop/+merge/7";
    let mut shown = String::new();
    for args in
        [vec!["review", &bazaar], vec!["review", elsewhere], vec!["review", &url, "--offline"]]
    {
        shown += &pad.shown(&pad.run(&args).shown());
    }
    expect![[r#"
        exit 2
        error: this is a merge proposal of a Bazaar branch, and only those of git are reviewed
        hint: `bzr diff` prints its diff, and `--diff FILE` takes one
        ---
        exit 2
        error: `code.launchpad.net` is not a host of the Launchpad that is asked, `HOST`
        hint: `launchpad.service_root` or `LP_SERVICE_ROOT` says which Launchpad is asked
        ---
        exit 2
        error: a merge proposal cannot be read offline
        hint: leave `--offline` out, or name a branch
        ---
    "#]]
    .assert_eq(&shown);
    assert_eq!(pad.launchpad.requests(), []);
    // The address looks like one of git's, and Launchpad says what is there.
    let odd = pad.launchpad.propose_bazaar("~ann/shop/+git/odd", "~acme/shop/trunk");
    let odd = format!("{}/{odd}", pad.launchpad.url());
    expect![[r#"
        exit 2
        error: `GET ~ann/shop/+git/odd/+merge/1005` is a merge proposal of Bazaar branches, and only those of git are reviewed
        hint: `bzr diff` prints its diff, and `--diff FILE` takes one
        ---
    "#]].assert_eq(&pad.shown(&pad.run(&["review", &odd]).shown()));
    let mut shown = String::new();
    for args in [vec!["review", &url, "--since-last"], vec!["review", &url, "--sink", "github"]] {
        shown += &pad.shown(&pad.run(&args).shown());
    }
    expect![[r#"
        exit 2
        error: `--since-last` is for a pull request of GitHub's, and this is a merge proposal
        hint: leave it out: everything is reviewed
        ---
        exit 2
        error: `--sink github` is for a pull request, and this is a merge proposal
        hint: `--sink launchpad` posts to it
        ---
    "#]]
    .assert_eq(&shown);
}
