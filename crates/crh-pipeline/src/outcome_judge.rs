//! The judge of outcomes: if crh can only guess the outcome of an issue, it asks a model.
//!
//! The model answers two yes-or-no questions, and crh derives the outcome from the answers.
//! Instructions in a change can therefore falsify these two answers at most.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prompts::{fence, outcome};
use crate::text::{cut, numbered_line, one_line};
use crate::tools::session;
use crate::tools::session::SessionTool;
use crh_agent::{AgentTask, CallPurpose, RunLimits, SubmitTool};
use crh_llm::{Conversation, Effort, Money};
use crh_memory::outcome::{FileTexts, IssueHistory, JudgedOutcome};

/// One answer and two corrections.
pub const TURNS: u32 = 3;
/// Maximum tokens per turn: some for the answer, the rest for models that reason first.
const OUTPUT_TOKENS: u32 = 4_000;
/// Timeout per question, retries included.
const WALL: Duration = Duration::from_secs(120);
/// Lines of a file before and after the cited ones.
const CONTEXT_LINES: u32 = 60;
/// Maximum files of a question, the cited one first.
const FILES_MAX: usize = 3;
/// Maximum cited places of a file.
const PLACES_MAX: usize = 3;
/// Maximum characters of a line.
const LINE_CHARS: usize = 300;
/// Maximum characters of a title or a reply.
const TEXT_CHARS: usize = 1_000;
/// Maximum replies of a question, the newest ones.
const REPLIES_MAX: usize = 5;

/// Says what became of the issue, and ends the work: call it once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ReportOutcome {
    /// Whether the problem is still in the later files.
    still_stands: bool,
    /// Whether a reply argues against the issue.
    is_argued_against: bool,
}

impl SessionTool for ReportOutcome {
    const NAME: &'static str = "report_outcome";
}

/// Hash of the judge's prompt and tool, so that a measurement can name them.
pub fn version() -> String {
    outcome::version(&session::tool_spec::<ReportOutcome>())
}

/// Limits of one question.
pub fn limits(money: Money) -> RunLimits {
    RunLimits { turns: TURNS, tool_calls: 0, tokens: u64::MAX, money, wall: WALL }
}

/// The question about an issue. `None` if its title or its code is not known.
pub fn task(history: &IssueHistory, effort: Option<Effort>) -> Option<AgentTask<JudgedOutcome>> {
    Some(AgentTask {
        caller: "outcome-judge".to_owned(),
        conversation: question(history)?,
        tools: Vec::new(),
        submit: SubmitTool::new(session::tool_spec::<ReportOutcome>(), |value| {
            let ReportOutcome { still_stands, is_argued_against } =
                session::parse_arguments(value)?;
            Ok(JudgedOutcome { still_stands, is_argued_against })
        }),
        // Only calls of this purpose may use the whole budget.
        purpose: CallPurpose::Validation,
        max_output_tokens: OUTPUT_TOKENS,
        temperature: None,
        effort,
    })
}

/// The conversation about an issue.
pub(crate) fn question(history: &IssueHistory) -> Option<Conversation> {
    let cited = history.cited.first()?;
    if history.title.trim().is_empty() || !history.before.contains_key(&cited.file) {
        return None;
    }
    let (first, last) = (cited.first, cited.last);
    let issue = format!(
        "{}\nplace: {} lines {first} to {last}",
        cut(&one_line(&history.title), TEXT_CHARS),
        one_line(&cited.file),
    );
    let replies = history.replies.iter().skip(history.replies.len().saturating_sub(REPLIES_MAX));
    let replies: Vec<String> =
        replies.map(|reply| fence("reply", &cut(&one_line(reply), TEXT_CHARS))).collect();
    let paths = shown_paths(history);
    Some(outcome::conversation(
        fence("issue", &issue),
        fenced_files(&paths, &history.before, history),
        fenced_files(&paths, &history.after, history),
        if replies.is_empty() { "none".to_owned() } else { replies.join("\n\n") },
    ))
}

/// The cited files, then other files that changed.
fn shown_paths(history: &IssueHistory) -> Vec<&str> {
    let mut paths: Vec<&str> = Vec::new();
    let changed = history.before.keys().chain(history.after.keys());
    let changed = changed.filter(|path| history.before.get(*path) != history.after.get(*path));
    let cited = history.cited.iter().map(|cited| &cited.file);
    for path in cited.chain(changed) {
        if !paths.contains(&path.as_str()) {
            paths.push(path);
        }
    }
    paths.truncate(FILES_MAX);
    paths
}

fn fenced_files(paths: &[&str], texts: &FileTexts, history: &IssueHistory) -> String {
    let fenced = paths.iter().map(|path| {
        let text = match texts.get(*path) {
            Some(text) => excerpt(path, text, history),
            None => "this file does not exist\n".to_owned(),
        };
        fence("file", &format!("{}\n{text}", one_line(path)))
    });
    fenced.collect::<Vec<_>>().join("\n\n")
}

/// The lines around the cited ones, or the start of the file. In a later text, the cited lines may
/// have other numbers.
fn excerpt(path: &str, text: &str, history: &IssueHistory) -> String {
    let before = history.before.get(path).map_or(text, String::as_str);
    let cited = history.cited.iter().filter(|cited| cited.file == path).take(PLACES_MAX);
    let mut windows: Vec<RangeInclusive<u32>> = cited
        .map(|cited| {
            let more_lines = cited.last.saturating_sub(cited.first);
            window(line_in(text, before, cited.first), more_lines)
        })
        .collect();
    if windows.is_empty() {
        windows.push(window(1, 0));
    }
    let text = crh_review::escape_invisible(text);
    let mut shown = String::new();
    let mut last_number = None;
    for (number, line) in (1..).zip(text.lines()) {
        if windows.iter().any(|window| window.contains(&number)) {
            if last_number.is_some_and(|last| last + 1 < number) {
                shown.push_str("…\n");
            }
            shown.push_str(&numbered_line(number, line, LINE_CHARS));
            last_number = Some(number);
        }
    }
    shown
}

/// Numbers of the lines around a place.
fn window(first: u32, more_lines: u32) -> RangeInclusive<u32> {
    let start = first.saturating_sub(CONTEXT_LINES).max(1);
    start..=start.saturating_add(more_lines.min(CONTEXT_LINES) + 2 * CONTEXT_LINES)
}

/// Number in `text` of a line of `before`. crh assumes that the line moved as far as the nearest
/// line that occurs exactly once in both texts.
fn line_in(text: &str, before: &str, line: u32) -> u32 {
    let (old, new) = (unique_lines(before), unique_lines(text));
    let pairs = old.iter().filter_map(|(words, old)| Some((*old, *new.get(words)?)));
    let nearest = pairs.min_by_key(|(old, _)| (old.abs_diff(line), *old));
    nearest.map_or(line, |(old, new)| line.saturating_add(new).saturating_sub(old).max(1))
}

/// Lines that occur exactly once in a text, with their numbers.
fn unique_lines(text: &str) -> HashMap<&str, u32> {
    let mut numbers: HashMap<&str, Option<u32>> = HashMap::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        numbers.entry(line).and_modify(|known| *known = None).or_insert(Some(number));
    }
    numbers.into_iter().filter_map(|(line, number)| Some((line, number?))).collect()
}

#[cfg(test)]
mod tests;
