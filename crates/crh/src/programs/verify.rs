//! Runs the verify command on a copy of a trusted tree.
//!
//! The command runs in its own process group, so that crh can kill the command together with
//! everything that the command starts. But then a signal to crh does not reach the command. So crh
//! starts itself a second time, as a companion process. The companion notices when crh ends, even
//! by SIGKILL, and kills the group and all other descendants.

use std::io;
use std::io::{BufRead as _, BufReader, PipeReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::PASSED_VARIABLES;
use super::descendants::Descendants;
use crh_lint::sandbox::CommandOutcome;
use crh_os::environment::{system_variables, user_variables};
use crh_os::process::{EndSignal, has_exited, spawn_group};

/// Hidden command that runs crh as the companion process.
pub(crate) const COMPANION: &str = "__companion";

/// How often to check whether the command has exited.
const EXIT_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum bytes of output to keep, from the end of the output.
const OUTPUT_MAX: usize = 64 << 10;
/// Time to read the rest of the pipe after exit. A descendant that survived may keep the pipe open.
const PIPE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum answer of the companion, in bytes: the kept output with every byte escaped.
const ANSWER_MAX: u64 = 1 << 20;

/// A verify command and the tree to check.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct VerifyJob {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) tree: PathBuf,
    pub(crate) time_limit: Duration,
}

/// Runs a verify command. If the time limit passes, `is_stopped` returns true, or crh ends, kills
/// the command and everything that it started. `crh` is the executable of the companion; without
/// it, the command survives the end of crh.
pub(crate) fn run_verify(
    crh: Option<&Path>,
    job: &VerifyJob,
    is_stopped: fn() -> bool,
) -> CommandOutcome {
    let outcome = match crh {
        Some(crh) => run_with_companion(crh, job, is_stopped),
        None => run_in_tree(job, is_stopped, Descendants::Unreachable),
    };
    match outcome {
        Ok(outcome) => outcome,
        Err(error) => CommandOutcome::NotRun(error.to_string()),
    }
}

/// The companion process. Reads the job from standard input, which closes when crh ends.
pub(crate) fn run_companion() -> io::Result<()> {
    static PARENT_EXITED: AtomicBool = AtomicBool::new(false);
    let mut stdin = BufReader::new(io::stdin());
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let job: VerifyJob = serde_json::from_str(&line)?;
    std::thread::spawn(move || {
        let result = io::copy(&mut stdin, &mut io::sink());
        PARENT_EXITED.store(true, Ordering::SeqCst);
        result.is_ok()
    });
    let has_parent_exited = || PARENT_EXITED.load(Ordering::SeqCst);
    let outcome = match run_in_tree(&job, has_parent_exited, Descendants::adopt()) {
        Ok(outcome) => outcome,
        Err(error) => CommandOutcome::NotRun(error.to_string()),
    };
    let mut stdout = io::stdout();
    serde_json::to_writer(&mut stdout, &outcome)?;
    stdout.flush()
}

#[expect(clippy::disallowed_methods, reason = "this module starts programs of the user")]
fn run_with_companion(
    crh: &Path,
    job: &VerifyJob,
    is_stopped: fn() -> bool,
) -> io::Result<CommandOutcome> {
    let mut command = Command::new(crh);
    command.arg(COMPANION).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A new group, so that Ctrl-C at the terminal does not reach the companion.
    let (mut child, _group) = spawn_group(restrict_environment(&mut command))?;
    let mut job_line = serde_json::to_vec(job)?;
    job_line.push(b'\n');
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        stdin.write_all(&job_line)?;
    }
    let (sender, receiver) = mpsc::channel();
    let stdout = child.stdout.take();
    std::thread::spawn(move || {
        let mut text = String::new();
        let result = stdout.map(|stdout| stdout.take(ANSWER_MAX).read_to_string(&mut text));
        sender.send(text).is_ok() && result.is_some_and(|result| result.is_ok())
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
    job: &VerifyJob,
    is_stopped: fn() -> bool,
    descendants: Descendants,
) -> io::Result<CommandOutcome> {
    let VerifyJob { program, args, tree, time_limit } = job;
    let (pipe, stdout) = io::pipe()?;
    let mut command = match program.contains('/') {
        true => Command::new(tree.join(program)),
        false => Command::new(program),
    };
    command.args(args).current_dir(tree).stdin(Stdio::null());
    command.stderr(stdout.try_clone()?).stdout(stdout);
    let spawn_result = spawn_group(restrict_environment(&mut command));
    // Closes this process's copies of the pipe's write end.
    drop(command);
    let (mut child, group) = match spawn_result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(CommandOutcome::NotRun(format!("there is no program `{program}`")));
        }
        child => child?,
    };
    let output = CapturedOutput::capture(pipe);
    let wait_end = wait_until_exit(&mut child, *time_limit, is_stopped);
    // Also kills processes that the command left behind.
    group.signal(EndSignal::Kill);
    // Reaps the child; its pid may be reused from here on.
    let status = child.wait()?;
    descendants.kill();
    match wait_end? {
        WaitEnd::TimedOut => Ok(CommandOutcome::TooSlow(time_limit.as_secs())),
        WaitEnd::Stopped => Ok(CommandOutcome::NotRun("it was stopped".to_owned())),
        WaitEnd::Exited if status.success() => Ok(CommandOutcome::Passed),
        WaitEnd::Exited => Ok(CommandOutcome::Failed(status.code(), output.finish())),
    }
}

/// Why waiting ended.
enum WaitEnd {
    Exited,
    TimedOut,
    Stopped,
}

fn wait_until_exit(
    child: &mut Child,
    time_limit: Duration,
    is_stopped: fn() -> bool,
) -> io::Result<WaitEnd> {
    let start = Instant::now();
    loop {
        if has_exited(child)? {
            return Ok(WaitEnd::Exited);
        }
        if start.elapsed() >= time_limit {
            return Ok(WaitEnd::TimedOut);
        }
        if is_stopped() {
            return Ok(WaitEnd::Stopped);
        }
        std::thread::sleep(EXIT_INTERVAL);
    }
}

fn restrict_environment(command: &mut Command) -> &mut Command {
    let variables =
        PASSED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(variables).env("NO_COLOR", "1");
    command.envs(system_variables()).envs(user_variables())
}

/// Output of a command. crh reads all of it, so that the command never blocks, but keeps only the
/// end.
struct CapturedOutput {
    tail: TailBuffer,
    /// Disconnects when the pipe is closed. Never receives a message.
    pipe_closed: Receiver<()>,
}

impl CapturedOutput {
    fn capture(mut pipe: PipeReader) -> Self {
        let tail = TailBuffer::default();
        let mut writer = tail.clone();
        let (sender, pipe_closed) = mpsc::channel();
        // Nothing joins this thread. It ends when the pipe is closed.
        std::thread::spawn(move || {
            let result = io::copy(&mut pipe, &mut writer);
            drop(sender);
            result.is_ok()
        });
        Self { tail, pipe_closed }
    }

    /// The end of the output, after the command has exited.
    fn finish(self) -> String {
        match self.pipe_closed.recv_timeout(PIPE_TIMEOUT) {
            Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
        self.tail.text()
    }
}

/// Buffer that keeps only the last bytes that a writer writes to it.
#[derive(Debug, Clone, Default)]
struct TailBuffer(Arc<Mutex<Vec<u8>>>);

impl TailBuffer {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let start = bytes.len().saturating_sub(OUTPUT_MAX);
        String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned()
    }
}

impl Write for TailBuffer {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(buf);
        // Trim rarely, so that bytes are not moved with every write.
        if bytes.len() > 2 * OUTPUT_MAX {
            let excess = bytes.len() - OUTPUT_MAX;
            bytes.drain(..excess);
        }
        Ok(buf.len())
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
        let check = VerifyJob {
            program: program.to_owned(),
            args,
            tree: tree.to_owned(),
            time_limit: time,
        };
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
        let missing_program = run("there-is-no-such-program", &[], tree.path(), Duration::MAX);
        assert_eq!(
            missing_program,
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
        let check = VerifyJob { program, args, tree, time_limit: Duration::MAX };
        let end = run_verify(None, &check, || true);
        assert_eq!(end, CommandOutcome::NotRun("it was stopped".to_owned()));
    }
}
