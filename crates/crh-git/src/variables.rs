//! What of the environment a git gets to see.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

/// Variables that would send git to another repository or make it print something else. They are set inside
/// hooks, from which crh may well be called.
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

/// Where the user's settings are, and whose repositories are trusted: by the user, also behind `sudo`.
const SETTINGS: &[&str] = &[
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "SUDO_UID",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];
/// How the names of settings begin that are in the environment themselves.
const SETTINGS_START: &str = "GIT_CONFIG_";

/// Where programs are, and how hosts are reached. The home is what `~` in the path of a certificate means. Each by its name, since one
/// that begins like them (`GIT_PROXY_COMMAND`) is a program.
const HOSTS: &[&str] = &[
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
    // A proxy may know people by their tickets.
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

/// How the names of variables begin by which the user has git write down what it does.
const TRACE_START: &str = "GIT_TRACE";

/// Variables that are kept from git and all that it starts, by their names. They come from whoever knows what is in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Withheld {
    /// No program that git starts needs these.
    pub always: BTreeSet<String>,
    /// A credential helper of the user's may want one of these to reach a remote, and nothing else does.
    pub on_disk: BTreeSet<String>,
}

/// The variables of this process that lead to the user's settings.
pub(crate) fn of_settings() -> impl Iterator<Item = (OsString, OsString)> {
    only(SETTINGS, &[SETTINGS_START, TRACE_START])
}

/// The variables of this process that say how hosts are reached.
pub(crate) fn of_hosts() -> impl Iterator<Item = (OsString, OsString)> {
    only(HOSTS, &[TRACE_START])
}

/// All variables of this process but those that lead astray and those that are withheld.
pub(crate) fn all_but(withheld: &BTreeSet<String>) -> impl Iterator<Item = (OsString, OsString)> {
    let is_shown = |name: &OsStr| {
        let name = name.to_string_lossy();
        !DANGEROUS.contains(&name.as_ref()) && !withheld.contains(name.as_ref())
    };
    std::env::vars_os().filter(move |(name, _)| is_shown(name))
}

fn only(
    names: &'static [&'static str],
    starts: &'static [&'static str],
) -> impl Iterator<Item = (OsString, OsString)> {
    let is_shown = |name: &OsStr| {
        let name = name.to_string_lossy();
        names.contains(&name.as_ref()) || starts.iter().any(|start| name.starts_with(start))
    };
    std::env::vars_os().filter(move |(name, _)| is_shown(name))
}
