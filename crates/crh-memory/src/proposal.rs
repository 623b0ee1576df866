//! Proposes lessons from dismissals, repair commits, review comments and documents. A person
//! accepts each of them; crh never adds one to a file by itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::history::{History, IssueEntry, OutcomeEntry};
use crate::lesson::{
    Lesson, Provenance, is_protected_kind, lesson_id, lesson_text, one_year_after,
};
use crate::outcome::OutcomeKind;
use crh_review::identity::content_id;
use crh_review::normalise_posted_title;

/// Maximum lessons from each source (commits, documents, comments), and maximum evidence of a
/// lesson: a person reads them all.
const PROPOSALS_MAX: usize = 20;
/// Maximum path patterns of a lesson from comments.
const COMMENT_PATHS_MAX: usize = 5;
/// Minimum words of a sentence that can become a lesson.
const MIN_WORDS: usize = 4;
/// Two sentences state the same rule if they share at least this percentage of their words.
const SAME_WORDS_PERCENT: usize = 60;
/// Minimum repair commits in one folder before crh proposes a lesson about the folder.
const MIN_FIXES: usize = 3;

/// A lesson that crh proposes, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonProposal {
    /// The lesson, unconfirmed.
    pub lesson: Lesson,
    /// Dismissals, commits, comments or documents that support the lesson, one line each.
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

/// A comment of a maintainer on a line of another author's change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewComment {
    /// Number of the proposed change.
    pub proposal: u64,
    /// Login of the maintainer.
    pub by: String,
    /// File of the line.
    pub file: String,
    /// Text.
    pub body: String,
    /// Web address.
    pub url: String,
    /// Day, `YYYY-MM-DD`.
    pub day: String,
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

/// Proposes lessons from dismissals with a reason. Dismissals of the same rule or title in one
/// folder, for files with the same extension, are one lesson.
pub fn from_dismissals(history: &History, today: &str) -> Vec<LessonProposal> {
    let mut by_rule_or_title: BTreeMap<(String, String), Vec<(&IssueEntry, &OutcomeEntry)>> =
        BTreeMap::new();
    // Issues that were not posted are stored with an empty number of a pull request.
    for proposal in history.proposals().into_iter().chain([""]) {
        for (_, issue) in history.issues_of(proposal) {
            let Some(outcome) = history.outcome_of(proposal, &issue.key) else { continue };
            let Some(quote) = &outcome.quote else { continue };
            if outcome.kind != OutcomeKind::Dismissed || quote.reason.is_empty() {
                continue;
            }
            let subject =
                issue.rule.clone().unwrap_or_else(|| normalise_posted_title(&quote.title));
            by_rule_or_title
                .entry((subject, folder_glob(&issue.file)))
                .or_default()
                .push((issue, outcome));
        }
    }
    let lessons = by_rule_or_title.into_iter().filter_map(|((subject, glob), dismissals)| {
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
    // A lesson hides findings by its rule or title. It must not hide those of a protected kind.
    let may_hide_findings = !is_protected_kind(issue.rule.as_deref(), issue.category);
    let title = issue.rule.is_none().then(|| lesson_text(&quote.title));
    let lesson = Lesson {
        id: lesson_id(&quote.reason, &content_id(format!("{subject}\n{glob}").as_bytes())),
        text: lesson_text(&quote.reason),
        paths: vec![glob],
        category: Some(issue.category),
        rule: issue.rule.clone().filter(|_| may_hide_findings),
        title: title.filter(|_| may_hide_findings),
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
/// with care. Such a lesson hides no finding.
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
    let with_files = documents.iter().filter(|document| !document.files.is_empty());
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
    with_files.take(PROPOSALS_MAX).map(lesson).collect()
}

/// Number of the proposed change that a commit merges, from the texts that forges write into
/// commits.
pub fn merged_proposal(subject: &str, body: &str) -> Option<u64> {
    let number_after = |text: &str, mark: &str| {
        let (_, rest) = text.rsplit_once(mark)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|number| *number > 0)
    };
    // The subject of a squashed commit ends with `(#12)`. Another form is
    // `Merge pull request 'title' (#12) from a into b`.
    let has_own_number =
        subject.trim_end().ends_with(')') || subject.starts_with("Merge pull request '");
    number_after(subject, "Merge pull request #")
        .or_else(|| number_after(subject, "(#").filter(|_| has_own_number))
        .or_else(|| {
            number_after(body.lines().find(|line| line.starts_with("See merge request "))?, "!")
        })
}

/// Proposes lessons from sentences that state a rule, if the sentence states a convention of the
/// project or maintainers wrote it in at least two proposed changes. Such a lesson hides no finding.
pub fn from_comments(comments: &[ReviewComment], today: &str) -> Vec<LessonProposal> {
    let mut groups: Vec<Vec<(String, &ReviewComment)>> = Vec::new();
    for comment in comments {
        for sentence in rule_sentences(&comment.body) {
            let same = groups.iter_mut().find(|it| is_same_rule(&it[0].0, &sentence));
            match same {
                Some(group) => group.push((sentence, comment)),
                None => groups.push(vec![(sentence, comment)]),
            }
        }
    }
    let count = |group: &[(String, &ReviewComment)]| {
        group.iter().map(|(_, comment)| comment.proposal).collect::<BTreeSet<u64>>().len()
    };
    groups.retain(|group| count(group) >= 2 || states_convention(&group[0].0));
    groups.sort_by_key(|group| Reverse(count(group)));
    groups.iter().take(PROPOSALS_MAX).filter_map(|it| comment_lesson(it, today)).collect()
}

fn comment_lesson(group: &[(String, &ReviewComment)], today: &str) -> Option<LessonProposal> {
    let (sentence, _) = group.first()?;
    let globs: BTreeSet<String> = group.iter().map(|(_, it)| folder_glob(&it.file)).collect();
    let provenance = group.iter().take(PROPOSALS_MAX).map(|(_, comment)| Provenance {
        by: comment.by.clone(),
        at: comment.url.clone(),
        on: comment.day.clone(),
    });
    let evidence = group.iter().take(PROPOSALS_MAX).map(|(sentence, comment)| {
        format!("`{}` wrote in `{}`: {sentence} ({})", comment.by, comment.file, comment.url)
    });
    let id = lesson_id(sentence, &content_id(words(sentence).join(" ").as_bytes()));
    let paths = globs.into_iter().take(COMMENT_PATHS_MAX).collect();
    Some(LessonProposal {
        lesson: informing_lesson(id, lesson_text(sentence), paths, provenance.collect(), today),
        evidence: evidence.collect(),
    })
}

/// Words that state a rule.
const RULE_WORDS: [&str; 12] = [
    "always",
    "never",
    "must",
    "prefer",
    "avoid",
    "convention",
    "don't",
    "do not",
    "instead of",
    "please use",
    "we use",
    "as a rule",
];
/// Words that state a convention of the whole project.
const CONVENTION_WORDS: [&str; 8] = [
    "always",
    "never",
    "convention",
    "as a rule",
    "in this repo",
    "in this repository",
    "in this project",
    "in this codebase",
];

/// Sentences of a comment that state a rule. Quoted lines, fenced code, questions and sentences of
/// fewer than [`MIN_WORDS`] do not count.
fn rule_sentences(body: &str) -> Vec<String> {
    let mut is_code = false;
    let mut sentences = Vec::new();
    for line in body.lines().map(str::trim) {
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with('>') && !line.starts_with("<!--") {
            let line = line.trim_start_matches(['-', '*', ' ']);
            sentences.extend(split_sentences(line));
        }
    }
    let sentences = sentences.into_iter().map(str::trim);
    let is_rule = |it: &&str| {
        !it.ends_with('?') && words(it).len() >= MIN_WORDS && has_phrase(it, &RULE_WORDS)
    };
    sentences.filter(is_rule).map(lesson_text).collect()
}

/// Splits a line into sentences. A dot ends a sentence only if a space follows.
fn split_sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut rest = line;
    while let Some(end) =
        rest.find(". ").into_iter().chain(rest.find("! ")).chain(rest.find("? ")).min()
    {
        let (sentence, after) = rest.split_at(end + 1);
        sentences.push(sentence);
        rest = after;
    }
    sentences.push(rest);
    sentences
}

fn states_convention(sentence: &str) -> bool {
    has_phrase(sentence, &CONVENTION_WORDS)
}

fn has_phrase(sentence: &str, phrases: &[&str]) -> bool {
    let text = format!(" {} ", words(sentence).join(" "));
    phrases.iter().any(|phrase| text.contains(&format!(" {phrase} ")))
}

/// Lower-case words.
fn words(sentence: &str) -> Vec<String> {
    let text = sentence.to_lowercase().replace('’', "'");
    let words = text.split(|char: char| !char.is_alphanumeric() && char != '\'');
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn is_same_rule(left: &str, right: &str) -> bool {
    let [left, right] = [left, right].map(|it| words(it).into_iter().collect::<BTreeSet<_>>());
    let shared = left.intersection(&right).count();
    100 * shared >= SAME_WORDS_PERCENT * left.union(&right).count()
}

/// A lesson that informs reviewers and hides no finding.
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

/// Pattern for the files with the same extension in the folder of a file: `tools/*.py`. For a file
/// in the root folder, the pattern matches only this file.
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

/// Escapes a path, so that as a pattern it matches itself.
fn escape_glob(path: &str) -> String {
    let escape = |char: char| match char {
        // A character class cannot contain a backslash, so use the pattern for any character.
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
