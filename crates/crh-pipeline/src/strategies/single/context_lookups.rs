//! Lookups of other code between the two calls of `single`. The model requests them; code runs the
//! tools and bounds their output.

use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::{ContextRequest, LookTool, REQUESTS_MAX};
use super::context::number_lines;
use super::doubts::RecheckCandidate;
use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::text::{cut, one_line};
use crate::tools::{ToolError, ToolLimits, call_with_limits};
use crh_agent::{ToolOutcome, run_on_thread};
use crh_review::finding::{Finding, Member, Side};
use crh_syntax::Language;

/// Maximum lookups. The agent specification prescribes the number.
pub(super) const LOOKUPS_MAX: usize = REQUESTS_MAX;
/// Maximum files beyond the diff, and lines of each. The agent specification prescribes the
/// numbers.
const FILES_MAX: usize = 2;
const LINES_MAX: u32 = 200;
/// Maximum characters of a search result: about a hundred lines.
const SEARCH_CHARS: usize = 12_000;
/// Files are read completely, then cut to the requested lines.
const FILE_CHARS: usize = 64 << 20;

/// Maximum characters of a path, name or query in notes.
const ABOUT_CHARS: usize = 100;
/// Maximum characters of a reason in the prompt.
const WHY_CHARS: usize = 300;

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContextLookup {
    /// `read_file`, cut to the lines around one line.
    File {
        /// Path of the file.
        path: String,
        /// `head` or `base`.
        revision: Option<String>,
        /// Center of the lines to show.
        line: u32,
    },
    /// `search_code`.
    Search {
        /// Text to search for.
        query: String,
        /// Only files in this language.
        language: Option<String>,
    },
    /// `run_ruff`.
    Ruff {
        /// Path of the file.
        path: String,
    },
    /// `get_function_context`.
    Function {
        /// Path of the file.
        path: String,
        /// Name of the function.
        name: String,
    },
}

/// A line of a file at base or head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileLine {
    pub(super) path: String,
    pub(super) side: Side,
    pub(super) line: u32,
}

/// Planned lookups, and notes on rejected ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ContextLookups {
    /// Lookups in order, each with its purpose.
    pub(super) planned: Vec<(ContextLookup, String)>,
    /// Why requested lookups were rejected.
    pub(super) notes: Vec<String>,
}

/// Plans the lookups: requested ones first, for the most severe candidates first, then the
/// surroundings of candidates without a request.
pub(super) fn plan_lookups(
    candidates: &[RecheckCandidate],
    requests: &[ContextRequest],
    members: &[Member],
    locate: impl Fn(&Finding) -> FileLine,
) -> ContextLookups {
    let rank = |request: &ContextRequest| {
        let candidate_position =
            |index| candidates.iter().position(|candidate| candidate.index == index);
        request.for_finding.and_then(candidate_position).unwrap_or(candidates.len())
    };
    let mut sorted_requests: Vec<&ContextRequest> = requests.iter().collect();
    sorted_requests.sort_by_key(|request| rank(request));
    let mut lookups = ContextLookups::default();
    for request in sorted_requests {
        match parse_request(request) {
            Ok(lookup) => {
                let rejection = lookups.add(lookup, &short_line(&request.why, WHY_CHARS));
                lookups.notes.extend(rejection);
            }
            Err(why) => lookups.notes.push(format!("a lookup was skipped: {why}")),
        }
    }
    for candidate in candidates {
        let has_request =
            requests.iter().any(|request| request.for_finding == Some(candidate.index));
        let finding = members.get(candidate.index).map(|member| &member.finding);
        if let (false, Some(finding)) = (has_request, finding) {
            // The model did not request this lookup, so a rejection needs no note.
            let why = format!("around {}", candidate.id);
            lookups.add(surroundings(locate(finding)), &why);
        }
    }
    lookups
}

impl ContextLookups {
    /// Adds a lookup, or returns why it does not fit.
    fn add(&mut self, lookup: ContextLookup, why: &str) -> Option<String> {
        let about = lookup.about();
        let planned_lookups: Vec<&ContextLookup> =
            self.planned.iter().map(|(planned, _)| planned).collect();
        if planned_lookups.contains(&&lookup) {
            return None;
        }
        if planned_lookups.len() == LOOKUPS_MAX {
            return Some(format!("{about} was not looked up: the limit is {LOOKUPS_MAX} lookups"));
        }
        if let Some(path) = lookup.file() {
            let files: Vec<&str> =
                planned_lookups.iter().filter_map(|planned| planned.file()).collect();
            // Only one part of each file is shown.
            if files.contains(&path) {
                return Some(format!(
                    "{about} was not looked up: another part of the file is shown"
                ));
            }
            if files.len() == FILES_MAX {
                return Some(format!("{about} was not looked up: the limit is {FILES_MAX} files"));
            }
        }
        self.planned.push((lookup, why.to_owned()));
        None
    }
}

/// Converts a request, or returns what it lacks.
fn parse_request(request: &ContextRequest) -> Result<ContextLookup, String> {
    let arguments = request.arguments.clone();
    let missing_argument = |name: &str| format!("`{name}` is missing");
    let path = || arguments.path.clone().ok_or_else(|| missing_argument("path"));
    Ok(match request.tool {
        LookTool::ReadFile => ContextLookup::File {
            path: path()?,
            revision: arguments.revision,
            line: arguments.line.unwrap_or(1),
        },
        LookTool::SearchCode => ContextLookup::Search {
            query: arguments.query.ok_or_else(|| missing_argument("query"))?,
            language: arguments.language_filter,
        },
        LookTool::RunRuff => ContextLookup::Ruff { path: path()? },
        LookTool::GetFunctionContext => ContextLookup::Function {
            path: path()?,
            name: arguments
                .function_name
                .clone()
                .ok_or_else(|| missing_argument("function_name"))?,
        },
    })
}

/// A lookup of the lines around a place.
fn surroundings(FileLine { path, side, line }: FileLine) -> ContextLookup {
    let revision = match side {
        Side::Old => Some("base".to_owned()),
        Side::New => None,
    };
    ContextLookup::File { path, revision, line }
}

impl ContextLookup {
    /// Name of the tool.
    pub(super) fn tool(&self) -> &'static str {
        match self {
            Self::File { .. } => "read_file",
            Self::Search { .. } => "search_code",
            Self::Ruff { .. } => "run_ruff",
            Self::Function { .. } => "get_function_context",
        }
    }

    /// Short description for people. The text comes from a model.
    pub(super) fn about(&self) -> String {
        let shorten = |text: &str| short_line(text, ABOUT_CHARS);
        match self {
            Self::File { path, .. } | Self::Ruff { path } => format!("`{}`", shorten(path)),
            Self::Search { query, .. } => format!("`{}`", shorten(query)),
            Self::Function { path, name } => format!("`{}` in `{}`", shorten(name), shorten(path)),
        }
    }

    /// The file whose lines the lookup shows.
    fn file(&self) -> Option<&str> {
        match self {
            Self::File { path, .. } | Self::Function { path, .. } => Some(path),
            Self::Search { .. } | Self::Ruff { .. } => None,
        }
    }

    /// Runs the tool on its own thread. Returns the text for the prompt, or the error.
    pub(super) async fn run(&self, change: &Arc<ChangeUnderReview>) -> Result<String, String> {
        let (lookup, change) = (self.clone(), Arc::clone(change));
        let outcome = run_on_thread(self.tool(), move || match lookup.call_tool(&change) {
            Ok(text) => ToolOutcome::Answered(text),
            Err(error) => ToolOutcome::Failed(error.to_string()),
        });
        match outcome.await {
            ToolOutcome::Answered(text) | ToolOutcome::Changed(text) => Ok(text),
            ToolOutcome::Failed(why) | ToolOutcome::Abort(why) => Err(why),
        }
    }

    fn call_tool(&self, change: &ChangeUnderReview) -> Result<String, ToolError> {
        let limits = |chars| ToolLimits { chars, ..ToolLimits::USUAL };
        let call = |chars, arguments: Value| {
            call_with_limits(
                limits(chars),
                self.tool(),
                &arguments.to_string(),
                &change.tool_context,
            )
        };
        match self {
            Self::File { path, revision, line } => {
                let reply = call(FILE_CHARS, json!({ "path": path, "ref": revision }))?;
                let reply: Value = parse_reply(&reply)?;
                Ok(window(reply["content"].as_str().unwrap_or_default(), *line))
            }
            Self::Search { query, language } => {
                call(SEARCH_CHARS, json!({ "query": query, "language_filter": language }))
            }
            Self::Ruff { path } => {
                let text = head_text(change, path)?;
                call(SEARCH_CHARS, json!({ "file_content": text, "filename": path }))
            }
            Self::Function { path, name } => {
                let language = Language::from_path(path).map_or("unknown", Language::name);
                let text = head_text(change, path)?;
                let arguments =
                    json!({ "file_content": text, "function_name": name, "language": language });
                Ok(function_text(&parse_reply(&call(FILE_CHARS, arguments)?)?))
            }
        }
    }
}

/// The text of a file at head.
fn head_text(change: &ChangeUnderReview, path: &str) -> Result<String, ToolError> {
    CodeReader::new(change)
        .text(Side::New, path)
        .ok_or_else(|| ToolError::TellModel(format!("`{path}` cannot be read")))
}

fn parse_reply(reply: &str) -> Result<Value, ToolError> {
    serde_json::from_str(reply)
        .map_err(|error| ToolError::Abort(format!("the reply is not JSON: {error}")))
}

/// The text of a model on one line, truncated, with invisible characters escaped.
fn short_line(text: &str, max_chars: usize) -> String {
    cut(&one_line(text), max_chars)
}

/// The lines around one line.
fn window(text: &str, line: u32) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let total = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let last_start = total.saturating_sub(LINES_MAX - 1).max(1);
    let first = line.saturating_sub(LINES_MAX / 2).clamp(1, last_start);
    let last = first.saturating_add(LINES_MAX - 1).min(total);
    let numbered_text = number_lines(&lines, first..=last);
    if first == 1 && last == total {
        return format!("all {total} lines:\n{numbered_text}");
    }
    format!("lines {first} to {last} of {total}, the others are left out:\n{numbered_text}")
}

/// A function with the imports of its file, truncated.
fn function_text(reply: &Value) -> String {
    let start = reply["start_line"].as_u64().unwrap_or(1);
    let definition = reply["definition"].as_str().unwrap_or_default();
    let imports = reply["imports"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let imports = imports.map(str::to_owned);
    let body =
        (start..).zip(definition.lines()).map(|(number, line)| format!("{number:>5}  {line}"));
    let lines: Vec<String> = imports.chain(body).collect();
    let max_lines = LINES_MAX as usize;
    let mut text = lines.iter().take(max_lines).cloned().collect::<Vec<_>>().join("\n");
    if lines.len() > max_lines {
        text.push_str(&format!("\n[{} more lines are left out]", lines.len() - max_lines));
    }
    text
}

#[cfg(test)]
mod tests;
