//! As whom a Launchpad is asked, and what opens its repositories. What is in variables belongs to the Launchpad that the settings
//! name, and goes to no other.

use std::path::{Path, PathBuf};
use std::sync::Once;

use secrecy::{ExposeSecret, SecretString};

use super::kept;
use crate::config::environment::Environment;
use crate::config::key::Origin;
use crate::config::keys::Settings;
use crate::config::launchpad::{CREDENTIALS_VARIABLE, CredentialsFile};
use crate::failure::{Failure, Kind};
use crate::{input, ui};
use crh_forge::launchpad::{Credentials, CredentialsError, Service};

/// What Launchpad gives out for a program.
const ACCESS: [&str; 3] = ["LP_ACCESS_TOKEN", "LP_ACCESS_SECRET", "LP_CONSUMER_KEY"];

/// What opens private repositories for git, which takes no OAuth.
pub(super) const GIT_TOKEN: &str = "LP_GIT_TOKEN";

/// Every variable that may hold a secret of Launchpad's and that no program of the user's needs.
pub(crate) const SECRETS: [&str; 2] = [ACCESS[0], ACCESS[1]];

/// Those that a credential helper of the user's may want.
pub(crate) const TOKENS: [&str; 1] = [GIT_TOKEN];

/// How to be somebody.
pub(super) const TO_HAVE: &str = "Launchpad was asked as nobody, who sees what is public alone; `crh login launchpad`, `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`, or a file of launchpadlib in `LP_CREDENTIALS_FILE` say who asks";

/// How to become somebody.
pub(crate) const TO_LOG_IN: &str = "`crh login launchpad` does it in a browser; `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET` do elsewhere";

/// What to do about a login that cannot be read.
const LEFT_BY_LOGIN: &str = "a login has left it: `crh logout launchpad` removes it, and `crh login launchpad` makes another";

/// A command may ask a Launchpad several times, and is told once who else can.
static WARNED: Once = Once::new();

/// The largest file of credentials, in bytes: one has some hundreds.
const FILE_MAX: u64 = 64 << 10;

/// As whom a Launchpad is asked, and what says so.
pub(crate) struct Found {
    pub(super) credentials: Credentials,
    /// The variable, or the file; none if it is nobody.
    pub(crate) from: Option<String>,
}

/// As whom a Launchpad is asked: what variables say, then the file that was named, then what a login has left; else as nobody.
pub(crate) fn found(
    service: &Service,
    environment: &Environment,
    settings: &Settings,
) -> Result<Found, Failure> {
    if is_meant(service, settings) {
        let mut set = environment.secrets(ACCESS);
        let [token, secret, consumer] = ACCESS.map(|name| set.remove(name));
        let shown = |value: &Option<SecretString>| {
            value.as_ref().map(|value| value.expose_secret().to_owned())
        };
        let (token, consumer) = (shown(&token), shown(&consumer));
        let by_variables =
            Credentials::from_variables(token.as_deref(), secret.as_ref(), consumer.as_deref());
        if let Some(credentials) = by_variables.map_err(refused)? {
            return Ok(Found { credentials, from: Some(format!("`{}`", ACCESS[0])) });
        }
        if let CredentialsFile::At(path) = &settings.launchpad_credentials.value {
            return read(path, environment, &named_by(settings));
        }
    }
    match kept_at(service, environment).filter(|path| path.is_file()) {
        Some(path) => read(&path, environment, LEFT_BY_LOGIN),
        None => Ok(Found { credentials: Credentials::anonymous(), from: None }),
    }
}

/// Where a login keeps what it was given for a Launchpad; nowhere without a home.
pub(crate) fn kept_at(service: &Service, environment: &Environment) -> Option<PathBuf> {
    Some(environment.config()?.join("launchpad").join(service.name()))
}

/// What opens private repositories of a Launchpad for git; none if nothing does.
pub(super) fn git_token(
    service: &Service,
    environment: &Environment,
    settings: &Settings,
) -> Option<SecretString> {
    let token = environment.secrets([GIT_TOKEN]).remove(GIT_TOKEN)?;
    // A file or a secret of CI often ends in a line break.
    let token = token.expose_secret().trim();
    (is_meant(service, settings) && !token.is_empty()).then(|| token.into())
}

/// Whether this is the Launchpad that variables speak of.
fn is_meant(service: &Service, settings: &Settings) -> bool {
    settings.launchpad_service_root.value.service() == service
}

/// What to do about the file that was named and cannot be read.
fn named_by(settings: &Settings) -> String {
    let by_variable = |origin: &Origin| match origin {
        Origin::Variable(_) => true,
        Origin::BuiltIn | Origin::File { .. } | Origin::Flag(_) => false,
    };
    match settings.launchpad_credentials.origins.iter().any(by_variable) {
        true => input::named_by(CREDENTIALS_VARIABLE),
        false => {
            "`launchpad.credentials` in your config names it; set it to a file, or take it out"
                .to_owned()
        }
    }
}

/// Reads a file of credentials; `hint` says what to do if there is none to read.
fn read(path: &Path, environment: &Environment, hint: &str) -> Result<Found, Failure> {
    let bytes = input::bytes_of_file(path, FILE_MAX, hint)?;
    let from = shown(path, environment);
    if kept::is_open_to_others(path) {
        WARNED.call_once(|| {
            ui::warn(&format!("{from} can be read by others; `chmod 600` makes it yours alone"));
        });
    }
    // What is no text is no file of credentials: whoever reads it says so.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let read = Credentials::from_file(&text.into());
    let credentials =
        read.map_err(|error| refused(error).hint(format!("it is {from}; {TO_LOG_IN}")))?;
    Ok(Found { credentials, from: Some(from) })
}

/// A file, as it is named to people.
pub(super) fn shown(path: &Path, environment: &Environment) -> String {
    format!("`{}`", environment.shown(path))
}

fn refused(error: CredentialsError) -> Failure {
    Failure::new(Kind::Usage, error)
}
