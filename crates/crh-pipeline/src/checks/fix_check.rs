//! What reviewers that need no model say about a fix: the fix is a change like any other, from the reviewed tree to the fixed one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{CheckTerms, checks, external};
use crate::revisions::Revisions;
use crate::scope::{DiffAlone, Rules, scope};
use crate::subject::Subject;
use crh_git::{Bare, GitError, GlobError, Globs, ReadError};
use crh_review::diff::Diff;
use crh_review::finding::Member;

/// Why a fix could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// There is no diff of it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its commits could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Not even a pattern for all files could be had.
    #[error(transparent)]
    Glob(#[from] GlobError),
}

/// What is new about the files that a fix changes, by those who look at every change: built-in reviewers and analysers that are
/// installed. `before` and `after` are commits in the store of the subject.
pub fn objections(
    subject: &Subject,
    terms: &CheckTerms,
    bare: &Bare,
    before: &str,
    after: &str,
) -> Result<Vec<Member>, FixError> {
    let diff = Diff::read(bare.diff(before, after)?);
    let none = || Globs::new::<&str>([]);
    // Whatever was reviewed is looked at again, be it generated or large.
    let rules = Rules {
        exclude: none()?,
        include: Globs::new(["**"])?,
        generated: none()?,
        max_file_bytes: u64::MAX,
    };
    let scope = scope(&diff, &DiffAlone, &rules);
    let revisions = Revisions::new(bare.clone(), before, after)?;
    let fix = Subject {
        bench: subject.bench.over(revisions),
        diff: Arc::new(diff),
        scope,
        since: None,
        ..subject.clone()
    };
    // What other tools have said is about the reviewed tree.
    let terms = CheckTerms { sarif: Vec::new(), sarif_base: Vec::new(), ..terms.clone() };
    let changed: BTreeSet<String> =
        fix.diff.files().iter().map(|file| file.path.shown().into_owned()).collect();
    let records = checks(&fix, &terms).into_iter().chain(external(&fix, &terms));
    let members = records.flat_map(|record| record.members);
    // What people wrote about the change was there before the fix.
    Ok(members.filter(|member| changed.contains(&member.finding.file)).collect())
}
