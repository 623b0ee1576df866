//! System calls that are denied in the sandbox.
//!
//! Landlock controls which files a process can open. Namespaces control which processes and
//! networks it can reach. The filters deny calls that both allow: new sockets, changes to
//! permissions and times of files, ways out of the process group, and kernel features that no
//! analyser needs.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Denied with `EPERM`.
#[rustfmt::skip]
const DENIED: &[i64] = &[
    // Communication: sockets of every family, and request queues that this filter cannot inspect.
    // `socketpair` and `sendto` are handled below.
    libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_sendmmsg,
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
    // Changing files without opening them.
    libc::SYS_fchmod, libc::SYS_fchmodat, FCHMODAT2, libc::SYS_fchown, libc::SYS_fchownat,
    libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr, libc::SYS_removexattr,
    libc::SYS_lremovexattr, libc::SYS_fremovexattr, SETXATTRAT, REMOVEXATTRAT, FILE_SETATTR,
    libc::SYS_utimensat, libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at,
    // Watching files that the analyser may not open.
    libc::SYS_inotify_init1, libc::SYS_inotify_add_watch, libc::SYS_fanotify_init, libc::SYS_fanotify_mark,
    // Leaving the process group, which is killed as a whole.
    libc::SYS_setsid, libc::SYS_setpgid,
    // Other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise, libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_chroot, libc::SYS_pivot_root, libc::SYS_mount,
    libc::SYS_umount2, libc::SYS_open_tree, libc::SYS_move_mount, libc::SYS_fsopen, libc::SYS_fsconfig,
    libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr,
    // Keys and kernel administration.
    libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl, libc::SYS_bpf, libc::SYS_perf_event_open,
    libc::SYS_userfaultfd, libc::SYS_quotactl, libc::SYS_syslog, libc::SYS_acct,
    libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_reboot, libc::SYS_kexec_load, libc::SYS_init_module,
    libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_settimeofday, libc::SYS_clock_settime,
    libc::SYS_clock_adjtime, libc::SYS_adjtimex, libc::SYS_sethostname, libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// Calls newer than the libc crate's list. Their numbers are the same on every architecture.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// Denied calls that only this architecture has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const DENIED_ON_THIS_ARCH: &[i64] = &[
    libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat,
    libc::SYS_inotify_init, libc::SYS_uselib, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_kexec_file_load,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_ON_THIS_ARCH: &[i64] = &[];

/// x86_64 kernels may support the x32 ABI, which sets this bit in call numbers. A few calls have
/// other numbers there.
#[cfg(target_arch = "x86_64")]
const X32_BIT: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const X32_BIT: Option<i64> = None;
/// x32 numbers of `ptrace`, `kexec_load`, `process_vm_readv`, `process_vm_writev`, `execve`,
/// `execveat`, `ioctl` and `sendmmsg`.
const X32_ONLY: [i64; 8] = [521, 528, 539, 540, 520, 545, 514, 538];

/// Socket types: the lowest bits of `socketpair`'s second argument.
const SOCKET_KINDS: std::ops::Range<u64> = 0..0x10;
/// `ioctl` requests that change a file opened only for reading (flags in two widths, version,
/// extended flags, encryption, seal), and those that type into a terminal.
const DENIED_IOCTLS: [u64; 8] =
    [0x4008_6602, 0x4004_6602, 0x4008_7602, 0x401c_5820, 0x800c_6613, 0x4080_6685, 0x5412, 0x541c];

/// The filters, in the order to apply them. The error is a sentence.
pub(super) fn filters() -> Result<Vec<Vec<seccompiler::sock_filter>>, String> {
    let mut denied_calls: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in DENIED.iter().chain(DENIED_ON_THIS_ARCH) {
        denied_calls.insert(*call, Vec::new());
        denied_calls.extend(X32_BIT.map(|bit| (call | bit, Vec::new())));
    }
    let x32_call = |call: i64| X32_BIT.map(|bit| (call | bit, Vec::new()));
    denied_calls.extend(X32_ONLY.into_iter().filter_map(x32_call));
    for (call, rules) in [
        (libc::SYS_clone, deny_user_namespaces()?),
        (libc::SYS_socketpair, deny_datagram_pairs()?),
        (libc::SYS_sendto, vec![rule(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?]),
        (libc::SYS_ioctl, deny_ioctls()?),
    ] {
        denied_calls.extend(X32_BIT.map(|bit| (call | bit, rules.clone())));
        denied_calls.insert(call, rules);
    }
    // The arguments of `clone3` cannot be inspected. After `ENOSYS`, programs fall back to `clone`.
    let unsupported_calls = [Some(libc::SYS_clone3), X32_BIT.map(|bit| libc::SYS_clone3 | bit)];
    let unsupported_calls =
        unsupported_calls.into_iter().flatten().map(|call| (call, Vec::new())).collect();
    Ok(vec![filter(unsupported_calls, libc::ENOSYS)?, filter(denied_calls, libc::EPERM)?])
}

/// A child process must not get its own user namespace: there it could mount file systems.
fn deny_user_namespaces() -> Result<Vec<SeccompRule>, String> {
    let flag = u64::try_from(libc::CLONE_NEWUSER).map_err(|why| why.to_string())?;
    Ok(vec![rule(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?])
}

/// node and Python talk to their children through pairs of stream sockets, and Rust programs such
/// as cargo through pairs of packet sockets. Such sockets can send only to each other, because the
/// kernel ignores any other address. Sockets of other kinds of pairs could send to any listening
/// path, so they are denied.
fn deny_datagram_pairs() -> Result<Vec<SeccompRule>, String> {
    let number = |it: i32| u64::try_from(it).map_err(|why| why.to_string());
    let family = number(libc::AF_UNIX)?;
    let allowed_kinds = [number(libc::SOCK_STREAM)?, number(libc::SOCK_SEQPACKET)?];
    let kind = SeccompCmpOp::MaskedEq(SOCKET_KINDS.end - 1);
    let denied_kinds = SOCKET_KINDS.filter(|it| !allowed_kinds.contains(it));
    let kind_rules = denied_kinds.map(|it| rule(1, SeccompCmpArgLen::Dword, kind.clone(), it));
    kind_rules.chain([rule(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)]).collect()
}

fn deny_ioctls() -> Result<Vec<SeccompRule>, String> {
    let rule = |request| rule(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request);
    DENIED_IOCTLS.into_iter().map(rule).collect()
}

/// A rule for a call whose argument (0-based) matches.
fn rule(
    argument: u8,
    length: SeccompCmpArgLen,
    comparison: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, String> {
    let condition = SeccompCondition::new(argument, length, comparison, value);
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
    fn filters_compile_on_this_architecture() {
        assert_eq!(super::filters().map(|filters| filters.len()), Ok(2));
    }
}
