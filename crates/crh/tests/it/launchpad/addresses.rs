//! What people paste: addresses in every form that a browser gives them, and comments of crh's.

use expect_test::expect;

use super::Pad;
use crh_testkit::fake_launchpad::{Fault, How};

#[test]
fn an_address_is_read_as_a_browser_writes_it() {
    let pad = Pad::new();
    let plain = pad.run(&["check", &pad.url()]);
    let encoded = pad.url().replace('~', "%7E").replace('+', "%2B");
    let output = pad.run(&["check", &encoded]);
    assert_eq!((output.code, output.stdout), (1, plain.stdout), "{}", output.stderr);
}

#[test]
fn what_is_no_merge_proposal_is_called_what_it_is() {
    let pad = Pad::new();
    let mut shown = String::new();
    for word in [
        "https://git.launchpad.net/~ann/shop/+git/shop",
        "http://ann:secret@127.0.0.1:1/~ann/shop/+git/shop/+merge/7",
    ] {
        shown += &pad.run(&["check", word]).shown();
    }
    assert_eq!(pad.launchpad.requests(), []);
    let proposal = format!("/devel/{}", pad.merge);
    pad.launchpad.fail(Fault::on("GET", &proposal, How::StatusBefore(200)));
    shown += &pad.shown(&pad.run(&["check", &pad.url()]).shown());
    expect![[r#"
        exit 2
        error: this is the address of a repository, and not of a merge proposal
        hint: open the merge proposal in a browser, and take its address; `launchpad.service_root` names a Launchpad of your own
        ---
        exit 2
        error: the address carries a user name or a password: keys come from variables, never from addresses
        hint: open the change in a browser, and take its address
        ---
        exit 3
        error: the answer to `GET ~ann/shop/+git/shop/+merge/1003` cannot be read: expected value at line 1 column 1
        hint: if this is no Launchpad, `launchpad.service_root` or `LP_SERVICE_ROOT` says where one is asked
        ---
    "#]].assert_eq(&shown);
}

#[test]
fn who_may_fetch_from_a_git_that_fails_is_not_sent_for_a_token() {
    let pad = Pad::new();
    pad.launchpad.fail(Fault::on("GET", "*/info/refs", How::StatusBefore(503)).times(99));
    let output = pad.run(&["check", &pad.url()]);
    assert_eq!(output.code, 3, "{}", output.shown());
    assert!(output.stderr.contains("returned error: 503"), "{}", output.stderr);
    assert!(output.stderr.ends_with("hint: try again later\n"), "{}", output.stderr);
}

#[test]
fn markers_in_what_people_say_are_no_issue() {
    let pad = Pad::new();
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
