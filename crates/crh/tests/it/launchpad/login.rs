//! Login at Launchpad with a browser.

use std::fs;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use expect_test::expect;

use super::LaunchpadScenario;
use crate::user::tree;
use crh_testkit::fake_launchpad::{LaunchpadFault, LaunchpadFaultKind};
use crh_testkit::{Output, Program, RunningProgram};

/// How long a test waits for a browser: many times what a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prefixes of the fake's secrets.
const SECRETS: [&str; 2] = ["requestSecret", "accessSecret"];

/// File of the login.
fn kept(pad: &LaunchpadScenario) -> PathBuf {
    let host = pad.launchpad.url();
    pad.user.path(".config/crh/launchpad").join(host.trim_start_matches("http://"))
}

/// A login command with a browser that records the page and its environment.
fn command(pad: &LaunchpadScenario, words: &[&str]) -> Program {
    let (browser, page) = (pad.user.path("browser"), pad.user.path("page"));
    let (page, seen) = (page.display(), pad.user.path("seen"));
    let script = format!("env > {}\nprintf %s \"$1\" > {page}~\nmv {page}~ {page}", seen.display());
    pad.user.write("browser", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&browser, Permissions::from_mode(0o755)).unwrap();
    let environment = pad.launchpad.environment_without();
    let program = pad.with_environment(pad.elsewhere.path(), words, &environment);
    program.env("BROWSER", browser.to_str().unwrap()).env("OPENAI_API_KEY", "sk-of-a-model")
}

/// `crh login launchpad` with its page open, and the requested token.
fn begun(pad: &LaunchpadScenario) -> (RunningProgram, String) {
    let running = command(pad, &["login", "launchpad"]).start();
    let (page, began) = (pad.user.path("page"), Instant::now());
    while !page.exists() {
        assert!(began.elapsed() < PATIENCE, "no browser was opened");
        std::thread::sleep(Duration::from_millis(10));
    }
    let address = fs::read_to_string(&page).unwrap();
    fs::remove_file(page).unwrap();
    let token = pad.launchpad.request_tokens().pop().unwrap();
    let expected = format!(
        "{}/+authorize-token?oauth_token={token}&allow_permission=WRITE_PRIVATE",
        pad.launchpad.url()
    );
    assert_eq!(address, expected);
    (running, token)
}

fn logged_in(pad: &LaunchpadScenario, person: &str) -> Output {
    let (running, token) = begun(pad);
    pad.launchpad.authorize(&token, person);
    let output = running.end();
    assert_eq!(output.code, 0, "{}", output.shown());
    output
}

/// The output without varying parts. Must not contain secrets.
fn shown(pad: &LaunchpadScenario, output: &Output) -> String {
    let shown = output.shown();
    assert!(!SECRETS.iter().any(|secret| shown.contains(secret)), "{shown}");
    let number = shown.split("oauth_token=request").nth(1).unwrap_or_default();
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    pad.shown(&shown).replace(&format!("request{number}&"), "TOKEN&")
}

#[test]
fn login_lasts_until_logout() {
    let pad = LaunchpadScenario::new();
    let first = logged_in(&pad, "zoe");
    let status = || command(&pad, &["login", "launchpad", "--status"]).run();
    let text = fs::read_to_string(kept(&pad)).unwrap();
    let (known, unknown) = (status(), command(&pad, &["logout", "launchpad"]).run());
    let gone = [status(), command(&pad, &["logout", "launchpad"]).run()];
    let all = [first, known, unknown].into_iter().chain(gone);
    let all: String = all.map(|output| shown(&pad, &output)).collect();
    expect![[r#"
        exit 0
        note: open this page in any browser and authorize crh: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: waiting for your answer; Ctrl-C cancels without changes
        ---
        logged in at `HOST` as `zoe`; stored in `~/.config/crh/launchpad/HOST`
        exit 0
        ---
        logged in at `HOST` as `zoe`, with `~/.config/crh/launchpad/HOST`
        exit 0
        ---
        logged out at `HOST`: removed `~/.config/crh/launchpad/HOST`; the token stays valid until you revoke it at LAUNCHPAD/~/+oauth-tokens
        exit 2
        error: not logged in at `HOST`
        hint: run `crh login launchpad`, or set `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`
        ---
        exit 0
        ---
        not logged in at `HOST`: `~/.config/crh/launchpad/HOST` does not exist
    "#]].assert_eq(&all);
    let lines: Vec<&str> = text.lines().map(|line| line.split(" =").next().unwrap()).collect();
    let fields = ["[1]", "consumer_key", "consumer_secret", "access_token", "access_secret", ""];
    assert_eq!(lines, fields, "as launchpadlib writes it");
    assert!(!kept(&pad).exists());
    assert_eq!(pad.launchpad.surprises(), Vec::<String>::new());
}

#[test]
fn login_is_stored_only_in_private_file() {
    let pad = LaunchpadScenario::new();
    let (file, folder) = (kept(&pad), pad.user.path(".config/crh/launchpad"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(&file, "an old one").unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    logged_in(&pad, "zoe");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
    for (name, text) in tree(&pad.user.path("")) {
        let is_seen = SECRETS.iter().any(|secret| text.contains(secret));
        assert_eq!(is_seen, pad.user.path("").join(&name) == file, "{name}");
    }
    let seen = fs::read_to_string(pad.user.path("seen")).unwrap();
    assert!(!seen.contains("sk-of-a-model"), "{seen}");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let output = command(&pad, &["login", "launchpad", "--status"]).run();
    assert!(output.stderr.contains("is readable by other users"), "{}", output.shown());
}

#[test]
fn other_credentials_take_precedence_with_a_note() {
    let pad = LaunchpadScenario::new();
    let said = |name: &str, value: &str| {
        let program = command(&pad, &["login", "launchpad"]).env("LP_ACCESS_TOKEN", "t");
        let running = program.env(name, value).start();
        let began = Instant::now();
        while pad.launchpad.request_tokens().is_empty() {
            assert!(began.elapsed() < PATIENCE, "no token was asked for");
            std::thread::sleep(Duration::from_millis(10));
        }
        pad.launchpad.authorize(&pad.launchpad.request_tokens()[0], "zoe");
        let output = running.end();
        assert_eq!(output.code, 0, "{}", output.shown());
        output.stderr.lines().last().unwrap().to_owned()
    };
    let both = said("LP_ACCESS_SECRET", "s");
    assert_eq!(both, "note: `LP_ACCESS_TOKEN` is also set and takes precedence");
    let half = said("LP_ACCESS_SECRET", "");
    assert!(
        half.starts_with("warning: the login is not used: set both `LP_ACCESS_TOKEN` and"),
        "{half}"
    );
}

#[test]
fn old_login_stays_until_new_one_works() {
    let pad = LaunchpadScenario::new();
    logged_in(&pad, "zoe");
    let old = fs::read_to_string(kept(&pad)).unwrap();
    let (running, token) = begun(&pad);
    pad.launchpad.decline(&token);
    let declined = running.end();
    assert_eq!(fs::read_to_string(kept(&pad)).unwrap(), old);
    let (running, token) = begun(&pad);
    pad.launchpad.fail(LaunchpadFault::on(
        "GET",
        "/devel/people/+me",
        LaunchpadFaultKind::StatusBefore(401),
    ));
    pad.launchpad.authorize(&token, "ann");
    let useless = running.end();
    assert_eq!(fs::read_to_string(kept(&pad)).unwrap(), old);
    let (running, _) = begun(&pad);
    running.interrupt();
    let stopped = running.end();
    assert_eq!(fs::read_to_string(kept(&pad)).unwrap(), old);
    assert_eq!(fs::read_dir(kept(&pad).parent().unwrap()).unwrap().count(), 1);
    let all = [declined, useless, stopped].map(|output| shown(&pad, &output)).concat();
    expect![[r#"
        exit 3
        note: open this page in any browser and authorize crh: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: waiting for your answer; Ctrl-C cancels without changes
        error: `HOST` denied the login: End-user refused to authorize request token
        hint: nothing was stored; run `crh login launchpad` again
        ---
        exit 2
        note: open this page in any browser and authorize crh: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: waiting for your answer; Ctrl-C cancels without changes
        error: `HOST` rejected the credentials: it is on script
        hint: nothing was stored; run `crh login launchpad` again
        ---
        exit 130
        note: open this page in any browser and authorize crh: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: waiting for your answer; Ctrl-C cancels without changes
        ---
    "#]].assert_eq(&all);
    logged_in(&pad, "ann");
    assert_ne!(fs::read_to_string(kept(&pad)).unwrap(), old);
}

#[test]
fn unwritable_folder_fails_before_login() {
    let pad = LaunchpadScenario::new();
    pad.user.write(".config/crh/launchpad", "a file in the place of the folder");
    let taken = command(&pad, &["login", "launchpad"]).run();
    fs::remove_file(pad.user.path(".config/crh/launchpad")).unwrap();
    fs::create_dir_all(kept(&pad)).unwrap();
    let folder = command(&pad, &["login", "launchpad"]).run();
    fs::remove_dir(kept(&pad)).unwrap();
    std::os::unix::fs::symlink(pad.user.path("elsewhere"), kept(&pad)).unwrap();
    let link = command(&pad, &["login", "launchpad"]).run();
    let all = [taken, folder, link].map(|output| shown(&pad, &output)).concat();
    expect![[r#"
        exit 3
        error: cannot write the login to `HOME/.config/crh/launchpad`: File exists (os error 17)
        hint: set `XDG_CONFIG_HOME` to use another folder
        ---
        exit 2
        error: `HOME/.config/crh/launchpad/HOST` is not a file: crh stores no secret there
        hint: move it away
        ---
        exit 2
        error: `HOME/.config/crh/launchpad/HOST` is a symlink, not a file: crh stores no secret there
        hint: move it away
        ---
    "#]].assert_eq(&all);
    fs::remove_file(kept(&pad)).unwrap();
    let closed = pad.user.path(".config/crh/launchpad");
    fs::set_permissions(&closed, Permissions::from_mode(0o500)).unwrap();
    // Root can write everywhere.
    if fs::write(closed.join("probe"), "").is_err() {
        let output = command(&pad, &["login", "launchpad"]).run();
        assert_eq!(output.code, 3, "{}", output.shown());
    }
    assert_eq!(pad.launchpad.requests().len(), 0);
    assert!(!pad.user.path("page").exists());
}

#[test]
fn page_is_printed_without_a_browser() {
    let pad = LaunchpadScenario::new();
    let running = command(&pad, &["login", "launchpad"]).env("BROWSER", "").start();
    let began = Instant::now();
    while pad.launchpad.request_tokens().is_empty() {
        assert!(began.elapsed() < PATIENCE, "no token was asked for");
        std::thread::sleep(Duration::from_millis(10));
    }
    pad.launchpad.authorize(&pad.launchpad.request_tokens()[0], "zoe");
    let output = running.end();
    expect![[r#"
        exit 0
        note: open this page in any browser and authorize crh: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: cannot open a browser here: `BROWSER` is not set and there is no desktop
        note: waiting for your answer; Ctrl-C cancels without changes
        ---
        logged in at `HOST` as `zoe`; stored in `~/.config/crh/launchpad/HOST`
    "#]].assert_eq(&shown(&pad, &output));
}

#[test]
fn doctor_shows_login_without_network() {
    let pad = LaunchpadScenario::new();
    let doctor = |environment: &[(&'static str, String)]| {
        let output = pad.with_environment(pad.elsewhere.path(), &["doctor"], environment).run();
        super::assert_secret(&output);
        let lines = output.stdout.lines().skip_while(|line| !line.contains("launchpad"));
        let lines = lines.take_while(|line| line.contains("launchpad") || line.contains("->"));
        pad.shown(&lines.map(|line| format!("{line}\n")).collect::<String>())
    };
    let anonymous = pad.launchpad.environment_without();
    let mut half = anonymous.clone();
    half.push(("LP_ACCESS_TOKEN", "half".to_owned()));
    let before = [doctor(&anonymous), doctor(&pad.launchpad.environment()), doctor(&half)];
    logged_in(&pad, "zoe");
    let asked = pad.launchpad.requests().len();
    expect![[r#"
        missing  launchpad   not logged in to `HOST`: can read public merge proposals, cannot post
                             -> run `crh login launchpad`, or set `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`
        ok       launchpad   authenticates to `HOST` with `LP_ACCESS_TOKEN`
        BROKEN   launchpad   set both `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`; one is missing
        ok       launchpad   authenticates to `HOST` with `~/.config/crh/launchpad/HOST`
    "#]].assert_eq(&(before.concat() + &doctor(&anonymous)));
    assert_eq!(pad.launchpad.requests().len(), asked);
}
