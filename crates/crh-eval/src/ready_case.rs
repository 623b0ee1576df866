//! Writes cases as commits of one repository, so that the normal pipeline can review them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::case::{Case, CaseSource};
use super::case_error::CaseError;
use crh_git::{ChangeRepository, ChangeSpec, CommitContents, Repository};
use crh_os::names::canonical;
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_review::diff::Diff;
use crh_review::eval::{Expected, Labels, Span};
use crh_review::finding::Side;

/// A case that is ready for review.
#[derive(Debug, Clone)]
pub(crate) struct ReadyCase {
    /// Labels, with the size of the change and the matching places on the twin.
    pub(crate) labels: Labels,
    pub(crate) diff: Diff,
    /// Head commit, whose only parent is the base. `None` if only the diff is known.
    pub(crate) head: Option<String>,
    /// The missing repository, if its commits are needed and only the diff is known.
    pub(crate) not_found: Option<String>,
}

/// Writes all cases into a new bare repository in `folder`, in the order of `cases`. Looks for the
/// repositories of commit cases in `repos`. A reviewer cannot see that it reviews a case: branches
/// are numbered, and all cases have the same author and dates.
pub(crate) fn write_cases(
    cases: &[Case],
    folder: &Path,
    repos: Option<&Path>,
) -> Result<Vec<ReadyCase>, Failure> {
    lay_out_with(cases, folder, &lenders(cases, repos))
}

/// Like [`write_cases`], with commits of the given repositories.
pub(super) fn lay_out_with(
    cases: &[Case],
    folder: &Path,
    lenders: &[Repository],
) -> Result<Vec<ReadyCase>, Failure> {
    let layout = ChangeRepository::new(folder, lenders).or_fail(FailureKind::External)?;
    let specs = change_specs(cases, &layout)?;
    let known: Vec<ChangeSpec<'_>> = specs.iter().flatten().cloned().collect();
    let mut written = layout.commit_changes(&known).or_fail(FailureKind::External)?.into_iter();
    let with_twin: BTreeSet<&str> =
        cases.iter().filter_map(|case| case.twin_of.as_deref()).collect();
    let mut ready = Vec::with_capacity(cases.len());
    for (case, spec) in cases.iter().zip(&specs) {
        let written = spec.as_ref().and_then(|_| written.next());
        let (diff, head) = match (written, &case.source) {
            (Some(change), _) => (change.diff, Some(change.head)),
            (None, CaseSource::Commits { diff, .. } | CaseSource::Diff(diff)) => {
                (diff.clone(), None)
            }
            (None, CaseSource::Files { .. }) => (Vec::new(), None),
        };
        let diff = Diff::read(diff);
        if diff.files().is_empty() {
            return Err(without_diff(case, head.as_deref()));
        }
        let not_found = match (&case.source, &head) {
            (CaseSource::Commits { repo, .. }, None) => Some(repo.clone()),
            (CaseSource::Commits { .. }, Some(_))
            | (CaseSource::Files { .. } | CaseSource::Diff(_), _) => None,
        };
        let mut labels = labels(case, &diff);
        if with_twin.contains(case.id.as_str()) {
            labels.expected.iter_mut().for_each(|issue| issue.on_twin = on_twin(issue, &diff));
        }
        ready.push(ReadyCase { labels, diff, head, not_found });
    }
    Ok(ready)
}

fn without_diff(case: &Case, head: Option<&str>) -> Failure {
    let wrong = match (&case.source, head) {
        (CaseSource::Commits { repo, .. }, None) => CaseError::new(format!(
            "the commits of `{repo}` are not available, and the case has no diff"
        ))
        .hint("put a clone beside the `case.toml` as `repo`, or pass a folder with clones named `owner/name`"),
        _ => CaseError::new("base and head are equal").hint("remove the case"),
    };
    wrong.at(format!("the case `{}`", case.id))
}

/// Available repositories of the cases.
fn lenders(cases: &[Case], repos: Option<&Path>) -> Vec<Repository> {
    let sources = cases.iter().filter_map(|case| match &case.source {
        CaseSource::Commits { repo, clone, .. } => Some((repo.as_str(), clone.as_deref())),
        CaseSource::Files { .. } | CaseSource::Diff(_) => None,
    });
    let (names, clones): (BTreeSet<&str>, Vec<Option<&Path>>) = sources.unzip();
    let named = names.into_iter().filter_map(|name| find_clone(name, repos?));
    clones.into_iter().flatten().filter_map(repository).chain(named).collect()
}

/// Finds the clone of `owner/name` below a folder, under any of the usual layouts.
fn find_clone(name: &str, repos: &Path) -> Option<Repository> {
    let last = name.rsplit('/').next().unwrap_or(name);
    let joined = name.replace('/', "+");
    let named =
        [name.to_owned(), format!("{name}.git"), joined, last.to_owned(), format!("{last}.git")];
    named.iter().map(|name| repos.join(name)).find_map(|folder| {
        let inside = || {
            let mut entries: Vec<PathBuf> =
                fs::read_dir(&folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
            entries.sort_unstable();
            entries.iter().find_map(|folder| repository(folder))
        };
        repository(&folder).or_else(inside)
    })
}

/// Opens the repository whose root is `folder`; a parent repository does not count.
pub(super) fn repository(folder: &Path) -> Option<Repository> {
    let folder = canonical(folder).ok().filter(|folder| folder.is_dir())?;
    let repository = Repository::discover(&folder).ok()?;
    repository.git_dir.starts_with(&folder).then_some(repository)
}

/// Contents of each case; `None` where only a diff is known. Any clone that has a commit can
/// provide it.
fn change_specs<'a>(
    cases: &'a [Case],
    layout: &ChangeRepository,
) -> Result<Vec<Option<ChangeSpec<'a>>>, Failure> {
    let pairs: Vec<(&str, &str)> = cases
        .iter()
        .filter_map(|case| match &case.source {
            CaseSource::Commits { base, head, .. } => Some((base.as_str(), head.as_str())),
            CaseSource::Files { .. } | CaseSource::Diff(_) => None,
        })
        .collect();
    let trees = layout.trees(&pairs).or_fail(FailureKind::External)?;
    let trees: BTreeMap<(&str, &str), Option<(String, String)>> =
        pairs.into_iter().zip(trees).collect();
    let specs = cases.iter().map(|case| {
        let (base, head) = match &case.source {
            CaseSource::Files { base, head } => {
                (CommitContents::Files(base), CommitContents::Files(head))
            }
            CaseSource::Commits { base, head, .. } => {
                let (base, head) = trees.get(&(base.as_str(), head.as_str()))?.clone()?;
                (CommitContents::Tree(base), CommitContents::Tree(head))
            }
            CaseSource::Diff(_) => return None,
        };
        Some(ChangeSpec { message: message(case), base, head })
    });
    Ok(specs.collect())
}

/// Commit message: title and description of the case.
fn message(case: &Case) -> String {
    match case.body.trim() {
        "" => case.title.clone(),
        _ => format!("{}\n\n{}\n", case.title, case.body.trim_end()),
    }
}

fn labels(case: &Case, diff: &Diff) -> Labels {
    let lines = diff.files().iter().map(|file| file.additions.saturating_add(file.deletions));
    Labels {
        id: case.id.clone(),
        language: case.language.clone(),
        lines: lines.fold(0, u32::saturating_add),
        twin_of: case.twin_of.clone(),
        expected: case.expected.clone(),
        known_bad: case.known_bad.clone(),
    }
}

/// Places on the twin where a report would be about the same code as `issue`: the same lines, which
/// are on the other side there, and the lines that replace them.
fn on_twin(issue: &Expected, diff: &Diff) -> Vec<Span> {
    let mut places = Vec::new();
    for span in &issue.spans {
        let lines = (span.line_start(), span.line_end());
        let other = match span.side() {
            Side::Old => Side::New,
            Side::New => Side::Old,
        };
        let file = diff.files().iter().find(|file| {
            let old = file.old_path.as_ref().unwrap_or(&file.path);
            let path = match span.side() {
                Side::Old => old,
                Side::New => &file.path,
            };
            path.shown() == span.file()
        });
        let counterpart = match file {
            Some(file) => diff.counterpart(file, span.side(), lines),
            // An unchanged file is the same on both sides.
            None => Some(lines),
        };
        // A renamed file is known by both names.
        let names: BTreeSet<String> = match file {
            Some(file) => [Some(&file.path), file.old_path.as_ref()]
                .into_iter()
                .flatten()
                .map(|path| path.shown().into_owned())
                .collect(),
            None => BTreeSet::from([span.file().to_owned()]),
        };
        for name in names {
            places.extend(Span::new(&name, lines.0, lines.1, other));
            places.extend(
                counterpart.and_then(|(first, last)| Span::new(&name, first, last, span.side())),
            );
        }
    }
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests;
