//! What the reviewer of `single` is shown beside what all agents are: diffs for which there was no room there, then
//! code around the changes.

use std::cmp::Reverse;
use std::sync::Arc;

use super::asking::tokens;
use super::context::{ChangedFile, DiffShown, Selected, selected};
use crate::code::Code;
use crate::office::Office;
use crate::plan::Assignment;
use crate::prompts::{Prompts, fence, numbered};
use crate::subject::Subject;
use crh_llm::text_tokens;
use crh_review::diff::FileDiff;
use crh_review::finding::Side;
use crh_review::report::{CoverageState, FileCoverage};

/// What the reviewer is shown.
#[derive(Debug)]
pub(super) struct Material {
    /// What it has in common with other agents.
    pub(super) prompts: Arc<Prompts>,
    /// The pieces, each in a fence.
    pub(super) text: String,
    /// What a reader should know about it.
    pub(super) notes: Vec<String>,
    /// What is covered if the run completes.
    pub(super) coverage: Vec<FileCoverage>,
}

/// How large the whole question may become, in tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// As long as there are diffs to show.
    pub(super) for_diffs: u64,
    /// With code around the changes.
    pub(super) for_context: u64,
}

/// Chooses what the reviewer is shown. Where there is no room for all diffs, those with the most changed lines are shown,
/// which is not the order in which all agents are shown them: it is then told of the change without.
pub(super) fn material(
    office: &Office,
    assignment: &Assignment,
    known: &str,
    room: Room,
) -> Material {
    let usual = shown(office, assignment, known, Arc::clone(&office.prompts), room);
    if usual.question <= room.for_diffs && usual.is_whole {
        return usual.material;
    }
    let bare = Prompts::new(&office.subject, &office.terms, 0);
    shown(office, assignment, known, Arc::new(bare), room).material
}

/// What would be shown after one beginning.
struct Shown {
    material: Material,
    /// The tokens of the beginning alone.
    question: u64,
    /// Whether all diffs are shown.
    is_whole: bool,
}

fn shown(
    office: &Office,
    assignment: &Assignment,
    known: &str,
    prompts: Arc<Prompts>,
    room: Room,
) -> Shown {
    let subject = &office.subject;
    let question = tokens(&prompts.conversation(&prompts.single("", known)));
    let is_assigned = |path: &str| assignment.parts.iter().any(|part| part.path == path);
    let files = subject.files().map(|(_, file)| (file.path.shown().into_owned(), file));
    let files: Vec<(String, &FileDiff)> = files.filter(|(path, _)| is_assigned(path)).collect();
    let missing = files.iter().filter(|(path, _)| !prompts.shows_diff_of(path)).cloned().collect();
    let Diffs { mut pieces, not_shown } =
        diffs(subject, missing, room.for_diffs.saturating_sub(question));
    let taken: u64 = pieces.iter().map(|piece| text_tokens(piece) + 1).sum();
    let changed = files.iter().filter_map(|(path, file)| {
        let is_shown = !not_shown.contains(path);
        let shown = if is_shown { DiffShown::Whole } else { DiffShown::NotWhole };
        ChangedFile::of(&subject.diff, file, shown)
    });
    let code = Code::of(subject);
    let left = room.for_context.saturating_sub(question).saturating_sub(taken);
    let Selected { text, notes } =
        selected(changed.collect(), left, |path| code.text(Side::New, path));
    pieces.extend((!text.is_empty()).then_some(text));
    let coverage = coverage(assignment, &not_shown);
    let material = Material { prompts, text: pieces.join("\n"), notes, coverage };
    Shown { material, question, is_whole: not_shown.is_empty() }
}

/// Diffs of files, and the files for which there was no room.
pub(super) struct Diffs {
    pub(super) pieces: Vec<String>,
    not_shown: Vec<String>,
}

/// The numbered diffs of files within so many tokens, each in a fence, those with the most changed lines first.
pub(super) fn diffs(subject: &Subject, mut files: Vec<(String, &FileDiff)>, budget: u64) -> Diffs {
    files.sort_by_key(|(_, file)| Reverse(u64::from(file.additions) + u64::from(file.deletions)));
    let mut diffs = Diffs { pieces: Vec::new(), not_shown: Vec::new() };
    let mut left = budget;
    for (path, file) in files {
        // Every byte counts half a token at the least: what cannot fit is not even copied.
        let could_fit = subject.diff.patch(file).len() as u64 / 2 <= left;
        let piece = could_fit.then(|| fence("numbered-diff", &numbered(&subject.diff, file)));
        match piece.filter(|piece| text_tokens(piece) < left) {
            Some(piece) => {
                left -= text_tokens(&piece) + 1;
                diffs.pieces.push(piece);
            }
            None => diffs.not_shown.push(path),
        }
    }
    diffs
}

fn coverage(assignment: &Assignment, not_shown: &[String]) -> Vec<FileCoverage> {
    let covered = |path: &String| {
        let (state, reason) = if not_shown.contains(path) {
            let reason = "there was no room for its diff in what the reviewer reads at once";
            (CoverageState::Truncated, reason.to_owned())
        } else {
            (CoverageState::Reviewed, String::new())
        };
        FileCoverage { path: path.clone(), state, reason }
    };
    assignment.parts.iter().map(|part| covered(&part.path)).collect()
}
