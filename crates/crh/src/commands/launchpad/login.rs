//! `crh login launchpad` and `crh logout launchpad`: a person says yes in a browser, and what Launchpad gives out for it is kept.

use super::kept::Kept;
use super::{Hub, credentials};
use crate::cli::{LoginArgs, LoginCommand, LogoutCommand, ServiceArg};
use crate::commands::interrupts;
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, programs, ui};
use crh_forge::launchpad::login::{Again, LoginError, Patience};
use crh_forge::launchpad::{CONSUMER, Credentials, Service, TIMEOUTS, login};
use crh_forge::{ForgeError, RetryPolicy};
use crh_http::Network;

/// How to begin again.
const AGAIN: &str = "nothing was stored; `crh login launchpad` asks again";

pub(crate) fn login(command: &LoginCommand, environment: &Environment) -> Result<(), Failure> {
    let LoginCommand::Launchpad(LoginArgs { service, status }) = command;
    let settings = config::load(environment, None, RawSettings::default())?;
    let service = meant(service, &settings)?;
    match status {
        true => say_who(&service, environment, &settings),
        false => log_in(&service, environment, &settings),
    }
}

pub(crate) fn logout(command: &LogoutCommand, environment: &Environment) -> Result<(), Failure> {
    let LogoutCommand::Launchpad(service) = command;
    let settings = config::load(environment, None, RawSettings::default())?;
    let service = meant(service, &settings)?;
    let kept = Kept::of(&service, environment)?;
    let (name, path) = (service.name(), environment.shown(kept.path()));
    let said = match kept.forget()? {
        true => format!(
            "logged out at `{name}`: `{path}` is gone; until it is taken back at {}/~/+oauth-tokens, the token itself stays good\n",
            service.web()
        ),
        false => format!("nobody was logged in at `{name}`: there is no `{path}`\n"),
    };
    ui::result_text(&said)
}

/// The Launchpad that is meant: the one that was named, or that of the settings.
fn meant(named: &ServiceArg, settings: &Settings) -> Result<Service, Failure> {
    match &named.service {
        Some(root) => Service::named(root).or_fail(Kind::Usage),
        None => Ok(settings.launchpad_service_root.value.service().clone()),
    }
}

/// Says as whom a Launchpad is asked, after asking it.
fn say_who(
    service: &Service,
    environment: &Environment,
    settings: &Settings,
) -> Result<(), Failure> {
    let found = credentials::found(service, environment, settings)?;
    let Some(from) = found.from else {
        return Err(Failure::usage(format!("you are not logged in at `{}`", service.name()))
            .hint(credentials::TO_LOG_IN));
    };
    let who = Hub::with(service, found.credentials, environment)?.viewer()?;
    ui::result_text(&format!("`{}` is asked as `{who}`, by {from}\n", service.name()))
}

/// Has a person say yes, and keeps what comes of it once it is known to work.
fn log_in(
    service: &Service,
    environment: &Environment,
    settings: &Settings,
) -> Result<(), Failure> {
    interrupts::watch_fetches()?;
    let kept = Kept::of(service, environment)?;
    kept.prepare()?;
    let credentials = given(service, environment)?;
    let hub = Hub::with(service, credentials.clone(), environment)?;
    let who = hub.viewer().map_err(|failure| failure.hint(AGAIN))?;
    let Some(text) = credentials.to_file() else {
        return Err(Failure::new(Kind::Bug, anyhow::anyhow!("a token of nobody was given")));
    };
    kept.replace(&text)?;
    let path = environment.shown(kept.path());
    ui::result_text(&format!(
        "logged in at `{}` as `{who}`; it is kept in `{path}`\n",
        service.name()
    ))?;
    let own = credentials::shown(kept.path(), environment);
    match credentials::found(service, environment, settings).map(|found| found.from) {
        Ok(Some(from)) if from != own => {
            ui::note(&format!("{from} is there as well, and comes first"));
        }
        Ok(_) => {}
        Err(failure) => ui::warn(&format!("it is not used: {:#}", failure.error)),
    }
    Ok(())
}

/// What Launchpad gives out once a person has said yes.
fn given(service: &Service, environment: &Environment) -> Result<Credentials, Failure> {
    let network = Network { timeouts: TIMEOUTS, ..environment.network() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(Kind::Outside)?;
    let again = Again { retry: RetryPolicy::default(), tell: ui::note };
    let begun = runtime.block_on(login::begin(&network, service, CONSUMER, again));
    let begun = begun.map_err(|error| not_given(error.into()))?;
    let page = begun.page();
    ui::note(&format!("log in and say yes on this page, in whichever browser you like: {page}"));
    if !programs::open_page(&page) {
        ui::note("no browser is opened from here: `BROWSER` names none, and there is no desktop");
    }
    ui::note("waiting for your answer; Ctrl-C ends it, and nothing is changed then");
    runtime.block_on(begun.wait(&network, Patience::default())).map_err(not_given)
}

/// Why nobody is logged in, and what to do about it.
fn not_given(error: LoginError) -> Failure {
    let hint = match &error {
        LoginError::Declined { .. } | LoginError::TimedOut { .. } => AGAIN,
        LoginError::Forge(ForgeError::Unreachable { .. }) => {
            "nothing was stored; proxies and certificates come from the environment, as for other programs"
        }
        LoginError::Forge(ForgeError::Failing { .. }) => {
            "nothing was stored; try again later; Launchpad's people find what went wrong by the number of the OOPS"
        }
        LoginError::Forge(
            ForgeError::Refused { .. }
            | ForgeError::NotFound { .. }
            | ForgeError::Unreadable { .. },
        ) => {
            "nothing was stored; is this a Launchpad? `--service` or `launchpad.service_root` says where one is"
        }
        LoginError::Forge(
            ForgeError::BadToken { .. }
            | ForgeError::Forbidden { .. }
            | ForgeError::RateLimited { .. }
            | ForgeError::Ambiguous { .. }
            | ForgeError::Bazaar { .. }
            | ForgeError::TooLarge { .. },
        ) => "nothing was stored; try again later",
    };
    Failure::new(Kind::Outside, error).hint(hint)
}
