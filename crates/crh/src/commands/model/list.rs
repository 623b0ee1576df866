//! `crh model list`: providers, whether their keys are there, and what their models cost.

use serde::Serialize;

use crate::cli::{ListingArg, ModelListArgs};
use crate::commands::models::{Models, Roles};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, ui};
use crh_llm::{BaseUrl, LiveName, ModelFacts, Money, Provider};
use crh_review::stable_json;

/// Prices are for so many tokens, as vendors list them.
const MILLION: u64 = 1_000_000;

#[derive(Serialize)]
struct Listing {
    providers: Vec<ProviderRow>,
    /// The models that are asked as things are set; none without a key.
    asked: Option<Roles>,
}

#[derive(Serialize)]
struct ProviderRow {
    name: &'static str,
    base_url: String,
    key: Option<KeyRow>,
    /// The provider whose models it serves by another API.
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
    /// What it is taken for if none is named.
    default_for: Vec<&'static str>,
    context: u64,
    max_output: u64,
    tools: bool,
    schema: bool,
    /// In US dollars for a million tokens.
    price: Option<PriceRow>,
}

#[derive(Serialize)]
struct PriceRow {
    input: f64,
    cache_read: f64,
    cache_write: f64,
    output: f64,
    /// Calls that read more tokens cost more.
    #[serde(skip_serializing_if = "Option::is_none")]
    dearer_above: Option<u64>,
}

pub(crate) fn run(args: &ModelListArgs, environment: &Environment) -> Result<(), Failure> {
    let settings = config::load(environment, None, RawSettings::default())?;
    let models = Models::new(&settings, environment)?;
    let providers: Result<Vec<_>, _> =
        Provider::ALL.into_iter().map(|provider| provider_row(&models, provider)).collect();
    let listing = Listing { providers: providers?, asked: models.roles(&settings).ok() };
    ui::result_text(&match args.format {
        ListingArg::Text => crh_review::visible(&shown(&listing)),
        ListingArg::Json => stable_json(&listing).or_fail(Kind::Bug)?,
    })
}

fn provider_row(models: &Models<'_>, provider: Provider) -> Result<ProviderRow, Failure> {
    let facts = models.catalogue.provider(provider);
    let url = models.surroundings.base_url(&models.catalogue, provider).or_fail(Kind::Usage)?;
    let ids = models.catalogue.models(provider);
    Ok(ProviderRow {
        name: provider.as_str(),
        base_url: url.to_string(),
        key: facts.key.clone().map(|variable| KeyRow {
            variable,
            set: models.surroundings.has_key(&models.catalogue, provider),
        }),
        models_of: facts.models_of,
        models: ids.into_iter().map(|id| model_row(models, provider, id, &url)).collect(),
    })
}

fn model_row(models: &Models<'_>, provider: Provider, id: &str, url: &BaseUrl) -> ModelRow {
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

fn shown(listing: &Listing) -> String {
    let mut out = "The context in tokens; prices in US dollars for a million tokens:\n\
                   read / read from the vendor's cache / written to it / written by the model\n"
        .to_owned();
    for provider in &listing.providers {
        let key = match &provider.key {
            Some(KeyRow { variable, set: true }) => format!("{variable} is set"),
            Some(KeyRow { variable, set: false }) => format!("{variable} is not set"),
            None => "needs no key".to_owned(),
        };
        out += &format!("\n{}: {key}; {}\n", provider.name, provider.base_url);
        match &provider.models_of {
            Some(other) => out += &format!("  the models of {other}\n"),
            None => {
                let lines =
                    provider.models.iter().map(|model| format!("  {}\n", model_line(model)));
                out.extend(lines);
            }
        }
    }
    out += &match &listing.asked {
        Some(Roles { reviewer, cheap, escalation }) => format!(
            "\nAs things are set, {reviewer} reviews,\n{cheap} does what is small, and\n{escalation} looks again \
             at what is doubtful.\n"
        ),
        None => "\nNo key is set: name a model with `--model`, or set a key.\n".to_owned(),
    };
    out
}

fn model_line(model: &ModelRow) -> String {
    let id = model.name.split_once(':').map_or(model.name.as_str(), |(_, id)| id);
    let price = match &model.price {
        Some(PriceRow { input, cache_read, cache_write, output, dearer_above }) => {
            let dearer = dearer_above.map(|above| format!(", more above {}", rounded(above)));
            let dearer = dearer.unwrap_or_default();
            format!("{input} / {cache_read} / {cache_write} / {output}{dearer}")
        }
        None => "no price".to_owned(),
    };
    let context = rounded(model.context);
    match model.default_for.as_slice() {
        [] => format!("{id:30} {context:>6}  {price}"),
        roles => format!("{id:30} {context:>6}  {price}  {}", roles.join(", ")),
    }
}

/// A number of tokens as people say it: 128k.
fn rounded(tokens: u64) -> String {
    match tokens {
        0..10_000 => tokens.to_string(),
        10_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}
