//! System calls that nobody in the sandbox may make.
//!
//! What files are opened is Landlock's business, and what can be reached that of the namespaces. Here is what both leave open: new
//! sockets, the permissions and times of files (which Landlock does not look at), ways out of the process group, and
//! parts of the kernel that no analyser needs and exploits like.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Refused with `EPERM`.
#[rustfmt::skip]
const REFUSED: &[i64] = &[
    // Reaching somebody: sockets of every family, and queues of requests that this filter does not see. Of `socketpair` and
    // `sendto`, see below.
    libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_sendmmsg,
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
    // Files that it may not open, and yet change.
    libc::SYS_fchmod, libc::SYS_fchmodat, FCHMODAT2, libc::SYS_fchown, libc::SYS_fchownat,
    libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr, libc::SYS_removexattr,
    libc::SYS_lremovexattr, libc::SYS_fremovexattr, SETXATTRAT, REMOVEXATTRAT, FILE_SETATTR,
    libc::SYS_utimensat, libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at,
    // Seeing what happens to files that it may not open.
    libc::SYS_inotify_init1, libc::SYS_inotify_add_watch, libc::SYS_fanotify_init, libc::SYS_fanotify_mark,
    // Leaving the group that is ended as a whole.
    libc::SYS_setsid, libc::SYS_setpgid,
    // Other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise, libc::SYS_kcmp,
    // Other views of the system.
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_chroot, libc::SYS_pivot_root, libc::SYS_mount,
    libc::SYS_umount2, libc::SYS_open_tree, libc::SYS_move_mount, libc::SYS_fsopen, libc::SYS_fsconfig,
    libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr,
    // Keys, and the kernel's own affairs.
    libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl, libc::SYS_bpf, libc::SYS_perf_event_open,
    libc::SYS_userfaultfd, libc::SYS_quotactl, libc::SYS_syslog, libc::SYS_acct,
    libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_reboot, libc::SYS_kexec_load, libc::SYS_init_module,
    libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_settimeofday, libc::SYS_clock_settime,
    libc::SYS_clock_adjtime, libc::SYS_adjtimex, libc::SYS_sethostname, libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// Numbers that are the same on every architecture, of calls that are newer than the list they would be in.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// Calls of this architecture alone.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat,
    libc::SYS_inotify_init, libc::SYS_uselib, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_kexec_file_load,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Kernels may have a second set of numbers beside the usual one, with this bit. A few calls have numbers of their own there.
#[cfg(target_arch = "x86_64")]
const SECOND_SET: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_SET: Option<i64> = None;
/// `ptrace`, `kexec_load`, `process_vm_readv`, `process_vm_writev`, those that run a program, `ioctl` and `sendmmsg`, in the
/// second set.
const SECOND_SET_ONLY: [i64; 8] = [521, 528, 539, 540, 520, 545, 514, 538];

/// The kinds of sockets as `socketpair` is told them: the lowest bits of its second argument.
const SOCKET_KINDS: std::ops::Range<u64> = 0..0x10;
/// Requests of `ioctl` that change a file which is only open for reading: its flags, in two widths, its version, its extended
/// flags, its encryption, its seal; and those that type into a terminal.
const REQUESTS: [u64; 8] =
    [0x4008_6602, 0x4004_6602, 0x4008_7602, 0x401c_5820, 0x800c_6613, 0x4080_6685, 0x5412, 0x541c];

/// The filters, to be applied in this order. The error is a sentence.
pub(super) fn filters() -> Result<Vec<Vec<seccompiler::sock_filter>>, String> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        refused.insert(*call, Vec::new());
        refused.extend(SECOND_SET.map(|bit| (call | bit, Vec::new())));
    }
    let second = |call: i64| SECOND_SET.map(|bit| (call | bit, Vec::new()));
    refused.extend(SECOND_SET_ONLY.into_iter().filter_map(second));
    for (call, rules) in [
        (libc::SYS_clone, with_namespace()?),
        (libc::SYS_socketpair, with_address()?),
        (libc::SYS_sendto, vec![rule(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?]),
        (libc::SYS_ioctl, with_request()?),
    ] {
        refused.extend(SECOND_SET.map(|bit| (call | bit, rules.clone())));
        refused.insert(call, rules);
    }
    // Its arguments cannot be seen; whoever is told that it does not exist asks for `clone`.
    let unknown = [Some(libc::SYS_clone3), SECOND_SET.map(|bit| libc::SYS_clone3 | bit)];
    let unknown = unknown.into_iter().flatten().map(|call| (call, Vec::new())).collect();
    Ok(vec![filter(unknown, libc::ENOSYS)?, filter(refused, libc::EPERM)?])
}

/// A new process may not have a user namespace of its own: in it, it could mount things.
fn with_namespace() -> Result<Vec<SeccompRule>, String> {
    let flag = u64::try_from(libc::CLONE_NEWUSER).map_err(|why| why.to_string())?;
    Ok(vec![rule(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?])
}

/// Pairs of streams are how node and Python talk to their own children. Each end has its other end for good; one end of any
/// other kind of pair could be sent from to whoever listens at a path.
fn with_address() -> Result<Vec<SeccompRule>, String> {
    let number = |it: i32| u64::try_from(it).map_err(|why| why.to_string());
    let (family, stream) = (number(libc::AF_UNIX)?, number(libc::SOCK_STREAM)?);
    let kind = SeccompCmpOp::MaskedEq(SOCKET_KINDS.end - 1);
    let others = SOCKET_KINDS.filter(|it| *it != stream);
    let others = others.map(|it| rule(1, SeccompCmpArgLen::Dword, kind.clone(), it));
    others.chain([rule(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)]).collect()
}

fn with_request() -> Result<Vec<SeccompRule>, String> {
    let rule = |request| rule(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request);
    REQUESTS.into_iter().map(rule).collect()
}

/// A call whose argument, counted from 0, is so.
fn rule(
    argument: u8,
    length: SeccompCmpArgLen,
    is: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, String> {
    let condition = SeccompCondition::new(argument, length, is, value);
    let rule = condition.and_then(|condition| SeccompRule::new(vec![condition]));
    rule.map_err(|why| why.to_string())
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: i32,
) -> Result<Vec<seccompiler::sock_filter>, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|why| why.to_string())?;
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch);
    let program: Result<Vec<_>, _> = filter.and_then(TryInto::try_into);
    program.map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_filters_can_be_made_here() {
        assert_eq!(super::filters().map(|filters| filters.len()), Ok(2));
    }
}
