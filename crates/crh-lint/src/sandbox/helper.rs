//! The helper: it shuts itself in, for good, and then becomes the analyser.
//!
//! It does so in two steps, since a process cannot enter a process namespace of its own, only its children can. The first makes the
//! namespaces and starts the second in them, which takes every other right away from itself and runs the program in its place.
//! If the first is ended, so is the second, and with it everything in its namespace.
//!
//! Invariant: where any of this fails, nothing is run.

use std::fs;
use std::io::Read;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};

use super::{NOT_SHUT_IN, Program, Spec, calls};
use crate::process;

/// The word that makes the helper its second step.
const SECOND: &str = "second";

/// Linux 6.2. Before it, a process that may open next to nothing could still cut every file of the user to nothing.
const LANDLOCK: ABI = ABI::V3;
/// What newer kernels keep watch over besides: devices, ports, and signals and sockets that lead out of the sandbox. The namespaces
/// keep from most of it already.
const LANDLOCK_MORE: ABI = ABI::V6;

/// Programs and libraries of the system. Not all of `/usr`: in containers, checkouts lie in `/usr/src`. What is installed elsewhere is
/// named by whoever has found it.
#[rustfmt::skip]
const SYSTEM: [&str; 18] = [
    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share",
    "/usr/local/bin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/share",
    "/nix/store", "/home/linuxbrew/.linuxbrew",
];
/// What the loader, the runtimes of Python and node, programs that count processors, and semgrep read: it does not start without
/// certificates, though it has nobody to ask.
const SYSTEM_FILES: [&str; 14] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ssl/openssl.cnf",
    "/etc/ssl/certs",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem",
    "/etc/localtime",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
];
const NULL: &str = "/dev/null";

/// Nobody, in the namespace: whoever is not root there has no rights over it once a program runs.
const NOBODY: u32 = 65_534;

/// Memory that is written to, of one process. Addresses that are only reserved do not count: node reserves terabytes.
const DATA: u64 = 4 << 30;
/// The largest file: what analysers write is a cache or a report.
const FILE: u64 = 256 << 20;
/// Processes and threads: semgrep and node start a few for each core.
const PROCESSES: u64 = 512;
/// Open files, as most systems have it.
const OPEN_FILES: u64 = 1_024;

/// What `crh __sandbox` does. Ends with the exit code of the program, or with why it was not run, which is told as [`super::said`] has it.
pub fn helper(word: Option<&str>, stdin: impl Read) -> (u8, Option<String>) {
    let done = match word {
        None => first(stdin),
        Some(SECOND) => second(stdin),
        Some(other) => Err(format!("there is no step `{other}`")),
    };
    match done {
        Ok(code) => (code, None),
        Err(why) => (NOT_SHUT_IN, Some(why)),
    }
}

fn first(mut stdin: impl Read) -> Result<u8, String> {
    // It ends with crh, however that ends.
    end_with_parent()?;
    close_inherited()?;
    let mut spec = Vec::new();
    stdin.read_to_end(&mut spec).map_err(|why| format!("reading what to run: {why}"))?;
    namespaces()?;
    let helper = fs::read_link("/proc/self/exe").map_err(|why| format!("finding crh: {why}"))?;
    let code = process::follow(&helper, &[super::HELPER, SECOND], &spec);
    code.map_err(|why| format!("the second step: {why}"))
}

fn second(stdin: impl Read) -> Result<u8, String> {
    end_with_parent()?;
    let spec: Spec =
        serde_json::from_reader(stdin).map_err(|why| format!("reading what to run: {why}"))?;
    limits(spec.run.as_ref())?;
    shut_in(spec.run.as_ref())?;
    for filter in calls::filters()? {
        seccompiler::apply_filter(&filter)
            .map_err(|why| format!("this kernel offers no seccomp: {why}"))?;
    }
    let Some(run) = spec.run else { return Ok(0) };
    let Program { program, args, path, scratch, folder, .. } = run;
    let variables = [
        ("PATH", path.as_os_str()),
        ("HOME", scratch.as_os_str()),
        ("TMPDIR", scratch.as_os_str()),
        ("LANG", "C.UTF-8".as_ref()),
    ];
    let why = process::become_program(&program, &args, &folder, &variables);
    Err(format!("running `{}`: {why}", program.display()))
}

fn end_with_parent() -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|why| format!("asking to be ended with crh: {why}"))
}

/// Closes every file that whoever started crh has left open: no rule looks at what is open already.
fn close_inherited() -> Result<(), String> {
    let said = |why: std::io::Error| format!("listing open files: {why}");
    let mut open: Vec<i32> = Vec::new();
    for entry in fs::read_dir("/proc/self/fd").map_err(said)? {
        let name = entry.map_err(said)?.file_name();
        open.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for file in open.into_iter().filter(|file| *file > 2) {
        match nix::unistd::close(file) {
            // The list itself was one of them.
            Ok(()) | Err(nix::errno::Errno::EBADF) => {}
            Err(why) => return Err(format!("closing what was left open: {why}")),
        }
    }
    Ok(())
}

/// A network without anything in it, no processes but its own, and no rights over either.
fn namespaces() -> Result<(), String> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let kinds = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC;
    unshare(kinds).map_err(|why| {
        format!("this kernel offers no network namespace to ordinary users ({why})")
    })?;
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{NOBODY} {user} 1")),
        ("/proc/self/gid_map", format!("{NOBODY} {group} 1")),
    ] {
        fs::write(file, text)
            .map_err(|why| format!("this kernel offers no user namespace (`{file}`: {why})"))?;
    }
    Ok(())
}

fn limits(run: Option<&Program>) -> Result<(), String> {
    let cpu = run.map_or(1, |run| run.cpu);
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::Cpu, cpu),
        (Resource::Data, DATA),
        (Resource::Fsize, FILE),
        (Resource::Nproc, PROCESSES),
        (Resource::Nofile, OPEN_FILES),
    ] {
        // What is less already stays as it is.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|why| format!("setting a limit: {why}"))?;
    }
    Ok(())
}

/// Takes away every right to open files, but for those that are named.
fn shut_in(run: Option<&Program>) -> Result<(), String> {
    let status = rules(run).map_err(|why| {
        format!("this kernel offers no Landlock that is good enough: {}", innermost(&why))
    })?;
    let is_enforced = match status.ruleset {
        // What was asked for is required, or an error; newer kernels enforce more.
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => true,
        RulesetStatus::NotEnforced => false,
    };
    match is_enforced && status.no_new_privs {
        true => Ok(()),
        false => Err("this kernel offers no Landlock".to_owned()),
    }
}

fn rules(run: Option<&Program>) -> Result<landlock::RestrictionStatus, RulesetError> {
    let read = AccessFs::from_read(LANDLOCK);
    let open = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK_MORE))?
        .handle_access(AccessNet::from_all(LANDLOCK_MORE))?
        .scope(Scope::from_all(LANDLOCK_MORE))?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(SYSTEM_FILES, open))?
        .add_rules(path_beneath_rules([NULL], open | AccessFs::WriteFile))?;
    if let Some(run) = run {
        rules = rules
            .add_rules(path_beneath_rules(&run.readable, read))?
            .add_rules(path_beneath_rules([Path::new(&run.scratch)], scratch()))?;
    }
    rules.restrict_self()
}

/// Whatever can be done with files, but running them, and making what is no file: a pipe or a device would only be waited for.
fn scratch() -> BitFlags<AccessFs> {
    AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
}

/// The reason behind all reasons: the others only say where it came up.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
