//! What the flow of an interactive review says and is told: what to do next, what is asked about what, and what became of each
//! issue.

use std::collections::BTreeSet;

use super::destination::Destination;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Fix what is safe.
    FixSafe,
    /// Fix the issues of these numbers, in one pass.
    Fix(BTreeSet<u32>),
    /// Show the report.
    Show,
    /// Find out which tracker there is.
    Detect,
    /// Ask.
    Ask(Ask),
    /// File a ticket for the issue of this number.
    File(u32),
    /// Go on with the next place for tickets.
    FallBack,
    /// Say that nothing is left to decide.
    Resolved(Resolved),
    /// Say what became of every issue.
    Complete,
    /// Find out where the fixes could go.
    FindDestination,
    /// Publish what was fixed.
    Publish(Publish),
    /// Nothing.
    End,
}

/// A question, by what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) about: About,
    /// What can be answered, in order.
    pub(super) picks: Vec<Pick>,
    /// What is recommended.
    pub(super) recommended: Option<Pick>,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    /// What to do with all that remains.
    Routing { remaining: usize },
    /// What to do with one issue.
    Finding(Finding),
    /// Whether to do what is planned.
    Preview(Plan),
    /// What to do about a ticket that could not be filed.
    NotFiled { number: u32, not_filed: NotFiled },
    /// What to do with the fixes.
    NextSteps { fixes: usize, destination: Destination },
}

/// A ticket that could not be filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotFiled {
    pub(super) why: String,
    pub(super) next: NextSink,
}

/// Whether a ticket could be filed elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextSink {
    There,
    None,
}

/// An issue of the walk-through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) number: u32,
    /// Which one of how many; none if it is the only one.
    pub(super) position: Option<(usize, usize)>,
    /// Whether it should be deferred and cannot be.
    pub(super) deferring: Deferring,
}

/// Whether what should be deferred can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deferring {
    /// It can be, or need not be.
    AsRecommended,
    /// It should be and cannot be, so that it is skipped.
    BecomesSkip,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pick {
    OneByOne,
    BestJudgment,
    FileAll,
    ReportOnly,
    Apply,
    Acknowledge,
    Defer,
    Skip,
    TheRest,
    Proceed,
    Cancel,
    Retry,
    NextSink,
    ConvertToSkip,
    PushFixes,
    CreatePullRequest,
    Continue,
    Exit,
}

/// What is done with many issues at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) kind: PlanKind,
    pub(super) apply: Vec<u32>,
    pub(super) file: Vec<u32>,
    pub(super) skip: Vec<u32>,
    pub(super) acknowledge: Vec<u32>,
    /// Of those that are skipped, the ones that should be deferred and cannot be.
    pub(super) not_deferred: BTreeSet<u32>,
}

/// Where a plan comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanKind {
    /// The best judgement for every issue.
    All,
    /// For those that are left, when so many were decided.
    Rest { decided: usize },
    /// A ticket for every issue.
    Tickets,
}

/// What became of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is to be fixed when all is decided.
    ToApply,
    Applied,
    /// It was to be fixed and was not, and why.
    NotApplied(String),
    Deferred {
        url: String,
    },
    Skipped,
    /// It was to be deferred, no ticket could be filed, and why.
    NotFiled(String),
    Acknowledged,
}

/// Nothing is left to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) safe_fixes: usize,
    pub(super) advisory: usize,
    pub(super) pre_existing: usize,
}

/// How fixes are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Publish {
    Push,
    CreatePullRequest,
}
