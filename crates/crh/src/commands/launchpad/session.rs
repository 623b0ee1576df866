//! Launchpad access for the duration of a command.

use std::hash::{BuildHasher, RandomState};

use secrecy::SecretString;
use tokio::runtime::Runtime;

use super::{BAZAAR_HINT, credentials};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::launchpad::{
    LaunchpadClient, LaunchpadClientConfig, LaunchpadCredentials, LaunchpadService,
    MergeProposalRef, TIMEOUTS, read,
};
use crh_forge::posting::ProposalState;
use crh_forge::{ChangeProposal, ForgeError, ForgeRetryPolicy};
use crh_http::NetworkSettings;

/// A client for one Launchpad server and one account, with a runtime.
pub(crate) struct LaunchpadSession {
    pub(super) client: LaunchpadClient,
    pub(super) runtime: Runtime,
    secrets: Vec<SecretString>,
}

impl LaunchpadSession {
    /// Creates a session without sending anything.
    pub(crate) fn open(
        service: &LaunchpadService,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let login = credentials::find_login(service, environment, settings)?;
        Self::with_credentials(service, login.credentials, environment)
    }

    /// Creates a session with these credentials.
    pub(super) fn with_credentials(
        service: &LaunchpadService,
        credentials: LaunchpadCredentials,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let secrets = credentials.secrets();
        let config = LaunchpadClientConfig {
            service: service.clone(),
            credentials,
            retry: ForgeRetryPolicy::default(),
            now: Environment::clock,
            // Concurrent runs must not retry at the same time.
            seed: RandomState::new().hash_one(()),
        };
        let network = NetworkSettings { timeouts: TIMEOUTS, ..environment.network_settings() };
        let client = LaunchpadClient::new(&network, config).or_fail(FailureKind::Usage)?;
        client.on_wait(ui::note);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self { client, runtime: runtime.or_fail(FailureKind::External)?, secrets })
    }

    pub(crate) fn read(
        &self,
        proposal_ref: &MergeProposalRef,
    ) -> Result<(ChangeProposal, ProposalState), Failure> {
        let proposal = self.runtime.block_on(read::merge_proposal(&self.client, proposal_ref));
        proposal.map_err(|error| self.to_failure(error))
    }

    /// Name of the account. Fails if anonymous.
    pub(super) fn viewer(&self) -> Result<String, Failure> {
        let viewer = self.runtime.block_on(read::viewer(&self.client));
        let viewer = viewer.map_err(|error| self.to_failure(error))?;
        viewer.ok_or_else(|| Failure::usage("not logged in to Launchpad"))
    }

    /// Whether access is anonymous.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.client.is_anonymous()
    }

    /// Secrets to mask.
    pub(crate) fn secrets(&self) -> &[SecretString] {
        &self.secrets
    }

    /// Adds exit code and hint to an error.
    pub(super) fn to_failure(&self, error: ForgeError) -> Failure {
        let (kind, hint) = match &error {
            ForgeError::BadToken { .. } => (
                FailureKind::Usage,
                Some(
                    "the token may have expired or been revoked; run `crh login launchpad`, or remove it to read public data",
                ),
            ),
            ForgeError::NotFound { .. } if self.client.is_anonymous() => {
                (FailureKind::External, Some(credentials::HINT_ANONYMOUS))
            }
            ForgeError::Forbidden { .. } | ForgeError::NotFound { .. } => {
                (FailureKind::External, Some("it does not exist, or your account cannot see it"))
            }
            ForgeError::Bazaar { .. } => (FailureKind::Usage, Some(BAZAAR_HINT)),
            ForgeError::RateLimited { .. } => (FailureKind::External, Some("try again later")),
            ForgeError::Failing { .. } => (
                FailureKind::External,
                Some("try again later; Launchpad's operators can look up the OOPS number"),
            ),
            ForgeError::Unreachable { .. } => (
                FailureKind::External,
                Some(
                    "check the network; crh reads proxies and certificates from environment variables such as `HTTPS_PROXY` and `SSL_CERT_FILE`",
                ),
            ),
            ForgeError::Unreadable { .. } => (
                FailureKind::External,
                Some(
                    "if this is not a Launchpad, correct `launchpad.service_root` or `LP_SERVICE_ROOT`",
                ),
            ),
            ForgeError::Refused { .. }
            | ForgeError::Ambiguous { .. }
            | ForgeError::TooLarge { .. }
            | ForgeError::TooOld { .. } => (FailureKind::External, None),
        };
        let failure = Failure::new(kind, error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
