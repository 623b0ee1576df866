//! A git that was started: it is fed and listened to until it ends, and ended when it takes too long.
//!
//! Invariant: as long as anybody may send it a signal, it has not been waited for, so that its number is still its own.

use std::io;
use std::io::{Read, Write};
use std::process::{Child, Output};
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::process::Reach;
use crate::under_way;
use crate::under_way::GRACE;

/// Feeds a child, collects what it prints, and ends it if it takes too long; `None` in that case.
pub(crate) fn finished(
    mut child: Child,
    input: &[u8],
    reach: Reach,
    limit: Duration,
) -> io::Result<Option<Output>> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let id = Pid::from_child(&child);
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A child that stops reading says why on its standard error.
            stdin.is_some_and(|mut stdin| stdin.write_all(input).is_ok())
        });
        let stderr = scope.spawn(move || all_of(stderr));
        let watch = scope.spawn(move || ended_late(id, reach, limit, &is_done));
        let stdout = all_of(stdout);
        let stderr = stderr.join().unwrap_or_else(|_| Ok(Vec::new()));
        let ended = until_ended(id);
        drop(done);
        let is_late = watch.join().unwrap_or(false);
        match reach {
            Reach::Disk => {}
            Reach::Network => {
                if is_late {
                    // What it has started may be deaf.
                    under_way::tell_group(id, Signal::KILL);
                }
                under_way::ended(id);
            }
        }
        ended?;
        let status = child.wait()?;
        let output = Output { status, stdout: stdout?, stderr: stderr? };
        Ok((!is_late).then_some(output))
    })
}

fn all_of(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Waits until a child has ended and leaves it to be waited for.
fn until_ended(id: Pid) -> io::Result<()> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    retry_on_intr(|| waitid(WaitId::Pid(id), options))?;
    Ok(())
}

/// Ends a child that is not done in time: with a request, so that it removes its locks, then by force. Says whether it had to.
fn ended_late(id: Pid, reach: Reach, limit: Duration, is_done: &Receiver<()>) -> bool {
    let is_late = |limit| is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
    if !is_late(limit) {
        return false;
    }
    tell(id, reach, Signal::TERM);
    if is_late(GRACE) {
        tell(id, reach, Signal::KILL);
    }
    true
}

fn tell(id: Pid, reach: Reach, signal: Signal) {
    match reach {
        // If it fails, it has ended by itself in this moment.
        Reach::Disk => kill_process(id, signal).unwrap_or_default(),
        Reach::Network => under_way::tell_group(id, signal),
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

    /// Runs a script as a git that reaches a remote, for as long as the folder is there and no longer than `limit`.
    #[expect(clippy::disallowed_methods, reason = "a script in the place of git")]
    fn run(folder: &Path, script: &str, limit: Duration) -> Option<Output> {
        let mut command = Command::new("sh");
        command.current_dir(folder).args(["-c", script]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = under_way::started(|| command.spawn()).unwrap();
        finished(child, b"word\n", Reach::Network, limit).unwrap()
    }

    #[test]
    fn a_child_is_fed_and_listened_to() {
        let folder = TempDir::new().unwrap();
        let script = "read word; echo out $word; echo err >&2; exit 3";
        let output = run(folder.path(), script, Duration::from_secs(60)).unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((output.stdout, output.stderr), (b"out word\n".to_vec(), b"err\n".to_vec()));
    }

    #[test]
    fn a_child_that_is_late_may_remove_its_locks_and_one_that_is_deaf_is_ended_by_force() {
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
