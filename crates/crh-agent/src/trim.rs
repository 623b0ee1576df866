//! Trims a conversation that exceeds the model's context, and cuts the results of one turn that are
//! too long together. The system prompt and the task are never trimmed.

use crate::call_history::ResultPosition;
use crate::model_texts;
use crh_llm::{Conversation, Message, Thinking, ToolResult, TurnPart, text_tokens};

/// Minimum gain of trimming one result. A smaller gain is not worth a repeated tool call.
const MIN_FREED_TOKENS: u64 = 50;

/// Minimum characters to cut from a result that was not cut before. The note about the cut has about
/// half as many.
const MIN_CUT_CHARS: usize = 200;

/// Likely ratio of a request's tokens to its estimate: three fifths. Estimates are 2.5 times the
/// count for code and 1.25 times for the densest texts.
const LIKELY_SHARE: (u64, u64) = (3, 5);

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

    /// Likely size of a request with this estimate, scaled like the last counted request. If the
    /// request starts with the counted one, only the new part is scaled, and a quarter of it is
    /// added. Before the first count, [`LIKELY_SHARE`] scales the estimate.
    pub(crate) fn tokens(&self, estimate: u64) -> u64 {
        match self.last_count {
            Some((last_estimate, count))
                if self.has_counted_prefix && estimate >= last_estimate =>
            {
                let new_tokens = scale(estimate - last_estimate, count, last_estimate);
                count.saturating_add(new_tokens.saturating_add(new_tokens / 4))
            }
            Some((last_estimate, count)) => scale(estimate, count, last_estimate),
            None => scale(estimate, LIKELY_SHARE.0, LIKELY_SHARE.1),
        }
    }

    /// Likely size of a request that cannot be trimmed further. The estimate is 1.25 to 2.5 times
    /// the vendor's count, so before the first count half of it is likely. If that is too little,
    /// the vendor rejects the request without a charge.
    pub(crate) fn likely_tokens(&self, estimate: u64) -> u64 {
        match self.last_count {
            Some(_) => self.tokens(estimate),
            None => estimate.div_ceil(2),
        }
    }

    /// Upper bound of a request's size. The bound is below the estimate only if the request starts
    /// with the counted request.
    pub(crate) fn upper_bound(&self, estimate: u64) -> u64 {
        match self.last_count {
            Some((last_estimate, count))
                if self.has_counted_prefix && estimate >= last_estimate =>
            {
                count.saturating_add(estimate - last_estimate)
            }
            Some(_) | None => self.tokens(estimate).max(estimate),
        }
    }

    /// Converts the vendor's tokens into estimated tokens.
    pub(crate) fn estimate(&self, tokens: u64) -> u64 {
        let (likely, full) = LIKELY_SHARE;
        match self.last_count {
            Some((last_estimate, count)) => scale(tokens, last_estimate, count),
            None => scale(tokens, full, likely),
        }
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

/// Cuts the results of the last turn to free `needed_tokens` estimated tokens. At least `min_chars`
/// characters stay, of all results together. Returns the number of freed tokens.
pub(crate) fn cut_last_results(
    conversation: &mut Conversation,
    task_messages: usize,
    needed_tokens: u64,
    min_chars: usize,
) -> u64 {
    let later_messages = conversation.messages.iter_mut().skip(task_messages);
    let last_results = later_messages.rev().find_map(|message| match message {
        Message::Results(results) => Some(results),
        Message::User(_) | Message::Assistant(_) => None,
    });
    let Some(results) = last_results else { return 0 };
    let tokens = result_tokens(results);
    let kept_tokens = tokens.saturating_sub(needed_tokens.max(MIN_FREED_TOKENS));
    let chars: usize = results.iter().map(|result| result.text.chars().count()).sum();
    let kept_chars = scale(u64::try_from(chars).unwrap_or(u64::MAX), kept_tokens, tokens);
    let kept_chars = usize::try_from(kept_chars).unwrap_or(usize::MAX);
    // `cut_results` skips a cut below `MIN_CUT_CHARS`, so a small cut of all results might cut none.
    let max_kept_chars = chars.saturating_sub(MIN_CUT_CHARS * results.len());
    cut_results(results, kept_chars.min(max_kept_chars).max(min_chars));
    tokens.saturating_sub(result_tokens(results))
}

/// Estimated tokens of the texts of these results.
pub(crate) fn result_tokens(results: &[ToolResult]) -> u64 {
    results.iter().map(|result| text_tokens(&result.text)).sum()
}

/// Cuts the longest results of a turn so that all together have about `max_chars` characters. The
/// notes about cuts do not count. A model may ask for twenty files in one turn.
pub(crate) fn cut_results(results: &mut [ToolResult], max_chars: usize) {
    // Characters of what is left of each result, and of the whole result.
    let lengths = results.iter().map(|result| {
        let length = result.text.chars().count();
        let parts = model_texts::split_cut_result(&result.text);
        parts.map_or((length, length), |(kept, whole)| (kept.chars().count(), whole))
    });
    let (kept_lengths, whole_lengths): (Vec<usize>, Vec<usize>) = lengths.unzip();
    let Some(longest) = longest_allowed(&kept_lengths, max_chars) else { return };
    for (result, (kept, whole)) in results.iter_mut().zip(kept_lengths.iter().zip(whole_lengths)) {
        let has_note = *kept < whole;
        let min_cut_chars = if has_note { 1 } else { MIN_CUT_CHARS };
        if *kept < longest.saturating_add(min_cut_chars) {
            continue;
        }
        if let Some((end, _)) = result.text.char_indices().nth(longest) {
            let line_end = result.text[..end].rfind('\n').map_or(end, |newline| newline + 1);
            result.text.truncate(line_end);
            result.text.push_str(&model_texts::cut_result(whole));
        }
    }
}

/// The largest length to which longer results are cut so that all fit. None if all fit as they are.
fn longest_allowed(lengths: &[usize], max_chars: usize) -> Option<usize> {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let (mut left, mut count) = (max_chars, sorted.len());
    for length in sorted {
        let share = left / count;
        if length > share {
            return Some(share);
        }
        left -= length;
        count -= 1;
    }
    None
}

#[cfg(test)]
mod tests;
