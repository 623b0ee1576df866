//! What a result says, as the words of a finding: cleaned and bounded.

use crh_review::finding::TITLE_MAX;

use super::log::SarifResult;
use super::log::ToolRun;

/// A message is a few sentences; data flows printed in full are not.
const WHY_CHARS: usize = 1_000;

/// The words of a finding.
pub(super) struct Words {
    pub(super) title: String,
    pub(super) why: String,
    pub(super) fix: String,
}

/// `masked` takes out what nobody may read, before anything is cut.
pub(super) fn of(run: &ToolRun, result: &SarifResult, masked: &dyn Fn(&str) -> String) -> Words {
    let plain = |text: &str, most: usize| plain(&masked(text), most);
    let message = plain(&message(run, result), WHY_CHARS);
    let facts = run.facts(result);
    let short = facts.map(|rule| plain(&rule.short_description.text, TITLE_MAX));
    let title = short.filter(|text| !text.is_empty()).unwrap_or_else(|| {
        let first = message.split_inclusive(". ").next().unwrap_or_default().trim_end();
        plain(first, TITLE_MAX)
    });
    let title = title.trim_end_matches('.').to_owned();
    let said = |text: String| if text.is_empty() { run.rule_id(result) } else { text };
    let fix = result.fixes.first().map(|fix| plain(&fix.description.text, WHY_CHARS));
    Words { title: said(title), why: said(message), fix: fix.unwrap_or_default() }
}

/// The message itself, or the one that it names, with what belongs into its gaps.
fn message(run: &ToolRun, result: &SarifResult) -> String {
    let message = &result.message;
    let named = || run.facts(result)?.message_strings.get(&message.id).map(|it| it.text.as_str());
    let mut text = match message.text.is_empty() {
        false => message.text.clone(),
        true => named().unwrap_or_default().to_owned(),
    };
    for (at, argument) in message.arguments.iter().enumerate().take(10) {
        let short: String = argument.chars().take(WHY_CHARS).collect();
        text =
            text.chars().take(WHY_CHARS).collect::<String>().replace(&format!("{{{at}}}"), &short);
    }
    text
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
