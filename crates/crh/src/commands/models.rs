//! From the settings to a model that can be asked.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use secrecy::SecretString;
use serde::{Serialize, Serializer};

use super::{github, launchpad};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::config::models::ModelChoice;
use crate::failure::{Failure, Kind, OrFail};
use crate::{hand_off, ui};
use crh_llm::{
    Cassette, Catalogue, Live, Model, ModelName, Provider, Recorder, Redactor, ResolveError,
    Resolved, SetupError, Surroundings,
};
use crh_pipeline::terms::Crew;

/// What is known about models here: the table, and which keys there are.
pub(crate) struct Models<'e> {
    pub(crate) catalogue: Catalogue,
    pub(crate) surroundings: Surroundings,
    environment: &'e Environment,
}

/// Which model does what.
#[derive(Debug, Serialize)]
pub(crate) struct Roles {
    /// Reviews.
    #[serde(serialize_with = "shown")]
    pub(crate) reviewer: ModelName,
    /// Does what needs little thought.
    #[serde(serialize_with = "shown")]
    pub(crate) cheap: ModelName,
    /// Looks again at what the reviewer was unsure of.
    #[serde(serialize_with = "shown")]
    pub(crate) escalation: ModelName,
}

fn shown<S: Serializer>(name: &ModelName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

impl<'e> Models<'e> {
    pub(crate) fn new(settings: &Settings, environment: &'e Environment) -> Result<Self, Failure> {
        let catalogue = settings.models.value.catalogue().map_err(Failure::usage)?;
        let keys = settings.model_keys.value.0.clone();
        let names = Surroundings::variables_of_interest(&catalogue, &keys);
        let surroundings = Surroundings::new(environment.secrets(names), keys).map_err(refused)?;
        Ok(Self { catalogue, surroundings, environment })
    }

    /// Masks every key and every token that is set, whether it is used or not.
    pub(crate) fn redactor(&self) -> Redactor {
        self.redactor_with(&[])
    }

    /// The same, with secrets that are in no variable.
    pub(crate) fn redactor_with(&self, more: &[SecretString]) -> Redactor {
        let names = github::SECRETS.into_iter().chain(hand_off::SECRETS);
        let names = names.chain(launchpad::SECRETS).chain(launchpad::TOKENS);
        let tokens = self.environment.secrets(names).into_values();
        let secrets: Vec<_> = self.surroundings.secrets(&self.catalogue).chain(tokens).collect();
        Redactor::new(secrets.iter().chain(more))
    }

    /// The model for each task: the one that is named for it. Where none is, the reviewer if one is named, so that
    /// nobody pays a vendor they did not choose; else those of the first provider that has a key.
    pub(crate) fn roles(&self, settings: &Settings) -> Result<Roles, Failure> {
        let named = |choice: &ModelChoice| match choice {
            ModelChoice::Named(name) => Some(name.clone()),
            ModelChoice::Found => None,
        };
        let (reviewer, cheap, escalation) = match named(&settings.model_reviewer.value) {
            Some(name) => (name.clone(), name.clone(), name),
            None => {
                let found = self.catalogue.defaults(&self.surroundings).map_err(refused)?;
                let live = ModelName::Live;
                (live(found.reviewer), live(found.cheap), live(found.escalation))
            }
        };
        Ok(Roles {
            reviewer,
            cheap: named(&settings.model_cheap.value).unwrap_or(cheap),
            escalation: named(&settings.model_escalation.value).unwrap_or(escalation),
        })
    }

    /// Whether no model is named and no provider has a key.
    pub(crate) fn are_none(&self, settings: &Settings) -> bool {
        let nobody =
            matches!(self.catalogue.defaults(&self.surroundings), Err(ResolveError::NoKeys { .. }));
        settings.model_reviewer.value == ModelChoice::Found && nobody
    }

    /// The models of a review. A model with several tasks is opened once, and all are recorded in one file.
    pub(crate) fn crew(&self, settings: &Settings, record: Option<&Path>) -> Result<Crew, Failure> {
        let Roles { reviewer, cheap, escalation } = self.roles(settings)?;
        let mut opened: Vec<(ModelName, Model)> = Vec::new();
        for name in [&reviewer, &cheap, &escalation] {
            if !opened.iter().any(|(known, _)| known == name) {
                opened.push((name.clone(), self.unrecorded(name)?));
            }
        }
        // Last, since it may replace a recording that is there.
        let recorder = record.map(|file| self.recorder(file)).transpose()?;
        let of = |name: &ModelName| {
            let found = opened.iter().find(|(known, _)| known == name);
            let model = found.map(|(_, model)| model.clone()).ok_or_else(|| {
                Failure::new(Kind::Bug, anyhow::anyhow!("`{name}` was not opened"))
            })?;
            Ok::<_, Failure>(match &recorder {
                Some(recorder) => model.recording(recorder.clone()),
                None => model,
            })
        };
        Ok(Crew { reviewer: of(&reviewer)?, cheap: of(&cheap)?, escalation: of(&escalation)? })
    }

    /// A model that can be asked. Every exchange with it is written to `record`.
    pub(crate) fn open(&self, name: &ModelName, record: Option<&Path>) -> Result<Model, Failure> {
        let model = self.unrecorded(name)?;
        let Some(file) = record else { return Ok(model) };
        Ok(model.recording(self.recorder(file)?))
    }

    fn recorder(&self, file: &Path) -> Result<Arc<Recorder>, Failure> {
        let recorder = Recorder::create(&self.environment.folder.join(file), self.redactor())
            .with_context(|| format!("recording to `{}`", file.display()))
            .or_fail(Kind::Usage)
            .map_err(|failure| {
                failure.hint("name a file that is not there yet, or a recording to replace")
            })?;
        Ok(Arc::new(recorder))
    }

    fn unrecorded(&self, name: &ModelName) -> Result<Model, Failure> {
        Ok(match self.catalogue.resolve(name, &self.surroundings).map_err(refused)? {
            Resolved::Live(model) => {
                let live = Live::new(model.endpoint, &self.environment.network());
                let live = live.map_err(|error| {
                    let hint = remedy(&error);
                    Failure::new(Kind::Usage, error).hint(hint)
                })?;
                Model::live(model.name.to_string(), model.facts, live)
            }
            Resolved::Replay(file) => {
                let file = self.environment.folder.join(file);
                let cassette = Cassette::read(&file, self.redactor())
                    .or_fail(Kind::Usage)
                    .map_err(|failure| failure.hint("`--record FILE` writes a recording"))?;
                if let Some(note) = cassette.note() {
                    ui::warn(note);
                }
                Model::playing(cassette)
            }
        })
    }
}

/// The variables that hold keys of models: those of the catalogue, and those that the user names.
pub(crate) fn key_variables(settings: &Settings) -> Result<BTreeSet<String>, Failure> {
    let catalogue = settings.models.value.catalogue().map_err(Failure::usage)?;
    let own = Provider::ALL.into_iter().filter_map(|one| catalogue.provider(one).key.clone());
    Ok(own.chain(settings.model_keys.value.0.values().cloned()).collect())
}

/// Says so if what was asked could not all be written down: the answer alone does not show it.
pub(crate) fn warn_of_recording(model: &Model) {
    if let Some(error) = model.recording_error() {
        ui::warn(&format!("the recording is incomplete: {error}"));
    }
}

/// Where to look for what is wrong with the way to a model.
fn remedy(error: &SetupError) -> &'static str {
    match error {
        SetupError::Key => "`crh model list` shows which variable holds it",
        SetupError::Network(crh_http::SetupError::Proxy { .. }) => {
            "look at `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, in capitals or not"
        }
        SetupError::Network(crh_http::SetupError::CaFile { .. }) => {
            "look at `SSL_CERT_FILE`, `CURL_CA_BUNDLE`, `REQUESTS_CA_BUNDLE` and `NODE_EXTRA_CA_CERTS`"
        }
        SetupError::Network(crh_http::SetupError::Client) => {
            "on Debian they come with the package `ca-certificates`"
        }
    }
}

fn refused(error: ResolveError) -> Failure {
    let hint = error.hint();
    Failure::new(Kind::Usage, error).hint(hint)
}
