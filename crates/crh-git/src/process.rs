//! Runs git with pinned settings: no pager, prompts or external diffs, no hooks except in
//! `publish.rs`, and always with a time limit.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretString};

use crate::child::{ChildEnd, ChildLimits, wait_with_input};
use crate::variables::HiddenVariables;
use crate::{running_fetches, variables};
use crh_os::environment::{program_in, system_variables, user_variables};
use crh_os::process::spawn_alone;

/// Minimum git version, for settings in the environment and `fetch --stdin`.
pub(crate) const MIN_VERSION: (u32, u32) = (2, 31);
/// Minimum git version for partial clones, for `GIT_NO_LAZY_FETCH`.
pub(crate) const MIN_VERSION_PARTIAL: (u32, u32) = (2, 45);

/// Time limit of local commands. A command that takes longer hangs on a lock or a broken disk.
const LOCAL_LIMIT: Duration = Duration::from_secs(300);
/// Time limit of network commands, long enough for a large fetch over a slow connection.
const NETWORK_LIMIT: Duration = Duration::from_secs(900);

/// Maximum output of a command. crh keeps it in memory.
const OUTPUT_MAX: u64 = 256 << 20;
/// Memory limit of local commands. Files that git maps do not count. Git itself has no limit, and a
/// small tree can expand to any number of paths.
#[cfg(target_os = "linux")]
const MEMORY_MAX: u64 = 1 << 30;

/// Time limit of all local commands together, if one is in effect.
static TIME_LIMIT: Mutex<Option<WorkClock>> = Mutex::new(None);

/// A time limit for all local git commands together, until it is dropped. Time in which a network
/// command runs does not count.
#[derive(Debug)]
pub struct TimeLimit(());

impl TimeLimit {
    /// Starts the limit. If another limit is in effect, this one replaces it.
    pub fn start(limit: Duration) -> Self {
        *time_limit() = Some(WorkClock { since: Instant::now(), limit, fetches: 0 });
        Self(())
    }

    /// The time that is left; the maximum if no limit is in effect. A running network command stops
    /// the clock.
    pub fn left() -> Duration {
        time_limit().as_ref().map_or(Duration::MAX, WorkClock::left)
    }
}

impl Drop for TimeLimit {
    fn drop(&mut self) {
        *time_limit() = None;
    }
}

fn time_limit() -> MutexGuard<'static, Option<WorkClock>> {
    TIME_LIMIT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A clock that runs while no network command does.
#[derive(Debug)]
struct WorkClock {
    /// When the clock was last started or stopped.
    since: Instant,
    /// The time that was left then.
    limit: Duration,
    /// Running network commands.
    fetches: u32,
}

impl WorkClock {
    fn left(&self) -> Duration {
        match self.fetches {
            0 => self.limit.saturating_sub(self.since.elapsed()),
            _ => self.limit,
        }
    }

    fn set_fetches(&mut self, fetches: u32) {
        *self = Self { limit: self.left(), since: Instant::now(), fetches };
    }
}

/// Stops the clock of the time limit while it lives.
struct ClockStop(());

impl ClockStop {
    fn new() -> Self {
        time_limit().iter_mut().for_each(|clock| clock.set_fetches(clock.fetches + 1));
        Self(())
    }
}

impl Drop for ClockStop {
    fn drop(&mut self) {
        let restart = |clock: &mut WorkClock| clock.set_fetches(clock.fetches.saturating_sub(1));
        time_limit().iter_mut().for_each(restart);
    }
}

/// Settings that override the user's and the repository's configuration.
const PINNED_CONFIG: &[&str] = &[
    NO_HOOKS,
    "core.fsmonitor=false",
    // These would write the user's index or files next to it.
    "diff.autoRefreshIndex=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.quotePath=true",
    "core.abbrev=40",
    "core.compression=-1",
    "core.pager=cat",
    "color.ui=false",
    "diff.external=",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.orderFile=/dev/null",
    "diff.suppressBlankEmpty=false",
    "diff.interHunkContext=0",
    "diff.indentHeuristic=true",
    "diff.submodule=short",
    "diff.renameLimit=1000",
    "diff.ignoreSubmodules=none",
    "blame.ignoreRevsFile=",
    "blame.markIgnoredLines=false",
    "log.showSignature=false",
    "log.mailmap=false",
    "diff.wsErrorHighlight=none",
    "protocol.ext.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.prune=false",
    "fetch.writeCommitGraph=false",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    // A warning about line endings must not fail the command.
    "core.safecrlf=false",
    // Larger files are treated as binary and stay out of memory.
    "core.bigFileThreshold=16m",
];

const NO_HOOKS: &str = "core.hooksPath=/dev/null";

/// Replacement of a secret in messages.
const REDACTION: &str = "[hidden]";

/// Configuration that a git command uses, in addition to the pinned settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigScope {
    /// Only the repository's.
    Repository,
    /// Also the user's, for commands that start no other program.
    User,
    /// Also the user's, including programs: credential helpers and proxies for remotes, filters for
    /// files. These programs get the whole environment except hidden variables.
    UserPrograms,
    /// Only explicit settings. The environment contains only network variables.
    Explicit,
}

/// Whether git runs hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookMode {
    Off,
    /// The user's hooks.
    User,
}

/// What a git command may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitReach {
    /// The disk only. Ctrl-C stops the command together with crh.
    Disk,
    /// Remotes too. The command has its own process group, so that crh can also stop its children
    /// (ssh, credential helpers): at the time limit, and in [`crate::stop_fetches`].
    Network,
}

/// Runs git in a folder.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    git_dir: Option<PathBuf>,
    settings: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    /// Variables with secret values.
    secret_variables: Vec<(OsString, SecretString)>,
    /// Secrets to redact in git's messages.
    redacted_secrets: Vec<SecretString>,
    /// Names of variables that git must not see.
    hidden_variables: BTreeSet<String>,
    config_scope: ConfigScope,
    hooks: HookMode,
    reach: GitReach,
    limit: Duration,
    output_max: u64,
}

/// Why a git command failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git is not installed.
    #[error("git is not installed, or not in `PATH`")]
    NotInstalled,
    /// Git is too old.
    #[error("git {installed} is too old: crh needs {}.{} or newer", required.0, required.1)]
    TooOld {
        /// Installed version.
        installed: String,
        /// Required version.
        required: (u32, u32),
    },
    /// The command failed.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// Name of the command.
        command: String,
        /// Exit code; `None` if killed by a signal.
        code: Option<i32>,
        /// Last lines of git's error output.
        message: String,
    },
    /// The command timed out.
    #[error("`git {command}` did not end within {seconds} seconds")]
    TimedOut {
        /// Name of the command.
        command: String,
        /// Time limit.
        seconds: u64,
    },
    /// The command printed too much.
    #[error("`git {command}` printed more than {megabytes} MB, the limit")]
    TooMuchOutput {
        /// Name of the command.
        command: String,
        /// Limit in MiB.
        megabytes: u64,
    },
    /// A change has too many files.
    #[error("the change has more than {max} files, the limit")]
    TooManyFiles {
        /// Limit.
        max: u64,
    },
    /// A change has too deep folders.
    #[error("the change has folders that are more than {max} levels deep, the limit")]
    TooDeep {
        /// Limit.
        max: usize,
    },
    /// The command needed too much memory.
    #[error("`git {command}` needs more memory than crh allows")]
    OutOfMemory {
        /// Name of the command.
        command: String,
    },
    /// The command could not be started.
    #[error("running `git {command}`")]
    Io {
        /// Name of the command.
        command: String,
        /// Cause.
        source: io::Error,
    },
}

impl Git {
    /// Git in a folder, which may be anywhere inside a repository.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            git_dir: None,
            settings: Vec::new(),
            variables: Vec::new(),
            secret_variables: Vec::new(),
            redacted_secrets: Vec::new(),
            hidden_variables: BTreeSet::new(),
            config_scope: ConfigScope::Repository,
            hooks: HookMode::Off,
            reach: GitReach::Disk,
            limit: LOCAL_LIMIT,
            output_max: OUTPUT_MAX,
        }
    }

    /// Git for a bare repository.
    pub fn with_git_dir(git_dir: &Path) -> Self {
        Self { git_dir: Some(git_dir.to_owned()), ..Self::in_folder(git_dir) }
    }

    /// Sets a variable.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets a secret variable, which is redacted in messages and debug output.
    #[must_use]
    pub(crate) fn with_secret(mut self, name: impl Into<OsString>, value: SecretString) -> Self {
        self.secret_variables.push((name.into(), value));
        self
    }

    /// Redacts a secret in git's messages.
    #[must_use]
    pub(crate) fn redacting(mut self, secret: SecretString) -> Self {
        self.redacted_secrets.push(secret);
        self
    }

    /// Adds a setting, as with `git -c`.
    #[must_use]
    pub fn with_setting(mut self, setting: impl Into<OsString>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// Uses the user's configuration, for commands that start no other program.
    #[must_use]
    pub fn with_user_settings(self) -> Self {
        Self { config_scope: ConfigScope::User, ..self }
    }

    /// Uses the user's configuration with its file filters.
    #[must_use]
    pub(crate) fn with_filters(self, hidden_variables: &HiddenVariables) -> Self {
        let hidden_variables = hidden_variables
            .from_all_commands
            .union(&hidden_variables.from_local_commands)
            .cloned()
            .collect();
        Self { config_scope: ConfigScope::UserPrograms, hidden_variables, ..self }
    }

    /// For network commands: uses the user's credentials and proxies, and a longer time limit.
    #[must_use]
    pub(crate) fn with_network(self, hidden_variables: &HiddenVariables) -> Self {
        let hidden_variables = hidden_variables.from_all_commands.clone();
        Self { config_scope: ConfigScope::UserPrograms, hidden_variables, ..self.with_remotes() }
    }

    /// For network commands with explicit settings only.
    #[must_use]
    pub(crate) fn with_explicit_network(self) -> Self {
        Self { config_scope: ConfigScope::Explicit, ..self.with_remotes() }
    }

    fn with_remotes(self) -> Self {
        Self { reach: GitReach::Network, limit: NETWORK_LIMIT, ..self }
    }

    /// Runs the user's hooks, for actions that the user requested.
    #[must_use]
    pub(crate) fn with_hooks(self) -> Self {
        Self { hooks: HookMode::User, ..self }
    }

    /// Sets the time limit.
    #[must_use]
    pub(crate) fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Sets the maximum output.
    #[must_use]
    pub(crate) fn with_output_max(self, output_max: u64) -> Self {
        Self { output_max, ..self }
    }

    /// Checks that git is installed and new enough.
    pub fn check_version(&self, required: (u32, u32)) -> Result<(), GitError> {
        let output = self.text(["--version"])?;
        let version = output.split_whitespace().nth(2).unwrap_or_default().to_owned();
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
        let installed = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if installed < required {
            Err(GitError::TooOld { installed: version, required })
        } else {
            Ok(())
        }
    }

    /// Runs git. Returns its output.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        self.run_with_input(args, &[])
    }

    /// Runs git. Returns its output as text, without line breaks at the end.
    pub fn text<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<String, GitError> {
        let output = self.run(args)?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// Runs git with input. Returns its output.
    pub fn run_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let name = args.iter().map(|arg| arg.to_string_lossy()).find(|arg| !arg.starts_with('-'));
        let name = name.map_or_else(|| "--version".to_owned(), std::borrow::Cow::into_owned);
        let io = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => GitError::NotInstalled,
            _ => GitError::Io { command: name.clone(), source },
        };
        let mut command = self.command(&args);
        let _stop = (self.reach == GitReach::Network).then(ClockStop::new);
        let child = match self.reach {
            GitReach::Disk => spawn_alone(&mut command),
            GitReach::Network => running_fetches::spawn_group(&mut command),
        };
        let child = child.map_err(io)?;
        self.limit_memory(&child.0);
        let limits = ChildLimits { time: self.time_left(), output_bytes: self.output_max };
        let output = match wait_with_input(child, input, self.reach, limits).map_err(io)? {
            ChildEnd::Exited(output) => output,
            ChildEnd::TimedOut => {
                return Err(GitError::TimedOut { command: name, seconds: limits.time.as_secs() });
            }
            ChildEnd::TooMuchOutput => {
                return Err(GitError::TooMuchOutput {
                    command: name,
                    megabytes: self.output_max >> 20,
                });
            }
        };
        if output.status.success() {
            return Ok(output.stdout);
        }
        let (code, message) = (output.status.code(), self.redacted_error(&output.stderr));
        match message.to_ascii_lowercase().contains("out of memory") {
            true => Err(GitError::OutOfMemory { command: name }),
            false => Err(GitError::Failed { command: name, code, message }),
        }
    }

    /// Time limit of a command that starts now.
    fn time_left(&self) -> Duration {
        match (self.reach, &*time_limit()) {
            (GitReach::Disk, Some(clock)) => self.limit.min(clock.left()),
            (GitReach::Disk, None) | (GitReach::Network, _) => self.limit,
        }
    }

    /// Limits the memory of a local command. Fetching a large repository may need more.
    #[cfg(target_os = "linux")]
    fn limit_memory(&self, child: &Child) {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};

        match (self.reach, self.hooks) {
            (GitReach::Disk, HookMode::Off) => {
                let limit = Rlimit { current: Some(MEMORY_MAX), maximum: Some(MEMORY_MAX) };
                match prlimit(Some(Pid::from_child(child)), Resource::Data, limit) {
                    // An error means that the child has just exited.
                    Ok(_) | Err(_) => {}
                }
            }
            // Programs that hooks of the user start, such as a compiler, would inherit the limit.
            (GitReach::Disk, HookMode::User) | (GitReach::Network, _) => {}
        }
    }

    /// Only Linux can limit the memory of another process.
    #[cfg(not(target_os = "linux"))]
    fn limit_memory(&self, _: &Child) {}

    /// Last lines of git's error output, redacted.
    fn redacted_error(&self, stderr: &[u8]) -> String {
        let variable_values = self.secret_variables.iter().map(|(_, value)| value);
        let secrets =
            self.redacted_secrets.iter().chain(variable_values).map(ExposeSecret::expose_secret);
        let secrets = secrets.filter(|secret| !secret.is_empty());
        secrets.fold(error_lines(stderr), |message, secret| message.replace(secret, REDACTION))
    }

    #[expect(clippy::disallowed_methods, reason = "this is where git is run")]
    fn command(&self, args: &[OsString]) -> Command {
        // crh also searches this path for git itself.
        let path = match self.hooks {
            HookMode::Off => variables::trusted_path(&self.folder),
            HookMode::User => variables::path_for_hooks(&self.folder),
        };
        let mut command = Command::new(program_in("git", &path));
        command.current_dir(&self.folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        match self.config_scope {
            ConfigScope::Repository => {
                command.env_clear();
                command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
                command.env("GIT_ATTR_NOSYSTEM", "1");
            }
            ConfigScope::User => {
                command.env_clear().envs(variables::for_user_settings()).envs(user_variables());
            }
            ConfigScope::UserPrograms => {
                command.env_clear().envs(variables::all_except(&self.hidden_variables));
                disable_prompts(&mut command);
            }
            ConfigScope::Explicit => {
                command.env_clear().envs(variables::for_network()).envs(user_variables());
                command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
                disable_prompts(&mut command);
            }
        }
        command.envs(system_variables()).env("PATH", path);
        match self.reach {
            GitReach::Disk => drop(command.env("GIT_NO_LAZY_FETCH", "1")),
            GitReach::Network => {}
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
        command
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_PAGER", "cat")
            .env("GIT_EDITOR", "true");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let secrets = self.secret_variables.iter();
        command.envs(secrets.map(|(name, value)| (name, value.expose_secret())));
        command.arg("--no-pager");
        if let Some(git_dir) = &self.git_dir {
            command.arg("--git-dir").arg(git_dir);
        }
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        // The pinned settings come last, because git uses the last of equal settings.
        for setting in PINNED_CONFIG {
            match (self.hooks, *setting) {
                (HookMode::User, NO_HOOKS) => {}
                (HookMode::User | HookMode::Off, setting) => {
                    command.args(["-c", setting]);
                }
            }
        }
        command.args(args);
        command
    }
}

/// Makes git and ssh run `true` for prompts, which answers them with an empty text.
fn disable_prompts(command: &mut Command) {
    command.env("GIT_ASKPASS", "true").env("SSH_ASKPASS", "true");
    command.env("SSH_ASKPASS_REQUIRE", "force");
}

/// The last lines of git's error output, at most three, without hints. If a line starts with
/// `fatal: ` or `error: `, they end at the last such line.
fn error_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().map(str::trim_end);
    let mut lines: Vec<&str> =
        lines.filter(|line| !line.trim().is_empty() && !line.starts_with("hint: ")).collect();
    let is_failure = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    if let Some(last_failure) = lines.iter().rposition(is_failure) {
        lines.truncate(last_failure + 1);
    }
    let last_lines = &lines[lines.len().saturating_sub(3)..];
    if last_lines.is_empty() { "no error message".to_owned() } else { last_lines.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_stops_while_a_network_command_runs() {
        let seconds = Duration::from_secs;
        let is_near = |time: Duration, expected| time.abs_diff(seconds(expected)) < seconds(5);
        let mut clock = WorkClock { since: Instant::now(), limit: seconds(60), fetches: 0 };
        let pass = |clock: &mut WorkClock| {
            clock.since = clock.since.checked_sub(seconds(20)).unwrap();
        };
        pass(&mut clock);
        assert!(is_near(clock.left(), 40), "{clock:?}");
        clock.set_fetches(1);
        pass(&mut clock);
        assert!(is_near(clock.left(), 40), "{clock:?}");
        clock.set_fetches(0);
        pass(&mut clock);
        assert!(is_near(clock.left(), 20), "{clock:?}");
    }
}
