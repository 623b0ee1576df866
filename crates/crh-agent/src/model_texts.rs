//! Texts that crh-agent writes to a model. Prompts come from the caller, and the reasons for failed
//! tool calls and rejected answers from the code that detects them. The texts are short because
//! every token costs money.

use crate::LimitKind;
use crh_llm::ToolSpec;

/// Maximum number of tool names in the answer to a call of an unknown tool.
const MAX_TOOL_NAMES: usize = 40;

/// Why a run enters its last turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastTurnReason {
    /// A limit is reached, or nearly reached.
    Limit(LimitKind),
    /// The model only repeats itself.
    Stuck,
}

pub(crate) fn last_turn_notice(reason: LastTurnReason, submit: &str) -> String {
    let explanation = match reason {
        LastTurnReason::Limit(LimitKind::Turns) => "The limit on turns is reached.",
        LastTurnReason::Limit(LimitKind::ToolCalls) => "The limit on tool calls is reached.",
        LastTurnReason::Limit(LimitKind::Tokens) => "The limit on tokens is almost reached.",
        LastTurnReason::Limit(LimitKind::Money) => "The budget is almost spent.",
        LastTurnReason::Limit(LimitKind::Wall) => "The time is almost up.",
        LastTurnReason::Stuck => "You are repeating calls that bring nothing new.",
    };
    format!(
        "{explanation} This is your last turn: submit your answer now (`{submit}`), with what you know. No other tool will be called."
    )
}

/// Sent when the model stops without an answer.
pub(crate) fn reminder(submit: &str) -> String {
    format!(
        "You stopped without an answer. Only what you submit counts: submit it now (`{submit}`), or go on with the tools and submit then."
    )
}

pub(crate) fn rejected_answer(problem: &str) -> String {
    format!("The answer was not accepted: {problem} Submit the whole answer again, corrected.")
}

pub(crate) fn malformed_arguments(name: &str) -> String {
    format!(
        "`{name}` was not called: its arguments are not valid JSON. Call it again with valid JSON."
    )
}

pub(crate) fn truncated_turn(output_tokens: u64) -> String {
    format!(
        "Your turn was cut off at {output_tokens} tokens, so its last part was not used. Say it again, shorter."
    )
}

pub(crate) fn unreadable_turn(problem: &str) -> String {
    format!(
        "Your turn could not be read: {problem}. Write one JSON object of the form in your instructions, and nothing else."
    )
}

/// Lists the existing tools, most similar names first.
pub(crate) fn unknown_tool(name: &str, tools: &[ToolSpec], submit: &str) -> String {
    // The list of tools may contain the submit tool.
    let others = tools.iter().map(|tool| tool.name.as_str()).filter(|name| *name != submit);
    let mut names: Vec<&str> = others.chain([submit]).collect();
    names.sort_by_key(|tool_name| strsim::damerau_levenshtein(tool_name, name));
    let omitted_count = names.len().saturating_sub(MAX_TOOL_NAMES);
    names.truncate(MAX_TOOL_NAMES);
    let omission =
        if omitted_count > 0 { format!(" and {omitted_count} more") } else { String::new() };
    format!("There is no tool `{name}`. There are: {}{omission}.", names.join(", "))
}

/// The note about a cut, before and after the number of characters.
const CUT_START: &str = "[cut: the whole result has ";
const CUT_END: &str = " characters. Ask for fewer or smaller pieces in one turn.]\n";

/// Replaces the end of a result that is too long.
pub(crate) fn cut_result(chars: usize) -> String {
    format!("{CUT_START}{chars}{CUT_END}")
}

/// Splits the text of a cut result into what is left of it and the number of characters that the
/// whole result had. None if the result was not cut.
pub(crate) fn split_cut_result(text: &str) -> Option<(&str, usize)> {
    let (kept, chars) = text.strip_suffix(CUT_END)?.rsplit_once(CUT_START)?;
    Some((kept, chars.parse().ok()?))
}

pub(crate) fn repeated_call(id: &str) -> String {
    format!(
        "Not called again: the same call has been made, see the result of `{id}`. Use that, or call something else."
    )
}

pub(crate) const CALL_CYCLE: &str = "Not called: you are going in a circle, and the same calls will bring the same results. Try something else, or submit your answer.";

/// The result of a call that the tool-call limit of the run or of the shared ledger forbids.
pub(crate) const TOO_MANY_CALLS: &str = "Not called: the limit on tool calls is reached.";

/// The result of a call after a turn that brought enough results.
pub(crate) const ENOUGH_RESULTS: &str =
    "Not called: you had your turn with tools. Submit your answer now, with what you know.";

/// If a rejected answer is split over several calls: the result of each call except the last. The
/// result of the last call has the reason.
pub(crate) const JOINED_ANSWER: &str =
    "Read as one answer with the last call of this tool in your turn: see its result.";

/// Problem of an answer that reports what the calls of its turn did.
pub(crate) const FAILED_CALL_BESIDE_ANSWER: &str =
    "another call of the same turn failed, see its result.";

/// Replaces a tool result that was trimmed.
pub(crate) fn trimmed_result(name: &str, characters: usize) -> String {
    format!(
        "[{characters} characters from `{name}` were taken out to make room. Call it again if you need them.]"
    )
}

/// Explains tools and answers to a model without native tool calling.
pub(crate) fn instructions(tools: &[ToolSpec], submit: &ToolSpec) -> String {
    let answer = tool_description(submit);
    if tools.is_empty() {
        return format!(
            "# How to answer\n\n\
            Your turn is one JSON object and nothing else: {{\"answer\": {{…}}}}\n\n\
            # The answer\n\n{answer}"
        );
    }
    let tools: Vec<String> = tools.iter().map(tool_description).collect();
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

fn tool_description(spec: &ToolSpec) -> String {
    format!("`{}`: {}\nJSON Schema: {}", spec.name, spec.description, spec.schema)
}

#[cfg(test)]
mod tests;
