//! What some reviewers are given besides the change: where the standards are, solutions of earlier problems, what people said, the
//! migrations. Everything is fenced: it comes from the repository or from people.

use std::collections::BTreeMap;

use super::solutions::{Solution, solutions_for};
use super::standards::{Standard, standards_for};
use crate::facts::Facts;
use crate::prompts::fence;
use crate::reviewers::Given;
use crate::subject::Subject;
use crate::text::{cut, one_line};
use crate::workspace::{Comment, Thread, Workspace};

/// The most characters of one kind: some twenty conversations, or six hundred migrations. Tools show the rest.
const GIVEN_CHARS: usize = 30_000;
/// How much of one comment is shown, in characters.
const COMMENT_CHARS: usize = 1_000;

/// What there is to give, by kind, and what could not be read. What a change does not have is not in it.
pub(super) fn given(
    subject: &Subject,
    facts: &Facts,
    intent: &str,
) -> (BTreeMap<Given, String>, Vec<String>) {
    let standards = standards_for(subject).iter().map(standard).collect();
    let (solutions, notes) = solutions_for(subject, intent);
    let solutions = solutions.iter().map(solution).collect();
    let migrations =
        bounded(facts.migrations().map(|path| format!("{path}\n")), "`diff_list_files`");
    let rows: [(Given, &str, String); 4] = [
        (Given::Standards, "standards-paths", standards),
        (Given::Solutions, "solutions", solutions),
        (Given::Comments, "comments", comments(subject)),
        (Given::Migrations, "migrations", migrations),
    ];
    let there = rows.into_iter().filter(|(_, _, text)| !text.is_empty());
    (there.map(|(given, kind, text)| (given, fence(kind, &text))).collect(), notes)
}

fn standard(standard: &Standard) -> String {
    let Standard { place, path, folder } = standard;
    let of =
        if folder.is_empty() { "the whole repository".to_owned() } else { format!("`{folder}/`") };
    format!("{path} (for {of}; read it as `{place}` and cite it as `{path}`)\n")
}

fn solution(solution: &Solution) -> String {
    format!("{}\n{}\n\n", solution.path, solution.text.trim_end())
}

/// What people said about the change, conversations first: each with its place and whether it is settled.
fn comments(subject: &Subject) -> String {
    let Ok(workspace) = subject.workspace() else { return String::new() };
    let mut rows: Vec<String> = Vec::new();
    for round in workspace.rounds() {
        rows.extend(threads(workspace, &round.id).iter().map(conversation));
    }
    for round in workspace.rounds() {
        let general = workspace.general_comments(&round.id).unwrap_or_default();
        rows.extend(general.iter().map(|comment| format!("about the change\n{}", said(comment))));
    }
    bounded(rows, "`comments_general` and `comments_inline`")
}

/// Rows as far as there is room; how many more there are, and which tools show them.
fn bounded(rows: impl IntoIterator<Item = String>, tools: &str) -> String {
    let mut text = String::new();
    let mut more = 0;
    for row in rows {
        if more == 0 && text.len() + row.len() <= GIVEN_CHARS {
            text.push_str(&row);
        } else {
            more += 1;
        }
    }
    if more > 0 {
        text.push_str(&format!("[{more} more: {tools}]\n"));
    }
    text
}

fn threads(workspace: &Workspace, round: &str) -> Vec<Thread> {
    let path = format!("preview-diffs/{round}/comments/threads.json");
    let bytes = workspace.bytes(&path).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn conversation(thread: &Thread) -> String {
    let file = one_line(thread.file.as_deref().unwrap_or("no file"));
    let line = thread.line.map(|line| format!(":{line}")).unwrap_or_default();
    let resolved = if thread.resolved { ", resolved" } else { "" };
    let outdated = if thread.outdated { ", its code has changed since" } else { "" };
    let said: String = thread.replies.iter().map(said).collect();
    format!("about {file}{line}{resolved}{outdated}\n{said}")
}

fn said(comment: &Comment) -> String {
    let author = one_line(comment.author.as_deref().unwrap_or("somebody"));
    format!("  {author}: {}\n", cut(&one_line(&comment.content), COMMENT_CHARS))
}
