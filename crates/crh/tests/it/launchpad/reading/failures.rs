//! Failures of Launchpad and their messages.

use std::collections::BTreeSet;

use expect_test::expect;

use super::super::{FORK, LaunchpadScenario, SHOP, assert_secret};
use crh_testkit::Output;
use crh_testkit::fake_launchpad::{LaunchpadFault, LaunchpadFaultKind, Merge, TOKEN};

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
        error: `HOST` rejected the token: Invalid signature
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
fn public_proposal_is_reviewed_anonymously() {
    let pad = LaunchpadScenario::new();
    let output = check_as(&pad, &[]);
    assert_eq!(output.code, 1, "{}", output.shown());
}

#[test]
fn transient_failure_is_retried_and_oops_reported() {
    let pad = LaunchpadScenario::new();
    let comments = format!("/devel/{}/all_comments", pad.merge);
    for how in [LaunchpadFaultKind::StatusBefore(503), LaunchpadFaultKind::CutBefore] {
        pad.launchpad.fail(LaunchpadFault::on("GET", &comments, how));
    }
    let output = pad.run(&["check", &pad.url()]);
    assert_eq!(output.code, 1, "{}", output.shown());
    let mut shown = String::new();
    for how in [LaunchpadFaultKind::StatusBefore(503), LaunchpadFaultKind::CutBefore] {
        let pad = LaunchpadScenario::new();
        pad.launchpad.fail(LaunchpadFault::on("GET", &comments, how).times(99));
        let refused = pad.shown(&refusal(&pad.run(&["check", &pad.url()])));
        // The HTTP library words the cause of a cut connection.
        let cut = |line: &str| match line.split_once("HOST`: ") {
            Some((host, why)) if !why.starts_with("status") => {
                format!("{host}HOST`: …\n")
            }
            Some(_) | None => format!("{line}\n"),
        };
        shown += &refused.lines().map(cut).collect::<String>();
    }
    expect![[r#"
        exit 3
        error: cannot reach `HOST`: status 503 (Service Unavailable), OOPS-fake4
        hint: try again later; Launchpad's operators can look up the OOPS number
        exit 3
        error: cannot reach `HOST`: …
        hint: check the network; crh takes proxies and certificates from the environment
    "#]]
    .assert_eq(&shown);
}

#[test]
fn optional_parts_become_notes() {
    let pad = LaunchpadScenario::new();
    for list in ["votes", "bugs"] {
        let path = format!("/devel/{}/{list}", pad.merge);
        pad.launchpad
            .fail(LaunchpadFault::on("GET", &path, LaunchpadFaultKind::StatusBefore(403)).times(9));
    }
    let summary = pad.prepared();
    expect![[r#"["Cannot read the votes: the token does not permit `GET ~ann/shop/+git/shop/+merge/1003/votes`: it is on script.","Cannot read the bugs: the token does not permit `GET ~ann/shop/+git/shop/+merge/1003/bugs`: it is on script."]"#]].assert_eq(&pad.shown(&summary["notes"].to_string()));
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
        error: `GET ~ann/shop/+git/shop/+merge/1003` does not exist, or the token cannot see it
        hint: you are not logged in to Launchpad, so crh sees only public data; run `crh login launchpad`, or set `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`, or `LP_CREDENTIALS_FILE`
        exit 3
        error: fetching from `LAUNCHPAD/~acme/shop/+git/shop`: `git fetch` failed: remote: Unauthorized; fatal: Authentication failed for 'LAUNCHPAD/~acme/shop/+git/shop/'
        hint: for a private repository, set `LP_GIT_TOKEN` to an access token with `repository:pull`; create it on the page of the repository or its project
        exit 3
        error: fetching from `LAUNCHPAD/~acme/shop/+git/shop`: `git fetch` failed: remote: Unauthorized; fatal: Authentication failed for 'LAUNCHPAD/~acme/shop/+git/shop/'
        hint: for a private repository, set `LP_GIT_TOKEN` to an access token with `repository:pull`; create it on the page of the repository or its project
    "#]].assert_eq(&shown);
    let output = check_as(&pad, &[who, vec![("LP_GIT_TOKEN", "opens\n")]].concat());
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(!output.shown().contains("opens"), "{}", output.shown());
}

/// Fetched repositories, and the number of fetches.
fn fetched(pad: &LaunchpadScenario) -> (BTreeSet<String>, usize) {
    let requests = pad.launchpad.requests();
    let packs = requests.iter().filter_map(|it| it.path.strip_suffix("/git-upload-pack"));
    (packs.clone().map(|name| name.trim_start_matches('/').to_owned()).collect(), packs.count())
}

#[test]
fn each_repository_is_fetched_once() {
    let pad = LaunchpadScenario::new();
    let begun = || {
        // Every git conversation starts with the list of refs.
        let begun = pad.launchpad.requests().into_iter().map(|request| request.path);
        let begun = begun.filter_map(|path| path.strip_suffix("/info/refs").map(str::to_owned));
        let mut begun: Vec<String> = begun.collect();
        begun.sort();
        begun
    };
    assert_eq!(pad.run(&["check", &pad.url()]).code, 1);
    assert_eq!(begun(), [format!("/{SHOP}"), format!("/{FORK}")]);
    let before = fetched(&pad);
    assert_eq!(pad.run(&["check", &pad.url()]).code, 1);
    assert_eq!(fetched(&pad), before, "all of it is here");
}

#[test]
fn same_repository_proposal_fetches_once() {
    let pad = LaunchpadScenario::new();
    pad.repo.git(&["checkout", "--quiet", "-b", "feature"]);
    pad.repo.write("new.py", "x = 1\n");
    pad.repo.commit("new");
    let merge = pad.launchpad.propose(Merge::default());
    let output = pad.run(&["check", &format!("{}/{merge}", pad.launchpad.url())]);
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(fetched(&pad).0, [SHOP.to_owned()].into());
}

#[test]
fn long_fork_is_compared_with_merge_base() {
    let pad = LaunchpadScenario::new();
    for number in 0..140 {
        pad.repo.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            &format!("main {number}"),
        ]);
        pad.fork.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            &format!("fork {number}"),
        ]);
    }
    pad.launchpad.push(&pad.merge);
    let summary = pad.prepared();
    assert_eq!(summary["baseRev"], serde_json::json!(pad.repo.id("main~141")));
}
