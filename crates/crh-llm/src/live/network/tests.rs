use super::*;

#[test]
#[rustfmt::skip]
fn request_url_is_base_url_plus_api_path() {
    let base = "https://host/v1";
    for (wire, base, model, expected) in [
        (Wire::OpenAiChat, base, "m", "https://host/v1/chat/completions"),
        (Wire::OpenAiChat, "https://host/v1/", "m", "https://host/v1/chat/completions"),
        (Wire::OpenAiResponses, base, "m", "https://host/v1/responses"),
        (Wire::Anthropic, base, "m", "https://host/v1/messages"),
        (Wire::Gemini, base, "m-high", "https://host/v1/models/m-high:streamGenerateContent?alt=sse"),
        (Wire::Gemini, base, "a?b#c d", "https://host/v1/models/a%3Fb%23c%20d:streamGenerateContent?alt=sse"),
    ] {
        assert_eq!(call_url(wire, &base.parse().unwrap(), model), expected);
    }
}
