//! Programs of others that the user has set up and crh asks: the one place of crh that starts any. Nothing of a change is ever
//! part of what is started, and no shell is between.

use std::io::Read;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use secrecy::SecretString;

/// A program that looks into its own files answers at once; one that waits for a person or a network never will.
const LIMIT: Duration = Duration::from_secs(10);
/// How often, and how far apart, it is looked whether a program has ended that has said everything: a second in all.
const LAST_LOOKS: u32 = 100;
const LAST_LOOK: Duration = Duration::from_millis(10);
/// A token has a hundred bytes. What says more is not one.
const ANSWER_MAX: u64 = 4 << 10;

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

/// The tokens by which GitHub's own client may be known, for what the user has it do.
const GH_TOKENS: &[&str] =
    &["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];
/// It talks to a host over a slow line.
const CREATE_LIMIT: Duration = Duration::from_secs(120);

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

/// Opens a pull request for the branch that is checked out, with GitHub's own client, which takes its title and text from the
/// commits. Its address, or why there is none.
#[expect(clippy::disallowed_methods, reason = "this is where programs of the user are started")]
pub(crate) fn gh_create_pull_request(checkout: &Path) -> Result<String, String> {
    let mut command = Command::new("gh");
    command.args(["pr", "create", "--fill"]).current_dir(checkout);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let shown = SHOWN.iter().chain(GH_TOKENS);
    let shown = shown.filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(shown).env("GH_PROMPT_DISABLED", "1").env("NO_COLOR", "1");
    let child = command.spawn().map_err(|error| error.to_string())?;
    let said = finished(child, CREATE_LIMIT).ok_or("it did not end well, or not in time")?;
    let address = said.lines().rev().find(|line| line.starts_with("https://"));
    address.map(str::to_owned).ok_or_else(|| "it printed no address".to_owned())
}

/// What a program prints when it ends well and in time.
#[expect(clippy::disallowed_methods, reason = "this is where programs of the user are started")]
fn answer(program: &str, args: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let shown = SHOWN.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(shown).env("GH_PROMPT_DISABLED", "1").env("NO_COLOR", "1");
    finished(command.spawn().ok()?, LIMIT)
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
    #[expect(clippy::disallowed_methods, reason = "a child that hangs")]
    fn a_program_that_hangs_is_ended() {
        let mut command = Command::new("sleep");
        let child = command.arg("1000").stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(finished(child, Duration::from_millis(20)), None);
    }

    #[test]
    fn what_looks_like_an_option_is_no_host() {
        assert!(gh_token("--help").is_none());
    }
}
