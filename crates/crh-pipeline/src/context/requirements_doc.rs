//! Finds the requirements document of a change.

use std::collections::BTreeSet;

use crate::change_under_review::ChangeUnderReview;
use crate::requirements;
use crate::requirements::{DescriptionSource, RequirementsClues, RequirementsSearch};
use crate::review_options::{PanelOptions, ReviewOptions};
use crh_review::diff::RepoPath;

/// Maximum number of files in the plans folder that crh considers.
const PLANS_MAX: usize = 2_000;

/// The document that the user named, or one that the change refers to.
pub(super) fn find_requirements(
    change: &ChangeUnderReview,
    options: &PanelOptions,
) -> RequirementsSearch {
    let Ok(workspace) = change.workspace() else { return RequirementsSearch::default() };
    let metadata = workspace.metadata();
    let mut plans = plan_paths(change);
    plans.extend(options.untracked_plans.iter().map(|plan| plan.path.clone()));
    let clues = RequirementsClues {
        explicit: options.plan.as_ref().map(|plan| (plan.path.as_str(), plan.text.as_str())),
        title: &metadata.title,
        body: &metadata.body,
        // A local change has no URL.
        body_source: match metadata.url.is_empty() {
            true => DescriptionSource::Commits,
            false => DescriptionSource::Proposal,
        },
        branch: metadata.source_git_path.as_deref().map(branch_name).unwrap_or_default(),
        plans: &plans,
    };
    let untracked_text = |path: &str| {
        let plan = options.untracked_plans.iter().find(|plan| plan.path == path)?;
        Some(plan.text.clone())
    };
    let mut search = requirements::discover(&clues, |path| {
        file_text(change, path).or_else(|| untracked_text(path))
    });
    let waived: BTreeSet<String> = options.waived.iter().cloned().collect();
    let unknown = match &search.document {
        Some(document) => requirements::not_in_plan(document, &waived),
        None => waived.into_iter().collect(),
    };
    if !unknown.is_empty() {
        let ids = unknown.join(", ");
        search.notes.push(format!("`--waive` names unknown requirements: {ids}"));
    }
    search
}

/// A note on the plan of the change, for strategies that check no plan. None without requirements.
pub(super) fn unchecked_plan_note(
    change: &ChangeUnderReview,
    options: &ReviewOptions,
) -> Option<String> {
    let document = find_requirements(change, &options.panel).document?;
    (!document.items.is_empty()).then(|| {
        format!(
            "the plan `{}` was not checked: the strategy `{}` checks no plan; pass `--strategy panel`",
            document.path, options.strategy
        )
    })
}

/// The branch name without `refs/heads/`.
fn branch_name(git_path: &str) -> &str {
    git_path.strip_prefix("refs/heads/").unwrap_or(git_path)
}

/// Files in the plans folder at head.
fn plan_paths(change: &ChangeUnderReview) -> Vec<String> {
    let Ok(revisions) = change.tool_context.repository() else { return Vec::new() };
    let Some(head) = revisions.resolve(Some("head")) else { return Vec::new() };
    let folder = requirements::PLANS_FOLDER.trim_end_matches('/');
    let entries = revisions.objects().folder(head, folder).unwrap_or_default();
    let files = entries.into_iter().filter(|entry| entry.kind.is_file()).take(PLANS_MAX);
    files.map(|entry| RepoPath::new(entry.path).shown().into_owned()).collect()
}

fn file_text(change: &ChangeUnderReview, path: &str) -> Option<String> {
    let revisions = change.tool_context.repository().ok()?;
    let head = revisions.resolve(Some("head"))?;
    String::from_utf8(revisions.objects().file(head, path.as_bytes()).ok()?).ok()
}
