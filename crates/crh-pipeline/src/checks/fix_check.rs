//! Runs static checks on a fix. The fix is treated as a change from the reviewed tree to the fixed
//! tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ChangeAuthor, CheckOptions, INJECTION, run_analysers, run_checks};
use crate::change_under_review::ChangeUnderReview;
use crate::revisions::Revisions;
use crate::runs::RunRecord;
use crate::scope::{DiffOnly, ScopeRules, decide_scope};
use crh_git::{BareRepository, GitError, GlobError, PathGlobs, ReadError};
use crh_review::diff::Diff;
use crh_review::finding::Member;

/// Why a fix could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// Git could not produce the diff.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The commits cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A glob pattern is invalid.
    #[error(transparent)]
    Glob(#[from] GlobError),
}

/// Findings of built-in checks and installed analysers that a fix introduces, also in files that it
/// does not change, such as callers. `before` and `after` are commits in `bare`.
pub fn check_fix(
    subject: &ChangeUnderReview,
    options: &CheckOptions,
    bare: &BareRepository,
    before: &str,
    after: &str,
) -> Result<Vec<Member>, FixError> {
    let diff = Diff::read(bare.diff(before, after)?);
    let no_globs = || PathGlobs::new::<&str>([]);
    // All files are checked, including generated and large ones.
    let rules = ScopeRules {
        paths: PathGlobs::default(),
        exclude: no_globs()?,
        include: PathGlobs::new(["**"])?,
        generated: no_globs()?,
        max_file_bytes: u64::MAX,
        strict: false,
    };
    let scope = decide_scope(&diff, &DiffOnly, &rules);
    let revisions = Revisions::new(bare.clone(), before, after)?;
    let fix = ChangeUnderReview {
        tool_context: subject.tool_context.with_other_revisions(revisions),
        diff: Arc::new(diff),
        scope,
        incremental: None,
        lessons: Arc::default(),
        ..subject.clone()
    };
    // SARIF files describe the reviewed tree, not the fixed one. A fix must not suppress findings
    // about itself.
    let options = CheckOptions {
        sarif: Vec::new(),
        sarif_base: Vec::new(),
        author: ChangeAuthor::Fixer,
        ..options.clone()
    };
    let changed_paths: BTreeSet<String> =
        fix.diff.files().iter().map(|file| file.path.shown().into_owned()).collect();
    let records = run_checks(&fix, &options).into_iter().chain(run_analysers(&fix, &options));
    let new_members = records.flat_map(|RunRecord { assignment, mut members, .. }| {
        if assignment.name == INJECTION {
            // Findings about comments and descriptions existed before the fix.
            members.retain(|member| changed_paths.contains(&member.finding.file));
        }
        members
    });
    Ok(new_members.collect())
}
