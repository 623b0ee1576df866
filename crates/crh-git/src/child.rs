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

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::process::GitReach;
use crate::running_fetches;
use crate::running_fetches::GRACE;

/// Writes the input and collects the output. Returns `None` after a timeout.
pub(crate) fn wait_with_input(
    mut child: Child,
    input: &[u8],
    reach: GitReach,
    limit: Duration,
) -> io::Result<Option<Output>> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let id = Pid::from_child(&child);
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A child that stops reading reports why on stderr.
            stdin.is_some_and(|mut stdin| stdin.write_all(input).is_ok())
        });
        let stderr = scope.spawn(move || read_all(stderr));
        let watch = scope.spawn(move || stop_if_late(id, reach, limit, &is_done));
        let stdout = read_all(stdout);
        let stderr = stderr.join().unwrap_or_else(|_| Ok(Vec::new()));
        let ended = wait_until_exited(id);
        drop(done);
        let is_late = watch.join().unwrap_or(false);
        match reach {
            GitReach::Disk => {}
            GitReach::Network => {
                if is_late {
                    // Its own children may ignore SIGTERM.
                    running_fetches::signal_group(id, Signal::KILL);
                }
                running_fetches::remove_group(id);
            }
        }
        ended?;
        let status = child.wait()?;
        let output = Output { status, stdout: stdout?, stderr: stderr? };
        Ok((!is_late).then_some(output))
    })
}

fn read_all(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Waits for the exit without reaping the child.
fn wait_until_exited(id: Pid) -> io::Result<()> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    retry_on_intr(|| waitid(WaitId::Pid(id), options))?;
    Ok(())
}

/// Stops a child at the time limit: SIGTERM, so that it removes its locks, then SIGKILL. Returns
/// whether it was late.
fn stop_if_late(id: Pid, reach: GitReach, limit: Duration, is_done: &Receiver<()>) -> bool {
    let is_late = |limit| is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
    if !is_late(limit) {
        return false;
    }
    send_signal(id, reach, Signal::TERM);
    if is_late(GRACE) {
        send_signal(id, reach, Signal::KILL);
    }
    true
}

fn send_signal(id: Pid, reach: GitReach, signal: Signal) {
    match reach {
        // An error means that it has just exited.
        GitReach::Disk => kill_process(id, signal).unwrap_or_default(),
        GitReach::Network => running_fetches::signal_group(id, signal),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use tempfile::TempDir;

    use super::*;

    /// Runs a script in place of a git network command.
    #[expect(clippy::disallowed_methods, reason = "a script in the place of git")]
    fn run(folder: &Path, script: &str, limit: Duration) -> Option<Output> {
        let mut command = Command::new("sh");
        command.current_dir(folder).args(["-c", script]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = running_fetches::spawn_group(|| command.spawn()).unwrap();
        wait_with_input(child, b"word\n", GitReach::Network, limit).unwrap()
    }

    #[test]
    fn child_gets_input_and_output_is_collected() {
        let folder = TempDir::new().unwrap();
        let script = "read word; echo out $word; echo err >&2; exit 3";
        let output = run(folder.path(), script, Duration::from_secs(60)).unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((output.stdout, output.stderr), (b"out word\n".to_vec(), b"err\n".to_vec()));
    }

    #[test]
    fn late_child_gets_sigterm_then_sigkill() {
        let folder = TempDir::new().unwrap();
        let lock = folder.path().join("lock");
        let waits = "touch lock; while test -e lock; do sleep 0.1; done";
        let late = |heard: &str| {
            let script = format!("trap '{heard}' TERM; {waits}");
            assert_eq!(run(folder.path(), &script, Duration::from_millis(500)), None, "{heard}");
            fs::exists(&lock).unwrap()
        };
        assert!(!late("rm lock; exit 1"));
        assert!(late(""));
    }
}
