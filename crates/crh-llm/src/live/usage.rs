//! Checks the token counts that a vendor reports for a call. crh computes the cost from these
//! counts. If one of them is implausible, crh discards all of them and books the reserved worst
//! case.

use serde_json::Value;

use crate::{ModelRequest, TokenUsage, Wire, estimated_tokens};

/// Maximum ratio of reported to estimated input tokens. The estimate is at least one token per two
/// bytes. Eight times that is four tokens per byte, which no tokenizer produces.
const MAX_INPUT_FACTOR: u64 = 8;

/// Maximum ratio of reported output tokens to the limit in the request. Some vendors do not count
/// thoughts towards the limit.
const MAX_OUTPUT_FACTOR: u64 = 4;

/// Tokens that vendors may add to either count, for their own prompts and tools.
const VENDOR_OVERHEAD: u64 = 10_000;

/// Maximum of one reported count. The `genai` crate sums up to four counts as `i32`, so larger
/// counts could overflow.
const MAX_COUNT: u64 = 1 << 28;

/// Maximum plausible number of output tokens for a limit in the request.
pub(super) fn max_output(requested: u32) -> u64 {
    MAX_OUTPUT_FACTOR * u64::from(requested) + VENDOR_OVERHEAD
}

/// The reported usage; `None` if a count is missing, negative, or implausible for this request.
pub(super) fn plausible_usage(
    client_usage: &genai::chat::Usage,
    request: &ModelRequest,
) -> Option<TokenUsage> {
    let usage = convert_usage(client_usage)?;
    let cached = usage.cache_read.saturating_add(usage.cache_written);
    let input_max =
        MAX_INPUT_FACTOR.saturating_mul(estimated_tokens(request)).saturating_add(VENDOR_OVERHEAD);
    let output_max = max_output(request.max_output_tokens);
    // Every request has input.
    let is_plausible = (1..=input_max).contains(&usage.input)
        && cached <= usage.input
        && usage.output <= output_max;
    is_plausible.then_some(usage)
}

/// Whether an event of the vendor's reply contains an invalid token count. The `genai` crate
/// silently drops such a count and keeps the others.
pub(super) fn has_invalid_usage(wire: Wire, frame: &Value) -> bool {
    let pointers: &[&str] = match wire {
        Wire::OpenAiChat => &["/usage"],
        Wire::OpenAiResponses => &["/response/usage"],
        Wire::Anthropic => &["/usage", "/message/usage"],
        Wire::Gemini => &["/usageMetadata"],
    };
    pointers.iter().filter_map(|pointer| frame.pointer(pointer)).any(has_invalid_count)
}

/// Whether a usage object contains an invalid token count. Counts are recognised by their names,
/// because a usage object may contain other numbers (a cost, a time).
fn has_invalid_count(usage: &Value) -> bool {
    usage.as_object().into_iter().flatten().any(|(name, value)| {
        let is_count = name.ends_with("tokens") || name.ends_with("TokenCount");
        match value {
            Value::Object(_) => has_invalid_count(value),
            Value::Null | Value::Array(_) => false,
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                is_count && value.as_u64().is_none_or(|count| count > MAX_COUNT)
            }
        }
    })
}

/// Converts the usage from `genai`; `None` if a count is negative, if the input is missing, or if
/// both the output and the total are missing.
fn convert_usage(client_usage: &genai::chat::Usage) -> Option<TokenUsage> {
    let count = |number: Option<i32>| number.map(u64::try_from).transpose().ok();
    let input = count(client_usage.prompt_tokens)??;
    let output = count(client_usage.completion_tokens)?;
    let total = count(client_usage.total_tokens)?;
    let details = client_usage.prompt_tokens_details.as_ref();
    let cache_read = count(details.and_then(|details| details.cached_tokens))?;
    let cache_written = count(details.and_then(|details| details.cache_creation_tokens))?;
    if output.is_none() && total.is_none() {
        return None;
    }
    Some(TokenUsage {
        input,
        cache_read: cache_read.unwrap_or(0),
        cache_written: cache_written.unwrap_or(0),
        // Vendors that exclude thoughts from the output include them in the total.
        output: output.unwrap_or(0).max(total.unwrap_or(0).saturating_sub(input)),
    })
}

#[cfg(test)]
mod tests {
    use genai::chat::PromptTokensDetails;
    use serde_json::json;

    use super::*;
    use crate::Conversation;

    fn client_usage(
        prompt: Option<i32>,
        completion: Option<i32>,
        total: Option<i32>,
    ) -> genai::chat::Usage {
        genai::chat::Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: total,
            ..genai::chat::Usage::default()
        }
    }

    fn cached_usage(read: i32, written: i32) -> genai::chat::Usage {
        let details = PromptTokensDetails {
            cached_tokens: Some(read),
            cache_creation_tokens: Some(written),
            ..PromptTokensDetails::default()
        };
        genai::chat::Usage {
            prompt_tokens_details: Some(details),
            ..client_usage(Some(10), Some(5), Some(15))
        }
    }

    fn uncached_usage(input: u64, output: u64) -> Option<TokenUsage> {
        Some(TokenUsage { input, output, ..TokenUsage::default() })
    }

    #[test]
    fn separately_counted_thoughts_are_output() {
        let request = ModelRequest::new(Conversation::new("rules"), 100);
        for (client_usage, expected) in [
            (client_usage(Some(10), Some(5), Some(15)), uncached_usage(10, 5)),
            (client_usage(Some(10), Some(5), None), uncached_usage(10, 5)),
            (client_usage(Some(10), Some(0), None), uncached_usage(10, 0)),
            (client_usage(Some(10), Some(5), Some(35)), uncached_usage(10, 25)),
            (client_usage(Some(10), None, Some(35)), uncached_usage(10, 25)),
            (
                cached_usage(4, 3),
                Some(TokenUsage { input: 10, cache_read: 4, cache_written: 3, output: 5 }),
            ),
        ] {
            assert_eq!(plausible_usage(&client_usage, &request), expected, "{client_usage:?}");
        }
    }

    #[test]
    fn implausible_counts_are_discarded() {
        let request = ModelRequest::new(Conversation::new("rules"), 100);
        for client_usage in [
            client_usage(None, None, None),
            client_usage(None, None, Some(9)),
            client_usage(None, Some(9), None),
            client_usage(Some(9), None, None),
            client_usage(Some(0), Some(5), None),
            client_usage(Some(-1), Some(5), None),
            client_usage(Some(10), Some(-5), Some(15)),
            client_usage(Some(10), Some(5), Some(-15)),
            cached_usage(-4, 3),
            cached_usage(4, -3),
            cached_usage(11, 0),
            cached_usage(6, 5),
        ] {
            assert_eq!(plausible_usage(&client_usage, &request), None, "{client_usage:?}");
        }
    }

    #[test]
    fn counts_above_the_maximum_are_discarded() {
        let request = ModelRequest::new(Conversation::new("rules"), 100);
        let input = i32::try_from(8 * estimated_tokens(&request) + 10_000).unwrap();
        let output = 4 * 100 + 10_000;
        let usage = |input, output| {
            plausible_usage(&client_usage(Some(input), Some(output), None), &request)
        };
        assert!(usage(input, output).is_some());
        assert_eq!(usage(input + 1, output), None);
        assert_eq!(usage(input, output + 1), None);
    }

    #[test]
    fn invalid_counts_are_detected_in_every_api() {
        let frames = |number: &Value| {
            [
                (Wire::OpenAiChat, json!({ "usage": { "prompt_tokens": number } })),
                (
                    Wire::OpenAiChat,
                    json!({ "usage": { "prompt_tokens_details": { "cached_tokens": number } } }),
                ),
                (
                    Wire::OpenAiResponses,
                    json!({ "response": { "usage": { "output_tokens": number } } }),
                ),
                (Wire::Anthropic, json!({ "message": { "usage": { "input_tokens": number } } })),
                (Wire::Anthropic, json!({ "usage": { "cache_read_input_tokens": number } })),
                (Wire::Gemini, json!({ "usageMetadata": { "thoughtsTokenCount": number } })),
            ]
        };
        for invalid in
            [json!(1.5), json!(3.0), json!(-1), json!("12"), json!(true), json!(1u64 << 29)]
        {
            for (wire, frame) in frames(&invalid) {
                assert!(has_invalid_usage(wire, &frame), "{frame}");
            }
        }
        for valid in [json!(0), json!(12), json!(null)] {
            for (wire, frame) in frames(&valid) {
                assert!(!has_invalid_usage(wire, &frame), "{frame}");
            }
        }
        let other_numbers =
            json!({ "usage": { "cost": 0.5, "prompt_time": -1.5, "service_tier": "x" } });
        assert!(!has_invalid_usage(Wire::OpenAiChat, &other_numbers));
    }
}
