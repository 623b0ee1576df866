//! The report: everything any output needs. Every rendering is a pure function of it.
//!
//! Invariant: each finding that came in is either one of the `issues`, one of the `pre_existing`, or in
//! `suppressed` with its fate and the reason for it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::CandidatePair;
use crate::finding::{
    AutofixClass, Category, Confidence, Member, Origin, Owner, Severity, display_as_serialised,
};
use crate::identity::is_key;
use crate::place::{Location, Quote, Tier};
use crate::verdict::Verdict;

/// The version of the JSON form. It rises when a reader of the old form would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// A review, whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "report")]
pub struct Report {
    /// The version of this form.
    pub schema_version: u32,
    /// Names the review: the same change reviewed in the same way has the same id.
    pub review_id: String,
    /// Names this run of it.
    pub run_id: String,
    /// Where the run folder is; empty when none was written.
    pub artifact: String,
    /// Who may change the tree.
    pub mode: Mode,
    /// How the review was done.
    pub strategy: Strategy,
    /// Whether it was done to the end.
    pub status: Status,
    /// The verdict, from a table.
    pub verdict: Verdict,
    /// Why it is that one, in a sentence.
    pub verdict_reason: String,
    /// The numbers of the open issues to fix, in order.
    pub fix_order: Vec<u32>,
    /// The models, sorted and joined by `+`; empty when none was asked.
    pub model_used: String,
    /// What the reader should know about the review itself.
    pub warnings: Vec<String>,
    /// The review in a few sentences.
    pub summary: String,
    /// What was reviewed.
    pub change: Change,
    /// How much of it.
    pub scope: Scope,
    /// What the change is trying to do.
    pub intent: String,
    /// The plan it was held against, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Who reviewed it.
    pub reviewers: Vec<ReviewerRow>,
    /// What is wrong with it.
    pub issues: Vec<Issue>,
    /// Which issue waits for whom, by number.
    pub queues: Queues,
    /// What this run has fixed.
    pub applied_fixes: Vec<AppliedFix>,
    /// Trouble that was there before.
    pub pre_existing: Vec<Issue>,
    /// Every finding that is shown nowhere else, with its fate.
    pub suppressed: Vec<Dropped>,
    /// Risks that remain.
    pub residual_risks: Vec<String>,
    /// Behaviour that no test covers.
    pub testing_gaps: Vec<String>,
    /// Issues that may be one: someone should look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidate_pairs: Vec<CandidatePair>,
    /// What reviewers said that is not a finding.
    pub notes: Notes,
    /// The files that were read, sorted.
    pub files_reviewed: Vec<String>,
    /// What was reviewed of each file of the change.
    pub coverage: Vec<FileCoverage>,
    /// What it cost.
    pub stats: Stats,
}

/// Who may change the tree, and how the result looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A person is asked.
    Interactive,
    /// Safe fixes are applied, nobody is asked.
    Autofix,
    /// Nothing is changed.
    #[default]
    ReportOnly,
    /// For programs: safe fixes once, then an envelope.
    Headless,
}

/// How a review is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// One general reviewer on the whole diff.
    Single,
    /// An orchestrator and one sub-agent per scope.
    Delegate,
    /// Reviewers chosen for the change.
    #[default]
    Panel,
    /// Only the reviewers that need no model.
    Static,
}

/// Whether a review was done to the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Everything ran.
    #[default]
    Ok,
    /// A reviewer failed; the others did not.
    Degraded,
    /// A budget or the user ended it early.
    Truncated,
    /// Nothing was reviewed.
    Error,
}

/// What was reviewed. Empty where the target has no such thing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Change {
    /// `owner/name`, or the hash of the root commit.
    pub repo: String,
    /// The pull request or merge proposal, as the forge numbers it.
    pub pr_number: String,
    /// Where it can be seen.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Who proposes it.
    pub author: String,
    /// The name of what it is to be merged into.
    pub base_ref: String,
    /// The name of what is proposed.
    pub head_ref: String,
    /// The pinned base commit.
    pub base_sha: String,
    /// The pinned head commit, or the hash of the tree a dirty checkout would commit.
    pub head_sha: String,
}

/// How much was reviewed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scope {
    /// The scope in one line.
    pub line: String,
    /// How many files the change has.
    pub files: u32,
    /// How many lines it adds.
    pub additions: u32,
    /// How many lines it removes.
    pub deletions: u32,
    /// Files that lie in the checkout and are not part of the change.
    pub untracked: Vec<String>,
}

/// A plan that a change is held against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Whether the author named the plan or it was guessed.
    pub plan_source: PlanSource,
    /// Where it is.
    pub path: String,
    /// What it asks for.
    pub requirements: Vec<Requirement>,
}

/// How a plan was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanSource {
    /// Named by the caller or in the description: a contract.
    Explicit,
    /// Guessed from names: a hint.
    Inferred,
}

/// One thing a plan asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requirement {
    /// Its id in the plan, `R1`.
    pub id: String,
    /// What it asks for.
    pub text: String,
    /// Whether the change has it.
    pub state: RequirementState,
    /// Where the change has it, or why it was judged so.
    #[serde(default)]
    pub evidence: String,
    /// Whether the user waived it for this review.
    #[serde(default)]
    pub waived: bool,
}

/// Whether a change does what a requirement asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequirementState {
    /// It does.
    Met,
    /// In part.
    PartiallyAddressed,
    /// It does not.
    NotAddressed,
    /// Nobody could say.
    NotJudged,
}

/// One reviewer of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerRow {
    /// Its name.
    pub name: String,
    /// Whether it is a model that judges or a program that computes.
    #[serde(default)]
    pub origin: Origin,
    /// Why it was chosen; empty for one that always runs.
    #[serde(default)]
    pub why: String,
    /// How its run ended.
    pub outcome: RunOutcome,
    /// What it said about its run, or why it failed.
    #[serde(default)]
    pub note: String,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// It returned.
    Completed,
    /// It did not.
    Failed,
}

/// A problem that survived: what the report shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    /// Its number in every output of this run.
    pub number: u32,
    /// Names it across runs.
    pub dedupe_key: String,
    /// What is wrong, in one line.
    pub title: String,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of trouble it is.
    pub category: Category,
    /// Where it is.
    #[serde(flatten)]
    pub location: Location,
    /// The line that was cited, if the quoted code is elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relocated_from: Option<u32>,
    /// How sure the reviewers are together.
    pub confidence: Confidence,
    /// The effect; the same as `description`.
    pub why_it_matters: String,
    /// The effect.
    pub description: String,
    /// What to do, in words; the same as `suggestion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_fix: Option<String>,
    /// What to do, in words; empty if nobody said.
    pub suggestion: String,
    /// The exact new text for the cited lines; none if the quoted code was found elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// The first quote.
    pub evidence_snippet: String,
    /// All quotes: found by code, or given by the program that found the issue.
    pub evidence: Vec<Quote>,
    /// Everyone who reported it, sorted.
    pub reviewers: Vec<String>,
    /// The rule of the program that found it, such as `leftovers/debugger`: what an ignore comment names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where they disagreed, and what was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<String>,
    /// The language of the file, by its name; empty if unknown.
    pub language: String,
    /// How close it is to the change.
    pub tier: Tier,
    /// What the check of it said.
    pub validation: Validation,
    /// Whether a fix may be applied without asking.
    pub autofix_class: AutofixClass,
    /// Who acts next.
    pub owner: Owner,
    /// Where it waits.
    pub queue: Queue,
    /// What to do with it.
    pub action: Action,
    /// Whether a fix is unfinished until it was checked.
    pub requires_verification: bool,
    /// Whether it was there before.
    pub pre_existing: bool,
    /// The findings it is made of, as they were returned.
    pub members: Vec<Member>,
}

/// What the check of an issue said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// Nobody asked.
    #[default]
    NotRun,
    /// A program found it; there is nothing to ask.
    ByCode,
    /// It is real.
    Confirmed,
    /// It could not be decided.
    Unsure,
    /// The check itself failed.
    Degraded,
}

/// Where an issue waits.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// For the fixer of this review.
    Fixer,
    /// For whoever works on what is left.
    Residual,
    /// For nobody: it is reported.
    Report,
}

/// What to do with an issue. The later the more careful.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Take note of it.
    Acknowledge,
    /// Apply the proposed fix.
    Apply,
    /// Leave it for later.
    Defer,
    /// Leave it: the reviewers contradict each other.
    Skip,
}

/// Which issue waits for whom, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Queues {
    /// For the fixer of this review.
    pub fixer: Vec<u32>,
    /// For whoever works on what is left.
    pub residual: Vec<u32>,
    /// For nobody.
    pub report: Vec<u32>,
}

/// A fix that this run has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedFix {
    /// The issue it fixes.
    pub number: u32,
    /// What was done.
    pub description: String,
    /// The files it changed.
    pub files: Vec<String>,
}

/// The one thing that happened to a finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is an issue.
    Kept,
    /// It says what another one says.
    Merged,
    /// Its shape is wrong.
    Malformed,
    /// Too small to show.
    Nit,
    /// Its quote is not in the code.
    Unsupported,
    /// The change did not bring it in.
    PreExisting,
    /// A check showed that it is not so.
    Refuted,
    /// Nobody was sure enough.
    BelowGate,
    /// It became a testing gap or a residual risk.
    Softened,
    /// An ignore comment, a baseline or a setting silenced it.
    Suppressed,
    /// A person said no to it, earlier.
    Dismissed,
    /// It asks to remove what must stay.
    ProtectedPath,
    /// There were enough others before it.
    OverCap,
}

/// A finding that is not shown as an issue, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// What happened to it.
    pub fate: Fate,
    /// Why.
    pub reason: String,
    /// The `dedupe_key` of what it was merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// Who reported it.
    pub reviewer: String,
    /// The finding, if its shape allowed to read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<Member>,
    /// What was returned, if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<serde_json::Value>,
}

/// What reviewers said that is not a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Notes {
    /// Past solutions that bear on this change.
    pub learnings: Vec<String>,
    /// What a user can do here and an agent cannot.
    pub agent_native_gaps: Vec<String>,
    /// Schema changes that no migration of this change made.
    pub schema_drift: Vec<String>,
    /// What to do before, during and after the roll-out.
    pub deployment: Vec<String>,
}

/// What was reviewed of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileCoverage {
    /// Its path after the change.
    pub path: String,
    /// How much of it.
    pub state: CoverageState,
    /// Why not all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// How much of a file was reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoverageState {
    /// All that changed.
    Reviewed,
    /// A part: the review is incomplete.
    Truncated,
    /// Nothing, though it should have been: the review is incomplete.
    NotReviewed,
    /// Nothing, on purpose (generated, vendored, binary, excluded).
    OutOfScope,
    /// Nothing, since an earlier review has looked at it and it has not changed since.
    ReviewedBefore,
}

/// What a review cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stats {
    /// Tokens of all calls.
    pub tokens_used: Tokens,
    /// Money, in US dollars.
    pub cost_usd: Decimal,
    /// From the start to the report, in seconds.
    pub latency_seconds_e2e: Decimal,
    /// Time in which a model was at work, in seconds.
    pub latency_seconds_llm: Decimal,
    /// Calls of a model.
    pub llm_calls: u32,
    /// Calls of a tool.
    pub tool_calls: u32,
}

/// Tokens of all calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tokens {
    /// Sent.
    #[serde(rename = "in")]
    pub input: u64,
    /// Received.
    #[serde(rename = "out")]
    pub output: u64,
    /// Of those sent, served from the provider's cache.
    pub cached: u64,
}

/// A number with up to six decimals, kept as millionths so that sums are exact.
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
        // A cast saturates, so neither a negative nor a huge number can do harm.
        Ok(Self((value * 1e6).round() as u64))
    }
}

display_as_serialised!(
    Mode, Strategy, Status, Fate, Tier, Queue, Action, Validation, PlanSource, RunOutcome
);

/// How the reason begins with which an issue is hidden that the user does not want to see: it is still open.
pub const BELOW_MIN_SEVERITY: &str = "below --min-severity";

impl Report {
    /// How many findings that are not shown met each fate.
    pub fn fates(&self) -> BTreeMap<Fate, usize> {
        let mut fates = BTreeMap::new();
        for dropped in &self.suppressed {
            *fates.entry(dropped.fate).or_default() += 1;
        }
        fates
    }

    /// The findings that are open and not shown: a cap and `--min-severity` hide an issue, they do not settle it.
    pub fn withheld(&self) -> impl Iterator<Item = &Dropped> {
        self.suppressed.iter().filter(|dropped| match dropped.fate {
            Fate::OverCap => true,
            Fate::Suppressed => dropped.reason.starts_with(BELOW_MIN_SEVERITY),
            Fate::Kept
            | Fate::Merged
            | Fate::Malformed
            | Fate::Nit
            | Fate::Unsupported
            | Fate::PreExisting
            | Fate::Refuted
            | Fate::BelowGate
            | Fate::Softened
            | Fate::Dismissed
            | Fate::ProtectedPath => false,
        })
    }

    /// What is wrong with a report that was not written by crh; none if nothing is.
    pub fn problem(&self) -> Option<String> {
        self.issues.iter().chain(&self.pre_existing).find_map(|issue| {
            let Location { line_start, line_end, .. } = issue.location;
            (line_start == 0 || line_end < line_start).then(|| {
                format!(
                    "issue {} is on lines {line_start} to {line_end}, which no file has",
                    issue.number
                )
            })
        })
    }

    /// How many reviewers a review had that came to nothing: none of those that judge returned, and nobody else found anything.
    /// None if it came to something.
    pub fn came_to_nothing(&self) -> Option<usize> {
        let judging = self.reviewers.iter().filter(|row| row.origin == Origin::Model).count();
        let failed = self.failed_reviewers().filter(|row| row.origin == Origin::Model).count();
        let is_silent = self.issues.is_empty() && self.pre_existing.is_empty();
        // A reviewer that failed in one part may have looked at the others.
        let is_unseen = self.status == Status::Error
            || self.coverage.iter().all(|file| file.state != CoverageState::Reviewed);
        (judging > 0 && failed == judging && is_silent && is_unseen).then_some(judging)
    }

    /// What is wrong with the names in a report, which become parts of markers; none if nothing is. No two issues of crh's share
    /// one: the second would be taken for the first where it is posted.
    pub fn misnamed(&self) -> Option<String> {
        if !is_key(&self.review_id) {
            return Some("the `review_id` of the report is not 16 digits of a hash".to_owned());
        }
        let mut named: BTreeMap<&str, u32> = BTreeMap::new();
        self.issues.iter().chain(&self.pre_existing).find_map(|issue| {
            let Issue { number, dedupe_key, .. } = issue;
            if !is_key(dedupe_key) {
                return Some(format!(
                    "the `dedupe_key` of issue {number} is not 16 digits of a hash"
                ));
            }
            let other = named.insert(dedupe_key, *number)?;
            Some(format!("issues {other} and {number} have the same `dedupe_key`"))
        })
    }

    /// The reviewers whose runs failed.
    pub fn failed_reviewers(&self) -> impl Iterator<Item = &ReviewerRow> {
        self.reviewers.iter().filter(|row| row.outcome == RunOutcome::Failed)
    }

    /// Whether an issue was fixed in this run.
    pub fn is_fixed(&self, number: u32) -> bool {
        self.applied_fixes.iter().any(|fix| fix.number == number)
    }
}

#[cfg(test)]
mod tests;
