//! The text of a SARIF result as finding text: cleaned and truncated.

use super::log::{SarifResult, ToolRun};
use crh_review::finding::TITLE_MAX;

/// Longer messages are printed data flows.
const WHY_CHARS: usize = 1_000;
/// How much of a message is read: enough to mask a credential that is cut here.
const MESSAGE_BYTES: usize = 64 << 10;

/// Messages have few placeholders.
const PLACEHOLDER_DIGITS: usize = 2;

pub(super) struct FindingText {
    pub(super) title: String,
    pub(super) why: String,
    pub(super) fix: String,
}

/// Builds the text of a finding. `masked` removes secrets before anything is cut. The title is the
/// result's message, otherwise the rule's description.
pub(super) fn finding_text(
    run: &ToolRun,
    result: &SarifResult,
    masked: &dyn Fn(&str) -> String,
) -> FindingText {
    let plain = |text: &str, most: usize| plain(&masked(text), most);
    let message = plain(&message(run, result), WHY_CHARS);
    let first = message.split_inclusive(". ").next().unwrap_or_default().trim_end();
    let title = match plain(first, TITLE_MAX) {
        title if title.is_empty() => {
            let short = run.rule(result).map(|rule| plain(&rule.short_description.text, TITLE_MAX));
            // A description with unfilled placeholders is not for people.
            short.filter(|text| fill_placeholders(text, &[]) == *text).unwrap_or_default()
        }
        title => title,
    };
    let title = title.trim_end_matches('.').to_owned();
    let or_rule_id = |text: String| if text.is_empty() { run.rule_id(result) } else { text };
    let fix = result.fixes.first().map(|fix| plain(&fix.description.text, WHY_CHARS));
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
    text.get(..text.floor_char_boundary(MESSAGE_BYTES)).unwrap_or(text)
}

/// Fills placeholders such as `{0}`. A missing argument becomes an ellipsis.
fn fill_placeholders(text: &str, arguments: &[String]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{').filter(|_| out.len() < MESSAGE_BYTES) {
        out.push_str(before);
        let digits = behind.bytes().take(PLACEHOLDER_DIGITS).take_while(u8::is_ascii_digit).count();
        let gap = behind.split_at(digits);
        let gap = gap.0.parse::<usize>().ok().zip(gap.1.strip_prefix('}'));
        match gap {
            Some((at, end)) => {
                out.push_str(arguments.get(at).map_or("…", |argument| truncate_bytes(argument)));
                rest = end;
            }
            None => {
                out.push('{');
                rest = behind;
            }
        }
    }
    out + rest
}

/// Text on one line, without links into the SARIF file, truncated.
fn plain(text: &str, most: usize) -> String {
    let start: String = text.chars().take(4 * most).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    let line: String =
        strip_links(&words.join(" ")).chars().filter(|it| !it.is_control()).collect();
    match line.char_indices().nth(most) {
        Some(_) => line.chars().take(most - 1).chain(['…']).collect(),
        None => line,
    }
}

/// Removes links such as `[text](3)`, which refer to related locations.
fn strip_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let link = after.split_once("](").and_then(|(words, target)| {
            let (number, end) = target.split_once(')')?;
            let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
            (is_number && !words.contains('[')).then_some((words, end))
        });
        match link {
            Some((words, end)) => {
                out.push_str(words);
                rest = end;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}
