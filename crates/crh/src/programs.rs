//! Runs external programs that the user has set up, such as `gh`. Nothing else in this crate starts
//! a program. No shell is involved, and content of a change is never part of the command line; only
//! the verify command runs code of the change.

#[cfg_attr(not(target_os = "linux"), path = "programs/no_descendants.rs")]
mod descendants;
mod verify;

use std::io;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use secrecy::SecretString;

use crh_os::environment::{program_in, system_variables, user_variables};
use crh_os::process::spawn_detached;

pub(crate) use self::verify::{COMPANION, VerifyJob, run_companion, run_verify};

/// Time limit for `gh auth token`, which only reads local files.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How many times to poll for the exit of a program that has closed its output: one second in
/// total.
const EXIT_POLLS: u32 = 100;
const EXIT_POLL: Duration = Duration::from_millis(10);
/// Maximum output of `gh auth token`, in bytes. Longer output is not a token.
const ANSWER_MAX: u64 = 4 << 10;
/// Time limit for a program that makes network requests. A user is waiting for the result.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum output of a program to read, in bytes: more than a page of a hundred long issues.
const OUTPUT_MAX: u64 = 16 << 20;

/// Environment variables that `gh` and the browser receive: paths, keyring, proxies, language. They
/// receive no API keys, and no tokens, because `gh` would send some tokens to any host.
const PASSED_VARIABLES: &[&str] = &[
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

/// The user's preferred browser.
const BROWSER: &str = "BROWSER";
/// Variables for opening a window. One of the first two is set if there is a desktop.
const DESKTOP_VARIABLES: &[&str] = &[
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DESKTOP_SESSION",
    "XDG_CURRENT_DESKTOP",
    "XDG_SESSION_TYPE",
    "XDG_DATA_DIRS",
    "XDG_CONFIG_DIRS",
];

/// The token of the `gh` client for a host, if any.
pub(crate) fn gh_token(host: &str) -> Option<SecretString> {
    // `gh` would parse such a host as an option.
    if host.starts_with('-') || host.is_empty() {
        return None;
    }
    let answer = stdout_of("gh", &["auth", "token", "--hostname", host])?;
    let token = answer.trim();
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_token.then(|| SecretString::from(token.to_owned()))
}

/// GET request through the `gh` client. Returns its error message on failure.
pub(crate) fn gh_get(host: &str, path: &str) -> Result<String, String> {
    let path = path.trim_start_matches('/');
    let no_input = "";
    run_with_input(
        restricted_command("gh", &["api", "--hostname", host, path]),
        no_input,
        CALL_TIMEOUT,
    )
}

/// POST request through the `gh` client.
pub(crate) fn gh_post(host: &str, path: &str, body: &str) -> Result<String, String> {
    let path = path.trim_start_matches('/');
    let args = ["api", "--hostname", host, "--method", "POST", path, "--input", "-"];
    run_with_input(restricted_command("gh", &args), body, CALL_TIMEOUT)
}

/// Opens a page in the browser of `BROWSER` or of the desktop. Returns whether a browser was
/// started.
pub(crate) fn open_in_browser(address: &str) -> bool {
    let browser = std::env::var_os(BROWSER).and_then(|value| value.into_string().ok());
    let browser = browser.filter(|value| !value.trim().is_empty());
    let has_desktop = DESKTOP_VARIABLES[..2].iter().any(|name| std::env::var_os(name).is_some());
    let browsers = match (browser, cfg!(target_os = "macos"), has_desktop) {
        (Some(browser), _, _) => browser,
        (None, true, _) => "open".to_owned(),
        (None, false, true) => "xdg-open".to_owned(),
        // Without a desktop, `xdg-open` may start a text browser in this terminal.
        (None, false, false) => return false,
    };
    browsers.split(':').filter_map(|command| browser_command(command, address)).any(
        |mut command| {
            let Ok(mut child) = spawn_detached(&mut command) else { return false };
            // The browser may stay open. A thread waits for its exit, so that no zombie is left.
            std::thread::spawn(move || child.wait().is_ok());
            true
        },
    )
}

/// A browser command with the URL in place of `%s`, or at the end.
fn browser_command(command: &str, address: &str) -> Option<Command> {
    let mut words: Vec<String> =
        command.split_whitespace().map(|word| word.replace("%s", address)).collect();
    if !command.contains("%s") {
        words.push(address.to_owned());
    }
    let (program, args) = words.split_first().filter(|(program, _)| *program != address)?;
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = restricted_command(program, &args);
    command.envs(DESKTOP_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command)
}

/// A call of a program that the user has configured.
pub(crate) struct ProgramCall<'a> {
    pub(crate) program: &'a str,
    pub(crate) arguments: &'a [String],
    /// Standard input; the only content of a change that the program receives.
    pub(crate) input: &'a str,
    /// Variables to remove from the environment of the program.
    pub(crate) removed_variables: &'a [String],
}

/// Runs a program. Returns its output, or the first line of its error output.
#[expect(clippy::disallowed_methods, reason = "this module starts programs of the user")]
pub(crate) fn run_program(call: &ProgramCall<'_>) -> Result<String, String> {
    let mut command = Command::new(call.program);
    command.args(call.arguments);
    for name in call.removed_variables {
        command.env_remove(name);
    }
    run_with_input(command, call.input, CALL_TIMEOUT)
}

/// Output of a program that exits successfully in time.
fn stdout_of(program: &str, args: &[&str]) -> Option<String> {
    let mut command = restricted_command(program, args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    wait_for_output(command.spawn().ok()?, TOKEN_TIMEOUT)
}

/// A command with a restricted environment and without prompts.
#[expect(clippy::disallowed_methods, reason = "this module starts programs of the user")]
fn restricted_command(program: &str, args: &[&str]) -> Command {
    // A checkout must not bring its own `gh`.
    let path = crh_git::trusted_path(Path::new("."));
    let mut command = Command::new(program_in(program, &path));
    let variables =
        PASSED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.args(args).env_clear().envs(variables).env("PATH", path);
    command.envs(system_variables()).envs(user_variables());
    command.env("GH_PROMPT_DISABLED", "1").env("NO_COLOR", "1");
    command
}

/// Runs a command with input until a timeout. Returns its output or the reason of the failure.
fn run_with_input(mut command: Command, input: &str, limit: Duration) -> Result<String, String> {
    let deadline = Instant::now() + limit;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| format!("cannot start the program: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        // The program may close its input early.
        std::thread::spawn(move || stdin.write_all(input.as_bytes()).is_ok());
    }
    let stdout = child.stdout.take().map(read_in_background);
    let stderr = child.stderr.take().map(read_in_background);
    let status = wait_for_exit(&mut child, deadline);
    let time_left = || deadline.saturating_duration_since(Instant::now()).max(EXIT_POLL);
    let receive = |pipe: Option<Receiver<String>>| {
        pipe.and_then(|pipe| pipe.recv_timeout(time_left()).ok()).unwrap_or_default()
    };
    let Some(status) = status else {
        return Err(format!("no answer within {} s", limit.as_secs_f64()));
    };
    if status.success() {
        return Ok(receive(stdout));
    }
    let message = receive(stderr);
    let first_line = message.lines().find(|line| !line.trim().is_empty());
    Err(first_line.map_or_else(|| status.to_string(), |line| line.trim().to_owned()))
}

/// Reads a pipe in a background thread, up to a limit.
fn read_in_background(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut pipe = pipe.take(OUTPUT_MAX);
        let is_read = pipe.read_to_end(&mut bytes).is_ok();
        // Discard output beyond the limit, so that the program does not block. After a timeout
        // there is no receiver.
        is_read
            && io::copy(&mut pipe.into_inner(), &mut io::sink()).is_ok()
            && sender.send(String::from_utf8_lossy(&bytes).into_owned()).is_ok()
    });
    receiver
}

/// Waits for a child until a deadline, then kills it. Returns none if it was killed.
fn wait_for_exit(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    while Instant::now() < deadline {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(EXIT_POLL);
    }
    // Fails if the child has already exited.
    child.kill().unwrap_or_default();
    child.wait().ok().and(None)
}

/// Waits for the output of a child, and kills it after the timeout.
fn wait_for_output(mut child: Child, limit: Duration) -> Option<String> {
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let result = stdout.take(ANSWER_MAX).read_to_string(&mut text);
        // After a timeout there is no receiver.
        sender.send(result.ok().map(|_| text)).is_ok()
    });
    let text = receiver.recv_timeout(limit).ok().flatten();
    // A program that has closed its output exits soon.
    for _ in 0..EXIT_POLLS {
        if text.is_none() || child.try_wait().ok()?.is_some() {
            break;
        }
        std::thread::sleep(EXIT_POLL);
    }
    // Fails if the child has already exited.
    child.kill().unwrap_or_default();
    let status = child.wait().ok()?;
    text.filter(|_| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_successful_output_is_returned() {
        assert_eq!(stdout_of("sh", &["-c", "echo word"]).as_deref(), Some("word\n"));
        assert_eq!(stdout_of("sh", &["-c", "echo word; exit 1"]), None);
        assert_eq!(stdout_of("there-is-no-such-program", &[]), None);
    }

    #[test]
    fn program_gets_restricted_environment() {
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let script = "echo \"${PATH:+path} ${CARGO_MANIFEST_DIR:+folder}\"";
        assert_eq!(stdout_of("sh", &["-c", script]).as_deref(), Some("path \n"));
    }

    #[test]
    fn browser_command_contains_url() {
        let words = |command: &str| {
            let command = browser_command(command, "https://x/?a=%s")?;
            let all = std::iter::once(command.get_program()).chain(command.get_args());
            Some(all.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
        };
        assert_eq!(words("no-browser").unwrap(), ["no-browser", "https://x/?a=%s"]);
        assert_eq!(
            words("no-browser -t '%s' -n").unwrap(),
            ["no-browser", "-t", "'https://x/?a=%s'", "-n"]
        );
        assert_eq!(words(" "), None);
        assert_eq!(words("%s"), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child that hangs")]
    fn hanging_program_without_input_is_killed() {
        let mut command = Command::new("sleep");
        let child = command.arg("1000").stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(wait_for_output(child, Duration::from_millis(20)), None);
    }

    fn run_script(script: &str, input: &str) -> Result<String, String> {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let withheld = ["CARGO_MANIFEST_DIR".to_owned()];
        run_program(&ProgramCall {
            program: "sh",
            arguments: &arguments,
            input,
            removed_variables: &withheld,
        })
    }

    #[test]
    fn program_reads_input_and_returns_output_or_error() {
        assert_eq!(run_script("cat", "a word\n"), Ok("a word\n".to_owned()));
        // A program may ignore its input, however long it is.
        assert_eq!(run_script("echo done", &"x".repeat(1 << 20)), Ok("done\n".to_owned()));
        assert_eq!(run_script("echo; echo no team >&2; exit 3", ""), Err("no team".to_owned()));
        assert_eq!(run_script("exit 3", ""), Err("exit status: 3".to_owned()));
        assert_eq!(
            run_script("echo \"${PATH:+path}${CARGO_MANIFEST_DIR:+key}\"", ""),
            Ok("path\n".to_owned())
        );
        let missing = ProgramCall {
            program: "there-is-no-such-program",
            arguments: &[],
            input: "",
            removed_variables: &[],
        };
        assert!(run_program(&missing).unwrap_err().starts_with("cannot start the program: "));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child that hangs")]
    fn hanging_program_with_input_is_killed() {
        let mut command = Command::new("sh");
        command.args(["-c", "exec sleep 1000"]);
        let output = run_with_input(command, "", Duration::from_millis(50));
        assert_eq!(output, Err("no answer within 0.05 s".to_owned()));
    }

    #[test]
    fn host_that_looks_like_option_is_rejected() {
        assert!(gh_token("--help").is_none());
    }
}
