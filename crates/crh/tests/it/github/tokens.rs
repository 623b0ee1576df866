//! Tokens: which one goes where, and that they never leak.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::{GitHubScenario, NAME};
use crate::user::tree;
use crh_testkit::Output;
use crh_testkit::fake_github::{APP_KEY, Permission, TOKEN};

/// Prefix of the fake's App tokens.
const LENT: &str = "ghs_fake";
/// Base64 of `x-access-token:`, which git sends.
const ENCODED: &str = "eC1hY2Nlc3MtdG9rZW46";

/// Installs a program that shadows the system's. Returns the `PATH`.
pub(super) fn install(hub: &GitHubScenario, name: &str, script: &str) -> String {
    let real = std::env::var_os("PATH").unwrap().into_string().unwrap();
    let file = format!("bin/{name}");
    hub.user.write(&file, &format!("#!/bin/sh\n{}\n", script.replace("REAL", &real)));
    fs::set_permissions(hub.user.path(&file), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{real}", hub.user.path("bin").display())
}

/// Variables of an App with all permissions.
fn app(hub: &GitHubScenario) -> Vec<(&'static str, String)> {
    let id = hub.github.app("reviews", "acme", &Permission::ALL);
    let mut environment = hub.github.environment_without();
    environment.push(("CRH_GITHUB_APP_ID", id.to_string()));
    environment.push(("CRH_GITHUB_APP_KEY", APP_KEY.to_owned()));
    environment
}

/// Checks that no form of a token is in the output or in a file that the test did not write.
fn assert_unseen(hub: &GitHubScenario, output: &Output) {
    let is_seen = |text: &str| [TOKEN, LENT, ENCODED].iter().any(|form| text.contains(form));
    assert!(!is_seen(&output.shown()), "{}", output.shown());
    for folder in [hub.user.path(""), hub.elsewhere.path().to_owned()] {
        for (name, bytes) in tree(&folder) {
            assert!(name.starts_with("bin") || !is_seen(&bytes), "{name}");
        }
    }
}

#[test]
fn token_never_leaks() {
    for is_app in [false, true] {
        let hub = GitHubScenario::new();
        hub.github.make_private(NAME);
        let environment = if is_app { app(&hub) } else { hub.github.environment() };
        let log = hub.user.path("argv.log");
        let script =
            format!("printf '%s\\n' \"$*\" >> {}\nPATH='REAL' exec git \"$@\"", log.display());
        let path = install(&hub, "git", &script);
        let crh = |args: &[&str]| {
            hub.with_environment(hub.elsewhere.path(), args, &environment).env("PATH", &path).run()
        };
        let output = crh(&["check", &hub.url(), "--verbose", "--run-dir", "runs"]);
        assert_eq!(output.code, 1, "{}", output.shown());
        assert_unseen(&hub, &output);
        let runs = fs::read_dir(hub.elsewhere.path().join("runs")).unwrap();
        let mut names = runs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let run = format!("runs/{}", names.find(|name| name.contains('_')).unwrap());
        let (number, head) = (hub.pull.number.to_string(), hub.repo.id("feature"));
        // Suggestions need the file, so it is fetched again.
        let report = hub.elsewhere.path().join(&run).join("review.json");
        let mut changed: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
        changed["issues"][0]["replacement"] = json!("    return 3");
        fs::write(&report, changed.to_string()).unwrap();
        fs::remove_dir_all(hub.user.path("store")).unwrap();
        fs::remove_file(&log).unwrap();
        let output =
            crh(&["post", &run, "--repo", NAME, "--pr", &number, "--head", &head, "--verbose"]);
        assert_eq!(output.code, 0, "{}", output.shown());
        assert!(!output.stderr.contains("instead of suggestions"), "{}", output.shown());
        assert!(fs::read_to_string(&log).unwrap().contains("fetch"));
        assert_unseen(&hub, &output);
    }
}

#[test]
fn failed_fetch_shows_no_token() {
    for is_app in [false, true] {
        let hub = GitHubScenario::new();
        hub.github.make_private(NAME);
        let environment = if is_app { app(&hub) } else { hub.github.environment() };
        let script = "case \"$*\" in *\" fetch \"*) env | grep -i authorization >&2; exit 128;; esac\nPATH='REAL' exec git \"$@\"";
        let path = install(&hub, "git", script);
        let args = ["check", &hub.url(), "--verbose"];
        let program = hub.with_environment(hub.elsewhere.path(), &args, &environment);
        let output = program.env("PATH", &path).run();
        assert_eq!(output.code, 3, "{}", output.shown());
        assert!(output.stderr.to_lowercase().contains("authorization"), "{}", output.shown());
        assert_unseen(&hub, &output);
    }
}

#[test]
fn gh_is_called_without_other_tokens() {
    let hub = GitHubScenario::new();
    let log = hub.user.path("gh.log");
    let script = format!(
        "printf '%s|%s\\n' \"$*\" \"$GH_ENTERPRISE_TOKEN$GITHUB_ENTERPRISE_TOKEN$CRH_GITHUB_APP_KEY\" >> {}\necho {TOKEN}",
        log.display()
    );
    let path = install(&hub, "gh", &script);
    let out = hub.user.path("out");
    let mut environment = hub.github.environment_without();
    environment.push(("GH_ENTERPRISE_TOKEN", "ghp_ofAnEnterprise".to_owned()));
    environment.push(("GITHUB_ENTERPRISE_TOKEN", "ghp_ofAnEnterprise".to_owned()));
    let args = ["prepare", &hub.url(), "--out", out.to_str().unwrap()];
    let program = hub.with_environment(hub.elsewhere.path(), &args, &environment);
    let output = program.env("PATH", &path).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let host = hub.github.url().replace("http://", "");
    assert_eq!(fs::read_to_string(&log).unwrap(), format!("auth token --hostname {host}|\n"));
    assert_unseen(&hub, &output);
}

#[test]
fn host_of_a_remote_is_not_contacted_without_token() {
    let hub = GitHubScenario::new();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = stranger.local_addr().unwrap().to_string();
    let came = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&came);
    std::thread::spawn(move || {
        for _ in stranger.incoming() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let clone = hub.clone();
    clone.git(&["remote", "set-url", "origin", &format!("https://{host}/x/y.git")]);
    // As `gh` does for hosts other than github.com.
    install(&hub, "gh", "echo \"${GH_ENTERPRISE_TOKEN:?}\"");
    // Git contacts the remote with the user's own credentials; not in this test.
    let script = "case \"$*\" in *ls-remote*) exit 128;; esac\nPATH='REAL' exec git \"$@\"";
    let path = install(&hub, "git", script);
    let out = hub.user.path("out");
    let mut environment = hub.github.environment();
    environment.push(("GH_ENTERPRISE_TOKEN", "ghp_ofAnEnterprise".to_owned()));
    environment.push(("GH_HOST", "ghe.corp".to_owned()));
    let args = ["prepare", "--out", out.to_str().unwrap()];
    let output = hub.with_environment(clone.path(), &args, &environment).env("PATH", &path).run();
    assert!(output.stderr.contains("cannot reach the remote `origin`"), "{}", output.shown());
    assert!(!output.stderr.contains("reviewing without the pull request"), "{}", output.shown());
    assert_eq!(came.load(Ordering::Relaxed), 0);
}
