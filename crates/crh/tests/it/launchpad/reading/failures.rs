//! What goes wrong at Launchpad, and what is said about it.

use std::collections::BTreeSet;

use expect_test::expect;

use super::super::{FORK, Pad, SHOP, assert_secret};
use crh_testkit::Output;
use crh_testkit::fake_launchpad::{Fault, How, Merge, TOKEN};

/// The program with other variables.
fn check_as(pad: &Pad, more: &[(&'static str, &str)]) -> Output {
    let mut environment = pad.launchpad.environment_without();
    environment.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let url = pad.url();
    let output = pad.with_environment(pad.elsewhere.path(), &["check", &url], &environment).run();
    assert_secret(&output);
    output
}

/// How the program ended and why; not how long it waited before, which is different each time.
fn refusal(output: &Output) -> String {
    let is_why = |line: &&str| line.starts_with("error: ") || line.starts_with("hint: ");
    let why = output.stderr.lines().filter(is_why).map(|line| format!("{line}\n"));
    format!("exit {}\n{}", output.code, why.collect::<String>())
}

#[test]
fn a_token_that_is_not_accepted_is_told_from_one_that_is_half_there() {
    let pad = Pad::new();
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
        error: `HOST` does not accept the token: Invalid signature
        hint: the token may have ended, or been taken back; without one, what is public can be read
        ---
        exit 2
        error: `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET` belong together, and one of them is missing
        ---
        exit 2
        error: `/nowhere/credentials` cannot be read: No such file or directory (os error 2)
        hint: `LP_CREDENTIALS_FILE` names it; set it to a file, or unset it
        ---
    "#]]
    .assert_eq(&shown);
}

#[test]
fn whoever_named_a_file_that_cannot_be_read_is_told_where() {
    let pad = Pad::new();
    let mut shown = String::new();
    let setting = "[launchpad]\ncredentials = \"~/nowhere\"\n";
    pad.user.write(".config/crh/config.toml", setting);
    shown += &pad.shown(&check_as(&pad, &[]).shown());
    pad.user.write(".config/crh/config.toml", "");
    let host = pad.launchpad.url().trim_start_matches("http://").to_owned();
    let kept = format!(".config/crh/launchpad/{host}");
    // Larger than any: whoever runs this may be able to read everything.
    pad.user.write(&kept, &"#\n".repeat(40 << 10));
    shown += &pad.shown(&check_as(&pad, &[]).shown());
    expect![[r#"
        exit 2
        error: `HOME/nowhere` cannot be read: No such file or directory (os error 2)
        hint: `launchpad.credentials` in your config names it; set it to a file, or take it out
        ---
        exit 2
        error: `HOME/.config/crh/launchpad/HOST` is larger than 64 KiB
        hint: a login has left it: `crh logout launchpad` removes it, and `crh login launchpad` makes another
        ---
    "#]].assert_eq(&shown);
}

#[test]
fn what_opens_repositories_is_nothing_without_somebody_and_that_is_said() {
    let pad = Pad::new();
    let output = check_as(&pad, &[("LP_GIT_TOKEN", "opens")]);
    assert_eq!(output.code, 1, "{}", output.shown());
    let said = "warning: `LP_GIT_TOKEN` is not used: it goes to git with the name of whoever asks Launchpad, and that is nobody";
    assert!(output.stderr.contains(said), "{}", output.shown());
}

#[test]
fn a_proposal_of_which_nothing_is_left_is_refused() {
    let pad = Pad::new();
    let (source, branch) = (FORK.to_owned(), "gone".to_owned());
    let merge = pad.launchpad.propose_unseen(Merge { source, branch, ..Merge::default() });
    let url = format!("{}/{merge}", pad.launchpad.url());
    expect![[r#"
        exit 3
        error: the answer to `GET ~ann/shop/+git/shop/+merge/1005` cannot be read: its source branch `gone` is gone, and Launchpad has no diff of it
        hint: if this is no Launchpad, `launchpad.service_root` or `LP_SERVICE_ROOT` says where one is asked
        ---
    "#]].assert_eq(&pad.shown(&pad.run(&["check", &url]).shown()));
}

#[test]
fn what_is_public_is_reviewed_by_nobody_in_particular() {
    let pad = Pad::new();
    let output = check_as(&pad, &[]);
    assert_eq!(output.code, 1, "{}", output.shown());
}

#[test]
fn a_failure_that_passes_is_waited_for_and_one_that_stays_is_told_with_its_number() {
    let pad = Pad::new();
    let comments = format!("/devel/{}/all_comments", pad.merge);
    for how in [How::StatusBefore(503), How::CutBefore] {
        pad.launchpad.fail(Fault::on("GET", &comments, how));
    }
    let output = pad.run(&["check", &pad.url()]);
    assert_eq!(output.code, 1, "{}", output.shown());
    let mut shown = String::new();
    for how in [How::StatusBefore(503), How::CutBefore] {
        let pad = Pad::new();
        pad.launchpad.fail(Fault::on("GET", &comments, how).times(99));
        let refused = pad.shown(&refusal(&pad.run(&["check", &pad.url()])));
        // A library says why a connection was cut, and may choose other words.
        let cut = |line: &str| match line.split_once("could not be asked: ") {
            Some((host, why)) if !why.starts_with("it answers") => {
                format!("{host}could not be asked: …\n")
            }
            Some(_) | None => format!("{line}\n"),
        };
        shown += &refused.lines().map(cut).collect::<String>();
    }
    expect![[r#"
        exit 3
        error: `HOST` could not be asked: it answers with status 503 (Service Unavailable), OOPS-fake4
        hint: try again later; Launchpad's people find what went wrong by the number of the OOPS
        exit 3
        error: `HOST` could not be asked: …
        hint: proxies and certificates come from the environment, as for other programs
    "#]].assert_eq(&shown);
}

#[test]
fn what_a_review_can_do_without_is_a_note() {
    let pad = Pad::new();
    for list in ["votes", "bugs"] {
        let path = format!("/devel/{}/{list}", pad.merge);
        pad.launchpad.fail(Fault::on("GET", &path, How::StatusBefore(403)).times(9));
    }
    let summary = pad.prepared();
    expect![[r#"["The votes could not be read: the token may not do `GET ~ann/shop/+git/shop/+merge/1003/votes`: it is on script.","The bugs could not be read: the token may not do `GET ~ann/shop/+git/shop/+merge/1003/bugs`: it is on script."]"#]].assert_eq(&pad.shown(&summary["notes"].to_string()));
}

#[test]
fn a_private_repository_is_opened_by_an_access_token_of_whoever_asks() {
    let pad = Pad::new();
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
        error: `GET ~ann/shop/+git/shop/+merge/1003` is not there, or the token cannot see it
        hint: Launchpad was asked as nobody, who sees what is public alone; `crh login launchpad`, `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`, or a file of launchpadlib in `LP_CREDENTIALS_FILE` say who asks
        exit 3
        error: fetching from `LAUNCHPAD/~acme/shop/+git/shop`: `git fetch` failed: remote: Unauthorized; fatal: Authentication failed for 'LAUNCHPAD/~acme/shop/+git/shop/'
        hint: git at Launchpad takes no OAuth: for a private repository, `LP_GIT_TOKEN` holds an access token with `repository:pull`, made on the page of the repository or of its project
        exit 3
        error: fetching from `LAUNCHPAD/~acme/shop/+git/shop`: `git fetch` failed: remote: Unauthorized; fatal: Authentication failed for 'LAUNCHPAD/~acme/shop/+git/shop/'
        hint: git at Launchpad takes no OAuth: for a private repository, `LP_GIT_TOKEN` holds an access token with `repository:pull`, made on the page of the repository or of its project
    "#]].assert_eq(&shown);
    let output = check_as(&pad, &[who, vec![("LP_GIT_TOKEN", "opens\n")]].concat());
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(!output.shown().contains("opens"), "{}", output.shown());
}

/// The repositories that were fetched from, each once, and with how many requests.
fn fetched(pad: &Pad) -> (BTreeSet<String>, usize) {
    let requests = pad.launchpad.requests();
    let packs = requests.iter().filter_map(|it| it.path.strip_suffix("/git-upload-pack"));
    (packs.clone().map(|name| name.trim_start_matches('/').to_owned()).collect(), packs.count())
}

#[test]
fn each_repository_is_fetched_from_once() {
    let pad = Pad::new();
    let begun = || {
        // Every conversation of git's begins with the list of what there is.
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
fn a_proposal_within_one_repository_is_fetched_from_that_alone() {
    let pad = Pad::new();
    pad.repo.git(&["checkout", "--quiet", "-b", "feature"]);
    pad.repo.write("new.py", "x = 1\n");
    pad.repo.commit("new");
    let merge = pad.launchpad.propose(Merge::default());
    let output = pad.run(&["check", &format!("{}/{merge}", pad.launchpad.url())]);
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(fetched(&pad).0, [SHOP.to_owned()].into());
}

#[test]
fn a_fork_with_a_long_history_of_its_own_is_compared_with_where_it_left() {
    let pad = Pad::new();
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
