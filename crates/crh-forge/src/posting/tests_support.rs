//! Test fixtures: a review, a pull request, and an in-memory GitHub.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    FilePatch, ForgeUser, InlineComment, InlineThread, PostingOptions, PostingWrite,
    ProposalComment, ProposalProperties, ProposalReview, ProposalState, ReviewBasis, ReviewPosting,
    WriteAnswer, WriteKind,
};
use crh_review::diff::Diff;
use crh_review::report::{DropCause, DroppedFinding, Fate, Issue, Report, Status, Strategy};
use crh_review::verdict::Verdict;

/// Lines of `a.rs` that the pull request shows.
pub(crate) const SHOWN_LINES: u32 = 100;

/// Owns the values that a `ReviewPosting` borrows.
pub(crate) struct ReviewFixture {
    pub(crate) report: Report,
    pub(crate) basis: ReviewBasis,
    diff: Diff,
    pub(crate) options: PostingOptions,
}

impl ReviewFixture {
    /// A review of head `h1` with issues on these lines of `a.rs`.
    pub(crate) fn new(lines: &[u32]) -> Self {
        let mut report = Report {
            review_id: "0123456789abcdef".to_owned(),
            strategy: Strategy::Single,
            status: Status::Ok,
            model_used: "model-a".to_owned(),
            verdict: if lines.is_empty() { Verdict::ReadyToMerge } else { Verdict::ReadyWithFixes },
            verdict_reason: format!("{} issues to fix", lines.len()),
            ..Report::default()
        };
        report.change.repo = "o/r".to_owned();
        report.change.pr_number = "7".to_owned();
        report.change.base_sha = "b0".to_owned();
        report.change.head_sha = "h1".to_owned();
        report.issues = (1..).zip(lines).map(|(number, line)| issue(number, *line)).collect();
        let basis = ReviewBasis {
            configuration: "c".to_owned(),
            prompt_version: "p".to_owned(),
            reviewers: Vec::new(),
        };
        Self { report, basis, diff: Diff::read(""), options: PostingOptions::default() }
    }

    pub(crate) fn posting(&self) -> ReviewPosting<'_> {
        ReviewPosting {
            report: &self.report,
            diff: &self.diff,
            head_lines: &head_lines,
            mask: &|text| text.replace("hunter2", "***"),
            instance: "crh",
            web: "https://forge.example",
            basis: &self.basis,
            carried_issues: None,
            options: self.options,
        }
    }
}

fn head_lines(file: &str) -> Option<Vec<String>> {
    (file == "a.rs").then(|| (1..=200).map(|line| format!("    line({line});")).collect())
}

pub(crate) fn issue(number: u32, line: u32) -> Issue {
    serde_json::from_value(json!({
        "number": number, "dedupe_key": format!("{line:016x}"), "title": format!("Trouble {line}"),
        "severity": "P1", "category": "bug", "file": "a.rs", "side": "new", "line_start": line, "line_end": line,
        "confidence": 0.8, "why_it_matters": "Customers pay twice.", "description": "", "suggestion": "",
        "evidence_snippet": format!("line({line});"), "reviewers": ["correctness"], "language": "rust",
        "evidence": [{ "file": "a.rs", "side": "new", "line": line, "snippet": format!("line({line});") }],
        "tier": "primary", "validation": "not_run", "autofix_class": "manual", "owner": "downstream-resolver",
        "queue": "residual", "action": "defer", "requires_verification": false, "pre_existing": false, "members": [],
    }))
    .unwrap()
}

/// A pull request without comments.
pub(crate) fn fresh() -> ProposalState {
    let body: String = (1..=SHOWN_LINES).map(|line| format!("\n+    line({line});")).collect();
    ProposalState {
        viewer: Some(ForgeUser::new(1, "reviewer[bot]")),
        properties: ProposalProperties {
            repo: "o/r".to_owned(),
            number: 7,
            head: "h1".to_owned(),
            open: true,
            author: Some(ForgeUser::new(2, "author")),
            ..ProposalProperties::default()
        },
        files: vec![FilePatch {
            path: "a.rs".to_owned(),
            previous: None,
            patch: Some(format!("@@ -0,0 +1,{SHOWN_LINES} @@{body}")),
        }],
        ..ProposalState::default()
    }
}

/// An in-memory GitHub.
#[derive(Debug, Clone)]
pub(crate) struct InMemoryGitHub {
    pub(crate) proposal_state: ProposalState,
    /// Lines that the diff shows but on which this GitHub refuses comments.
    pub(crate) bad_lines: BTreeSet<u64>,
    /// Messages with which this GitHub refuses reviews, by review state such as `APPROVED`.
    pub(crate) refused_states: BTreeMap<String, String>,
    /// Threads of a pending review.
    pending_threads: Vec<InlineThread>,
    next_id: u64,
}

impl InMemoryGitHub {
    pub(crate) fn new(proposal_state: ProposalState) -> Self {
        let (bad_lines, refused_states, pending_threads) =
            (BTreeSet::new(), BTreeMap::new(), Vec::new());
        Self { proposal_state, bad_lines, refused_states, pending_threads, next_id: 100 }
    }

    /// Applies a write to the pull request, or refuses it.
    pub(crate) fn write(&mut self, write: &PostingWrite) -> WriteAnswer {
        match &write.kind {
            WriteKind::Review { .. } => return self.review(&write.request.body, "COMMENTED"),
            WriteKind::Vote { event: "APPROVE", .. } => {
                return self.review(&write.request.body, "APPROVED");
            }
            WriteKind::Vote { .. } => return self.review(&write.request.body, "CHANGES_REQUESTED"),
            WriteKind::Withdraw { id, .. } => self.set_review_state(*id, "DISMISSED"),
            WriteKind::Submit { id } => {
                self.set_review_state(*id, "COMMENTED");
                self.proposal_state.threads.append(&mut self.pending_threads);
            }
            WriteKind::NewSummary { .. } => {
                let id = self.id();
                self.proposal_state.comments.push(ProposalComment {
                    id,
                    author: self.proposal_state.viewer.clone(),
                    body: text(&write.request.body["body"]),
                    url: format!("https://forge.example/o/r/pull/7#issuecomment-{id}"),
                    ..ProposalComment::default()
                });
            }
            WriteKind::Summary { id, .. } => {
                let comments = &mut self.proposal_state.comments;
                let comment = comments.iter_mut().find(|comment| comment.id == *id).unwrap();
                comment.body = text(&write.request.body["body"]);
            }
            WriteKind::Resolve { node_id } => {
                let threads = &mut self.proposal_state.threads;
                let thread = threads.iter_mut().find(|thread| thread.node_id == *node_id).unwrap();
                thread.resolved = true;
                thread.resolved_by = self.proposal_state.viewer.clone().map(|viewer| viewer.login);
            }
            WriteKind::WholeReview { .. } => panic!("GitHub has no such write"),
        }
        WriteAnswer::Done
    }

    fn set_review_state(&mut self, id: u64, state: &str) {
        let review = self.proposal_state.reviews.iter_mut().find(|review| review.id == id).unwrap();
        state.clone_into(&mut review.state);
    }

    /// Makes the last review pending, as if crh was interrupted before it submitted the review.
    pub(crate) fn unsubmit(&mut self) {
        self.proposal_state.reviews.last_mut().unwrap().state = "PENDING".to_owned();
        self.pending_threads.append(&mut self.proposal_state.threads);
    }

    fn review(&mut self, body: &Value, state: &str) -> WriteAnswer {
        if let Some(why) = self.refused_states.get(state) {
            return WriteAnswer::Refused(why.clone());
        }
        let comments = body["comments"].as_array().unwrap();
        assert!(comments.len() <= 50, "{} comments in one review", comments.len());
        let is_bad = |comment: &Value| self.bad_lines.contains(&comment["line"].as_u64().unwrap());
        if comments.iter().any(is_bad) {
            return WriteAnswer::Misplaced("line must be part of the diff".to_owned());
        }
        for comment in comments {
            let id = self.id();
            let line = |name: &str| comment[name].as_u64().map(|line| u32::try_from(line).unwrap());
            self.proposal_state.threads.push(InlineThread {
                node_id: format!("T{id}"),
                path: text(&comment["path"]),
                line: line("line"),
                start_line: line("start_line"),
                original_line: line("start_line").or(line("line")),
                side: Some(Default::default()),
                comments: vec![InlineComment {
                    id,
                    ours: true,
                    by_bot: true,
                    author: self.proposal_state.viewer_login().map(str::to_owned),
                    body: text(&comment["body"]),
                    url: format!("https://forge.example/o/r/pull/7#discussion_r{id}"),
                    ..InlineComment::default()
                }],
                ..InlineThread::default()
            });
        }
        let id = self.id();
        self.proposal_state.reviews.push(ProposalReview {
            id,
            author: self.proposal_state.viewer.clone(),
            state: state.to_owned(),
            commit: Some(self.proposal_state.properties.head.clone()),
            body: text(&body["body"]),
        });
        WriteAnswer::Done
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Texts that a visitor sees, sorted, so that the order of comments and batches does not
    /// matter.
    pub(crate) fn visible_content(&self) -> Vec<String> {
        let state = &self.proposal_state;
        let threads = state.threads.iter().map(|thread| {
            format!(
                "{}:{:?} resolved={} {}",
                thread.path, thread.line, thread.resolved, thread.comments[0].body
            )
        });
        let comments = state.comments.iter().map(|comment| comment.body.clone());
        let votes = state.reviews.iter().filter(|review| review.state != "COMMENTED");
        let votes = votes.map(|review| review.state.clone());
        let mut content: Vec<String> = threads.chain(comments).chain(votes).collect();
        content.sort();
        content
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A report that passes, of a change that suppresses a finding about itself.
pub(crate) fn self_suppressed_report(report: Report) -> Report {
    let dropped = DroppedFinding {
        fate: Fate::Suppressed,
        reason: "`# noqa` on line 3, added by this change".to_owned(),
        cause: Some(DropCause::ByChange),
        into: None,
        open: None,
        validation: None,
        reviewer: "leftovers".to_owned(),
        member: None,
        raw: None,
    };
    Report { suppressed: vec![dropped], ..report }
}
