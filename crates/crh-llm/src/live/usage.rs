//! What the vendor says it counted, if it can be true. Pure.
//!
//! What is booked follows from these numbers, so one that cannot be true makes all of them none: then the worst case that
//! was reserved is booked.

use serde_json::Value;

use crate::{Request, Usage, Wire, estimated_tokens};

/// The estimate errs upwards already. Eight times as much is four tokens or more for every byte, which no tokenizer makes,
/// and still far below what a wrong unit or a garbled number gives.
const INPUT_TIMES: u64 = 8;

/// Vendors stop at the most tokens they may write, or a little later; some leave thoughts out of that limit.
const OUTPUT_TIMES: u64 = 4;

/// What vendors may add to a short request or answer: prompts and tools of their own.
const ROOM: u64 = 10_000;

/// The client adds up three or four of the numbers of a frame in 32 bits. Larger ones could wrap round to something that
/// looks true, and no model reads or writes as much.
const COUNT_MAX: u64 = 1 << 28;

/// The counts in an answer to this request, if they can be true.
pub(super) fn believed(counted: &genai::chat::Usage, request: &Request) -> Option<Usage> {
    let usage = usage(counted)?;
    let cached = usage.cache_read.saturating_add(usage.cache_written);
    let input_max = INPUT_TIMES.saturating_mul(estimated_tokens(request)).saturating_add(ROOM);
    let output_max = OUTPUT_TIMES * u64::from(request.max_output_tokens) + ROOM;
    // Every request has something to read.
    let possible = (1..=input_max).contains(&usage.input)
        && cached <= usage.input
        && usage.output <= output_max;
    possible.then_some(usage)
}

/// Whether a frame has a count in it that is no count. The client takes such a number for none at all and keeps the others.
pub(super) fn is_garbled(wire: Wire, frame: &Value) -> bool {
    let places: &[&str] = match wire {
        Wire::OpenAiChat => &["/usage"],
        Wire::OpenAiResponses => &["/response/usage"],
        Wire::Anthropic => &["/usage", "/message/usage"],
        Wire::Gemini => &["/usageMetadata"],
    };
    places.iter().filter_map(|place| frame.pointer(place)).any(has_garbled_count)
}

/// Counts are known by their names: there may be other numbers beside them (a cost, a time).
fn has_garbled_count(usage: &Value) -> bool {
    usage.as_object().into_iter().flatten().any(|(name, value)| {
        let is_count = name.ends_with("tokens") || name.ends_with("TokenCount");
        match value {
            Value::Object(_) => has_garbled_count(value),
            Value::Null | Value::Array(_) => false,
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                is_count && value.as_u64().is_none_or(|count| count > COUNT_MAX)
            }
        }
    })
}

/// What was counted, in our words; none if a part is missing or negative.
fn usage(counted: &genai::chat::Usage) -> Option<Usage> {
    let count = |number: Option<i32>| number.map(u64::try_from).transpose().ok();
    let input = count(counted.prompt_tokens)??;
    let output = count(counted.completion_tokens)?;
    let total = count(counted.total_tokens)?;
    let details = counted.prompt_tokens_details.as_ref();
    let cache_read = count(details.and_then(|details| details.cached_tokens))?;
    let cache_written = count(details.and_then(|details| details.cache_creation_tokens))?;
    if output.is_none() && total.is_none() {
        return None;
    }
    Some(Usage {
        input,
        cache_read: cache_read.unwrap_or(0),
        cache_written: cache_written.unwrap_or(0),
        // Vendors who leave thoughts out of what was written count them in the total.
        output: output.unwrap_or(0).max(total.unwrap_or(0).saturating_sub(input)),
    })
}

#[cfg(test)]
mod tests {
    use genai::chat::PromptTokensDetails;
    use serde_json::json;

    use super::*;
    use crate::Conversation;

    fn counted(
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

    fn cached(read: i32, written: i32) -> genai::chat::Usage {
        let details = PromptTokensDetails {
            cached_tokens: Some(read),
            cache_creation_tokens: Some(written),
            ..PromptTokensDetails::default()
        };
        genai::chat::Usage {
            prompt_tokens_details: Some(details),
            ..counted(Some(10), Some(5), Some(15))
        }
    }

    fn plain(input: u64, output: u64) -> Option<Usage> {
        Some(Usage { input, output, ..Usage::default() })
    }

    #[test]
    fn thoughts_that_are_counted_apart_are_part_of_what_was_written() {
        let request = Request::new(Conversation::new("rules"), 100);
        for (counted, expected) in [
            (counted(Some(10), Some(5), Some(15)), plain(10, 5)),
            (counted(Some(10), Some(5), None), plain(10, 5)),
            (counted(Some(10), Some(0), None), plain(10, 0)),
            (counted(Some(10), Some(5), Some(35)), plain(10, 25)),
            (counted(Some(10), None, Some(35)), plain(10, 25)),
            (cached(4, 3), Some(Usage { input: 10, cache_read: 4, cache_written: 3, output: 5 })),
        ] {
            assert_eq!(believed(&counted, &request), expected, "{counted:?}");
        }
    }

    #[test]
    fn counts_that_cannot_be_true_are_none() {
        let request = Request::new(Conversation::new("rules"), 100);
        for counted in [
            counted(None, None, None),
            counted(None, None, Some(9)),
            counted(None, Some(9), None),
            counted(Some(9), None, None),
            counted(Some(0), Some(5), None),
            counted(Some(-1), Some(5), None),
            counted(Some(10), Some(-5), Some(15)),
            counted(Some(10), Some(5), Some(-15)),
            cached(-4, 3),
            cached(4, -3),
            cached(11, 0),
            cached(6, 5),
        ] {
            assert_eq!(believed(&counted, &request), None, "{counted:?}");
        }
    }

    #[test]
    fn more_than_a_request_can_have_is_no_count() {
        let request = Request::new(Conversation::new("rules"), 100);
        let input = i32::try_from(8 * estimated_tokens(&request) + 10_000).unwrap();
        let output = 4 * 100 + 10_000;
        let counted = |input, output| believed(&counted(Some(input), Some(output), None), &request);
        assert!(counted(input, output).is_some());
        assert_eq!(counted(input + 1, output), None);
        assert_eq!(counted(input, output + 1), None);
    }

    #[test]
    fn a_number_that_is_no_count_is_seen_in_every_format() {
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
        for garbled in
            [json!(1.5), json!(3.0), json!(-1), json!("12"), json!(true), json!(1u64 << 29)]
        {
            for (wire, frame) in frames(&garbled) {
                assert!(is_garbled(wire, &frame), "{frame}");
            }
        }
        for fine in [json!(0), json!(12), json!(null)] {
            for (wire, frame) in frames(&fine) {
                assert!(!is_garbled(wire, &frame), "{frame}");
            }
        }
        let beside = json!({ "usage": { "cost": 0.5, "prompt_time": -1.5, "service_tier": "x" } });
        assert!(!is_garbled(Wire::OpenAiChat, &beside));
    }
}
