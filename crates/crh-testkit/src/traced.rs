//! Runs a program under ptrace and injects a fault before a chosen file change: SIGKILL, a full
//! disk or a read-only disk.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::fs::File;
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

/// Shell script that stops before `exec`, so that the tracer sees every system call of the program.
const STOP_BEFORE_EXEC: &str = "kill -STOP $$; exec \"$0\" \"$@\"";

/// Longest path that is read from the traced program.
const PATH_BYTES: usize = 4_096;

/// A fault to inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// SIGKILL.
    Kill,
    /// From this change on, the disk is full: nothing can be created or written.
    FullDisk,
    /// From this change on, the disk is read-only.
    ReadOnly,
}

/// Result of a traced program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceOutcome {
    /// The change before which the fault was injected, and the exit code; -1 if the program was
    /// killed.
    Hit(String, i32),
    /// The program exited before the fault: its exit code and its number of changes.
    Ended(i32, usize),
    /// The system forbids ptrace.
    NotPermitted,
    /// Failing a system call is not implemented for this architecture.
    NotOnThisMachine,
}

impl TraceOutcome {
    /// Whether the program was traced.
    ///
    /// # Panics
    ///
    /// If the program was not traced and `CRH_TEST_ALL` is set. Some containers forbid ptrace, and
    /// the other tests are still useful there.
    pub fn is_conclusive(&self, test: &str) -> bool {
        let reason = match self {
            Self::Hit(..) | Self::Ended(..) => return true,
            Self::NotPermitted => "no program may be traced here (ptrace)",
            Self::NotOnThisMachine => "tracing is not supported on this platform",
        };
        crate::skip_test(test, reason);
        false
    }
}

/// Arguments of a system call that name its file.
#[derive(Debug, Clone, Copy)]
enum CallTarget {
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
const CALLS: &[(libc::c_long, &str, CallTarget)] = &[
    (libc::SYS_openat, "open", CallTarget::OpenAt(0, 1, 2)),
    (libc::SYS_mkdirat, "mkdir", CallTarget::PathAt(0, 1)),
    (libc::SYS_unlinkat, "unlink", CallTarget::PathAt(0, 1)),
    (libc::SYS_renameat, "rename", CallTarget::PathAt(0, 1)),
    (libc::SYS_renameat2, "rename", CallTarget::PathAt(0, 1)),
    (libc::SYS_linkat, "link", CallTarget::PathAt(2, 3)),
    (libc::SYS_symlinkat, "symlink", CallTarget::PathAt(1, 2)),
    (libc::SYS_fchmodat, "chmod", CallTarget::PathAt(0, 1)),
    (libc::SYS_fchownat, "chown", CallTarget::PathAt(0, 1)),
    (libc::SYS_write, "write", CallTarget::File(0)),
    (libc::SYS_pwrite64, "write", CallTarget::File(0)),
    (libc::SYS_writev, "write", CallTarget::File(0)),
    (libc::SYS_ftruncate, "truncate", CallTarget::File(0)),
    (libc::SYS_fallocate, "allocate", CallTarget::File(0)),
    (libc::SYS_copy_file_range, "copy", CallTarget::File(2)),
    (libc::SYS_sendfile, "copy", CallTarget::File(0)),
    (libc::SYS_fchmod, "chmod", CallTarget::File(0)),
    (libc::SYS_fchown, "chown", CallTarget::File(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, "rename", CallTarget::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, "mkdir", CallTarget::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rmdir, "rmdir", CallTarget::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink", CallTarget::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, "link", CallTarget::Path(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_symlink, "symlink", CallTarget::Path(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, "chmod", CallTarget::Path(0)),
];

/// System calls that fail on a full disk.
const FAIL_ON_FULL_DISK: [&str; 8] =
    ["open", "mkdir", "write", "link", "symlink", "truncate", "allocate", "copy"];

impl Program {
    /// Runs the program and injects a fault before its `number`-th change (from 1) below a folder.
    /// Its output is discarded. Child processes are not traced.
    ///
    /// # Panics
    ///
    /// If tracing fails.
    pub fn run_with_fault(
        self,
        folder: &Path,
        number: usize,
        fault: InjectedFault,
    ) -> TraceOutcome {
        self.run_with_fault_at_matching(|_| true, folder, number, fault)
    }

    /// Like [`Self::run_with_fault`], but counts only changes that `is_counted` accepts, such as
    /// `rename shop/orders.py`.
    ///
    /// # Panics
    ///
    /// If tracing fails.
    pub fn run_with_fault_at_matching(
        self,
        is_counted: fn(&str) -> bool,
        folder: &Path,
        number: usize,
        fault: InjectedFault,
    ) -> TraceOutcome {
        if fault != InjectedFault::Kill && !fails::IS_POSSIBLE {
            return TraceOutcome::NotOnThisMachine;
        }
        let folder = folder.canonicalize().unwrap();
        self.run_traced(FaultPlan {
            folder,
            is_counted,
            number,
            fault,
            on_change: Box::new(|_| {}),
        })
    }

    /// Runs the program to its end and calls `on_change` before every change below a folder. At
    /// that moment the folder is as SIGKILL could leave it. A change that another thread started
    /// before may still go on.
    ///
    /// # Panics
    ///
    /// If tracing fails.
    pub fn run_watching_changes(
        self,
        folder: &Path,
        on_change: impl FnMut(&str) + Send + 'static,
    ) -> TraceOutcome {
        let folder = folder.canonicalize().unwrap();
        let (number, fault, on_change) = (usize::MAX, InjectedFault::Kill, Box::new(on_change));
        self.run_traced(FaultPlan { folder, is_counted: |_| true, number, fault, on_change })
    }

    fn run_traced(self, plan: FaultPlan) -> TraceOutcome {
        // The tracer waits for any child, so it runs on a thread without other children.
        std::thread::spawn(move || Tracer::start(self.into_command(), plan)).join().unwrap()
    }
}

/// Which fault to inject, and before which change.
struct FaultPlan {
    folder: PathBuf,
    is_counted: fn(&str) -> bool,
    number: usize,
    fault: InjectedFault,
    /// Called before each change.
    on_change: Box<dyn FnMut(&str) + Send>,
}

/// A program under ptrace.
struct Tracer {
    root: Pid,
    target: FaultPlan,
    change_count: usize,
    /// The change before which the fault was injected.
    faulty_change: Option<String>,
    /// Threads whose current call fails, with the error.
    failing_calls: BTreeMap<Pid, Errno>,
}

impl Tracer {
    #[expect(clippy::disallowed_methods, reason = "tests run the real program")]
    #[expect(clippy::zombie_processes, reason = "it is waited for by its number")]
    fn start(command: Command, target: FaultPlan) -> TraceOutcome {
        let mut command_line = Command::new("sh");
        command_line
            .args(["-c", STOP_BEFORE_EXEC])
            .arg(command.get_program())
            .args(command.get_args());
        command_line.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        for (name, value) in command.get_envs() {
            command_line.envs(value.map(|value| (name, value)));
        }
        if let Some(folder) = command.get_current_dir() {
            command_line.current_dir(folder);
        }
        let child = command_line.spawn().unwrap();
        let root = Pid::from_raw(i32::try_from(child.id()).unwrap());
        waitpid(root, Some(WaitPidFlag::WUNTRACED)).unwrap();
        match ptrace::attach(root) {
            Ok(()) => {}
            Err(Errno::EPERM | Errno::ENOSYS | Errno::EACCES) => {
                kill(root, Signal::SIGKILL).unwrap();
                waitpid(root, None).unwrap();
                return TraceOutcome::NotPermitted;
            }
            Err(why) => panic!("{why}"),
        }
        waitpid(root, Some(WaitPidFlag::__WALL)).unwrap();
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(root, options).unwrap();
        resume(root, None);
        let (change_count, faulty_change, failing_calls) = (0, None, BTreeMap::new());
        Self { root, target, change_count, faulty_change, failing_calls }.follow()
    }

    fn follow(mut self) -> TraceOutcome {
        loop {
            let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
            match waitpid(None, Some(flags)).unwrap() {
                WaitStatus::PtraceSyscall(thread) => self.handle_syscall(thread),
                WaitStatus::PtraceEvent(thread, _, _)
                | WaitStatus::Stopped(thread, Signal::SIGSTOP) => {
                    resume(thread, None);
                }
                WaitStatus::Stopped(thread, signal) => resume(thread, Some(signal)),
                WaitStatus::Exited(thread, code) if thread == self.root => {
                    return match self.faulty_change {
                        Some(change) => TraceOutcome::Hit(change, code),
                        None => TraceOutcome::Ended(code, self.change_count),
                    };
                }
                WaitStatus::Signaled(thread, signal, _) if thread == self.root => {
                    let change = self.faulty_change.unwrap_or_else(|| panic!("{signal}"));
                    return TraceOutcome::Hit(change, -1);
                }
                WaitStatus::Exited(..)
                | WaitStatus::Signaled(..)
                | WaitStatus::Continued(_)
                | WaitStatus::StillAlive => {}
            }
        }
    }

    /// Handles the start or end of a system call.
    fn handle_syscall(&mut self, thread: Pid) {
        let is_entry = ptrace::syscall_info(thread)
            .is_ok_and(|info| info.op == libc::PTRACE_SYSCALL_INFO_ENTRY);
        match self.failing_calls.remove(&thread) {
            Some(error) if !is_entry => fails::with(thread, error),
            Some(_) | None => {}
        }
        if is_entry && let Some((name, change)) = self.pending_change(thread) {
            (self.target.on_change)(&change);
            if (self.target.is_counted)(&change) {
                self.change_count += 1;
                if self.change_count == self.target.number {
                    self.faulty_change = Some(change);
                }
            }
            let error = match self.target.fault {
                _ if self.faulty_change.is_none() => None,
                InjectedFault::Kill => {
                    // A call that was about to start is not executed.
                    kill(self.root, Signal::SIGKILL).unwrap();
                    return;
                }
                InjectedFault::FullDisk => {
                    FAIL_ON_FULL_DISK.contains(&name).then_some(Errno::ENOSPC)
                }
                InjectedFault::ReadOnly => Some(Errno::EROFS),
            };
            if let Some(error) = error {
                fails::skip(thread);
                self.failing_calls.insert(thread, error);
            }
        }
        resume(thread, None);
    }

    /// The change that a thread is about to make below the folder: the name of its system call, and
    /// that name with the path.
    fn pending_change(&self, thread: Pid) -> Option<(&'static str, String)> {
        let line = fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
        let mut words = line.split_whitespace();
        let number: libc::c_long = words.next()?.parse().ok()?;
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let args: Vec<u64> = words.map_while(hex).collect();
        let (_, name, call_target) = CALLS.iter().find(|(call, _, _)| *call == number)?;
        let path = match *call_target {
            CallTarget::File(file) => descriptor_path(thread, *args.get(file)?),
            CallTarget::Path(path) => path_at_address(thread, None, *args.get(path)?),
            CallTarget::PathAt(folder, path) => {
                path_at_address(thread, args.get(folder).copied(), *args.get(path)?)
            }
            CallTarget::OpenAt(folder, path, flags) => {
                let write_flags = libc::O_CREAT | libc::O_TRUNC;
                let flags = i32::try_from(*args.get(flags)? & 0xffff_ffff).ok()?;
                let path = (flags & write_flags != 0).then_some(*args.get(path)?)?;
                path_at_address(thread, args.get(folder).copied(), path)
            }
        }?;
        let path = path.strip_prefix(&self.target.folder).ok()?;
        Some((name, format!("{name} {}", path.display())))
    }
}

/// Continues a thread to its next call, delivering a signal. The thread may have ended
/// meanwhile.
fn resume(thread: Pid, signal: Option<Signal>) {
    match ptrace::syscall(thread, signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(why) => panic!("{why}"),
    }
}

/// The path of a file descriptor.
fn descriptor_path(thread: Pid, file: u64) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{thread}/fd/{file}")).ok()
}

/// The path at an address, relative to a folder descriptor or the current folder.
fn path_at_address(thread: Pid, folder: Option<u64>, address: u64) -> Option<PathBuf> {
    let mut bytes = vec![0; PATH_BYTES];
    let memory = File::open(format!("/proc/{thread}/mem")).ok()?;
    let count = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..count].iter().position(|byte| *byte == 0)?;
    let path = Path::new(OsStr::from_bytes(&bytes[..end]));
    // `AT_FDCWD` is negative as a 32-bit number.
    let is_current = folder.is_none_or(|folder| folder & 0x8000_0000 != 0);
    let folder = match is_current {
        true => fs::read_link(format!("/proc/{thread}/cwd")).ok(),
        false => descriptor_path(thread, folder?),
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
