//! What crh posted to the demo forge.

use serde_json::Value;

/// What crh posted, each list in the order of posting.
#[derive(Debug, Default)]
pub(super) struct ForgeRecords {
    last_id: u64,
    pub(super) comments: Vec<DemoComment>,
    pub(super) reviews: Vec<DemoReview>,
    pub(super) threads: Vec<DemoThread>,
    pub(super) check_runs: Vec<DemoCheckRun>,
}

/// A comment in a conversation.
#[derive(Debug)]
pub(super) struct DemoComment {
    pub(super) id: u64,
    pub(super) pull: u64,
    pub(super) body: String,
}

/// A review.
#[derive(Debug)]
pub(super) struct DemoReview {
    pub(super) id: u64,
    pub(super) pull: u64,
    pub(super) commit: String,
    pub(super) state: &'static str,
    pub(super) body: String,
}

/// A comment on lines.
#[derive(Debug)]
pub(super) struct DemoThread {
    pub(super) id: u64,
    pub(super) pull: u64,
    pub(super) path: String,
    pub(super) line: Option<u64>,
    pub(super) start_line: Option<u64>,
    pub(super) side: String,
    pub(super) body: String,
    pub(super) resolved: bool,
}

/// A check run.
#[derive(Debug)]
pub(super) struct DemoCheckRun {
    pub(super) id: u64,
    pub(super) head: String,
    /// The request that created it.
    pub(super) values: Value,
}

impl ForgeRecords {
    pub(super) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Adds a review with its comments on lines, as in the body of GitHub's request.
    pub(super) fn add_review(&mut self, pull: u64, request: &Value) -> u64 {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = self.new_id();
        let state = match request["event"].as_str() {
            Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
            Some("APPROVE") => "APPROVED",
            Some(_) => "COMMENTED",
            None => "PENDING",
        };
        for comment in request["comments"].as_array().into_iter().flatten() {
            let thread = DemoThread {
                id: self.new_id(),
                pull,
                path: text(&comment["path"]),
                line: comment["line"].as_u64(),
                start_line: comment["start_line"].as_u64(),
                side: text(&comment["side"]),
                body: text(&comment["body"]),
                resolved: false,
            };
            self.threads.push(thread);
        }
        let (commit, body) = (text(&request["commit_id"]), text(&request["body"]));
        self.reviews.push(DemoReview { id, pull, commit, state, body });
        id
    }
}
