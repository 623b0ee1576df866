//! Decides what is written to a merge proposal: a pure function of the review and of what stands there.
//!
//! Invariant: once the comment of a plan stands there, the next plan is empty.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use super::kept::{Kept, State};
use super::places::{Place, places};
use super::vote::{NotCast, OWN_VOTE};
use super::{Posting, text, vote};
use crate::launchpad::{InlineSaid, Said, Standing, StandingRound};
use crate::posted::{Item, Skip, masked};
use crh_review::identity::{is_key, marked_key, review_marker};
use crh_review::report::{Issue, Report};

/// The argument with what goes beside lines.
const INLINE: &str = "inline_comments";

/// What is to be written; or why nothing is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Why nothing is written at all.
    pub refusal: Option<Refusal>,
    /// What is written; none if it stands.
    pub write: Option<Write>,
    /// What is there when that is applied.
    pub posted: Vec<Item>,
    /// What is not written by itself, and why.
    pub skipped: Vec<(Item, Skip)>,
    /// What the reader should know about it.
    pub notes: Vec<String>,
}

/// The one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The path in the web service.
    pub path: String,
    /// The arguments, each as JSON.
    pub form: Vec<(String, String)>,
}

impl Serialize for Write {
    /// The arguments are shown as what they are in JSON, and not as a text of it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let argument = |(name, text): &(String, String)| {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
            (name.clone(), value)
        };
        let body: BTreeMap<String, Value> = self.form.iter().map(argument).collect();
        let mut shown = serializer.serialize_struct("Write", 3)?;
        shown.serialize_field("method", "POST")?;
        shown.serialize_field("path", &self.path)?;
        shown.serialize_field("body", &body)?;
        shown.end()
    }
}

/// Why nothing is posted.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The proposal has another head by now.
    #[error("the review is about {reviewed}, and the head of the merge proposal is {now}")]
    HeadMoved {
        /// The head that was reviewed.
        reviewed: String,
        /// The head that is there.
        now: String,
    },
    /// The review is about another proposal.
    #[error("the review is about `{reviewed}`, and this is `{here}`")]
    OtherProposal {
        /// What was reviewed.
        reviewed: String,
        /// What it was to be posted to.
        here: String,
    },
    /// The proposal was merged, rejected or superseded.
    #[error("the merge proposal is over: {status}")]
    Over {
        /// Launchpad's word for it.
        status: String,
    },
    /// What stands there is more than was read, so that it would be posted again.
    #[error("not everything that stands on the merge proposal could be read: {}", what.join(", "))]
    NotAllRead {
        /// What is missing.
        what: Vec<String>,
    },
    /// The account has begun to write beside lines of the same diff: Launchpad would put what comes now in its place.
    #[error(
        "`{who}` has comments on lines of the diff that are not saved yet, and they would be lost"
    )]
    Drafts {
        /// The account that posts.
        who: String,
    },
    /// Something that must not be shown is a word of the report's own form, and without it there is no report.
    #[error("something that must be hidden is part of the report's own form")]
    Hidden,
    /// Nobody can post without a token.
    #[error("nobody in particular cannot comment: a token is needed")]
    Nobody,
}

impl Plan {
    /// The preview diff that something is written beside lines of.
    pub(super) fn round<'s>(&self, standing: &'s Standing) -> Option<&'s StandingRound> {
        let is_inline = |(name, _): &(String, String)| name == INLINE;
        let form = self.write.as_ref().map(|write| &write.form)?;
        standing.round.as_ref().filter(|_| form.iter().any(is_inline))
    }
}

/// What is to be written for a review, given what stands.
pub fn plan(posting: &Posting<'_>, standing: &Standing) -> Plan {
    let report = match checked(posting, standing) {
        Ok(report) => report,
        Err(refusal) => return Plan { refusal: Some(refusal), ..Plan::default() },
    };
    if standing_summary(posting, &report, standing).is_some() {
        let issues = report.issues.iter().map(item).chain([Item::Summary]);
        let skipped = issues.map(|item| (item, Skip::Stands)).collect();
        return Plan { skipped, ..Plan::default() };
    }
    let said = said_before(posting.instance, standing);
    let places = places(&report, posting.diff, standing, &said);
    written(posting, standing, &report, &places)
}

/// The report as it may be shown; or why nothing of it is.
fn checked(posting: &Posting<'_>, standing: &Standing) -> Result<Report, Refusal> {
    let report = masked(posting.report, posting.mask).ok_or(Refusal::Hidden)?;
    match refusal(&report, standing) {
        Some(refusal) => Err(refusal),
        None => Ok(report),
    }
}

/// The summary that says all that is to be said, if it stands.
pub(super) fn found<'s>(posting: &Posting<'_>, standing: &'s Standing) -> Option<&'s Said> {
    let report = masked(posting.report, posting.mask)?;
    standing_summary(posting, &report, standing)
}

/// The newest summary, or the newest of this review, if it says the same. A review that comes to something else when it is run
/// again has the same name, and is said.
fn standing_summary<'s>(
    posting: &Posting<'_>,
    report: &Report,
    standing: &'s Standing,
) -> Option<&'s Said> {
    let state = State::of(posting, report, standing);
    let summaries = own_summaries(posting.instance, standing);
    let is_this = |said: &&&Said| is_of(posting.instance, said, &report.review_id);
    let newest = [summaries.last(), summaries.iter().rfind(is_this)];
    let says_the_same =
        |said: &&&Said| Kept::of(posting.instance, said).is_some_and(|kept| kept.state == state);
    newest.into_iter().flatten().find(says_the_same).copied()
}

fn written(posting: &Posting<'_>, standing: &Standing, report: &Report, places: &[Place]) -> Plan {
    let mut plan = Plan::default();
    let body = text::body(report, places);
    let mut inline: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (issue, place) in report.issues.iter().zip(places) {
        match place {
            Place::Stands => plan.skipped.push((item(issue), Skip::Stands)),
            Place::Summary(why) if body.keys.contains(&issue.dedupe_key) => {
                plan.skipped.push((item(issue), Skip::InSummary { why: (*why).to_owned() }));
            }
            Place::Summary(_) => {
                let why = "there is no room for it in the summary".to_owned();
                plan.skipped.push((item(issue), Skip::Not { why }));
            }
            Place::Line(line) => {
                inline.entry(*line).or_default().push(text::inline(issue, posting.instance));
                plan.posted.push(item(issue));
            }
        }
    }
    let state = State::of(posting, report, standing);
    let kept = Kept { state, keys: body.keys.iter().cloned().collect() };
    let content = text::summary(report, &body, posting.instance, &kept.marker(posting.instance));
    let mut form = vec![
        ("ws.op".to_owned(), "createComment".to_owned()),
        ("content".to_owned(), json(&content)),
    ];
    match vote::cast(posting, report, standing) {
        Ok(word) => {
            form.push(("vote".to_owned(), json(word)));
            plan.posted.push(Item::Vote { event: word.to_owned() });
        }
        Err(NotCast { word, why }) => {
            if why == OWN_VOTE {
                plan.notes.push(format!("the vote `{word}` was not cast: {why}"));
            }
            let skip = Skip::Not { why: why.to_owned() };
            plan.skipped.push((Item::Vote { event: word.to_owned() }, skip));
        }
    }
    if let (false, Some(round)) = (inline.is_empty(), &standing.round) {
        let lines: BTreeMap<String, String> =
            inline.into_iter().map(|(line, texts)| (line.to_string(), texts.join("\n"))).collect();
        form.push(("previewdiff_id".to_owned(), round.id.to_string()));
        form.push((INLINE.to_owned(), json(&lines)));
    }
    plan.posted.push(Item::Summary);
    plan.write = Some(Write { path: standing.proposal.path.clone(), form });
    plan
}

/// An argument as JSON: a text that happens to look like a number would be taken for one.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    // Texts and maps of texts can always be written.
    serde_json::to_string(value).unwrap_or_default()
}

fn refusal(report: &Report, standing: &Standing) -> Option<Refusal> {
    let (change, proposal) = (&report.change, &standing.proposal);
    let reviewed = format!("{}/+merge/{}", change.repo, change.pr_number);
    let here = format!("{}/+merge/{}", proposal.repo, proposal.number);
    if reviewed != here {
        return Some(Refusal::OtherProposal { reviewed, here });
    }
    if change.head_sha != proposal.head {
        let (reviewed, now) = (change.head_sha.clone(), proposal.head.clone());
        return Some(Refusal::HeadMoved { reviewed, now });
    }
    if proposal.is_over() {
        return Some(Refusal::Over { status: proposal.status.clone() });
    }
    if !standing.unread.is_empty() {
        return Some(Refusal::NotAllRead { what: standing.unread.clone() });
    }
    standing.viewer.is_none().then_some(Refusal::Nobody)
}

/// The summaries of this instance that our account wrote, oldest first. What others wrote is none.
fn own_summaries<'s>(instance: &str, standing: &'s Standing) -> Vec<&'s Said> {
    let is_ours = |said: &&Said| said.author.is_some() && said.author == standing.viewer;
    let said = standing.comments.iter().filter(is_ours);
    said.filter(|said| text::marks(instance, &said.content).is_some()).collect()
}

/// Whether a summary of this instance is that of a review.
fn is_of(instance: &str, said: &Said, review_id: &str) -> bool {
    let marks = text::marks(instance, &said.content);
    marks.is_some_and(|[which, ..]| which == review_marker(review_id))
}

/// The keys of the issues that our account has said before, in whatever round that was.
fn said_before(instance: &str, standing: &Standing) -> BTreeSet<String> {
    let is_ours = |said: &&InlineSaid| said.author.is_some() && said.author == standing.viewer;
    let lines = standing.inline.iter().filter(is_ours).flat_map(|said| said.text.lines());
    let mut before: BTreeSet<String> =
        lines.filter_map(|line| marked_key(instance, line)).map(str::to_owned).collect();
    let summaries = own_summaries(instance, standing);
    let kept = summaries.into_iter().filter_map(|said| Kept::of(instance, said));
    before.extend(kept.flat_map(|kept| kept.keys).filter(|key| is_key(key)));
    before
}

fn item(issue: &Issue) -> Item {
    Item::Issue { number: issue.number, key: issue.dedupe_key.clone() }
}
