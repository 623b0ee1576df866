//! What the process was given: the variables that mean something to crh, and the folder it was started in.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use secrecy::SecretString;

use super::keys::KEYS;
use crate::ui;
use crh_http::{Network, Timeouts};

/// Names another user's config than the usual one.
pub(crate) const CONFIG_VARIABLE: &str = "CRH_CONFIG";
const HOME: &str = "HOME";
/// The index that git works with, where it is not the usual one: inside hooks.
pub(crate) const INDEX_FILE: &str = "GIT_INDEX_FILE";
const CONFIG_HOME: &str = "XDG_CONFIG_HOME";
const CACHE_HOME: &str = "XDG_CACHE_HOME";
const STATE_HOME: &str = "XDG_STATE_HOME";
/// Set by services that run things unattended.
pub(crate) const CI: &str = "CI";
/// Which GitHub is meant where none is named, and which pull request: set in Actions.
pub(crate) const GITHUB: [&str; 5] = [
    "GITHUB_SERVER_URL",
    "GITHUB_API_URL",
    "GITHUB_GRAPHQL_URL",
    "GITHUB_EVENT_PATH",
    "GITHUB_REPOSITORY",
];
/// The GitHub besides the default one that the user works with: GitHub's own client reads it, too.
pub(crate) const GITHUB_HOST: &str = "GH_HOST";
/// Which GitHub App crh is, and the file of its key.
pub(crate) const GITHUB_APP: [&str; 2] = ["CRH_GITHUB_APP_ID", "CRH_GITHUB_APP_KEY_FILE"];
/// Where programs are.
pub(crate) const PATH: &str = "PATH";
/// What kind of terminal there is.
pub(crate) const TERM: &str = "TERM";

/// Proxies, by the names that other programs read too; the small letters win, as they do elsewhere.
const HTTP_PROXY: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const HTTPS_PROXY: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const NO_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";
/// Files of certificates to trust besides those of the system, by the names that other programs read too.
const CA_FILES: [&str; 4] =
    ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"];

/// The environment as a value, so that everything that depends on it is a pure function. Secrets are not in
/// it: they are looked up by name when one is needed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    /// The folder crh was started in.
    pub(crate) folder: PathBuf,
    /// The program that is running, to be started again as the helper that shuts analysers in; none if that is not known.
    pub(crate) program: Option<PathBuf>,
    /// The variables that are set. An empty one counts as not set.
    variables: BTreeMap<&'static str, OsString>,
}

/// Where the user's config is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UserConfig {
    /// The user named it, so it has to be there.
    Named(PathBuf),
    /// The usual place, where there may be none.
    Usual(PathBuf),
    /// There is no home to look in.
    Nowhere,
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is where the folder is passed in")]
        let folder = std::env::current_dir();
        // Commands that need no folder still work in one that was deleted; git says what is wrong with it.
        let folder = folder.unwrap_or_else(|_| PathBuf::from("."));
        let places = [
            CONFIG_VARIABLE,
            HOME,
            CONFIG_HOME,
            CACHE_HOME,
            STATE_HOME,
            INDEX_FILE,
            CI,
            PATH,
            TERM,
            GITHUB_HOST,
        ];
        let names = KEYS.iter().filter_map(|key| key.facts.variable).chain(places);
        let names = names
            .chain(GITHUB)
            .chain(GITHUB_APP)
            .chain(HTTP_PROXY)
            .chain(HTTPS_PROXY)
            .chain(NO_PROXY)
            .chain(CA_FILES);
        let variables = names.filter_map(|name| Some((name, std::env::var_os(name)?)));
        Self { program: std::env::current_exe().ok(), ..Self::new(folder, variables) }
    }

    /// An environment of these variables and no other.
    pub(crate) fn new(
        folder: PathBuf,
        variables: impl IntoIterator<Item = (&'static str, OsString)>,
    ) -> Self {
        let variables = variables.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        Self { folder, program: None, variables }
    }

    /// The environment for working in another folder, with a home of its own: the user's settings and caches do not
    /// count there. How things look and the way to other hosts stay.
    pub(crate) fn elsewhere(&self, folder: &Path, home: &Path) -> Self {
        let kept =
            ["NO_COLOR", CI, TERM].into_iter().chain(HTTP_PROXY).chain(HTTPS_PROXY).chain(NO_PROXY);
        let kept = kept.filter_map(|name| Some((name, self.variables.get(name)?.clone())));
        let files = CA_FILES.into_iter().filter_map(|name| {
            let file = self.folder.join(self.variables.get(name)?);
            Some((name, file.into_os_string()))
        });
        let home = [(HOME, home.as_os_str().to_owned())];
        let program = self.program.clone();
        Self { program, ..Self::new(folder.to_owned(), kept.chain(files).chain(home)) }
    }

    /// The time on the clock of this machine.
    #[expect(clippy::unused_self, reason = "the clock is part of what the process was given")]
    pub(crate) fn now(&self) -> SystemTime {
        Self::clock()
    }

    /// The same, for what is given a clock.
    #[expect(clippy::disallowed_methods, reason = "this is where the time is passed in")]
    pub(crate) fn clock() -> SystemTime {
        SystemTime::now()
    }

    /// Names this build of the program, so that what another one found is not taken for what this one would find: its version,
    /// and the place, size and time of its file. One whose file cannot be seen is called like no other.
    pub(crate) fn build(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let stamp = || {
            let file = std::env::current_exe().ok()?;
            let found = std::fs::metadata(&file).ok()?;
            let time = found.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            Some(format!("{} {} {}", file.display(), found.len(), time.as_nanos()))
        };
        let unlike_any = || format!("{} {:?}", std::process::id(), self.now());
        format!("{version} {}", stamp().unwrap_or_else(unlike_any))
    }

    /// A variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str)
    }

    /// The variables of these names that are set, for what may be secret. They are read when they are needed and kept
    /// nowhere else.
    pub(crate) fn secrets<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> BTreeMap<String, SecretString> {
        let set =
            names.into_iter().filter_map(|name| match std::env::var_os(name)?.into_string() {
                Ok(value) => Some((name.to_owned(), SecretString::from(value))),
                Err(_) => {
                    ui::warn(&format!("`{name}` is not UTF-8 and counts as not set"));
                    None
                }
            });
        set.collect()
    }

    /// The way to other hosts: proxies and certificates.
    pub(crate) fn network(&self) -> Network {
        let first = |names: &[&str]| {
            let found = names.iter().find_map(|name| self.variable(name));
            found.map(|value| value.to_string_lossy().into_owned())
        };
        let files = CA_FILES.iter().filter_map(|name| self.variable(name));
        Network {
            http_proxy: first(&HTTP_PROXY),
            https_proxy: first(&HTTPS_PROXY),
            // A server on this machine is not asked for through another one.
            no_proxy: Some(match first(&NO_PROXY) {
                Some(hosts) => format!("{hosts},{LOOPBACK}"),
                None => LOOPBACK.to_owned(),
            }),
            ca_files: files.map(|file| self.folder.join(file)).collect(),
            timeouts: Timeouts::default(),
        }
    }

    /// The user's home. A relative one would be another home in every folder, so it counts as none.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.absolute(HOME)
    }

    /// Where the user's config is.
    pub(crate) fn user_config(&self) -> UserConfig {
        if let Some(named) = self.variable(CONFIG_VARIABLE) {
            return UserConfig::Named(self.folder.join(named));
        }
        match self.config() {
            Some(folder) => UserConfig::Usual(folder.join("config.toml")),
            None => UserConfig::Nowhere,
        }
    }

    /// Where crh keeps what a user has set up; none without a home.
    pub(crate) fn config(&self) -> Option<PathBuf> {
        Some(self.under_home(CONFIG_HOME, ".config")?.join("crh"))
    }

    /// Where crh keeps what it can make again; none without a home.
    pub(crate) fn cache(&self) -> Option<PathBuf> {
        Some(self.under_home(CACHE_HOME, ".cache")?.join("crh"))
    }

    /// Where crh keeps what nobody could make again; none without a home.
    pub(crate) fn state(&self) -> Option<PathBuf> {
        Some(self.under_home(STATE_HOME, ".local/state")?.join("crh"))
    }

    /// A path as the user would write it, with `~` for their home, and on one line.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let shown = match self.home().and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        };
        shown.replace('\n', "\\n")
    }

    /// The XDG rule: the variable if it is an absolute path, else a folder in the home.
    fn under_home(&self, variable: &str, folder: &str) -> Option<PathBuf> {
        let named = self.absolute(variable).map(Path::to_owned);
        named.or_else(|| Some(self.home()?.join(folder)))
    }

    fn absolute(&self, variable: &str) -> Option<&Path> {
        self.variable(variable).map(Path::new).filter(|path| path.is_absolute())
    }
}

impl fmt::Debug for Environment {
    /// The folder and the names of variables. What is in them may be a password, as in the address of a proxy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("folder", &self.folder)
            .field("variables", &self.variables.keys())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&'static str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| (*name, (*value).into()));
        Environment::new("/here".into(), variables)
    }

    #[test]
    fn the_users_config_is_the_named_one_or_follows_xdg() {
        let usual = |path: &str| UserConfig::Usual(path.into());
        for (variables, expected) in [
            (vec![], UserConfig::Nowhere),
            (vec![("HOME", "")], UserConfig::Nowhere),
            (vec![("HOME", "relative")], UserConfig::Nowhere),
            (vec![("HOME", "/h")], usual("/h/.config/crh/config.toml")),
            (vec![("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], usual("/x/crh/config.toml")),
            (vec![("HOME", "/h"), ("XDG_CONFIG_HOME", "x")], usual("/h/.config/crh/config.toml")),
            (vec![("HOME", "/h"), ("CRH_CONFIG", "")], usual("/h/.config/crh/config.toml")),
            (
                vec![("HOME", "/h"), ("CRH_CONFIG", "a.toml")],
                UserConfig::Named("/here/a.toml".into()),
            ),
            (vec![("CRH_CONFIG", "/a.toml")], UserConfig::Named("/a.toml".into())),
        ] {
            assert_eq!(environment(&variables).user_config(), expected, "{variables:?}");
        }
    }

    #[test]
    fn what_is_kept_follows_xdg() {
        for (variables, expected) in [
            (vec![], None),
            (vec![("HOME", "/h")], Some(["/h/.cache/crh", "/h/.local/state/crh"])),
            (
                vec![("HOME", "/h"), ("XDG_CACHE_HOME", "/c"), ("XDG_STATE_HOME", "/s")],
                Some(["/c/crh", "/s/crh"]),
            ),
            (
                vec![("HOME", "/h"), ("XDG_STATE_HOME", "relative")],
                Some(["/h/.cache/crh", "/h/.local/state/crh"]),
            ),
        ] {
            let environment = environment(&variables);
            let folders = environment.cache().zip(environment.state());
            let expected = expected.map(|[cache, state]| (cache.into(), state.into()));
            assert_eq!(folders, expected, "{variables:?}");
        }
    }

    #[test]
    fn proxies_and_certificates_have_the_names_that_other_programs_read() {
        let environment = environment(&[
            ("HTTPS_PROXY", "http://big"),
            ("https_proxy", "http://small:secret@proxy"),
            ("ALL_PROXY", "http://all"),
            ("NO_PROXY", "intra.example"),
            ("SSL_CERT_FILE", "ca.pem"),
            ("NODE_EXTRA_CA_CERTS", "/etc/more.pem"),
        ]);
        let network = environment.network();
        assert_eq!(network.https_proxy.as_deref(), Some("http://small:secret@proxy"));
        assert_eq!(network.http_proxy.as_deref(), Some("http://all"));
        let direct = "intra.example,localhost,127.0.0.0/8,::1";
        assert_eq!(network.no_proxy.as_deref(), Some(direct));
        assert_eq!(network.ca_files, [Path::new("/here/ca.pem"), Path::new("/etc/more.pem")]);
        assert!(!format!("{environment:?}{network:?}").contains("secret"));
    }

    #[test]
    fn a_path_in_the_home_is_shown_with_a_tilde() {
        let environment = environment(&[("HOME", "/h")]);
        assert_eq!(environment.shown(Path::new("/h/a")), "~/a");
        assert_eq!(environment.shown(Path::new("/hello/a")), "/hello/a");
    }
}
