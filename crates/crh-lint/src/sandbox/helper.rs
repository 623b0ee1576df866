//! The sandbox helper: it restricts itself permanently and then becomes the analyser.
//!
//! This takes two stages, because a process cannot enter its own new PID namespace, only its
//! children can. The first stage creates the namespaces and starts the second, which drops all
//! other rights and executes the program. If the first stage is killed, the second and its whole
//! namespace are killed too.
//!
//! Invariant: if any step fails, nothing is run.

use std::fs;
use std::io::Read;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};

use super::{HelperProgram, HelperSpec, NOT_SANDBOXED, syscalls};
use crate::process;

/// The argument that selects the second stage.
const SECOND_STAGE: &str = "second";

/// Minimum Landlock version, from Linux 6.2. Older kernels let a process without file access
/// truncate the user's files.
const LANDLOCK_REQUIRED: ABI = ABI::V3;
/// Landlock version with the restrictions of newer kernels: devices, ports, and signals and sockets
/// that leave the sandbox. The namespaces already block most of these.
const LANDLOCK_WANTED: ABI = ABI::V6;

/// System programs and libraries. Not all of `/usr`: containers may keep checkouts in `/usr/src`.
/// `HelperProgram::readable` lists other installations.
#[rustfmt::skip]
const SYSTEM_FOLDERS: [&str; 18] = [
    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share",
    "/usr/local/bin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/share",
    "/nix/store", "/home/linuxbrew/.linuxbrew",
];
/// Files that the loader, Python, node, CPU detection and semgrep read. semgrep does not start
/// without certificates, although it has no network.
#[rustfmt::skip]
const SYSTEM_FILES: [&str; 14] = [
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem",
    "/dev/zero", "/dev/random", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
];
const NULL: &str = "/dev/null";

/// User id inside the namespace. A user other than root loses all rights over the namespace when
/// the program starts.
const OVERFLOW_ID: u32 = 65_534;

/// Maximum written memory per process. Reserved addresses do not count: node reserves terabytes.
const DATA_BYTES_MAX: u64 = 4 << 30;
/// Maximum file size: analysers write caches and reports.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Maximum processes and threads: semgrep and node start a few per core.
const PROCESSES_MAX: u64 = 512;
/// Maximum open files, the default of most systems.
const OPEN_FILES_MAX: u64 = 1_024;

/// Implements `crh __sandbox`. Returns the exit code of the program. If the program was not run,
/// also returns the reason, which the caller prints with [`super::helper_error_line`].
pub fn run_helper(stage: Option<&str>, stdin: impl Read) -> (u8, Option<String>) {
    let result = match stage {
        None => first_stage(stdin),
        Some(SECOND_STAGE) => second_stage(stdin),
        Some(stage) => Err(format!("unknown stage `{stage}`")),
    };
    match result {
        Ok(code) => (code, None),
        Err(why) => (NOT_SANDBOXED, Some(why)),
    }
}

fn first_stage(mut stdin: impl Read) -> Result<u8, String> {
    // The kernel kills the helper when crh ends, even if crh is killed.
    die_with_parent()?;
    close_inherited()?;
    let mut spec = Vec::new();
    stdin.read_to_end(&mut spec).map_err(|why| format!("cannot read the job: {why}"))?;
    enter_namespaces()?;
    let helper = fs::read_link("/proc/self/exe")
        .map_err(|why| format!("cannot find the crh program: {why}"))?;
    let code = process::run_inherited(&helper, &[super::HELPER, SECOND_STAGE], &spec);
    code.map_err(|why| format!("cannot start the second stage: {why}"))
}

fn second_stage(stdin: impl Read) -> Result<u8, String> {
    die_with_parent()?;
    let spec: HelperSpec =
        serde_json::from_reader(stdin).map_err(|why| format!("cannot read the job: {why}"))?;
    set_limits(spec.run.as_ref())?;
    restrict_files(spec.run.as_ref())?;
    for filter in syscalls::filters()? {
        seccompiler::apply_filter(&filter)
            .map_err(|why| format!("the kernel does not support seccomp: {why}"))?;
    }
    let Some(run) = spec.run else { return Ok(0) };
    let HelperProgram { program, args, path, scratch, folder, .. } = run;
    let variables = [
        ("PATH", path.as_os_str()),
        ("HOME", scratch.as_os_str()),
        ("TMPDIR", scratch.as_os_str()),
        ("LANG", "C.UTF-8".as_ref()),
    ];
    let why = process::exec(&program, &args, &folder, &variables);
    Err(format!("cannot run `{}`: {why}", program.display()))
}

fn die_with_parent() -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|why| format!("cannot set the parent death signal: {why}"))
}

/// Closes files that the helper inherited: no rule restricts open files.
fn close_inherited() -> Result<(), String> {
    let list_error = |why: std::io::Error| format!("cannot list open files: {why}");
    let mut descriptors: Vec<i32> = Vec::new();
    for entry in fs::read_dir("/proc/self/fd").map_err(list_error)? {
        let name = entry.map_err(list_error)?.file_name();
        descriptors.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for file in descriptors.into_iter().filter(|file| *file > 2) {
        match nix::unistd::close(file) {
            // The directory handle itself was listed.
            Ok(()) | Err(nix::errno::Errno::EBADF) => {}
            Err(why) => return Err(format!("cannot close an inherited file: {why}")),
        }
    }
    Ok(())
}

/// Enters an empty network and new process and IPC namespaces, as a user without rights over them.
fn enter_namespaces() -> Result<(), String> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let kinds = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC;
    unshare(kinds).map_err(|why| {
        format!("the kernel does not allow network namespaces for ordinary users ({why})")
    })?;
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{OVERFLOW_ID} {user} 1")),
        ("/proc/self/gid_map", format!("{OVERFLOW_ID} {group} 1")),
    ] {
        fs::write(file, text).map_err(|why| {
            format!("the kernel does not allow user namespaces (`{file}`: {why})")
        })?;
    }
    Ok(())
}

fn set_limits(run: Option<&HelperProgram>) -> Result<(), String> {
    let cpu = run.map_or(1, |run| run.cpu);
    for (resource, maximum) in [
        (Resource::Core, 0),
        (Resource::Cpu, cpu),
        (Resource::Data, DATA_BYTES_MAX),
        (Resource::Fsize, FILE_BYTES_MAX),
        (Resource::Nproc, PROCESSES_MAX),
        (Resource::Nofile, OPEN_FILES_MAX),
    ] {
        // A lower limit that is already in effect stays.
        let limit = rustix::process::getrlimit(resource)
            .maximum
            .map_or(maximum, |current| current.min(maximum));
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
            .map_err(|why| format!("cannot set a resource limit: {why}"))?;
    }
    Ok(())
}

/// Removes access to all files except the listed ones.
fn restrict_files(run: Option<&HelperProgram>) -> Result<(), String> {
    let status = apply_landlock(run).map_err(|why| {
        format!("the kernel's Landlock support is too old or missing: {}", root_cause(&why))
    })?;
    let is_enforced = match status.ruleset {
        // The kernel enforces the required restrictions, or `apply_landlock` fails. Newer kernels
        // enforce more.
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => true,
        RulesetStatus::NotEnforced => false,
    };
    match is_enforced && status.no_new_privs {
        true => Ok(()),
        false => Err("the kernel does not support Landlock".to_owned()),
    }
}

fn apply_landlock(
    run: Option<&HelperProgram>,
) -> Result<landlock::RestrictionStatus, RulesetError> {
    let read_access = AccessFs::from_read(LANDLOCK_REQUIRED);
    let open_access = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LANDLOCK_REQUIRED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK_WANTED))?
        .handle_access(AccessNet::from_all(LANDLOCK_WANTED))?
        .scope(Scope::from_all(LANDLOCK_WANTED))?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM_FOLDERS, read_access))?
        .add_rules(path_beneath_rules(SYSTEM_FILES, open_access))?
        .add_rules(path_beneath_rules([NULL], open_access | AccessFs::WriteFile))?;
    if let Some(run) = run {
        rules = rules
            .add_rules(path_beneath_rules(&run.readable, read_access))?
            .add_rules(path_beneath_rules([Path::new(&run.scratch)], scratch_access()))?;
    }
    rules.restrict_self()
}

/// All file operations except executing files and creating pipes, sockets or devices.
fn scratch_access() -> BitFlags<AccessFs> {
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

/// The innermost error. The outer errors only say where the innermost one occurred.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
