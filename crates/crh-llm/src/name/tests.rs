use expect_test::{Expect, expect};

use super::*;

fn check(names: &str, expected: Expect) {
    let lines = names.lines().map(str::trim).map(|name| match name.parse() {
        Ok(ModelName::Live(live)) => {
            let name_text = ModelName::Live(live.clone()).to_string();
            assert_eq!(name_text.parse(), Ok(ModelName::Live(live.clone())), "{name_text}");
            let url = live.base_url.map(|url| format!(" | {url}")).unwrap_or_default();
            format!("{} | {}{url}\n", live.provider, live.model)
        }
        Ok(ModelName::Replay(path)) => format!("replay | {}\n", path.display()),
        Err(error) => format!("{error}\n"),
    });
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn ids_and_replay_paths_may_contain_colons_and_at_signs() {
    check(
        "openai:gpt-4.1-mini
         ollama:qwen2.5-coder:7b
         openrouter:meta-llama/llama-3:free@https://openrouter.ai/api/v1/
         anthropic:claude-x@20250929
         anthropic:claude-x@20250929@HTTPS://gateway.example:8443/a@b/v1
         openai-responses:o4-mini@http://[::1]:8080
         replay:a: b@https://c.jsonl",
        expect![[r#"
            openai | gpt-4.1-mini
            ollama | qwen2.5-coder:7b
            openrouter | meta-llama/llama-3:free | https://openrouter.ai/api/v1
            anthropic | claude-x@20250929
            anthropic | claude-x@20250929 | https://gateway.example:8443/a@b/v1
            openai-responses | o4-mini | http://[::1]:8080
            replay | a: b@https://c.jsonl
        "#]],
    );
}

#[test]
fn invalid_name_error_lists_valid_providers() {
    check(
        "gpt-4.1
         opnai:gpt-4.1
         claude:opus
         OpenAI:gpt-4.1
         openai:
         openai:@https://a.example
         openai:a b
         replay:
         openai:x@https://
         openai:x@https://user:password@host/v1
         openai:x@https://host/v1?key=secret
         openai:x@https://host/v1#secret",
        expect![[r#"
            `gpt-4.1` has no `PROVIDER:` before the model (did you mean `openai:gpt-4.1`?); the providers are `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
            unknown provider `opnai` (did you mean `openai`?); available: `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
            unknown provider `claude`; available: `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
            unknown provider `OpenAI` (did you mean `openai`?); available: `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
            `openai:` has no model; write the model id after the colon
            `openai:` has no model; write the model id after the colon
            the model id for `openai` contains an invalid character: ' '
            `replay:` has no file; write the path of a recording after the colon
            the base URL is not a valid URL
            the base URL must not contain a user name or password; credentials come from variables
            the base URL must not have a query or a fragment
            the base URL must not have a query or a fragment
        "#]],
    );
}

#[test]
fn address_without_scheme_is_rejected() {
    #[rustfmt::skip]
    let addresses = [
        "127.0.0.1:1/v1", "127.0.0.1/v1", "localhost:8080", "LocalHost/v1", "gateway.example/v1", "gateway.example",
        "gateway.example?key=secret", "gateway:8080/v1", "[::1]/v1", "ftp://x", "user:password@gateway.example/v1",
        "localhost@https://gateway.example", "notaurl", "localhosted", "",
    ];
    for address in addresses {
        let error = format!("openai:gpt-4.1@{address}").parse::<ModelName>().unwrap_err();
        let expected = ModelNameError::AddressInModel { provider: Provider::OpenAi };
        assert_eq!(error, expected, "{address}");
    }
    check(
        "openai:gpt-4.1@gateway.example/v1
         anthropic:claude-x@20250929
         openai:@cf/meta/llama-3.1-8b.gguf
         openai:gpt@1.5
         openai:gpt@v1.5
         gemini:gemini-x@default",
        expect![[r#"
            the part after `@` in the model id for `openai` must be a URL that starts with `http://` or `https://`
            anthropic | claude-x@20250929
            openai | @cf/meta/llama-3.1-8b.gguf
            openai | gpt@1.5
            openai | gpt@v1.5
            gemini | gemini-x@default
        "#]],
    );
}
