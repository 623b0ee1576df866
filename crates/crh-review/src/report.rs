//! The report, from which every output is rendered.
//!
//! Invariant: every finding is in `issues`, in `pre_existing`, or in `suppressed` with its fate and
//! the reason.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::CandidatePair;
use crate::finding::{
    AutofixClass, Category, Confidence, Member, Origin, Owner, Severity, Side,
    display_as_serialised,
};
use crate::identity::is_key;
use crate::place::{Location, Quote, Tier};
use crate::verdict::{CommandKind, Verdict};

/// Version of the JSON format. It rises when old readers would misread new reports.
pub const SCHEMA_VERSION: u32 = 1;

/// Words between the number of issues over the limit and the limit.
pub(crate) const OVER_CAP_CAUSE: &str = "the report shows at most";

/// Beginning of the reason of findings that a minimum severity hides.
pub const BELOW_MINIMUM: &str = "below --min-severity";

/// The result of a review.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "report")]
pub struct Report {
    /// Version of this format.
    pub schema_version: u32,
    /// Id of the review: a hash of repository, pull request, base, head, prompts, models, budget and
    /// strategy. Paths that restrict the review are not part of it; `coverage` lists the files.
    pub review_id: String,
    /// Id of this run.
    pub run_id: String,
    /// Path of the run folder; empty if none was written.
    pub artifact: String,
    /// Whether crh may ask questions and edit files.
    pub mode: ReviewMode,
    /// Review strategy.
    pub strategy: Strategy,
    /// What was asked for: a review or only static checks. A review by static checks alone is
    /// incomplete.
    #[serde(default, skip_serializing_if = "CommandKind::is_review")]
    pub command: CommandKind,
    /// Whether the review finished.
    pub status: Status,
    /// Whether the user or a signal stopped the review.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stopped: bool,
    /// The verdict, decided by fixed rules.
    pub verdict: Verdict,
    /// Reason for the verdict.
    pub verdict_reason: String,
    /// Numbers of the open issues to fix, most urgent first.
    pub fix_order: Vec<u32>,
    /// Names of the models that answered, sorted and joined by `+`; empty if no model did.
    pub model_used: String,
    /// Names of the models of all roles, sorted and joined by `+`; empty without a model. Later
    /// reviews compare it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model_set: String,
    /// Whether only the command line named the models, so that `crh fix` needs `--model`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_model_flag: bool,
    /// Problems of the review itself.
    pub warnings: Vec<String>,
    /// Summary of the review in a few sentences.
    pub summary: String,
    /// The reviewed change.
    pub change: ReviewedChange,
    /// Size of the change.
    pub scope: Scope,
    /// Purpose of the change.
    pub intent: String,
    /// The plan that the change was checked against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Reviewers that ran.
    pub reviewers: Vec<ReviewerRow>,
    /// Issues of the change.
    pub issues: Vec<Issue>,
    /// Issues of the change over the limit. They are not posted, but they are open: crh fixes them
    /// and hands them off like the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_cap: Vec<Issue>,
    /// The number of issues over the limit, and the limit, as a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub over_cap_note: String,
    /// Issue numbers by queue.
    pub queues: Queues,
    /// Fixes that this run applied.
    pub applied_fixes: Vec<AppliedFix>,
    /// Numbers of the issues that crh could not fix. `warnings` has the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_fixed: Vec<u32>,
    /// Issues that existed before the change.
    pub pre_existing: Vec<Issue>,
    /// Findings that are not shown, with the reason.
    pub suppressed: Vec<DroppedFinding>,
    /// Remaining risks.
    pub residual_risks: Vec<String>,
    /// Behaviour without tests.
    pub testing_gaps: Vec<String>,
    /// Pairs of issues that may be the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidate_pairs: Vec<CandidatePair>,
    /// Notes of reviewers that are not findings.
    pub notes: ReviewerNotes,
    /// Files that were read, sorted.
    pub files_reviewed: Vec<String>,
    /// How much of each file was reviewed.
    pub coverage: Vec<FileCoverage>,
    /// Fixed files that no repeated review has covered. The review is incomplete because of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix_review_gaps: Vec<FixReviewGap>,
    /// Cost and time.
    pub stats: Stats,
}

/// Whether crh asks questions and edits files, and how it prints the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Mode")]
pub enum ReviewMode {
    /// Asks at a terminal.
    Interactive,
    /// Applies safe fixes without asking.
    Autofix,
    /// Changes nothing.
    #[default]
    ReportOnly,
    /// For programs: applies safe fixes once, then prints an envelope.
    Headless,
}

/// Review strategy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// One general reviewer for the whole diff.
    Single,
    /// An orchestrator with one sub-agent per scope.
    Delegate,
    /// Specialised reviewers chosen for the change.
    #[default]
    Panel,
    /// Static checks only, without a model.
    Static,
}

/// Whether a review finished.
// The worst status is the last one.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All reviewers finished.
    #[default]
    Ok,
    /// Some reviewers failed.
    Degraded,
    /// A budget limit or the user ended the review early.
    Truncated,
    /// Nothing was reviewed.
    Error,
}

/// The reviewed change. Fields that do not apply are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Change")]
pub struct ReviewedChange {
    /// `owner/name`, or the hash of the root commit.
    pub repo: String,
    /// Number of the pull request or merge proposal.
    pub pr_number: String,
    /// Web address.
    pub url: String,
    /// Title.
    pub title: String,
    /// Author.
    pub author: String,
    /// Name of the base.
    pub base_ref: String,
    /// Name of the head.
    pub head_ref: String,
    /// Base commit.
    pub base_sha: String,
    /// Head commit, or the hash of the tree that a dirty checkout would commit.
    pub head_sha: String,
    /// Why crh cannot fix issues of the change in the checkout. `None` if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout_obstacle: Option<CheckoutObstacle>,
}

/// Why crh cannot fix a reviewed change in the checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckoutObstacle {
    /// The change was not checked out when the review began.
    NotCheckedOut,
    /// The branch was checked out with uncommitted changes, which were not reviewed.
    UnreviewedChanges,
}

/// Size of the reviewed change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scope {
    /// The scope on one line.
    pub line: String,
    /// Number of files.
    pub files: u32,
    /// Number of added lines.
    pub additions: u32,
    /// Number of removed lines.
    pub deletions: u32,
    /// Untracked files in the checkout that are not part of the change.
    pub untracked: Vec<String>,
}

/// A plan that the change is checked against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Whether the plan was named explicitly or inferred.
    pub plan_source: PlanSource,
    /// Path of the plan.
    pub path: String,
    /// Requirements of the plan.
    pub requirements: Vec<Requirement>,
}

/// How the plan was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanSource {
    /// Named by the caller or in the description; the change must meet it.
    Explicit,
    /// Inferred from file and branch names; only a hint.
    Inferred,
}

/// One requirement of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requirement {
    /// Id in the plan, such as `R1`.
    pub id: String,
    /// Text of the requirement.
    pub text: String,
    /// Whether the change meets it.
    pub state: RequirementState,
    /// Code that meets it, or the reason for the state.
    #[serde(default)]
    pub evidence: String,
    /// Whether the user waived it for this review.
    #[serde(default)]
    pub waived: bool,
}

/// Whether a change meets a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequirementState {
    /// Met.
    Met,
    /// Partly met.
    PartiallyAddressed,
    /// Not met.
    NotAddressed,
    /// Not judged.
    NotJudged,
}

/// One reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerRow {
    /// Name.
    pub name: String,
    /// A model or a static check.
    #[serde(default)]
    pub origin: Origin,
    /// Why it was chosen; empty if it always runs.
    #[serde(default)]
    pub why: String,
    /// Whether it finished.
    pub outcome: RunOutcome,
    /// Its summary, or why it failed.
    #[serde(default)]
    pub note: String,
}

impl ReviewerRow {
    /// The failure as a sentence.
    pub fn failure(&self) -> String {
        let kind = match self.origin {
            Origin::Model | Origin::Plan => "reviewer",
            Origin::Code => "check",
        };
        format!("{kind} {} failed: {}", self.name, self.note)
    }
}

/// Whether a reviewer finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Finished.
    Completed,
    /// Failed.
    Failed,
}

/// A test that passes before the change and fails with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestProof {
    /// Path of the new file.
    pub path: String,
    /// Content of the file, written by a model.
    pub content: String,
    /// The user's command that ran it.
    pub command: String,
    /// End of the output with the change.
    pub output: String,
}

/// A problem that the report shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    /// Number in every output of this run.
    pub number: u32,
    /// Stable id across runs.
    pub dedupe_key: String,
    /// The problem in one line.
    pub title: String,
    /// Severity.
    pub severity: Severity,
    /// Category.
    pub category: Category,
    /// Location.
    #[serde(flatten)]
    pub location: Location,
    /// Line that the reviewer cited, if the quoted code is on another line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relocated_from: Option<u32>,
    /// Further places of the same problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_places: Vec<Location>,
    /// Combined confidence of the reviewers.
    pub confidence: Confidence,
    /// Probability that the maintainers agree, by the editor and the validation run; absent if no
    /// editor ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Confidence>,
    /// Effect of the problem; same as `description`.
    pub why_it_matters: String,
    /// Effect of the problem.
    pub description: String,
    /// Suggested fix in words; same as `suggestion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_fix: Option<String>,
    /// Suggested fix in words; empty if there is none.
    pub suggestion: String,
    /// Exact new text for the cited lines; absent if the quoted code is elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// First quote from the issue's own file, or else the first quote.
    pub evidence_snippet: String,
    /// All quotes, located by crh or given by a static check.
    pub evidence: Vec<Quote>,
    /// A test that crh ran, if it proves the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<TestProof>,
    /// Names of the reviewers that reported it, sorted.
    pub reviewers: Vec<String>,
    /// Rule of the static check, such as `leftovers/debugger`. Ignore comments use this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Disagreement between reviewers and the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<String>,
    /// Language of the file; empty if unknown.
    pub language: String,
    /// Distance to the change.
    pub tier: Tier,
    /// Result of the second look.
    pub validation: Validation,
    /// Whether a fix may be applied without asking.
    pub autofix_class: AutofixClass,
    /// Who handles it.
    pub owner: Owner,
    /// Queue.
    pub queue: Queue,
    /// Recommended action.
    pub action: Action,
    /// Whether a fix needs a test run.
    pub requires_verification: bool,
    /// Whether it existed before the change.
    pub pre_existing: bool,
    /// Original findings.
    pub members: Vec<Member>,
}

/// Start of the text that replaces a credential in a report.
pub const CREDENTIAL_MASK: &str = "[redacted";

impl Issue {
    /// Whether crh can apply the replacement without a model. crh uses no replacement of removed
    /// lines and none with a masked credential.
    pub fn has_exact_fix(&self) -> bool {
        let is_complete = |text: &String| !text.contains(CREDENTIAL_MASK);
        self.location.side == Side::New && self.replacement.as_ref().is_some_and(is_complete)
    }

    /// Whether the editor and validation judge it. They do not judge what static checks found, nor
    /// requirements, which have their own run.
    pub fn takes_second_look(&self) -> bool {
        self.validation != Validation::ByCode
            && self.members.iter().all(|member| member.origin == Origin::Model)
    }

    /// The result of the second look. None if the issue takes none.
    pub fn second_look(&self) -> Option<Validation> {
        self.takes_second_look().then_some(self.validation)
    }

    /// Whether its evidence quotes this line, in its own file and on its own side.
    pub(crate) fn quotes_line(&self, line: u32) -> bool {
        let is_quoted = |quote: &Quote| {
            let count = u32::try_from(quote.snippet.lines().count()).unwrap_or(u32::MAX);
            let is_in_file = (&quote.file, quote.side) == (&self.location.file, self.location.side);
            is_in_file && (quote.line..quote.line.saturating_add(count)).contains(&line)
        };
        self.evidence.iter().any(is_quoted)
    }

    /// Whether it is a P0 or P1 that needs a second look and had none. Validation checks lower
    /// issues only as far as the budget allows.
    pub fn is_urgent_and_unvalidated(&self) -> bool {
        self.severity <= Severity::P1 && self.takes_second_look() && !self.validation.has_result()
    }
}

/// Result of the second look at an issue: a second model run that checks it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// No second look.
    #[default]
    NotRun,
    /// Found by a static check, which needs no second look.
    ByCode,
    /// Confirmed.
    Confirmed,
    /// Undecided.
    Unsure,
    /// The second look gave no verdict.
    NoVerdict,
    /// The second look failed.
    Degraded,
}

impl Validation {
    /// Whether there was a second look, or none was needed.
    fn has_result(self) -> bool {
        match self {
            Self::NotRun | Self::Degraded => false,
            Self::Confirmed | Self::Unsure | Self::NoVerdict | Self::ByCode => true,
        }
    }
}

/// Queue of an issue.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// The fixer of this review can fix it.
    Fixer,
    /// Work that remains after the review.
    Residual,
    /// Reported only.
    Report,
}

/// Recommended action, from least to most cautious.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// No action needed.
    Acknowledge,
    /// Apply the proposed fix.
    Apply,
    /// Find a fix later.
    Defer,
    /// The reviewers propose different fixes.
    Skip,
}

/// Issue numbers by queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Queues {
    /// Issues that the fixer of this review can fix.
    pub fixer: Vec<u32>,
    /// Issues that remain after the review.
    pub residual: Vec<u32>,
    /// Issues that are only reported.
    pub report: Vec<u32>,
}

/// A fix that this run applied. Its edits are in the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedFix {
    /// Number of the fixed issue.
    pub number: u32,
    /// What was changed.
    pub description: String,
    /// Changed files.
    pub files: Vec<String>,
    /// Whether the fix closes its issue.
    #[serde(default, skip_serializing_if = "FixOutcome::is_done")]
    pub outcome: FixOutcome,
    /// Who made it.
    #[serde(default, skip_serializing_if = "FixAuthor::is_code")]
    pub author: FixAuthor,
    /// Places of the issue that the fix did not change, or where it is no longer in the tree. Empty
    /// if the issue is closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_places: Vec<Location>,
}

/// Who made a fix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FixAuthor {
    /// crh applied the exact replacement of the issue.
    #[default]
    Code,
    /// A fixer, a model, wrote it.
    Model,
}

impl FixAuthor {
    fn is_code(&self) -> bool {
        *self == Self::Code
    }
}

/// Whether an applied fix closes its issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FixOutcome {
    /// The issue is fixed.
    #[default]
    Done,
    /// The review of the fix found the issue again. The issue is open.
    FoundAgain,
    /// The issue requires verification, and neither a test command nor a review of the fix has
    /// verified it. The issue is open.
    Unverified,
    /// The issue counts for the verdict, and the fix did not change all its places. The issue is
    /// open.
    Partial,
    /// Some files no longer have their part of the fix, because they changed after it. The issue is
    /// open.
    PartlyReverted,
}

impl FixOutcome {
    /// Whether the issue is closed.
    pub fn is_done(&self) -> bool {
        match self {
            Self::Done => true,
            Self::FoundAgain | Self::Unverified | Self::Partial | Self::PartlyReverted => false,
        }
    }

    /// Addition to the description of the fix. Empty if the issue is closed.
    pub fn note(self) -> &'static str {
        match self {
            Self::Done => "",
            Self::FoundAgain => "; the review of the fix found the issue again",
            Self::Unverified => "; the fix is not verified",
            Self::Partial => "; the fix did not change all places of the issue",
            Self::PartlyReverted => "; a part of the fix is no longer in the tree",
        }
    }
}

/// What happened to a finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Shown as an issue.
    Kept,
    /// Merged into another finding.
    Merged,
    /// True, but too small to publish.
    Minor,
    /// Not in the required format.
    Malformed,
    /// Marked as a nitpick by the reviewer.
    Nit,
    /// The quoted code does not exist.
    Unsupported,
    /// Not caused by the change.
    PreExisting,
    /// Disproved by a second look.
    Refuted,
    /// Confidence too low.
    BelowGate,
    /// Moved to testing gaps or residual risks.
    Softened,
    /// Suppressed by an ignore comment, a baseline or a setting.
    Suppressed,
    /// Dismissed earlier by a person.
    Dismissed,
    /// Held back by a lesson that maintainers confirmed.
    Lesson,
    /// Asks to remove a protected document.
    ProtectedPath,
    /// Over the limit on issues.
    OverCap,
    /// About a file outside the paths that restrict the review.
    OutsidePaths,
}

/// A finding that is not shown, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Dropped")]
pub struct DroppedFinding {
    /// What happened to it.
    pub fate: Fate,
    /// Reason.
    pub reason: String,
    /// What the fate alone does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<DropCause>,
    /// The `dedupe_key` of the issue that it was merged into, or with which it was dismissed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// Severity of its issue, if the issue is hidden but still open and counts for the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Severity>,
    /// Result of the second look at its hidden but still open issue, if that takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// Name of the reviewer.
    pub reviewer: String,
    /// The finding, if it could be parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<Member>,
    /// The original JSON, if it could not be parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<serde_json::Value>,
}

/// Why a finding has its fate, where the fate has several causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DropCause {
    /// The model that selects issues does not expect maintainers to agree.
    Improbable,
    /// Findings of class `advisory` are not published.
    Advisory,
    /// The change itself adds the suppression, or extends it to this line.
    ByChange,
}

impl DroppedFinding {
    /// A finding that is dropped for good.
    pub fn new(member: Member, fate: Fate, reason: impl Into<String>) -> Self {
        Self {
            fate,
            reason: reason.into(),
            cause: None,
            into: None,
            open: None,
            validation: None,
            reviewer: member.reviewer.clone(),
            member: Some(member),
            raw: None,
        }
    }

    /// Whether the change itself suppresses this finding.
    pub fn is_suppressed_by_change(&self) -> bool {
        self.cause == Some(DropCause::ByChange)
    }

    /// A finding whose issue is hidden but still open.
    #[must_use]
    pub fn still_open(self, severity: Severity, second_look: Option<Validation>) -> Self {
        Self { open: Some(severity), validation: second_look, ..self }
    }

    /// Whether its issue is hidden but still open, and is a P0 or P1 that needs a second look and
    /// had none.
    pub fn is_urgent_and_unvalidated(&self) -> bool {
        self.open.is_some_and(|severity| severity <= Severity::P1)
            && self.validation.is_some_and(|validation| !validation.has_result())
    }
}

/// Notes of reviewers that are not findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Notes")]
pub struct ReviewerNotes {
    /// Past solutions relevant to this change.
    pub learnings: Vec<String>,
    /// Actions that a user can perform and an agent cannot.
    pub agent_native_gaps: Vec<String>,
    /// Schema changes without a migration in this change.
    pub schema_drift: Vec<String>,
    /// Steps before, during and after the deployment.
    pub deployment: Vec<String>,
}

/// The warning that crh did not fix an issue. Without a reason, the start of the warning.
pub fn not_fixed_warning(number: u32, why: &str) -> String {
    format!("#{number} not fixed: {why}")
}

/// A fixed file that no repeated review has covered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixReviewGap {
    /// Path after the change.
    pub path: String,
    /// Whether the repeated review did not end.
    pub is_stopped: bool,
    /// Status of the repeated review.
    pub status: Status,
}

/// How much of one file was reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileCoverage {
    /// Path after the change.
    pub path: String,
    /// How much was reviewed.
    pub state: CoverageState,
    /// Why it was not fully reviewed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// How much of a file was reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoverageState {
    /// Fully reviewed.
    Reviewed,
    /// Partly reviewed; the review is incomplete.
    Truncated,
    /// Not reviewed although in scope; the review is incomplete.
    NotReviewed,
    /// Excluded on purpose (generated, vendored, binary, excluded by a setting).
    OutOfScope,
    /// Reviewed earlier and unchanged since.
    ReviewedBefore,
}

/// Cost and time of a review.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stats {
    /// Tokens of all model calls.
    pub tokens_used: TokensUsed,
    /// Cost in US dollars.
    pub cost_usd: Decimal,
    /// Seconds from start to report.
    pub latency_seconds_e2e: Decimal,
    /// Seconds spent in model calls.
    pub latency_seconds_llm: Decimal,
    /// Number of model calls.
    pub llm_calls: u32,
    /// Number of HTTP requests to models that got no reply, retries included.
    pub failed_calls: u32,
    /// Number of tool calls.
    pub tool_calls: u32,
}

/// Tokens of all model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Tokens")]
pub struct TokensUsed {
    /// Input tokens.
    #[serde(rename = "in")]
    pub input: u64,
    /// Output tokens.
    #[serde(rename = "out")]
    pub output: u64,
    /// Input tokens served from the provider's cache.
    pub cached: u64,
}

/// A number with up to six decimals, stored as millionths so that sums are exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(transparent)]
pub struct Decimal(#[schemars(with = "f64")] pub u64);

impl Serialize for Decimal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e6)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        // The cast saturates, so negative and huge numbers are harmless.
        Ok(Self((value * 1e6).round() as u64))
    }
}

display_as_serialised!(
    ReviewMode, Strategy, Status, Fate, Tier, Queue, Action, Validation, PlanSource, RunOutcome
);

/// The note about issues over a limit: `1 more issue is hidden: the report shows at most 5 issues`.
/// Empty if there are none. `fixed` of them are fixed.
pub(crate) fn over_cap_note(over_cap: &[Issue], fixed: usize, limit: &str) -> String {
    let (count, issues, verb) = match over_cap.len() {
        0 => return String::new(),
        1 => (1, "issue", "is"),
        count => (count, "issues", "are"),
    };
    let fixed = if fixed > 0 { format!(" ({fixed} fixed)") } else { String::new() };
    format!("{count} more {issues}{fixed} {verb} hidden: {OVER_CAP_CAUSE} {limit}")
}

impl Report {
    /// Number of findings per fate, without shown ones.
    pub fn fates(&self) -> BTreeMap<Fate, usize> {
        let mut fates = BTreeMap::new();
        for dropped in &self.suppressed {
            *fates.entry(dropped.fate).or_default() += 1;
        }
        fates
    }

    /// Number of dismissed issues. Several reviewers may have found the same one.
    pub fn dismissed_issues(&self) -> usize {
        let dismissed = self.suppressed.iter().filter(|it| it.fate == Fate::Dismissed);
        let (with_key, without_key): (Vec<_>, Vec<_>) = dismissed.partition(|it| it.into.is_some());
        let keys: BTreeSet<_> = with_key.iter().map(|dropped| &dropped.into).collect();
        keys.len() + without_key.len()
    }

    /// Warnings, and the note about issues over the limit, for readers that see only `issues`.
    pub fn all_warnings(&self) -> impl Iterator<Item = &String> {
        let note = Some(&self.over_cap_note).filter(|note| !note.is_empty());
        self.warnings.iter().chain(note)
    }

    /// Updates the note about issues over the limit after some of them left the report or were
    /// fixed.
    pub fn recount_over_cap(&mut self) {
        if let Some((_, limit)) = self.over_cap_note.split_once(OVER_CAP_CAUSE) {
            let fixed = self.fixed_over_cap();
            self.over_cap_note = over_cap_note(&self.over_cap, fixed, limit.trim());
        }
    }

    /// Number of fixed issues over the limit.
    pub fn fixed_over_cap(&self) -> usize {
        self.over_cap.iter().filter(|issue| self.is_fixed(issue.number)).count()
    }

    /// All issues of the change, those over the limit too, in the order of their numbers.
    pub fn all_issues(&self) -> impl Iterator<Item = &Issue> + Clone {
        let mut issues: Vec<&Issue> = self.issues.iter().chain(&self.over_cap).collect();
        issues.sort_by_key(|issue| issue.number);
        issues.into_iter()
    }

    /// Issues of the change that this run has not fixed, those over the limit too, in the order of
    /// their numbers.
    pub fn open_issues(&self) -> impl Iterator<Item = &Issue> + Clone {
        self.all_issues().filter(|issue| !self.is_fixed(issue.number))
    }

    /// Issues that this run has not fixed, most severe first, without those over the limit. Lists of
    /// open problems, such as annotations, consist of these.
    pub fn shown_open_issues(&self) -> impl Iterator<Item = &Issue> + Clone {
        self.issues.iter().filter(|issue| !self.is_fixed(issue.number))
    }

    /// Severities of the open issues, those of hidden ones too.
    pub fn open_severities(&self) -> impl Iterator<Item = Severity> {
        let hidden = self.hidden_open_findings().filter_map(|dropped| {
            let claimed = || dropped.member.as_ref().map(|member| member.finding.severity);
            dropped.open.or_else(claimed)
        });
        self.open_issues().map(|issue| issue.severity).chain(hidden)
    }

    /// The issue of the change with this number.
    pub fn issue(&self, number: u32) -> Option<&Issue> {
        self.issues.iter().chain(&self.over_cap).find(|issue| issue.number == number)
    }

    /// Findings that are open but belong to no issue of the report: the publishing threshold,
    /// `--min-severity` and the limits of reviewers hide a finding without resolving it.
    pub fn hidden_open_findings(&self) -> impl Iterator<Item = &DroppedFinding> {
        let members: BTreeSet<&Member> =
            self.over_cap.iter().flat_map(|issue| &issue.members).collect();
        let has_issue = move |dropped: &DroppedFinding| {
            dropped.member.as_ref().is_some_and(|member| members.contains(member))
        };
        self.suppressed.iter().filter(move |dropped| {
            dropped.open.is_some() || dropped.fate == Fate::OverCap && !has_issue(dropped)
        })
    }

    /// Whether a model reported a finding, shown or not.
    pub fn has_model_findings(&self) -> bool {
        let shown = self.all_issues().chain(&self.pre_existing).flat_map(|issue| &issue.members);
        let hidden = self.suppressed.iter().filter_map(|dropped| dropped.member.as_ref());
        shown.chain(hidden).any(|member| member.origin == Origin::Model)
    }

    /// Whether the change itself suppresses a finding, however mild.
    pub fn is_suppressed_by_change(&self) -> bool {
        self.suppressed.iter().any(DroppedFinding::is_suppressed_by_change)
    }

    /// The first invalid line range, for reports not written by crh.
    pub fn location_problem(&self) -> Option<String> {
        self.all_issues().chain(&self.pre_existing).find_map(|issue| {
            let Location { line_start, line_end, .. } = issue.location;
            (line_start == 0 || line_end < line_start).then(|| {
                format!(
                    "issue {} has an invalid line range: {line_start} to {line_end}",
                    issue.number
                )
            })
        })
    }

    /// The number of model reviewers, if all of them failed. `None` otherwise.
    pub fn all_reviewers_failed(&self) -> Option<usize> {
        let model_count =
            self.reviewers.iter().filter(|reviewer| reviewer.origin == Origin::Model).count();
        let failed_count =
            self.failed_reviewers().filter(|reviewer| reviewer.origin == Origin::Model).count();
        // A reviewer that failed on one part of the diff may have covered the others.
        let nothing_reviewed = self.status == Status::Error
            || self.coverage.iter().all(|file| file.state != CoverageState::Reviewed);
        (model_count > 0 && failed_count == model_count && nothing_reviewed).then_some(model_count)
    }

    /// The first invalid or duplicate id. Ids become parts of markers, and a duplicate would be
    /// posted as the same issue.
    pub fn id_problem(&self) -> Option<String> {
        if !is_key(&self.review_id) {
            return Some(
                "the `review_id` of the report must be 16 lower-case hex digits".to_owned(),
            );
        }
        let mut numbers_by_key: BTreeMap<&str, u32> = BTreeMap::new();
        self.all_issues().chain(&self.pre_existing).find_map(|issue| {
            let Issue { number, dedupe_key, .. } = issue;
            if !is_key(dedupe_key) {
                return Some(format!(
                    "the `dedupe_key` of issue {number} must be 16 lower-case hex digits"
                ));
            }
            let other = numbers_by_key.insert(dedupe_key, *number)?;
            Some(format!("issues {other} and {number} have the same `dedupe_key`"))
        })
    }

    /// Reviewers that failed.
    pub fn failed_reviewers(&self) -> impl Iterator<Item = &ReviewerRow> {
        self.reviewers.iter().filter(|reviewer| reviewer.outcome == RunOutcome::Failed)
    }

    /// Who failed and why, in the order of the report: `("reviewers security, testing", "timed
    /// out")`. An error that affects all reviewers, such as a stopped server, is listed once.
    pub fn failures(&self) -> Vec<(String, &str)> {
        let mut failures: Vec<(Vec<&ReviewerRow>, &str)> = Vec::new();
        for row in self.failed_reviewers() {
            let is_same = |(rows, note): &&mut (Vec<&ReviewerRow>, &str)| {
                *note == row.note && rows.iter().all(|other| other.origin == row.origin)
            };
            match failures.iter_mut().find(is_same) {
                Some((rows, _)) => rows.push(row),
                None => failures.push((vec![row], &row.note)),
            }
        }
        let label = |rows: &[&ReviewerRow]| {
            let is_check = rows.iter().all(|row| row.origin == Origin::Code);
            let kind = if is_check { "check" } else { "reviewer" };
            let plural = if rows.len() > 1 { "s" } else { "" };
            let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            format!("{kind}{plural} {}", names.join(", "))
        };
        failures.into_iter().map(|(rows, note)| (label(&rows), note)).collect()
    }

    /// The applied fix of an issue. The issue may be open nevertheless.
    pub fn fix_of(&self, number: u32) -> Option<&AppliedFix> {
        self.applied_fixes.iter().find(|fix| fix.number == number)
    }

    /// Moves an issue to the findings that are not shown, since the user dismissed it. Returns it.
    pub fn dismiss(&mut self, number: u32, reason: &str) -> Option<Issue> {
        let place = |issues: &[Issue]| issues.iter().position(|issue| issue.number == number);
        let issue = match (place(&self.issues), place(&self.over_cap)) {
            (Some(at), _) => self.issues.remove(at),
            (None, Some(at)) => self.over_cap.remove(at),
            (None, None) => return None,
        };
        self.recount_over_cap();
        let is_own = |dropped: &DroppedFinding| {
            let member = dropped.member.as_ref();
            matches!(dropped.fate, Fate::OverCap | Fate::Merged)
                && member.is_some_and(|it| issue.members.contains(it))
        };
        self.suppressed.retain(|dropped| !is_own(dropped));
        self.suppressed.extend(issue.members.iter().map(|member| DroppedFinding {
            fate: Fate::Dismissed,
            reason: reason.to_owned(),
            cause: None,
            into: Some(issue.dedupe_key.clone()),
            open: None,
            validation: None,
            reviewer: member.reviewer.clone(),
            member: Some(member.clone()),
            raw: None,
        }));
        Some(issue)
    }

    /// Addition to the description of an applied fix, such as that it is not verified.
    pub fn fix_note(&self, fix: &AppliedFix) -> &'static str {
        let is_gap = |file: &&FileCoverage| match file.state {
            CoverageState::Truncated | CoverageState::NotReviewed => true,
            CoverageState::Reviewed | CoverageState::ReviewedBefore | CoverageState::OutOfScope => {
                false
            }
        };
        let mut gaps = self.coverage.iter().filter(is_gap);
        match fix.outcome {
            FixOutcome::Done if gaps.any(|file| fix.files.contains(&file.path)) => {
                "; the review of its file is incomplete"
            }
            outcome => outcome.note(),
        }
    }

    /// Whether this run fixed an issue.
    pub fn is_fixed(&self, number: u32) -> bool {
        self.fix_of(number).is_some_and(|fix| fix.outcome.is_done())
    }

    /// Number of fixed issues.
    pub fn fixed_count(&self) -> usize {
        self.applied_fixes.iter().filter(|fix| fix.outcome.is_done()).count()
    }
}

#[cfg(test)]
mod tests;
