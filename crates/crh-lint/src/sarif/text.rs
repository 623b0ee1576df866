//! Turns the text of a SARIF result into the text of a finding: cleaned and truncated.

use super::log::{SarifResult, ToolRun};
use crh_review::finding::TITLE_MAX;

/// Maximum characters of an explanation. Longer messages list the steps of a data flow.
const WHY_CHARS_MAX: usize = 1_000;
/// Maximum bytes read of a message. This is far more than is shown, so a credential that crosses
/// the shown end is still masked as a whole.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Maximum characters of a link's text, which is mostly an expression from the code.
const LINK_CHARS_MAX: usize = 200;

/// Maximum digits of a placeholder such as `{0}`. Messages have fewer than 100 placeholders.
const PLACEHOLDER_DIGITS_MAX: usize = 2;

pub(super) struct FindingText {
    pub(super) title: String,
    pub(super) why: String,
    pub(super) fix: String,
}

/// Builds the text of a finding. `mask` masks credentials before anything is cut. The title is the
/// first sentence of the message, otherwise the description of the rule, otherwise the rule's id.
pub(super) fn finding_text(
    run: &ToolRun,
    result: &SarifResult,
    mask: &dyn Fn(&str) -> String,
) -> FindingText {
    let to_plain = |text: &str, max_chars: usize| to_plain_text(&mask(text), max_chars);
    let message = to_plain(&message(run, result), WHY_CHARS_MAX);
    let first_sentence = message.split_inclusive(". ").next().unwrap_or_default().trim_end();
    let title = match to_plain(first_sentence, TITLE_MAX) {
        title if title.is_empty() => {
            let description =
                run.rule(result).map(|rule| to_plain(&rule.short_description.text, TITLE_MAX));
            // A description with unfilled placeholders is not readable.
            description.filter(|text| !has_placeholder(text)).unwrap_or_default()
        }
        title => title,
    };
    let title = title.trim_end_matches('.').to_owned();
    let or_rule_id = |text: String| if text.is_empty() { run.rule_id(result) } else { text };
    let fix = result.fixes.first().map(|fix| to_plain(&fix.description.text, WHY_CHARS_MAX));
    FindingText { title: or_rule_id(title), why: or_rule_id(message), fix: fix.unwrap_or_default() }
}

/// The message of a result with its arguments filled in.
fn message(run: &ToolRun, result: &SarifResult) -> String {
    let message = &result.message;
    let texts =
        [Some(message.text.as_str()), run.message_by_id(result), Some(message.markdown.as_str())];
    let text = texts.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or_default();
    let text = truncate_bytes(text);
    match message.arguments.is_empty() {
        true => text.to_owned(),
        false => fill_placeholders(text, &message.arguments),
    }
}

fn truncate_bytes(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or(text)
}

/// Fills placeholders such as `{0}`. A missing argument becomes an ellipsis. `{{` and `}}` are
/// escaped braces.
fn fill_placeholders(text: &str, arguments: &[String]) -> String {
    let mut output = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['{', '}']).filter(|_| output.len() < MESSAGE_BYTES_MAX) {
        output.push_str(&rest[..start]);
        match placeholder(&rest[start..]) {
            Some((index, end)) => {
                output.push_str(
                    arguments.get(index).map_or("…", |argument| truncate_bytes(argument)),
                );
                rest = end;
            }
            None => {
                let (brace, end) = rest[start..].split_at(1);
                output.push_str(brace);
                rest = end.strip_prefix(brace).unwrap_or(end);
            }
        }
    }
    output + rest
}

fn has_placeholder(text: &str) -> bool {
    text.match_indices('{').any(|(start, _)| placeholder(&text[start..]).is_some())
}

/// The number of a placeholder at the start of a text, and the text after it.
fn placeholder(text: &str) -> Option<(usize, &str)> {
    let text = text.strip_prefix('{')?;
    let digits = text.bytes().take(PLACEHOLDER_DIGITS_MAX).take_while(u8::is_ascii_digit).count();
    let (number, end) = text.split_at(digits);
    Some((number.parse().ok()?, end.strip_prefix('}')?))
}

/// The text on one line, without links into the SARIF file, cut at `max_chars`.
fn to_plain_text(text: &str, max_chars: usize) -> String {
    // Folding white space and removing links shorten the text, so read more than is shown.
    let start: String = text.chars().take(4 * max_chars).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    let line: String =
        strip_links(&words.join(" ")).chars().filter(|it| !it.is_control()).collect();
    match line.char_indices().nth(max_chars) {
        Some(_) => line.chars().take(max_chars - 1).chain(['…']).collect(),
        None => line,
    }
}

/// Replaces links such as `[text](3)`, which refer to related locations, by their text.
fn strip_links(text: &str) -> String {
    let mut output = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        output.push_str(before);
        match link(after).filter(|_| !before.ends_with('\\')) {
            Some((words, end)) => {
                output.push_str(&words.replace(r"\[", "[").replace(r"\]", "]"));
                rest = end;
            }
            None => {
                output.push('[');
                rest = after;
            }
        }
    }
    output + rest
}

/// Parses a link after its `[`. Returns the text of the link, and what follows the link. Brackets
/// in the text of a link are escaped or in pairs.
fn link(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    let mut is_escaped = false;
    let (end, _) = text.char_indices().take(LINK_CHARS_MAX).find(|(_, char)| {
        match char {
            '[' if !is_escaped => depth += 1,
            ']' if !is_escaped => depth -= 1,
            _ => {}
        }
        is_escaped = *char == '\\' && !is_escaped;
        depth == 0
    })?;
    let (number, rest) = text[end..].strip_prefix("](")?.split_once(')')?;
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    is_number.then_some((&text[..end], rest))
}
