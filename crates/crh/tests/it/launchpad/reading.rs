//! Reading a merge proposal from inside and outside a clone.

mod failures;
mod rounds;
mod same_bytes;
mod secrets;
mod sources;

use expect_test::expect;

use super::LaunchpadScenario;

#[test]
fn impossible_review_is_refused_offline() {
    let pad = LaunchpadScenario::new();
    let url = pad.url();
    let offline = pad.run(&["review", &url, "--offline"]);
    expect![[r#"
        exit 2
        error: a merge proposal cannot be read offline
        hint: leave out `--offline`, or name a branch
        ---
    "#]]
    .assert_eq(&offline.shown());
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
