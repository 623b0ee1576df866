//! `read_file`, `search_code` and `run_ruff` with the inputs and outputs of the agent specification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::change::list;
use super::repo::{not_all_searched, not_searched, path, revision, shown, text};
use super::{Bench, Reply, Tool, ToolError};
use crh_git::{Pattern, Query, search};
use crh_syntax::Language;

/// How many matches a search shows.
const MATCHES: usize = 100;
/// How much of a line is shown: enough to see what it does.
const SNIPPET_CHARS: usize = 300;

pub(super) struct ReadFile;
pub(super) struct SearchCode;
pub(super) struct RunRuff;

/// Reads a whole file of the repository under review, with its language and its number of lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFileInput {
    /// The repository. Only the one under review can be read, whatever is written here.
    #[serde(default, rename = "repo")]
    _repo: Option<String>,
    /// The path from the root of the repository.
    path: String,
    /// `head` (after the change) or `base` (before it); `head` if left out.
    #[serde(rename = "ref")]
    revision: Option<String>,
}

/// Searches the repository under review, as it is after the change, for lines that contain a text. Upper and
/// lower case are the same.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchCodeInput {
    /// The repository. Only the one under review can be searched, whatever is written here.
    #[serde(default, rename = "repo")]
    _repo: Option<String>,
    /// The text to look for, word for word.
    query: String,
    /// Only files in this language, such as `python`; all files if left out.
    language_filter: Option<String>,
}

/// Runs the linter `ruff` over the text of a Python file. A file in another language is skipped, which is said; where
/// `ruff` cannot be run, `error` says so.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunRuffInput {
    /// The text of the whole file.
    file_content: String,
    /// The name of the file, with its ending.
    filename: String,
}

#[derive(Debug, Serialize)]
struct Snippet {
    file: String,
    line: u64,
    snippet: String,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    type Input = ReadFileInput;

    fn answer(input: ReadFileInput, bench: &Bench) -> Result<Reply, ToolError> {
        let repository = bench.repository()?;
        let revision = revision(repository, input.revision.as_deref())?;
        let path = path(repository, revision, &input.path);
        let text = text(bench, revision, &path)?;
        let language = Language::of_path(&String::from_utf8_lossy(&path)).map(Language::name);
        let line_count = text.lines().count();
        Ok(Reply::lines(
            text,
            move |text| json!({ "content": text, "language": language, "line_count": line_count }),
        ))
    }
}

impl Tool for SearchCode {
    const NAME: &'static str = "search_code";
    type Input = SearchCodeInput;

    fn answer(input: SearchCodeInput, bench: &Bench) -> Result<Reply, ToolError> {
        let repository = bench.repository()?;
        if input.query.trim().is_empty() {
            return Err(ToolError::TellModel("the argument `query` is empty".to_owned()));
        }
        let language = input.language_filter.as_deref().map(language).transpose()?;
        let is_wanted = |path: &[u8]| {
            language.is_none_or(|wanted| {
                Language::of_path(&String::from_utf8_lossy(path)) == Some(wanted)
            })
        };
        let query = Query {
            pattern: Pattern::Literal(input.query),
            glob: None,
            ignore_case: true,
            max_matches: MATCHES,
        };
        let head = revision(repository, None)?;
        let found = search(repository.objects(), head, &query, &is_wanted, bench.stop());
        let found = found.map_err(not_searched)?;
        let rows: Vec<Snippet> = found.matches.iter().map(Snippet::of).collect();
        let mut beside = json!({ "total": found.total });
        not_all_searched(&found, &mut beside);
        list("matches", beside, &rows)
    }
}

impl Tool for RunRuff {
    const NAME: &'static str = "run_ruff";
    type Input = RunRuffInput;

    fn answer(input: RunRuffInput, bench: &Bench) -> Result<Reply, ToolError> {
        if Language::of_path(&input.filename) != Some(Language::Python) {
            let skipped = format!("`{}` is no Python file", input.filename);
            return Reply::json(&json!({ "findings": [], "skipped": skipped }));
        }
        // No `findings` beside an error: an empty list would read as a file without any.
        let error = |kind: &str, message: &str| {
            Reply::json(&json!({ "error": { "kind": kind, "message": message } }))
        };
        let said = bench.analysers().and_then(|it| it.ruff(&input.filename, &input.file_content));
        match said {
            Some(Ok(findings)) => list("findings", json!({}), &findings),
            Some(Err(why)) => error("failed", &format!("`ruff` has checked nothing: {why}")),
            None => error(
                "unavailable",
                "`ruff` is not installed or is switched off, so nothing was checked; judge the code without it",
            ),
        }
    }
}

impl Snippet {
    fn of(found: &crh_git::Match) -> Self {
        let text = String::from_utf8_lossy(&found.text);
        let snippet = text.trim().chars().take(SNIPPET_CHARS).collect();
        Self { file: shown(&found.path), line: found.line, snippet }
    }
}

fn language(name: &str) -> Result<Language, ToolError> {
    Language::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
        let known = known.join("`, `");
        ToolError::TellModel(format!("there is no language `{name}` here; there are `{known}`"))
    })
}
