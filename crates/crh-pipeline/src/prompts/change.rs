//! Renders the change for the shared prompt prefix: description, files, numbered diff. All texts
//! are fenced. Output is deterministic.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::fence::fence;
use super::files;
use super::template::Prompt as _;
use crate::assignment::{DiffPart, TURN_TOKENS};
use crate::change_under_review::ChangeUnderReview;
use crate::context_pack::relations::related_functions;
use crate::plan::parts::split_diff;
use crate::review_options::ReviewOptions;
use crate::scope::{FileRole, ScopeDecision, ScopeFile};
use crate::text::one_line;
use crate::workspace::{ChangeMetadata, CommitEntry};
use crh_agent::least_output;
use crh_llm::text_tokens;
use crh_review::diff::{Diff, FileDiff, FileStatus, write_number};
use crh_review::report::Strategy;

/// Maximum bytes of diff in the shared prefix: about 35,000 tokens. crh splits a larger diff into
/// parts ([`group_files`]). Agents read with tools what no prompt shows.
const DIFF_CHARS: usize = 120_000;

/// In a context of at least this many tokens, a panel shows at most as much diff as `delegate`, to
/// leave room for tool results.
const LARGE_CONTEXT: u64 = 100_000;

/// Tokens of the context that are not available for the diff of `delegate`: tools, rules,
/// instructions (about 16,000) and the longest answer.
const RESERVED_TOKENS: u64 = 32_000;

/// The diff of `delegate` may take half of the context that is left after [`RESERVED_TOKENS`]. crh
/// estimates about twice as many tokens as the model counts, so the diff really takes about a
/// quarter. The rest is for tool results.
const CONTEXT_DIVISOR: u64 = 2;

/// Estimated tokens of a reviewer's rules and instructions, and of the tool that reports.
const INSTRUCTION_TOKENS: u64 = 14_000;

/// Estimated tokens of the tools that a reviewer of a panel can do without.
const PANEL_TOOL_TOKENS: u64 = 5_000;

/// Estimated tokens of the tools that an agent of `delegate` can do without.
const DELEGATE_TOOL_TOKENS: u64 = 12_000;

/// Estimated tokens around the context pack: its introduction, and the list of what it leaves out.
const PACK_OVERHEAD_TOKENS: u64 = 2_500;

/// In a small context, the diff may take a quarter of it, even if the rest of the prompt then does
/// not fit.
const SMALL_CONTEXT_DIVISOR: u64 = 4;

/// The diff of one call may take half of the review's budget of input tokens.
const BUDGET_DIVISOR: u64 = 2;

/// Maximum characters of the diff in a question about the intent of a change.
const OVERVIEW_CHARS: usize = 12_000;

/// Maximum characters of the description.
const DESCRIPTION_CHARS: usize = 8_000;

/// If pieces of at most this many bytes (one or two hunks) do not fit, crh splits them no further.
const PIECE_MIN: usize = 2_000;

/// Maximum characters of a list: about five hundred files.
const LIST_CHARS: usize = 40_000;

/// The rendered change, and the files whose diff it does not show.
pub(super) struct RenderedChange {
    pub(super) prompt: files::Change,
    /// The change with the first lines of the diff only.
    pub(super) overview: files::Change,
    /// Files in scope whose diff the prompt does not show.
    pub(super) not_shown: Vec<HiddenDiff>,
    /// Notes on metadata that could not be read from the workspace.
    pub(super) notes: Vec<String>,
}

/// Renders the change. `context` is the smallest context window of the models, in tokens. If
/// `parts` are given, the prompt contains only the diffs of these parts.
pub(super) fn render_change(
    change: &ChangeUnderReview,
    context: u64,
    options: &ReviewOptions,
    parts: Option<&[DiffPart]>,
) -> RenderedChange {
    let (prompt, notes) = describe_change(change);
    let (diff, not_shown) = diff(change, DiffSpace::new(context, options, &prompt), parts);
    let prompt = files::Change {
        diff: fence_or_none("numbered-diff", &diff),
        not_shown: list("files-not-shown", not_shown.iter().map(HiddenDiff::row)),
        ..prompt
    };
    let first_lines = fence_or_none("numbered-diff", &first_lines(&diff));
    let overview = files::Change { diff: first_lines, ..prompt.clone() };
    RenderedChange { prompt, overview, not_shown, notes }
}

/// The rendered change without its diff, and notes on metadata that could not be read.
fn describe_change(change: &ChangeUnderReview) -> (files::Change, Vec<String>) {
    let mut notes = Vec::new();
    let details = ChangeDescription::load(change).unwrap_or_else(|error| {
        notes.push(format!(
            "the prompts lack the title, description and commits of the change: {error}"
        ));
        ChangeDescription::default()
    });
    let under_review = change.files().map(|(scope, file)| file_row(&change.diff, scope, file));
    let untracked = change.untracked.iter().map(|name| untracked_row(name));
    let left_out = change.scope.files.iter().filter_map(left_out_row).chain(untracked);
    let prompt = files::Change {
        about: fence("about", &about(&details.metadata)),
        description: fence_or_none("description", &description(&details.metadata)),
        commits: list("commits", details.commits.iter().map(|commit| one_line(&commit.subject))),
        files: list("files", under_review),
        left_out: list("files-left-out", left_out),
        instructions: list("instructions", details.instructions.iter().map(|name| path(name))),
        diff: String::new(),
        not_shown: String::new(),
    };
    (prompt, notes)
}

/// Estimated tokens of diff that fit into the prompt of a panel reviewer. `description_tokens` is
/// the size of the rest of the change.
///
/// With tools, a request likely has three fifths of its estimated tokens, as in
/// [`crh_agent::AgentRun`], and an eighth of the room stays free, because a diff may have more
/// tokens than code usually has. Without tools, crh assumes half of the estimate, and the diff gets
/// at most half of the context. In a small context, crh first leaves out tools: a smaller diff means
/// more parts, and each of them repeats the rest of the prompt.
pub(super) fn panel_diff_tokens(context: u64, description_tokens: u64) -> u64 {
    let input = context.saturating_sub(least_output(TURN_TOKENS, context));
    let fixed = INSTRUCTION_TOKENS.saturating_add(description_tokens);
    let with_tools = (input.saturating_mul(5) / 3)
        .saturating_sub(fixed.saturating_add(PANEL_TOOL_TOKENS))
        .saturating_mul(7)
        / 8;
    let without_tools = input.saturating_mul(2).saturating_sub(fixed).min(context / 2);
    let room = with_tools.max(without_tools);
    if context >= LARGE_CONTEXT { room.min(delegate_diff_tokens(context)) } else { room }
}

/// Estimated tokens of diff that fit into the prompt of `delegate`.
fn delegate_diff_tokens(context: u64) -> u64 {
    context.saturating_sub(RESERVED_TOKENS) / CONTEXT_DIVISOR
}

/// Maximum bytes of the context pack (code around the change) beside this rendered change. The diff
/// and the tools have priority. A byte has at most one estimated token, so free tokens are a safe
/// limit in bytes.
pub(super) fn pack_room(context: u64, strategy: Strategy, prompt: &files::Change) -> u64 {
    let tool_tokens = match strategy {
        Strategy::Single | Strategy::Panel => PANEL_TOOL_TOKENS,
        Strategy::Delegate | Strategy::Static => DELEGATE_TOOL_TOKENS,
    };
    let input = context.saturating_sub(least_output(TURN_TOKENS, context));
    let fixed = INSTRUCTION_TOKENS + tool_tokens + PACK_OVERHEAD_TOKENS;
    input.saturating_mul(2).saturating_sub(fixed).saturating_sub(text_tokens(&prompt.render()))
}

/// Metadata of the change from the workspace.
#[derive(Default)]
struct ChangeDescription {
    metadata: ChangeMetadata,
    commits: Vec<CommitEntry>,
    instructions: Vec<String>,
}

impl ChangeDescription {
    fn load(change: &ChangeUnderReview) -> Result<Self, String> {
        let workspace = change.workspace().map_err(|error| error.to_string())?;
        let commits = workspace.bytes("commits.json").map_err(|error| error.to_string())?;
        let commits = serde_json::from_slice(&commits)
            .map_err(|error| format!("`commits.json` is invalid: {error}"))?;
        let names = workspace.instruction_files().map_err(|error| error.to_string())?;
        let instructions = names.iter().map(|name| format!("agent/{name}")).collect();
        Ok(Self { metadata: workspace.metadata().clone(), commits, instructions })
    }
}

fn about(metadata: &ChangeMetadata) -> String {
    let ChangeMetadata {
        url,
        title,
        author,
        source_git_path,
        target_git_path,
        base_rev,
        head_rev,
        ..
    } = metadata;
    let line_or_empty = |text: &Option<String>| one_line(text.as_deref().unwrap_or_default());
    let name_and_id = |name: &Option<String>, id: &Option<String>| {
        [line_or_empty(name), line_or_empty(id)].join(" ").trim().to_owned()
    };
    let entries = [
        ("title", one_line(title)),
        // Only a proposal has a URL.
        ("url", one_line(url)),
        ("author", line_or_empty(author)),
        ("base", name_and_id(target_git_path, base_rev)),
        ("head", name_and_id(source_git_path, head_rev)),
    ];
    let entries = entries.into_iter().filter(|(_, value)| !value.is_empty());
    entries.map(|(name, value)| format!("{name}: {value}\n")).collect()
}

/// The description, truncated.
fn description(metadata: &ChangeMetadata) -> String {
    let body = metadata.body.as_str();
    match body.char_indices().nth(DESCRIPTION_CHARS) {
        None => body.to_owned(),
        Some((end, _)) => format!("{}\n[cut]\n", &body[..end]),
    }
}

fn file_row(diff: &Diff, scope: &ScopeFile, file: &FileDiff) -> String {
    let status = match scope.status {
        FileStatus::Added => "added",
        FileStatus::Deleted => "deleted",
        FileStatus::Modified => "modified",
        FileStatus::Renamed => "renamed",
        FileStatus::Copied => "copied",
        FileStatus::Binary => "binary",
        FileStatus::Mode => "mode",
    };
    let role = match scope.role {
        FileRole::Executable => "code",
        FileRole::Test => "test",
        FileRole::Prose => "prose",
        FileRole::Config => "config",
        FileRole::Other => "data",
    };
    let old_path = scope.old_path.as_ref().map(|old| format!(" (was {})", path(&old.shown())));
    let (first, last) = diff_lines(diff, file);
    format!(
        "{path}{was}: {status} +{added} -{removed}, {role}, diff lines {first}-{last}",
        path = path(&scope.path.shown()),
        was = old_path.unwrap_or_default(),
        added = file.additions,
        removed = file.deletions,
    )
}

fn left_out_row(file: &ScopeFile) -> Option<String> {
    match &file.decision {
        ScopeDecision::In => None,
        ScopeDecision::Out(reason) => {
            Some(format!("{}: {}", path(&file.path.shown()), one_line(&reason.sentence())))
        }
    }
}

/// A row for an untracked file. Without it, a reviewer may report an import of the file as an
/// error.
fn untracked_row(name: &str) -> String {
    format!("{}: untracked in the checkout, not part of the change", path(name))
}

/// Groups the files in scope so that the diffs of each group fit into one prompt. A file that does
/// not fit is split. A piece that still does not fit has its own group.
pub(crate) fn group_files(
    change: &ChangeUnderReview,
    context: u64,
    options: &ReviewOptions,
) -> Vec<Vec<DiffPart>> {
    let (prompt, _) = describe_change(change);
    group_by_calls(change, &DiffSpace::new(context, options, &prompt))
}

/// Groups the files in scope as for a model with a large context.
pub(crate) fn group_files_for_workspace(change: &ChangeUnderReview) -> Vec<Vec<DiffPart>> {
    let space = DiffSpace { chars: DIFF_CHARS, tokens: u64::MAX, is_context_limited: false };
    group_by_calls(change, &space)
}

/// Groups files so that each group fits. If one group is not enough, files that call each other
/// share a group if possible.
fn group_by_calls(change: &ChangeUnderReview, full_space: &DiffSpace) -> Vec<Vec<DiffPart>> {
    let (parts, sizes) = sized_parts(change, full_space);
    let mut groups = group_parts(&parts, &sizes, full_space, &[]);
    if groups.len() > 1 {
        let calls = related_functions(change, &parts);
        groups = group_parts(&parts, &sizes, full_space, &calls);
    }
    let take = |group: Vec<usize>| group.into_iter().map(|index| parts[index].clone()).collect();
    groups.into_iter().map(take).collect()
}

/// The files in scope and the sizes of their diffs. A file that does not fit is split.
fn sized_parts(change: &ChangeUnderReview, space: &DiffSpace) -> (Vec<DiffPart>, Vec<DiffSize>) {
    let (mut parts, mut sizes) = (Vec::new(), Vec::new());
    for (scope, file) in change.files() {
        let path = scope.path.shown();
        for (part, text) in fitting_parts(&change.diff, file, &path, space) {
            // If a file becomes a symlink, or a symlink a file, git lists it twice.
            if parts.last() != Some(&part) {
                parts.push(part);
                sizes.push(DiffSize::new(&text));
            }
        }
    }
    (parts, sizes)
}

/// Groups parts, as indices in diff order. A group first takes the parts that its members call or
/// are called by, most calls first. Then it takes the next part of the diff. A new folder starts a
/// new group if the current group is at least half full.
fn group_parts(
    parts: &[DiffPart],
    sizes: &[DiffSize],
    full_space: &DiffSpace,
    calls: &[(usize, usize)],
) -> Vec<Vec<usize>> {
    let mut related: BTreeMap<usize, BTreeMap<usize, u32>> = BTreeMap::new();
    for (one, other) in calls.iter().flat_map(|(one, other)| [(one, other), (other, one)]) {
        *related.entry(*one).or_default().entry(*other).or_default() += 1;
    }
    let mut ungrouped: BTreeSet<usize> = (0..parts.len()).collect();
    let mut groups = Vec::new();
    while let Some(first) = ungrouped.pop_first() {
        let mut space = full_space.clone();
        // A part that fits into no prompt is alone in its group, and its diff is not shown.
        let is_alone = !space.try_take(sizes[first]);
        let (mut group, mut last) = (vec![first], first);
        // Parts that the group calls or is called by, with the number of calls.
        let mut near: BTreeMap<usize, u32> = BTreeMap::new();
        let mut new_member = Some(first).filter(|_| !is_alone);
        while let Some(member) = new_member {
            for (part, count) in related.get(&member).into_iter().flatten() {
                *near.entry(*part).or_default() += count;
            }
            near.retain(|part, _| ungrouped.contains(part) && space.clone().try_take(sizes[*part]));
            let nearest = near.iter().max_by_key(|(part, count)| (**count, Reverse(**part)));
            let is_half_full = space.chars * 2 <= full_space.chars;
            let next = ungrouped.first().copied().filter(|next| {
                let is_new_folder = folder(&parts[*next].path) != folder(&parts[last].path);
                !(is_new_folder && is_half_full) && space.clone().try_take(sizes[*next])
            });
            new_member = nearest.map(|(part, _)| *part).or(next);
            if let Some(member) = new_member {
                if nearest.is_none() {
                    last = member;
                }
                space.try_take(sizes[member]);
                ungrouped.remove(&member);
                group.push(member);
            }
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The file as one part, or split into pieces that fit if possible, with their numbered lines.
fn fitting_parts(
    diff: &Diff,
    file: &FileDiff,
    path: &str,
    space: &DiffSpace,
) -> Vec<(DiffPart, String)> {
    let text = numbered_diff(diff, file);
    if space.clone().try_take(DiffSize::new(&text)) {
        return vec![(DiffPart::whole(path), text)];
    }
    let mut max_bytes = space.chars / 2;
    loop {
        let pieces: Vec<(DiffPart, String)> = split_diff(diff, file, max_bytes)
            .into_iter()
            .map(|lines| {
                let part = DiffPart { path: path.to_owned(), diff_lines: Some(lines) };
                (part, select_lines(&text, file.first_line(), lines))
            })
            .collect();
        if max_bytes <= PIECE_MIN
            || pieces.iter().all(|(_, text)| space.clone().try_take(DiffSize::new(text)))
        {
            return pieces;
        }
        max_bytes -= max_bytes / 4;
    }
}

/// A range of lines of a numbered diff that starts with number `first`.
fn select_lines(text: &str, first: u32, (from, to): (u32, u32)) -> String {
    let lines = (first..).zip(text.split_inclusive('\n'));
    lines.filter(|(number, _)| (from..=to).contains(number)).map(|(_, line)| line).collect()
}

/// Remaining space for diffs in a prompt.
#[derive(Debug, Clone)]
struct DiffSpace {
    chars: usize,
    tokens: u64,
    /// Whether a small context, and not the budget, limits the tokens.
    is_context_limited: bool,
}

impl DiffSpace {
    /// `description` is the rendered change without its diff.
    fn new(context: u64, options: &ReviewOptions, description: &files::Change) -> Self {
        let in_context = match options.strategy {
            Strategy::Single | Strategy::Panel => {
                // The prompt of a part lists the files again whose diffs are in other parts.
                let listed_tokens = text_tokens(&description.files);
                let description_tokens = text_tokens(&description.render()) + listed_tokens;
                panel_diff_tokens(context, description_tokens)
            }
            Strategy::Delegate | Strategy::Static => delegate_diff_tokens(context),
        };
        let in_context = in_context.max(context / SMALL_CONTEXT_DIVISOR);
        let in_budget = options.budget.input_tokens / BUDGET_DIVISOR;
        let is_context_limited = context < LARGE_CONTEXT && in_context <= in_budget;
        Self { chars: DIFF_CHARS, tokens: in_context.min(in_budget), is_context_limited }
    }

    /// Whether the model's context leaves no room for a text of this size.
    fn exceeds_context(&self, size: DiffSize) -> bool {
        self.is_context_limited && size.tokens > self.tokens
    }

    /// Subtracts the size of a text. Returns false and changes nothing if the text does not fit.
    fn try_take(&mut self, size: DiffSize) -> bool {
        let left = self.chars.checked_sub(size.chars).zip(self.tokens.checked_sub(size.tokens));
        let Some((chars, tokens)) = left else { return false };
        *self = Self { chars, tokens, ..*self };
        true
    }
}

/// Size of a text.
#[derive(Debug, Clone, Copy)]
struct DiffSize {
    chars: usize,
    tokens: u64,
}

impl DiffSize {
    fn new(text: &str) -> Self {
        Self { chars: text.len(), tokens: text_tokens(text) }
    }
}

/// A file whose diff is not shown.
#[derive(Debug, Clone)]
pub(super) struct HiddenDiff {
    pub(super) path: String,
    first: u32,
    last: u32,
    /// Whether the model's context left no room for the diff. False if something else limits the
    /// prompt.
    pub(super) exceeds_context: bool,
}

impl HiddenDiff {
    fn row(&self) -> String {
        format!("{}: diff lines {}-{}", path(&self.path), self.first, self.last)
    }
}

/// The first lines of a diff.
fn first_lines(diff: &str) -> String {
    match diff.char_indices().nth(OVERVIEW_CHARS) {
        None => diff.to_owned(),
        Some((end, _)) => {
            let end = diff[..end].rfind('\n').unwrap_or(end);
            format!("{}\n[the rest of the diff is left out]\n", &diff[..end])
        }
    }
}

/// The numbered diffs that fit, and the files whose diff does not fit or is in no part. A diff, or
/// its lines in `parts`, is shown completely or not at all. If not all diffs fit, files with the
/// most changed lines take precedence.
fn diff(
    change: &ChangeUnderReview,
    mut space: DiffSpace,
    parts: Option<&[DiffPart]>,
) -> (String, Vec<HiddenDiff>) {
    let files: Vec<(&ScopeFile, &FileDiff)> = change.files().collect();
    let mut largest_first: Vec<usize> = (0..files.len()).collect();
    largest_first
        .sort_by_key(|index| Reverse(files[*index].1.additions + files[*index].1.deletions));
    let mut texts: BTreeMap<usize, String> = BTreeMap::new();
    let mut exceeding_context: BTreeSet<usize> = BTreeSet::new();
    for index in largest_first {
        let (scope, file) = files[index];
        let text = match parts {
            // Line numbers make a diff longer, so a diff that is too long without them cannot fit.
            None if change.diff.patch(file).len() > space.chars => None,
            None => Some(numbered_diff(&change.diff, file)),
            Some(parts) => part_lines(&change.diff, file, parts, &scope.path.shown()),
        };
        let Some(text) = text else { continue };
        let size = DiffSize::new(&text);
        if space.try_take(size) {
            texts.insert(index, text);
        } else if space.exceeds_context(size) {
            exceeding_context.insert(index);
        }
    }
    let hidden_files = files.iter().enumerate().filter(|(index, _)| !texts.contains_key(index));
    let not_shown = hidden_files.map(|(index, (scope, file))| {
        let (first, last) = diff_lines(&change.diff, file);
        let exceeds_context = exceeding_context.contains(&index);
        HiddenDiff { path: scope.path.shown().into_owned(), first, last, exceeds_context }
    });
    let not_shown = not_shown.collect();
    (texts.into_values().collect(), not_shown)
}

/// The numbered diff lines of a file that belong to these parts. None if no part contains the file.
fn part_lines(diff: &Diff, file: &FileDiff, parts: &[DiffPart], path: &str) -> Option<String> {
    let parts: Vec<&DiffPart> = parts.iter().filter(|part| part.path == path).collect();
    let text = (!parts.is_empty()).then(|| numbered_diff(diff, file))?;
    if parts.iter().any(|part| part.diff_lines.is_none()) {
        return Some(text);
    }
    let lines = parts.iter().filter_map(|part| part.diff_lines);
    Some(lines.map(|lines| select_lines(&text, file.first_line(), lines)).collect())
}

/// The lines of a file in `numbered.diff`.
pub(super) fn numbered_diff(diff: &Diff, file: &FileDiff) -> String {
    let patch = diff.patch(file);
    let mut out = Vec::with_capacity(patch.len() * 5 / 4);
    for (number, line) in (file.first_line()..).zip(patch.split_inclusive(|byte| *byte == b'\n')) {
        write_number(&mut out, number);
        out.extend_from_slice(b"  ");
        out.extend_from_slice(line);
    }
    if !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// First and last line of a file in `numbered.diff`.
pub(crate) fn diff_lines(diff: &Diff, file: &FileDiff) -> (u32, u32) {
    let lines = diff.patch(file).split_inclusive(|byte| *byte == b'\n').count();
    let lines = u32::try_from(lines).unwrap_or(u32::MAX);
    let first = file.first_line();
    (first, first.saturating_add(lines).saturating_sub(1).max(first))
}

/// Rows in a fence, up to [`LIST_CHARS`], then the number of further rows.
fn list(kind: &str, rows: impl IntoIterator<Item = String>) -> String {
    let (mut text, mut more) = (String::new(), 0_usize);
    for row in rows {
        if more == 0 && text.len() + row.len() < LIST_CHARS {
            text.push_str(&row);
            text.push('\n');
        } else {
            more += 1;
        }
    }
    if more > 0 {
        text.push_str(&format!("[{more} more]\n"));
    }
    fence_or_none(kind, &text)
}

pub(super) fn fence_or_none(kind: &str, text: &str) -> String {
    if text.is_empty() { "None.".to_owned() } else { fence(kind, text) }
}

/// A path on one line, quoted if it contains control characters.
pub(super) fn path(path: &str) -> String {
    if path.chars().any(char::is_control) { format!("{path:?}") } else { path.to_owned() }
}
