//! `grep`: lines of the workspace's files that match a pattern.

use std::io;
use std::num::NonZeroU32;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use schemars::JsonSchema;
use serde::Deserialize;

use super::files::{at_most, below, glob};
use super::{Bench, Reply, Tool, ToolError};
use crate::workspace::InsideKind;

/// What is shown unless more is asked for.
const MATCHES: usize = 100;
/// More than this never fits a reply; it is counted.
const MATCHES_MAX: usize = 10_000;
/// Lines of minified files are longer than what anybody wants to see of them.
const LINE_CHARS: usize = 500;
/// Whoever needs more around a line should read the file.
const CONTEXT_MAX: usize = 50;
/// A pattern that needs more memory than this was built to be slow.
const PATTERN_SIZE_MAX: usize = 10 << 20;

pub(super) struct Grep;

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

impl Tool for Grep {
    const NAME: &'static str = "grep";
    type Input = GrepInput;

    fn answer(input: GrepInput, bench: &Bench) -> Result<Reply, ToolError> {
        let workspace = bench.workspace()?;
        let matcher = matcher(&input)?;
        let start = workspace.look_up(input.path.as_deref().unwrap_or_default())?;
        let mut files: Vec<String> = match start.kind {
            InsideKind::File => vec![start.shown],
            InsideKind::Folder => {
                let glob = input.glob.as_deref().map(glob).transpose()?;
                let is_meant = |relative: &str| {
                    glob.as_ref().is_none_or(|glob| glob.is_match(relative.as_bytes()))
                };
                let files = below(&start, bench)?.into_iter();
                let files = files.filter(|found| found.kind == InsideKind::File);
                files.filter(|found| is_meant(&found.relative)).map(|found| found.shown).collect()
            }
        };
        files.sort();
        if files.is_empty() {
            let glob = input.glob.unwrap_or_default();
            return Err(ToolError::TellModel(format!("no file of the workspace matches `{glob}`")));
        }
        let context = usize::try_from(input.context.unwrap_or(0)).unwrap_or(CONTEXT_MAX);
        let mut searcher = searcher(context.min(CONTEXT_MAX));
        let limit = at_most(input.limit, MATCHES).min(MATCHES_MAX);
        let mut matches =
            Matches { bench, limit, path: String::new(), text: String::new(), total: 0 };
        for path in &files {
            bench.check()?;
            let bytes = workspace.bytes(path)?;
            matches.path.clone_from(path);
            searcher
                .search_slice(&matcher, &bytes, &mut matches)
                .map_err(|error| ToolError::Abort(format!("searching `{path}`: {error}")))?;
        }
        bench.check()?;
        Ok(Reply::text(matches.shown(&input.pattern, files.len())))
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
            // The engine draws the pattern over several lines; its last one says what is wrong.
            let text = error.to_string();
            let reason = text.trim().lines().last().unwrap_or_default();
            let reason = reason.trim_start_matches("error: ");
            ToolError::TellModel(format!("the pattern cannot be used: {reason}"))
        })
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        // What we write is text; a stray NUL in it is no reason to pass over a match.
        .binary_detection(BinaryDetection::none())
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .build()
}

/// The matches so far, as text; those beyond the limit are counted.
struct Matches<'a> {
    bench: &'a Bench,
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
                let left = text[end..].chars().count();
                self.text.push_str(&format!("{}… [{left} more]", &text[..end]));
            }
            None => self.text.push_str(text),
        }
        self.text.push('\n');
    }

    fn shown(mut self, pattern: &str, files: usize) -> String {
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

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.total += 1;
        if self.total <= self.limit {
            self.push(':', found.line_number(), found.bytes());
        }
        Ok(self.bench.check().is_ok())
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        if self.total <= self.limit {
            self.push('-', found.line_number(), found.bytes());
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
