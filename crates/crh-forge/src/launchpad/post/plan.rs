//! Decides what is written to a merge proposal: a pure function of the review and of what stands there.
//!
//! Invariant: once the comment of a plan stands there, the next plan is empty.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use crh_review::diff::Diff;
use crh_review::diff::FileDiff;
use crh_review::finding::Side;
use crh_review::identity::is_key;
use crh_review::identity::marked_key;
use crh_review::identity::marked_state;
use crh_review::identity::review_marker;
use crh_review::identity::state_marker;
use crh_review::report::Issue;
use crh_review::report::Report;
use crh_review::stable_json_line;
use crh_review::verdict::Verdict;
use serde::Deserialize;
use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeStruct;
use serde_json::Value;
use thiserror::Error;

use super::Posting;
use super::text;
use crate::launchpad::InlineSaid;
use crate::launchpad::Said;
use crate::launchpad::Standing;
use crate::launchpad::StandingRound;
use crate::posted::Item;
use crate::posted::Skip;
use crate::posted::masked;

/// The most issues that are shown beside their lines; nobody reads more, and all of them are one mail.
const INLINE_MAX: usize = 200;

/// The most keys that a summary keeps: more than a report shows, and some ten thousand characters.
const KEYS_MAX: usize = 500;

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
    /// Nobody can post without a token.
    #[error("nobody in particular cannot comment: a token is needed")]
    Nobody,
}

/// Where an issue goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// It was said before, and stands.
    Stands,
    /// Beside this line of Launchpad's diff.
    Line(u32),
    /// Into the summary, and why.
    Summary(&'static str),
}

/// What a summary keeps for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// The head that was reviewed.
    head: String,
    /// The vote, if one was cast.
    vote: Option<String>,
    /// The keys of all issues, sorted.
    keys: Vec<String>,
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
    if let Some(refusal) = refusal(posting, standing) {
        return Plan { refusal: Some(refusal), ..Plan::default() };
    }
    let report = masked(posting.report, posting.mask);
    let summaries = own_summaries(posting.instance, standing);
    let keys: BTreeSet<String> =
        report.issues.iter().map(|issue| issue.dedupe_key.clone()).collect();
    let kept = Kept {
        head: report.change.head_sha.clone(),
        vote: vote(posting, &report, standing).ok().map(str::to_owned),
        keys: keys.into_iter().take(KEYS_MAX).collect(),
    };
    let is_this = |said: &&Said| is_of(posting.instance, said, &report.review_id);
    let says_the_same = |said: &&Said| kept_in(posting.instance, said).as_ref() == Some(&kept);
    if summaries.iter().any(is_this) || summaries.last().is_some_and(says_the_same) {
        let issues = report.issues.iter().map(item).chain([Item::Summary]);
        let skipped = issues.map(|item| (item, Skip::Stands)).collect();
        return Plan { skipped, ..Plan::default() };
    }
    let places = places(posting, standing, &report, &summaries);
    written(posting, standing, &report, &places, &kept)
}

fn written(
    posting: &Posting<'_>,
    standing: &Standing,
    report: &Report,
    places: &[Place],
    kept: &Kept,
) -> Plan {
    let mut plan = Plan::default();
    let mut inline: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (issue, place) in report.issues.iter().zip(places) {
        match place {
            Place::Stands => plan.skipped.push((item(issue), Skip::Stands)),
            Place::Summary(why) => {
                plan.skipped.push((item(issue), Skip::InSummary { why: (*why).to_owned() }));
            }
            Place::Line(line) => {
                inline.entry(*line).or_default().push(text::inline(issue, posting.instance));
                plan.posted.push(item(issue));
            }
        }
    }
    // A text that JSON cannot hold does not exist.
    let data = stable_json_line(kept).unwrap_or_default();
    let last = state_marker(posting.instance, &URL_SAFE_NO_PAD.encode(data.trim_end()));
    let content = text::summary(report, places, posting.instance, &last);
    let mut form = vec![
        ("ws.op".to_owned(), "createComment".to_owned()),
        ("content".to_owned(), json(&content)),
    ];
    match vote(posting, report, standing) {
        Ok(word) => {
            form.push(("vote".to_owned(), json(word)));
            plan.posted.push(Item::Vote { event: word.to_owned() });
        }
        Err((word, why)) => {
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

fn refusal(posting: &Posting<'_>, standing: &Standing) -> Option<Refusal> {
    let (change, proposal) = (&posting.report.change, &standing.proposal);
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

/// The vote; or which one would fit and why it is not cast.
fn vote<'r>(
    posting: &Posting<'_>,
    report: &Report,
    standing: &Standing,
) -> Result<&'r str, (&'r str, &'r str)> {
    let word = report.verdict.launchpad_vote();
    match report.verdict {
        Verdict::ReadyToMerge if !posting.terms.approve => {
            Err((word, "an approval was not asked for"))
        }
        Verdict::ReadyToMerge if standing.proposal.registrant == standing.viewer => {
            Err((word, "the merge proposal is by the account that posts"))
        }
        Verdict::ReadyToMerge
        | Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ChecksPassed => Ok(word),
    }
}

/// The summaries of this instance that our account wrote, oldest first. What others wrote is none.
pub(super) fn own_summaries<'s>(instance: &str, standing: &'s Standing) -> Vec<&'s Said> {
    let is_ours = |said: &&Said| said.author.is_some() && said.author == standing.viewer;
    let said = standing.comments.iter().filter(is_ours);
    said.filter(|said| text::marks(instance, &said.content).is_some()).collect()
}

/// Whether a summary of this instance is that of a review.
pub(super) fn is_of(instance: &str, said: &Said, review_id: &str) -> bool {
    let marks = text::marks(instance, &said.content);
    marks.is_some_and(|[which, ..]| which == review_marker(review_id))
}

fn kept_in(instance: &str, said: &Said) -> Option<Kept> {
    let data = marked_state(instance, &said.content)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(data).ok()?).ok()
}

/// Where each issue goes. What our account has said before stands, in whatever round that was.
fn places(
    posting: &Posting<'_>,
    standing: &Standing,
    report: &Report,
    summaries: &[&Said],
) -> Vec<Place> {
    let is_ours = |said: &&InlineSaid| said.author.is_some() && said.author == standing.viewer;
    let lines = standing.inline.iter().filter(is_ours).flat_map(|said| said.text.lines());
    let mut stands: BTreeSet<String> =
        lines.filter_map(|line| marked_key(posting.instance, line)).map(str::to_owned).collect();
    let kept = summaries.iter().filter_map(|said| kept_in(posting.instance, said));
    stands.extend(kept.flat_map(|kept| kept.keys).filter(|key| is_key(key)));
    let round = standing.round.as_ref().filter(|round| round.head == standing.proposal.head);
    let diff = round.map(|round| Diff::read(round.diff.clone()));
    let mut beside_lines = 0;
    let place = |issue: &Issue| {
        if stands.contains(&issue.dedupe_key) {
            return Place::Stands;
        }
        let Some(diff) = &diff else {
            return Place::Summary("Launchpad has no diff of this head");
        };
        match line_of(diff, issue) {
            Some(_) if beside_lines >= INLINE_MAX => {
                Place::Summary("so many more urgent ones have comments that nobody reads more")
            }
            Some(line) => {
                beside_lines += 1;
                Place::Line(line)
            }
            None => Place::Summary("Launchpad's diff does not show its line"),
        }
    };
    report.issues.iter().map(place).collect()
}

/// The line of Launchpad's own diff that shows the first line of an issue, or its last.
fn line_of(diff: &Diff, issue: &Issue) -> Option<u32> {
    let place = &issue.location;
    let is_it = |file: &&FileDiff| {
        let before = file.old_path.as_ref().unwrap_or(&file.path);
        let path = match place.side {
            Side::New => &file.path,
            Side::Old => before,
        };
        path.shown() == place.file || file.path.shown() == place.file
    };
    let map = diff.line_map(diff.files().iter().find(is_it)?);
    let number = |line| map.number_of(place.side, line);
    number(place.line_start).or_else(|| number(place.line_end))
}

fn item(issue: &Issue) -> Item {
    Item::Issue { number: issue.number, key: issue.dedupe_key.clone() }
}
