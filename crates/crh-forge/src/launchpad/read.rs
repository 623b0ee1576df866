//! Reads a merge proposal in one burst: everything is asked for at once, and only what depends on an answer waits for it.

mod convert;
mod wire;

use futures_util::{StreamExt, stream};
use url::form_urlencoded;
use wire::{Bug, Comment, GitRef, InlineComment, Merge, Person, PreviewDiff, Report, Vote};

use super::client::SIDE_BY_SIDE;
use super::name::is_plain;
use super::{Client, Collection, Name, Rest, Standing};
use crate::asking::said;
use crate::asking::said::NO_SECRET;
use crate::{ForgeError, Proposal};
use crh_review::identity::is_commit;

/// The most rounds whose diffs and inline comments are read, the newest ones: a proposal that is pushed to more often is rare, and
/// each costs three requests.
const ROUNDS_MAX: usize = 40;

/// The most bytes of diffs that are kept, those of the newest rounds first: all of a long proposal, unless somebody wants to fill
/// the memory.
const TEXTS_MAX: usize = 64 << 20;

/// The most bytes that people said on lines of all rounds together, for the same reason.
const SAID_MAX: usize = 64 << 20;

/// Everything that came, before it is made into our own values.
#[derive(Default)]
struct Burst {
    merge: Merge,
    source: Tip,
    target: Tip,
    rounds: Vec<RoundRead>,
    comments: Vec<Comment>,
    votes: Vec<Vote>,
    bugs: Vec<Bug>,
    reports: Vec<Report>,
    viewer: Option<String>,
    /// What of it could not be read.
    notes: Vec<String>,
    /// What of it there is more of than was read, among what decides about posting.
    unread: Vec<String>,
}

/// The rounds of a merge proposal, oldest first, with what of them could not be read.
struct Rounds {
    rounds: Vec<RoundRead>,
    notes: Vec<String>,
    unread: Vec<String>,
}

/// One end of a merge proposal.
#[derive(Default)]
struct Tip {
    /// The unique name of the repository.
    repository: String,
    /// The branch, without `refs/heads/`.
    branch: String,
    /// The commit; none if the branch is gone.
    commit: Option<String>,
}

/// A preview diff with what was said on it.
struct RoundRead {
    diff: PreviewDiff,
    number: u64,
    text: Option<Vec<u8>>,
    inline: Vec<InlineComment>,
}

/// Reads a merge proposal: what a review needs to know, and what stands on it.
pub async fn proposal(client: &Client, name: &Name) -> Result<(Proposal, Standing), ForgeError> {
    let path = name.path();
    let comments_path = format!("{path}/all_comments");
    let votes_path = format!("{path}/votes");
    let bugs_path = format!("{path}/bugs");
    let (ends, rounds, comments, votes, bugs, viewer) = tokio::join!(
        ends(client, &path),
        rounds(client, &path),
        client.collection::<Comment>(&comments_path),
        client.collection::<Vote>(&votes_path),
        client.collection::<Bug>(&bugs_path),
        viewer(client),
    );
    // In this order, so that one reason is given and it is the best one: without a proposal nothing else matters.
    let mut burst = ends?;
    burst.viewer = viewer?;
    let Rounds { rounds, notes, unread } = rounds?;
    burst.rounds = rounds;
    burst.notes.extend(notes);
    burst.unread.extend(unread);
    let Collection { entries, rest } = comments?;
    burst.comments = entries;
    if rest == Rest::LeftOut {
        burst.notes.push("There are more comments than are read.".to_owned());
        burst.unread.push("comments".to_owned());
    }
    burst.votes = optional("votes", votes, &mut burst.notes);
    burst.bugs = optional("bugs", bugs, &mut burst.notes);
    both_known(&path, &burst)?;
    Ok(convert::converted(name, burst))
}

/// Refuses what does not say what is proposed to what: a branch that is gone is known by the last diff alone.
fn both_known(path: &str, burst: &Burst) -> Result<(), ForgeError> {
    let ends = [("source", &burst.source), ("target", &burst.target)];
    let gone = ends.into_iter().find(|(_, tip)| tip.commit.is_none());
    match gone.filter(|_| burst.rounds.is_empty()) {
        None => Ok(()),
        Some((which, tip)) => Err(ForgeError::Unreadable {
            what: format!("GET {path}"),
            message: format!(
                "its {which} branch `{}` is gone, and Launchpad has no diff of it",
                said::shown(&tip.branch, NO_SECRET)
            ),
        }),
    }
}

/// Who asks; none if it is nobody in particular.
pub async fn viewer(client: &Client) -> Result<Option<String>, ForgeError> {
    if client.is_anonymous() {
        return Ok(None);
    }
    let person: Person = client.get_json("people/+me").await?;
    Ok(Some(person.name))
}

/// The merge proposal, and then what depends on its ends.
async fn ends(client: &Client, path: &str) -> Result<Burst, ForgeError> {
    let merge: Merge = client.get_json(path).await?;
    let what = format!("GET {path}");
    let unreadable =
        |message: &str| ForgeError::Unreadable { what: what.clone(), message: message.to_owned() };
    let (Some(source), Some(target)) =
        (&merge.source_git_repository_link, &merge.target_git_repository_link)
    else {
        return Err(ForgeError::Bazaar { what });
    };
    // What precedes its number changes when a person or a repository is renamed.
    let number = path.rsplit('/').next();
    if client.own_path(path, &merge.self_link)?.rsplit('/').next() != number {
        return Err(unreadable("it is about another merge proposal"));
    }
    let repository = |link: &str| {
        let name = client.own_path(path, link)?;
        match name.split('/').all(is_plain) {
            true => Ok(name),
            false => Err(unreadable("it names a repository that cannot be one")),
        }
    };
    let (source, target) = (repository(source)?, repository(target)?);
    let branch = |path: &Option<String>| {
        let path = path.as_deref().unwrap_or_default();
        path.strip_prefix("refs/heads/").unwrap_or(path).to_owned()
    };
    let (from, into) = (branch(&merge.source_git_path), branch(&merge.target_git_path));
    let mut notes = Vec::new();
    let (head, base) = tokio::join!(tip(client, &source, &from), tip(client, &target, &into));
    let (head, base) = (found("source", head, &mut notes)?, found("target", base, &mut notes)?);
    let reports = match &head {
        Some(commit) => {
            let path = format!("{source}?ws.op=getStatusReports&commit_sha1={commit}");
            optional("status reports", client.collection(&path).await, &mut notes)
        }
        None => Vec::new(),
    };
    Ok(Burst {
        merge,
        source: Tip { repository: source, branch: from, commit: head },
        target: Tip { repository: target, branch: into, commit: base },
        reports,
        notes,
        ..Burst::default()
    })
}

/// The commit at the tip of a branch.
async fn tip(client: &Client, repository: &str, branch: &str) -> Result<String, ForgeError> {
    let segments = branch.split('/').map(|segment| {
        form_urlencoded::byte_serialize(segment.as_bytes()).collect::<String>().replace('+', "%20")
    });
    let branch = segments.collect::<Vec<_>>().join("/");
    let path = format!("{repository}/+ref/{branch}");
    let found: GitRef = client.get_json(&path).await?;
    match is_commit(&found.commit_sha1) {
        true => Ok(found.commit_sha1),
        false => Err(ForgeError::Unreadable {
            what: format!("GET {path}"),
            message: "it names no commit".to_owned(),
        }),
    }
}

/// A tip that may be gone: people delete branches that were merged.
fn found(
    what: &str,
    tip: Result<String, ForgeError>,
    notes: &mut Vec<String>,
) -> Result<Option<String>, ForgeError> {
    match tip {
        Ok(commit) => Ok(Some(commit)),
        Err(ForgeError::NotFound { .. }) => {
            notes.push(format!("The {what} branch is gone; what is known of it is the last diff."));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The rounds, oldest first, each with its text and what was said on its lines.
async fn rounds(client: &Client, path: &str) -> Result<Rounds, ForgeError> {
    let list = client.collection::<PreviewDiff>(&format!("{path}/preview_diffs")).await?;
    let (mut notes, mut unread) = (Vec::new(), Vec::new());
    if list.rest == Rest::LeftOut {
        notes.push("There are more preview diffs than are read.".to_owned());
        unread.push("preview diffs".to_owned());
    }
    let mut diffs: Vec<(u64, PreviewDiff)> = Vec::new();
    for diff in list.entries {
        match diff.number().filter(|_| is_commit(&diff.source_revision_id)) {
            Some(number) => diffs.push((number, diff)),
            None => {
                notes.push("A preview diff without a number or a commit is left out.".to_owned());
            }
        }
    }
    diffs.sort_by(|one, other| (&one.1.date_created, one.0).cmp(&(&other.1.date_created, other.0)));
    let left_out = diffs.len().saturating_sub(ROUNDS_MAX);
    if left_out > 0 {
        notes.push(format!(
            "The {left_out} oldest rounds are left out: the last {ROUNDS_MAX} are read."
        ));
    }
    let last = diffs.split_off(left_out);
    // The newest first, so that it does not depend on who was faster which texts there is room for.
    let newest_first = stream::iter(last.into_iter().rev());
    let mut read =
        newest_first.map(|(number, diff)| round(client, path, number, diff)).buffered(SIDE_BY_SIDE);
    let mut room = Room { texts: TEXTS_MAX, said: SAID_MAX };
    let mut rounds = Vec::new();
    while let Some(read) = read.next().await {
        let (mut round, note) = read?;
        notes.extend(note);
        if !room.has_text_of(&round) {
            round.text = None;
            notes.push(format!("There is no room for the diff of round {}.", round.number));
        }
        if !room.has_said_in(&round) {
            round.inline.clear();
            let what = format!("what was said on lines of round {}", round.number);
            notes.push(format!("There is no room for {what}."));
            unread.push(what);
        }
        rounds.push(round);
    }
    rounds.reverse();
    Ok(Rounds { rounds, notes, unread })
}

/// How many bytes of rounds can still be kept. What did not fit uses the rest up: nothing older is kept either.
struct Room {
    texts: usize,
    said: usize,
}

impl Room {
    fn has_text_of(&mut self, round: &RoundRead) -> bool {
        let Some(text) = &round.text else { return true };
        let left = self.texts.checked_sub(text.len());
        self.texts = left.unwrap_or_default();
        left.is_some()
    }

    fn has_said_in(&mut self, round: &RoundRead) -> bool {
        let sizes = round.inline.iter().map(InlineComment::size);
        let left = self.said.checked_sub(sizes.sum());
        self.said = left.unwrap_or_default();
        left.is_some()
    }
}

/// One round. It can do without its text, which git knows as well; what was said decides about posting.
async fn round(
    client: &Client,
    path: &str,
    number: u64,
    diff: PreviewDiff,
) -> Result<(RoundRead, Option<String>), ForgeError> {
    let said = format!("{path}?ws.op=getInlineComments&previewdiff_id={number}");
    let text = async {
        let Some(link) = &diff.diff_text_link else { return Ok(None) };
        let link = client.own_path(path, link)?;
        client.text(&link).await.map(Some)
    };
    let (text, inline) = tokio::join!(text, client.get_json::<Vec<InlineComment>>(&said));
    let (text, note) = match text {
        Ok(text) => (text, None),
        Err(error) => {
            (None, Some(format!("The diff of round {number} could not be read: {error}.")))
        }
    };
    Ok((RoundRead { diff, number, text, inline: inline? }, note))
}

/// A list that a review can do without.
fn optional<T>(
    what: &str,
    list: Result<Collection<T>, ForgeError>,
    notes: &mut Vec<String>,
) -> Vec<T> {
    match list {
        Ok(Collection { entries, rest }) => {
            if rest == Rest::LeftOut {
                notes.push(format!("There are more {what} than are read."));
            }
            entries
        }
        Err(error) => {
            notes.push(format!("The {what} could not be read: {error}."));
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_leaves_no_room_for_what_is_older() {
        let round = |text: Option<usize>, said: usize| {
            let text_of = |bytes: usize| vec![b'x'; bytes];
            let comment = InlineComment { text: "x".repeat(said), ..InlineComment::default() };
            let inline = if said == 0 { Vec::new() } else { vec![comment] };
            RoundRead { diff: PreviewDiff::default(), number: 1, text: text.map(text_of), inline }
        };
        let mut room = Room { texts: 10, said: 2 * InlineComment::default().size() + 10 };
        let mut fits = |round: RoundRead| (room.has_text_of(&round), room.has_said_in(&round));
        assert_eq!(fits(round(Some(9), 9)), (true, true));
        assert_eq!(fits(round(Some(2), 2)), (false, false));
        assert_eq!(fits(round(Some(1), 1)), (false, false));
        assert_eq!(fits(round(None, 0)), (true, true), "nothing needs no room");
    }
}
