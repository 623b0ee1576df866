//! Plans the summary comment: created once, then updated only if its text changes.

use std::collections::{BTreeMap, BTreeSet};

use super::analysis::{IssuePlacement, NotInline, PostingAnalysis};
use super::review::{last_vote, stale_approval};
use crate::posting::dismissal::{DismissalMethod, ThreadDismissal};
use crate::posting::saved_review::{OpenIssue, SavedReview};
use crate::posting::thread::OwnThread;
use crate::posting::{
    PostedItem, PostingSkip, PostingSteps, PostingWrite, WriteKind, overflow_remark, saved_review,
};
use crh_review::render::{IssueDisplay, SummaryEntry, SummaryList, SummaryOptions, summary};
use crh_review::report::Issue;
use crh_review::verdict::Verdict;

pub(super) fn add_summary(plan: &mut PostingSteps, analysis: &PostingAnalysis<'_>) {
    let body = summary_body(analysis, plan);
    let Some(existing) =
        saved_review::own_summary(analysis.proposal_state, analysis.posting.instance)
    else {
        plan.writes.push(analysis.write(WriteKind::NewSummary { body }));
        return;
    };
    if is_same_text(&existing.body, &body) {
        plan.skipped.push((PostedItem::Summary, PostingSkip::AlreadyPosted));
        return;
    }
    plan.writes.push(analysis.write(WriteKind::Summary { id: existing.id, body }));
}

/// Compares texts ignoring line endings and trailing white space, which forges may change.
fn is_same_text(left: &str, right: &str) -> bool {
    left.trim_end().lines().eq(right.trim_end().lines())
}

fn summary_body(analysis: &PostingAnalysis<'_>, plan: &PostingSteps) -> String {
    let state = review_to_save(analysis);
    let state_line = saved_review::state_line(analysis.posting.instance, &state);
    let mut remarks = remarks(analysis, &state);
    let changes_vote = |write: &PostingWrite| {
        matches!(write.kind, WriteKind::Vote { .. } | WriteKind::Withdraw { .. })
    };
    let keeps_last_vote = !plan.writes.iter().any(changes_vote);
    if stale_approval(analysis).is_some() && keeps_last_vote {
        let kind = analysis.rules.profile().kind.word();
        remarks.insert(
            0,
            format!(
                "An earlier review of this account still approves the {kind}; this one does not."
            ),
        );
    }
    if still_requests_changes(analysis) && keeps_last_vote {
        remarks.push("An earlier review of this account still requests changes.".to_owned());
    }
    if state_line.is_none() {
        remarks.push(
            "The state of this review is too long to save, so the next review covers everything."
                .to_owned(),
        );
    }
    let issue_displays: Vec<IssueDisplay> =
        analysis.placements.iter().map(|placement| issue_display(placement, analysis)).collect();
    let has_comments = issue_displays.iter().any(|row| matches!(row, IssueDisplay::Linked(_)));
    let heading =
        match (analysis.posting.options.comment_only, &analysis.constraints.reason_for_no_review) {
            (false, None) if overflow_count(analysis) > 0 => Some("Without an inline comment"),
            (false, None) => Some("Not in the diff"),
            (false, Some(_)) => has_comments.then_some("Without an inline comment"),
            (true, _) => None,
        };
    let options = SummaryOptions {
        instance: analysis.posting.instance,
        links: analysis.links.as_deref(),
        rows: &issue_displays,
        heading,
        lists: &lists(analysis),
        remarks: &remarks,
        last_line: state_line.as_deref(),
    };
    summary(&analysis.report, &options)
}

/// How the summary shows an issue. A new inline comment has no address before it is posted, so the
/// link leads to the line in the diff. An inline comment that exists gets the same link: otherwise
/// the next posting would change the summary.
fn issue_display(placement: &IssuePlacement<'_>, analysis: &PostingAnalysis<'_>) -> IssueDisplay {
    let in_full = |why: &str, link| IssueDisplay::Full { why: why.to_owned(), link };
    match placement {
        IssuePlacement::Existing(own, _) if analysis.posting.options.comment_only => {
            in_full("", own.url())
        }
        IssuePlacement::Existing(own, _) if own.thread.resolved => {
            in_full("its thread was resolved", own.url())
        }
        IssuePlacement::Existing(own, Some(anchor)) if !own.thread.outdated => {
            IssueDisplay::Linked(analysis.line_url(anchor))
        }
        IssuePlacement::Existing(own, _) => match own.url() {
            Some(url) => IssueDisplay::Linked(url),
            None => in_full("", None),
        },
        IssuePlacement::Inline(anchor) => IssueDisplay::Linked(analysis.line_url(anchor)),
        IssuePlacement::Summary(NotInline::Refused) => {
            let name = analysis.rules.profile().name;
            in_full(&format!("{name} refused a comment on this line"), None)
        }
        IssuePlacement::Summary(
            NotInline::NotInDiff | NotInline::CommentOnly | NotInline::OverCommentLimit,
        ) => in_full("", None),
    }
}

/// State that the summary saves for the next review.
fn review_to_save(analysis: &PostingAnalysis<'_>) -> SavedReview {
    let report = &analysis.report;
    let heads = first_heads(analysis);
    let open_issue = |issue| OpenIssue::new(issue, &report.change.head_sha);
    let mut issues: Vec<OpenIssue> = report.issues.iter().map(open_issue).collect();
    for issue in &mut issues {
        if let Some(head) = heads.get(issue.key.as_str()) {
            issue.since = (*head).to_owned();
        }
    }
    let refused_keys = analysis.issues().filter_map(|(issue, placement)| match placement {
        IssuePlacement::Summary(NotInline::Refused) => Some(issue.dedupe_key.clone()),
        IssuePlacement::Summary(
            NotInline::NotInDiff | NotInline::CommentOnly | NotInline::OverCommentLimit,
        )
        | IssuePlacement::Inline(_)
        | IssuePlacement::Existing(..) => None,
    });
    SavedReview {
        version: saved_review::VERSION,
        review_id: report.review_id.clone(),
        base: report.change.base_sha.clone(),
        head: report.change.head_sha.clone(),
        basis: analysis.posting.basis.clone(),
        models: report.model_set.clone(),
        strategy: report.strategy,
        // After an incomplete review, the next one covers everything. If the change suppresses
        // findings about itself, the review is saved as incomplete, so that the next one notices
        // the suppression, too, and does not approve.
        complete: analysis.is_complete() && !report.is_suppressed_by_change(),
        issues,
        withheld: report.over_cap.len() + report.hidden_open_findings().count(),
        refused: refused_keys.collect(),
    }
}

/// Head commits at which issues were first raised, by issue key.
fn first_heads<'a>(analysis: &'a PostingAnalysis<'_>) -> BTreeMap<&'a str, &'a str> {
    let earlier_issues = analysis.last_review.iter().flat_map(|state| &state.issues);
    earlier_issues.map(|issue| (issue.key.as_str(), issue.since.as_str())).collect()
}

/// Issues taken over from the last review, with the head at which they were first raised.
fn carried_issues<'a>(
    analysis: &'a PostingAnalysis<'_>,
) -> impl Iterator<Item = (&'a Issue, &'a str)> {
    let carried_issues = analysis.posting.carried_issues.unwrap_or_default();
    analysis.report.issues.iter().filter_map(|issue| {
        let carried_issue =
            carried_issues.iter().find(|carried| carried.key == issue.dedupe_key)?;
        Some((issue, carried_issue.since.as_str()))
    })
}

fn lists(analysis: &PostingAnalysis<'_>) -> Vec<SummaryList> {
    let carried_entry = |(issue, since): (&Issue, &str)| SummaryEntry {
        place: Some(issue.location.to_string()),
        title: issue.title.clone(),
        remark: format!("issue {}, {}, since {}", issue.number, issue.severity, short_id(since)),
        link: None,
    };
    let (effective, ineffective): (Vec<&ThreadDismissal>, Vec<&ThreadDismissal>) =
        analysis.dismissals.iter().partition(|dismissal| dismissal.is_effective);
    let resolved_by_plan: Vec<&str> =
        analysis.threads_to_resolve().iter().map(|own| own.thread.node_id.as_str()).collect();
    let not_repeated = analysis.unmatched_threads.iter().filter(|own| {
        !own.thread.resolved && !resolved_by_plan.contains(&own.thread.node_id.as_str())
    });
    vec![
        SummaryList {
            heading: "Carried over from the last review",
            entries: carried_issues(analysis).map(carried_entry).collect(),
        },
        SummaryList {
            heading: "Dismissed",
            entries: effective
                .into_iter()
                .map(|dismissal| dismissal_entry(dismissal, ""))
                .collect(),
        },
        SummaryList {
            heading: "Dismissed without permission, still open",
            entries: ineffective
                .into_iter()
                .map(|dismissal| dismissal_entry(dismissal, ", who cannot dismiss issues here"))
                .collect(),
        },
        SummaryList {
            heading: "Earlier comments not repeated by this review",
            entries: not_repeated.map(thread_entry).collect(),
        },
    ]
}

fn dismissal_entry(dismissal: &ThreadDismissal, suffix: &str) -> SummaryEntry {
    let prefix = match dismissal.method {
        DismissalMethod::Reply => "by",
        DismissalMethod::Resolved => "resolved without a code change by",
    };
    SummaryEntry {
        place: None,
        title: unescape_title(&dismissal.title),
        remark: format!("{prefix} {}{suffix}", dismissal.by),
        link: (!dismissal.url.is_empty()).then(|| dismissal.url.clone()),
    }
}

fn thread_entry(own: &OwnThread<'_>) -> SummaryEntry {
    SummaryEntry {
        place: Some(own.thread.path.clone()),
        title: unescape_title(own.title),
        remark: String::new(),
        link: own.url(),
    }
}

/// Reverts the escaping in the title of a posted comment. The summary escapes titles itself.
fn unescape_title(title: &str) -> String {
    title
        .replace('\u{200b}', "")
        .replace("\\[", "[")
        .replace("\\]", "]")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// Remarks about earlier reviews and about issues without an inline comment.
fn remarks(analysis: &PostingAnalysis<'_>, state: &SavedReview) -> Vec<String> {
    let mut remarks = Vec::new();
    let head = &analysis.report.change.head_sha;
    let carried: BTreeSet<u32> = carried_issues(analysis).map(|(issue, _)| issue.number).collect();
    let issues = analysis.report.issues.iter().zip(&state.issues);
    let raised_earlier = issues.filter(|(issue, open_issue)| {
        !carried.contains(&issue.number) && open_issue.since != *head
    });
    let numbers: Vec<String> = raised_earlier.map(|(issue, _)| issue.number.to_string()).collect();
    match numbers.len() {
        0 => {}
        1 => remarks.push(format!("Issue {} was raised in an earlier review.", numbers[0])),
        _ => {
            remarks
                .push(format!("Issues {} were raised in an earlier review.", numbers.join(", ")));
        }
    }
    if let Some(why) = analysis
        .constraints
        .reason_for_no_review
        .as_ref()
        .filter(|_| !analysis.report.issues.is_empty())
    {
        remarks.push(format!("No inline comments were posted: {why}."));
    }
    remarks.extend(overflow_remark(overflow_count(analysis), analysis.rules.profile().inline_max));
    remarks
}

/// Number of issues without an inline comment because of the limit of inline comments.
fn overflow_count(analysis: &PostingAnalysis<'_>) -> usize {
    let is_over_limit = |placement: &&IssuePlacement<'_>| {
        matches!(placement, IssuePlacement::Summary(NotInline::OverCommentLimit))
    };
    analysis.placements.iter().filter(is_over_limit).count()
}

/// Whether this installation's last vote still requests changes although nothing is left to fix.
fn still_requests_changes(analysis: &PostingAnalysis<'_>) -> bool {
    let has_nothing_to_fix = match analysis.report.verdict {
        Verdict::ReadyToMerge | Verdict::ChecksPassed => true,
        Verdict::NotReady | Verdict::ReadyWithFixes | Verdict::Incomplete => false,
    };
    has_nothing_to_fix
        && last_vote(analysis).is_some_and(|review| review.state == "CHANGES_REQUESTED")
}

fn short_id(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
