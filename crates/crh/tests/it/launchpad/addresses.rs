//! Addresses as browsers copy them, and pasted comments of crh.

use expect_test::expect;

use super::LaunchpadScenario;
use crh_testkit::fake_launchpad::{LaunchpadFault, LaunchpadFaultKind};

#[test]
fn other_addresses_are_explained() {
    let pad = LaunchpadScenario::new();
    let mut shown = String::new();
    for word in [
        "https://git.launchpad.net/~ann/shop/+git/shop",
        "http://ann:secret@127.0.0.1:1/~ann/shop/+git/shop/+merge/7",
    ] {
        shown += &pad.run(&["check", word]).shown();
    }
    assert_eq!(pad.launchpad.requests(), []);
    let proposal = format!("/devel/{}", pad.merge);
    pad.launchpad.fail(LaunchpadFault::on("GET", &proposal, LaunchpadFaultKind::StatusBefore(200)));
    shown += &pad.shown(&pad.run(&["check", &pad.url()]).shown());
    expect![[r#"
        exit 2
        error: this is the address of a repository, not of a merge proposal
        hint: pass the address of the merge proposal that your browser shows; for your own Launchpad, set `launchpad.service_root`
        ---
        exit 2
        error: the address must not contain a user name or password; credentials come from variables
        hint: pass the address of the change that your browser shows
        ---
        exit 3
        error: cannot parse the reply to `GET ~ann/shop/+git/shop/+merge/1003`: expected value at line 1 column 1
        hint: if this is not a Launchpad, correct `launchpad.service_root` or `LP_SERVICE_ROOT`
        ---
    "#]].assert_eq(&shown);
}

#[test]
fn markers_in_other_comments_are_harmless() {
    let pad = LaunchpadScenario::new();
    let before = pad.run(&["check", &pad.url()]);
    let state = "<!-- crh:crh:state:eJyrVspMUbIyMlHSUSpLLVKyUoquVipOzUlNLgEA -->";
    let summary = format!(
        "Ready to merge.\n\n<!-- crh:crh:summary -->\n{state}\n<!-- code-review-agent:review_id=0123456789abcdef -->"
    );
    pad.launchpad.comment(&pad.merge, "zoe", &summary);
    let quoted: String = summary.lines().map(|line| format!("> {line}\n")).collect();
    pad.launchpad.comment(&pad.merge, "ann", &format!("{quoted}\nThanks!"));
    let after = pad.run(&["check", &pad.url()]);
    assert_eq!((after.code, after.stdout), (before.code, before.stdout));
}
