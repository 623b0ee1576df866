//! Steps, questions, answers and decisions of an interactive review.

use std::collections::BTreeSet;

use super::destination::Destination;
use crh_review::report::FixOutcome;

/// The next step of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FlowStep {
    /// Apply the safe fixes.
    FixSafe,
    /// Apply fixes for these issues in one pass.
    Fix(BTreeSet<u32>),
    Show,
    /// Detect the tracker.
    Detect,
    Ask(Question),
    /// File a ticket for this issue.
    File(u32),
    /// Switch to the next tracker.
    FallBack,
    /// Print that no finding needs a decision.
    Resolved(ResolvedCounts),
    /// Dismiss these issues.
    Dismiss(BTreeSet<u32>),
    /// Undo the fixes, so that the working tree is as it was before the review.
    Undo,
    /// Print the completion report.
    Complete,
    /// Find out whether the fixes can be pushed.
    FindDestination,
    Publish(PublishStep),
    End,
}

/// A question with its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) about: QuestionSubject,
    /// Offered answers, in order.
    pub(super) picks: Vec<Choice>,
    pub(super) recommended: Option<Choice>,
}

/// The subject of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QuestionSubject {
    /// What to do with the open findings.
    Routing { remaining: usize, safe: SafeFixes },
    /// What to do with one finding.
    Finding(FindingQuestion),
    /// Whether to run the plan.
    Preview(ActionPlan),
    /// What to do about a ticket that could not be filed.
    NotFiled { number: u32, not_filed: FilingFailure },
    /// Whether to publish the fixes.
    NextSteps { fixes: usize, destination: Destination },
}

/// Fixes that crh can apply by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SafeFixes {
    /// There are none.
    None,
    /// Numbers of the issues. No fix is applied yet.
    Offered(Vec<u32>),
    /// Number of fixes applied after the user agreed. They stay.
    Agreed(usize),
    /// Number of fixes applied before the first question. "Report only" undoes them.
    AppliedFirst(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilingFailure {
    pub(super) why: String,
    pub(super) next: NextSink,
}

/// Whether another tracker is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextSink {
    There,
    None,
}

/// A finding of the walk-through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FindingQuestion {
    pub(super) number: u32,
    /// Index and total, from 1. `None` if it is the only one.
    pub(super) position: Option<(usize, usize)>,
    pub(super) deferring: DeferAvailability,
}

/// Whether a finding can be deferred as recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeferAvailability {
    /// It can be deferred, or Defer is not recommended.
    AsRecommended,
    /// Defer is recommended but there is no tracker. Skip is recommended instead.
    BecomesSkip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Choice {
    ApplySafe,
    OneByOne,
    BestJudgment,
    FileAll,
    ReportOnly,
    KeepFixes,
    Apply,
    Acknowledge,
    Defer,
    Skip,
    TheRest,
    Dismiss,
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

/// Actions for many issues, by issue number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActionPlan {
    pub(super) kind: PlanKind,
    pub(super) apply: Vec<u32>,
    pub(super) file: Vec<u32>,
    pub(super) skip: Vec<u32>,
    pub(super) acknowledge: Vec<u32>,
    /// Skipped issues for which Defer was recommended.
    pub(super) not_deferred: BTreeSet<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanKind {
    /// The recommended action for every issue.
    All,
    /// The recommended action for the remaining issues, after this number of decisions.
    Rest { decided: usize },
    /// A ticket for every issue.
    Tickets,
}

/// The result for one issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// To be fixed after the last decision.
    ToApply,
    /// The edit is in the tree; it may not have closed the issue.
    Applied(FixOutcome),
    /// The fix failed, with the reason.
    NotApplied(String),
    Deferred {
        url: String,
    },
    Skipped,
    /// The ticket could not be filed, with the reason.
    NotFiled(String),
    Acknowledged,
    /// To be dismissed after the last decision.
    ToDismiss,
    Dismissed,
    /// The issue could not be dismissed, with the reason.
    NotDismissed(String),
}

/// Counts for the message that no finding needs a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResolvedCounts {
    pub(super) safe_fixes: usize,
    pub(super) advisory: usize,
    pub(super) pre_existing: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PublishStep {
    Push,
    CreatePullRequest,
}
