//! Logging in at Launchpad in a browser, and what is left of it.

use std::fs;
use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use expect_test::expect;

use super::Pad;
use crate::user::tree;
use crh_testkit::fake_launchpad::{Fault, How};
use crh_testkit::{Output, Program, Running};

/// How long a test waits for a browser: many times what a slow machine takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// How every secret begins that the fake gives out.
const SECRETS: [&str; 2] = ["requestSecret", "accessSecret"];

/// Where a login is kept.
fn kept(pad: &Pad) -> PathBuf {
    let host = pad.launchpad.url();
    pad.user.path(".config/crh/launchpad").join(host.trim_start_matches("http://"))
}

/// A command about logging in, with a browser that leaves the page and what it sees where a test finds them.
fn command(pad: &Pad, words: &[&str]) -> Program {
    let (browser, page) = (pad.user.path("browser"), pad.user.path("page"));
    let (page, seen) = (page.display(), pad.user.path("seen"));
    let script = format!("env > {}\nprintf %s \"$1\" > {page}~\nmv {page}~ {page}", seen.display());
    pad.user.write("browser", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&browser, Permissions::from_mode(0o755)).unwrap();
    let environment = pad.launchpad.environment_without();
    let program = pad.with_environment(pad.elsewhere.path(), words, &environment);
    program.env("BROWSER", browser.to_str().unwrap()).env("OPENAI_API_KEY", "sk-of-a-model")
}

/// `crh login launchpad` when its page is open, and the token that it asks for.
fn begun(pad: &Pad) -> (Running, String) {
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

/// Logs somebody in.
fn logged_in(pad: &Pad, person: &str) -> Output {
    let (running, token) = begun(pad);
    pad.launchpad.authorize(&token, person);
    let output = running.end();
    assert_eq!(output.code, 0, "{}", output.shown());
    output
}

/// What was printed, without what differs from run to run. No secret is in it.
fn shown(pad: &Pad, output: &Output) -> String {
    let shown = output.shown();
    assert!(!SECRETS.iter().any(|secret| shown.contains(secret)), "{shown}");
    let number = shown.split("oauth_token=request").nth(1).unwrap_or_default();
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    pad.shown(&shown).replace(&format!("request{number}&"), "TOKEN&")
}

#[test]
fn whoever_says_yes_in_a_browser_is_logged_in_until_it_is_forgotten() {
    let pad = Pad::new();
    let first = logged_in(&pad, "zoe");
    let status = || command(&pad, &["login", "launchpad", "--status"]).run();
    let text = fs::read_to_string(kept(&pad)).unwrap();
    let (known, unknown) = (status(), command(&pad, &["logout", "launchpad"]).run());
    let gone = [status(), command(&pad, &["logout", "launchpad"]).run()];
    let all = [first, known, unknown].into_iter().chain(gone);
    let all: String = all.map(|output| shown(&pad, &output)).collect();
    expect![[r#"
        exit 0
        note: log in and say yes on this page, in whichever browser you like: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: waiting for your answer; Ctrl-C ends it, and nothing is changed then
        ---
        logged in at `HOST` as `zoe`; it is kept in `~/.config/crh/launchpad/HOST`
        exit 0
        ---
        `HOST` is asked as `zoe`, by `~/.config/crh/launchpad/HOST`
        exit 0
        ---
        logged out at `HOST`: `~/.config/crh/launchpad/HOST` is gone; until it is taken back at LAUNCHPAD/~/+oauth-tokens, the token itself stays good
        exit 2
        error: you are not logged in at `HOST`
        hint: `crh login launchpad` does it in a browser; `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET` do elsewhere
        ---
        exit 0
        ---
        nobody was logged in at `HOST`: there is no `~/.config/crh/launchpad/HOST`
    "#]].assert_eq(&all);
    let lines: Vec<&str> = text.lines().map(|line| line.split(" =").next().unwrap()).collect();
    let fields = ["[1]", "consumer_key", "consumer_secret", "access_token", "access_secret", ""];
    assert_eq!(lines, fields, "as launchpadlib writes it");
    assert!(!kept(&pad).exists());
    assert_eq!(pad.launchpad.surprises(), Vec::<String>::new());
}

#[test]
fn what_is_kept_is_its_owners_alone_and_nowhere_else() {
    let pad = Pad::new();
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
    assert!(output.stderr.contains("can be read by others"), "{}", output.shown());
}

#[test]
fn what_comes_before_a_login_is_said() {
    let pad = Pad::new();
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
    assert_eq!(both, "note: `LP_ACCESS_TOKEN` is there as well, and comes first");
    let half = said("LP_ACCESS_SECRET", "");
    assert!(half.starts_with("warning: it is not used: `LP_ACCESS_TOKEN` and"), "{half}");
}

#[test]
fn an_old_login_stays_until_a_new_one_works() {
    let pad = Pad::new();
    logged_in(&pad, "zoe");
    let old = fs::read_to_string(kept(&pad)).unwrap();
    let (running, token) = begun(&pad);
    pad.launchpad.decline(&token);
    let declined = running.end();
    assert_eq!(fs::read_to_string(kept(&pad)).unwrap(), old);
    let (running, token) = begun(&pad);
    pad.launchpad.fail(Fault::on("GET", "/devel/people/+me", How::StatusBefore(401)));
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
        note: log in and say yes on this page, in whichever browser you like: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: waiting for your answer; Ctrl-C ends it, and nothing is changed then
        error: `HOST` gives out no token: End-user refused to authorize request token
        hint: nothing was stored; `crh login launchpad` asks again
        ---
        exit 2
        note: log in and say yes on this page, in whichever browser you like: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: waiting for your answer; Ctrl-C ends it, and nothing is changed then
        error: `HOST` does not accept the token: it is on script
        hint: nothing was stored; `crh login launchpad` asks again
        ---
        exit 130
        note: log in and say yes on this page, in whichever browser you like: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: waiting for your answer; Ctrl-C ends it, and nothing is changed then
        ---
    "#]].assert_eq(&all);
    logged_in(&pad, "ann");
    assert_ne!(fs::read_to_string(kept(&pad)).unwrap(), old);
}

#[test]
fn what_cannot_be_kept_is_not_asked_for() {
    let pad = Pad::new();
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
        error: a login is kept in `HOME/.config/crh/launchpad`, which cannot be written: File exists (os error 17)
        hint: `XDG_CONFIG_HOME` says where the folder of crh is
        ---
        exit 2
        error: `HOME/.config/crh/launchpad/HOST` is not a file: no secret is put there
        hint: move it away
        ---
        exit 2
        error: `HOME/.config/crh/launchpad/HOST` is a link, and not a file: no secret is put there
        hint: move it away
        ---
    "#]].assert_eq(&all);
    fs::remove_file(kept(&pad)).unwrap();
    let closed = pad.user.path(".config/crh/launchpad");
    fs::set_permissions(&closed, Permissions::from_mode(0o500)).unwrap();
    // Whoever is root writes wherever they like.
    if fs::write(closed.join("probe"), "").is_err() {
        let output = command(&pad, &["login", "launchpad"]).run();
        assert_eq!(output.code, 3, "{}", output.shown());
    }
    assert_eq!(pad.launchpad.requests().len(), 0);
    assert!(!pad.user.path("page").exists());
}

#[test]
fn a_launchpad_that_cannot_be_asked_is_said_in_a_sentence() {
    let pad = Pad::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let unreachable = command(&pad, &["login", "launchpad", "--service", &address]).run();
    let fails = |how| Fault::on("POST", "/+request-token", how);
    pad.launchpad.fail(fails(How::StatusBefore(503)).times(4));
    let failing = command(&pad, &["login", "launchpad"]).run();
    pad.launchpad.fail(fails(How::Redirect("https://login.example/+openid".to_owned())));
    let moved = command(&pad, &["login", "launchpad"]).run();
    let wrong = command(&pad, &["login", "launchpad", "--service", "prod"]).run();
    assert_eq!((unreachable.code, failing.code, wrong.code), (3, 3, 2));
    for output in [&unreachable, &failing, &moved, &wrong] {
        let is_why = |line: &&str| !line.starts_with("note: ");
        let lines = output.stderr.lines().filter(is_why).count();
        assert_eq!(lines, if output.code == 2 { 1 } else { 2 }, "{}", output.shown());
    }
    assert!(unreachable.stderr.contains("proxies and certificates"), "{}", unreachable.shown());
    assert!(failing.stderr.contains("it is asked again in"), "{}", failing.shown());
    assert!(
        failing.stderr.contains("status 503 (Service Unavailable), OOPS-"),
        "{}",
        failing.shown()
    );
    assert!(
        moved.stderr.contains("sends us to `https://login.example/+openid`"),
        "{}",
        moved.shown()
    );
    assert!(
        moved.stderr.contains("hint: nothing was stored; is this a Launchpad?"),
        "{}",
        moved.shown()
    );
    assert!(wrong.stderr.contains("`production`, `staging`"), "{}", wrong.shown());
}

#[test]
fn without_a_browser_the_page_is_named_all_the_same() {
    let pad = Pad::new();
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
        note: log in and say yes on this page, in whichever browser you like: LAUNCHPAD/+authorize-token?oauth_token=TOKEN&allow_permission=WRITE_PRIVATE
        note: no browser is opened from here: `BROWSER` names none, and there is no desktop
        note: waiting for your answer; Ctrl-C ends it, and nothing is changed then
        ---
        logged in at `HOST` as `zoe`; it is kept in `~/.config/crh/launchpad/HOST`
    "#]].assert_eq(&shown(&pad, &output));
}

#[test]
fn the_doctor_says_who_asks_without_asking() {
    let pad = Pad::new();
    let doctor = |environment: &[(&'static str, String)]| {
        let output = pad.with_environment(pad.elsewhere.path(), &["doctor"], environment).run();
        super::assert_secret(&output);
        let lines = output.stdout.lines().skip_while(|line| !line.contains("launchpad"));
        let lines = lines.take_while(|line| line.contains("launchpad") || line.contains("->"));
        pad.shown(&lines.map(|line| format!("{line}\n")).collect::<String>())
    };
    let nobody = pad.launchpad.environment_without();
    let mut half = nobody.clone();
    half.push(("LP_ACCESS_TOKEN", "half".to_owned()));
    let before = [doctor(&nobody), doctor(&pad.launchpad.environment()), doctor(&half)];
    logged_in(&pad, "zoe");
    let asked = pad.launchpad.requests().len();
    expect![[r#"
        lacks   launchpad   `HOST` is asked as nobody: what is public can be read, and nothing posted
                            -> `crh login launchpad` does it in a browser; `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET` do elsewhere
        works   launchpad   `HOST` is asked with `LP_ACCESS_TOKEN`
        BROKEN  launchpad   `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET` belong together, and one of them is missing
        works   launchpad   `HOST` is asked with `~/.config/crh/launchpad/HOST`
    "#]].assert_eq(&(before.concat() + &doctor(&nobody)));
    assert_eq!(pad.launchpad.requests().len(), asked);
}
