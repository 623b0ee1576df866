//! Finds issues that people dismissed in comment threads, and decides whether a dismissal counts.

use super::thread::{OwnThread, own_threads};
use super::{Association, InlineComment, ProposalState};
use crh_review::finding::Side;

/// Phrases that dismiss an issue at the start of a reply. A fixed list, so that people do not
/// dismiss by accident.
pub const DISMISSAL_PHRASES: [&str; 14] = [
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
    DISMISS_COMMAND,
];
/// Command that dismisses an issue. Any text may follow.
const DISMISS_COMMAND: &str = "/crh dismiss";
/// Words that retract the phrase before them.
const RETRACTING_WORDS: [&str; 8] =
    ["but", "however", "though", "although", "except", "unless", "if", "yet"];

/// An issue that a person dismissed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadDismissal {
    /// Key of the issue, stable across reviews.
    pub key: String,
    /// Title of the issue, as in the comment.
    pub title: String,
    /// File of the issue.
    pub file: String,
    /// Side of the line, if known.
    pub side: Option<Side>,
    /// Whether the line changed, so that the issue has another key now.
    pub rewritten: bool,
    /// Login of the person who dismissed the issue.
    pub by: String,
    /// How the person dismissed the issue.
    pub method: DismissalMethod,
    /// Whether the person may dismiss issues. Otherwise the issue still counts.
    pub is_effective: bool,
    /// Whether a maintainer dismissed it with a reply. Only such a dismissal can become a lesson
    /// for later reviews.
    pub by_maintainer: bool,
    /// Words of the reply after the phrase; empty if there are none.
    pub words: String,
    /// Web address of the comment.
    pub url: String,
}

/// What people did with a comment thread of crh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadReception {
    /// Key of the issue.
    pub key: String,
    /// Title, as the comment has it now.
    pub title: String,
    /// The dismissal, if it is effective.
    pub dismissal: Option<ThreadDismissal>,
    /// Replies of maintainers and of the author that are no dismissals.
    pub replies: Vec<String>,
    /// Whether the forge says that the line changed after the comment.
    pub is_outdated: bool,
}

/// What people did with the threads of this instance, oldest first. Replies of strangers do not
/// count.
pub fn receptions(proposal_state: &ProposalState, instance: &str) -> Vec<ThreadReception> {
    let reception = |own: OwnThread<'_>| {
        let counts = |reply: &&InlineComment| {
            let is_author = reply.author.as_deref().is_some_and(|it| is_author(it, proposal_state));
            !is_dismissal(&reply.body) && (reply.association.is_trusted() || is_author)
        };
        let replies = own.replies(instance).filter(counts).map(|reply| reply.body.clone());
        ThreadReception {
            key: own.key.to_owned(),
            title: own.title.to_owned(),
            dismissal: dismissal(own, proposal_state, instance).filter(|it| it.is_effective),
            replies: replies.collect(),
            is_outdated: own.thread.outdated,
        }
    };
    own_threads(proposal_state, instance).into_iter().map(reception).collect()
}

/// How a person dismisses an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DismissalMethod {
    /// With a reply.
    Reply,
    /// By resolving the thread without changing the code.
    Resolved,
}

/// Dismissed issues of this instance, oldest first.
pub fn dismissals(proposal_state: &ProposalState, instance: &str) -> Vec<ThreadDismissal> {
    own_threads(proposal_state, instance)
        .into_iter()
        .filter_map(|thread| dismissal(thread, proposal_state, instance))
        .collect()
}

/// The dismissal in one thread. If there are several, an effective one takes precedence.
pub(super) fn dismissal(
    own: OwnThread<'_>,
    proposal_state: &ProposalState,
    instance: &str,
) -> Option<ThreadDismissal> {
    let by_reply = own.replies(instance).filter(|reply| is_dismissal(&reply.body)).map(|reply| {
        ThreadDismissal {
            key: own.key.to_owned(),
            title: own.title.to_owned(),
            file: own.thread.path.clone(),
            side: own.thread.side,
            rewritten: own.thread.outdated,
            by: reply.author.clone().unwrap_or_else(|| "ghost".to_owned()),
            method: DismissalMethod::Reply,
            is_effective: can_dismiss(reply, proposal_state),
            by_maintainer: reply.association.is_trusted(),
            words: words_after_phrase(&reply.body),
            url: reply.url.clone(),
        }
    });
    let dismissals: Vec<ThreadDismissal> =
        by_reply.chain(dismissal_by_resolving(own, proposal_state)).collect();
    let first = dismissals.iter().find(|dismissal| dismissal.is_effective).or(dismissals.first());
    first.cloned()
}

/// Maintainers may dismiss issues, and so may authors on their own changes. The author of a change
/// from a fork must own the repository: members and collaborators may have no write access.
fn can_dismiss(reply: &InlineComment, proposal_state: &ProposalState) -> bool {
    match reply.author.as_deref() {
        Some(login) if is_author(login, proposal_state) => {
            !proposal_state.properties.from_fork || reply.association == Association::Owner
        }
        Some(_) | None => reply.association.is_trusted(),
    }
}

fn is_author(login: &str, proposal_state: &ProposalState) -> bool {
    proposal_state.properties.author.as_ref().is_some_and(|author| author.login == login)
}

fn is_trusted_author(login: &str, proposal_state: &ProposalState) -> bool {
    !proposal_state.properties.from_fork && is_author(login, proposal_state)
}

/// The dismissal if a person resolved the thread without a code change. Forges permit people with
/// write access and the author to resolve threads.
fn dismissal_by_resolving(
    own: OwnThread<'_>,
    proposal_state: &ProposalState,
) -> Option<ThreadDismissal> {
    let thread = own.thread;
    let by = thread.resolved_by.as_deref().filter(|_| thread.resolved && !thread.outdated)?;
    let is_program = by.ends_with("[bot]")
        || thread
            .comments
            .iter()
            .any(|comment| comment.by_bot && comment.author.as_deref() == Some(by));
    // GitHub writes the login of an App with and without this suffix.
    let without_suffix = |login: &str| login.trim_end_matches("[bot]").to_owned();
    let viewer = proposal_state.viewer_login().unwrap_or_default();
    if without_suffix(by) == without_suffix(viewer) || is_program {
        return None;
    }
    Some(ThreadDismissal {
        key: own.key.to_owned(),
        title: own.title.to_owned(),
        file: own.thread.path.clone(),
        side: own.thread.side,
        rewritten: own.thread.outdated,
        by: by.to_owned(),
        method: DismissalMethod::Resolved,
        is_effective: !is_author(by, proposal_state) || is_trusted_author(by, proposal_state),
        by_maintainer: false,
        words: String::new(),
        url: own.url().unwrap_or_default(),
    })
}

/// Whether a reply dismisses the issue: it starts with one of the phrases, followed by nothing or
/// by a reason, and asks no question.
fn is_dismissal(reply: &str) -> bool {
    let lines: Vec<&str> =
        reply.lines().filter(|line| !line.trim_start().starts_with('>')).collect();
    let text = lines.join("\n").to_lowercase().replace(['’', '`'], "'");
    if has_question(&text) {
        return false;
    }
    let start =
        text.trim_start_matches(|char: char| char.is_whitespace() || "*_'\"".contains(char));
    DISMISSAL_PHRASES.iter().any(|phrase| {
        start.strip_prefix(phrase).is_some_and(|rest| match *phrase {
            DISMISS_COMMAND => rest.is_empty() || rest.starts_with(char::is_whitespace),
            _ => ends_or_explains(rest),
        })
    })
}

/// The reason in a dismissal: its words without quoted lines and without the phrase.
fn words_after_phrase(reply: &str) -> String {
    let lines: Vec<&str> =
        reply.lines().filter(|line| !line.trim_start().starts_with('>')).collect();
    let text = lines.join(" ");
    let text =
        text.trim_start_matches(|char: char| char.is_whitespace() || "*_'\"`".contains(char));
    let lower = text.to_ascii_lowercase().replace(['’', '`'], "'");
    // If several phrases match, the longest counts.
    let phrases = DISMISSAL_PHRASES.iter().filter(|phrase| lower.starts_with(*phrase));
    let length = phrases.map(|phrase| phrase.chars().count()).max().unwrap_or_default();
    let rest: String = text.chars().skip(length).collect();
    let is_mark = |char: char| char.is_whitespace() || "*_'\"`:,.!;()-–—".contains(char);
    rest.trim_start_matches(is_mark).trim_end_matches([')', ' ', '*', '_', '`']).to_owned()
}

/// Whether a word ends with a question mark. A `?` inside a word, as in an address, does not count.
fn has_question(text: &str) -> bool {
    text.split_whitespace()
        .any(|word| word.trim_end_matches(['"', '\'', ')', '*', '_', '!']).ends_with('?'))
}

/// Whether the sentence ends after the phrase or continues with a reason, but retracts nothing.
fn ends_or_explains(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['*', '_', '\'', '"']);
    let line = rest.lines().next().unwrap_or_default();
    let rest_of_line = line.trim_start();
    let has_space = rest_of_line.len() < line.len();
    let Some(first_char) = rest_of_line.chars().next() else { return !is_retraction(rest) };
    let first_word = |text: &str| {
        text.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default().to_owned()
    };
    match first_char {
        ':' | ',' | '.' | '!' | ';' | '(' => !is_retraction(&rest_of_line[1..]),
        // Without a space before it, the dash joins two words.
        '-' | '–' | '—' => {
            let reason = rest_of_line.trim_start_matches(['-', '–', '—']);
            (has_space || reason.starts_with(' ') || reason.is_empty()) && !is_retraction(reason)
        }
        _ => has_space && ["because", "since"].contains(&first_word(rest_of_line).as_str()),
    }
}

/// Whether the text retracts the phrase before it.
fn is_retraction(rest: &str) -> bool {
    let words = rest.split(|char: char| !char.is_alphanumeric());
    words
        .into_iter()
        .find(|word| !word.is_empty())
        .is_some_and(|word| RETRACTING_WORDS.contains(&word))
}

#[cfg(test)]
mod tests;
