//! Jobs of workers, and their states.

use serde::{Deserialize, Serialize};

use crate::clock::UnixMillis;

/// Number of a job in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub i64);

impl std::fmt::Display for JobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A GitHub App's installation. At other forges, it is always [`crate::forges::NO_INSTALLATION`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstallationId(pub i64);

impl std::fmt::Display for InstallationId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One pull request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChangeId {
    /// Host name of the forge, such as `github.com`.
    pub forge: String,
    /// `OWNER/NAME`.
    pub repository: String,
    /// Number of the pull request as text. Empty for a job about the whole repository.
    pub number: String,
}

impl std::fmt::Display for ChangeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}#{}", self.forge, self.repository, self.number)
    }
}

/// What makes a job unique: the store never holds two jobs with the same key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey {
    /// The pull request.
    pub change: ChangeId,
    /// Head commit of a review. For a command or a reply, the id of its comment, so that each
    /// comment is handled once. For the notice that a maintainer must ask for a review, the head
    /// commit. For outcomes, the last posted review. For a reconciliation, any text that names its
    /// time or its delivery. For a cleanup, its day.
    pub head: String,
    /// Kind of work.
    pub kind: JobKind,
}

/// Kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobKind {
    /// Review the head of a pull request and post the review.
    Review,
    /// Carry out a `/crh` command of a comment.
    Command,
    /// Answer a reply to one of crh's comments.
    Reply,
    /// Decide what became of the posted issues of a closed pull request.
    Outcomes,
    /// List open pull requests of a repository and add missing reviews and outcomes.
    Reconcile,
    /// Remove data that is past its retention.
    Cleanup,
}

impl JobKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Review, Self::Command, Self::Reply, Self::Outcomes, Self::Reconcile, Self::Cleanup];

    /// Name in the database and on the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Command => "command",
            Self::Reply => "reply",
            Self::Outcomes => "outcomes",
            Self::Reconcile => "reconcile",
            Self::Cleanup => "cleanup",
        }
    }
}

/// Which waiting job a worker takes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// A person waits for it.
    High,
    /// A push.
    Normal,
    /// Reconciliation, cleanup, outcomes, and reviews that a reconciliation found missing.
    Low,
}

impl Priority {
    /// All priorities, the most urgent one first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    pub(crate) fn number(self) -> i64 {
        match self {
            Self::High => 0,
            Self::Normal => 1,
            Self::Low => 2,
        }
    }
}

/// Who caused a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobOrigin {
    /// An event or a reconciliation. The store adds no review of a paused pull request, and does
    /// not repeat a review that is done, dead or cancelled.
    Automatic,
    /// A person who may write to the repository. A review that ended runs again, and one that waits
    /// for its time runs now, even if the pull request is paused or a setting excludes it.
    Person,
}

impl JobOrigin {
    /// Name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Person => "person",
        }
    }
}

/// A job to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// What makes it unique.
    pub key: JobKey,
    /// Installation whose token and budget it uses.
    pub installation: InstallationId,
    /// Urgency.
    pub priority: Priority,
    /// Who caused it.
    pub origin: JobOrigin,
    /// The forge's time of the change's last update, in milliseconds, or the current time if that
    /// is not known. Deliveries may come out of order: a review with an older revision does not
    /// supersede a newer one.
    pub revision: i64,
    /// What the worker needs to know besides the key.
    pub payload: serde_json::Value,
}

impl NewJob {
    /// The job that decides what became of the issues of a closed pull request. Its key names the
    /// last posted review, so that a delivery and a reconciliation add it once.
    pub(crate) fn outcomes(
        reviewed: ReviewedPull,
        installation: InstallationId,
        now: UnixMillis,
    ) -> Self {
        let ReviewedPull { change, last_review } = reviewed;
        let head = format!("{OUTCOMES_HEAD}{last_review}");
        Self {
            key: JobKey { change, head, kind: JobKind::Outcomes },
            installation,
            priority: Priority::Low,
            origin: JobOrigin::Automatic,
            revision: now.0,
            payload: serde_json::Value::Null,
        }
    }
}

/// Start of the head in the key of an outcomes job. The number of the review follows.
pub(crate) const OUTCOMES_HEAD: &str = "review-";

/// A pull request with a posted review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedPull {
    /// The pull request.
    pub change: ChangeId,
    /// Number of its last posted review.
    pub last_review: i64,
}

/// What adding a job did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// The job waits or runs: it is new, had ended and runs again, runs at once because a person
    /// asked for it, or no longer has to stop.
    Added(JobId),
    /// The store has this job already.
    Exists(JobId),
    /// A review of a newer head exists, so this head is not reviewed.
    Outdated,
    /// The pull request is paused.
    Paused,
}

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// Ready, or waiting for its time.
    Waiting,
    /// A worker holds its lease.
    Running,
    /// Ended well.
    Done,
    /// Gave up after too many attempts, or failed in a way that a retry cannot help. A person can
    /// retry it.
    Dead,
    /// A newer head took its place, or the pull request was paused, closed or made a draft.
    Superseded,
    /// A person stopped it, or the installation was suspended or removed.
    Cancelled,
    /// The job did not apply, for example because a setting of the repository excludes the pull
    /// request. Adding it again runs it if the pull request was updated or a person asks for it.
    Skipped,
}

impl JobState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Running,
        Self::Done,
        Self::Dead,
        Self::Superseded,
        Self::Cancelled,
        Self::Skipped,
    ];

    /// Name in the database and on the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Superseded => "superseded",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }
}

/// A job in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Number.
    pub id: JobId,
    /// What makes it unique.
    pub key: JobKey,
    /// Installation whose token and budget it uses.
    pub installation: InstallationId,
    /// Urgency.
    pub priority: Priority,
    /// Who caused it last.
    pub origin: JobOrigin,
    /// What the worker needs to know besides the key.
    pub payload: serde_json::Value,
    /// The forge's time of the change's last update, in milliseconds.
    pub revision: i64,
    /// State.
    pub state: JobState,
    /// Why it is in this state, or why its last attempt failed. Empty if there is no reason.
    pub reason: String,
    /// Number of started attempts.
    pub attempts: u32,
    /// Earliest start of the next attempt.
    pub run_at: UnixMillis,
    /// Time at which it was added.
    pub created_at: UnixMillis,
    /// Time of the last change of its state.
    pub changed_at: UnixMillis,
    /// Worker that holds its lease. Empty if none does.
    pub owner: String,
    /// What the worker does right now, such as `prepare`.
    pub step: String,
}

/// A worker's right to work on a job, until it expires.
///
/// Every write about the job carries the token. The store refuses it with `StaleLease` if the lease
/// was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// Fencing token: counts the claims of this job.
    pub token: i64,
}

/// A job that a worker holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedJob {
    /// The job as it was when the worker took it.
    pub job: Job,
    /// The worker's right.
    pub lease: Lease,
}

/// Answer to a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// The lease is renewed.
    Held,
    /// The lease is renewed, but the worker has to stop, for example because of a newer head or a
    /// person.
    StopRequested,
    /// The lease expired or another worker has it.
    Lost,
}

/// How an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFailure {
    /// One sentence for the page.
    pub reason: String,
    /// Whether another attempt can help.
    pub retry: RetryAdvice,
}

impl AttemptFailure {
    /// A failure after which crh tries again later.
    pub(crate) fn retried(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), retry: RetryAdvice::Backoff }
    }
}

/// Whether another attempt can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAdvice {
    /// Try again after the usual delay.
    Backoff,
    /// Try again, but not before this time: a rate limit.
    NotBefore(UnixMillis),
    /// Try again at this time, and do not count this attempt: a limit in USD.
    Uncounted(UnixMillis),
    /// Another attempt would fail in the same way.
    Never,
}
