//! One Launchpad that is asked as one account, for as long as a command takes.

use std::hash::{BuildHasher, RandomState};

use secrecy::SecretString;
use tokio::runtime::Runtime;

use super::{TO_DIFF_BAZAAR, credentials};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_forge::launchpad::post::{Outcome, Plan, Posting, Waits, carry_out, planned};
use crh_forge::launchpad::{Client, Credentials, Name, Service, Setup, Standing, TIMEOUTS, read};
use crh_forge::{ForgeError, Proposal, RetryPolicy};
use crh_http::Network;

/// One Launchpad, asked as one account or as nobody.
pub(crate) struct Hub {
    client: Client,
    runtime: Runtime,
    secrets: Vec<SecretString>,
}

impl Hub {
    /// A way to ask a Launchpad. Nothing is asked yet.
    pub(crate) fn open(
        service: &Service,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let found = credentials::found(service, environment, settings)?;
        Self::with(service, found.credentials, environment)
    }

    /// The same as somebody in particular.
    pub(super) fn with(
        service: &Service,
        credentials: Credentials,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let secrets = credentials.secrets();
        let setup = Setup {
            service: service.clone(),
            credentials,
            retry: RetryPolicy::default(),
            now: Environment::clock,
            // Runs that were turned away together must not come back together.
            seed: RandomState::new().hash_one(()),
        };
        let network = Network { timeouts: TIMEOUTS, ..environment.network() };
        let client = Client::new(&network, setup).or_fail(Kind::Usage)?;
        client.tell_waits(ui::note);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self { client, runtime: runtime.or_fail(Kind::Outside)?, secrets })
    }

    /// Reads a merge proposal.
    pub(crate) fn read(&self, name: &Name) -> Result<(Proposal, Standing), Failure> {
        let read = self.runtime.block_on(read::proposal(&self.client, name));
        read.map_err(|error| self.failed(error))
    }

    /// Posts a review: reads what stands, writes one comment, and looks again where it is not known what was written.
    pub(super) fn post(&self, name: &Name, posting: &Posting<'_>) -> Result<Outcome, Failure> {
        let waits = Waits::default();
        let posted = carry_out(&self.client, name, posting, &waits);
        self.runtime.block_on(posted).map_err(|error| self.failed(error))
    }

    /// What would be written for that.
    pub(super) fn planned(&self, name: &Name, posting: &Posting<'_>) -> Result<Plan, Failure> {
        let planned = self.runtime.block_on(planned(&self.client, name, posting));
        planned.map(|(plan, _)| plan).map_err(|error| self.failed(error))
    }

    /// Whom it is asked as. Nobody has no name.
    pub(super) fn viewer(&self) -> Result<String, Failure> {
        let viewer = self.runtime.block_on(read::viewer(&self.client));
        let viewer = viewer.map_err(|error| self.failed(error))?;
        viewer.ok_or_else(|| Failure::usage("Launchpad is asked as nobody"))
    }

    /// Whether it is asked as nobody in particular.
    pub(crate) fn is_nobody(&self) -> bool {
        self.client.is_anonymous()
    }

    /// What must not be printed or stored.
    pub(crate) fn secrets(&self) -> &[SecretString] {
        &self.secrets
    }

    /// Whose fault it is that Launchpad does not do what it is asked, and what to do about it.
    fn failed(&self, error: ForgeError) -> Failure {
        let (kind, hint) = match &error {
            ForgeError::BadToken { .. } => (
                Kind::Usage,
                Some(
                    "the token may have ended, or been taken back; without one, what is public can be read",
                ),
            ),
            ForgeError::NotFound { .. } if self.client.is_anonymous() => {
                (Kind::Outside, Some(credentials::TO_HAVE))
            }
            ForgeError::Forbidden { .. } | ForgeError::NotFound { .. } => {
                (Kind::Outside, Some("who asks may not see it, or it is not there"))
            }
            ForgeError::Bazaar { .. } => (Kind::Usage, Some(TO_DIFF_BAZAAR)),
            ForgeError::RateLimited { .. } => (Kind::Outside, Some("try again later")),
            ForgeError::Failing { .. } => (
                Kind::Outside,
                Some(
                    "try again later; Launchpad's people find what went wrong by the number of the OOPS",
                ),
            ),
            ForgeError::Unreachable { .. } => (
                Kind::Outside,
                Some("proxies and certificates come from the environment, as for other programs"),
            ),
            ForgeError::Unreadable { .. } => (
                Kind::Outside,
                Some(
                    "if this is no Launchpad, `launchpad.service_root` or `LP_SERVICE_ROOT` says where one is asked",
                ),
            ),
            ForgeError::Refused { .. }
            | ForgeError::Ambiguous { .. }
            | ForgeError::TooLarge { .. } => (Kind::Outside, None),
        };
        let failure = Failure::new(kind, error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
