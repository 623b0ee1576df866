use expect_test::{Expect, expect};

use super::*;

fn check(names: &str, expected: Expect) {
    let lines = names.lines().map(str::trim).map(|name| match name.parse() {
        Ok(ModelName::Live(live)) => {
            let shown = ModelName::Live(live.clone()).to_string();
            assert_eq!(shown.parse(), Ok(ModelName::Live(live.clone())), "{shown}");
            let url = live.base_url.map(|url| format!(" | {url}")).unwrap_or_default();
            format!("{} | {}{url}\n", live.provider, live.model)
        }
        Ok(ModelName::Replay(path)) => format!("replay | {}\n", path.display()),
        Err(error) => format!("{error}\n"),
    });
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn ids_stay_whole_whatever_is_in_them() {
    check(
        "openai:gpt-4.1-mini
         ollama:qwen2.5-coder:7b
         openrouter:meta-llama/llama-3:free@https://openrouter.ai/api/v1/
         anthropic:claude-x@20250929
         anthropic:claude-x@20250929@HTTPS://gateway.example:8443/a@b/v1
         openai-responses:o4-mini@http://[::1]:8080",
        expect![[r#"
            openai | gpt-4.1-mini
            ollama | qwen2.5-coder:7b
            openrouter | meta-llama/llama-3:free | https://openrouter.ai/api/v1
            anthropic | claude-x@20250929
            anthropic | claude-x@20250929 | https://gateway.example:8443/a@b/v1
            openai-responses | o4-mini | http://[::1]:8080
        "#]],
    );
}

#[test]
fn a_replay_is_a_path_and_may_be_called_anything() {
    check(
        "replay:a: b@https://c.jsonl",
        expect![[r#"
        replay | a: b@https://c.jsonl
    "#]],
    );
}

#[test]
fn what_names_no_model_is_refused_with_the_words_that_do() {
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
            `gpt-4.1` names no provider: write `PROVIDER:MODEL`, with one of `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
            there is no provider `opnai` (did you mean `openai`?); known are `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
            there is no provider `claude`; known are `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
            there is no provider `OpenAI` (did you mean `openai`?); known are `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
            `openai:` names no model: write its id behind the colon
            `openai:` names no model: write its id behind the colon
            the id of a model of `openai` has a character that no id has: ' '
            `replay:` names no file: write the path of a cassette behind the colon
            the base URL is no address
            the base URL carries a user name or a password: keys come from variables, never from addresses
            the base URL has a query or a fragment, which a base URL cannot have
            the base URL has a query or a fragment, which a base URL cannot have
        "#]],
    );
}

#[test]
fn an_address_without_its_scheme_is_no_part_of_an_id() {
    for address in [
        "127.0.0.1:1/v1",
        "127.0.0.1/v1",
        "localhost:8080",
        "LocalHost/v1",
        "gateway.example/v1",
        "gateway.example",
        "gateway.example?key=secret",
        "gateway:8080/v1",
        "[::1]/v1",
        "ftp://x",
        "user:password@gateway.example/v1",
        "localhost@https://gateway.example",
    ] {
        let error = format!("openai:gpt-4.1@{address}").parse::<ModelName>().unwrap_err();
        assert_eq!(error, NameError::AddressInModel { provider: Provider::OpenAi }, "{address}");
    }
    check(
        "openai:gpt-4.1@gateway.example/v1
         anthropic:claude-x@20250929
         openai:@cf/meta/llama-3.1-8b.gguf
         ollama:qwen2.5@q4_K_M:7b
         openai:gpt@1.5
         openai:gpt@v1.5/latest
         openai:gpt@localhosted",
        expect![[r#"
            what stands behind an `@` in the model of `openai` looks like an address: it must begin with `http://` or `https://`
            anthropic | claude-x@20250929
            openai | @cf/meta/llama-3.1-8b.gguf
            ollama | qwen2.5@q4_K_M:7b
            openai | gpt@1.5
            openai | gpt@v1.5/latest
            openai | gpt@localhosted
        "#]],
    );
}
