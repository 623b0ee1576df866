//! Which of our issues people have said no to, and whether that settles the matter.

use super::thread::{OwnThread, own_threads};
use crate::github::{InlineComment, Standing};
use crh_review::finding::Side;

/// What a reply begins with that says no. The list is closed, so that nobody says no without meaning to.
pub const PHRASES: [&str; 14] = [
    "won't fix",
    "wont fix",
    "wontfix",
    "not a bug",
    "false positive",
    "by design",
    "works as intended",
    "working as intended",
    "intended",
    "intentional",
    "as designed",
    "not an issue",
    "dismiss",
    COMMAND,
];
/// The phrase that takes any reason after it.
const COMMAND: &str = "/crh dismiss";
/// What a sentence goes on with when it takes back what it began with.
const TAKES_BACK: [&str; 8] =
    ["but", "however", "though", "although", "except", "unless", "if", "yet"];

/// An issue that somebody said no to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dismissal {
    /// What names the issue across runs.
    pub key: String,
    /// The title, as it stands in our comment.
    pub title: String,
    /// The file that it is about.
    pub file: String,
    /// The side of its line; none if that is not known.
    pub side: Option<Side>,
    /// Whether the line has another text by now, so that the issue has another key.
    pub rewritten: bool,
    /// Who said so.
    pub by: String,
    /// How.
    pub how: How,
    /// Whether that person decides about the repository: only then is the issue out of the verdict.
    pub decides: bool,
    /// Where it was said.
    pub url: String,
}

/// How somebody says no to an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// In a reply.
    Reply,
    /// By resolving the conversation without a change of the code under it.
    Resolved,
}

/// The issues of this instance that people have said no to, oldest first.
pub fn dismissals(standing: &Standing, instance: &str) -> Vec<Dismissal> {
    own_threads(standing, instance)
        .into_iter()
        .filter_map(|thread| dismissal(thread, standing, instance))
        .collect()
}

/// What was said against the issue of one conversation: the word of somebody who decides counts before any other.
pub(super) fn dismissal(
    own: OwnThread<'_>,
    standing: &Standing,
    instance: &str,
) -> Option<Dismissal> {
    let said = own.replies(instance).filter(|reply| says_no(&reply.body)).map(|reply| Dismissal {
        key: own.key.to_owned(),
        title: own.title.to_owned(),
        file: own.thread.path.clone(),
        side: own.thread.side,
        rewritten: own.thread.outdated,
        by: reply.author.clone().unwrap_or_else(|| "ghost".to_owned()),
        how: How::Reply,
        decides: decides(reply, standing),
        url: reply.url.clone(),
    });
    let all: Vec<Dismissal> = said.chain(resolved(own, standing)).collect();
    let first = all.iter().find(|it| it.decides).or(all.first());
    first.cloned()
}

/// Whether the author of a reply decides about the repository: by their role, or about their own change to it. The author of
/// a change from elsewhere does not.
fn decides(reply: &InlineComment, standing: &Standing) -> bool {
    reply.association.decides()
        || reply.author.as_deref().is_some_and(|login| is_trusted_author(login, standing))
}

fn is_author(login: &str, standing: &Standing) -> bool {
    standing.pull.author.as_ref().is_some_and(|author| author.login == login)
}

fn is_trusted_author(login: &str, standing: &Standing) -> bool {
    !standing.pull.from_fork && is_author(login, standing)
}

/// A conversation that a person has resolved though the code is as it was. Only people who may write to the repository, and
/// the author of the change, can.
fn resolved(own: OwnThread<'_>, standing: &Standing) -> Option<Dismissal> {
    let thread = own.thread;
    let by = thread.resolved_by.as_deref().filter(|_| thread.resolved && !thread.outdated)?;
    let is_program = by.ends_with("[bot]")
        || thread.comments.iter().any(|it| it.by_bot && it.author.as_deref() == Some(by));
    // GitHub names an App with and without that ending.
    let plain = |login: &str| login.trim_end_matches("[bot]").to_owned();
    if plain(by) == plain(&standing.viewer.login) || is_program {
        return None;
    }
    Some(Dismissal {
        key: own.key.to_owned(),
        title: own.title.to_owned(),
        file: own.thread.path.clone(),
        side: own.thread.side,
        rewritten: own.thread.outdated,
        by: by.to_owned(),
        how: How::Resolved,
        decides: !is_author(by, standing) || is_trusted_author(by, standing),
        url: own.url().unwrap_or_default(),
    })
}

/// Whether a reply says no: it begins with one of the phrases, and the sentence ends there or goes on with a reason.
/// A question never does.
fn says_no(reply: &str) -> bool {
    let said: Vec<&str> =
        reply.lines().filter(|line| !line.trim_start().starts_with('>')).collect();
    let said = said.join("\n").to_lowercase().replace(['’', '`'], "'");
    if asks(&said) {
        return false;
    }
    let said = said.trim_start_matches(|char: char| char.is_whitespace() || "*_'\"".contains(char));
    PHRASES.iter().any(|phrase| {
        said.strip_prefix(phrase).is_some_and(|rest| match *phrase {
            COMMAND => rest.is_empty() || rest.starts_with(char::is_whitespace),
            _ => ends_or_explains(rest),
        })
    })
}

/// Whether a text has a question in it. A `?` inside a word, as in an address, is none.
fn asks(text: &str) -> bool {
    text.split_whitespace()
        .any(|word| word.trim_end_matches(['"', '\'', ')', '*', '_', '!']).ends_with('?'))
}

/// Whether a sentence ends here, or goes on with a reason.
fn ends_or_explains(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['*', '_', '\'', '"']);
    let line = rest.lines().next().unwrap_or_default();
    let after = line.trim_start();
    let spaced = after.len() < line.len();
    let Some(first) = after.chars().next() else { return !takes_back(rest) };
    let word = |text: &str| {
        text.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default().to_owned()
    };
    match first {
        ':' | ',' | '.' | '!' | ';' | '(' => !takes_back(&after[1..]),
        // Without a blank before it, it joins two words.
        '-' | '–' | '—' => {
            let reason = after.trim_start_matches(['-', '–', '—']);
            (spaced || reason.starts_with(' ') || reason.is_empty()) && !takes_back(reason)
        }
        _ => spaced && ["because", "since"].contains(&word(after).as_str()),
    }
}

/// Whether what follows takes back what was said.
fn takes_back(rest: &str) -> bool {
    let words = rest.split(|char: char| !char.is_alphanumeric());
    words.into_iter().find(|word| !word.is_empty()).is_some_and(|word| TAKES_BACK.contains(&word))
}

#[cfg(test)]
#[path = "dismissal/tests.rs"]
mod tests;
