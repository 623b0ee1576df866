//! Runs the verify command on a copy of a trusted tree.
//!
//! The command runs in its own process group, so that everything it starts can be killed with it.
//! But then a signal to crh does not reach it. So crh starts itself as a companion process, which
//! notices when crh ends, even by SIGKILL, and kills the group and all other descendants.

use std::io;
use std::io::{BufRead as _, BufReader, PipeReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::{Deserialize, Serialize};

use super::PASSED_VARIABLES;
use super::descendants::Descendants;
use crh_lint::sandbox::CommandOutcome;

/// Hidden command that runs crh as the companion process.
pub(crate) const COMPANION: &str = "__companion";

/// How often to check whether the command has exited.
const EXIT_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum output to keep, counted from the end.
const OUTPUT_MAX: usize = 64 << 10;
/// Time to read the rest of the pipe after exit. A descendant that survived may keep it open.
const PIPE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum answer of the companion: the kept output with every byte escaped.
const ANSWER_MAX: u64 = 1 << 20;

/// A verify command and the tree to check.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct VerifyJob {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) tree: PathBuf,
    /// Time limit.
    pub(crate) time: Duration,
}

/// Runs a command. Kills it and everything it started after the time limit, when `is_stopped`
/// returns true, and when crh ends. `crh` is the executable of the companion.
pub(crate) fn run_verify(
    crh: Option<&Path>,
    check: &VerifyJob,
    is_stopped: fn() -> bool,
) -> CommandOutcome {
    let end = match crh {
        Some(crh) => run_with_companion(crh, check, is_stopped),
        None => run_in_tree(check, is_stopped, Descendants::Unreachable),
    };
    match end {
        Ok(end) => end,
        Err(error) => CommandOutcome::NotRun(error.to_string()),
    }
}

/// The companion process. It reads the job from standard input, which closes when crh ends.
pub(crate) fn run_companion() -> io::Result<()> {
    static IS_ALONE: AtomicBool = AtomicBool::new(false);
    let mut stdin = BufReader::new(io::stdin());
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let check: VerifyJob = serde_json::from_str(&line)?;
    std::thread::spawn(move || {
        let copied = io::copy(&mut stdin, &mut io::sink());
        IS_ALONE.store(true, Ordering::SeqCst);
        copied.is_ok()
    });
    let is_alone = || IS_ALONE.load(Ordering::SeqCst);
    let end = match run_in_tree(&check, is_alone, Descendants::adopt()) {
        Ok(end) => end,
        Err(error) => CommandOutcome::NotRun(error.to_string()),
    };
    let mut stdout = io::stdout();
    serde_json::to_writer(&mut stdout, &end)?;
    stdout.flush()
}

#[expect(clippy::disallowed_methods, reason = "this module starts programs of the user")]
fn run_with_companion(
    crh: &Path,
    check: &VerifyJob,
    is_stopped: fn() -> bool,
) -> io::Result<CommandOutcome> {
    let mut command = Command::new(crh);
    command.arg(COMPANION).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A new group, so that Ctrl-C at the terminal does not reach the companion.
    let mut child = restrict_environment(&mut command).process_group(0).spawn()?;
    let mut spec = serde_json::to_vec(check)?;
    spec.push(b'\n');
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        stdin.write_all(&spec)?;
    }
    let (sender, receiver) = mpsc::channel();
    let stdout = child.stdout.take();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.map(|stdout| stdout.take(ANSWER_MAX).read_to_string(&mut text));
        sender.send(text).is_ok() && read.is_some_and(|read| read.is_ok())
    });
    let text = loop {
        match receiver.recv_timeout(EXIT_INTERVAL) {
            Ok(text) => break text,
            Err(RecvTimeoutError::Disconnected) => break String::new(),
            // Closing its input tells the companion to kill the command.
            Err(RecvTimeoutError::Timeout) if is_stopped() => drop(stdin.take()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    child.wait()?;
    serde_json::from_str(&text)
        .map_err(|_| io::Error::other("the companion process sent no result"))
}

#[expect(clippy::disallowed_methods, reason = "this module starts programs of the user")]
fn run_in_tree(
    check: &VerifyJob,
    is_stopped: fn() -> bool,
    descendants: Descendants,
) -> io::Result<CommandOutcome> {
    let VerifyJob { program, args, tree, time } = check;
    let (pipe, stdout) = io::pipe()?;
    let mut command = match program.contains('/') {
        true => Command::new(tree.join(program)),
        false => Command::new(program),
    };
    command.args(args).current_dir(tree).stdin(Stdio::null());
    command.stderr(stdout.try_clone()?).stdout(stdout).process_group(0);
    let started = restrict_environment(&mut command).spawn();
    // Closes this process's copies of the pipe's write end.
    drop(command);
    let mut child = match started {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(CommandOutcome::NotRun(format!("there is no program `{program}`")));
        }
        child => child?,
    };
    let printed = CapturedOutput::capture(pipe);
    let ended = wait_until_exit(&child, *time, is_stopped);
    // Also kills processes that the command left behind. Fails if there are none.
    kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap_or_default();
    // Reaps the child; its pid may be reused from here on.
    let status = child.wait()?;
    descendants.kill();
    match ended? {
        WaitEnd::TimedOut => Ok(CommandOutcome::TooSlow(time.as_secs())),
        WaitEnd::Stopped => Ok(CommandOutcome::NotRun("it was stopped".to_owned())),
        WaitEnd::Exited if status.success() => Ok(CommandOutcome::Passed),
        WaitEnd::Exited => Ok(CommandOutcome::Failed(status.code(), printed.finish())),
    }
}

/// Why waiting ended.
enum WaitEnd {
    Exited,
    TimedOut,
    Stopped,
}

fn wait_until_exit(child: &Child, time: Duration, is_stopped: fn() -> bool) -> io::Result<WaitEnd> {
    let began = Instant::now();
    loop {
        if has_exited(child)? {
            return Ok(WaitEnd::Exited);
        }
        if began.elapsed() >= time {
            return Ok(WaitEnd::TimedOut);
        }
        if is_stopped() {
            return Ok(WaitEnd::Stopped);
        }
        std::thread::sleep(EXIT_INTERVAL);
    }
}

/// Whether a child has exited. Does not reap it, so that its pid, which is also the group id, stays
/// valid.
fn has_exited(child: &Child) -> io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), look)?.is_some())
}

fn restrict_environment(command: &mut Command) -> &mut Command {
    let shown = PASSED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(shown).env("NO_COLOR", "1")
}

/// Output of a command. All of it is read, so that the command never blocks, but only the end is
/// kept.
struct CapturedOutput {
    tail: TailBuffer,
    /// Disconnected when the pipe is closed; nothing is sent.
    closed: Receiver<()>,
}

impl CapturedOutput {
    fn capture(mut pipe: PipeReader) -> Self {
        let tail = TailBuffer::default();
        let mut writer = tail.clone();
        let (over, closed) = mpsc::channel();
        // Ends with the pipe and is not joined.
        std::thread::spawn(move || {
            let read = io::copy(&mut pipe, &mut writer);
            drop(over);
            read.is_ok()
        });
        Self { tail, closed }
    }

    /// The end of the output, after the command has exited.
    fn finish(self) -> String {
        match self.closed.recv_timeout(PIPE_TIMEOUT) {
            Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
        self.tail.text()
    }
}

/// Keeps the last bytes that are written to it.
#[derive(Debug, Clone, Default)]
struct TailBuffer(Arc<Mutex<Vec<u8>>>);

impl TailBuffer {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let beyond = bytes.len().saturating_sub(OUTPUT_MAX);
        String::from_utf8_lossy(bytes.get(beyond..).unwrap_or_default()).into_owned()
    }
}

impl Write for TailBuffer {
    fn write(&mut self, new: &[u8]) -> io::Result<usize> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(new);
        // Trim rarely, so that bytes are not moved with every write.
        if bytes.len() > 2 * OUTPUT_MAX {
            let beyond = bytes.len() - OUTPUT_MAX;
            bytes.drain(..beyond);
        }
        Ok(new.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a command without a companion.
    fn run(program: &str, args: &[&str], tree: &Path, time: Duration) -> CommandOutcome {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let check = VerifyJob { program: program.to_owned(), args, tree: tree.to_owned(), time };
        run_verify(None, &check, || false)
    }

    #[test]
    fn verify_command_passes_fails_or_times_out() {
        let tree = tempfile::tempdir().unwrap();
        let check = |script: &str, time: u64| {
            run("sh", &["-c", script], tree.path(), Duration::from_millis(time))
        };
        assert_eq!(check("touch here", 60_000), CommandOutcome::Passed);
        assert!(tree.path().join("here").is_file());
        let output = "one\ntwo\n".to_owned();
        assert_eq!(
            check("echo one; echo two >&2; exit 3", 60_000),
            CommandOutcome::Failed(Some(3), output)
        );
        assert_eq!(check("sleep 1000 & wait", 30), CommandOutcome::TooSlow(0));
        let none = run("there-is-no-such-program", &[], tree.path(), Duration::MAX);
        assert_eq!(
            none,
            CommandOutcome::NotRun("there is no program `there-is-no-such-program`".into())
        );
    }

    #[test]
    fn end_of_long_output_is_kept() {
        let tree = tempfile::tempdir().unwrap();
        let script = "head -c 10000000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1";
        let end = run("sh", &["-c", script], tree.path(), Duration::MAX);
        let CommandOutcome::Failed(Some(1), printed) = end else { panic!("{end:?}") };
        assert_eq!(printed.len(), OUTPUT_MAX);
        assert!(printed.ends_with("xxx\nthe end\n"), "{}", printed.len());
        let end = run("yes", &[], tree.path(), Duration::from_millis(50));
        assert_eq!(end, CommandOutcome::TooSlow(0));
        let mut tail = TailBuffer::default();
        for _ in 0..1_000 {
            tail.write_all(&[b'x'; 1 << 10]).unwrap();
            assert!(tail.0.lock().unwrap().capacity() <= 8 * OUTPUT_MAX);
        }
    }

    #[test]
    fn stopped_verify_command_is_killed() {
        let tree = tempfile::tempdir().unwrap();
        let args = ["-c".to_owned(), "sleep 1000".to_owned()].to_vec();
        let (program, tree) = ("sh".to_owned(), tree.path().to_owned());
        let check = VerifyJob { program, args, tree, time: Duration::MAX };
        let end = run_verify(None, &check, || true);
        assert_eq!(end, CommandOutcome::NotRun("it was stopped".to_owned()));
    }
}
