//! Who asks, and that nobody but the web service gets to know.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::{FORK, Pad, SHOP, assert_secret};
use crate::user::tree;
use crh_testkit::Output;
use crh_testkit::fake_launchpad::{CONSUMER, SECRET, TOKEN};

const GIT_TOKEN: &str = "opensAllRepositories";
/// What git is handed for it: `crh-reviewer:opensAllRepositories`, encoded.
const ENCODED: &str = "Y3JoLXJldmlld2VyOm9wZW5zQWxs";

/// The file that launchpadlib writes.
fn file() -> String {
    format!(
        "[1]\nconsumer_key = {CONSUMER}\nconsumer_secret = \naccess_token = {TOKEN}\naccess_secret = {SECRET}\n\n"
    )
}

/// The program as nobody, but for what these say. The merge proposal is one that not everybody sees.
fn check(pad: &Pad, more: &[(&'static str, String)]) -> Output {
    let environment = [pad.launchpad.environment_without(), more.to_vec()].concat();
    let url = pad.url();
    let output = pad.with_environment(pad.elsewhere.path(), &["check", &url], &environment).run();
    assert_secret(&output);
    output
}

#[test]
fn what_says_who_asks_is_in_no_output_no_file_no_argument_and_goes_to_the_web_service_alone() {
    let pad = Pad::new();
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
fn what_opens_private_repositories_is_not_shown_to_public_ones() {
    let pad = Pad::new();
    let more = [pad.launchpad.environment(), vec![("LP_GIT_TOKEN", GIT_TOKEN.to_owned())]].concat();
    assert_eq!(check(&pad, &more).code, 1);
    let requests = pad.launchpad.requests();
    let mut of_git = requests.iter().filter(|request| !request.path.starts_with("/devel/"));
    assert!(of_git.clone().count() > 0);
    assert!(of_git.all(|request| request.header("authorization").is_none()));
}

#[test]
fn a_file_of_launchpadlib_says_who_asks_wherever_it_is_named() {
    let pad = Pad::new();
    // Only who is somebody gets past the web service.
    pad.launchpad.make_private(SHOP);
    assert_eq!(check(&pad, &[]).code, 3);
    let is_somebody = |more: &[(&'static str, String)]| {
        let output = check(&pad, more);
        assert!(output.stderr.contains("fetching from"), "{}", output.shown());
    };
    pad.user.write("credentials", &file());
    let path = pad.user.path("credentials").to_str().unwrap().to_owned();
    is_somebody(&[("LP_CREDENTIALS_FILE", path)]);
    let setting = "[launchpad]\ncredentials = \"~/credentials\"\n";
    pad.user.write(".config/crh/config.toml", setting);
    is_somebody(&[]);
    fs::remove_file(pad.user.path(".config/crh/config.toml")).unwrap();
    let host = pad.launchpad.url().trim_start_matches("http://").to_owned();
    pad.user.write(&format!(".config/crh/launchpad/{host}"), &file());
    is_somebody(&[]);
}
