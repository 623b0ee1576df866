//! Environment variables that crh passes to git.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crh_os::environment::{HOME, SYSTEM_PATH, is_same_variable};
use crh_os::names::canonical;

/// Variables that redirect git to another repository or change its output. Git sets some of them
/// for hooks, which may call crh.
const DANGEROUS: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DEFAULT_HASH",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_INDEX_FILE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Variables by which git finds the user's settings and decides which repositories to trust.
const SETTINGS: &[&str] = &[
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "SUDO_UID",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];
/// Prefix of git settings in the environment.
const SETTINGS_PREFIX: &str = "GIT_CONFIG_";

/// Variables for programs and network access. Listed by name, because similar ones such as
/// `GIT_PROXY_COMMAND` start programs. `HOME` resolves `~` in certificate paths.
const NETWORK: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "ALL_PROXY",
    "all_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    // Kerberos tickets for proxies.
    "KRB5CCNAME",
    "KRB5_CONFIG",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_CERT_PASSWORD_PROTECTED",
    "GIT_SSL_CERT_TYPE",
    "GIT_SSL_CIPHER_LIST",
    "GIT_SSL_KEY",
    "GIT_SSL_KEY_TYPE",
    "GIT_SSL_NO_VERIFY",
    "GIT_SSL_VERSION",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_PROXY_SSL_CERT",
    "GIT_PROXY_SSL_CERT_PASSWORD_PROTECTED",
    "GIT_PROXY_SSL_KEY",
    "GIT_HTTP_LOW_SPEED_LIMIT",
    "GIT_HTTP_LOW_SPEED_TIME",
    "GIT_HTTP_MAX_REQUESTS",
    "GIT_HTTP_PROXY_AUTHMETHOD",
    "GIT_HTTP_USER_AGENT",
    "GIT_CURL_VERBOSE",
];

/// Prefix of git's trace variables.
const TRACE_PREFIX: &str = "GIT_TRACE";

/// Names of variables that are hidden from git and its children.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HiddenVariables {
    /// Hidden from all git commands.
    pub from_all_commands: BTreeSet<String>,
    /// Hidden from git commands without network access. Credential helpers of network commands may
    /// need them.
    pub from_local_commands: BTreeSet<String>,
}

/// Variables that locate the user's settings.
pub(crate) fn for_user_settings() -> impl Iterator<Item = (OsString, OsString)> {
    variables_with(SETTINGS, &[SETTINGS_PREFIX, TRACE_PREFIX])
}

/// Variables for network access.
pub(crate) fn for_network() -> impl Iterator<Item = (OsString, OsString)> {
    variables_with(NETWORK, &[TRACE_PREFIX])
}

/// All variables except dangerous and hidden ones.
pub(crate) fn all_except(hidden: &BTreeSet<String>) -> impl Iterator<Item = (OsString, OsString)> {
    let is_allowed = |name: &OsStr| {
        let name = name.to_string_lossy();
        let is_name = |other: &str| is_same_variable(other, &name);
        !DANGEROUS.iter().any(|it| is_name(it)) && !hidden.iter().any(|it| is_name(it))
    };
    std::env::vars_os().filter(move |(name, _)| is_allowed(name))
}

/// The folders of `PATH`: first the trusted ones, then the others. A relative folder, or one inside
/// a checkout around `folder` or the current folder, can contain programs of a change.
#[expect(clippy::disallowed_methods, reason = "no program of the checkout around it may run")]
fn search_path(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let current = std::env::current_dir().ok();
    let checkouts: Vec<PathBuf> =
        current.iter().map(PathBuf::as_path).chain([folder]).flat_map(checkouts_around).collect();
    let is_trusted = |entry: &PathBuf| {
        let real = canonical(entry).unwrap_or_else(|_| entry.clone());
        entry.is_absolute() && !checkouts.iter().any(|checkout| real.starts_with(checkout))
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).partition(is_trusted)
}

/// Roots of the checkouts around a folder, except one that contains the user's home: its programs
/// are the user's own.
pub(crate) fn checkouts_around(folder: &Path) -> Vec<PathBuf> {
    let home = std::env::var_os(HOME).and_then(|home| canonical(home).ok());
    let has_home = |root: &Path| home.as_ref().is_some_and(|home| home.starts_with(root));
    let Ok(folder) = canonical(folder) else { return Vec::new() };
    let roots = folder.ancestors().filter(|root| root.join(".git").exists() && !has_home(root));
    roots.map(Path::to_owned).collect()
}

/// `PATH` without folders that a change can fill with programs.
pub fn trusted_path(folder: &Path) -> OsString {
    path_value(search_path(folder).0)
}

/// `PATH`, with folders that a change can fill with programs at the end. Relative folders are left
/// out.
pub(crate) fn path_for_hooks(folder: &Path) -> OsString {
    let (trusted, others) = search_path(folder);
    path_value(trusted.into_iter().chain(others.into_iter().filter(|entry| entry.is_absolute())))
}

/// A value for `PATH`. An empty one would mean the current folder, which may be a checkout.
fn path_value(folders: impl IntoIterator<Item = PathBuf>) -> OsString {
    match std::env::join_paths(folders) {
        Ok(path) if !path.is_empty() => path,
        Ok(_) | Err(_) => OsString::from(SYSTEM_PATH),
    }
}

fn variables_with(
    names: &'static [&'static str],
    prefixes: &'static [&'static str],
) -> impl Iterator<Item = (OsString, OsString)> {
    let is_allowed = |name: &OsStr| {
        let name = name.to_string_lossy();
        names.iter().any(|it| is_same_variable(it, &name))
            || prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    std::env::vars_os().filter(move |(name, _)| is_allowed(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_path_is_not_the_current_folder() {
        assert_eq!(path_value([]), "/usr/bin:/bin");
        assert_eq!(path_value([PathBuf::from("/a"), PathBuf::from("/b")]), "/a:/b");
    }
}
