//! Renders the change for the shared prompt prefix: description, files, numbered diff. All texts
//! are fenced. Output is deterministic.

use super::fence::fence;
use super::files;
use crate::change_under_review::ChangeUnderReview;
use crate::plan::{DiffPart, split_diff};
use crate::review_options::ReviewBudget;
use crate::scope::{FileRole, ScopeDecision, ScopeFile};
use crate::text::one_line;
use crate::workspace::{ChangeMetadata, CommitEntry};
use crh_llm::text_tokens;
use crh_review::diff::{Diff, FileDiff, FileStatus, write_number};

/// Maximum characters of diff in the shared prefix: about 35,000 tokens. Agents read larger diffs
/// with tools, mostly in parts.
const DIFF_CHARS: usize = 120_000;

/// Tokens of the context that are not available for the diff: tools, rules, instructions (about
/// 16,000) and the longest answer.
const RESERVED_TOKENS: u64 = 32_000;

/// The diff may take half of the remaining context by our estimate. That is a quarter of it in
/// reality, which leaves room for tool results.
const CONTEXT_SHARE: u64 = 2;

/// The diff of one call may take half of the input token budget.
const ALLOWANCE_SHARE: u64 = 2;

/// Maximum characters of the description.
const DESCRIPTION_CHARS: usize = 8_000;

/// Minimum bytes of a piece of a diff: one or two hunks.
const PIECE_MIN: usize = 2_000;

/// Maximum characters of a list: about five hundred files.
const LIST_CHARS: usize = 40_000;

/// The rendered change, and the files left out.
pub(super) struct RenderedChange {
    pub(super) prompt: files::Change,
    /// Files in scope whose diff did not fit.
    pub(super) not_shown: Vec<String>,
    /// Notes on unreadable parts.
    pub(super) notes: Vec<String>,
}

/// Renders the change. `context` is the smallest context window of the models, in tokens. With
/// `parts`, only their diffs are included.
pub(super) fn render_change(
    change: &ChangeUnderReview,
    context: u64,
    budget: &ReviewBudget,
    parts: Option<&[DiffPart]>,
) -> RenderedChange {
    let mut notes = Vec::new();
    let read = ChangeDescription::load(change).unwrap_or_else(|error| {
        notes.push(format!(
            "the prompts lack the title, description and commits of the change: {error}"
        ));
        ChangeDescription::default()
    });
    let (diff, without_room) = diff(change, DiffRoom::new(context, budget), parts);
    let under_review = change.files().map(|(scope, file)| file_row(&change.diff, scope, file));
    let left_out = change.scope.files.iter().filter_map(left_out_row);
    let prompt = files::Change {
        about: fence("about", &about(&read.metadata)),
        description: fence_or_none("description", &description(&read.metadata)),
        commits: list("commits", read.commits.iter().map(|commit| one_line(&commit.subject))),
        files: list("files", under_review),
        left_out: list("files-left-out", left_out),
        instructions: list("instructions", read.instructions.iter().map(|name| path(name))),
        diff: fence_or_none("numbered-diff", &diff),
        not_shown: list("files-not-shown", without_room.iter().map(OmittedDiff::row)),
    };
    let not_shown = without_room.into_iter().map(|file| file.path).collect();
    RenderedChange { prompt, not_shown, notes }
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
        let names = workspace.agent_files().map_err(|error| error.to_string())?;
        let instructions = names.iter().map(|name| format!("agent/{name}")).collect();
        Ok(Self { metadata: workspace.metadata().clone(), commits, instructions })
    }
}

fn about(metadata: &ChangeMetadata) -> String {
    let ChangeMetadata {
        title, author, source_git_path, target_git_path, base_rev, head_rev, ..
    } = metadata;
    let line_or_empty = |text: &Option<String>| one_line(text.as_deref().unwrap_or_default());
    let joined = |name: &Option<String>, id: &Option<String>| {
        [line_or_empty(name), line_or_empty(id)].join(" ").trim().to_owned()
    };
    let rows = [
        ("title", one_line(title)),
        ("author", line_or_empty(author)),
        ("base", joined(target_git_path, base_rev)),
        ("head", joined(source_git_path, head_rev)),
    ];
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    rows.map(|(name, value)| format!("{name}: {value}\n")).collect()
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
    let was = scope.old_path.as_ref().map(|old| format!(" (was {})", path(&old.shown())));
    let (first, last) = diff_lines(diff, file);
    format!(
        "{path}{was}: {status} +{added} -{removed}, {role}, diff lines {first}-{last}",
        path = path(&scope.path.shown()),
        was = was.unwrap_or_default(),
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

/// Groups the files in scope so that the diffs of each group fit into one prompt, in diff order. A
/// file that does not fit is split. A new folder starts a new group if the current one is at least
/// half full.
pub(crate) fn group_files(
    change: &ChangeUnderReview,
    context: u64,
    budget: &ReviewBudget,
) -> Vec<Vec<DiffPart>> {
    let whole = DiffRoom::new(context, budget);
    let mut groups: Vec<(Vec<DiffPart>, DiffRoom)> = Vec::new();
    let mut folder = String::new();
    for (scope, file) in change.files() {
        let path = scope.path.shown().into_owned();
        let own = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_new = own != folder;
        own.clone_into(&mut folder);
        for (part, text) in fitting_parts(&change.diff, file, &path, &whole) {
            let fits = whole.clone().try_take(&text);
            let last = groups.last_mut().filter(|_| fits);
            let last = last.filter(|(_, room)| !(is_new && room.chars * 2 <= whole.chars));
            if let Some((parts, room)) = last {
                // A file that changes its type is in the diff twice.
                if parts.last() == Some(&part) {
                    continue;
                }
                if room.try_take(&text) {
                    parts.push(part);
                    continue;
                }
            }
            let mut room = whole.clone();
            if !room.try_take(&text) {
                // A part that fits nowhere is alone in its group and is not shown.
                room = DiffRoom { chars: 0, tokens: 0 };
            }
            groups.push((vec![part], room));
        }
    }
    groups.into_iter().map(|(parts, _)| parts).collect()
}

/// The file as one part, or split into pieces that fit, with their numbered lines.
fn fitting_parts(
    diff: &Diff,
    file: &FileDiff,
    path: &str,
    room: &DiffRoom,
) -> Vec<(DiffPart, String)> {
    let text = numbered_diff(diff, file);
    if room.clone().try_take(&text) {
        return vec![(DiffPart::whole(path), text)];
    }
    let mut most = room.chars / 2;
    loop {
        let cut: Vec<(DiffPart, String)> = split_diff(diff, file, most)
            .into_iter()
            .map(|lines| {
                let part = DiffPart { path: path.to_owned(), diff_lines: Some(lines) };
                (part, select_lines(&text, file.first_line(), lines))
            })
            .collect();
        if most <= PIECE_MIN || cut.iter().all(|(_, text)| room.clone().try_take(text)) {
            return cut;
        }
        most /= 2;
    }
}

/// A range of lines of a numbered diff that starts with number `first`.
fn select_lines(text: &str, first: u32, (from, to): (u32, u32)) -> String {
    let lines = (first..).zip(text.split_inclusive('\n'));
    lines.filter(|(number, _)| (from..=to).contains(number)).map(|(_, line)| line).collect()
}

/// Remaining room for diffs.
#[derive(Debug, Clone)]
struct DiffRoom {
    chars: usize,
    tokens: u64,
}

impl DiffRoom {
    fn new(context: u64, budget: &ReviewBudget) -> Self {
        let in_context = context.saturating_sub(RESERVED_TOKENS) / CONTEXT_SHARE;
        Self { chars: DIFF_CHARS, tokens: in_context.min(budget.input_tokens / ALLOWANCE_SHARE) }
    }

    /// Takes the room for a text, if it fits.
    fn try_take(&mut self, text: &str) -> bool {
        let left =
            self.chars.checked_sub(text.len()).zip(self.tokens.checked_sub(text_tokens(text)));
        let Some((chars, tokens)) = left else { return false };
        *self = Self { chars, tokens };
        true
    }
}

/// A file whose diff is left out.
struct OmittedDiff {
    path: String,
    first: u32,
    last: u32,
}

impl OmittedDiff {
    fn row(&self) -> String {
        format!("{}: diff lines {}-{}", path(&self.path), self.first, self.last)
    }
}

/// The numbered diffs that fit, and the files that do not. A file is shown completely or not at
/// all; a large file does not block the following ones.
fn diff(
    change: &ChangeUnderReview,
    mut room: DiffRoom,
    parts: Option<&[DiffPart]>,
) -> (String, Vec<OmittedDiff>) {
    let (mut shown, mut not_shown) = (String::new(), Vec::new());
    for (scope, file) in change.files() {
        let path = scope.path.shown();
        let text = match parts {
            // Numbering makes it longer: do not copy what cannot fit.
            None if change.diff.patch(file).len() > room.chars => None,
            None => Some(numbered_diff(&change.diff, file)),
            Some(parts) => part_lines(&change.diff, file, parts, &path),
        };
        match text.filter(|text| room.try_take(text)) {
            Some(text) => shown.push_str(&text),
            None => {
                let (first, last) = diff_lines(&change.diff, file);
                not_shown.push(OmittedDiff { path: path.into_owned(), first, last });
            }
        }
    }
    (shown, not_shown)
}

/// The numbered lines of a file in these parts. None if it has none.
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
pub(crate) fn numbered_diff(diff: &Diff, file: &FileDiff) -> String {
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
fn diff_lines(diff: &Diff, file: &FileDiff) -> (u32, u32) {
    let lines = diff.patch(file).split_inclusive(|byte| *byte == b'\n').count();
    let lines = u32::try_from(lines).unwrap_or(u32::MAX);
    let first = file.first_line();
    (first, first.saturating_add(lines).saturating_sub(1).max(first))
}

/// Rows in a fence, up to the limit, then the number of further rows.
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
