//! Which Launchpad is asked, and from where.

use expect_test::expect;
use serde_json::{Value, json};

use super::super::Pad;
use super::files;
use crh_testkit::FakeLaunchpad;

#[test]
fn the_launchpad_of_the_settings_is_asked_unless_a_variable_names_another() {
    let pad = Pad::new();
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
    let mut shown = String::new();
    for root in ["http://api.launchpad.net", "nowhere", "production"] {
        shown += &pad.shown(&check(Some(root)).shown());
    }
    expect![[r#"
        exit 2
        error: the variable `LP_SERVICE_ROOT` cannot be taken: the service root is not `https`, and a secret would be readable on its way
        hint: it stands for `launchpad.service_root`; unset it, or correct it
        ---
        exit 2
        error: the variable `LP_SERVICE_ROOT` cannot be taken: the service root is no address; it is `production`, `staging`, `qastaging`, `dogfood`, `dev` or the address of a web service
        hint: it stands for `launchpad.service_root`; unset it, or correct it
        ---
        exit 2
        error: a merge proposal is written as `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or with `api.launchpad.net/devel`
        hint: open the merge proposal in a browser, and take its address; `launchpad.service_root` names a Launchpad of your own
        ---
    "#]].assert_eq(&shown);
}

#[test]
fn a_repository_does_not_say_which_launchpad_is_asked() {
    let pad = Pad::new();
    pad.repo.write("crh.toml", "[launchpad]\nservice_root = \"staging\"\n");
    let output = pad.crh(pad.repo.path(), &["config", "show"]).run();
    assert_eq!(output.code, 2, "{}", output.shown());
}

#[test]
fn in_a_clone_what_was_done_since_is_reviewed_too() {
    let pad = Pad::new();
    pad.fork.write("more.py", "x = 1\n");
    let out = pad.user.path("out");
    let url = pad.url();
    let args = ["prepare", &url, "--include-untracked", "--out", out.to_str().unwrap()];
    let output = pad.crh(pad.fork.path(), &args).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let summary: Value = serde_json::from_str(&output.stdout).unwrap();
    let all = ["modified AGENTS.md", "added more.py", "modified shop/orders.py"];
    assert_eq!(files(&summary), all);
    let notes = summary["notes"].to_string();
    assert!(notes.contains("since the head of the merge proposal"), "{notes}");
}

#[test]
fn a_shallow_clone_is_deepened_from_both_repositories() {
    let pad = Pad::new();
    for number in 0..3 {
        pad.repo.commit(&format!("main {number}"));
        pad.fork.commit(&format!("fork {number}"));
    }
    pad.launchpad.push(&pad.merge);
    let clone = pad.repo.cloned(&["--depth", "1"]);
    let output = pad.crh(clone.path(), &["prepare", &pad.url(), "--out", "out"]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let summary: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(summary["baseRev"], json!(pad.repo.id("main~4")));
}

#[test]
fn an_archive_of_a_merge_proposal_is_reviewed_as_it_is() {
    let pad = Pad::new();
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
fn a_head_that_must_be_another_is_refused_before_anything_is_fetched() {
    let pad = Pad::new();
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
