//! `grep`: searches the files of the workspace.

use std::io;
use std::num::NonZeroU32;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use schemars::JsonSchema;
use serde::Deserialize;

use super::files::{limit_or, parse_glob, walk};
use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crate::workspace::PathKind;

/// Default number of matches in a reply.
const MATCHES: usize = 100;
/// Maximum number of matches to collect. More never fit into a reply, so they are only counted.
const MATCHES_MAX: usize = 10_000;
/// Maximum characters of a line to show. Lines of minified files are longer.
const LINE_CHARS: usize = 500;
/// Maximum number of context lines.
const CONTEXT_MAX: usize = 50;
/// Memory limit of a compiled pattern.
const PATTERN_SIZE_MAX: usize = 10 << 20;

pub(super) struct GrepTool;

/// Searches the files of the workspace (diffs, comments, metadata, agent instructions) for a regular expression. The
/// workspace is not a checkout: source files are searched with `repo_grep`. Answers `path:line: text` for each match,
/// `path-line- text` for the lines around it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GrepInput {
    /// A regular expression without look-around and back references, matched line by line.
    pattern: String,
    /// The file or folder to search; the whole workspace if left out.
    path: Option<String>,
    /// Which files: `*.json`, `**/inline/*`. Without a slash it matches names at any depth.
    glob: Option<String>,
    /// Whether `a` finds `A`.
    ignore_case: Option<bool>,
    /// Whether the pattern is plain text.
    literal: Option<bool>,
    /// How many lines to show around each match, up to 50; none if left out.
    context: Option<u32>,
    /// How many matches to show; 100 if left out.
    limit: Option<NonZeroU32>,
}

impl AgentTool for GrepTool {
    const NAME: &'static str = "grep";
    type Input = GrepInput;

    fn answer(input: GrepInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let matcher = matcher(&input)?;
        let start = workspace.look_up(input.path.as_deref().unwrap_or_default())?;
        let mut files: Vec<String> = match start.kind {
            PathKind::File => vec![start.workspace_path],
            PathKind::Folder => {
                let glob = input.glob.as_deref().map(parse_glob).transpose()?;
                let matches_glob = |path_in_folder: &str| {
                    glob.as_ref().is_none_or(|glob| glob.is_match(path_in_folder.as_bytes()))
                };
                let files = walk(&start, ctx)?.into_iter();
                let files = files.filter(|entry| entry.kind == PathKind::File);
                files
                    .filter(|entry| matches_glob(&entry.path_in_folder))
                    .map(|entry| entry.workspace_path)
                    .collect()
            }
        };
        files.sort();
        if files.is_empty() {
            let glob = input.glob.unwrap_or_default();
            return Err(ToolError::TellModel(format!("no file of the workspace matches `{glob}`")));
        }
        let context = usize::try_from(input.context.unwrap_or(0)).unwrap_or(CONTEXT_MAX);
        let mut searcher = searcher(context.min(CONTEXT_MAX));
        let limit = limit_or(input.limit, MATCHES).min(MATCHES_MAX);
        let mut matches =
            Matches { ctx, limit, path: String::new(), text: String::new(), total: 0 };
        for path in &files {
            ctx.check_stopped()?;
            let bytes = workspace.bytes(path)?;
            matches.path.clone_from(path);
            searcher
                .search_slice(&matcher, &bytes, &mut matches)
                .map_err(|error| ToolError::Abort(format!("searching `{path}`: {error}")))?;
        }
        ctx.check_stopped()?;
        Ok(ToolReply::text(matches.render(&input.pattern, files.len())))
    }
}

fn matcher(input: &GrepInput) -> Result<RegexMatcher, ToolError> {
    RegexMatcherBuilder::new()
        .case_insensitive(input.ignore_case.unwrap_or(false))
        .fixed_strings(input.literal.unwrap_or(false))
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_SIZE_MAX)
        .dfa_size_limit(PATTERN_SIZE_MAX)
        .build(&input.pattern)
        .map_err(|error| {
            // The regex engine prints the pattern over several lines; the last line is the reason.
            let text = error.to_string();
            let reason = text.trim().lines().last().unwrap_or_default();
            let reason = reason.trim_start_matches("error: ");
            ToolError::TellModel(format!("the pattern cannot be used: {reason}"))
        })
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        // A stray NUL must not hide a match.
        .binary_detection(BinaryDetection::none())
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .build()
}

/// Matches as text. Those beyond the limit are only counted.
struct Matches<'a> {
    ctx: &'a ToolContext,
    limit: usize,
    path: String,
    text: String,
    total: usize,
}

impl Matches<'_> {
    fn push(&mut self, sign: char, line: Option<u64>, bytes: &[u8]) {
        let line = line.unwrap_or_default();
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        self.text.push_str(&format!("{}{sign}{line}{sign} ", self.path));
        match text.char_indices().nth(LINE_CHARS) {
            Some((end, _)) => {
                let omitted_count = text[end..].chars().count();
                self.text.push_str(&format!("{}… [{omitted_count} more]", &text[..end]));
            }
            None => self.text.push_str(text),
        }
        self.text.push('\n');
    }

    fn render(mut self, pattern: &str, files: usize) -> String {
        if self.total == 0 {
            return format!("[no line matches `{pattern}` in {files} file(s)]\n");
        }
        if self.total > self.limit {
            self.text.push_str(&format!(
                "[{} of {} matches shown; narrow the request or raise `limit`]\n",
                self.limit, self.total
            ));
        }
        self.text
    }
}

impl Sink for Matches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, sink_match: &SinkMatch<'_>) -> io::Result<bool> {
        self.total += 1;
        if self.total <= self.limit {
            self.push(':', sink_match.line_number(), sink_match.bytes());
        }
        Ok(self.ctx.check_stopped().is_ok())
    }

    fn context(&mut self, _: &Searcher, sink_context: &SinkContext<'_>) -> io::Result<bool> {
        if self.total <= self.limit {
            self.push('-', sink_context.line_number(), sink_context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.total < self.limit {
            self.text.push_str("--\n");
        }
        Ok(true)
    }
}
