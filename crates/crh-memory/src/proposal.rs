//! Proposes lessons from dismissals and from the history of the repository. A person accepts each
//! of them; crh never adds one to a file by itself.

use std::collections::BTreeMap;

use crate::history::{History, IssueEntry, OutcomeEntry};
use crate::lesson::{Lesson, Provenance, lesson_id, lesson_text, one_year_after};
use crate::outcome::OutcomeKind;
use crh_review::identity::content_id;
use crh_review::normalise_posted_title;

/// Maximum proposals from commits and documents: a person reads each of them.
const PROPOSALS_MAX: usize = 20;
/// Minimum fixes or reverts in one folder before crh proposes a lesson about the folder.
const MIN_FIXES: usize = 3;

/// A lesson that crh proposes, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonProposal {
    /// The lesson, unconfirmed.
    pub lesson: Lesson,
    /// What it is based on, one line each.
    pub evidence: Vec<String>,
}

/// A commit that repairs an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairCommit {
    /// Commit hash.
    pub commit: String,
    /// Subject of the commit.
    pub subject: String,
    /// Author.
    pub author: String,
    /// Day, `YYYY-MM-DD`.
    pub day: String,
    /// Files that it changes.
    pub files: Vec<String>,
}

/// A document about a solved problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SolutionDocument {
    /// Path of the document.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Paths that it names.
    pub files: Vec<String>,
    /// Day, `YYYY-MM-DD`.
    pub day: String,
}

/// Proposes lessons from dismissals with a reason. Dismissals of the same rule or title in the same
/// folder are one lesson.
pub fn from_dismissals(history: &History, today: &str) -> Vec<LessonProposal> {
    let mut by_subject: BTreeMap<(String, String), Vec<(&IssueEntry, &OutcomeEntry)>> =
        BTreeMap::new();
    // Also dismissals of issues that were not posted.
    for proposal in history.proposals().into_iter().chain([""]) {
        for (_, issue) in history.issues_of(proposal) {
            let Some(outcome) = history.outcome_of(proposal, &issue.key) else { continue };
            let Some(quote) = &outcome.quote else { continue };
            if outcome.kind != OutcomeKind::Dismissed || quote.reason.is_empty() {
                continue;
            }
            let subject =
                issue.rule.clone().unwrap_or_else(|| normalise_posted_title(&quote.title));
            by_subject
                .entry((subject, folder_glob(&issue.file)))
                .or_default()
                .push((issue, outcome));
        }
    }
    let lessons = by_subject.into_iter().filter_map(|((subject, glob), dismissals)| {
        dismissal_lesson(&subject, glob, &dismissals, today)
    });
    lessons.collect()
}

fn dismissal_lesson(
    subject: &str,
    glob: String,
    dismissals: &[(&IssueEntry, &OutcomeEntry)],
    today: &str,
) -> Option<LessonProposal> {
    let (issue, last) = dismissals.last()?;
    let quote = last.quote.as_ref()?;
    let learned_from: Vec<Provenance> = dismissals
        .iter()
        .map(|(_, outcome)| Provenance {
            by: outcome.by.clone(),
            at: outcome.url.clone(),
            on: day_of(&outcome.at),
        })
        .collect();
    let evidence = dismissals
        .iter()
        .filter_map(|(issue, outcome)| {
            let quote = outcome.quote.as_ref()?;
            Some(format!(
                "`{}` dismissed \"{}\" in `{}`: {} ({})",
                outcome.by, quote.title, issue.file, quote.reason, outcome.url
            ))
        })
        .collect();
    let lesson = Lesson {
        id: lesson_id(&quote.reason, &content_id(format!("{subject}\n{glob}").as_bytes())),
        text: lesson_text(&quote.reason),
        paths: vec![glob],
        category: Some(issue.category),
        rule: issue.rule.clone(),
        title: issue.rule.is_none().then(|| lesson_text(&quote.title)),
        learned_from,
        confirmed_by: None,
        expires: one_year_after(today),
    };
    Some(LessonProposal { lesson, evidence })
}

/// Whether a subject says that the commit repairs an earlier one.
pub fn is_repair(subject: &str) -> bool {
    let subject = subject.to_lowercase();
    let starts = ["fix", "revert", "hotfix", "bugfix"];
    let first = subject.split(|char: char| !char.is_alphanumeric()).find(|word| !word.is_empty());
    first.is_some_and(|word| {
        starts.iter().any(|start| word == *start || word == format!("{start}es"))
    }) || subject.contains(": fix ")
        || subject.contains("this reverts")
}

/// Proposes a lesson for each folder that was repaired several times: reviewers should look there
/// with care. Such a lesson holds nothing back.
pub fn from_repairs(repairs: &[RepairCommit], today: &str) -> Vec<LessonProposal> {
    let mut by_folder: BTreeMap<String, Vec<&RepairCommit>> = BTreeMap::new();
    for repair in repairs {
        let mut globs: Vec<String> = repair.files.iter().map(|file| folder_glob(file)).collect();
        globs.sort();
        globs.dedup();
        for glob in globs {
            by_folder.entry(glob).or_default().push(repair);
        }
    }
    let mut folders: Vec<(String, Vec<&RepairCommit>)> =
        by_folder.into_iter().filter(|(_, repairs)| repairs.len() >= MIN_FIXES).collect();
    folders.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
    let lesson = |(glob, repairs): (String, Vec<&RepairCommit>)| {
        let subjects: Vec<&str> =
            repairs.iter().take(2).map(|repair| repair.subject.as_str()).collect();
        let text = lesson_text(&format!(
            "{} commits repaired this code; look for the same mistakes: {}",
            repairs.len(),
            subjects.join("; ")
        ));
        let shown = repairs.iter().take(PROPOSALS_MAX);
        LessonProposal {
            lesson: informing_lesson(
                lesson_id(&format!("repaired {glob}"), &content_id(glob.as_bytes())),
                text,
                vec![glob],
                shown.clone().map(|repair| repair.provenance()).collect(),
                today,
            ),
            evidence: shown
                .map(|it| format!("{} {}", it.commit.get(..12).unwrap_or(&it.commit), it.subject))
                .collect(),
        }
    };
    folders.into_iter().take(PROPOSALS_MAX).map(lesson).collect()
}

/// Proposes a lesson for each document about a solved problem that names files.
pub fn from_documents(documents: &[SolutionDocument], today: &str) -> Vec<LessonProposal> {
    let named = documents.iter().filter(|document| !document.files.is_empty());
    let lesson = |document: &SolutionDocument| {
        let provenance = Provenance {
            by: "documentation".to_owned(),
            at: document.path.clone(),
            on: document.day.clone(),
        };
        let text =
            lesson_text(&format!("Solved before, see {}: {}", document.path, document.title));
        let id = lesson_id(&document.title, &content_id(document.path.as_bytes()));
        let paths = document.files.iter().take(5).cloned().collect();
        LessonProposal {
            lesson: informing_lesson(id, text, paths, vec![provenance], today),
            evidence: vec![format!("{} names {}", document.path, document.files.join(", "))],
        }
    };
    named.take(PROPOSALS_MAX).map(lesson).collect()
}

/// A lesson that informs reviewers and holds nothing back.
fn informing_lesson(
    id: String,
    text: String,
    paths: Vec<String>,
    learned_from: Vec<Provenance>,
    today: &str,
) -> Lesson {
    let expires = one_year_after(today);
    let (category, rule, title, confirmed_by) = (None, None, None, None);
    Lesson { id, text, paths, category, rule, title, learned_from, confirmed_by, expires }
}

impl RepairCommit {
    fn provenance(&self) -> Provenance {
        Provenance { by: self.author.clone(), at: self.commit.clone(), on: self.day.clone() }
    }
}

/// The files of the same kind in the folder of a file: `tools/*.py`. A file in the root gives its own
/// name.
fn folder_glob(file: &str) -> String {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    match (folder, extension) {
        ("", _) => format!("/{}", escape_glob(file)),
        (_, Some(extension)) => {
            format!("{}/*.{}", escape_glob(folder), escape_glob(extension))
        }
        (_, None) => format!("{}/*", escape_glob(folder)),
    }
}

/// A path as a pattern that matches only itself.
fn escape_glob(path: &str) -> String {
    let escape = |char: char| match char {
        // A class cannot hold a backslash.
        '\\' => "?".to_owned(),
        '*' | '?' | '[' | ']' | '{' | '}' => format!("[{char}]"),
        _ => char.to_string(),
    };
    path.chars().map(escape).collect()
}

fn day_of(time: &str) -> String {
    time.get(..10).unwrap_or(time).to_owned()
}

#[cfg(test)]
mod tests;
