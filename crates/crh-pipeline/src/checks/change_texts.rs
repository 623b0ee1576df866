//! Texts about a change that models can read: title, description, commits, linked issues, check
//! results, comments, and the names of untracked files.
//!
//! Invariant: each string of these texts is searched for prompt injection. [`ChangeText`] has kinds
//! for titles, descriptions, commit messages and comments. Strings of other fields are collected
//! from the JSON values, so a new field needs no code here.

use serde::Serialize;
use serde_json::Value;

use super::{comments, read_json};
use crate::workspace::{
    ChangeMetadata, CiStatus, CommitEntry, LinkedIssueEntry, Workspace, WorkspaceComment,
    WorkspaceThread,
};
use crh_lint::injection::ChangeText;

/// The texts of a workspace and the names of untracked files, and errors about texts that could not be
/// read.
pub(super) fn change_texts(
    workspace: &Workspace,
    untracked: &[String],
) -> (Vec<ChangeText>, Vec<String>) {
    let metadata = workspace.metadata();
    let mut texts =
        vec![ChangeText::title(&metadata.title), ChangeText::description(&metadata.body)];
    texts.extend(metadata.source_git_path.iter().map(|branch| ChangeText::other("branch", branch)));
    texts.push(ChangeText::other("labels", metadata.labels.join("\n")));
    let other_metadata = ChangeMetadata {
        title: String::new(),
        body: String::new(),
        source_git_path: None,
        labels: Vec::new(),
        ..metadata.clone()
    };
    let mut errors = Vec::new();
    push_strings(&mut texts, "metadata", &other_metadata);
    push_strings(&mut texts, "untracked files", &untracked);
    let commits: Vec<CommitEntry> = read_json(workspace, "commits.json", &mut errors);
    texts.extend(commits.iter().map(|commit| {
        ChangeText::commit(&commit.id, format!("{}\n\n{}", commit.subject, commit.body))
    }));
    let other_commit_fields: Vec<CommitEntry> = commits
        .into_iter()
        .map(|commit| CommitEntry { subject: String::new(), body: String::new(), ..commit })
        .collect();
    push_strings(&mut texts, "commits", &other_commit_fields);
    let issues: Vec<LinkedIssueEntry> = read_json(workspace, "linked-issues.json", &mut errors);
    for issue in &issues {
        push_strings(&mut texts, &format!("linked issue {}", issue.id), issue);
    }
    let ci: CiStatus = read_json(workspace, "ci.json", &mut errors);
    push_strings(&mut texts, "checks", &ci);
    let comments = comments(workspace, &mut errors);
    texts.extend(comments.iter().map(|comment| ChangeText::comment(&comment.id, &comment.content)));
    let other_comment_fields: Vec<WorkspaceComment> = comments
        .into_iter()
        .map(|comment| WorkspaceComment { content: String::new(), ..comment })
        .collect();
    push_strings(&mut texts, "comments", &other_comment_fields);
    for round in workspace.rounds() {
        let path = format!("preview-diffs/{}/comments/threads.json", round.id);
        let threads: Vec<WorkspaceThread> = read_json(workspace, &path, &mut errors);
        let threads: Vec<WorkspaceThread> = threads
            .into_iter()
            .map(|thread| WorkspaceThread { replies: Vec::new(), ..thread })
            .collect();
        push_strings(&mut texts, "comments", &threads);
    }
    (texts, errors)
}

/// Adds all strings of a value as one text, each once and as a paragraph of its own.
fn push_strings(texts: &mut Vec<ChangeText>, name: &str, value: &impl Serialize) {
    let mut strings = Vec::new();
    if let Ok(value) = serde_json::to_value(value) {
        collect_strings(&value, &mut strings);
    }
    strings.retain(|text| !text.is_empty());
    let mut seen = std::collections::HashSet::new();
    strings.retain(|text| seen.insert(text.clone()));
    if !strings.is_empty() {
        texts.push(ChangeText::other(name, strings.join("\n\n")));
    }
}

fn collect_strings(value: &Value, strings: &mut Vec<String>) {
    match value {
        Value::String(text) => strings.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect_strings(value, strings)),
        Value::Object(fields) => fields.values().for_each(|value| collect_strings(value, strings)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::workspace::{
        CiCheck, VoteEntry, WorkspaceContents, WorkspaceRound, write_workspace,
    };
    use crh_review::diff::Diff;

    /// A round of the change. Its comments have the round's id, so no two rounds share a text.
    fn round(id: &str) -> WorkspaceRound {
        let comment = |name: &str| WorkspaceComment {
            id: format!("text of {name} id {id}"),
            author: Some(format!("text of {name} author {id}")),
            created_at: Some("2026-01-01T00:00:00Z".to_owned()),
            content: format!("text of {name} content {id}"),
        };
        WorkspaceRound {
            id: id.to_owned(),
            created_at: Some("2026-01-01T00:00:00Z".to_owned()),
            base_rev: Some("b".repeat(40)),
            head_rev: Some("a".repeat(40)),
            diff: Diff::read("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n").into(),
            general: vec![comment("general")],
            threads: vec![WorkspaceThread {
                id: format!("text of thread id {id}"),
                file: Some("a".to_owned()),
                line: Some(1),
                resolved: false,
                outdated: false,
                replies: vec![comment("reply")],
            }],
            inline: BTreeMap::from([(1, vec![comment("inline")])]),
        }
    }

    /// Every field is listed, so that a new field needs a text here.
    fn contents() -> WorkspaceContents {
        let text = |name: &str| format!("text of {name}");
        WorkspaceContents {
            metadata: ChangeMetadata {
                url: text("url"),
                title: text("title"),
                body: text("body"),
                author: Some(text("author")),
                source_git_path: Some(text("source")),
                target_git_path: Some(text("target")),
                source_repository: Some(text("source repository")),
                target_repository: Some(text("target repository")),
                base_rev: Some("b".repeat(40)),
                head_rev: Some("a".repeat(40)),
                draft: false,
                state: Some(text("state")),
                labels: vec![text("label")],
                votes: vec![VoteEntry { by: text("voter"), vote: text("vote") }],
            },
            ci: CiStatus {
                checks: vec![CiCheck {
                    name: text("check"),
                    state: text("check state"),
                    url: Some(text("check url")),
                    summary: Some(text("check summary")),
                }],
            },
            commits: vec![CommitEntry {
                id: "a".repeat(40),
                author: text("commit author"),
                date: "2026-01-01T00:00:00Z".to_owned(),
                subject: text("subject"),
                body: text("commit body"),
            }],
            linked_issues: vec![LinkedIssueEntry {
                id: text("issue id"),
                title: text("issue title"),
                body: text("issue body"),
                url: text("issue url"),
            }],
            instructions: Vec::new(),
            context: Vec::new(),
            rounds: vec![round("1"), round("2")],
        }
    }

    /// Strings of all JSON files below a folder.
    fn stored_strings(folder: &Path, strings: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                stored_strings(&path, strings);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let bytes = std::fs::read(&path).unwrap();
                collect_strings(&serde_json::from_slice(&bytes).unwrap(), strings);
            }
        }
    }

    #[test]
    fn every_text_in_the_workspace_is_searched() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("workspace");
        write_workspace(&contents(), &folder).unwrap();
        let (texts, errors) = change_texts(
            &Workspace::open(&folder).unwrap(),
            &["text of an untracked name".to_owned()],
        );
        assert_eq!(errors, [""; 0]);
        let searched: String = texts.iter().map(|text| format!("{}\n", text.text())).collect();
        let mut stored = Vec::new();
        stored_strings(&folder, &mut stored);
        stored.push("text of an untracked name".to_owned());
        let stored: Vec<&String> =
            stored.iter().filter(|text| text.starts_with("text of ")).collect();
        assert!(stored.len() >= 25, "{stored:?}");
        for text in stored {
            assert!(searched.contains(text.as_str()), "not searched: {text}");
        }
    }
}
