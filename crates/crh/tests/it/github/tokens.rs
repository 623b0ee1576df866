//! Which token goes where, and that nobody else gets to see it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::{Hub, NAME};
use crate::user::tree;
use crh_testkit::Output;
use crh_testkit::fake_github::{APP_KEY, Permission, TOKEN};

/// How every token begins that the fake lends to an App.
const LENT: &str = "ghs_fake";
/// How everything begins that git is handed for a token: `x-access-token:`, encoded. It is as good as the token.
const ENCODED: &str = "eC1hY2Nlc3MtdG9rZW46";

/// Writes a program of the user's that comes before those of the system. Says what `PATH` is then.
pub(super) fn install(hub: &Hub, name: &str, script: &str) -> String {
    let real = std::env::var_os("PATH").unwrap().into_string().unwrap();
    let file = format!("bin/{name}");
    hub.user.write(&file, &format!("#!/bin/sh\n{}\n", script.replace("REAL", &real)));
    fs::set_permissions(hub.user.path(&file), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{real}", hub.user.path("bin").display())
}

/// The variables by which crh is an App that may do everything.
fn app(hub: &Hub) -> Vec<(&'static str, String)> {
    let id = hub.github.app("reviews", "acme", &Permission::ALL);
    let mut environment = hub.github.environment_without();
    environment.push(("CRH_GITHUB_APP_ID", id.to_string()));
    environment.push(("CRH_GITHUB_APP_KEY", APP_KEY.to_owned()));
    environment
}

/// No form of any token, in what was printed or in any file but those that the test wrote itself.
fn assert_unseen(hub: &Hub, output: &Output) {
    let is_seen = |text: &str| [TOKEN, LENT, ENCODED].iter().any(|form| text.contains(form));
    assert!(!is_seen(&output.shown()), "{}", output.shown());
    for folder in [hub.user.path(""), hub.elsewhere.path().to_owned()] {
        for (name, bytes) in tree(&folder) {
            assert!(name.starts_with("bin") || !is_seen(&bytes), "{name}");
        }
    }
}

#[test]
fn a_token_is_in_no_output_no_file_and_no_argument_of_a_child() {
    for is_app in [false, true] {
        let hub = Hub::new();
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
        // Text that would replace some is a button only where the file is at hand: it is fetched again.
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
        assert!(!output.stderr.contains("without a button"), "{}", output.shown());
        assert!(fs::read_to_string(&log).unwrap().contains("fetch"));
        assert_unseen(&hub, &output);
    }
}

#[test]
fn a_fetch_that_fails_and_repeats_what_it_was_given_shows_no_token() {
    for is_app in [false, true] {
        let hub = Hub::new();
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
fn a_private_repository_is_read_as_an_app() {
    let hub = Hub::new();
    hub.github.make_private(NAME);
    let out = hub.user.path("out");
    let environment = app(&hub);
    for folder in [hub.elsewhere.path(), hub.clone().path()] {
        let args = ["prepare", &hub.url(), "--out", out.to_str().unwrap()];
        let output = hub.with_environment(folder, &args, &environment).run();
        assert_eq!(output.code, 0, "{}", output.shown());
        assert_eq!(hub.json("metadata.json")["url"], json!(hub.url()));
    }
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
}

#[test]
fn the_client_of_github_is_asked_without_the_tokens_of_others() {
    let hub = Hub::new();
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
fn a_host_that_only_a_remote_names_is_not_asked() {
    let hub = Hub::new();
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
    // As GitHub's own client does it for every host but github.com.
    install(&hub, "gh", "echo \"${GH_ENTERPRISE_TOKEN:?}\"");
    // Git itself asks the remote, with what the user gave git. Here it does not.
    let script = "case \"$*\" in *ls-remote*) exit 128;; esac\nPATH='REAL' exec git \"$@\"";
    let path = install(&hub, "git", script);
    let out = hub.user.path("out");
    let mut environment = hub.github.environment();
    environment.push(("GH_ENTERPRISE_TOKEN", "ghp_ofAnEnterprise".to_owned()));
    environment.push(("GH_HOST", "ghe.corp".to_owned()));
    let args = ["prepare", "--out", out.to_str().unwrap()];
    let output = hub.with_environment(clone.path(), &args, &environment).env("PATH", &path).run();
    assert!(output.stderr.contains("asking the remote `origin`"), "{}", output.shown());
    assert!(!output.stderr.contains("is not part of the review"), "{}", output.shown());
    assert_eq!(came.load(Ordering::Relaxed), 0);
}
