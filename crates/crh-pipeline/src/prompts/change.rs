//! The change as all agents of a review see it: what it says about itself, its files, its numbered diff. Every text of
//! it is fenced, and the same change gives the same bytes.

use super::fence::fence;
use super::files;
use crate::plan::{Part, pieces};
use crate::scope::{Decision, Role, ScopeFile};
use crate::subject::Subject;
use crate::terms::Allowance;
use crate::text::one_line;
use crate::workspace::{Commit, Metadata};
use crh_llm::text_tokens;
use crh_review::diff::{Diff, FileDiff, FileStatus, write_number};

/// The most characters of diff that every agent is given: some 35,000 tokens. A reviewer of everything wants them at once;
/// of a larger change most agents look at a part only, and read that with tools.
const DIFF_CHARS: usize = 120_000;

/// Tokens of a model's context that the diff leaves alone, by our own estimate: tools, rules, an agent's own instructions
/// (some 16,000 together) and its longest answer.
const SPOKEN_FOR: u64 = 32_000;

/// Of the rest of the context the diff takes one part in so many, by our own estimate. That is more than twice the truth for
/// code, so that three quarters are left for what tools answer.
const CONTEXT_SHARE: u64 = 2;

/// Of what a review may read in all, one call's diff takes one part in so many: a review of two calls is a small one.
const ALLOWANCE_SHARE: u64 = 2;

/// The most characters of the author's description. It tells what the change is for, or it does not within three pages.
const DESCRIPTION_CHARS: usize = 8_000;

/// A piece of a diff is cut no smaller than this, in bytes, however little room there is: a hunk or two.
const PIECE_MIN: usize = 2_000;

/// The most characters of a list: some five hundred files.
const LIST_CHARS: usize = 40_000;

/// The change as it is shown, and what is not.
pub(super) struct Shown {
    pub(super) prompt: files::Change,
    /// The files under review whose diff there was no room for.
    pub(super) not_shown: Vec<String>,
    /// What could not be read.
    pub(super) notes: Vec<String>,
}

/// The change for models whose smallest context has so many tokens, in a review that may go so far. If there are `parts`, no other
/// diff stands in it.
pub(super) fn shown(
    subject: &Subject,
    context: u64,
    allowance: &Allowance,
    parts: Option<&[Part]>,
) -> Shown {
    let mut notes = Vec::new();
    let read = Told::of(subject).unwrap_or_else(|error| {
        notes.push(format!("reviewers were not told what the change says about itself: {error}"));
        Told::default()
    });
    let (diff, without_room) = diff(subject, Room::of(context, allowance), parts);
    let under_review = subject.files().map(|(scope, file)| file_row(&subject.diff, scope, file));
    let left_out = subject.scope.files.iter().filter_map(left_out_row);
    let prompt = files::Change {
        about: fence("about", &about(&read.metadata)),
        description: fence_or_none("description", &description(&read.metadata)),
        commits: list("commits", read.commits.iter().map(|commit| one_line(&commit.subject))),
        files: list("files", under_review),
        left_out: list("files-left-out", left_out),
        instructions: list("instructions", read.instructions.iter().map(|name| path(name))),
        diff: fence_or_none("numbered-diff", &diff),
        not_shown: list("files-not-shown", without_room.iter().map(NotShown::row)),
    };
    let not_shown = without_room.into_iter().map(|file| file.path).collect();
    Shown { prompt, not_shown, notes }
}

/// What the workspace tells about the change besides its diff.
#[derive(Default)]
struct Told {
    metadata: Metadata,
    commits: Vec<Commit>,
    instructions: Vec<String>,
}

impl Told {
    fn of(subject: &Subject) -> Result<Self, String> {
        let workspace = subject.workspace().map_err(|error| error.to_string())?;
        let commits = workspace.bytes("commits.json").map_err(|error| error.to_string())?;
        let commits = serde_json::from_slice(&commits)
            .map_err(|error| format!("`commits.json` is not what it should be: {error}"))?;
        let names = workspace.agent_files().map_err(|error| error.to_string())?;
        let instructions = names.iter().map(|name| format!("agent/{name}")).collect();
        Ok(Self { metadata: workspace.metadata().clone(), commits, instructions })
    }
}

fn about(metadata: &Metadata) -> String {
    let Metadata { title, author, source_git_path, target_git_path, base_rev, head_rev, .. } =
        metadata;
    let said = |text: &Option<String>| one_line(text.as_deref().unwrap_or_default());
    let joined = |name: &Option<String>, id: &Option<String>| {
        [said(name), said(id)].join(" ").trim().to_owned()
    };
    let rows = [
        ("title", one_line(title)),
        ("author", said(author)),
        ("base", joined(target_git_path, base_rev)),
        ("head", joined(source_git_path, head_rev)),
    ];
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    rows.map(|(name, value)| format!("{name}: {value}\n")).collect()
}

/// The description, cut where it is too long.
fn description(metadata: &Metadata) -> String {
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
        Role::Executable => "code",
        Role::Test => "test",
        Role::Prose => "prose",
        Role::Config => "config",
        Role::Other => "data",
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
        Decision::In => None,
        Decision::Out(reason) => {
            Some(format!("{}: {}", path(&file.path.shown()), one_line(&reason.sentence())))
        }
    }
}

/// The files under review in groups whose diffs each have room in one prompt, in the order of the diff. A file whose diff has room
/// in none comes in pieces. A new group begins with a folder where that leaves the one before at least half full.
pub(crate) fn groups(subject: &Subject, context: u64, allowance: &Allowance) -> Vec<Vec<Part>> {
    let whole = Room::of(context, allowance);
    let mut groups: Vec<(Vec<Part>, Room)> = Vec::new();
    let mut folder = String::new();
    for (scope, file) in subject.files() {
        let path = scope.path.shown().into_owned();
        let own = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_new = own != folder;
        own.clone_into(&mut folder);
        for (part, text) in fitting_parts(&subject.diff, file, &path, &whole) {
            let fits = whole.clone().takes(&text);
            let last = groups.last_mut().filter(|_| fits);
            let last = last.filter(|(_, room)| !(is_new && room.chars * 2 <= whole.chars));
            if let Some((parts, room)) = last {
                // A file that changes its type is in the diff twice.
                if parts.last() == Some(&part) {
                    continue;
                }
                if room.takes(&text) {
                    parts.push(part);
                    continue;
                }
            }
            let mut room = whole.clone();
            if !room.takes(&text) {
                // What has no room anywhere takes none away from others: it is alone, and not shown.
                room = Room { chars: 0, tokens: 0 };
            }
            groups.push((vec![part], room));
        }
    }
    groups.into_iter().map(|(parts, _)| parts).collect()
}

/// A file as one part, or as pieces that each have room, with their numbered lines.
fn fitting_parts(diff: &Diff, file: &FileDiff, path: &str, room: &Room) -> Vec<(Part, String)> {
    let text = numbered(diff, file);
    if room.clone().takes(&text) {
        return vec![(Part::whole(path), text)];
    }
    let mut most = room.chars / 2;
    loop {
        let cut: Vec<(Part, String)> = pieces(diff, file, most)
            .into_iter()
            .map(|lines| {
                let part = Part { path: path.to_owned(), diff_lines: Some(lines) };
                (part, only(&text, file.first_line(), lines))
            })
            .collect();
        if most <= PIECE_MIN || cut.iter().all(|(_, text)| room.clone().takes(text)) {
            return cut;
        }
        most /= 2;
    }
}

/// Some of the lines of a file's numbered diff, whose first has the number `first`.
fn only(text: &str, first: u32, (from, to): (u32, u32)) -> String {
    let lines = (first..).zip(text.split_inclusive('\n'));
    lines.filter(|(number, _)| (from..=to).contains(number)).map(|(_, line)| line).collect()
}

/// How much diff there is room for.
#[derive(Debug, Clone)]
struct Room {
    chars: usize,
    tokens: u64,
}

impl Room {
    fn of(context: u64, allowance: &Allowance) -> Self {
        let in_context = context.saturating_sub(SPOKEN_FOR) / CONTEXT_SHARE;
        Self { chars: DIFF_CHARS, tokens: in_context.min(allowance.input_tokens / ALLOWANCE_SHARE) }
    }

    /// Whether a text fits, in which case its room is taken.
    fn takes(&mut self, text: &str) -> bool {
        let left =
            self.chars.checked_sub(text.len()).zip(self.tokens.checked_sub(text_tokens(text)));
        let Some((chars, tokens)) = left else { return false };
        *self = Self { chars, tokens };
        true
    }
}

/// A file whose diff is not shown.
struct NotShown {
    path: String,
    first: u32,
    last: u32,
}

impl NotShown {
    fn row(&self) -> String {
        format!("{}: diff lines {}-{}", path(&self.path), self.first, self.last)
    }
}

/// The numbered diff of the files under review as far as there is room, and the files that found none. A file is
/// shown as a whole or not at all, and one that is too large does not stand in the way of those behind it.
fn diff(subject: &Subject, mut room: Room, parts: Option<&[Part]>) -> (String, Vec<NotShown>) {
    let (mut shown, mut not_shown) = (String::new(), Vec::new());
    for (scope, file) in subject.files() {
        let path = scope.path.shown();
        let text = match parts {
            // Numbers make it longer, so that what is too long without them is not even copied.
            None if subject.diff.patch(file).len() > room.chars => None,
            None => Some(numbered(&subject.diff, file)),
            Some(parts) => wanted(&subject.diff, file, parts, &path),
        };
        match text.filter(|text| room.takes(text)) {
            Some(text) => shown.push_str(&text),
            None => {
                let (first, last) = diff_lines(&subject.diff, file);
                not_shown.push(NotShown { path: path.into_owned(), first, last });
            }
        }
    }
    (shown, not_shown)
}

/// The numbered lines of a file that are wanted; none if nothing of it is.
fn wanted(diff: &Diff, file: &FileDiff, parts: &[Part], path: &str) -> Option<String> {
    let parts: Vec<&Part> = parts.iter().filter(|part| part.path == path).collect();
    let text = (!parts.is_empty()).then(|| numbered(diff, file))?;
    if parts.iter().any(|part| part.diff_lines.is_none()) {
        return Some(text);
    }
    let lines = parts.iter().filter_map(|part| part.diff_lines);
    Some(lines.map(|lines| only(&text, file.first_line(), lines)).collect())
}

/// A file's lines of `numbered.diff`.
pub(crate) fn numbered(diff: &Diff, file: &FileDiff) -> String {
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

/// The first and the last line of a file in `numbered.diff`.
fn diff_lines(diff: &Diff, file: &FileDiff) -> (u32, u32) {
    let lines = diff.patch(file).split_inclusive(|byte| *byte == b'\n').count();
    let lines = u32::try_from(lines).unwrap_or(u32::MAX);
    let first = file.first_line();
    (first, first.saturating_add(lines).saturating_sub(1).max(first))
}

/// Rows in a fence. What is too much is counted at the end.
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

/// A path in a row: as it is, or quoted where it would not stay on its line.
pub(super) fn path(path: &str) -> String {
    if path.chars().any(char::is_control) { format!("{path:?}") } else { path.to_owned() }
}
