//! Reading a merge proposal from inside and outside a clone.

mod failures;
mod rounds;
mod same_bytes;
mod secrets;
mod sources;

use expect_test::expect;
use serde_json::Value;

use super::LaunchpadScenario;

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
fn impossible_review_is_refused_offline() {
    let pad = LaunchpadScenario::new();
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
        error: this is a merge proposal of a Bazaar branch; crh reviews only git branches
        hint: review the output of `bzr diff` with `--diff FILE`
        ---
        exit 2
        error: `code.launchpad.net` does not belong to the configured Launchpad, `HOST`
        hint: set another Launchpad with `launchpad.service_root` or `LP_SERVICE_ROOT`
        ---
        exit 2
        error: a merge proposal cannot be read offline
        hint: leave out `--offline`, or name a branch
        ---
    "#]]
    .assert_eq(&shown);
    assert_eq!(pad.launchpad.requests(), []);
    // The address looks like git, but the proposal is Bazaar.
    let odd = pad.launchpad.propose_bazaar("~ann/shop/+git/odd", "~acme/shop/trunk");
    let odd = format!("{}/{odd}", pad.launchpad.url());
    expect![[r#"
        exit 2
        error: `GET ~ann/shop/+git/odd/+merge/1005` returned a merge proposal of Bazaar branches; crh reviews only git branches
        hint: review the output of `bzr diff` with `--diff FILE`
        ---
    "#]].assert_eq(&pad.shown(&pad.run(&["review", &odd]).shown()));
    let since = pad.run(&["review", &url, "--since-last"]);
    expect![[r#"
        exit 2
        error: `--since-last` does not work with Launchpad
        hint: leave it out to review everything
        ---
    "#]]
    .assert_eq(&pad.shown(&since.shown()));
}
