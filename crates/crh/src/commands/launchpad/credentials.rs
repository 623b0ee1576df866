//! As whom a Launchpad is asked, and what opens its repositories. What is in variables belongs to the Launchpad that the settings
//! name, and goes to no other.

use std::path::PathBuf;

use crh_forge::launchpad::Credentials;
use crh_forge::launchpad::CredentialsError;
use crh_forge::launchpad::Service;
use secrecy::ExposeSecret;
use secrecy::SecretString;

use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::config::launchpad::CREDENTIALS_VARIABLE;
use crate::config::launchpad::CredentialsFile;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::input;

/// What Launchpad gives out for a program.
const ACCESS: [&str; 3] = ["LP_ACCESS_TOKEN", "LP_ACCESS_SECRET", "LP_CONSUMER_KEY"];

/// What opens private repositories for git, which takes no OAuth.
pub(super) const GIT_TOKEN: &str = "LP_GIT_TOKEN";

/// Every variable that may hold a secret of Launchpad's and that no program of the user's needs.
pub(crate) const SECRETS: [&str; 2] = [ACCESS[0], ACCESS[1]];

/// Those that a credential helper of the user's may want.
pub(crate) const TOKENS: [&str; 1] = [GIT_TOKEN];

/// How to be somebody.
pub(super) const TO_HAVE: &str = "Launchpad was asked as nobody, who sees what is public alone; `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`, or a file of launchpadlib in `LP_CREDENTIALS_FILE`, say who asks";

/// The largest file of credentials, in bytes: one has some hundreds.
const FILE_MAX: u64 = 64 << 10;

/// As whom a Launchpad is asked: what variables say, then the file that was named, then what a login has left; else as nobody.
pub(super) fn found(
    service: &Service,
    environment: &Environment,
    settings: &Settings,
) -> Result<Credentials, Failure> {
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
            return Ok(credentials);
        }
        if let CredentialsFile::At(path) = &settings.launchpad_credentials.value {
            return read(path.clone());
        }
    }
    match kept_at(service, environment).filter(|path| path.is_file()) {
        Some(path) => read(path),
        None => Ok(Credentials::anonymous()),
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
    let token = environment.secrets([GIT_TOKEN]).remove(GIT_TOKEN);
    token.filter(|token| is_meant(service, settings) && !token.expose_secret().trim().is_empty())
}

/// Whether this is the Launchpad that variables speak of.
fn is_meant(service: &Service, settings: &Settings) -> bool {
    settings.launchpad_service_root.value.service() == service
}

fn read(path: PathBuf) -> Result<Credentials, Failure> {
    let bytes = input::bytes_named_by(CREDENTIALS_VARIABLE, &path, FILE_MAX)?;
    // What is no text is no file of credentials: whoever reads it says so.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Credentials::from_file(&text.into())
        .map_err(|error| refused(error).hint(format!("it is `{}`", path.display())))
}

fn refused(error: CredentialsError) -> Failure {
    Failure::new(Kind::Usage, error)
}
