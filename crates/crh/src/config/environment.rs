//! What the process was given: the variables that mean something to crh, and the folder it was started in.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;

use super::keys::KEYS;

/// Names another user's config than the usual one.
pub(crate) const CONFIG_VARIABLE: &str = "CRH_CONFIG";
const HOME: &str = "HOME";
/// The index that git works with, where it is not the usual one: inside hooks.
pub(crate) const INDEX_FILE: &str = "GIT_INDEX_FILE";
const CONFIG_HOME: &str = "XDG_CONFIG_HOME";
const CACHE_HOME: &str = "XDG_CACHE_HOME";

/// The environment as a value, so that everything that depends on it is a pure function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    /// The folder crh was started in.
    pub(crate) folder: PathBuf,
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
        let places = [CONFIG_VARIABLE, HOME, CONFIG_HOME, CACHE_HOME, INDEX_FILE];
        let names = KEYS.iter().filter_map(|key| key.facts.variable).chain(places);
        Self::new(folder, names.filter_map(|name| Some((name, std::env::var_os(name)?))))
    }

    /// An environment of these variables and no other.
    pub(crate) fn new(
        folder: PathBuf,
        variables: impl IntoIterator<Item = (&'static str, OsString)>,
    ) -> Self {
        let variables = variables.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        Self { folder, variables }
    }

    /// A variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str)
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
        match self.under_home(CONFIG_HOME, ".config") {
            Some(folder) => UserConfig::Usual(folder.join("crh/config.toml")),
            None => UserConfig::Nowhere,
        }
    }

    /// Where crh keeps what it can make again; none without a home.
    pub(crate) fn cache(&self) -> Option<PathBuf> {
        Some(self.under_home(CACHE_HOME, ".cache")?.join("crh"))
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
    fn a_path_in_the_home_is_shown_with_a_tilde() {
        let environment = environment(&[("HOME", "/h")]);
        assert_eq!(environment.shown(Path::new("/h/a")), "~/a");
        assert_eq!(environment.shown(Path::new("/hello/a")), "/hello/a");
    }
}
