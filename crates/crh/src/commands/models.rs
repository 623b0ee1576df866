//! Opens the models that the settings select.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use secrecy::SecretString;
use serde::{Serialize, Serializer};

use super::{github, launchpad};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::config::models::{ModelChoice, ModelRole};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{hand_off, ui};
use crh_forge::ForgeName;
use crh_llm::{
    Cassette, ContextLength, ContextSource, Endpoint, LiveModel, LiveName, Model, ModelCatalogue,
    ModelEnvironment, ModelName, ModelServer, ModelSetupError, NoAnswer, Provider, Recorder,
    Redactor, ResolveError, ResolvedModel, ServerKind, VendorClient, Wire,
};
use crh_pipeline::review_options::ModelSet;

/// Default context length of Ollama, in tokens.
const OLLAMA_CONTEXT: u64 = 4_096;

/// Context length of a model on the user's own server, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerContext {
    /// The server reported it.
    Told(u64),
    /// crh assumes it, because Ollama did not report it.
    Assumed(u64),
    /// The server reported a smaller one than the user configured.
    BelowConfigured { told: u64, configured: u64 },
}

impl ServerContext {
    pub(crate) fn tokens(self) -> u64 {
        match self {
            Self::Told(tokens)
            | Self::Assumed(tokens)
            | Self::BelowConfigured { told: tokens, .. } => tokens,
        }
    }

    /// The length that the server reported, if it is smaller than the configured one.
    fn below(self, configured: u64) -> Option<Self> {
        match self {
            Self::Told(told) if told < configured => {
                Some(Self::BelowConfigured { told, configured })
            }
            Self::Told(_) | Self::Assumed(_) | Self::BelowConfigured { .. } => None,
        }
    }

    /// What the user should know before crh asks the model.
    fn warning(self, model: &str) -> Option<String> {
        let model = crh_review::one_line(model);
        match self {
            Self::Told(_) => None,
            Self::Assumed(tokens) => Some(format!(
                "Ollama does not tell the context length of `{model}`; crh assumes {tokens} tokens, Ollama's default; set `context` in the model's entry of your configuration if it has more"
            )),
            Self::BelowConfigured { told, configured } => Some(format!(
                "the server's context for `{model}` is {told} tokens; `context` in your configuration says {configured}; crh uses {told}"
            )),
        }
    }
}

/// The model catalogue and the available API keys.
pub(crate) struct ModelResolver<'e> {
    pub(crate) catalogue: ModelCatalogue,
    pub(crate) model_environment: ModelEnvironment,
    environment: &'e Environment,
    /// Hash of the prompts, stored in recordings; `None` if recordings do not need one.
    prompts: Option<String>,
    loading: ModelLoading,
}

/// Whether opening a model makes a local server load it. Ollama chooses the context length only
/// when it loads the model, and silently cuts longer prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelLoading {
    /// The caller asks the model next.
    BeforeUse,
    /// The caller may never ask the model.
    OnFirstQuestion,
}

impl ModelLoading {
    /// An estimate asks no model.
    pub(crate) fn from_estimate_flag(estimate: bool) -> Self {
        if estimate { Self::OnFirstQuestion } else { Self::BeforeUse }
    }
}

/// The model for each role.
#[derive(Debug, Serialize)]
pub(crate) struct ModelRoles {
    #[serde(serialize_with = "serialize_name")]
    pub(crate) reviewer: ModelName,
    /// For simple tasks.
    #[serde(serialize_with = "serialize_name")]
    pub(crate) cheap: ModelName,
    /// For findings that the reviewer was unsure about, and for reviewers of the tier `strong`.
    #[serde(serialize_with = "serialize_name")]
    pub(crate) escalation: ModelName,
    /// Decides which findings are published.
    #[serde(serialize_with = "serialize_name")]
    pub(crate) editor: ModelName,
}

fn serialize_name<S: Serializer>(name: &ModelName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

impl<'e> ModelResolver<'e> {
    pub(crate) fn new(settings: &Settings, environment: &'e Environment) -> Result<Self, Failure> {
        let catalogue = settings.models.value.catalogue().map_err(Failure::usage)?;
        let keys = settings.model_keys.value.0.clone();
        let headers = settings.model_headers.value.0.clone();
        let mut names = ModelEnvironment::relevant_variables(&catalogue, &keys);
        names.extend(headers.values().flat_map(BTreeMap::values).map(String::as_str));
        let model_environment = ModelEnvironment::new(environment.secrets(names), keys)
            .and_then(|model_environment| model_environment.with_headers(headers.clone()))
            .map_err(resolve_failure)?;
        let loading = ModelLoading::BeforeUse;
        Ok(Self { catalogue, model_environment, environment, prompts: None, loading })
    }

    pub(crate) fn with_loading(self, loading: ModelLoading) -> Self {
        Self { loading, ..self }
    }

    /// Stores the hash of the prompts in recordings.
    pub(crate) fn with_prompts(self, version: &str) -> Self {
        Self { prompts: Some(version.to_owned()), ..self }
    }

    /// Masks all API keys and tokens that are set, used or not.
    pub(crate) fn redactor(&self) -> Redactor {
        self.redactor_with(&[])
    }

    /// Like [`Self::redactor`], with additional secrets.
    pub(crate) fn redactor_with(&self, extra_secrets: &[SecretString]) -> Redactor {
        let names = github::SECRETS.into_iter().chain(hand_off::SECRETS);
        let names = names.chain(launchpad::SECRETS).chain(launchpad::TOKENS);
        let rest = ForgeName::all_rest().flat_map(|it| it.rest_profile().token_variables).copied();
        let names = names.chain(rest);
        let tokens = self.environment.secrets(names).into_values();
        let secrets: Vec<_> =
            self.model_environment.secrets(&self.catalogue).chain(tokens).collect();
        Redactor::new(secrets.iter().chain(extra_secrets))
    }

    /// The model for each role. A role without a setting uses `model.reviewer` if that is set, so
    /// that crh does not pay a vendor that the user did not choose. Otherwise it uses the default
    /// of the first provider with an API key.
    pub(crate) fn roles(&self, settings: &Settings) -> Result<ModelRoles, Failure> {
        let configured_name = |choice: &ModelChoice| match choice {
            ModelChoice::Named(name) => Some(name.clone()),
            ModelChoice::Detected => None,
        };
        let (reviewer, cheap, escalation) = match configured_name(&settings.model_reviewer.value) {
            Some(name) => (name.clone(), name.clone(), name),
            None => {
                let defaults =
                    self.catalogue.defaults(&self.model_environment).map_err(resolve_failure)?;
                let live = ModelName::Live;
                (live(defaults.reviewer), live(defaults.cheap), live(defaults.escalation))
            }
        };
        let escalation = configured_name(&settings.model_escalation.value).unwrap_or(escalation);
        Ok(ModelRoles {
            reviewer,
            cheap: configured_name(&settings.model_cheap.value).unwrap_or(cheap),
            editor: configured_name(&settings.model_editor.value)
                .unwrap_or_else(|| escalation.clone()),
            escalation,
        })
    }

    /// A model of another vendor for the editor, if the editor and the reviewers use one vendor and
    /// another vendor has a key. Providers with the same key variable are one vendor.
    pub(crate) fn independent_editor(&self, roles: &ModelRoles) -> Option<LiveName> {
        let key = |provider: Provider| self.catalogue.provider(provider).key.as_deref();
        let (ModelName::Live(reviewer), ModelName::Live(editor)) = (&roles.reviewer, &roles.editor)
        else {
            return None;
        };
        if key(editor.provider) != key(reviewer.provider) {
            return None;
        }
        Provider::ALL.into_iter().find_map(|provider| {
            let is_other = key(provider) != key(reviewer.provider)
                && self.model_environment.has_key(&self.catalogue, provider);
            let defaults = self.catalogue.provider(provider).defaults.as_ref()?;
            let model = defaults.escalation.clone();
            is_other.then_some(LiveName { provider, model, base_url: None })
        })
    }

    /// Whether no model is configured and no API key is set.
    pub(crate) fn has_no_model(&self, settings: &Settings) -> bool {
        let has_no_key = matches!(
            self.catalogue.defaults(&self.model_environment),
            Err(ResolveError::NoKeys { .. })
        );
        settings.model_reviewer.value == ModelChoice::Detected && has_no_key
    }

    /// Opens the models of a review. Each model is opened once, and all are recorded to one file.
    pub(crate) fn open_all(
        &self,
        settings: &Settings,
        record: Option<&Path>,
    ) -> Result<ModelSet, Failure> {
        let ModelRoles { reviewer, cheap, escalation, editor } = self.roles(settings)?;
        let mut opened_models: Vec<(ModelName, Model)> = Vec::new();
        for name in [&reviewer, &cheap, &escalation, &editor] {
            if !opened_models.iter().any(|(opened_name, _)| opened_name == name) {
                opened_models.push((name.clone(), self.open_unrecorded(name)?));
            }
        }
        // Create the recorder last, because this may overwrite an existing recording.
        let recorder = record.map(|file| self.recorder(file)).transpose()?;
        let opened_model = |name: &ModelName| {
            let entry = opened_models.iter().find(|(opened_name, _)| opened_name == name);
            let model = entry.map(|(_, model)| model.clone()).ok_or_else(|| {
                Failure::new(FailureKind::Bug, anyhow::anyhow!("`{name}` was not opened"))
            })?;
            Ok::<_, Failure>(match &recorder {
                Some(recorder) => model.with_recorder(recorder.clone()),
                None => model,
            })
        };
        let in_role = |role: ModelRole, name: &ModelName| {
            let choice = settings.model_efforts.value.0.get(&role);
            let choice = choice.unwrap_or(&settings.model_effort.value);
            opened_model(name).map(|model| model.with_effort(choice.effort(role)))
        };
        Ok(ModelSet {
            reviewer: in_role(ModelRole::Reviewer, &reviewer)?,
            cheap: in_role(ModelRole::Cheap, &cheap)?,
            escalation: in_role(ModelRole::Escalation, &escalation)?,
            editor: in_role(ModelRole::Editor, &editor)?,
        })
    }

    /// Opens a model. If `record` is set, crh records all exchanges in that file.
    pub(crate) fn open(&self, name: &ModelName, record: Option<&Path>) -> Result<Model, Failure> {
        let model = self.open_unrecorded(name)?;
        self.with_recording(model, record)
    }

    /// Like [`Self::open`], but also returns the context length of a model on the user's own
    /// server. Does not warn if crh only assumes this length.
    pub(crate) fn open_with_context(
        &self,
        name: &ModelName,
        record: Option<&Path>,
    ) -> Result<(Model, Option<ServerContext>), Failure> {
        let (model, context) = self.open_silently(name)?;
        Ok((self.with_recording(model, record)?, context))
    }

    fn with_recording(&self, model: Model, record: Option<&Path>) -> Result<Model, Failure> {
        let Some(file) = record else { return Ok(model) };
        Ok(model.with_recorder(self.recorder(file)?))
    }

    /// The server of a model. `None` if its settings are invalid; the model client reports that.
    fn model_server(
        &self,
        endpoint: &Endpoint,
        headers: &[(String, SecretString)],
    ) -> Option<ModelServer> {
        let network = self.environment.network_settings();
        ModelServer::new(endpoint.url.clone(), endpoint.key.clone(), &network)?
            .with_headers(headers)
    }

    /// Context length of a model on the user's own server, if crh has to use it: the length is
    /// unknown, or a local server has a smaller one than the user configured. Such a server may
    /// silently cut longer prompts.
    fn own_server_context(&self, model: &LiveModel) -> Option<ServerContext> {
        let LiveModel { name, endpoint, headers, facts, context_source } = model;
        let is_local = endpoint.url.is_loopback();
        match context_source {
            ContextSource::Assumed if is_local || name.base_url.is_some() => {
                self.server_context(endpoint, headers)
            }
            ContextSource::Configured if is_local => {
                self.server_context(endpoint, headers)?.below(facts.context)
            }
            ContextSource::Assumed | ContextSource::Configured | ContextSource::Table => None,
        }
    }

    /// Context length that the server of a model reports. May first let Ollama load the model,
    /// because Ollama chooses the length then.
    fn server_context(
        &self,
        endpoint: &Endpoint,
        headers: &[(String, SecretString)],
    ) -> Option<ServerContext> {
        let Endpoint { wire, url, model, .. } = endpoint;
        match wire {
            Wire::OpenAiChat | Wire::OpenAiResponses => {}
            Wire::Anthropic | Wire::Gemini => return None,
        }
        let server = self.model_server(endpoint, headers)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let length = runtime.block_on(server.context_length(model))?;
        // crh asks only a server on this machine for pages outside the API.
        let may_be_unloaded = match length {
            ContextLength::AtMost(_) => url.is_loopback(),
            ContextLength::InUse(_) => false,
        };
        if !may_be_unloaded
            || self.loading == ModelLoading::OnFirstQuestion
            || runtime.block_on(server.kind()) != ServerKind::Ollama
        {
            return Some(ServerContext::Told(length.tokens()));
        }
        ui::note(&format!("Ollama loads `{}`", crh_review::one_line(model)));
        Some(match runtime.block_on(server.load(model)) {
            Some(loaded) => ServerContext::Told(loaded.tokens()),
            None => ServerContext::Assumed(length.tokens().min(OLLAMA_CONTEXT)),
        })
    }

    /// What is wrong with the server of a model on this machine: it does not run, or lacks the
    /// model.
    pub(crate) fn local_server_problem(&self, name: &ModelName) -> Option<Failure> {
        let resolved = self.catalogue.resolve(name, &self.model_environment).ok()?;
        let ResolvedModel::Live(live) = resolved else { return None };
        let LiveModel { endpoint, headers, .. } = *live;
        if !endpoint.url.is_loopback() {
            return None;
        }
        let server = self.model_server(&endpoint, &headers)?;
        let Endpoint { url, model, .. } = endpoint;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let is_model = |id: &String| *id == model || id.strip_suffix(":latest") == Some(&model);
        let (problem, hint) = match runtime.block_on(server.models()) {
            Ok(ids) if ids.iter().any(is_model) => return None,
            // Other servers may accept any name of a model.
            Ok(_) if runtime.block_on(server.kind()) != ServerKind::Ollama => return None,
            // `crh model check` explains this error.
            Err(NoAnswer::OtherForm) => return None,
            Ok(_) => (
                format!("the server at `{url}` does not have the model `{model}`"),
                "download it with `ollama pull`, or set `model.reviewer` to another model",
            ),
            Err(NoAnswer::NoServer) => {
                (format!("no model server answers at `{url}`"), "start it, or correct its URL")
            }
        };
        Some(Failure::new(FailureKind::External, anyhow::anyhow!(problem)).hint(hint))
    }

    fn recorder(&self, file: &Path) -> Result<Arc<Recorder>, Failure> {
        let path = self.environment.folder.join(file);
        let recorder = Recorder::create_for(&path, self.redactor(), self.prompts.as_deref())
            .with_context(|| format!("cannot record to `{}`", file.display()))
            .or_fail(FailureKind::Usage)
            .map_err(|failure| {
                failure.hint(
                    "name a new file in an existing folder, or an existing recording to overwrite",
                )
            })?;
        Ok(Arc::new(recorder))
    }

    fn open_unrecorded(&self, name: &ModelName) -> Result<Model, Failure> {
        let (model, context) = self.open_silently(name)?;
        if let Some(warning) = context.and_then(|context| context.warning(model.name())) {
            ui::warn(&warning);
        }
        Ok(model)
    }

    fn open_silently(&self, name: &ModelName) -> Result<(Model, Option<ServerContext>), Failure> {
        let mut context = None;
        let model =
            match self.catalogue.resolve(name, &self.model_environment).map_err(resolve_failure)? {
                ResolvedModel::Live(model) => {
                    context = self.own_server_context(&model);
                    let LiveModel { name, endpoint, headers, mut facts, .. } = *model;
                    if let Some(context) = context {
                        facts.context = context.tokens();
                        facts.max_output = facts.max_output.min(context.tokens());
                    }
                    let client = VendorClient::new(endpoint, &self.environment.network_settings())
                        .and_then(|client| client.with_headers(headers));
                    let client = client.map_err(|error| {
                        let hint = setup_hint(&error);
                        Failure::new(FailureKind::Usage, error).hint(hint)
                    })?;
                    Model::live(name.to_string(), facts, client)
                }
                ResolvedModel::Replay(file) => {
                    let file = self.environment.folder.join(file);
                    let cassette = Cassette::load(&file, self.redactor())
                        .or_fail(FailureKind::Usage)
                        .map_err(|failure| failure.hint("`--record FILE` writes a recording"))?;
                    if let Some(note) = cassette.warning() {
                        ui::warn(note);
                    }
                    Model::from_cassette(cassette)
                }
            };
        Ok((model, context))
    }
}

/// Variables that hold API keys: those of the catalogue, of `model.keys` and of `model.headers`.
pub(crate) fn key_variables(settings: &Settings) -> Result<BTreeSet<String>, Failure> {
    let catalogue = settings.models.value.catalogue().map_err(Failure::usage)?;
    let catalogue_variables =
        Provider::ALL.into_iter().filter_map(|provider| catalogue.provider(provider).key.clone());
    let headers = settings.model_headers.value.0.values().flat_map(BTreeMap::values);
    let configured = settings.model_keys.value.0.values().chain(headers).cloned();
    Ok(catalogue_variables.chain(configured).collect())
}

/// Variables with keys, addresses and headers of models, with their values.
#[cfg(all(feature = "server", unix))]
pub(crate) fn model_variables(
    settings: &Settings,
    environment: &Environment,
) -> Result<Vec<(String, SecretString)>, Failure> {
    let catalogue = settings.models.value.catalogue().map_err(Failure::usage)?;
    let keys = &settings.model_keys.value.0;
    let mut names = ModelEnvironment::relevant_variables(&catalogue, keys);
    let headers = settings.model_headers.value.0.values().flat_map(BTreeMap::values);
    names.extend(headers.map(String::as_str));
    Ok(environment.secrets(names).into_iter().collect())
}

/// Warns if the recording is incomplete.
pub(crate) fn warn_if_recording_failed(model: &Model) {
    if let Some(error) = model.recording_error() {
        ui::warn(&format!("the recording is incomplete: {error}"));
    }
}

/// Hint for a model client that cannot be set up.
fn setup_hint(error: &ModelSetupError) -> &'static str {
    match error {
        ModelSetupError::Key => "`crh model list` shows which variable holds it",
        ModelSetupError::Header(_) => "correct the header in your config, or its variable",
        ModelSetupError::Network(crh_http::ClientSetupError::Proxy { .. }) => {
            "check `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, in upper and lower case"
        }
        ModelSetupError::Network(crh_http::ClientSetupError::CaFile { .. }) => {
            "check `SSL_CERT_FILE`, `CURL_CA_BUNDLE`, `REQUESTS_CA_BUNDLE` and `NODE_EXTRA_CA_CERTS`"
        }
        ModelSetupError::Network(crh_http::ClientSetupError::Client) => {
            "install CA certificates, on Debian the package `ca-certificates`"
        }
    }
}

fn resolve_failure(error: ResolveError) -> Failure {
    let hint = error.hint();
    Failure::new(FailureKind::Usage, error).hint(hint)
}
