//! `crh login launchpad` and `crh logout launchpad`: the user authorizes crh in a browser, and crh
//! stores the token.

use super::login_file::LoginFile;
use super::{LaunchpadSession, credentials};
use crate::cli::{LoginArgs, LoginCommand, LogoutCommand, ServiceArg};
use crate::commands::interrupts;
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, programs, ui};
use crh_forge::launchpad::login::{LoginError, LoginRetry, LoginTimeout};
use crh_forge::launchpad::{CONSUMER, LaunchpadCredentials, LaunchpadService, TIMEOUTS, login};
use crh_forge::{ForgeError, ForgeRetryPolicy};
use crh_http::NetworkSettings;

const HINT_RETRY: &str = "nothing was stored; run `crh login launchpad` again";

pub(crate) fn login(command: &LoginCommand, environment: &Environment) -> Result<(), Failure> {
    let LoginCommand::Launchpad(LoginArgs { service, status }) = command;
    let settings = config::load(environment, None, RawSettings::default())?;
    let service = resolve_service(service, &settings)?;
    match status {
        true => print_status(&service, environment, &settings),
        false => log_in(&service, environment, &settings),
    }
}

pub(crate) fn logout(command: &LogoutCommand, environment: &Environment) -> Result<(), Failure> {
    let LogoutCommand::Launchpad(service) = command;
    let settings = config::load(environment, None, RawSettings::default())?;
    let service = resolve_service(service, &settings)?;
    let login_file = LoginFile::for_service(&service, environment)?;
    let (name, path) = (service.name(), environment.display_path(login_file.path()));
    let message = match login_file.remove()? {
        true => format!(
            "logged out at `{name}`: removed `{path}`; the token stays valid until you revoke it at {}/~/+oauth-tokens\n",
            service.web()
        ),
        false => format!("not logged in at `{name}`: `{path}` does not exist\n"),
    };
    ui::result_text(&message)
}

/// The Launchpad server of `--service`, or the configured one.
fn resolve_service(
    service_arg: &ServiceArg,
    settings: &Settings,
) -> Result<LaunchpadService, Failure> {
    match &service_arg.service {
        Some(root) => LaunchpadService::parse(root).or_fail(FailureKind::Usage),
        None => Ok(settings.launchpad_service_root.value.service().clone()),
    }
}

/// Asks Launchpad for the account name and prints it.
fn print_status(
    service: &LaunchpadService,
    environment: &Environment,
    settings: &Settings,
) -> Result<(), Failure> {
    let login = credentials::find_login(service, environment, settings)?;
    let Some(from) = login.from else {
        return Err(Failure::usage(format!("not logged in at `{}`", service.name()))
            .hint(credentials::HINT_LOG_IN));
    };
    let account =
        LaunchpadSession::with_credentials(service, login.credentials, environment)?.viewer()?;
    ui::result_text(&format!("logged in at `{}` as `{account}`, with {from}\n", service.name()))
}

/// Logs in, checks the token with a request, and stores it.
fn log_in(
    service: &LaunchpadService,
    environment: &Environment,
    settings: &Settings,
) -> Result<(), Failure> {
    interrupts::watch_ctrl_c()?;
    let login_file = LoginFile::for_service(service, environment)?;
    login_file.prepare()?;
    let credentials = authorize(service, environment)?;
    let session = LaunchpadSession::with_credentials(service, credentials.clone(), environment)?;
    let account = session.viewer().map_err(|failure| failure.hint(HINT_RETRY))?;
    let Some(text) = credentials.to_file() else {
        return Err(Failure::new(FailureKind::Bug, anyhow::anyhow!("Launchpad issued no token")));
    };
    login_file.replace(&text)?;
    let path = environment.display_path(login_file.path());
    ui::result_text(&format!(
        "logged in at `{}` as `{account}`; stored in `{path}`\n",
        service.name()
    ))?;
    let login_path = credentials::display_path(login_file.path(), environment);
    match credentials::find_login(service, environment, settings).map(|login| login.from) {
        Ok(Some(from)) if from != login_path => {
            ui::note(&format!("{from} is also set and takes precedence"));
        }
        Ok(_) => {}
        Err(failure) => ui::warn(&format!("the login is not used: {:#}", failure.error)),
    }
    Ok(())
}

/// Requests a token and waits for the user's authorization.
fn authorize(
    service: &LaunchpadService,
    environment: &Environment,
) -> Result<LaunchpadCredentials, Failure> {
    let network = NetworkSettings { timeouts: TIMEOUTS, ..environment.network_settings() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    let retry = LoginRetry { retry: ForgeRetryPolicy::default(), on_wait: ui::note };
    let login = runtime.block_on(login::request_token(&network, service, CONSUMER, retry));
    let login = login.map_err(|error| login_failure(error.into()))?;
    let page = login.page();
    ui::note(&format!("open this page in any browser and authorize crh: {page}"));
    if !programs::open_in_browser(&page) {
        ui::note("cannot open a browser here: `BROWSER` is not set and there is no desktop");
    }
    ui::note("waiting for your answer; Ctrl-C cancels without changes");
    runtime.block_on(login.wait(&network, LoginTimeout::default())).map_err(login_failure)
}

fn login_failure(error: LoginError) -> Failure {
    let hint = match &error {
        LoginError::Declined { .. } | LoginError::TimedOut { .. } => HINT_RETRY,
        LoginError::Forge(ForgeError::Unreachable { .. }) => {
            "nothing was stored; check the network; crh reads proxies and certificates from environment variables such as `HTTPS_PROXY` and `SSL_CERT_FILE`"
        }
        LoginError::Forge(ForgeError::Failing { .. }) => {
            "nothing was stored; try again later; Launchpad's operators can look up the OOPS number"
        }
        LoginError::Forge(
            ForgeError::Refused { .. }
            | ForgeError::NotFound { .. }
            | ForgeError::Unreadable { .. },
        ) => {
            "nothing was stored; is this a Launchpad? set its address with `--service` or `launchpad.service_root`"
        }
        LoginError::Forge(
            ForgeError::BadToken { .. }
            | ForgeError::Forbidden { .. }
            | ForgeError::RateLimited { .. }
            | ForgeError::Ambiguous { .. }
            | ForgeError::Bazaar { .. }
            | ForgeError::TooOld { .. }
            | ForgeError::TooLarge { .. },
        ) => "nothing was stored; try again later",
    };
    Failure::new(FailureKind::External, error).hint(hint)
}
