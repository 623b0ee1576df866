//! Finds Launchpad credentials. Credentials in environment variables are only for the configured
//! server.

use std::path::{Path, PathBuf};
use std::sync::Once;

use secrecy::{ExposeSecret, SecretString};

use super::login_file;
use crate::config::environment::Environment;
use crate::config::key::SettingOrigin;
use crate::config::keys::Settings;
use crate::config::launchpad::{CREDENTIALS_VARIABLE, CredentialsFile};
use crate::failure::{Failure, FailureKind};
use crate::{input, ui};
use crh_forge::launchpad::{LaunchpadCredentials, LaunchpadCredentialsError, LaunchpadService};

/// Variables with OAuth credentials.
const ACCESS_VARIABLES: [&str; 3] = ["LP_ACCESS_TOKEN", "LP_ACCESS_SECRET", "LP_CONSUMER_KEY"];

/// Variable with a token for git, because git does not support OAuth.
pub(super) const GIT_TOKEN: &str = "LP_GIT_TOKEN";

/// Variables with secrets that child processes do not need.
pub(crate) const SECRETS: [&str; 2] = [ACCESS_VARIABLES[0], ACCESS_VARIABLES[1]];

/// Variables with secrets that a git credential helper may need.
pub(crate) const TOKENS: [&str; 1] = [GIT_TOKEN];

pub(super) const HINT_ANONYMOUS: &str = "you are not logged in to Launchpad, so crh sees only public data; run `crh login launchpad`, or set `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`, or `LP_CREDENTIALS_FILE`";

pub(crate) const HINT_LOG_IN: &str =
    "run `crh login launchpad`, or set `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`";

const HINT_BROKEN_LOGIN: &str =
    "this is the file of an earlier login; run `crh logout launchpad`, then `crh login launchpad`";

/// Ensures that crh warns only once per command about a credentials file that other users can read.
static WARNED: Once = Once::new();

/// Largest credentials file, in bytes.
const FILE_MAX: u64 = 64 << 10;

/// Credentials and their origin.
pub(crate) struct LaunchpadLogin {
    pub(super) credentials: LaunchpadCredentials,
    /// The variable or file; `None` if anonymous.
    pub(crate) from: Option<String>,
}

/// Finds credentials: for the configured server in variables, then in the configured file; for any
/// server in the file of a login. Otherwise access is anonymous.
pub(crate) fn find_login(
    service: &LaunchpadService,
    environment: &Environment,
    settings: &Settings,
) -> Result<LaunchpadLogin, Failure> {
    if is_configured_service(service, settings) {
        let mut values = environment.secrets(ACCESS_VARIABLES);
        let [token, secret, consumer] = ACCESS_VARIABLES.map(|name| values.remove(name));
        let plain_text = |value: &Option<SecretString>| {
            value.as_ref().map(|value| value.expose_secret().to_owned())
        };
        let (token, consumer) = (plain_text(&token), plain_text(&consumer));
        let from_variables = LaunchpadCredentials::from_variables(
            token.as_deref(),
            secret.as_ref(),
            consumer.as_deref(),
        );
        if let Some(credentials) = from_variables.map_err(credentials_failure)? {
            return Ok(LaunchpadLogin {
                credentials,
                from: Some(format!("`{}`", ACCESS_VARIABLES[0])),
            });
        }
        if let CredentialsFile::At(path) = &settings.launchpad_credentials.value {
            return read_file(path, environment, &file_hint(settings));
        }
    }
    match login_file_path(service, environment).filter(|path| path.is_file()) {
        Some(path) => read_file(&path, environment, HINT_BROKEN_LOGIN),
        None => Ok(LaunchpadLogin { credentials: LaunchpadCredentials::anonymous(), from: None }),
    }
}

/// File in which `crh login launchpad` stores the login; `None` without a home directory.
pub(crate) fn login_file_path(
    service: &LaunchpadService,
    environment: &Environment,
) -> Option<PathBuf> {
    Some(environment.config_dir()?.join("launchpad").join(service.name()))
}

/// Token for git on a Launchpad server.
pub(super) fn git_token(
    service: &LaunchpadService,
    environment: &Environment,
    settings: &Settings,
) -> Option<SecretString> {
    let token = environment.secrets([GIT_TOKEN]).remove(GIT_TOKEN)?;
    // Files and CI secrets often end in a line break.
    let token = token.expose_secret().trim();
    (is_configured_service(service, settings) && !token.is_empty()).then(|| token.into())
}

/// Whether this is the configured server. Credentials in variables are for no other server.
fn is_configured_service(service: &LaunchpadService, settings: &Settings) -> bool {
    settings.launchpad_service_root.value.service() == service
}

/// Hint if the configured file cannot be read.
fn file_hint(settings: &Settings) -> String {
    let is_variable = |origin: &SettingOrigin| match origin {
        SettingOrigin::Variable(_) => true,
        SettingOrigin::Default | SettingOrigin::File { .. } | SettingOrigin::Flag(_) => false,
    };
    match settings.launchpad_credentials.origins.iter().any(is_variable) {
        true => input::variable_hint(CREDENTIALS_VARIABLE),
        false => {
            "`launchpad.credentials` in your config names this file; correct or remove the setting"
                .to_owned()
        }
    }
}

/// Reads a credentials file. `hint` is for a file that cannot be read.
fn read_file(
    path: &Path,
    environment: &Environment,
    hint: &str,
) -> Result<LaunchpadLogin, Failure> {
    let bytes = input::bytes_of_regular_file(path, FILE_MAX, hint)?;
    let from = display_path(path, environment);
    if login_file::is_open_to_others(path) {
        WARNED.call_once(|| {
            ui::warn(&format!("{from} is readable by other users; run `chmod 600` on it"));
        });
    }
    // Parsing reports invalid text.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let credentials = LaunchpadCredentials::from_file(&text.into());
    let credentials = credentials
        .map_err(|error| credentials_failure(error).hint(format!("it is {from}; {HINT_LOG_IN}")))?;
    Ok(LaunchpadLogin { credentials, from: Some(from) })
}

pub(super) fn display_path(path: &Path, environment: &Environment) -> String {
    format!("`{}`", environment.display_path(path))
}

fn credentials_failure(error: LaunchpadCredentialsError) -> Failure {
    Failure::new(FailureKind::Usage, error)
}
