//! Looks at other code between the two calls of `single`: which tools are called, and how much of what they answer
//! is shown. The tools are called by code; the model has only asked.

use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::{ContextRequest, LookTool, REQUESTS_MAX};
use super::context::numbered;
use super::doubts::Candidate;
use crate::code::Code;
use crate::subject::Subject;
use crate::text::{cut, one_line};
use crate::tools::{Limits, ToolError, call_within};
use crh_agent::{ToolOutcome, on_thread};
use crh_review::finding::{Finding, Member, Side};
use crh_syntax::Language;

/// How many tools are called: the agent specification's number.
pub(super) const LOOKS_MAX: usize = REQUESTS_MAX;
/// How many files are shown beyond the diff, and how many lines of each: the agent specification's numbers.
const FILES_MAX: usize = 2;
const LINES_MAX: u32 = 200;
/// How much of a search is shown: some hundred lines of code.
const SEARCH_CHARS: usize = 12_000;
/// A file is read whole, since only the lines that are wanted are kept of it.
const FILE_CHARS: usize = 64 << 20;

/// How much of a path, a name or a query is repeated to people.
const ABOUT_CHARS: usize = 100;
/// How much of a reason is repeated to the model: a sentence or two.
const WHY_CHARS: usize = 300;

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Look {
    /// `read_file`, of which the lines around one are shown.
    File {
        /// The path.
        path: String,
        /// `head` or `base`.
        revision: Option<String>,
        /// Around this line.
        line: u32,
    },
    /// `search_code`.
    Search {
        /// What for.
        query: String,
        /// In which language.
        language: Option<String>,
    },
    /// `run_ruff`.
    Ruff {
        /// The path.
        path: String,
    },
    /// `get_function_context`.
    Function {
        /// The path of its file.
        path: String,
        /// Its name.
        name: String,
    },
}

/// A line of a file before or after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) side: Side,
    pub(super) line: u32,
}

/// What is to be looked at, and what was asked for and is not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Looks {
    /// In the order in which they are made, each with what it is for.
    pub(super) made: Vec<(Look, String)>,
    /// Why others are not.
    pub(super) notes: Vec<String>,
}

/// Decides what is looked at: what was asked for, for the most severe candidate first, then the surroundings of
/// candidates that nothing was asked for. `place` says where a finding is.
pub(super) fn looks(
    candidates: &[Candidate],
    requests: &[ContextRequest],
    members: &[Member],
    place: impl Fn(&Finding) -> Place,
) -> Looks {
    let rank = |request: &ContextRequest| {
        let place = |at| candidates.iter().position(|candidate| candidate.at == at);
        request.for_finding.and_then(place).unwrap_or(candidates.len())
    };
    let mut asked: Vec<&ContextRequest> = requests.iter().collect();
    asked.sort_by_key(|request| rank(request));
    let mut looks = Looks::default();
    for request in asked {
        match look(request) {
            Ok(look) => {
                let not = looks.add(look, &on_one_line(&request.why, WHY_CHARS));
                looks.notes.extend(not);
            }
            Err(why) => looks.notes.push(format!("a look at other code was not made: {why}")),
        }
    }
    for candidate in candidates {
        let is_asked_for = requests.iter().any(|request| request.for_finding == Some(candidate.at));
        let finding = members.get(candidate.at).map(|member| &member.finding);
        if let (false, Some(finding)) = (is_asked_for, finding) {
            // Nobody asked for it, so nobody misses it.
            let why = format!("around {}", candidate.id);
            looks.add(surroundings(place(finding)), &why);
        }
    }
    looks
}

impl Looks {
    /// Adds a look; why not, if there is no room for it.
    fn add(&mut self, look: Look, why: &str) -> Option<String> {
        let about = look.about();
        let made: Vec<&Look> = self.made.iter().map(|(made, _)| made).collect();
        if made.contains(&&look) {
            return None;
        }
        if made.len() == LOOKS_MAX {
            return Some(format!("{about} was not looked at: {LOOKS_MAX} looks are the most"));
        }
        if let Some(path) = look.file() {
            let files: Vec<&str> = made.iter().filter_map(|made| made.file()).collect();
            // One part of a file is all that is shown of it.
            if files.contains(&path) {
                return Some(format!("{about} was not looked at: another part of the file was"));
            }
            if files.len() == FILES_MAX {
                return Some(format!("{about} was not looked at: {FILES_MAX} files are the most"));
            }
        }
        self.made.push((look, why.to_owned()));
        None
    }
}

/// A request as a call, or what it lacks.
fn look(request: &ContextRequest) -> Result<Look, String> {
    let arguments = request.arguments.clone();
    let lacks = |name: &str| format!("`{name}` was not given");
    let path = || arguments.path.clone().ok_or_else(|| lacks("path"));
    Ok(match request.tool {
        LookTool::ReadFile => Look::File {
            path: path()?,
            revision: arguments.revision,
            line: arguments.line.unwrap_or(1),
        },
        LookTool::SearchCode => Look::Search {
            query: arguments.query.ok_or_else(|| lacks("query"))?,
            language: arguments.language_filter,
        },
        LookTool::RunRuff => Look::Ruff { path: path()? },
        LookTool::GetFunctionContext => Look::Function {
            path: path()?,
            name: arguments.function_name.clone().ok_or_else(|| lacks("function_name"))?,
        },
    })
}

/// A file around a line.
fn surroundings(Place { path, side, line }: Place) -> Look {
    let revision = match side {
        Side::Old => Some("base".to_owned()),
        Side::New => None,
    };
    Look::File { path, revision, line }
}

impl Look {
    /// The tool that is called.
    pub(super) fn tool(&self) -> &'static str {
        match self {
            Self::File { .. } => "read_file",
            Self::Search { .. } => "search_code",
            Self::Ruff { .. } => "run_ruff",
            Self::Function { .. } => "get_function_context",
        }
    }

    /// What it is about, for people. The words are a model's.
    pub(super) fn about(&self) -> String {
        let said = |text: &str| on_one_line(text, ABOUT_CHARS);
        match self {
            Self::File { path, .. } | Self::Ruff { path } => format!("`{}`", said(path)),
            Self::Search { query, .. } => format!("`{}`", said(query)),
            Self::Function { path, name } => format!("`{}` in `{}`", said(name), said(path)),
        }
    }

    /// The file that it shows lines of.
    fn file(&self) -> Option<&str> {
        match self {
            Self::File { path, .. } | Self::Function { path, .. } => Some(path),
            Self::Search { .. } | Self::Ruff { .. } => None,
        }
    }

    /// Makes the look, on a thread of its own: what the model is shown of it, or why there is nothing to show.
    pub(super) async fn make(&self, subject: &Arc<Subject>) -> Result<String, String> {
        let (look, subject) = (self.clone(), Arc::clone(subject));
        let outcome = on_thread(self.tool(), move || match look.answer(&subject) {
            Ok(text) => ToolOutcome::Answered(text),
            Err(error) => ToolOutcome::Failed(error.to_string()),
        });
        match outcome.await {
            ToolOutcome::Answered(text) | ToolOutcome::Changed(text) => Ok(text),
            ToolOutcome::Failed(why) | ToolOutcome::Abort(why) => Err(why),
        }
    }

    fn answer(&self, subject: &Subject) -> Result<String, ToolError> {
        let limits = |chars| Limits { chars, ..Limits::USUAL };
        let call = |chars, arguments: Value| {
            call_within(limits(chars), self.tool(), &arguments.to_string(), &subject.bench)
        };
        match self {
            Self::File { path, revision, line } => {
                let reply = call(FILE_CHARS, json!({ "path": path, "ref": revision }))?;
                let reply: Value = parsed(&reply)?;
                Ok(window(reply["content"].as_str().unwrap_or_default(), *line))
            }
            Self::Search { query, language } => {
                call(SEARCH_CHARS, json!({ "query": query, "language_filter": language }))
            }
            Self::Ruff { path } => {
                let text = head_text(subject, path)?;
                call(SEARCH_CHARS, json!({ "file_content": text, "filename": path }))
            }
            Self::Function { path, name } => {
                let language = Language::of_path(path).map_or("unknown", Language::name);
                let text = head_text(subject, path)?;
                let arguments =
                    json!({ "file_content": text, "function_name": name, "language": language });
                Ok(function(&parsed(&call(FILE_CHARS, arguments)?)?))
            }
        }
    }
}

/// The text of a file after the change.
fn head_text(subject: &Subject, path: &str) -> Result<String, ToolError> {
    Code::of(subject)
        .text(Side::New, path)
        .ok_or_else(|| ToolError::TellModel(format!("`{path}` cannot be read")))
}

fn parsed(reply: &str) -> Result<Value, ToolError> {
    serde_json::from_str(reply)
        .map_err(|error| ToolError::Abort(format!("the reply is not JSON: {error}")))
}

/// What a model wrote, on one line of at most so many characters, with what cannot be seen made visible.
fn on_one_line(text: &str, most: usize) -> String {
    cut(&one_line(text), most)
}

/// The lines of a text around one of them.
fn window(text: &str, line: u32) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let total = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let last_start = total.saturating_sub(LINES_MAX - 1).max(1);
    let first = line.saturating_sub(LINES_MAX / 2).clamp(1, last_start);
    let last = first.saturating_add(LINES_MAX - 1).min(total);
    let shown = numbered(&lines, first..=last);
    if first == 1 && last == total {
        return format!("all {total} lines:\n{shown}");
    }
    format!("lines {first} to {last} of {total}, the others are left out:\n{shown}")
}

/// A function and the imports of its file, together no longer than a part of a file may be.
fn function(reply: &Value) -> String {
    let start = reply["start_line"].as_u64().unwrap_or(1);
    let definition = reply["definition"].as_str().unwrap_or_default();
    let imports = reply["imports"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let imports = imports.map(str::to_owned);
    let body =
        (start..).zip(definition.lines()).map(|(number, line)| format!("{number:>5}  {line}"));
    let lines: Vec<String> = imports.chain(body).collect();
    let most = LINES_MAX as usize;
    let mut shown = lines.iter().take(most).cloned().collect::<Vec<_>>().join("\n");
    if lines.len() > most {
        shown.push_str(&format!("\n[{} more lines are left out]", lines.len() - most));
    }
    shown
}

#[cfg(test)]
#[path = "context_lookups/tests.rs"]
mod tests;
