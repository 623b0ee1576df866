//! The plan that a change is held against: looked for where it may be named, read from the change itself.

use std::collections::BTreeSet;

use crate::requirements;
use crate::requirements::{Clues, Discovered};
use crate::subject::Subject;
use crate::terms::PanelTerms;
use crh_review::diff::RepoPath;

/// So many plans are looked through by name; a folder with more is an archive.
const PLANS_MAX: usize = 2_000;

/// The plan that was named, or the one that the change names.
pub(super) fn discovered(subject: &Subject, terms: &PanelTerms) -> Discovered {
    let Ok(workspace) = subject.workspace() else { return Discovered::default() };
    let metadata = workspace.metadata();
    let plans = plans(subject);
    let clues = Clues {
        explicit: terms.plan.as_ref().map(|plan| (plan.path.as_str(), plan.text.as_str())),
        title: &metadata.title,
        body: &metadata.body,
        branch: metadata.source_git_path.as_deref().map(branch).unwrap_or_default(),
        plans: &plans,
    };
    let mut found = requirements::discover(&clues, |path| text(subject, path));
    let waived: BTreeSet<String> = terms.waived.iter().cloned().collect();
    let unknown = match &found.document {
        Some(document) => requirements::not_in_plan(document, &waived),
        None => waived.into_iter().collect(),
    };
    if !unknown.is_empty() {
        let ids = unknown.join(", ");
        found.notes.push(format!("nothing is waived by {ids}: the plan asks for no such thing"));
    }
    found
}

/// The name of a branch: what every ref begins with says nothing about this one.
fn branch(git_path: &str) -> &str {
    git_path.strip_prefix("refs/heads/").unwrap_or(git_path)
}

/// The files in the folder of plans after the change.
fn plans(subject: &Subject) -> Vec<String> {
    let Ok(revisions) = subject.bench.repository() else { return Vec::new() };
    let Some(head) = revisions.named(Some("head")) else { return Vec::new() };
    let folder = requirements::FOLDER.trim_end_matches('/');
    let entries = revisions.objects().folder(head, folder).unwrap_or_default();
    let files = entries.into_iter().filter(|entry| entry.kind.is_file()).take(PLANS_MAX);
    files.map(|entry| RepoPath::new(entry.path).shown().into_owned()).collect()
}

fn text(subject: &Subject, path: &str) -> Option<String> {
    let revisions = subject.bench.repository().ok()?;
    let head = revisions.named(Some("head"))?;
    String::from_utf8(revisions.objects().file(head, path.as_bytes()).ok()?).ok()
}
