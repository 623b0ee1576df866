//! Runs a git child process: writes its input, reads its output, and stops it at the time limit.
//!
//! Invariant: the child is reaped only after the last signal, so that its process id cannot be
//! reused.

use std::io;
use std::io::{Read, Write};
use std::process::{Child, Output};
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::process::GitReach;
use crate::running_fetches;
use crate::running_fetches::SIGTERM_WAIT;
use crh_os::process::{EndSignal, ProcessGroup, wait_until_exited};

/// Maximum bytes of error output, so that git cannot fill the memory. If git writes more, crh shows
/// no error message: a message consists of the last lines, and crh does not read that far.
const STDERR_MAX: u64 = 16 << 20;

/// Limits of a child process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChildLimits {
    pub(crate) time: Duration,
    pub(crate) output_bytes: u64,
}

/// How a child process ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChildEnd {
    Exited(Output),
    TimedOut,
    TooMuchOutput,
}

/// Writes the input and collects the output.
pub(crate) fn wait_with_input(
    (mut child, group): (Child, ProcessGroup),
    input: &[u8],
    reach: GitReach,
    limits: ChildLimits,
) -> io::Result<ChildEnd> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (done_sender, done_receiver) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // If the child stops reading, it reports the reason on stderr.
            stdin.is_some_and(|mut stdin| stdin.write_all(input).is_ok())
        });
        let stderr = scope.spawn(move || read_up_to(stderr, STDERR_MAX));
        let group = &group;
        let watch = scope.spawn(move || stop_after_timeout(group, limits.time, &done_receiver));
        let stdout = read_up_to(stdout, limits.output_bytes);
        let is_too_much = matches!(stdout, Ok(None));
        if is_too_much {
            group.signal(EndSignal::Terminate);
        }
        let stderr = stderr.join().unwrap_or(Ok(None));
        let wait_result = wait_until_exited(&mut child);
        drop(done_sender);
        let timed_out = watch.join().unwrap_or(false);
        match reach {
            GitReach::Disk => {}
            GitReach::Network => {
                if timed_out {
                    // The children of git may ignore SIGTERM.
                    group.signal(EndSignal::Kill);
                }
                running_fetches::remove_group(group);
            }
        }
        wait_result?;
        let status = child.wait()?;
        Ok(match stdout? {
            Some(stdout) if !timed_out => {
                let stderr = stderr?.unwrap_or_default();
                ChildEnd::Exited(Output { status, stdout, stderr })
            }
            None if !timed_out => ChildEnd::TooMuchOutput,
            Some(_) | None => ChildEnd::TimedOut,
        })
    })
}

/// Reads a pipe to its end. If it has more than `max_bytes`, closes it and returns `None`.
fn read_up_to(pipe: Option<impl Read>, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(max_bytes + 1).read_to_end(&mut bytes)?;
    }
    Ok((bytes.len() as u64 <= max_bytes).then_some(bytes))
}

/// Stops a child at the time limit: first SIGTERM, so that git removes its locks, then SIGKILL.
/// Returns whether the time limit was reached.
fn stop_after_timeout(
    group: &ProcessGroup,
    time_limit: Duration,
    done_receiver: &Receiver<()>,
) -> bool {
    let times_out =
        |time_limit| done_receiver.recv_timeout(time_limit) == Err(RecvTimeoutError::Timeout);
    if !times_out(time_limit) {
        return false;
    }
    group.signal(EndSignal::Terminate);
    if times_out(SIGTERM_WAIT) {
        group.signal(EndSignal::Kill);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use tempfile::TempDir;

    use super::*;

    /// Runs a script in place of a git network command.
    #[expect(clippy::disallowed_methods, reason = "a script in the place of git")]
    fn run(folder: &Path, script: &str, limit: Duration) -> ChildEnd {
        let mut command = Command::new("sh");
        command.current_dir(folder).args(["-c", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = running_fetches::spawn_group(&mut command).unwrap();
        let limits = ChildLimits { time: limit, output_bytes: 1_000 };
        wait_with_input(child, b"word\n", GitReach::Network, limits).unwrap()
    }

    #[test]
    fn child_gets_input_and_output_is_collected() {
        let folder = TempDir::new().unwrap();
        let script = "read word; echo out $word; echo err >&2; exit 3";
        let ChildEnd::Exited(output) = run(folder.path(), script, Duration::from_secs(60)) else {
            panic!("a limit was reached");
        };
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((output.stdout, output.stderr), (b"out word\n".to_vec(), b"err\n".to_vec()));
    }

    #[test]
    fn child_with_endless_output_is_stopped() {
        let folder = TempDir::new().unwrap();
        let end = run(folder.path(), "yes", Duration::from_secs(60));
        assert_eq!(end, ChildEnd::TooMuchOutput);
    }

    #[test]
    fn late_child_gets_sigterm_then_sigkill() {
        let folder = TempDir::new().unwrap();
        let lock = folder.path().join("lock");
        let wait_loop = "touch lock; while test -e lock; do sleep 0.1; done";
        let leaves_lock = |on_sigterm: &str| {
            let script = format!("trap '{on_sigterm}' TERM; {wait_loop}");
            assert_eq!(
                run(folder.path(), &script, Duration::from_millis(500)),
                ChildEnd::TimedOut,
                "{on_sigterm}"
            );
            fs::exists(&lock).unwrap()
        };
        assert!(!leaves_lock("rm lock; exit 1"));
        assert!(leaves_lock(""));
    }
}
