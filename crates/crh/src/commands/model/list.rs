//! `crh model list`: providers, API keys, models and prices.

use serde::Serialize;

use crate::cli::{ListFormatArg, ModelListArgs};
use crate::commands::models::{ModelResolver, ModelRoles};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, ui};
use crh_llm::{BaseUrl, LiveName, ModelFacts, Money, Provider};
use crh_review::stable_json;

/// Prices are per million tokens, as vendors list them.
const MILLION: u64 = 1_000_000;

#[derive(Serialize)]
struct ModelListing {
    providers: Vec<ProviderRow>,
    /// Models in use with the current settings; none if no model is configured and no API key is
    /// set.
    #[serde(rename = "asked")]
    roles: Option<ModelRoles>,
}

#[derive(Serialize)]
struct ProviderRow {
    name: &'static str,
    base_url: String,
    key: Option<KeyRow>,
    /// Provider whose models this provider serves through another API.
    #[serde(skip_serializing_if = "Option::is_none")]
    models_of: Option<Provider>,
    models: Vec<ModelRow>,
}

#[derive(Serialize)]
struct KeyRow {
    variable: String,
    set: bool,
}

#[derive(Serialize)]
struct ModelRow {
    name: String,
    /// Roles for which this model is the default.
    default_for: Vec<&'static str>,
    context: u64,
    max_output: u64,
    tools: bool,
    schema: bool,
    /// US dollars per million tokens.
    price: Option<PriceRow>,
}

#[derive(Serialize)]
struct PriceRow {
    input: f64,
    cache_read: f64,
    cache_write: f64,
    output: f64,
    /// Calls with more input tokens cost more.
    #[serde(skip_serializing_if = "Option::is_none")]
    dearer_above: Option<u64>,
}

pub(crate) fn run(args: &ModelListArgs, environment: &Environment) -> Result<(), Failure> {
    let settings = config::load(environment, None, RawSettings::default())?;
    let models = ModelResolver::new(&settings, environment)?;
    let providers: Result<Vec<_>, _> =
        Provider::ALL.into_iter().map(|provider| provider_row(&models, provider)).collect();
    let listing = ModelListing { providers: providers?, roles: models.roles(&settings).ok() };
    ui::result_text(&match args.format {
        ListFormatArg::Text => crh_review::escape_invisible(&listing_text(&listing)),
        ListFormatArg::Json => stable_json(&listing).or_fail(FailureKind::Bug)?,
    })
}

fn provider_row(models: &ModelResolver<'_>, provider: Provider) -> Result<ProviderRow, Failure> {
    let facts = models.catalogue.provider(provider);
    let url = models
        .model_environment
        .base_url(&models.catalogue, provider)
        .or_fail(FailureKind::Usage)?;
    let ids = models.catalogue.models(provider);
    Ok(ProviderRow {
        name: provider.as_str(),
        base_url: url.to_string(),
        key: facts.key.clone().map(|variable| KeyRow {
            variable,
            set: models.model_environment.has_key(&models.catalogue, provider),
        }),
        models_of: facts.models_of,
        models: ids.into_iter().map(|id| model_row(models, provider, id, &url)).collect(),
    })
}

fn model_row(models: &ModelResolver<'_>, provider: Provider, id: &str, url: &BaseUrl) -> ModelRow {
    let name = LiveName { provider, model: id.to_owned(), base_url: None };
    let ModelFacts { context, max_output, price, abilities } = models.catalogue.facts(&name, url);
    let defaults = models.catalogue.provider(provider).defaults.as_ref();
    let roles = defaults.into_iter().flat_map(|models| {
        [
            ("reviewer", &models.reviewer),
            ("cheap", &models.cheap),
            ("escalation", &models.escalation),
        ]
    });
    let dollars = |rate: Money| rate.times(MILLION).as_dollars();
    ModelRow {
        name: name.to_string(),
        default_for: roles.filter(|(_, model)| *model == id).map(|(role, _)| role).collect(),
        context,
        max_output,
        tools: abilities.tools,
        schema: abilities.schema,
        price: price.map(|price| PriceRow {
            input: dollars(price.rates.input),
            cache_read: dollars(price.rates.cache_read),
            cache_write: dollars(price.rates.cache_write),
            output: dollars(price.rates.output),
            dearer_above: price.long.map(|(above, _)| above),
        }),
    }
}

fn listing_text(listing: &ModelListing) -> String {
    let mut out = "Columns: context window in tokens; US dollars per million tokens for\ninput / cached input / cache write / output; default roles\n"
        .to_owned();
    for provider in &listing.providers {
        let key = match &provider.key {
            Some(KeyRow { variable, set: true }) => format!("{variable} is set"),
            Some(KeyRow { variable, set: false }) => format!("{variable} is not set"),
            None => "needs no key".to_owned(),
        };
        out += &format!("\n{}: {key}; {}\n", provider.name, provider.base_url);
        match &provider.models_of {
            Some(other) => out += &format!("  same models as {other}\n"),
            None => {
                let lines =
                    provider.models.iter().map(|model| format!("  {}\n", model_line(model)));
                out.extend(lines);
            }
        }
    }
    out += &match &listing.roles {
        Some(ModelRoles { reviewer, cheap, escalation, editor }) => format!(
            "\nIn use: reviewer {reviewer},\ncheap {cheap},\nescalation {escalation},\neditor {editor}.\n"
        ),
        None => "\nNo API key is set: set one, or pass `--model`.\n".to_owned(),
    };
    out
}

fn model_line(model: &ModelRow) -> String {
    let id = model.name.split_once(':').map_or(model.name.as_str(), |(_, id)| id);
    let price = match &model.price {
        Some(PriceRow { input, cache_read, cache_write, output, dearer_above }) => {
            let dearer =
                dearer_above.map(|above| format!(", more above {} tokens", short_count(above)));
            let dearer = dearer.unwrap_or_default();
            format!("{input} / {cache_read} / {cache_write} / {output}{dearer}")
        }
        None => "no price".to_owned(),
    };
    let context = short_count(model.context);
    match model.default_for.as_slice() {
        [] => format!("{id:30} {context:>6}  {price}"),
        roles => format!("{id:30} {context:>6}  {price}  {}", roles.join(", ")),
    }
}

/// A rounded token count, such as 128k.
fn short_count(tokens: u64) -> String {
    match tokens {
        0..10_000 => tokens.to_string(),
        10_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}
