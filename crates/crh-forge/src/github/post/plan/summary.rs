//! The summary comment of a plan: created once, then changed in place, and left alone if it says the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::look::{Look, NotInline, Place};
use super::review::{last_vote, standing_approval};
use super::{Plan, What, Write};
use crate::github::Verb;
use crate::github::post::dismissed::{Dismissal, How};
use crate::github::post::request::Request;
use crate::github::post::state::{OpenIssue, State};
use crate::github::post::thread::OwnThread;
use crate::github::post::{here_alone, state};
use crate::posted::{Item, Skip};
use crh_review::render::{Entry, List, Posted, Shown, summary};
use crh_review::report::Issue;
use crh_review::verdict::Verdict;

/// Adds the summary, unless it stands already.
pub(super) fn add(plan: &mut Plan, look: &Look<'_>) {
    let body = body(look, plan);
    let pull = &look.standing.pull;
    let Some(there) = state::own_summary(look.standing, look.posting.instance) else {
        plan.writes.push(Write {
            request: Request {
                verb: Verb::Post,
                path: format!("/repos/{}/issues/{}/comments", pull.repo, pull.number),
                body: json!({ "body": body }),
            },
            what: What::NewSummary,
        });
        return;
    };
    if is_same(&there.body, &body) {
        plan.skipped.push((Item::Summary, Skip::Stands));
        return;
    }
    plan.writes.push(Write {
        request: Request {
            verb: Verb::Patch,
            path: format!("/repos/{}/issues/comments/{}", pull.repo, there.id),
            body: json!({ "body": body }),
        },
        what: What::Summary { id: there.id },
    });
}

/// Whether two texts are the same for a reader: GitHub may change line ends, and white space at the end.
fn is_same(left: &str, right: &str) -> bool {
    left.trim_end().lines().eq(right.trim_end().lines())
}

fn body(look: &Look<'_>, plan: &Plan) -> String {
    let state = new_state(look);
    let line = state::line(look.posting.instance, &state);
    let mut remarks = remarks(look, &state);
    let votes = |write: &Write| matches!(write.what, What::Vote { .. } | What::Withdraw { .. });
    let stays = !plan.writes.iter().any(votes);
    if standing_approval(look).is_some() && stays {
        let remark =
            "An earlier review of this account still approves the pull request; this one does not.";
        remarks.insert(0, remark.to_owned());
    }
    if still_requests_changes(look) && stays {
        remarks.push("An earlier review of this account still requests changes.".to_owned());
    }
    if line.is_none() {
        remarks.push("The state of this review is too long to be kept here, so that the next review looks at everything.".to_owned());
    }
    let rows: Vec<Shown> = look.places.iter().map(|place| shown(place, look)).collect();
    let has_comments = rows.iter().any(|row| matches!(row, Shown::At(_)));
    let heading = match (look.posting.terms.comment_only, &look.learned.no_review) {
        (false, None) if crowded(look) > 0 => Some("Without a comment on a line"),
        (false, None) => Some("Not on a line of the diff"),
        (false, Some(_)) => has_comments.then_some("Without a comment on a line"),
        (true, _) => None,
    };
    let posted = Posted {
        instance: look.posting.instance,
        links: look.links.as_deref(),
        rows: &rows,
        heading,
        lists: &lists(look),
        remarks: &remarks,
        last_line: line.as_deref(),
    };
    summary(&look.report, &posted)
}

/// How an issue is shown. The link must not depend on whether its comment was posted before this plan or by it.
fn shown(place: &Place<'_>, look: &Look<'_>) -> Shown {
    let here = |why: &str, link| Shown::Here { why: why.to_owned(), link };
    match place {
        Place::Stands(own, _) if look.posting.terms.comment_only => here("", own.url()),
        Place::Stands(own, _) if own.thread.resolved => {
            here("its conversation was resolved", own.url())
        }
        Place::Stands(own, Some(anchor)) if !own.thread.outdated => {
            Shown::At(look.line_url(anchor))
        }
        Place::Stands(own, _) => match own.url() {
            Some(url) => Shown::At(url),
            None => here("", None),
        },
        Place::Inline(anchor) => Shown::At(look.line_url(anchor)),
        Place::Summary(NotInline::Refused) => here("GitHub refused a comment on this line", None),
        Place::Summary(NotInline::NotInDiff | NotInline::CommentOnly | NotInline::Crowded) => {
            here("", None)
        }
    }
}

/// What the next review needs to know.
fn new_state(look: &Look<'_>) -> State {
    let report = &look.report;
    let since = since(look);
    let new = |issue| OpenIssue::new(issue, &report.change.head_sha);
    let mut issues: Vec<OpenIssue> = report.issues.iter().map(new).collect();
    for issue in &mut issues {
        if let Some(head) = since.get(issue.key.as_str()) {
            issue.since = (*head).to_owned();
        }
    }
    let refused = look.issues().filter_map(|(issue, place)| match place {
        Place::Summary(NotInline::Refused) => Some(issue.dedupe_key.clone()),
        Place::Summary(NotInline::NotInDiff | NotInline::CommentOnly | NotInline::Crowded)
        | Place::Inline(_)
        | Place::Stands(..) => None,
    });
    State {
        version: state::VERSION,
        review_id: report.review_id.clone(),
        base: report.change.base_sha.clone(),
        head: report.change.head_sha.clone(),
        basis: look.posting.basis.clone(),
        models: report.model_used.clone(),
        strategy: report.strategy,
        complete: look.is_complete(),
        issues,
        withheld: report.withheld().count(),
        refused: refused.collect(),
    }
}

/// The heads at which issues were raised first, as far as the last review knows.
fn since<'a>(look: &'a Look<'_>) -> BTreeMap<&'a str, &'a str> {
    let known = look.last.iter().flat_map(|state| &state.issues);
    known.map(|issue| (issue.key.as_str(), issue.since.as_str())).collect()
}

/// The issues of the report that were taken over from the last review, with the head at which they were raised first.
fn carried<'a>(look: &'a Look<'_>) -> impl Iterator<Item = (&'a Issue, &'a str)> {
    let taken = look.posting.carried.unwrap_or_default();
    look.report.issues.iter().filter_map(|issue| {
        let old = taken.iter().find(|old| old.key == issue.dedupe_key)?;
        Some((issue, old.since.as_str()))
    })
}

fn lists(look: &Look<'_>) -> Vec<List> {
    let carry = |(issue, since): (&Issue, &str)| Entry {
        place: Some(issue.location.to_string()),
        title: issue.title.clone(),
        remark: format!("issue {}, {}, since {}", issue.number, issue.severity, short(since)),
        link: None,
    };
    let (settled, open): (Vec<&Dismissal>, Vec<&Dismissal>) =
        look.dismissals.iter().partition(|no| no.decides);
    let outdated: Vec<&str> =
        look.outdated().iter().map(|own| own.thread.node_id.as_str()).collect();
    let not_again = look
        .unmatched
        .iter()
        .filter(|own| !own.thread.resolved && !outdated.contains(&own.thread.node_id.as_str()));
    vec![
        List {
            heading: "Carried over from the last review",
            entries: carried(look).map(carry).collect(),
        },
        List {
            heading: "Dismissed",
            entries: settled.into_iter().map(|no| dismissed(no, "")).collect(),
        },
        List {
            heading: "Contradicted, and still open",
            entries: open
                .into_iter()
                .map(|no| dismissed(no, ", who does not decide about this repository"))
                .collect(),
        },
        List {
            heading: "Earlier comments that this review did not raise again",
            entries: not_again.map(earlier).collect(),
        },
    ]
}

fn dismissed(no: &Dismissal, more: &str) -> Entry {
    let how = match no.how {
        How::Reply => "by",
        How::Resolved => "resolved without a change by",
    };
    Entry {
        place: None,
        title: plain(&no.title),
        remark: format!("{how} {}{more}", no.by),
        link: (!no.url.is_empty()).then(|| no.url.clone()),
    }
}

fn earlier(own: &OwnThread<'_>) -> Entry {
    Entry {
        place: Some(own.thread.path.clone()),
        title: plain(own.title),
        remark: String::new(),
        link: own.url(),
    }
}

/// A title that was cleaned for a comment, before it is cleaned again: what was put in is taken out.
fn plain(title: &str) -> String {
    title
        .replace('\u{200b}', "")
        .replace("\\[", "[")
        .replace("\\]", "]")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// What the reader should know about the posting itself.
fn remarks(look: &Look<'_>, state: &State) -> Vec<String> {
    let mut remarks = Vec::new();
    let head = &look.report.change.head_sha;
    let carried: BTreeSet<u32> = carried(look).map(|(issue, _)| issue.number).collect();
    let known = look.report.issues.iter().zip(&state.issues);
    let old = known.filter(|(issue, it)| !carried.contains(&issue.number) && it.since != *head);
    let old: Vec<String> = old.map(|(issue, _)| issue.number.to_string()).collect();
    match old.len() {
        0 => {}
        1 => remarks.push(format!("Issue {} was raised in an earlier review.", old[0])),
        _ => remarks.push(format!("Issues {} were raised in an earlier review.", old.join(", "))),
    }
    if let Some(why) = look.learned.no_review.as_ref().filter(|_| !look.report.issues.is_empty()) {
        remarks.push(format!("No comments on lines were posted: {why}."));
    }
    remarks.extend(here_alone(crowded(look)));
    remarks
}

/// How many issues have no comment since others have enough.
fn crowded(look: &Look<'_>) -> usize {
    let is_crowded = |place: &&Place<'_>| matches!(place, Place::Summary(NotInline::Crowded));
    look.places.iter().filter(is_crowded).count()
}

/// Whether our last word on a pull request that has nothing left to fix is that it has.
fn still_requests_changes(look: &Look<'_>) -> bool {
    let green = match look.report.verdict {
        Verdict::ReadyToMerge | Verdict::ChecksPassed => true,
        Verdict::NotReady | Verdict::ReadyWithFixes | Verdict::Incomplete => false,
    };
    green && last_vote(look).is_some_and(|review| review.state == "CHANGES_REQUESTED")
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
