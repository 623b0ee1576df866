//! Programs of others that the user has set up and crh asks: the one place of crh that starts any. Nothing of a change is ever
//! part of what is started, but for one that the user trusts, and no shell is between.

mod descendants;
#[path = "programs/verify.rs"]
mod verifying;

use std::io;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use secrecy::SecretString;

pub(crate) use self::verifying::{COMPANION, Check, companion, verified};

/// A program that looks into its own files answers at once; one that waits for a person or a network never will.
const LIMIT: Duration = Duration::from_secs(10);
/// How often, and how far apart, it is looked whether a program has ended that has said everything: a second in all.
const LAST_LOOKS: u32 = 100;
const LAST_LOOK: Duration = Duration::from_millis(10);
/// A token has a hundred bytes. What says more is not one.
const ANSWER_MAX: u64 = 4 << 10;
/// A program that asks a host answers within a few tries of it; a person stands by.
const JOB_LIMIT: Duration = Duration::from_secs(60);
/// As much is read of what a program says in the end: a page of a hundred long issues.
const SAID_MAX: u64 = 16 << 20;

/// What a program gets to see of the environment: where it, its settings and the user's keyring are, how hosts are reached, and the
/// language. No token: `gh` would give out what is in some variables for any host. No key either, whatever the user calls it.
const SHOWN: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "GH_CONFIG_DIR",
    "GH_HOST",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "ALL_PROXY",
    "all_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
];

/// Which browser the user likes best.
const BROWSER: &str = "BROWSER";
/// What a program needs to see of a desktop to open a window there; the first two say that there is one.
const DESKTOP: &[&str] = &[
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DESKTOP_SESSION",
    "XDG_CURRENT_DESKTOP",
    "XDG_SESSION_TYPE",
    "XDG_DATA_DIRS",
    "XDG_CONFIG_DIRS",
];

/// The token that GitHub's own client has for a host; none if it is not installed or has none.
pub(crate) fn gh_token(host: &str) -> Option<SecretString> {
    // A host that looks like an option names none.
    if host.starts_with('-') || host.is_empty() {
        return None;
    }
    let answer = answer("gh", &["auth", "token", "--hostname", host])?;
    let token = answer.trim();
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_token.then(|| SecretString::from(token.to_owned()))
}

/// What is at a path of a GitHub, asked by its own client; else what that complains about.
pub(crate) fn gh_get(host: &str, path: &str) -> Result<String, String> {
    let path = path.trim_start_matches('/');
    let nothing = "";
    conversed(shut_in("gh", &["api", "--hostname", host, path]), nothing, JOB_LIMIT)
}

/// Makes something new there.
pub(crate) fn gh_post(host: &str, path: &str, body: &str) -> Result<String, String> {
    let path = path.trim_start_matches('/');
    let args = ["api", "--hostname", host, "--method", "POST", path, "--input", "-"];
    conversed(shut_in("gh", &args), body, JOB_LIMIT)
}

/// Opens a page in the browser that `BROWSER` names, as other programs do, or else in that of the desktop. Whether one was started:
/// what it shows then, nobody knows.
pub(crate) fn open_page(address: &str) -> bool {
    let named = std::env::var_os(BROWSER).and_then(|named| named.into_string().ok());
    let named = named.filter(|named| !named.trim().is_empty());
    let has_desktop = DESKTOP[..2].iter().any(|name| std::env::var_os(name).is_some());
    let known = match (named, cfg!(target_os = "macos"), has_desktop) {
        (Some(named), _, _) => named,
        (None, true, _) => "open".to_owned(),
        (None, false, true) => "xdg-open".to_owned(),
        // Without a desktop it would begin to talk at this terminal.
        (None, false, false) => return false,
    };
    known.split(':').filter_map(|command| browser(command, address)).any(|mut command| {
        let Ok(mut child) = command.spawn() else { return false };
        // It may stay as long as the user likes; nobody waits for it but who has to.
        std::thread::spawn(move || child.wait().is_ok());
        true
    })
}

/// A command with the page in the place of `%s`, or at its end.
fn browser(command: &str, address: &str) -> Option<Command> {
    let mut words: Vec<String> =
        command.split_whitespace().map(|word| word.replace("%s", address)).collect();
    if !command.contains("%s") {
        words.push(address.to_owned());
    }
    let (program, args) = words.split_first().filter(|(program, _)| *program != address)?;
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = shut_in(program, &args);
    command.envs(DESKTOP.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    Some(command)
}

/// Something for a program to do that the user has set up.
pub(crate) struct Job<'a> {
    pub(crate) program: &'a str,
    pub(crate) arguments: &'a [String],
    /// What it is told on standard input: the only thing of a change that it gets.
    pub(crate) input: &'a str,
    /// The variables that it does not get to see. It may need any other.
    pub(crate) withheld: &'a [String],
}

/// What a program says when it has done something; else the first thing that it complains about.
#[expect(clippy::disallowed_methods, reason = "this is where programs of the user are started")]
pub(crate) fn done(job: &Job<'_>) -> Result<String, String> {
    let mut command = Command::new(job.program);
    command.args(job.arguments);
    for name in job.withheld {
        command.env_remove(name);
    }
    conversed(command, job.input, JOB_LIMIT)
}

/// What a program prints when it ends well and in time.
fn answer(program: &str, args: &[&str]) -> Option<String> {
    let mut command = shut_in(program, args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    finished(command.spawn().ok()?, LIMIT)
}

/// A program that sees what it needs of the environment and asks nobody.
#[expect(clippy::disallowed_methods, reason = "this is where programs of the user are started")]
fn shut_in(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    let shown = SHOWN.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.args(args).env_clear().envs(shown);
    command.env("GH_PROMPT_DISABLED", "1").env("NO_COLOR", "1");
    command
}

/// Starts a program, gives it a text, and waits for its end; what it says, or why there is nothing to be heard.
fn conversed(mut command: Command, input: &str, limit: Duration) -> Result<String, String> {
    let until = Instant::now() + limit;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        // A program that does not want to hear it all closes its end.
        std::thread::spawn(move || stdin.write_all(input.as_bytes()).is_ok());
    }
    let said = child.stdout.take().map(heard);
    let complained = child.stderr.take().map(heard);
    let status = ended(&mut child, until);
    let left = || until.saturating_duration_since(Instant::now()).max(LAST_LOOK);
    let get = |pipe: Option<Receiver<String>>| {
        pipe.and_then(|pipe| pipe.recv_timeout(left()).ok()).unwrap_or_default()
    };
    let Some(status) = status else {
        return Err(format!("it did not end within {} s", limit.as_secs_f64()));
    };
    if status.success() {
        return Ok(get(said));
    }
    let complained = get(complained);
    let first = complained.lines().find(|line| !line.trim().is_empty());
    Err(first.map_or_else(|| status.to_string(), |line| line.trim().to_owned()))
}

/// Reads a pipe to its end, or to where nobody reads any more, beside everything else.
fn heard(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (said, is_said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut pipe = pipe.take(SAID_MAX);
        let read = pipe.read_to_end(&mut bytes).is_ok();
        // What is beyond goes nowhere, so that the program can come to its end. Nobody listens any more if it took too long.
        read && io::copy(&mut pipe.into_inner(), &mut io::sink()).is_ok()
            && said.send(String::from_utf8_lossy(&bytes).into_owned()).is_ok()
    });
    is_said
}

/// How a child ended; none if it had to be ended.
fn ended(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    while Instant::now() < until {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(LAST_LOOK);
    }
    // It has ended by itself if that fails.
    child.kill().unwrap_or_default();
    child.wait().ok().and(None)
}

/// Waits for a child that was started here, and ends it when it takes too long.
fn finished(mut child: Child, limit: Duration) -> Option<String> {
    let stdout = child.stdout.take()?;
    let (said, is_said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.take(ANSWER_MAX).read_to_string(&mut text);
        // Nobody listens any more if it took too long.
        said.send(read.ok().map(|_| text)).is_ok()
    });
    let text = is_said.recv_timeout(limit).ok().flatten();
    // Whoever has said everything ends at once.
    for _ in 0..LAST_LOOKS {
        if text.is_none() || child.try_wait().ok()?.is_some() {
            break;
        }
        std::thread::sleep(LAST_LOOK);
    }
    // It has ended by itself if that fails.
    child.kill().unwrap_or_default();
    let status = child.wait().ok()?;
    text.filter(|_| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_answers_in_time_and_well_or_not_at_all() {
        assert_eq!(answer("sh", &["-c", "echo word"]).as_deref(), Some("word\n"));
        assert_eq!(answer("sh", &["-c", "echo word; exit 1"]), None);
        assert_eq!(answer("there-is-no-such-program", &[]), None);
    }

    #[test]
    fn a_program_sees_only_what_it_needs() {
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let script = "echo \"${PATH:+path} ${CARGO_MANIFEST_DIR:+folder}\"";
        assert_eq!(answer("sh", &["-c", script]).as_deref(), Some("path \n"));
    }

    #[test]
    fn a_browser_is_given_the_page() {
        let words = |command: &str| {
            let command = browser(command, "https://x/?a=%s")?;
            let all = std::iter::once(command.get_program()).chain(command.get_args());
            Some(all.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
        };
        assert_eq!(words("firefox").unwrap(), ["firefox", "https://x/?a=%s"]);
        assert_eq!(words("w -t '%s' -n").unwrap(), ["w", "-t", "'https://x/?a=%s'", "-n"]);
        assert_eq!(words(" "), None);
        assert_eq!(words("%s"), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child that hangs")]
    fn a_program_that_hangs_is_ended() {
        let mut command = Command::new("sleep");
        let child = command.arg("1000").stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(finished(child, Duration::from_millis(20)), None);
    }

    fn told(script: &str, input: &str) -> Result<String, String> {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let withheld = ["CARGO_MANIFEST_DIR".to_owned()];
        done(&Job { program: "sh", arguments: &arguments, input, withheld: &withheld })
    }

    #[test]
    fn a_program_is_told_something_and_says_what_it_did() {
        assert_eq!(told("cat", "a word\n"), Ok("a word\n".to_owned()));
        // One that listens to nothing is no failure, however much there is to hear.
        assert_eq!(told("echo done", &"x".repeat(1 << 20)), Ok("done\n".to_owned()));
        assert_eq!(told("echo; echo no team >&2; exit 3", ""), Err("no team".to_owned()));
        assert_eq!(told("exit 3", ""), Err("exit status: 3".to_owned()));
        assert_eq!(
            told("echo \"${PATH:+path}${CARGO_MANIFEST_DIR:+key}\"", ""),
            Ok("path\n".to_owned())
        );
        let nobody =
            Job { program: "there-is-no-such-program", arguments: &[], input: "", withheld: &[] };
        assert!(done(&nobody).unwrap_err().starts_with("it cannot be started: "));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child that hangs")]
    fn a_program_that_does_nothing_is_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000"]);
        let said = conversed(command, "", Duration::from_millis(50));
        assert_eq!(said, Err("it did not end within 0.05 s".to_owned()));
    }

    #[test]
    fn what_looks_like_an_option_is_no_host() {
        assert!(gh_token("--help").is_none());
    }
}
