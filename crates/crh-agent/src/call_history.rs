//! Detects repeated tool calls: the same call again, or the same few calls in a cycle.

use crh_llm::{CallArguments, ToolCall};

/// Longest cycle that is detected. Longer cycles end at the limit on turns.
const MAX_CYCLE: usize = 3;

/// Maximum number of times that a failing call may be made in a row: once, plus one retry.
const MAX_SAME_CALLS: usize = 2;

/// Position of a tool result in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultPosition {
    pub(crate) message: usize,
    /// Index of the result in the message.
    pub(crate) result: usize,
}

/// Result of an earlier call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PastCallStatus {
    /// The result is in the conversation, or will be after this turn.
    Answered,
    /// The call returned an error text, or was not made.
    Failed,
}

/// Why a call is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RepeatedCall {
    /// The call with this id already has a result.
    Answered(String),
    /// The call completes a cycle.
    Cycle,
}

/// Calls of a run whose results the model can still see, oldest first.
#[derive(Debug, Default)]
pub(crate) struct CallHistory {
    past_calls: Vec<PastCall>,
}

#[derive(Debug)]
struct PastCall {
    key: String,
    id: String,
    position: ResultPosition,
    status: PastCallStatus,
}

impl CallHistory {
    /// Returns why a call repeats earlier ones, if it does.
    pub(crate) fn find_repeat(&self, call: &ToolCall) -> Option<RepeatedCall> {
        let key = call_key(call);
        let answered_call = self
            .past_calls
            .iter()
            .rev()
            .find(|past| past.key == key && past.status == PastCallStatus::Answered);
        if let Some(past) = answered_call {
            return Some(RepeatedCall::Answered(past.id.clone()));
        }
        let key_at = |distance: usize| match distance {
            0 => Some(key.as_str()),
            distance => self.past_calls.iter().nth_back(distance - 1).map(|past| past.key.as_str()),
        };
        let is_cycle = (1..=MAX_CYCLE).any(|period| {
            let compared_count = if period == 1 { MAX_SAME_CALLS } else { period };
            (0..compared_count).all(|distance| {
                key_at(distance + period).is_some() && key_at(distance) == key_at(distance + period)
            })
        });
        is_cycle.then_some(RepeatedCall::Cycle)
    }

    pub(crate) fn record(
        &mut self,
        call: &ToolCall,
        position: ResultPosition,
        status: PastCallStatus,
    ) {
        self.past_calls.push(PastCall {
            key: call_key(call),
            id: call.id.clone(),
            position,
            status,
        });
    }

    /// Marks a call as failed, so that the model may retry it once.
    pub(crate) fn mark_failed(&mut self, position: ResultPosition) {
        for past in self.past_calls.iter_mut().filter(|past| past.position == position) {
            past.status = PastCallStatus::Failed;
        }
    }

    /// Forgets all calls, because their results may be outdated.
    pub(crate) fn forget_all(&mut self) {
        self.past_calls.clear();
    }

    /// Forgets calls whose results were trimmed. The text that replaces a trimmed result allows the
    /// model to repeat the call.
    pub(crate) fn forget(&mut self, positions: &[ResultPosition]) {
        self.past_calls.retain(|past| !positions.contains(&past.position));
    }
}

/// Tool name and arguments, with sorted JSON keys.
fn call_key(call: &ToolCall) -> String {
    match &call.arguments {
        CallArguments::Json(value) => {
            let mut value = value.clone();
            value.sort_all_objects();
            format!("{} {value}", call.name)
        }
        CallArguments::Malformed(text) => format!("{} {text}", call.name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(id: usize, name: &str, arguments: Value) -> ToolCall {
        let arguments = CallArguments::Json(arguments);
        ToolCall { id: format!("c{id}"), name: name.to_owned(), arguments, signatures: Vec::new() }
    }

    /// Plays a script of calls: `a` succeeds, `a!` fails, `-a` trims the results of `a`. Returns
    /// for each call whether it is made, or the id of the same call, or `cycle`.
    fn play(script: &str) -> String {
        let mut history = CallHistory::default();
        let mut decisions = Vec::new();
        for (index, word) in script.split(' ').enumerate() {
            let call = call(index, word.trim_matches(['!', '-']), json!({}));
            if word.starts_with('-') {
                let key = call_key(&call);
                let same_calls = history.past_calls.iter().filter(|past| past.key == key);
                let positions: Vec<_> = same_calls.map(|past| past.position).collect();
                history.forget(&positions);
                continue;
            }
            let (decision, status) = match history.find_repeat(&call) {
                None => ("made".to_owned(), PastCallStatus::Answered),
                Some(RepeatedCall::Answered(id)) => (id, PastCallStatus::Failed),
                Some(RepeatedCall::Cycle) => ("cycle".to_owned(), PastCallStatus::Failed),
            };
            let position = ResultPosition { message: index, result: 0 };
            history.record(&call, position, status);
            if word.ends_with('!') {
                history.mark_failed(position);
            }
            decisions.push(decision);
        }
        decisions.join(" ")
    }

    #[test]
    fn repeated_calls_and_cycles_are_refused() {
        // An answered call is refused until its result is trimmed.
        assert_eq!(play("a b a -a a"), "made made c0 made");
        // A failed call may be retried once.
        assert_eq!(play("a! a! a! a!"), "made made cycle cycle");
        assert_eq!(play("a! b! a! b! a! b!"), "made made made cycle cycle cycle");
        assert_eq!(play("a! b! c! a! b! c!"), "made made made made made cycle");
        assert_eq!(play("a b! a b!"), "made made c0 cycle");
    }

    #[test]
    fn key_order_of_arguments_does_not_matter() {
        let is_repeat = |first: Value, second: Value| {
            let mut history = CallHistory::default();
            history.record(
                &call(0, "a", first),
                ResultPosition { message: 0, result: 0 },
                PastCallStatus::Answered,
            );
            history.find_repeat(&call(1, "a", second)).is_some()
        };
        assert!(is_repeat(
            json!({"x": {"a": 1, "b": [2]}, "y": 0}),
            json!({"y": 0, "x": {"b": [2], "a": 1}})
        ));
        assert!(!is_repeat(json!({"x": [1, 2]}), json!({"x": [2, 1]})));
        assert!(!is_repeat(json!({"x": 1}), json!({"x": "1"})));
    }
}
