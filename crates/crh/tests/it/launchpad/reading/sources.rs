//! Which Launchpad crh uses, and from where.

use serde_json::{Value, json};

use super::super::LaunchpadScenario;
use crate::user::changed_files;
use crh_testkit::FakeLaunchpad;

#[test]
fn variable_overrides_configured_launchpad() {
    let pad = LaunchpadScenario::new();
    let check = |variable: Option<&str>| {
        let program = pad.user.crh(pad.elsewhere.path(), &["check", &pad.url()]);
        match variable {
            Some(root) => program.env("LP_SERVICE_ROOT", root),
            None => program,
        }
        .run()
    };
    let settings = |root: &str| {
        let text = format!("[launchpad]\nservice_root = \"{root}\"\n");
        pad.user.write(".config/crh/config.toml", &text);
    };
    settings(&pad.launchpad.api_url());
    assert_eq!(check(None).code, 1);
    let other = FakeLaunchpad::start();
    settings(&other.url());
    assert_eq!(check(None).code, 2, "another one is asked for");
    assert_eq!(check(Some(&pad.launchpad.url())).code, 1);
    assert_eq!(other.requests(), []);
}

#[test]
fn local_work_in_clone_is_reviewed() {
    let pad = LaunchpadScenario::new();
    pad.fork.write("more.py", "x = 1\n");
    let out = pad.user.path("out");
    let url = pad.url();
    let args = ["prepare", &url, "--include-untracked", "--out", out.to_str().unwrap()];
    let output = pad.crh(pad.fork.path(), &args).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let summary: Value = serde_json::from_str(&output.stdout).unwrap();
    let all = ["modified AGENTS.md", "added more.py", "modified shop/orders.py"];
    assert_eq!(changed_files(&summary), all);
    let notes = summary["notes"].to_string();
    assert!(notes.contains("on top of the head of the merge proposal"), "{notes}");
}

#[test]
fn archive_of_merge_proposal_is_reviewed() {
    let pad = LaunchpadScenario::new();
    let (url, pack) = (pad.url(), pad.user.path("packed.tar"));
    let pack = pack.to_str().unwrap();
    let output = pad.run(&["prepare", &url, "--pack", pack]);
    assert_eq!(output.code, 0, "{}", output.shown());
    let change = |args: &[&str]| {
        let output = pad.run(&[args, &["--format", "json"]].concat());
        assert_eq!(output.code, 1, "{}", output.shown());
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        report["change"].clone()
    };
    let direct = change(&["check", &url]);
    assert_eq!(direct["pr_number"], json!(pad.merge.number.to_string()));
    assert_eq!(change(&["check", "--packed", pack]), direct);
}

#[test]
fn unexpected_head_is_refused_before_fetching() {
    let pad = LaunchpadScenario::new();
    let url = pad.url();
    let (base, head) = (pad.fork.id("feature~1"), pad.fork.id("feature"));
    let of_git =
        || pad.launchpad.requests().iter().filter(|it| !it.path.starts_with("/devel/")).count();
    let output = pad.run(&["check", &url, "--head", &base]);
    assert_eq!(output.code, 3, "{}", output.shown());
    assert!(output.stderr.contains("the head of the merge proposal is"), "{}", output.shown());
    assert_eq!(of_git(), 0);
    assert_eq!(pad.run(&["check", &url, "--head", &head]).code, 1);
    assert!(of_git() > 0, "it was there to be fetched");
}
