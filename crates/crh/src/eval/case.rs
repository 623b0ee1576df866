//! A case: a change, and what is known about it.

use std::collections::BTreeMap;

use super::wrong::{Wrong, shown};
use crh_review::diff::{Diff, FileChange};
use crh_review::eval::{Expected, KnownBad, Span};
use crh_review::identity::content_id;

/// What the id of a twin ends with, if it was not given one.
const TWIN: &str = "~twin";

/// Files by their path from the root of the repository.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// A change, and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// Names it in its suite.
    pub(crate) id: String,
    /// What its author calls it.
    pub(crate) title: String,
    /// What its author says about it.
    pub(crate) body: String,
    /// Its language, in lower case.
    pub(crate) language: String,
    /// The licence of its code; empty if unknown.
    pub(crate) licence: String,
    /// The case of which it is the same change the other way round.
    pub(crate) twin_of: Option<String>,
    /// The change itself.
    pub(crate) source: Source,
    /// What is wrong with it.
    pub(crate) expected: Vec<Expected>,
    /// Findings that are known to be wrong.
    pub(crate) known_bad: Vec<KnownBad>,
    /// Whether nobody has said yet what is wrong with it.
    pub(crate) is_draft: bool,
}

/// Where the change of a case is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Whole files before and after.
    Files { base: Files, head: Files },
    /// Two commits of a repository that is called `owner/name`, and the diff for where that is not at hand.
    Commits { repo: String, base: String, head: String, diff: Vec<u8> },
    /// A diff alone.
    Diff(Vec<u8>),
}

impl Source {
    /// How much of it is in memory.
    pub(super) fn bytes(&self) -> usize {
        let of = |files: &Files| files.values().map(Vec::len).sum::<usize>();
        match self {
            Self::Files { base, head } => of(base) + of(head),
            Self::Commits { diff, .. } | Self::Diff(diff) => diff.len(),
        }
    }
}

impl Case {
    /// Names everything of the case that a review can see: the same contents have the same name.
    pub(crate) fn content_hash(&self) -> String {
        let mut seen = Seen::default();
        seen.add(&self.title);
        seen.add(&self.body);
        match &self.source {
            Source::Files { base, head } => {
                for files in [base, head] {
                    seen.add(format!("{} files", files.len()));
                    for (path, bytes) in files {
                        seen.add(path);
                        seen.add(bytes);
                    }
                }
            }
            Source::Commits { repo, base, head, diff } => {
                [repo, base, head].into_iter().for_each(|name| seen.add(name));
                seen.add(diff);
            }
            Source::Diff(diff) => seen.add(diff),
        }
        seen.hash()
    }

    /// The same change the other way round: what is wrong with this one is put right by it, so nothing is expected.
    pub(crate) fn twin(&self, title: String, body: String) -> Result<Self, Wrong> {
        let source = match &self.source {
            Source::Files { base, head } => {
                Source::Files { base: head.clone(), head: base.clone() }
            }
            Source::Commits { .. } | Source::Diff(_) => {
                return Err(Wrong::new("`twin` needs whole files, to turn the change round")
                    .hint("write the twin as a case of its own, with `twin_of`"));
            }
        };
        Ok(Self {
            id: format!("{}{TWIN}", self.id),
            title,
            body,
            twin_of: Some(self.id.clone()),
            source,
            expected: Vec::new(),
            known_bad: Vec::new(),
            ..self.clone()
        })
    }
}

/// What a hash is made of. Each part comes with its length, so that no two lists of parts look the same.
#[derive(Default)]
pub(super) struct Seen {
    bytes: Vec<u8>,
}

impl Seen {
    pub(super) fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.bytes.extend_from_slice(format!("{}:", part.len()).as_bytes());
        self.bytes.extend_from_slice(part);
    }

    pub(super) fn add_span(&mut self, span: &Span) {
        self.add(span.file());
        self.add(format!("{}-{} {}", span.line_start(), span.line_end(), span.side()));
    }

    pub(super) fn hash(&self) -> String {
        content_id(&self.bytes)
    }
}

/// What files become by a diff.
pub(crate) fn applied(base: &Files, diff: &[u8]) -> Result<Files, Wrong> {
    let hint = "is it the diff between these very files, as `git diff` prints it?";
    let diff = Diff::read(diff);
    if let Some(problem) = diff.problems().first() {
        return Err(Wrong::new(format!("`diff`, {problem}")).hint(hint));
    }
    let mut head = base.clone();
    for file in diff.files() {
        let path = file.path.shown().into_owned();
        let old_path = file.old_path.as_ref().unwrap_or(&file.path).shown().into_owned();
        let old = match (file.change, base.get(&old_path)) {
            (FileChange::Added, _) => &Vec::new(),
            (_, Some(old)) => old,
            (_, None) => {
                let message =
                    format!("`diff` changes `{}`, which is not in the base", shown(&old_path));
                return Err(Wrong::new(message).hint(hint));
            }
        };
        let new = diff.applied(file, old).map_err(|error| {
            Wrong::new(format!("`diff` does not fit `{}`: {error}", shown(&old_path))).hint(hint)
        })?;
        if matches!(file.change, FileChange::Deleted | FileChange::Renamed) {
            head.remove(&old_path);
        }
        if file.change != FileChange::Deleted {
            head.insert(path, new);
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests;
