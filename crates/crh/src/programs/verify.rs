//! The command by which the user checks a tree, on a copy of one that is trusted.
//!
//! It works in a group of its own, so that all that it has started can be ended with it; but then nothing reaches it that ends crh.
//! So crh starts itself again beside it, as a companion that sees crh go, however it goes, and ends the group and whoever has left it.

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

use super::SHOWN;
use super::descendants::Descendants;
use crh_lint::sandbox::CommandEnd;

/// The word on the command line of crh that makes it the companion of a command.
pub(crate) const COMPANION: &str = "__companion";

/// How often it is looked whether a command has ended that may take minutes.
const LOOK: Duration = Duration::from_millis(20);
/// The end of what a command printed: more than anybody is told.
const PRINTED_MAX: usize = 64 << 10;
/// What is still in a pipe when everybody has ended is read at once; whoever got away may hold it open for ever.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// More than a companion says: what a command printed, with every byte escaped.
const SAID_MAX: u64 = 1 << 20;

/// A command, and the tree that it is to check.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Check {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) tree: PathBuf,
    /// How long it may take.
    pub(crate) time: Duration,
}

/// Runs a command. It and all that it has started is ended when it takes too long, when nobody wants to wait for it any more, and
/// with crh. `crh` is the program that its companion is.
pub(crate) fn verified(crh: Option<&Path>, check: &Check, is_stopped: fn() -> bool) -> CommandEnd {
    let end = match crh {
        Some(crh) => accompanied(crh, check, is_stopped),
        None => in_tree(check, is_stopped, Descendants::Loose),
    };
    match end {
        Ok(end) => end,
        Err(error) => CommandEnd::NotRun(error.to_string()),
    }
}

/// What `crh __companion` does: it is told what to run on its standard input, which ends when crh does.
pub(crate) fn companion() -> io::Result<()> {
    static IS_ALONE: AtomicBool = AtomicBool::new(false);
    let mut stdin = BufReader::new(io::stdin());
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let check: Check = serde_json::from_str(&line)?;
    std::thread::spawn(move || {
        let heard = io::copy(&mut stdin, &mut io::sink());
        IS_ALONE.store(true, Ordering::SeqCst);
        heard.is_ok()
    });
    let is_alone = || IS_ALONE.load(Ordering::SeqCst);
    let end = match in_tree(&check, is_alone, Descendants::adopted()) {
        Ok(end) => end,
        Err(error) => CommandEnd::NotRun(error.to_string()),
    };
    let mut stdout = io::stdout();
    serde_json::to_writer(&mut stdout, &end)?;
    stdout.flush()
}

#[expect(clippy::disallowed_methods, reason = "this is where programs of the user are started")]
fn accompanied(crh: &Path, check: &Check, is_stopped: fn() -> bool) -> io::Result<CommandEnd> {
    let mut command = Command::new(crh);
    command.arg(COMPANION).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // What the user does to crh at the terminal is not for it.
    let mut child = with_few_variables(&mut command).process_group(0).spawn()?;
    let mut spec = serde_json::to_vec(check)?;
    spec.push(b'\n');
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        stdin.write_all(&spec)?;
    }
    let (said, is_said) = mpsc::channel();
    let stdout = child.stdout.take();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.map(|stdout| stdout.take(SAID_MAX).read_to_string(&mut text));
        said.send(text).is_ok() && read.is_some_and(|read| read.is_ok())
    });
    let text = loop {
        match is_said.recv_timeout(LOOK) {
            Ok(text) => break text,
            Err(RecvTimeoutError::Disconnected) => break String::new(),
            // It is told by this, and ends what it has started.
            Err(RecvTimeoutError::Timeout) if is_stopped() => drop(stdin.take()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    child.wait()?;
    serde_json::from_str(&text).map_err(|_| io::Error::other("its companion said nothing"))
}

#[expect(clippy::disallowed_methods, reason = "this is where programs of the user are started")]
fn in_tree(
    check: &Check,
    is_stopped: fn() -> bool,
    descendants: Descendants,
) -> io::Result<CommandEnd> {
    let Check { program, args, tree, time } = check;
    let (pipe, stdout) = io::pipe()?;
    let mut command = match program.contains('/') {
        true => Command::new(tree.join(program)),
        false => Command::new(program),
    };
    command.args(args).current_dir(tree).stdin(Stdio::null());
    command.stderr(stdout.try_clone()?).stdout(stdout).process_group(0);
    let started = with_few_variables(&mut command).spawn();
    // It has ends of the pipe that nobody writes to.
    drop(command);
    let mut child = match started {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(CommandEnd::NotRun(format!("there is no program `{program}`")));
        }
        child => child?,
    };
    let printed = Printed::by(pipe);
    let ended = until_ended(&child, *time, is_stopped);
    // What it has left behind goes too. If that fails, everybody has ended already.
    kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap_or_default();
    // It has ended by itself or was ended now; only here its number is given back.
    let status = child.wait()?;
    descendants.end();
    match ended? {
        Waited::TooSlow => Ok(CommandEnd::TooSlow(time.as_secs())),
        Waited::Stopped => Ok(CommandEnd::NotRun("it was stopped".to_owned())),
        Waited::Ended if status.success() => Ok(CommandEnd::Passed),
        Waited::Ended => Ok(CommandEnd::Failed(status.code(), printed.end())),
    }
}

/// Why a command is not waited for any more.
enum Waited {
    Ended,
    TooSlow,
    Stopped,
}

fn until_ended(child: &Child, time: Duration, is_stopped: fn() -> bool) -> io::Result<Waited> {
    let began = Instant::now();
    loop {
        if has_ended(child)? {
            return Ok(Waited::Ended);
        }
        if began.elapsed() >= time {
            return Ok(Waited::TooSlow);
        }
        if is_stopped() {
            return Ok(Waited::Stopped);
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether a child has ended. It is left to be waited for: until then its number, which is that of its group, is its own.
fn has_ended(child: &Child) -> io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), look)?.is_some())
}

fn with_few_variables(command: &mut Command) -> &mut Command {
    let shown = SHOWN.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(shown).env("NO_COLOR", "1")
}

/// What a command prints. All of it is read, so that it never waits for anybody, and only the end of it is kept.
struct Printed {
    tail: Tail,
    /// Nothing is ever sent: it is cut off when nobody can print any more.
    is_over: Receiver<()>,
}

impl Printed {
    fn by(mut pipe: PipeReader) -> Self {
        let tail = Tail::default();
        let mut kept = tail.clone();
        let (over, is_over) = mpsc::channel();
        // It ends with the pipe, and is not waited for.
        std::thread::spawn(move || {
            let read = io::copy(&mut pipe, &mut kept);
            drop(over);
            read.is_ok()
        });
        Self { tail, is_over }
    }

    /// The end of it, once the command has ended.
    fn end(self) -> String {
        match self.is_over.recv_timeout(LAST_WORDS) {
            Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
        self.tail.text()
    }
}

/// The end of what is written to it.
#[derive(Debug, Clone, Default)]
struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let beyond = bytes.len().saturating_sub(PRINTED_MAX);
        String::from_utf8_lossy(bytes.get(beyond..).unwrap_or_default()).into_owned()
    }
}

impl Write for Tail {
    fn write(&mut self, new: &[u8]) -> io::Result<usize> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(new);
        // Seldom, so that what is kept is not moved with every word.
        if bytes.len() > 2 * PRINTED_MAX {
            let beyond = bytes.len() - PRINTED_MAX;
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

    /// A command in a tree, without a companion.
    fn run(program: &str, args: &[&str], tree: &Path, time: Duration) -> CommandEnd {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let check = Check { program: program.to_owned(), args, tree: tree.to_owned(), time };
        verified(None, &check, || false)
    }

    #[test]
    fn a_command_in_a_tree_passes_fails_or_is_ended_with_what_it_started() {
        let tree = tempfile::tempdir().unwrap();
        let check = |script: &str, time: u64| {
            run("sh", &["-c", script], tree.path(), Duration::from_millis(time))
        };
        assert_eq!(check("touch here", 60_000), CommandEnd::Passed);
        assert!(tree.path().join("here").is_file());
        let said = "one\ntwo\n".to_owned();
        assert_eq!(
            check("echo one; echo two >&2; exit 3", 60_000),
            CommandEnd::Failed(Some(3), said)
        );
        assert_eq!(check("sleep 1000 & wait", 30), CommandEnd::TooSlow(0));
        let none = run("there-is-no-such-program", &[], tree.path(), Duration::MAX);
        assert_eq!(
            none,
            CommandEnd::NotRun("there is no program `there-is-no-such-program`".into())
        );
    }

    #[test]
    fn of_what_is_printed_the_end_is_kept_however_much_it_is() {
        let tree = tempfile::tempdir().unwrap();
        let script = "head -c 10000000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1";
        let end = run("sh", &["-c", script], tree.path(), Duration::MAX);
        let CommandEnd::Failed(Some(1), printed) = end else { panic!("{end:?}") };
        assert_eq!(printed.len(), PRINTED_MAX);
        assert!(printed.ends_with("xxx\nthe end\n"), "{}", printed.len());
        let end = run("yes", &[], tree.path(), Duration::from_millis(50));
        assert_eq!(end, CommandEnd::TooSlow(0));
        let mut tail = Tail::default();
        for _ in 0..1_000 {
            tail.write_all(&[b'x'; 1 << 10]).unwrap();
            assert!(tail.0.lock().unwrap().capacity() <= 8 * PRINTED_MAX);
        }
    }

    #[test]
    fn a_command_that_nobody_waits_for_is_ended() {
        let tree = tempfile::tempdir().unwrap();
        let args = ["-c".to_owned(), "sleep 1000".to_owned()].to_vec();
        let (program, tree) = ("sh".to_owned(), tree.path().to_owned());
        let check = Check { program, args, tree, time: Duration::MAX };
        let end = verified(None, &check, || true);
        assert_eq!(end, CommandEnd::NotRun("it was stopped".to_owned()));
    }
}
