//! Trims a conversation that exceeds the model's context. The system prompt, the task and the last
//! results are never trimmed.

use crate::call_history::ResultPosition;
use crate::model_texts;
use crh_llm::{Conversation, Message, Thinking, TurnPart, text_tokens};

/// Minimum gain of trimming one result. A smaller gain is not worth a repeated tool call.
const MIN_FREED_TOKENS: u64 = 50;

/// Estimates request sizes, calibrated with the vendor's token counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TokenEstimator {
    /// Estimate and actual count of the last counted request.
    last_count: Option<(u64, u64)>,
    /// Whether later requests start with the counted request, so that only the new part needs an
    /// estimate.
    has_counted_prefix: bool,
}

impl TokenEstimator {
    /// Records the vendor's count of a request with this estimate.
    pub(crate) fn record_count(&mut self, estimate: u64, count: u64) {
        if estimate > 0 && count > 0 {
            *self = Self { last_count: Some((estimate, count)), has_counted_prefix: true };
        }
    }

    /// Call this when later requests no longer start with the counted one.
    pub(crate) fn invalidate_prefix(&mut self) {
        self.has_counted_prefix = false;
    }

    /// Likely size of a request with this estimate: the counted prefix plus an estimate of the new
    /// part, or else the scaled estimate.
    pub(crate) fn tokens(&self, estimate: u64) -> u64 {
        match self.last_count {
            Some((last_estimate, count))
                if self.has_counted_prefix && estimate >= last_estimate =>
            {
                count.saturating_add(estimate - last_estimate)
            }
            Some((last_estimate, count)) => scale(estimate, count, last_estimate),
            None => estimate,
        }
    }

    /// Upper bound of a request's size. The bound is below the estimate only if the request starts
    /// with the counted request.
    pub(crate) fn upper_bound(&self, estimate: u64) -> u64 {
        let extends_counted_request = self.has_counted_prefix
            && self.last_count.is_some_and(|(last_estimate, _)| estimate >= last_estimate);
        let tokens = self.tokens(estimate);
        if extends_counted_request { tokens } else { tokens.max(estimate) }
    }

    /// Converts the vendor's tokens into estimated tokens.
    pub(crate) fn estimate(&self, tokens: u64) -> u64 {
        self.last_count.map_or(tokens, |(last_estimate, count)| scale(tokens, last_estimate, count))
    }
}

fn scale(amount: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(amount) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TrimResult {
    /// Results that were replaced by a stub.
    pub(crate) positions: Vec<ResultPosition>,
    /// Estimated tokens freed.
    pub(crate) freed_tokens: u64,
}

/// Frees `needed_tokens` estimated tokens, or as many as possible: first results, oldest first,
/// then thoughts. The first `task_messages` messages and the last turn with its results are kept.
///
/// Each trimmed result becomes a one-line stub, because every call needs a result. Sealed thoughts
/// stay, because the vendor may require them.
pub(crate) fn trim(
    conversation: &mut Conversation,
    task_messages: usize,
    needed_tokens: u64,
) -> TrimResult {
    let mut trim_result = TrimResult::default();
    let messages = &mut conversation.messages;
    let last_index =
        |is_match: fn(&Message) -> bool| messages.iter().rposition(is_match).unwrap_or(0);
    let last_results = last_index(|message| matches!(message, Message::Results(_)));
    let last_turn = last_index(|message| matches!(message, Message::Assistant(_)));
    for (index, message) in messages.iter_mut().enumerate().take(last_results).skip(task_messages) {
        let Message::Results(results) = message else { continue };
        for (position, result) in results.iter_mut().enumerate() {
            if trim_result.freed_tokens >= needed_tokens {
                return trim_result;
            }
            let stub = model_texts::trimmed_result(&result.name, result.text.chars().count());
            let saved_tokens = text_tokens(&result.text).saturating_sub(text_tokens(&stub));
            if saved_tokens >= MIN_FREED_TOKENS {
                result.text = stub;
                trim_result.freed_tokens += saved_tokens;
                trim_result.positions.push(ResultPosition { message: index, result: position });
            }
        }
    }
    for message in messages.iter_mut().take(last_turn).skip(task_messages) {
        let Message::Assistant(turn) = message else { continue };
        if trim_result.freed_tokens >= needed_tokens {
            break;
        }
        turn.parts.retain(|part| match part {
            TurnPart::Thinking(Thinking::Readable { text, signature }) => {
                trim_result.freed_tokens += [text, signature]
                    .into_iter()
                    .flatten()
                    .map(|text| text_tokens(text))
                    .sum::<u64>();
                false
            }
            TurnPart::Thinking(Thinking::Sealed(_)) | TurnPart::Text(_) | TurnPart::Call(_) => true,
        });
    }
    trim_result
}

#[cfg(test)]
mod tests;
