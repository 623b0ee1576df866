//! What a change is for, as far as code can tell: its title and what its author wrote first, or the subjects of its commits.

use serde::Serialize;

use crate::subject::Subject;
use crate::text::{cut, ended, one_line};
use crate::workspace::{Commit, Metadata};

/// The longest statement of a change's goal, in characters: three sentences.
pub(super) const INTENT_CHARS: usize = 600;

/// How many subjects of commits say what a change is for; the rest are steps on the way.
const SUBJECTS: usize = 4;

/// Titles that say nothing, in lower case.
const EMPTY_WORDS: [&str; 14] = [
    "wip", "fix", "fixes", "update", "updates", "changes", "change", "misc", "stuff", "cleanup",
    "refactor", "test", "tmp", "progress",
];

/// What a change is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Intent {
    /// In two or three sentences; empty if nobody knows.
    pub text: String,
    /// What about it is unclear, in a sentence.
    pub doubt: Option<String>,
}

/// What a change says about itself. What is not told is a doubt.
pub(super) fn by_code(subject: &Subject) -> Intent {
    let Ok(workspace) = subject.workspace() else { return unknown() };
    let commits = workspace.bytes("commits.json").ok();
    let commits: Vec<Commit> =
        commits.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    stated(workspace.metadata(), &commits)
}

fn stated(metadata: &Metadata, commits: &[Commit]) -> Intent {
    let title = one_line(&metadata.title);
    let body = metadata.body.split("\n\n").map(one_line).find(|paragraph| is_prose(paragraph));
    let subjects: Vec<String> =
        commits.iter().map(|commit| one_line(&commit.subject)).filter(|it| says(it)).collect();
    let more = body.or_else(|| {
        let mut first = subjects.clone();
        first.truncate(SUBJECTS);
        first.retain(|subject| *subject != title);
        (!first.is_empty()).then(|| first.join("; "))
    });
    let all: Vec<String> = [Some(title.clone()).filter(|title| says(title)), more]
        .into_iter()
        .flatten()
        .map(|text| ended(&text))
        .collect();
    match all.is_empty() {
        true => unknown(),
        false => Intent { text: cut(&all.join(" "), INTENT_CHARS), doubt: None },
    }
}

fn unknown() -> Intent {
    let doubt = "neither its title nor its commits say what the change is for".to_owned();
    Intent { text: String::new(), doubt: Some(doubt) }
}

/// Whether a paragraph is a sentence and not the skeleton of a template.
fn is_prose(paragraph: &str) -> bool {
    let is_skeleton = paragraph.starts_with(['#', '-', '*', '<', '|', '>', '`', '[']);
    !is_skeleton && says(paragraph)
}

/// Whether a line says something: more than a word that fits every change.
fn says(line: &str) -> bool {
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
        let metadata =
            Metadata { title: title.to_owned(), body: body.to_owned(), ..Metadata::default() };
        let commit = |subject: &&str| Commit {
            id: String::new(),
            author: String::new(),
            date: String::new(),
            subject: (*subject).to_owned(),
            body: String::new(),
        };
        let commits: Vec<Commit> = subjects.iter().map(commit).collect();
        assert_eq!(stated(&metadata, &commits).text, expected, "{title} {body} {subjects:?}");
    }

    #[test]
    fn the_title_and_the_first_sentence_of_the_author_say_what_a_change_is_for() {
        check(
            "Flat tax rate",
            "## What\n\nThe lookup by tiers goes away.\n\nMore.",
            &["wip"],
            "Flat tax rate. The lookup by tiers goes away.",
        );
        check("Flat tax rate", "- [ ] tests", &[], "Flat tax rate.");
    }

    #[test]
    fn without_a_word_of_the_author_the_commits_say_it() {
        check("", "", &["Read rates from a file", "fix"], "Read rates from a file.");
        check("fix", "", &["wip", "Round half up", "2"], "Round half up.");
        check("Round half up", "", &["Round half up"], "Round half up.");
    }

    #[test]
    fn words_that_fit_every_change_say_nothing() {
        check("WIP", "", &["fix 2", "update"], "");
        let nothing = stated(&Metadata::default(), &[]);
        assert!(nothing.doubt.is_some());
    }
}
