//! `read_file`, `search_code` and `run_ruff`, with the inputs and outputs that the specification of
//! an agent prescribes (see `docs/adr/0030-differences-from-the-specifications.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::change::list_reply;
use super::repo::{
    add_unsearched, display_path, read_text, resolve_path, resolve_revision, search_error,
};
use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crh_git::{SearchPattern, SearchQuery, search};
use crh_syntax::Language;

/// Maximum number of matches in a reply.
const MATCHES: usize = 100;
/// Maximum characters of a line in a reply.
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

impl AgentTool for ReadFile {
    const NAME: &'static str = "read_file";
    type Input = ReadFileInput;

    fn answer(input: ReadFileInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        let revision = resolve_revision(repository, input.revision.as_deref())?;
        let path = resolve_path(repository, revision, &input.path);
        let text = read_text(ctx, revision, &path)?;
        let language = Language::from_path(&String::from_utf8_lossy(&path)).map(Language::name);
        let line_count = text.lines().count();
        Ok(ToolReply::lines(
            text,
            move |text| json!({ "content": text, "language": language, "line_count": line_count }),
        ))
    }
}

impl AgentTool for SearchCode {
    const NAME: &'static str = "search_code";
    type Input = SearchCodeInput;

    fn answer(input: SearchCodeInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        if input.query.trim().is_empty() {
            return Err(ToolError::TellModel("the argument `query` is empty".to_owned()));
        }
        let language = input.language_filter.as_deref().map(parse_language).transpose()?;
        let matches_language = |path: &[u8]| {
            language.is_none_or(|language| {
                Language::from_path(&String::from_utf8_lossy(path)) == Some(language)
            })
        };
        let query = SearchQuery {
            ignore_case: true,
            max_matches: MATCHES,
            ..SearchQuery::new(SearchPattern::Literal(input.query))
        };
        let head = resolve_revision(repository, None)?;
        let result = search(repository.objects(), head, &query, &matches_language, ctx.stop());
        let result = result.map_err(search_error)?;
        let snippets: Vec<Snippet> = result.matches.iter().map(Snippet::from_match).collect();
        let mut fields = json!({ "total": result.total });
        add_unsearched(&result, &mut fields);
        list_reply("matches", fields, &snippets)
    }
}

impl AgentTool for RunRuff {
    const NAME: &'static str = "run_ruff";
    type Input = RunRuffInput;

    fn answer(input: RunRuffInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        if Language::from_path(&input.filename) != Some(Language::Python) {
            let skipped = format!("`{}` is no Python file", input.filename);
            return ToolReply::json(&json!({ "findings": [], "skipped": skipped }));
        }
        // A reply with an error has no `findings`, since an empty list would look like a clean
        // file.
        let error = |kind: &str, message: &str| {
            ToolReply::json(&json!({ "error": { "kind": kind, "message": message } }))
        };
        let result = ctx
            .analysers()
            .and_then(|analysers| analysers.ruff(&input.filename, &input.file_content));
        match result {
            Some(Ok(findings)) => list_reply("findings", json!({}), &findings),
            Some(Err(why)) => error("failed", &format!("`ruff` has checked nothing: {why}")),
            None => error(
                "unavailable",
                "`ruff` is not installed or is switched off, so nothing was checked; judge the code without it",
            ),
        }
    }
}

impl Snippet {
    fn from_match(line_match: &crh_git::LineMatch) -> Self {
        let text = String::from_utf8_lossy(&line_match.text);
        let snippet = text.trim().chars().take(SNIPPET_CHARS).collect();
        Self { file: display_path(&line_match.path), line: line_match.line, snippet }
    }
}

fn parse_language(name: &str) -> Result<Language, ToolError> {
    Language::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
        let names = names.join("`, `");
        ToolError::TellModel(format!("there is no language `{name}` here; there are `{names}`"))
    })
}
