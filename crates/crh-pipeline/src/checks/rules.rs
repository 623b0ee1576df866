//! The repository's own rules, read from git objects at one revision.

use crh_git::ReadError;
use crh_lint::Patterns;
use crh_lint::RuleFile;
use crh_review::diff::RepoPath;

use super::Work;
use crate::revisions::Revisions;
use crate::workspace::RoundRow;

/// Where a repository keeps its rules.
const FOLDER: &str = ".crh/rules";
/// How the names of rule files end.
const ENDINGS: [&[u8]; 2] = [b".yml", b".yaml"];
/// A set of rules with more files than this belongs into a tool of its own: every file of a change is held against all of them.
const FILES_MAX: usize = 100;
/// What is larger is not read at all; the reader of rules has its own, lower bound.
const FILE_MAX: u64 = 1 << 20;

/// The rules of a change, and a sentence about each that cannot be used. A repository without a folder of rules has the built-in ones.
///
/// Who wrote a change must not choose what it is held against. Only with work that is not committed yet the author and the reader are surely one.
pub(super) fn patterns(
    revisions: &Revisions,
    work: Work,
    round: Option<&RoundRow>,
) -> (Patterns, Vec<String>) {
    let is_committed = round.is_none_or(|round| round.created_at.is_some());
    let end = match work {
        Work::InCheckout if !is_committed => "head",
        Work::InCheckout | Work::Elsewhere => "base",
    };
    patterns_at(revisions, end)
}

/// The rules at one end of a change: `base` or `head`.
pub(super) fn patterns_at(revisions: &Revisions, end: &str) -> (Patterns, Vec<String>) {
    let revision = revisions.named(Some(end)).unwrap_or_default();
    let mut notes = Vec::new();
    let files = files(revisions, revision, &mut notes).unwrap_or_else(|why| {
        notes.push(format!("the rules in `{FOLDER}` were not read: {why}"));
        Vec::new()
    });
    let (patterns, unusable) = match files.is_empty() {
        true => Default::default(),
        false => Patterns::with(&files),
    };
    notes.extend(unusable);
    (patterns, notes)
}

fn files(
    revisions: &Revisions,
    revision: &str,
    notes: &mut Vec<String>,
) -> Result<Vec<RuleFile>, ReadError> {
    let objects = revisions.objects();
    let entries = match objects.folder(revision, FOLDER) {
        Ok(entries) => entries,
        Err(ReadError::NoEntry(_)) => return Ok(Vec::new()),
        Err(why) => return Err(why),
    };
    let is_rule = |path: &[u8]| ENDINGS.iter().any(|ending| path.ends_with(ending));
    let found = entries.into_iter().filter(|it| it.kind.is_file() && is_rule(&it.path));
    let mut found: Vec<Vec<u8>> = found.map(|entry| entry.path).collect();
    if found.len() > FILES_MAX {
        let more = found.len() - FILES_MAX;
        notes.push(format!(
            "{more} more files in `{FOLDER}` are left out: at most {FILES_MAX} are read"
        ));
        found.truncate(FILES_MAX);
    }
    let mut files = Vec::new();
    for path in found {
        let shown = RepoPath::new(path.clone()).shown().into_owned();
        match objects.stat(revision, &path)?.1 {
            0..=FILE_MAX => {
                files.push(RuleFile { path: shown, text: objects.file(revision, &path)? });
            }
            size => notes.push(format!("a rule file, `{shown}`: it has {size} bytes")),
        }
    }
    Ok(files)
}
