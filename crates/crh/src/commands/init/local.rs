//! `crh init --local`: finds a model server on this machine and writes the user's own config for
//! it.

use std::fs;

use anyhow::Context;

use super::create;
use crate::config::environment::{Environment, UserConfigPath};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_llm::{BaseUrl, BaseUrlError, ContextLength, ModelServer, NoAnswer, ServerKind};
use crh_pipeline::review_options::MIN_CONTEXT;

/// URLs of Ollama, LM Studio and llama.cpp at their default ports.
const DEFAULT_URLS: [&str; 3] =
    ["http://127.0.0.1:11434/v1", "http://127.0.0.1:1234/v1", "http://127.0.0.1:8080/v1"];

/// Ollama at its default port needs no URL in the model's name.
const OLLAMA_URL: &str = DEFAULT_URLS[0];

/// Recommended context length: room for the prompt of a medium change, and for tool results.
const CONTEXT_WANTED: u64 = 32_768;

/// Words in the names of models for code, the best first.
const CODE_WORDS: [&str; 3] = ["coder", "codestral", "code"];
/// Words in the names of models that answer no questions.
const OTHER_WORDS: [&str; 3] = ["embed", "rerank", "whisper"];

/// A server that answered.
struct FoundServer {
    url: BaseUrl,
    kind: ServerKind,
    models: Vec<String>,
    /// The chosen model.
    model: String,
    /// Context length of the model, if the server reports it.
    context: Option<ContextLength>,
}

pub(super) fn run(url: Option<&str>, environment: &Environment) -> Result<(), Failure> {
    let urls = match url {
        Some(url) => vec![url],
        None => DEFAULT_URLS.to_vec(),
    };
    let urls: Vec<BaseUrl> = urls.into_iter().map(parse_url).collect::<Result<_, _>>()?;
    let found = find(&urls, environment)?;
    let text = config_text(&found);
    let name = model_name(&found);
    match environment.user_config() {
        UserConfigPath::Explicit(path) | UserConfigPath::Default(path) if !path.exists() => {
            if let Some(folder) = path.parent() {
                let made = fs::create_dir_all(folder);
                made.with_context(|| format!("cannot create `{}`", folder.display()))
                    .or_fail(FailureKind::Usage)?;
            }
            create(&path, &text, "run the command again; it then prints the lines to add")?;
            ui::note(&format!("wrote `{}`", path.display()));
        }
        UserConfigPath::Explicit(path) | UserConfigPath::Default(path) => {
            ui::note(&format!("`{}` exists; add these lines to it", path.display()));
            ui::result_text(&text)?;
        }
        UserConfigPath::NoHome => ui::result_text(&text)?,
    }
    let others: Vec<&str> =
        found.models.iter().map(String::as_str).filter(|model| *model != found.model).collect();
    if !others.is_empty() {
        let others = crh_review::one_line(&others.join("`, `"));
        ui::note(&format!("chose `{}`; the server also has `{others}`", found.model));
    }
    if let Some(advice) = context_advice(&found) {
        ui::warn(&advice);
    }
    ui::note(&format!("test it with `crh model check {}`", ui::shell_word(&name)));
    Ok(())
}

/// Parses the URL of the server's API. If the URL has no path, adds `/v1`. The error does not quote
/// a URL that may contain a password or a key.
fn parse_url(url: &str) -> Result<BaseUrl, Failure> {
    let parsed = url.parse::<BaseUrl>().and_then(|base| match base.is_origin() {
        true => format!("{base}/v1").parse(),
        false => Ok(base),
    });
    parsed.map_err(|error| {
        let name = match error {
            BaseUrlError::Invalid | BaseUrlError::Scheme if !url.contains(['@', '?', '#']) => {
                format!("`{}`", crh_review::one_line(url))
            }
            BaseUrlError::Invalid
            | BaseUrlError::Scheme
            | BaseUrlError::UserInfo
            | BaseUrlError::Query => "the URL of the model server".to_owned(),
        };
        Failure::usage(format!("{name} {error}"))
            .hint("for example: `crh init --local http://127.0.0.1:11434/v1`")
    })
}

/// The first server that answers and has a model.
fn find(urls: &[BaseUrl], environment: &Environment) -> Result<FoundServer, Failure> {
    let network = environment.network_settings();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    let mut unusable = None;
    for url in urls {
        let Some(server) = ModelServer::new(url.clone(), None, &network) else { continue };
        let models = match runtime.block_on(server.models()) {
            Ok(models) => models,
            Err(NoAnswer::NoServer) => continue,
            Err(NoAnswer::OtherForm) => {
                // Another program may listen at a default port, so report only a URL of the user.
                if let [user_url] = urls {
                    unusable = Some(no_list_failure(user_url));
                }
                continue;
            }
        };
        let kind = runtime.block_on(server.kind());
        let Some(model) = choose(&models) else {
            unusable = Some(no_model_failure(url, kind));
            continue;
        };
        let context = runtime.block_on(server.context_length(&model));
        return Ok(FoundServer { url: url.clone(), kind, models, model, context });
    }
    if let Some(failure) = unusable {
        return Err(failure);
    }
    let url_list: Vec<String> = urls.iter().map(|url| format!("`{url}`")).collect();
    Err(Failure::usage(format!("no model server answers at {}", url_list.join(", "))).hint(
        "start Ollama, LM Studio or `llama-server`, or pass its URL: `crh init --local http://HOST:PORT/v1`",
    ))
}

fn no_list_failure(url: &BaseUrl) -> Failure {
    Failure::usage(format!("the server at `{url}` answers, but not with a list of models"))
        .hint("wait until it has loaded its model, or check the URL")
}

fn no_model_failure(url: &BaseUrl, kind: ServerKind) -> Failure {
    let hint = match kind {
        ServerKind::Ollama => "download one, for example with `ollama pull qwen2.5-coder:7b`",
        ServerKind::LmStudio => "download one, for example with `lms get qwen2.5-coder-7b`",
        ServerKind::LlamaCpp | ServerKind::Other => "start the server with a model",
    };
    Failure::usage(format!("the server at `{url}` has no model for reviews")).hint(hint)
}

/// A model for code if there is one, else the first that answers questions.
fn choose(models: &[String]) -> Option<String> {
    let has = |model: &str, word: &str| model.to_lowercase().contains(word);
    let usable: Vec<&String> =
        models.iter().filter(|model| !OTHER_WORDS.iter().any(|word| has(model, word))).collect();
    let for_code = CODE_WORDS.iter().find_map(|word| usable.iter().find(|it| has(it, word)));
    for_code.or(usable.first()).map(|model| (*model).clone())
}

/// Name of the model as users write it.
fn model_name(found: &FoundServer) -> String {
    let FoundServer { url, kind, model, .. } = found;
    match kind {
        ServerKind::Ollama if url.as_str() == OLLAMA_URL => format!("ollama:{model}"),
        ServerKind::Ollama => format!("ollama:{model}@{url}"),
        ServerKind::LmStudio | ServerKind::LlamaCpp | ServerKind::Other => {
            format!("openai:{model}@{url}")
        }
    }
}

fn config_text(found: &FoundServer) -> String {
    let server = match found.kind {
        ServerKind::Ollama => "Ollama",
        ServerKind::LmStudio => "LM Studio",
        ServerKind::LlamaCpp => "llama.cpp",
        ServerKind::Other => "a local server",
    };
    // A JSON string is a TOML string, too.
    let name = serde_json::Value::String(model_name(found));
    format!(
        "\
# Settings for {server}, from `crh init --local`.

[model]
reviewer = {name}

[review]
strategy = \"single\"   # one reviewer; a panel makes dozens of model calls
side_by_side = 1      # a local server answers one request at a time

[budget]
seconds = 3600        # local models are slow
"
    )
}

/// What to change if the context length is unknown or smaller than recommended. crh asks the server
/// for its context length before every review, so the config does not repeat it.
fn context_advice(found: &FoundServer) -> Option<String> {
    let problem = match found.context {
        Some(ContextLength::InUse(context)) if context >= CONTEXT_WANTED => return None,
        Some(ContextLength::AtMost(context)) if context >= CONTEXT_WANTED => {
            "the server has not loaded the model, and may load it with too small a context"
                .to_owned()
        }
        Some(ContextLength::InUse(context) | ContextLength::AtMost(context)) => {
            let lack = match context < MIN_CONTEXT {
                true => format!("a review needs at least {MIN_CONTEXT}"),
                false => format!("larger changes need {CONTEXT_WANTED}"),
            };
            format!("the model reads at most {context} tokens; {lack}")
        }
        None => "the server does not tell its context length".to_owned(),
    };
    let model = &found.model;
    let remedy = match found.kind {
        ServerKind::Ollama => {
            format!("start the server with `OLLAMA_CONTEXT_LENGTH={CONTEXT_WANTED} ollama serve`")
        }
        ServerKind::LmStudio => {
            let load = format!("lms load {model} --context-length {CONTEXT_WANTED}");
            match found.context {
                Some(ContextLength::InUse(_)) => {
                    format!("load the model again with `lms unload {model}` and `{load}`")
                }
                Some(ContextLength::AtMost(_)) | None => format!("load it with `{load}`"),
            }
        }
        ServerKind::LlamaCpp => {
            format!("start the server with `llama-server -c {CONTEXT_WANTED} --jinja …`")
        }
        ServerKind::Other => {
            format!("start the server with a context length of {CONTEXT_WANTED}")
        }
    };
    Some(format!("{problem}; {remedy}"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn invalid_url_is_named_unless_it_may_hold_a_secret() {
        let check = |url: &str, expected: &str| {
            let failure = parse_url(url).unwrap_err();
            assert_eq!(failure.error.to_string(), expected);
            let hint = "for example: `crh init --local http://127.0.0.1:11434/v1`";
            assert_eq!(failure.hint.as_deref(), Some(hint));
        };
        check("foo", "`foo` is not a valid URL");
        check("ftp://host", "`ftp://host` must start with `http://` or `https://`");
        let hidden = "the URL of the model server must not contain a user name or password; credentials come from variables";
        check("http://ann:secret@host/v1", hidden);
        check(
            "ann:secret@host",
            "the URL of the model server must start with `http://` or `https://`",
        );
    }

    #[test]
    fn url_without_path_names_the_api() {
        let url = |text: &str| parse_url(text).unwrap().to_string();
        assert_eq!(url("http://127.0.0.1:1234"), "http://127.0.0.1:1234/v1");
        assert_eq!(url("http://127.0.0.1:1234/"), "http://127.0.0.1:1234/v1");
        assert_eq!(url("http://127.0.0.1:1234/api/v3"), "http://127.0.0.1:1234/api/v3");
    }

    #[test]
    fn advice_depends_on_server_and_context() {
        let advice = |kind, context| {
            let url: BaseUrl = OLLAMA_URL.parse().unwrap();
            let (models, model) = (Vec::new(), "m".to_owned());
            context_advice(&FoundServer { url, kind, models, model, context })
        };
        let in_use = |tokens| Some(ContextLength::InUse(tokens));
        assert_eq!(advice(ServerKind::Ollama, in_use(32_768)), None);
        let unloaded = Some(ContextLength::AtMost(131_072));
        let lines = [
            advice(ServerKind::Ollama, unloaded),
            advice(ServerKind::Ollama, in_use(4_096)),
            advice(ServerKind::LmStudio, unloaded),
            advice(ServerKind::LmStudio, in_use(8_192)),
            advice(ServerKind::LlamaCpp, in_use(8_192)),
            advice(ServerKind::Other, None),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        expect![[r#"
            the server has not loaded the model, and may load it with too small a context; start the server with `OLLAMA_CONTEXT_LENGTH=32768 ollama serve`
            the model reads at most 4096 tokens; a review needs at least 7168; start the server with `OLLAMA_CONTEXT_LENGTH=32768 ollama serve`
            the server has not loaded the model, and may load it with too small a context; load it with `lms load m --context-length 32768`
            the model reads at most 8192 tokens; larger changes need 32768; load the model again with `lms unload m` and `lms load m --context-length 32768`
            the model reads at most 8192 tokens; larger changes need 32768; start the server with `llama-server -c 32768 --jinja …`
            the server does not tell its context length; start the server with a context length of 32768
        "#]]
        .assert_eq(&(lines.join("\n") + "\n"));
    }

    #[test]
    fn model_for_code_is_preferred() {
        let check = |models: &[&str], expected: Option<&str>| {
            let models: Vec<String> = models.iter().map(|model| (*model).to_owned()).collect();
            assert_eq!(choose(&models).as_deref(), expected, "{models:?}");
        };
        check(&[], None);
        check(&["nomic-embed-text"], None);
        check(&["llama3.2:3b", "Qwen2.5-Coder:7b"], Some("Qwen2.5-Coder:7b"));
        check(&["nomic-embed-code", "llama3.2:3b"], Some("llama3.2:3b"));
    }
}
