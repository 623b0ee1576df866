use expect_test::expect;

use super::*;
use crate::{Abilities, ModelName, Money, Rates};

fn live(name: &str) -> LiveName {
    match name.parse() {
        Ok(ModelName::Live(live)) => live,
        other => panic!("{name}: {other:?}"),
    }
}

fn entries(toml: &str) -> BTreeMap<String, ModelEntry> {
    toml::from_str(toml).unwrap()
}

fn facts(overrides: &str, name: &str, url: &str) -> ModelFacts {
    ModelCatalogue::new(entries(overrides)).unwrap().facts(&live(name), &url.parse().unwrap())
}

fn override_error(overrides: &str) -> String {
    ModelCatalogue::new(entries(overrides)).unwrap_err().to_string()
}

/// In dollars per million tokens.
fn rates(input: f64, cache_read: f64, cache_write: f64, output: f64) -> Rates {
    let a_token = |dollars| Money::dollars(dollars).unwrap().per_million();
    Rates {
        input: a_token(input),
        cache_read: a_token(cache_read),
        cache_write: a_token(cache_write),
        output: a_token(output),
    }
}

#[test]
fn built_in_entries_are_complete_and_plausible() {
    let table: BuiltInTable = toml::from_str(BUILT_IN).unwrap();
    for (name, entry) in &table.models {
        entry.check(name, entry.context.unwrap()).unwrap();
        live(name);
        let complete = [entry.context, entry.max_output].iter().all(Option::is_some)
            && [entry.tools, entry.schema].iter().all(Option::is_some);
        assert!(complete, "{name}");
        let price = entry.price.as_ref().unwrap();
        let facts = entry.facts().price.unwrap();
        assert!(price.input > 0.0 && price.output >= price.input, "{name}");
        for rates in [Some(facts.rates), facts.long.map(|(_, rates)| rates)].into_iter().flatten() {
            assert!(rates.cache_read <= rates.input && rates.input <= rates.cache_write, "{name}");
            assert!(rates.cache_read > Money::ZERO, "{name}");
        }
        if let Some((above, long)) = facts.long {
            assert!(above < entry.context.unwrap() && long.input > facts.rates.input, "{name}");
        }
    }
}

#[test]
fn context_source_tells_configured_lengths_from_built_in_ones() {
    let overrides = "[\"openai:gpt-4.1\"]\ncontext = 9_000\n[\"ollama:m\"]\ntools = false";
    let catalogue = ModelCatalogue::new(entries(overrides)).unwrap();
    for (name, expected) in [
        ("openai:gpt-4.1", ContextSource::Configured),
        ("openai-responses:gpt-4.1", ContextSource::Configured),
        ("openai:gpt-4.1-mini", ContextSource::Table),
        ("ollama:m", ContextSource::Assumed),
    ] {
        assert_eq!(catalogue.context_source(&live(name)), expected, "{name}");
    }
}

#[test]
fn every_default_model_is_in_the_table() {
    let catalogue = ModelCatalogue::new(BTreeMap::new()).unwrap();
    for provider in Provider::ALL {
        let facts = catalogue.provider(provider);
        facts.base_url.parse::<BaseUrl>().unwrap();
        for model in facts.defaults.iter().flat_map(|d| [&d.reviewer, &d.cheap, &d.escalation]) {
            assert!(catalogue.models(provider).contains(&model.as_str()), "{provider}:{model}");
        }
    }
}

#[test]
fn known_model_is_found_by_alias_and_provider() {
    let expected = ModelFacts {
        context: 1_047_576,
        max_output: 32_768,
        price: Some(Price { rates: rates(0.40, 0.10, 0.40, 1.60), long: None }),
        abilities: Abilities { tools: true, schema: true, effort: false },
    };
    for name in [
        "openai:gpt-4.1-mini",
        "openai:gpt-4.1-mini-2025-04-14",
        "openai-responses:gpt-4.1-mini",
        "openrouter:openai/gpt-4.1-mini",
    ] {
        assert_eq!(facts("", name, "https://a.example"), expected, "{name}");
    }
}

#[test]
fn reasoning_models_of_openai_use_the_responses_api() {
    let catalogue = ModelCatalogue::new(BTreeMap::new()).unwrap();
    let wire = |name: &str| catalogue.wire(&live(name));
    assert_eq!(wire("openai:gpt-4.1"), Wire::OpenAiChat);
    assert_eq!(wire("openai:gpt-6.1-sol"), Wire::OpenAiResponses);
    assert_eq!(wire("openai:gpt-6.1-sol@https://a.example/v1"), Wire::OpenAiChat);
    assert_eq!(wire("openai-responses:gpt-4.1"), Wire::OpenAiResponses);
}

#[test]
fn default_models_for_reviews_accept_an_effort() {
    for name in ["openai:gpt-5.4-mini", "anthropic:claude-sonnet-5-5", "gemini:gemini-3.8-flash"] {
        assert!(facts("", name, "https://a.example").abilities.effort, "{name}");
    }
    assert!(!facts("", "openai:gpt-4.1", "https://a.example").abilities.effort);
}

#[test]
fn long_requests_have_their_own_price() {
    let price = facts("", "gemini:gemini-2.5-pro", "https://a.example").price;
    let long = Some((200_000, rates(2.50, 0.25, 2.50, 15.00)));
    assert_eq!(price, Some(Price { rates: rates(1.25, 0.125, 1.25, 10.00), long }));
}

#[test]
fn unknown_model_is_free_only_on_loopback() {
    let unknown = ModelFacts {
        context: 128_000,
        max_output: 8_192,
        price: None,
        abilities: Abilities { tools: true, schema: true, effort: false },
    };
    assert_eq!(facts("", "openai:mystery", "https://a.example/v1"), unknown);
    let local = ModelFacts { price: Some(Price::free()), ..unknown };
    assert_eq!(facts("", "ollama:qwen3:8b", "http://127.0.0.1:11434/v1"), local);
    assert_eq!(facts("", "openai:mystery", "http://localhost:8080"), local);
    assert!(facts("", "ollama:qwen3:8b", "http://10.0.0.5:11434/v1").price.is_none());
}

#[test]
fn user_entries_override_and_add() {
    let overrides = r#"
        ["openai:gpt-4.1-mini"]
        price = { input = 1, output = 2 }
        ["openai:mystery"]
        also = ["mystery-2"]
        context = 4000
        tools = false
        price = { input = 0.5, cache_write = 0.75, output = 1.5, long = { above = 100, input = 1, output = 3 } }
    "#;
    let corrected = facts(overrides, "openai-responses:gpt-4.1-mini", "https://a.example");
    assert_eq!(corrected.price, Some(Price { rates: rates(1.0, 1.0, 1.0, 2.0), long: None }));
    assert_eq!(corrected.context, 1_047_576);
    let small = facts("['openai:gpt-4.1']\ncontext = 8000", "openai:gpt-4.1", "https://a.example");
    assert_eq!((small.context, small.max_output), (8000, 8000));
    let added = ModelFacts {
        context: 4000,
        max_output: 4000,
        price: Some(Price {
            rates: rates(0.5, 0.5, 0.75, 1.5),
            long: Some((100, rates(1.0, 1.0, 1.0, 3.0))),
        }),
        abilities: Abilities { tools: false, schema: true, effort: false },
    };
    assert_eq!(facts(overrides, "openai:mystery-2", "https://a.example"), added);
}

#[test]
fn invalid_entries_are_rejected() {
    let errors = [
        r#"["gpt-4.1"]"#,
        r#"["replay:file"]"#,
        r#"["openai:x@https://a.example"]"#,
        r#"["openai:x"]
           context = 0"#,
        r#"["openai:gpt-4.1"]
           max_output = 2_000_000"#,
        r#"["openai:x"]
           price = { input = -1, output = 2 }"#,
        r#"["openai:x"]
           price = { input = 1, output = 2, long = { above = 5, input = nan, output = 3 } }"#,
        r#"["openai:x"]
           price = { input = 1e12, output = 2 }"#,
    ]
    .map(|overrides| override_error(overrides) + "\n");
    expect![[r#"
        `gpt-4.1` is not a valid `PROVIDER:MODEL`: `gpt-4.1` has no `PROVIDER:` before the model (did you mean `openai:gpt-4.1`?); the providers are `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
        `replay:file` is not a valid `PROVIDER:MODEL`: entries for recordings are not allowed
        `openai:x@https://a.example` is not a valid `PROVIDER:MODEL`: remove the base URL
        `openai:x`: `context` and `max_output` must be at least 1
        `openai:gpt-4.1`: `max_output` (2000000) exceeds `context` (1047576)
        `openai:x`: the price `input = -1` must be between 0 and 10000 dollars per million tokens
        `openai:x`: the price `long.input = NaN` must be between 0 and 10000 dollars per million tokens
        `openai:x`: the price `input = 1000000000000` must be between 0 and 10000 dollars per million tokens
    "#]].assert_eq(&errors.concat());
}
