//! Credentials: sources, and that only the web service gets them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::{FORK, LaunchpadScenario, SHOP, assert_secret};
use crate::user::tree;
use crh_testkit::Output;
use crh_testkit::fake_launchpad::{CONSUMER, SECRET, TOKEN};

const GIT_TOKEN: &str = "opensAllRepositories";
/// Base64 of `crh-reviewer:opensAllRepositories`, which git sends.
const ENCODED: &str = "Y3JoLXJldmlld2VyOm9wZW5zQWxs";

/// The file that launchpadlib writes.
fn file() -> String {
    format!(
        "[1]\nconsumer_key = {CONSUMER}\nconsumer_secret = \naccess_token = {TOKEN}\naccess_secret = {SECRET}\n\n"
    )
}

/// Checks a private proposal with only these credentials.
fn check(pad: &LaunchpadScenario, more: &[(&'static str, String)]) -> Output {
    let environment = [pad.launchpad.environment_without(), more.to_vec()].concat();
    let url = pad.url();
    let output = pad.with_environment(pad.elsewhere.path(), &["check", &url], &environment).run();
    assert_secret(&output);
    output
}

#[test]
fn credentials_never_leak() {
    let pad = LaunchpadScenario::new();
    pad.launchpad.make_private(FORK).make_private(SHOP).git_token("crh-reviewer", GIT_TOKEN);
    let log = pad.user.path("argv.log");
    let real = std::env::var_os("PATH").unwrap().into_string().unwrap();
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >> {}\nenv | grep '^LP_' >> {}\nPATH='{real}' exec git \"$@\"\n",
        log.display(),
        pad.user.path("env.log").display()
    );
    pad.user.write("bin/git", &script);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(pad.user.path("bin/git"), executable).unwrap();
    let path = format!("{}:{real}", pad.user.path("bin").display());
    let url = pad.url();
    let args = ["check", &url, "--verbose", "--run-dir", "runs"];
    let program = pad.crh(pad.elsewhere.path(), &args);
    let output = program.env("PATH", &path).env("LP_GIT_TOKEN", GIT_TOKEN).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    let is_seen =
        |text: &str| [TOKEN, SECRET, GIT_TOKEN, ENCODED].iter().any(|form| text.contains(form));
    assert!(!is_seen(&output.shown()), "{}", output.shown());
    assert!(fs::read_to_string(&log).unwrap().contains(" fetch "), "git was watched");
    for folder in [pad.user.path(""), pad.elsewhere.path().to_owned()] {
        for (name, bytes) in tree(&folder) {
            assert!(!is_seen(&bytes), "{name}");
        }
    }
    let (mut asked, mut fetched) = (0, 0);
    for request in pad.launchpad.requests() {
        let sent = request.headers.iter().filter(|(name, _)| name == "authorization");
        let sent: Vec<&str> = sent.map(|(_, value)| value.as_str()).collect();
        match request.path.starts_with("/devel/") {
            true => {
                assert!(sent.iter().all(|value| value.starts_with("OAuth ")), "{}", request.path);
                asked += sent.len();
            }
            false => {
                assert!(sent.iter().all(|value| value.starts_with("Basic ")), "{}", request.path);
                fetched += sent.len();
            }
        }
    }
    assert!(asked > 0 && fetched > 0);
    let librarian = pad.launchpad.librarian_requests();
    assert!(!librarian.is_empty());
    let headers = librarian.iter().flat_map(|request| &request.headers);
    assert!(!headers.into_iter().any(|(name, _)| name == "authorization"));
}

#[test]
fn git_token_is_not_sent_for_public_repositories() {
    let pad = LaunchpadScenario::new();
    let more = [pad.launchpad.environment(), vec![("LP_GIT_TOKEN", GIT_TOKEN.to_owned())]].concat();
    assert_eq!(check(&pad, &more).code, 1);
    let requests = pad.launchpad.requests();
    let mut of_git = requests.iter().filter(|request| !request.path.starts_with("/devel/"));
    assert!(of_git.clone().count() > 0);
    assert!(of_git.all(|request| request.header("authorization").is_none()));
}

#[test]
fn launchpadlib_file_is_used_from_any_setting() {
    let pad = LaunchpadScenario::new();
    // A private repository needs a login.
    pad.launchpad.make_private(SHOP);
    assert_eq!(check(&pad, &[]).code, 3);
    let check_logged_in = |more: &[(&'static str, String)]| {
        let output = check(&pad, more);
        assert!(output.stderr.contains("cannot fetch from"), "{}", output.shown());
    };
    pad.user.write("credentials", &file());
    let path = pad.user.path("credentials").to_str().unwrap().to_owned();
    check_logged_in(&[("LP_CREDENTIALS_FILE", path)]);
    let setting = "[launchpad]\ncredentials = \"~/credentials\"\n";
    pad.user.write(".config/crh/config.toml", setting);
    check_logged_in(&[]);
    fs::remove_file(pad.user.path(".config/crh/config.toml")).unwrap();
    let host = pad.launchpad.url().trim_start_matches("http://").to_owned();
    pad.user.write(&format!(".config/crh/launchpad/{host}"), &file());
    check_logged_in(&[]);
}
