//! Environment variables that crh reads, and the current folder.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use secrecy::SecretString;

use crate::ui;
use crh_forge::ForgeName;
use crh_http::{NetworkSettings, Timeouts};
use crh_os::environment::HOME;

/// Variable with the path of the user's config file.
pub(crate) const CONFIG_VARIABLE: &str = "CRH_CONFIG";
/// Path of the git index; git sets it in hooks.
pub(crate) const INDEX_FILE: &str = "GIT_INDEX_FILE";
const CONFIG_HOME: &str = "XDG_CONFIG_HOME";
const CACHE_HOME: &str = "XDG_CACHE_HOME";
const STATE_HOME: &str = "XDG_STATE_HOME";
/// Set by CI services.
pub(crate) const CI: &str = "CI";
/// Set by the runner of GitHub Actions.
pub(crate) const GITHUB_ACTIONS: &str = "GITHUB_ACTIONS";
/// Set by CI systems that execute commands in the log: GitHub Actions, Azure Pipelines, TeamCity.
pub(crate) const OBEYING_CI: [&str; 3] = [GITHUB_ACTIONS, "TF_BUILD", "TEAMCITY_VERSION"];
/// Default GitHub server and the current pull request; set in GitHub Actions.
pub(crate) const GITHUB_VARIABLES: [&str; 5] = [
    "GITHUB_SERVER_URL",
    "GITHUB_API_URL",
    "GITHUB_GRAPHQL_URL",
    "GITHUB_EVENT_PATH",
    "GITHUB_REPOSITORY",
];
/// An additional GitHub host; the `gh` client reads it too.
pub(crate) const GH_HOST_VARIABLE: &str = "GH_HOST";
/// App id, and path of the private key, if crh runs as a GitHub App.
pub(crate) const GITHUB_APP_VARIABLES: [&str; 2] = ["CRH_GITHUB_APP_ID", "CRH_GITHUB_APP_KEY_FILE"];
pub(crate) const PATH: &str = "PATH";
pub(crate) const TERM: &str = "TERM";

/// Proxy variables by precedence; as in other programs, lower case wins.
const HTTP_PROXY: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const HTTPS_PROXY: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const NO_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";
/// Variables with extra CA certificate files, by the names that other programs use.
const CA_FILES: [&str; 4] =
    ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"];

/// The environment as a value, so that code that depends on the environment can be tested. Secrets
/// are not stored here; [`Environment::secrets`] reads them when needed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    /// The current folder.
    pub(crate) folder: PathBuf,
    /// Path of the running crh, which starts itself again as the sandbox helper.
    pub(crate) program: Option<PathBuf>,
    /// Variables that are set and not empty.
    variables: BTreeMap<&'static str, OsString>,
}

/// Location of the user's config file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UserConfigPath {
    /// Named by the user, so it must exist.
    Explicit(PathBuf),
    /// The default path, which may not exist.
    Default(PathBuf),
    /// There is no home folder.
    NoHome,
}

impl Environment {
    /// The environment of this process. `setting_variables` are the variables that hold settings.
    pub(crate) fn from_process(setting_variables: impl Iterator<Item = &'static str>) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the only place that reads the current folder"
        )]
        let folder = std::env::current_dir();
        // If the current folder was deleted, commands that need no folder still work.
        let folder = folder.unwrap_or_else(|_| PathBuf::from("."));
        let other_variables = [
            CONFIG_VARIABLE,
            HOME,
            CONFIG_HOME,
            CACHE_HOME,
            STATE_HOME,
            INDEX_FILE,
            CI,
            GITHUB_ACTIONS,
            PATH,
            TERM,
            GH_HOST_VARIABLE,
            #[cfg(all(feature = "server", unix))]
            crh_server::worker::PARENT_VARIABLE,
        ];
        let names = setting_variables
            .chain(other_variables)
            .chain(OBEYING_CI)
            .chain(GITHUB_VARIABLES)
            .chain(GITHUB_APP_VARIABLES)
            .chain(ForgeName::all_rest().flat_map(|it| it.rest_profile().server_variables).copied())
            .chain(HTTP_PROXY)
            .chain(HTTPS_PROXY)
            .chain(NO_PROXY)
            .chain(CA_FILES);
        let variables = names.filter_map(|name| Some((name, std::env::var_os(name)?)));
        Self { program: std::env::current_exe().ok(), ..Self::new(folder, variables) }
    }

    /// An environment with exactly these variables.
    pub(crate) fn new(
        folder: PathBuf,
        variables: impl IntoIterator<Item = (&'static str, OsString)>,
    ) -> Self {
        let variables = variables.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        Self { folder, program: None, variables }
    }

    /// An environment for another folder with its own home, so that the user's settings and caches
    /// do not apply. Keeps the variables for CI, colour, terminal, proxies and certificates.
    pub(crate) fn isolated(&self, folder: &Path, home: &Path) -> Self {
        let names =
            ["NO_COLOR", CI, TERM].into_iter().chain(HTTP_PROXY).chain(HTTPS_PROXY).chain(NO_PROXY);
        let variables = names.filter_map(|name| Some((name, self.variables.get(name)?.clone())));
        let ca_files = CA_FILES.into_iter().filter_map(|name| {
            let file = self.folder.join(self.variables.get(name)?);
            Some((name, file.into_os_string()))
        });
        let home = [(HOME, home.as_os_str().to_owned())];
        let program = self.program.clone();
        Self { program, ..Self::new(folder.to_owned(), variables.chain(ca_files).chain(home)) }
    }

    /// The current time.
    #[expect(clippy::unused_self, reason = "the clock is part of the environment")]
    pub(crate) fn now(&self) -> SystemTime {
        Self::clock()
    }

    /// The current time, for code that takes a clock function.
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the clock")]
    pub(crate) fn clock() -> SystemTime {
        SystemTime::now()
    }

    /// Identifies this build: version, and path, size and modification time of the executable.
    /// Cached results of another build are not reused. If the executable cannot be read, the id
    /// differs in every process, so that nothing is reused.
    pub(crate) fn build_id(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let executable_id = || {
            let file = std::env::current_exe().ok()?;
            let metadata = std::fs::metadata(&file).ok()?;
            let time = metadata.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            Some(format!("{} {} {}", file.display(), metadata.len(), time.as_nanos()))
        };
        let unique_id = || format!("{} {:?}", std::process::id(), self.now());
        format!("{version} {}", executable_id().unwrap_or_else(unique_id))
    }

    /// The value of a variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str)
    }

    /// Values of variables that may hold secrets. crh reads the values on demand and does not store
    /// them.
    pub(crate) fn secrets<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> BTreeMap<String, SecretString> {
        let secrets =
            names.into_iter().filter_map(|name| match std::env::var_os(name)?.into_string() {
                Ok(value) => Some((name.to_owned(), SecretString::from(value))),
                Err(_) => {
                    ui::warn(&format!("ignoring `{name}`: its value is not UTF-8"));
                    None
                }
            });
        secrets.collect()
    }

    /// Proxies and certificates.
    pub(crate) fn network_settings(&self) -> NetworkSettings {
        let first_value = |names: &[&str]| {
            let value = names.iter().find_map(|name| self.variable(name));
            value.map(|value| value.to_string_lossy().into_owned())
        };
        let files = CA_FILES.iter().filter_map(|name| self.variable(name));
        NetworkSettings {
            http_proxy: first_value(&HTTP_PROXY),
            https_proxy: first_value(&HTTPS_PROXY),
            // Requests to this machine bypass the proxy.
            no_proxy: Some(match first_value(&NO_PROXY) {
                Some(hosts) => format!("{hosts},{LOOPBACK}"),
                None => LOOPBACK.to_owned(),
            }),
            ca_files: files.map(|file| self.folder.join(file)).collect(),
            timeouts: Timeouts::default(),
        }
    }

    /// Variables for processes that crh starts to do its own work: settings, proxies and
    /// certificates, without secrets and without a home.
    #[cfg(all(feature = "server", unix))]
    pub(crate) fn child_variables(
        &self,
        setting_variables: impl Iterator<Item = &'static str>,
    ) -> Vec<(String, String)> {
        let not_for_children = ["CRH_STORE", "CRH_STATE", "NO_COLOR"];
        let settings = setting_variables.filter(|name| !not_for_children.contains(name));
        let names = settings.chain([PATH]).chain(HTTP_PROXY).chain(HTTPS_PROXY).chain(NO_PROXY);
        let plain = names.filter_map(|name| {
            Some((name.to_owned(), self.variable(name)?.to_string_lossy().into_owned()))
        });
        let files = CA_FILES.iter().filter_map(|name| {
            let file = self.folder.join(self.variable(name)?);
            Some(((*name).to_owned(), file.to_string_lossy().into_owned()))
        });
        let config = match self.user_config() {
            UserConfigPath::Explicit(path) => Some(path),
            UserConfigPath::Default(path) => Some(path).filter(|path| path.exists()),
            UserConfigPath::NoHome => None,
        };
        let config =
            config.map(|path| (CONFIG_VARIABLE.to_owned(), path.to_string_lossy().into_owned()));
        plain.chain(files).chain(config).collect()
    }

    /// The user's home. A relative `HOME` is ignored, because it would depend on the current
    /// folder.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.absolute_path(HOME)
    }

    pub(crate) fn user_config(&self) -> UserConfigPath {
        if let Some(path) = self.variable(CONFIG_VARIABLE) {
            return UserConfigPath::Explicit(self.folder.join(path));
        }
        match self.config_dir() {
            Some(folder) => UserConfigPath::Default(folder.join("config.toml")),
            None => UserConfigPath::NoHome,
        }
    }

    /// Folder for configuration; none without a home.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        Some(self.xdg_dir(CONFIG_HOME, ".config")?.join("crh"))
    }

    /// Folder for caches; none without a home.
    pub(crate) fn cache_dir(&self) -> Option<PathBuf> {
        Some(self.xdg_dir(CACHE_HOME, ".cache")?.join("crh"))
    }

    /// Folder for user decisions; none without a home.
    pub(crate) fn state_dir(&self) -> Option<PathBuf> {
        Some(self.xdg_dir(STATE_HOME, ".local/state")?.join("crh"))
    }

    /// A path for messages: on one line, with `~` for the home.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        let text = match self.home().and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        };
        text.replace('\n', "\\n")
    }

    /// XDG rule: the variable if it is an absolute path, else a folder in the home.
    fn xdg_dir(&self, variable: &str, folder: &str) -> Option<PathBuf> {
        let variable_path = self.absolute_path(variable).map(Path::to_owned);
        variable_path.or_else(|| Some(self.home()?.join(folder)))
    }

    fn absolute_path(&self, variable: &str) -> Option<&Path> {
        self.variable(variable).map(Path::new).filter(|path| path.is_absolute())
    }
}

impl fmt::Debug for Environment {
    /// Shows only the names of variables, because values may contain passwords (proxy URLs).
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
    fn user_config_path_is_explicit_or_follows_xdg() {
        let usual = |path: &str| UserConfigPath::Default(path.into());
        for (variables, expected) in [
            (vec![], UserConfigPath::NoHome),
            (vec![("HOME", "")], UserConfigPath::NoHome),
            (vec![("HOME", "relative")], UserConfigPath::NoHome),
            (vec![("HOME", "/h")], usual("/h/.config/crh/config.toml")),
            (vec![("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], usual("/x/crh/config.toml")),
            (vec![("HOME", "/h"), ("XDG_CONFIG_HOME", "x")], usual("/h/.config/crh/config.toml")),
            (vec![("HOME", "/h"), ("CRH_CONFIG", "")], usual("/h/.config/crh/config.toml")),
            (
                vec![("HOME", "/h"), ("CRH_CONFIG", "a.toml")],
                UserConfigPath::Explicit("/here/a.toml".into()),
            ),
            (vec![("CRH_CONFIG", "/a.toml")], UserConfigPath::Explicit("/a.toml".into())),
        ] {
            assert_eq!(environment(&variables).user_config(), expected, "{variables:?}");
        }
    }

    #[test]
    fn cache_and_state_folders_follow_xdg() {
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
            let folders = environment.cache_dir().zip(environment.state_dir());
            let expected = expected.map(|[cache, state]| (cache.into(), state.into()));
            assert_eq!(folders, expected, "{variables:?}");
        }
    }

    #[test]
    fn proxy_and_certificate_variables_are_standard() {
        let environment = environment(&[
            ("HTTPS_PROXY", "http://big"),
            ("https_proxy", "http://small:secret@proxy"),
            ("ALL_PROXY", "http://all"),
            ("NO_PROXY", "intra.example"),
            ("SSL_CERT_FILE", "ca.pem"),
            ("NODE_EXTRA_CA_CERTS", "/etc/more.pem"),
        ]);
        let network = environment.network_settings();
        assert_eq!(network.https_proxy.as_deref(), Some("http://small:secret@proxy"));
        assert_eq!(network.http_proxy.as_deref(), Some("http://all"));
        let direct = "intra.example,localhost,127.0.0.0/8,::1";
        assert_eq!(network.no_proxy.as_deref(), Some(direct));
        assert_eq!(network.ca_files, [Path::new("/here/ca.pem"), Path::new("/etc/more.pem")]);
        assert!(!format!("{environment:?}{network:?}").contains("secret"));
    }

    #[test]
    fn path_in_home_is_displayed_with_tilde() {
        let environment = environment(&[("HOME", "/h")]);
        assert_eq!(environment.display_path(Path::new("/h/a")), "~/a");
        assert_eq!(environment.display_path(Path::new("/hello/a")), "/hello/a");
    }
}
