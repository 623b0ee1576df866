//! The one way git is run: with pinned settings, without hooks, pager, prompts or external diffs, and never
//! for longer than it should take.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::child::finished;
use crate::variables::Withheld;
use crate::{under_way, variables};

/// The oldest git that has what is used here (settings in the environment, `fetch --stdin`).
pub(crate) const OLDEST: (u32, u32) = (2, 31);
/// The oldest git that can be kept from fetching what a partial clone left out (`GIT_NO_LAZY_FETCH`).
pub(crate) const OLDEST_FOR_PARTIAL: (u32, u32) = (2, 45);

/// A local command that takes longer than this hangs on a lock or a broken disk.
const LOCAL_LIMIT: Duration = Duration::from_secs(300);
/// A fetch of a large repository over a slow line takes this long; a dead line does too.
const NETWORK_LIMIT: Duration = Duration::from_secs(900);

/// Settings that keep a user's or a repository's configuration from changing what git prints or runs.
const PINNED: &[&str] = &[
    NO_HOOKS,
    "core.fsmonitor=false",
    // The first would write the user's index, the others next to it.
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
    // A warning about line ends is no reason to stop.
    "core.safecrlf=false",
    // Nobody reads a larger file line by line: it is binary to git, which keeps it out of memory.
    "core.bigFileThreshold=16m",
];

const NO_HOOKS: &str = "core.hooksPath=/dev/null";

/// What stands in a message in the place of a secret.
const HIDDEN: &str = "[hidden]";

/// Whose settings a git command follows, beside the pinned ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settings {
    /// Only those of the repository it runs in.
    Repository,
    /// The user's as well, for questions that start nothing else. Of the environment it sees where those settings are.
    User,
    /// The user's with the programs that they name: for a remote they hold the credentials and proxies, for a checkout how its
    /// files become objects (line ends, filters). Those may need anything of the environment but what is withheld.
    UserPrograms,
    /// Only those that are handed to it. Of the environment it sees how hosts are reached.
    Handed,
}

/// Whether a git command runs hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hooks {
    Off,
    /// Those that the user has set up.
    OfUser,
}

/// What a git command may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The disk. It is ended with us from a terminal.
    Disk,
    /// Remotes as well. It is in a group of its own, so that what it starts (ssh, a helper) can be ended with
    /// it: by its time, and by [`crate::end_fetches`].
    Network,
}

/// A way to run git in a place.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    git_dir: Option<PathBuf>,
    settings: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    /// Variables that nobody else may see.
    secret_variables: Vec<(OsString, SecretString)>,
    /// What git must not repeat to anybody.
    hidden: Vec<SecretString>,
    /// Variables of ours that it must not see, by their names.
    withheld: BTreeSet<String>,
    follows: Settings,
    hooks: Hooks,
    reach: Reach,
    limit: Duration,
}

/// Why git did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git is not installed, or not in `PATH`")]
    Missing,
    /// It is too old.
    #[error("git {found} is too old: here crh needs {}.{} or newer", oldest.0, oldest.1)]
    TooOld {
        /// Its version.
        found: String,
        /// What is needed.
        oldest: (u32, u32),
    },
    /// It said no.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The command's name.
        command: String,
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// The end of what it said.
        message: String,
    },
    /// It did not end.
    #[error("`git {command}` did not end within {seconds} seconds")]
    TooSlow {
        /// The command's name.
        command: String,
        /// How long it had.
        seconds: u64,
    },
    /// It could not be run.
    #[error("running `git {command}`")]
    Io {
        /// The command's name.
        command: String,
        /// Why.
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
            hidden: Vec::new(),
            withheld: BTreeSet::new(),
            follows: Settings::Repository,
            hooks: Hooks::Off,
            reach: Reach::Disk,
            limit: LOCAL_LIMIT,
        }
    }

    /// Git with a bare repository, wherever it is called from.
    pub fn with_git_dir(git_dir: &Path) -> Self {
        Self { git_dir: Some(git_dir.to_owned()), ..Self::in_folder(git_dir) }
    }

    /// The same with a variable set.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// The same with a variable that holds a secret: it stands in no message and no debug output.
    #[must_use]
    pub(crate) fn with_secret(mut self, name: impl Into<OsString>, value: SecretString) -> Self {
        self.secret_variables.push((name.into(), value));
        self
    }

    /// The same, taking a secret out of whatever git says.
    #[must_use]
    pub(crate) fn hiding(mut self, secret: SecretString) -> Self {
        self.hidden.push(secret);
        self
    }

    /// The same with a setting, as for `git -c`.
    #[must_use]
    pub fn with_setting(mut self, setting: impl Into<OsString>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// The same following the user's configuration too, for what starts no other program.
    #[must_use]
    pub fn with_user_settings(self) -> Self {
        Self { follows: Settings::User, ..self }
    }

    /// The same with the programs that the user's configuration names for files.
    #[must_use]
    pub(crate) fn with_filters(self, withheld: &Withheld) -> Self {
        let withheld = withheld.always.union(&withheld.on_disk).cloned().collect();
        Self { follows: Settings::UserPrograms, withheld, ..self }
    }

    /// The same for commands that talk to remotes: with the user's credentials and proxies, and more time.
    #[must_use]
    pub(crate) fn with_network(self, withheld: &Withheld) -> Self {
        let withheld = withheld.always.clone();
        Self { follows: Settings::UserPrograms, withheld, ..self.with_remotes() }
    }

    /// The same for remotes that are reached by nothing but what is handed over.
    #[must_use]
    pub(crate) fn with_network_alone(self) -> Self {
        Self { follows: Settings::Handed, ..self.with_remotes() }
    }

    fn with_remotes(self) -> Self {
        Self { reach: Reach::Network, limit: NETWORK_LIMIT, ..self }
    }

    /// The same with the user's hooks, for what the user has just asked for.
    #[must_use]
    pub(crate) fn with_hooks(self) -> Self {
        Self { hooks: Hooks::OfUser, ..self }
    }

    /// The same with another time limit.
    #[must_use]
    pub(crate) fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Checks that git is there and new enough.
    pub fn version(&self, oldest: (u32, u32)) -> Result<(), GitError> {
        let printed = self.text(["--version"])?;
        let version = printed.split_whitespace().nth(2).unwrap_or_default().to_owned();
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
        let found = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if found < oldest { Err(GitError::TooOld { found: version, oldest }) } else { Ok(()) }
    }

    /// Runs git; what it printed.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        self.run_with_input(args, &[])
    }

    /// Runs git; what it printed, as trimmed text.
    pub fn text<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<String, GitError> {
        let printed = self.run(args)?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// Runs git with something on its standard input; what it printed.
    pub fn run_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let name = args.iter().map(|arg| arg.to_string_lossy()).find(|arg| !arg.starts_with('-'));
        let name = name.map_or_else(|| "--version".to_owned(), std::borrow::Cow::into_owned);
        let io = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Io { command: name.clone(), source },
        };
        let mut command = self.command(&args);
        let child = match self.reach {
            Reach::Disk => command.spawn(),
            Reach::Network => under_way::started(|| command.spawn()),
        };
        let child = child.map_err(io)?;
        let late = || GitError::TooSlow { command: name.clone(), seconds: self.limit.as_secs() };
        let output = finished(child, input, self.reach, self.limit).map_err(io)?;
        let output = output.ok_or_else(late)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let (code, message) = (output.status.code(), self.without_secrets(&output.stderr));
        Err(GitError::Failed { command: name.clone(), code, message })
    }

    /// The end of what git said, with every secret taken out by its value.
    fn without_secrets(&self, stderr: &[u8]) -> String {
        let of_variables = self.secret_variables.iter().map(|(_, value)| value);
        let secrets = self.hidden.iter().chain(of_variables).map(ExposeSecret::expose_secret);
        let secrets = secrets.filter(|secret| !secret.is_empty());
        secrets.fold(last_words(stderr), |said, secret| said.replace(secret, HIDDEN))
    }

    #[expect(clippy::disallowed_methods, reason = "this is where git is run")]
    fn command(&self, args: &[OsString]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        match self.follows {
            Settings::Repository => {
                let path = std::env::var_os("PATH").map(|path| ("PATH", path));
                command.env_clear().envs(path);
                command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
                command.env("GIT_ATTR_NOSYSTEM", "1");
            }
            Settings::User => {
                command.env_clear().envs(variables::of_settings());
            }
            Settings::UserPrograms => {
                command.env_clear().envs(variables::all_but(&self.withheld));
                without_questions(&mut command);
            }
            Settings::Handed => {
                command.env_clear().envs(variables::of_hosts());
                command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
                without_questions(&mut command);
            }
        }
        match self.reach {
            Reach::Disk => command.env("GIT_NO_LAZY_FETCH", "1"),
            Reach::Network => command.process_group(0),
        };
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
        // After those above: of two settings with one name, git takes the last.
        for setting in PINNED {
            match (self.hooks, *setting) {
                (Hooks::OfUser, NO_HOOKS) => {}
                (Hooks::OfUser | Hooks::Off, setting) => {
                    command.args(["-c", setting]);
                }
            }
        }
        command.args(args);
        command
    }
}

/// Nobody is there to answer.
fn without_questions(command: &mut Command) {
    command.env("GIT_ASKPASS", "true").env("SSH_ASKPASS", "true");
    command.env("SSH_ASKPASS_REQUIRE", "force");
}

/// The last lines of what git said up to where it says that it failed: advice follows, and hooks and servers speak before.
fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().map(str::trim_end);
    let mut lines: Vec<&str> =
        lines.filter(|line| !line.trim().is_empty() && !line.starts_with("hint: ")).collect();
    let is_failure = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    if let Some(at) = lines.iter().rposition(is_failure) {
        lines.truncate(at + 1);
    }
    let last = &lines[lines.len().saturating_sub(3)..];
    if last.is_empty() { "it said nothing".to_owned() } else { last.join("; ") }
}
