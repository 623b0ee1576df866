//! Failures of Launchpad and their messages.

use expect_test::expect;

use super::super::{FORK, LaunchpadScenario, SHOP, assert_secret};
use crh_testkit::Output;
use crh_testkit::fake_launchpad::{Merge, TOKEN};

/// The program with other variables.
fn check_as(pad: &LaunchpadScenario, more: &[(&'static str, &str)]) -> Output {
    let mut environment = pad.launchpad.environment_without();
    environment.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let url = pad.url();
    let output = pad.with_environment(pad.elsewhere.path(), &["check", &url], &environment).run();
    assert_secret(&output);
    output
}

/// Exit code and error without the varying wait messages.
fn refusal(output: &Output) -> String {
    let is_why = |line: &&str| line.starts_with("error: ") || line.starts_with("hint: ");
    let why = output.stderr.lines().filter(is_why).map(|line| format!("{line}\n"));
    format!("exit {}\n{}", output.code, why.collect::<String>())
}

#[test]
fn rejected_and_half_configured_tokens_differ() {
    let pad = LaunchpadScenario::new();
    let mut shown = String::new();
    for more in [
        vec![("LP_ACCESS_TOKEN", TOKEN), ("LP_ACCESS_SECRET", "wrong")],
        vec![("LP_ACCESS_SECRET", "alone")],
        vec![("LP_CREDENTIALS_FILE", "/nowhere/credentials")],
    ] {
        shown += &pad.shown(&check_as(&pad, &more).shown());
    }
    expect![[r#"
        exit 2
        error: `HOST` rejected the credentials: Invalid signature
        hint: the token may have expired or been revoked; run `crh login launchpad`, or remove it to read public data
        ---
        exit 2
        error: set both `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`; one is missing
        ---
        exit 2
        error: `/nowhere/credentials` cannot be read: No such file or directory (os error 2)
        hint: `LP_CREDENTIALS_FILE` contains this path; set it to a file, or unset it
        ---
    "#]]
    .assert_eq(&shown);
}

#[test]
fn unreadable_credentials_file_names_its_setting() {
    let pad = LaunchpadScenario::new();
    let mut shown = String::new();
    let setting = "[launchpad]\ncredentials = \"~/nowhere\"\n";
    pad.user.write(".config/crh/config.toml", setting);
    shown += &pad.shown(&check_as(&pad, &[]).shown());
    pad.user.write(".config/crh/config.toml", "");
    let host = pad.launchpad.url().trim_start_matches("http://").to_owned();
    let kept = format!(".config/crh/launchpad/{host}");
    // Too large, because root may read everything.
    pad.user.write(&kept, &"#\n".repeat(40 << 10));
    shown += &pad.shown(&check_as(&pad, &[]).shown());
    expect![[r#"
        exit 2
        error: `HOME/nowhere` cannot be read: No such file or directory (os error 2)
        hint: `launchpad.credentials` in your config names this file; correct or remove the setting
        ---
        exit 2
        error: `HOME/.config/crh/launchpad/HOST` is larger than 64 KiB
        hint: this is the file of an earlier login; run `crh logout launchpad`, then `crh login launchpad`
        ---
    "#]].assert_eq(&shown);
}

#[test]
fn git_token_without_login_is_unused_with_warning() {
    let pad = LaunchpadScenario::new();
    let output = check_as(&pad, &[("LP_GIT_TOKEN", "opens")]);
    assert_eq!(output.code, 1, "{}", output.shown());
    let said = "warning: `LP_GIT_TOKEN` is not used: git needs the account name, and you are not logged in to Launchpad";
    assert!(output.stderr.contains(said), "{}", output.shown());
}

#[test]
fn proposal_without_branch_and_diff_is_refused() {
    let pad = LaunchpadScenario::new();
    let (source, branch) = (FORK.to_owned(), "gone".to_owned());
    let merge = pad.launchpad.propose_unseen(Merge { source, branch, ..Merge::default() });
    let url = format!("{}/{merge}", pad.launchpad.url());
    expect![[r#"
        exit 3
        error: cannot parse the reply to `GET ~ann/shop/+git/shop/+merge/1005`: its source branch `gone` is gone and Launchpad has no diff of it
        hint: if this is not a Launchpad, correct `launchpad.service_root` or `LP_SERVICE_ROOT`
        ---
    "#]].assert_eq(&pad.shown(&pad.run(&["check", &url]).shown()));
}

#[test]
fn private_repository_needs_git_token() {
    let pad = LaunchpadScenario::new();
    pad.launchpad.make_private(FORK).make_private(SHOP).git_token("crh-reviewer", "opens");
    let mut shown = String::new();
    let who = pad.launchpad.environment();
    let who: Vec<(&'static str, &str)> =
        who.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for more in [vec![], who.clone(), [who.clone(), vec![("LP_GIT_TOKEN", "wrong")]].concat()] {
        shown += &pad.shown(&refusal(&check_as(&pad, &more)));
    }
    expect![[r#"
        exit 3
        error: `GET ~ann/shop/+git/shop/+merge/1003` failed: not found, or the token cannot see it
        hint: you are not logged in to Launchpad, so crh sees only public data; run `crh login launchpad`, or set `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`, or `LP_CREDENTIALS_FILE`
        exit 3
        error: cannot fetch from `LAUNCHPAD/~acme/shop/+git/shop`: `git fetch` failed: remote: Unauthorized; fatal: Authentication failed for 'LAUNCHPAD/~acme/shop/+git/shop/'
        hint: for a private repository, set `LP_GIT_TOKEN` to an access token with `repository:pull`; create it on the page of the repository or its project
        exit 3
        error: cannot fetch from `LAUNCHPAD/~acme/shop/+git/shop`: `git fetch` failed: remote: Unauthorized; fatal: Authentication failed for 'LAUNCHPAD/~acme/shop/+git/shop/'
        hint: for a private repository, set `LP_GIT_TOKEN` to an access token with `repository:pull`; create it on the page of the repository or its project
    "#]].assert_eq(&shown);
    let output = check_as(&pad, &[who, vec![("LP_GIT_TOKEN", "opens\n")]].concat());
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(!output.shown().contains("opens"), "{}", output.shown());
}
