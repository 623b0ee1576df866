//! Everything that a run says to a model in its own words. Short, since it is paid for; one file, since it is read as a whole.

use crate::Limit;
use crh_llm::ToolSpec;

/// The most names of tools in an answer to a call of a tool that does not exist.
const NAMES: usize = 40;

/// Why a run comes to its last turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A limit is near.
    Limit(Limit),
    /// The model does nothing but repeat itself.
    Stuck,
}

/// The last turn has come.
pub(crate) fn grace(reason: Reason, submit: &str) -> String {
    let why = match reason {
        Reason::Limit(Limit::Turns) => "The limit on turns is reached.",
        Reason::Limit(Limit::ToolCalls) => "The limit on tool calls is reached.",
        Reason::Limit(Limit::Tokens) => "The limit on tokens is almost reached.",
        Reason::Limit(Limit::Money) => "The budget is almost spent.",
        Reason::Limit(Limit::Wall) => "The time is almost up.",
        Reason::Stuck => "You are repeating calls that bring nothing new.",
    };
    format!(
        "{why} This is your last turn: submit your answer now (`{submit}`), with what you know. No other tool will be called."
    )
}

/// The model stopped without an answer.
pub(crate) fn reminder(submit: &str) -> String {
    format!(
        "You stopped without an answer. Only what you submit counts: submit it now (`{submit}`), or go on with the tools and submit then."
    )
}

/// The answer is not of the right form.
pub(crate) fn wrong_answer(what: &str) -> String {
    format!("The answer was not accepted: {what} Submit the whole answer again, corrected.")
}

/// The arguments of a call are no JSON.
pub(crate) fn malformed(name: &str) -> String {
    format!(
        "`{name}` was not called: its arguments are not valid JSON. Call it again with valid JSON."
    )
}

/// The turn was cut off.
pub(crate) fn cut(max_output_tokens: u32) -> String {
    format!(
        "Your turn was cut off at {max_output_tokens} tokens, so its last part was not used. Say it again, shorter."
    )
}

/// What the model wrote could not be read as a turn.
pub(crate) fn unreadable(why: &str) -> String {
    format!(
        "Your turn could not be read: {why}. Write one JSON object of the form in your instructions, and nothing else."
    )
}

/// There is no such tool; the nearest names come first.
pub(crate) fn unknown(name: &str, tools: &[ToolSpec], submit: &str) -> String {
    let mut names: Vec<&str> =
        tools.iter().map(|tool| tool.name.as_str()).chain([submit]).collect();
    names.sort_by_key(|known| strsim::damerau_levenshtein(known, name));
    let left_out = names.len().saturating_sub(NAMES);
    names.truncate(NAMES);
    let more = if left_out > 0 { format!(" and {left_out} more") } else { String::new() };
    format!("There is no tool `{name}`. There are: {}{more}.", names.join(", "))
}

/// The same call has been answered.
pub(crate) fn repeated(id: &str) -> String {
    format!(
        "Not called again: the same call has been made, see the result of `{id}`. Use that, or call something else."
    )
}

/// The call closes a circle.
pub(crate) const CIRCLE: &str = "Not called: you are going in a circle, and the same calls will bring the same results. Try something else, or submit your answer.";

/// The call is beyond the limit, of the run or of all runs together.
pub(crate) const TOO_MANY_CALLS: &str = "Not called: the limit on tool calls is reached.";

/// The call came beside an answer.
pub(crate) const BESIDE_AN_ANSWER: &str = "Not called: an answer was submitted in the same turn.";

/// A result that was taken out to make room.
pub(crate) fn stub(name: &str, characters: usize) -> String {
    format!(
        "[{characters} characters from `{name}` were taken out to make room. Call it again if you need them.]"
    )
}

/// How a model without tool calling works with tools and answers.
pub(crate) fn instructions(tools: &[ToolSpec], submit: &ToolSpec) -> String {
    let answer = described(submit);
    if tools.is_empty() {
        return format!(
            "# How to answer\n\n\
            Your turn is one JSON object and nothing else: {{\"answer\": {{…}}}}\n\n\
            # The answer\n\n{answer}"
        );
    }
    let tools: Vec<String> = tools.iter().map(described).collect();
    let tools = tools.join("\n\n");
    format!(
        "# How to answer\n\n\
        Every turn of yours is one JSON object and nothing else:\n\
        {{\"answer\": null, \"calls\": [{{\"arguments\": {{…}}, \"name\": \"…\"}}]}} to call tools, any number at once; \
        their results follow in the next message.\n\
        {{\"answer\": {{…}}, \"calls\": []}} when you are done. The answer ends your work.\n\n\
        # Tools\n\n{tools}\n\n\
        # The answer\n\n{answer}"
    )
}

fn described(spec: &ToolSpec) -> String {
    format!("`{}`: {}\nJSON Schema: {}", spec.name, spec.description, spec.schema)
}

#[cfg(test)]
#[path = "model_texts/tests.rs"]
mod tests;
