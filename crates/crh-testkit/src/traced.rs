//! Runs a program under ptrace and injects a fault before a chosen file change: SIGKILL, a full
//! disk or a read-only disk.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::sys::ptrace::Options;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::program::Program;

/// Stops before `exec`, so that the tracer misses nothing.
const STOPPED: &str = "kill -STOP $$; exec \"$0\" \"$@\"";

/// Longest path that is read from the traced program.
const PATH_BYTES: usize = 4_096;

/// A fault to inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL.
    Kill,
    /// From then on the disk is full: nothing can be created or written.
    FullDisk,
    /// From then on the disk is read-only.
    ReadOnly,
}

/// Result of a traced program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Traced {
    /// The fault was injected before this change. Exit code; -1 if it was killed.
    Hit(String, i32),
    /// The program ended first: its exit code and its number of changes.
    Ended(i32, usize),
    /// ptrace is forbidden here.
    NotPermitted,
    /// Failing a system call is not implemented for this architecture.
    NotOnThisMachine,
}

impl Traced {
    /// Whether the trace shows anything. If ptrace is forbidden, prints a notice directly to the
    /// terminal, because the test harness hides output of passing tests.
    ///
    /// # Panics
    ///
    /// If ptrace is forbidden and `CRH_TEST_ALL` is set. Some containers forbid ptrace, and the
    /// other tests are still useful there.
    pub fn is_shown(&self, what: &str) -> bool {
        let why = match self {
            Self::Hit(..) | Self::Ended(..) => return true,
            Self::NotPermitted => "no program may be traced here (ptrace)",
            Self::NotOnThisMachine => "tracing is not supported on this platform",
        };
        let is_all = std::env::var_os("CRH_TEST_ALL").is_some_and(|value| !value.is_empty());
        assert!(!is_all || *self != Self::NotPermitted, "`{what}` was not tried: {why}");
        let told = format!("\nNOT SHOWN: `{what}` was not tried: {why}\n");
        std::io::stderr().write_all(told.as_bytes()).unwrap();
        false
    }
}

/// Arguments of a system call that name its file.
#[derive(Debug, Clone, Copy)]
enum About {
    /// A folder and a path, in these two arguments.
    PathAt(usize, usize),
    /// The same, if the flags in the third argument create or truncate the file.
    OpenAt(usize, usize, usize),
    /// A path.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "calls of one machine"))]
    Path(usize),
    /// A file descriptor.
    File(usize),
}

/// System calls that change a file or folder.
const CALLS: &[(libc::c_long, &str, About)] = &[
    (libc::SYS_openat, "open", About::OpenAt(0, 1, 2)),
    (libc::SYS_mkdirat, "mkdir", About::PathAt(0, 1)),
    (libc::SYS_unlinkat, "unlink", About::PathAt(0, 1)),
    (libc::SYS_renameat, "rename", About::PathAt(0, 1)),
    (libc::SYS_renameat2, "rename", About::PathAt(0, 1)),
    (libc::SYS_linkat, "link", About::PathAt(2, 3)),
    (libc::SYS_symlinkat, "symlink", About::PathAt(1, 2)),
    (libc::SYS_fchmodat, "chmod", About::PathAt(0, 1)),
    (libc::SYS_fchownat, "chown", About::PathAt(0, 1)),
    (libc::SYS_write, "write", About::File(0)),
    (libc::SYS_pwrite64, "write", About::File(0)),
    (libc::SYS_writev, "write", About::File(0)),
    (libc::SYS_ftruncate, "truncate", About::File(0)),
    (libc::SYS_fallocate, "allocate", About::File(0)),
    (libc::SYS_copy_file_range, "copy", About::File(2)),
    (libc::SYS_sendfile, "copy", About::File(0)),
    (libc::SYS_fchmod, "chmod", About::File(0)),
    (libc::SYS_fchown, "chown", About::File(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, "rename", About::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, "mkdir", About::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rmdir, "rmdir", About::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink", About::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, "link", About::Path(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_symlink, "symlink", About::Path(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, "chmod", About::Path(0)),
];

/// System calls that fail on a full disk.
const NEEDS_ROOM: [&str; 8] =
    ["open", "mkdir", "write", "link", "symlink", "truncate", "allocate", "copy"];

impl Program {
    /// Runs the program and injects a fault before its `number`-th change (from 1) below a folder.
    /// Its output is discarded. Child processes are not traced.
    ///
    /// # Panics
    ///
    /// If tracing fails.
    pub fn hit_at(self, below: &Path, number: usize, blow: Blow) -> Traced {
        self.hit_at_one_of(|_| true, below, number, blow)
    }

    /// Like [`Self::hit_at`], but counts only some changes, such as `rename shop/orders.py`.
    ///
    /// # Panics
    ///
    /// If tracing fails.
    pub fn hit_at_one_of(
        self,
        counts: fn(&str) -> bool,
        below: &Path,
        number: usize,
        blow: Blow,
    ) -> Traced {
        if blow != Blow::Kill && !fails::IS_POSSIBLE {
            return Traced::NotOnThisMachine;
        }
        let below = below.canonicalize().unwrap();
        self.traced(Target { below, counts, number, blow, each: Box::new(|_| {}) })
    }

    /// Runs the program to its end and calls `each` before every change below a folder. At that
    /// moment the folder is as SIGKILL would leave it; no thread changes anything meanwhile.
    ///
    /// # Panics
    ///
    /// If tracing fails.
    pub fn stopped_at_each(self, below: &Path, each: impl FnMut(&str) + Send + 'static) -> Traced {
        let below = below.canonicalize().unwrap();
        let (number, blow, each) = (usize::MAX, Blow::Kill, Box::new(each));
        self.traced(Target { below, counts: |_| true, number, blow, each })
    }

    fn traced(self, target: Target) -> Traced {
        // On a separate thread without other children, because it waits for any child.
        std::thread::spawn(move || Tracer::start(self.into_command(), target)).join().unwrap()
    }
}

/// Where to inject the fault, and which one.
struct Target {
    below: PathBuf,
    counts: fn(&str) -> bool,
    number: usize,
    blow: Blow,
    /// Called before each change.
    each: Box<dyn FnMut(&str) + Send>,
}

/// A program under ptrace.
struct Tracer {
    root: Pid,
    target: Target,
    seen: usize,
    /// The change before which the fault was injected.
    hit: Option<String>,
    /// Threads whose current call fails, with the error.
    failing: BTreeMap<Pid, Errno>,
}

impl Tracer {
    #[expect(clippy::disallowed_methods, reason = "tests run the real program")]
    #[expect(clippy::zombie_processes, reason = "it is waited for by its number")]
    fn start(command: Command, target: Target) -> Traced {
        let mut stopped = Command::new("sh");
        stopped.args(["-c", STOPPED]).arg(command.get_program()).args(command.get_args());
        stopped.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        for (name, value) in command.get_envs() {
            stopped.envs(value.map(|value| (name, value)));
        }
        if let Some(folder) = command.get_current_dir() {
            stopped.current_dir(folder);
        }
        let child = stopped.spawn().unwrap();
        let root = Pid::from_raw(i32::try_from(child.id()).unwrap());
        waitpid(root, Some(WaitPidFlag::WUNTRACED)).unwrap();
        match ptrace::attach(root) {
            Ok(()) => {}
            Err(Errno::EPERM | Errno::ENOSYS | Errno::EACCES) => {
                kill(root, Signal::SIGKILL).unwrap();
                waitpid(root, None).unwrap();
                return Traced::NotPermitted;
            }
            Err(why) => panic!("{why}"),
        }
        waitpid(root, Some(WaitPidFlag::__WALL)).unwrap();
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(root, options).unwrap();
        go_on(root, None);
        let (seen, hit, failing) = (0, None, BTreeMap::new());
        Self { root, target, seen, hit, failing }.follow()
    }

    fn follow(mut self) -> Traced {
        loop {
            let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
            match waitpid(None, Some(flags)).unwrap() {
                WaitStatus::PtraceSyscall(thread) => self.called(thread),
                WaitStatus::PtraceEvent(thread, _, _)
                | WaitStatus::Stopped(thread, Signal::SIGSTOP) => {
                    go_on(thread, None);
                }
                WaitStatus::Stopped(thread, signal) => go_on(thread, Some(signal)),
                WaitStatus::Exited(thread, code) if thread == self.root => {
                    return match self.hit {
                        Some(what) => Traced::Hit(what, code),
                        None => Traced::Ended(code, self.seen),
                    };
                }
                WaitStatus::Signaled(thread, signal, _) if thread == self.root => {
                    let what = self.hit.unwrap_or_else(|| panic!("{signal}"));
                    return Traced::Hit(what, -1);
                }
                WaitStatus::Exited(..)
                | WaitStatus::Signaled(..)
                | WaitStatus::Continued(_)
                | WaitStatus::StillAlive => {}
            }
        }
    }

    /// Handles the start or end of a system call.
    fn called(&mut self, thread: Pid) {
        let begins = ptrace::syscall_info(thread)
            .is_ok_and(|info| info.op == libc::PTRACE_SYSCALL_INFO_ENTRY);
        match self.failing.remove(&thread) {
            Some(error) if !begins => fails::with(thread, error),
            Some(_) | None => {}
        }
        if begins && let Some((name, what)) = self.changes(thread) {
            (self.target.each)(&what);
            if (self.target.counts)(&what) {
                self.seen += 1;
                if self.seen == self.target.number {
                    self.hit = Some(what);
                }
            }
            let error = match self.target.blow {
                _ if self.hit.is_none() => None,
                Blow::Kill => {
                    // A call that was about to start is not executed.
                    kill(self.root, Signal::SIGKILL).unwrap();
                    return;
                }
                Blow::FullDisk => NEEDS_ROOM.contains(&name).then_some(Errno::ENOSPC),
                Blow::ReadOnly => Some(Errno::EROFS),
            };
            if let Some(error) = error {
                fails::skip(thread);
                self.failing.insert(thread, error);
            }
        }
        go_on(thread, None);
    }

    /// The change that a thread is about to make below the folder, and its path.
    fn changes(&self, thread: Pid) -> Option<(&'static str, String)> {
        let line = fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
        let mut words = line.split_whitespace();
        let number: libc::c_long = words.next()?.parse().ok()?;
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let args: Vec<u64> = words.map_while(hex).collect();
        let (_, name, about) = CALLS.iter().find(|(call, _, _)| *call == number)?;
        let path = match *about {
            About::File(file) => opened(thread, *args.get(file)?),
            About::Path(path) => named(thread, None, *args.get(path)?),
            About::PathAt(folder, path) => {
                named(thread, args.get(folder).copied(), *args.get(path)?)
            }
            About::OpenAt(folder, path, flags) => {
                let writes = libc::O_CREAT | libc::O_TRUNC;
                let flags = i32::try_from(*args.get(flags)? & 0xffff_ffff).ok()?;
                let path = (flags & writes != 0).then_some(*args.get(path)?)?;
                named(thread, args.get(folder).copied(), path)
            }
        }?;
        let path = path.strip_prefix(&self.target.below).ok()?;
        Some((name, format!("{name} {}", path.display())))
    }
}

/// Continues a thread to its next call, delivering a signal. It may have ended meanwhile.
fn go_on(thread: Pid, signal: Option<Signal>) {
    match ptrace::syscall(thread, signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(why) => panic!("{why}"),
    }
}

/// The path of a file descriptor.
fn opened(thread: Pid, file: u64) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{thread}/fd/{file}")).ok()
}

/// The path at an address, relative to a folder descriptor or the current folder.
fn named(thread: Pid, folder: Option<u64>, address: u64) -> Option<PathBuf> {
    let mut bytes = vec![0; PATH_BYTES];
    let memory = File::open(format!("/proc/{thread}/mem")).ok()?;
    let count = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..count].iter().position(|byte| *byte == 0)?;
    let path = Path::new(OsStr::from_bytes(&bytes[..end]));
    // `AT_FDCWD` is negative as a 32-bit number.
    let is_current = folder.is_none_or(|folder| folder & 0x8000_0000 != 0);
    let folder = match is_current {
        true => fs::read_link(format!("/proc/{thread}/cwd")).ok(),
        false => opened(thread, folder?),
    }?;
    Some(folder.join(path))
}

/// Makes system calls fail.
#[cfg(target_arch = "x86_64")]
mod fails {
    use nix::errno::Errno;
    use nix::sys::ptrace;
    use nix::unistd::Pid;

    pub(super) const IS_POSSIBLE: bool = true;

    /// Replaces the call that a thread starts by an invalid one.
    pub(super) fn skip(thread: Pid) {
        let mut registers = ptrace::getregs(thread).unwrap();
        registers.orig_rax = u64::MAX;
        ptrace::setregs(thread, registers).unwrap();
    }

    /// Sets the error of the call that a thread ends.
    pub(super) fn with(thread: Pid, error: Errno) {
        let mut registers = ptrace::getregs(thread).unwrap();
        registers.rax = i64::from(-(error as i32)).cast_unsigned();
        ptrace::setregs(thread, registers).unwrap();
    }
}

/// Not implemented for other architectures.
#[cfg(not(target_arch = "x86_64"))]
mod fails {
    use nix::errno::Errno;
    use nix::unistd::Pid;

    pub(super) const IS_POSSIBLE: bool = false;

    pub(super) fn skip(_: Pid) {}

    pub(super) fn with(_: Pid, _: Errno) {}
}
