//! Extra material that some reviewers get: paths of standards, solutions of earlier problems,
//! comments, migrations. Prompts fence all of it as data, since it comes from the repository or
//! from people.

use std::collections::BTreeMap;

use super::solutions::{Solution, solutions_for};
use super::standards::{StandardsFile, standards_for};
use crate::change_under_review::ChangeUnderReview;
use crate::facts::ChangeFacts;
use crate::prompts::fence;
use crate::reviewers::ExtraMaterial;
use crate::text::{cut, one_line};
use crate::workspace::{Workspace, WorkspaceComment, WorkspaceThread};

/// Maximum length of the comments, and of the list of migrations: about twenty conversations or six
/// hundred paths. Reviewers read the rest with tools.
const MATERIAL_CHARS_MAX: usize = 30_000;
/// Maximum characters of a comment.
const COMMENT_CHARS: usize = 1_000;

/// The material by kind, and notes on files that could not be read. Empty kinds are left out.
pub(super) fn extra_material(
    change: &ChangeUnderReview,
    facts: &ChangeFacts,
    intent: &str,
) -> (BTreeMap<ExtraMaterial, String>, Vec<String>) {
    let standards = standards_for(change).iter().map(standards_entry).collect();
    let (solutions, notes) = solutions_for(change, intent);
    let solutions = solutions.iter().map(solution_entry).collect();
    let migrations =
        bounded_entries(facts.migrations().map(|path| format!("{path}\n")), "`diff_list_files`");
    let rows: [(ExtraMaterial, &str, String); 4] = [
        (ExtraMaterial::Standards, "standards-paths", standards),
        (ExtraMaterial::Solutions, "solutions", solutions),
        (ExtraMaterial::Comments, "comments", comments(change)),
        (ExtraMaterial::Migrations, "migrations", migrations),
    ];
    let present = rows.into_iter().filter(|(_, _, text)| !text.is_empty());
    (present.map(|(material, kind, text)| (material, fence(kind, &text))).collect(), notes)
}

fn standards_entry(standard: &StandardsFile) -> String {
    let StandardsFile { place, path, folder } = standard;
    let area =
        if folder.is_empty() { "the whole repository".to_owned() } else { format!("`{folder}/`") };
    format!("{path} (for {area}; read it as `{place}` and cite it as `{path}`)\n")
}

fn solution_entry(solution: &Solution) -> String {
    format!("{}\n{}\n\n", solution.path, solution.text.trim_end())
}

/// Comments on the change. Review threads come first, with their place and state.
fn comments(change: &ChangeUnderReview) -> String {
    let Ok(workspace) = change.workspace() else { return String::new() };
    let mut entries: Vec<String> = Vec::new();
    for round in workspace.rounds() {
        entries.extend(threads(workspace, &round.id).iter().map(thread_entry));
    }
    for round in workspace.rounds() {
        let general = workspace.general_comments(&round.id).unwrap_or_default();
        entries.extend(
            general.iter().map(|comment| format!("about the change\n{}", comment_entry(comment))),
        );
    }
    bounded_entries(entries, "`comments_general` and `comments_inline`")
}

/// Entries up to [`MATERIAL_CHARS_MAX`], then the number of omitted entries and the tools that show
/// them.
fn bounded_entries(entries: impl IntoIterator<Item = String>, tools: &str) -> String {
    let mut text = String::new();
    let mut omitted = 0;
    for entry in entries {
        if omitted == 0 && text.len() + entry.len() <= MATERIAL_CHARS_MAX {
            text.push_str(&entry);
        } else {
            omitted += 1;
        }
    }
    if omitted > 0 {
        text.push_str(&format!("[{omitted} more: {tools}]\n"));
    }
    text
}

fn threads(workspace: &Workspace, round: &str) -> Vec<WorkspaceThread> {
    let path = format!("preview-diffs/{round}/comments/threads.json");
    let bytes = workspace.bytes(&path).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn thread_entry(thread: &WorkspaceThread) -> String {
    let file = one_line(thread.file.as_deref().unwrap_or("no file"));
    let line = thread.line.map(|line| format!(":{line}")).unwrap_or_default();
    let resolved = if thread.resolved { ", resolved" } else { "" };
    let outdated = if thread.outdated { ", its code has changed since" } else { "" };
    let replies: String = thread.replies.iter().map(comment_entry).collect();
    format!("about {file}{line}{resolved}{outdated}\n{replies}")
}

fn comment_entry(comment: &WorkspaceComment) -> String {
    let author = one_line(comment.author.as_deref().unwrap_or("somebody"));
    format!("  {author}: {}\n", cut(&one_line(&comment.content), COMMENT_CHARS))
}
