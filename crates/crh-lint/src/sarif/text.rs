//! What a result says, as the words of a finding: cleaned and bounded.

use super::log::{SarifResult, ToolRun};
use crh_review::finding::TITLE_MAX;

/// A message is a few sentences; data flows printed in full are not.
const WHY_CHARS: usize = 1_000;
/// How much of a message is looked at: enough that a credential which is cut here is not shown.
const MESSAGE_BYTES: usize = 64 << 10;

/// A message has a handful of gaps.
const GAP_DIGITS: usize = 2;

/// The words of a finding.
pub(super) struct Words {
    pub(super) title: String,
    pub(super) why: String,
    pub(super) fix: String,
}

/// `masked` takes out what nobody may read, before anything is cut. The title is what the tool says of this place; what it says
/// of its rule is for one that says nothing.
pub(super) fn of(run: &ToolRun, result: &SarifResult, masked: &dyn Fn(&str) -> String) -> Words {
    let plain = |text: &str, most: usize| plain(&masked(text), most);
    let message = plain(&message(run, result), WHY_CHARS);
    let first = message.split_inclusive(". ").next().unwrap_or_default().trim_end();
    let title = match plain(first, TITLE_MAX) {
        title if title.is_empty() => {
            let short =
                run.facts(result).map(|rule| plain(&rule.short_description.text, TITLE_MAX));
            // Gaps that nothing fills are for programs.
            short.filter(|text| filled(text, &[]) == *text).unwrap_or_default()
        }
        title => title,
    };
    let title = title.trim_end_matches('.').to_owned();
    let said = |text: String| if text.is_empty() { run.rule_id(result) } else { text };
    let fix = result.fixes.first().map(|fix| plain(&fix.description.text, WHY_CHARS));
    Words { title: said(title), why: said(message), fix: fix.unwrap_or_default() }
}

/// The message itself, or the one that it names, with what belongs into its gaps.
fn message(run: &ToolRun, result: &SarifResult) -> String {
    let message = &result.message;
    let texts = [Some(message.text.as_str()), run.named(result), Some(message.markdown.as_str())];
    let text = texts.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or_default();
    let text = start(text);
    match message.arguments.is_empty() {
        true => text.to_owned(),
        false => filled(text, &message.arguments),
    }
}

fn start(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MESSAGE_BYTES)).unwrap_or(text)
}

/// A text with arguments in its gaps, `{0}` and so on. One that is missing is three dots.
fn filled(text: &str, arguments: &[String]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{').filter(|_| out.len() < MESSAGE_BYTES) {
        out.push_str(before);
        let digits = behind.bytes().take(GAP_DIGITS).take_while(u8::is_ascii_digit).count();
        let gap = behind.split_at(digits);
        let gap = gap.0.parse::<usize>().ok().zip(gap.1.strip_prefix('}'));
        match gap {
            Some((at, end)) => {
                out.push_str(arguments.get(at).map_or("…", |argument| start(argument)));
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

/// A text on one line, without links to places of the file, and not longer than so many characters.
fn plain(text: &str, most: usize) -> String {
    let start: String = text.chars().take(4 * most).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    let line: String = unlinked(&words.join(" ")).chars().filter(|it| !it.is_control()).collect();
    match line.char_indices().nth(most) {
        Some(_) => line.chars().take(most - 1).chain(['…']).collect(),
        None => line,
    }
}

/// `[text](3)` leads to a related place, which is not shown here.
fn unlinked(text: &str) -> String {
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
