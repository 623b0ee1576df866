//! Makes room in a conversation that would not fit into the model's context, by a rule that never cuts the rules, the
//! task or the last results.

use crate::repeat::Place;
use crate::words;
use crh_llm::{Conversation, Message, Part, Thinking, text_tokens};

/// A result is taken out only if that frees so many tokens: for less it is not worth a call that has to be made again, and
/// what has become a line of ours stays one.
const WORTH: u64 = 50;

/// What is known about how many tokens a request has, learned from what the vendor counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gauge {
    /// Our estimate of a request that the vendor has counted, and its count.
    counted: Option<(u64, u64)>,
    /// Whether later requests begin with the counted one, so that only what was added has to be estimated.
    grows: bool,
}

impl Gauge {
    /// The vendor counted a request that we had estimated.
    pub(crate) fn counted(&mut self, estimate: u64, count: u64) {
        if estimate > 0 && count > 0 {
            *self = Self { counted: Some((estimate, count)), grows: true };
        }
    }

    /// Requests no longer begin with the counted one.
    pub(crate) fn changed(&mut self) {
        self.grows = false;
    }

    /// The tokens of a request that we estimate so: what was counted and an estimate of what was added or, if something
    /// was taken away, the estimate corrected by how far the last one was off.
    pub(crate) fn tokens(&self, estimate: u64) -> u64 {
        match self.counted {
            Some((before, count)) if self.grows && estimate >= before => {
                count.saturating_add(estimate - before)
            }
            Some((before, count)) => scaled(estimate, count, before),
            None => estimate,
        }
    }

    /// The most tokens of a request that we estimate so. A count says nothing certain about other texts: only what begins
    /// with the counted request is reckoned by it, everything else by our estimate or what is more.
    pub(crate) fn at_most(&self, estimate: u64) -> u64 {
        let begins_so = self.grows && self.counted.is_some_and(|(before, _)| estimate >= before);
        let tokens = self.tokens(estimate);
        if begins_so { tokens } else { tokens.max(estimate) }
    }

    /// How much of our estimate so many of the vendor's tokens are.
    pub(crate) fn estimate(&self, tokens: u64) -> u64 {
        self.counted.map_or(tokens, |(before, count)| scaled(tokens, before, count))
    }
}

fn scaled(amount: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(amount) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// What was taken out of a conversation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Trimmed {
    /// The results that are stubs now.
    pub(crate) places: Vec<Place>,
    /// How much less the conversation is, by our estimate.
    pub(crate) freed: u64,
}

/// Frees so many tokens (by our estimate) or as many as there are to free: first results, oldest first, then thoughts.
/// The first `given` messages and the last turn with its results stay as they are.
///
/// Results become a line that says what was there, so that each call keeps its result. Sealed thoughts stay: nobody
/// but their vendor knows whether what follows can do without.
pub(crate) fn trim(conversation: &mut Conversation, given: usize, needed: u64) -> Trimmed {
    let mut trimmed = Trimmed::default();
    let messages = &mut conversation.messages;
    let last = |wanted: fn(&Message) -> bool| messages.iter().rposition(wanted).unwrap_or(0);
    let last_results = last(|message| matches!(message, Message::Results(_)));
    let last_turn = last(|message| matches!(message, Message::Assistant(_)));
    for (index, message) in messages.iter_mut().enumerate().take(last_results).skip(given) {
        let Message::Results(results) = message else { continue };
        for (position, result) in results.iter_mut().enumerate() {
            if trimmed.freed >= needed {
                return trimmed;
            }
            let stub = words::stub(&result.name, result.text.chars().count());
            let less = text_tokens(&result.text).saturating_sub(text_tokens(&stub));
            if less >= WORTH {
                result.text = stub;
                trimmed.freed += less;
                trimmed.places.push(Place { message: index, result: position });
            }
        }
    }
    for message in messages.iter_mut().take(last_turn).skip(given) {
        let Message::Assistant(turn) = message else { continue };
        if trimmed.freed >= needed {
            break;
        }
        turn.parts.retain(|part| match part {
            Part::Thinking(Thinking::Said { text, signature }) => {
                trimmed.freed += [text, signature]
                    .into_iter()
                    .flatten()
                    .map(|text| text_tokens(text))
                    .sum::<u64>();
                false
            }
            Part::Thinking(Thinking::Sealed(_)) | Part::Text(_) | Part::Call(_) => true,
        });
    }
    trimmed
}

#[cfg(test)]
mod tests;
