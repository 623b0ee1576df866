//! The purpose of a change, taken from its title, and from its description or commit subjects.

use serde::Serialize;

use crate::change_under_review::ChangeUnderReview;
use crate::text::{cut, one_line, with_period};
use crate::workspace::{ChangeMetadata, CommitEntry};

/// Maximum characters of an intent: about three sentences.
pub(super) const INTENT_CHARS: usize = 600;

/// Maximum number of commit subjects in an intent.
const SUBJECTS_MAX: usize = 4;

/// Words that could describe any change, in lower case.
const EMPTY_WORDS: [&str; 15] = [
    "wip",
    "fix",
    "fixes",
    "update",
    "updates",
    "changes",
    "change",
    "misc",
    "stuff",
    "cleanup",
    "refactor",
    "test",
    "tmp",
    "progress",
    "uncommitted",
];

/// The purpose of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Intent {
    /// Two or three sentences. Empty if unknown.
    pub text: String,
    /// A sentence on what is unclear about the change. None if the intent is clear.
    pub doubt: Option<String>,
}

/// The intent that the change states. If it states none, the result has a doubt.
pub(super) fn intent_from_metadata(change: &ChangeUnderReview) -> Intent {
    let Ok(workspace) = change.workspace() else { return unknown_intent() };
    let commits = workspace.bytes("commits.json").ok();
    let commits: Vec<CommitEntry> =
        commits.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    stated_intent(workspace.metadata(), &commits)
}

fn stated_intent(metadata: &ChangeMetadata, commits: &[CommitEntry]) -> Intent {
    let title = one_line(&metadata.title);
    let body = metadata.body.split("\n\n").map(one_line).find(|paragraph| is_prose(paragraph));
    let subjects: Vec<String> = commits
        .iter()
        .map(|commit| one_line(&commit.subject))
        .filter(|subject| is_informative(subject))
        .collect();
    let details = body.or_else(|| {
        let mut shown_subjects = subjects.clone();
        shown_subjects.truncate(SUBJECTS_MAX);
        shown_subjects.retain(|subject| *subject != title);
        (!shown_subjects.is_empty()).then(|| shown_subjects.join("; "))
    });
    let sentences: Vec<String> =
        [Some(title.clone()).filter(|title| is_informative(title)), details]
            .into_iter()
            .flatten()
            .map(|text| with_period(&text))
            .collect();
    match sentences.is_empty() {
        true => unknown_intent(),
        false => Intent { text: cut(&sentences.join(" "), INTENT_CHARS), doubt: None },
    }
}

fn unknown_intent() -> Intent {
    let doubt = "neither its title nor its commits say what the change is for".to_owned();
    Intent { text: String::new(), doubt: Some(doubt) }
}

/// Whether a paragraph is prose and not part of a template.
fn is_prose(paragraph: &str) -> bool {
    let is_template_line = paragraph.starts_with(['#', '-', '*', '<', '|', '>', '`', '[']);
    !is_template_line && is_informative(paragraph)
}

/// Whether a line has a word that says something about this change.
fn is_informative(line: &str) -> bool {
    let words: Vec<String> = line
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.iter().any(|word| !EMPTY_WORDS.contains(&word.as_str()) && !is_number(word))
}

fn is_number(word: &str) -> bool {
    word.chars().all(|char| char.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(title: &str, body: &str, subjects: &[&str], expected: &str) {
        let metadata = ChangeMetadata {
            title: title.to_owned(),
            body: body.to_owned(),
            ..ChangeMetadata::default()
        };
        let commit = |subject: &&str| CommitEntry {
            id: String::new(),
            author: String::new(),
            date: String::new(),
            subject: (*subject).to_owned(),
            body: String::new(),
        };
        let commits: Vec<CommitEntry> = subjects.iter().map(commit).collect();
        assert_eq!(
            stated_intent(&metadata, &commits).text,
            expected,
            "{title} {body} {subjects:?}"
        );
    }

    #[test]
    fn intent_is_title_and_first_paragraph() {
        check(
            "Flat tax rate",
            "## What\n\nThe lookup by tiers goes away.\n\nMore.",
            &["wip"],
            "Flat tax rate. The lookup by tiers goes away.",
        );
        check("Flat tax rate", "- [ ] tests", &[], "Flat tax rate.");
    }

    #[test]
    fn intent_falls_back_to_commit_subjects() {
        check("", "", &["Read rates from a file", "fix"], "Read rates from a file.");
        check("fix", "", &["wip", "Round half up", "2"], "Round half up.");
        check("Round half up", "", &["Round half up"], "Round half up.");
    }

    #[test]
    fn generic_words_give_no_intent() {
        check("WIP", "", &["fix 2", "update"], "");
        check(crh_git::SNAPSHOT_SUBJECT, "", &[], "");
        check("Warn about uncommitted changes", "", &[], "Warn about uncommitted changes.");
        let nothing = stated_intent(&ChangeMetadata::default(), &[]);
        assert!(nothing.doubt.is_some());
    }
}
