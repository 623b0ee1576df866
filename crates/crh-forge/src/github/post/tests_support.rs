//! A review, a pull request, and a GitHub in memory that applies writes as the real one does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::carrying::Answer;
use super::plan::{What, Write};
use super::state::Basis;
use super::{Posting, Terms};
use crate::github::{
    Account, FilePatch, InlineComment, InlineThread, PullState, Standing, StandingReview,
    TopComment,
};
use crh_review::diff::Diff;
use crh_review::report::{Issue, Report, Status, Strategy};
use crh_review::verdict::Verdict;

/// How many lines of `a.rs` the pull request shows.
pub(crate) const SHOWN: u32 = 100;

/// Everything that a posting borrows.
pub(crate) struct Review {
    pub(crate) report: Report,
    pub(crate) basis: Basis,
    diff: Diff,
    pub(crate) terms: Terms,
}

impl Review {
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
        let basis = Basis {
            configuration: "c".to_owned(),
            prompt_version: "p".to_owned(),
            reviewers: Vec::new(),
        };
        Self { report, basis, diff: Diff::read(""), terms: Terms::default() }
    }

    pub(crate) fn posting(&self) -> Posting<'_> {
        Posting {
            report: &self.report,
            diff: &self.diff,
            head_lines: &head_lines,
            mask: &|text| text.replace("hunter2", "***"),
            instance: "crh",
            web: "https://forge.example",
            basis: &self.basis,
            carried: None,
            terms: self.terms,
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

/// The pull request, before anybody has said anything.
pub(crate) fn fresh() -> Standing {
    let body: String = (1..=SHOWN).map(|line| format!("\n+    line({line});")).collect();
    Standing {
        viewer: Account { id: 1, login: "reviewer[bot]".to_owned() },
        pull: PullState {
            repo: "o/r".to_owned(),
            number: 7,
            head: "h1".to_owned(),
            open: true,
            draft: false,
            author: Some(Account { id: 2, login: "author".to_owned() }),
            by_bot: false,
            from_fork: false,
        },
        files: vec![FilePatch {
            path: "a.rs".to_owned(),
            previous: None,
            patch: Some(format!("@@ -0,0 +1,{SHOWN} @@{body}")),
        }],
        ..Standing::default()
    }
}

/// GitHub in memory.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    pub(crate) standing: Standing,
    /// The lines on which it refuses comments, though it shows them.
    pub(crate) bad_lines: BTreeSet<u64>,
    /// What it says to reviews of a state, whatever is in them.
    pub(crate) refuses: BTreeMap<String, String>,
    /// The conversations of a review that was not submitted.
    unseen: Vec<InlineThread>,
    next_id: u64,
}

impl Memory {
    pub(crate) fn new(standing: Standing) -> Self {
        let (bad_lines, refuses, unseen) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
        Self { standing, bad_lines, refuses, unseen, next_id: 100 }
    }

    /// Applies a write, or refuses it.
    pub(crate) fn write(&mut self, write: &Write) -> Answer {
        match &write.what {
            What::Review { .. } => return self.review(&write.request.body, "COMMENTED"),
            What::Vote { event: "APPROVE" } => return self.review(&write.request.body, "APPROVED"),
            What::Vote { .. } => return self.review(&write.request.body, "CHANGES_REQUESTED"),
            What::Withdraw { id } => self.review_becomes(*id, "DISMISSED"),
            What::Submit { id } => {
                self.review_becomes(*id, "COMMENTED");
                self.standing.threads.append(&mut self.unseen);
            }
            What::NewSummary => {
                let id = self.id();
                self.standing.comments.push(TopComment {
                    id,
                    author: Some(self.standing.viewer.clone()),
                    body: text(&write.request.body["body"]),
                    url: format!("https://forge.example/o/r/pull/7#issuecomment-{id}"),
                    ..TopComment::default()
                });
            }
            What::Summary { id } => {
                let comments = &mut self.standing.comments;
                let comment = comments.iter_mut().find(|comment| comment.id == *id).unwrap();
                comment.body = text(&write.request.body["body"]);
            }
            What::Resolve { node_id } => {
                let threads = &mut self.standing.threads;
                let thread = threads.iter_mut().find(|it| it.node_id == *node_id).unwrap();
                thread.resolved = true;
                thread.resolved_by = Some(self.standing.viewer.login.clone());
            }
        }
        Answer::Done
    }

    fn review_becomes(&mut self, id: u64, state: &str) {
        let review = self.standing.reviews.iter_mut().find(|review| review.id == id).unwrap();
        state.clone_into(&mut review.state);
    }

    /// Turns the last review into one that was not submitted.
    pub(crate) fn unsubmit(&mut self) {
        self.standing.reviews.last_mut().unwrap().state = "PENDING".to_owned();
        self.unseen.append(&mut self.standing.threads);
    }

    fn review(&mut self, body: &Value, state: &str) -> Answer {
        if let Some(why) = self.refuses.get(state) {
            return Answer::Refused(why.clone());
        }
        let comments = body["comments"].as_array().unwrap();
        assert!(comments.len() <= 50, "{} comments in one review", comments.len());
        let is_bad = |comment: &Value| self.bad_lines.contains(&comment["line"].as_u64().unwrap());
        if comments.iter().any(is_bad) {
            return Answer::Misplaced("line must be part of the diff".to_owned());
        }
        for comment in comments {
            let id = self.id();
            let line = |name: &str| comment[name].as_u64().map(|line| u32::try_from(line).unwrap());
            self.standing.threads.push(InlineThread {
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
                    author: Some(self.standing.viewer.login.clone()),
                    body: text(&comment["body"]),
                    url: format!("https://forge.example/o/r/pull/7#discussion_r{id}"),
                    ..InlineComment::default()
                }],
                ..InlineThread::default()
            });
        }
        let id = self.id();
        self.standing.reviews.push(StandingReview {
            id,
            author: Some(self.standing.viewer.clone()),
            state: state.to_owned(),
            commit: Some(self.standing.pull.head.clone()),
            body: text(&body["body"]),
        });
        Answer::Done
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// What a reader sees, whatever order and parts it came in.
    pub(crate) fn seen(&self) -> Vec<String> {
        let standing = &self.standing;
        let threads = standing.threads.iter().map(|it| {
            format!("{}:{:?} resolved={} {}", it.path, it.line, it.resolved, it.comments[0].body)
        });
        let comments = standing.comments.iter().map(|it| it.body.clone());
        let votes = standing.reviews.iter().filter(|it| it.state != "COMMENTED");
        let votes = votes.map(|it| it.state.clone());
        let mut seen: Vec<String> = threads.chain(comments).chain(votes).collect();
        seen.sort();
        seen
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
