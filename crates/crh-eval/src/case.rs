//! A case: a change, and the defects that a review of it should find.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::case_error::{CaseError, shown};
use crh_review::diff::{Diff, FileChange};
use crh_review::eval::{Expected, KnownBad, Span};
use crh_review::identity::content_id;

/// Suffix of a twin's id if the twin has no id of its own.
const TWIN: &str = "~twin";

/// File contents by path from the repository root.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// Unique in its suite.
    pub(crate) id: String,
    pub(crate) title: String,
    /// The author's description.
    pub(crate) body: String,
    /// Its language, in lower case.
    pub(crate) language: String,
    /// Empty if unknown.
    pub(crate) licence: String,
    /// Id of the case that this one reverses.
    pub(crate) twin_of: Option<String>,
    pub(crate) source: CaseSource,
    /// Known defects.
    pub(crate) expected: Vec<Expected>,
    /// Known false positives.
    pub(crate) known_bad: Vec<KnownBad>,
    /// True until a person has labelled the defects.
    pub(crate) is_draft: bool,
}

/// The change of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CaseSource {
    /// Whole files before and after.
    Files { base: Files, head: Files },
    /// Two commits of the repository `owner/name`, the clone beside the case if there is one, and the
    /// diff in case no clone has the commits.
    Commits { repo: String, clone: Option<PathBuf>, base: String, head: String, diff: Vec<u8> },
    /// Only a diff.
    Diff(Vec<u8>),
}

impl CaseSource {
    /// Size in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let of = |files: &Files| files.values().map(Vec::len).sum::<usize>();
        match self {
            Self::Files { base, head } => of(base) + of(head),
            Self::Commits { diff, .. } | Self::Diff(diff) => diff.len(),
        }
    }
}

impl Case {
    /// Hash of everything that a reviewer can see of the case.
    pub(crate) fn content_hash(&self) -> String {
        let mut seen = HashInput::default();
        seen.add(&self.title);
        seen.add(&self.body);
        match &self.source {
            CaseSource::Files { base, head } => {
                for files in [base, head] {
                    seen.add(format!("{} files", files.len()));
                    for (path, bytes) in files {
                        seen.add(path);
                        seen.add(bytes);
                    }
                }
            }
            CaseSource::Commits { repo, clone: _, base, head, diff } => {
                [repo, base, head].into_iter().for_each(|name| seen.add(name));
                seen.add(diff);
            }
            CaseSource::Diff(diff) => seen.add(diff),
        }
        seen.hash()
    }

    /// The reversed change. It fixes the defects of this case, so it expects no findings.
    pub(crate) fn twin(&self, title: String, body: String) -> Result<Self, CaseError> {
        let source = match &self.source {
            CaseSource::Files { base, head } => {
                CaseSource::Files { base: head.clone(), head: base.clone() }
            }
            CaseSource::Commits { .. } | CaseSource::Diff(_) => {
                return Err(CaseError::new("`twin` needs whole files to reverse the change")
                    .hint("write the reversed change as a separate case with `twin_of`"));
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

/// Input of a content hash. Each part is prefixed with its length, so that no two lists of parts
/// collide.
#[derive(Default)]
pub(super) struct HashInput {
    bytes: Vec<u8>,
}

impl HashInput {
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

/// Applies a diff to files.
pub(crate) fn applied(base: &Files, diff: &[u8]) -> Result<Files, CaseError> {
    let hint = "is this the output of `git diff` between exactly these files?";
    let diff = Diff::read(diff);
    if let Some(problem) = diff.problems().first() {
        return Err(CaseError::new(format!("`diff`, {problem}")).hint(hint));
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
                return Err(CaseError::new(message).hint(hint));
            }
        };
        let new = diff.apply(file, old).map_err(|error| {
            CaseError::new(format!("`diff` does not apply to `{}`: {error}", shown(&old_path)))
                .hint(hint)
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
