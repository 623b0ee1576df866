//! Renderings of a report. Each is a pure function.

mod annotations;
mod code_quality;
mod comment;
mod envelope;
pub(crate) mod html;
mod inline;
mod issue_parts;
mod markdown;
mod quickfix;
mod reply;
mod sarif;
mod text;
mod ticket;
mod todo;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use annotations::annotations;
pub use code_quality::code_quality;
pub use comment::{
    COMMENT_MAX, IssueDisplay, SummaryEntry, SummaryList, SummaryOptions, comment,
    repo_link_prefix, summary,
};
pub use envelope::{envelope, failure_line, stopped_envelope};
pub use html::{PageError, html};
pub use inline::{SuggestionStyle, comment_line, comment_title, inline, title_in_comment};
pub use markdown::markdown;
pub use quickfix::{quickfix, relative_path};
pub use reply::{QuotedLine, reply};
pub use sarif::sarif;
pub use text::{Colour, FileLinks, ListedFindings, TextStyle, text};
pub use ticket::{commit_title, ticket, ticket_title};
pub use todo::{todo, todo_key, todo_name};

use crate::finding::{AutofixClass, Finding, Member, Origin, Owner, Side};
use crate::place::Location;
use crate::report::{
    Action, BELOW_MINIMUM, CheckoutObstacle, DroppedFinding, Fate, FixOutcome, Issue, Queue,
    Report, Requirement, RequirementState, ReviewerRow, Strategy, TestProof, Validation,
};
use crate::sanitise::one_line;
use crate::stable_json;
use crate::verdict::{
    CountedHidden, Verdict, is_actionable, is_marked_incomplete, plural, unreviewed_files,
};
use crate::width::truncate;
use crate::words::collapse_whitespace;

/// How many digits of a commit hash a report shows.
const COMMIT_CHARS: usize = 12;

/// How many hidden issues a report names: enough to see what the verdict counts. `--all` lists the
/// rest.
const HIDDEN_NAMED_MAX: usize = 5;

const BELOW_MINIMUM_LABEL: &str = "below the minimum severity";

/// Maximum columns of a replacement in a remark. JSON has the whole text.
const MAX_PROPOSAL: usize = 200;

/// The next step for an issue that crh cannot fix.
const BY_HAND: &str = "needs a manual fix";

/// Mark after an issue that this run has fixed.
const FIXED_SUFFIX: &str = " (fixed)";

/// The next step for an issue that crh could fix if [`unfixable_note`] did not apply.
const COULD_FIX: &str = "could be fixed by crh";

/// What the reader can do about an issue.
#[derive(Debug, PartialEq, Eq)]
enum NextStep {
    /// Nothing: this run has fixed the issue.
    Fixed,
    /// Run `crh fix`, in these words.
    Fix(String),
    /// Fix the issue by hand.
    ByHand,
    /// Read why crh could not fix the issue with this number.
    Tried(u32),
    /// Another step, in these words.
    Other(&'static str),
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("fixed"),
            Self::Fix(words) => f.write_str(words),
            Self::ByHand => f.write_str(BY_HAND),
            // The report has the warning `not_fixed_warning`.
            Self::Tried(number) => {
                write!(f, "a fix by crh failed; the line `#{number} not fixed` says why")
            }
            Self::Other(words) => f.write_str(words),
        }
    }
}

/// The report as deterministic JSON.
pub fn json(report: &Report) -> serde_json::Result<String> {
    stable_json(report)
}

/// The scope on one line: files, those that were not fully reviewed, the base branch, and the
/// compared commits.
fn scope_line(report: &Report) -> String {
    let scope = &report.scope;
    let mut line = match scope.line.is_empty() {
        true => {
            let files = plural(scope.files as usize, "file");
            format!("{files}, +{} -{}", scope.additions, scope.deletions)
        }
        false => one_line(&scope.line),
    };
    if let Some(files) = unreviewed_files(report) {
        line.push_str(&format!("; {files}"));
    }
    let short = |commit: &str| one_line(&commit.chars().take(COMMIT_CHARS).collect::<String>());
    let (base, head) = (short(&report.change.base_sha), short(&report.change.head_sha));
    if !base.is_empty() && !head.is_empty() {
        let base = match one_line(&report.change.base_ref) {
            name if name.is_empty() || report.change.base_sha.starts_with(&name) => base,
            name => format!("{} ({base})", name.trim_start_matches("refs/heads/")),
        };
        line.push_str(&format!("; base {base}, head {head}"));
    }
    line
}

/// What a report does not show: findings by reason, and dismissed issues.
#[derive(Debug)]
pub struct HiddenCounts {
    findings: BTreeMap<(Fate, &'static str), usize>,
    dismissed_issues: usize,
}

impl HiddenCounts {
    /// Counts the hidden findings of a report, except those of an issue that is shown or that
    /// `over_cap_note` counts.
    pub fn new(report: &Report) -> Self {
        let in_note: BTreeSet<&Member> =
            report.over_cap.iter().flat_map(|issue| &issue.members).collect();
        let mut findings = BTreeMap::new();
        for dropped in &report.suppressed {
            let is_in_note = dropped.member.as_ref().is_some_and(|it| in_note.contains(it));
            match dropped.fate {
                Fate::Merged | Fate::Dismissed => {}
                Fate::OverCap if is_in_note => {}
                fate => *findings.entry((fate, drop_label(dropped))).or_default() += 1,
            }
        }
        Self { findings, dismissed_issues: report.dismissed_issues() }
    }

    /// The numbers alone: `2 findings left out, 1 issue dismissed`.
    pub fn without_reasons(&self) -> Option<String> {
        self.sentence("")
    }

    /// `2 findings left out (1 refuted, 1 too uncertain), 1 issue dismissed`.
    pub fn with_reasons(&self) -> Option<String> {
        let counts = self.findings.iter().map(|((_, label), count)| format!("{count} {label}"));
        let reasons = match self.findings.keys().next() {
            Some((_, label)) if self.findings.len() == 1 => (*label).to_owned(),
            Some(_) | None => counts.collect::<Vec<_>>().join(", "),
        };
        self.sentence(&format!(" ({reasons})"))
    }

    fn sentence(&self, reasons: &str) -> Option<String> {
        let findings: usize = self.findings.values().sum();
        let left_out = || format!("{} left out{reasons}", plural(findings, "finding"));
        let dismissed = || format!("{} dismissed", plural(self.dismissed_issues, "issue"));
        let parts: Vec<String> = (findings > 0)
            .then(left_out)
            .into_iter()
            .chain((self.dismissed_issues > 0).then(dismissed))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// Why a finding is not shown, like [`fate_label`] but more exact.
fn drop_label(dropped: &DroppedFinding) -> &'static str {
    match dropped.fate {
        Fate::Suppressed if dropped.reason.starts_with(BELOW_MINIMUM) => BELOW_MINIMUM_LABEL,
        fate => fate_label(fate),
    }
}

/// Hidden issues that the verdict counts, one per line: `hidden, but counts for the verdict: P1
/// shop/x.py:15 TITLE (too uncertain)`. Only the first [`HIDDEN_NAMED_MAX`] are named.
fn counted_hidden_lines(counted: &[CountedHidden<'_>]) -> Vec<String> {
    let line = |hidden: &CountedHidden<'_>| {
        let CountedHidden { severity, finding, fate, .. } = hidden;
        let line = finding.line_start.map(|line| format!(":{line}")).unwrap_or_default();
        let place = format!("{}{line}", crate::sanitise::path(&finding.file));
        // Of the suppressed findings, the verdict counts only those below `--min-severity`.
        let is_below_minimum = *fate == Fate::Suppressed;
        let label = if is_below_minimum { BELOW_MINIMUM_LABEL } else { fate_label(*fate) };
        let title = one_line(&finding.title);
        format!("hidden, but counts for the verdict: {severity} {place} {title} ({label})")
    };
    let mut lines: Vec<String> = counted.iter().take(HIDDEN_NAMED_MAX).map(line).collect();
    if let more_count @ 1.. = counted.len().saturating_sub(HIDDEN_NAMED_MAX) {
        lines.push(format!("and {more_count} more hidden, but counted for the verdict"));
    }
    lines
}

/// How many findings have each fate: `1 refuted, 2 too uncertain`.
fn fate_counts(fates: &BTreeMap<Fate, usize>) -> String {
    let counts = fates.iter().map(|(fate, count)| format!("{count} {}", fate_label(*fate)));
    counts.collect::<Vec<_>>().join(", ")
}

/// The label of `Verdict::three_state_label`, marked if the review is incomplete.
fn verdict_label(report: &Report) -> String {
    let label = report.verdict.three_state_label();
    if is_marked_incomplete(report) { format!("{label} (incomplete)") } else { label.to_owned() }
}

/// The verdict, marked if the review is incomplete: `Ready with fixes (incomplete)`.
pub fn marked_verdict(report: &Report) -> String {
    let is_marked = report.verdict != Verdict::Incomplete && is_marked_incomplete(report);
    let mark = if is_marked { " (incomplete)" } else { "" };
    format!("{}{mark}", report.verdict)
}

/// Why a finding is not shown.
fn fate_label(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "shown",
        Fate::Merged => "duplicate",
        Fate::Minor => "minor",
        Fate::Malformed => "invalid format",
        Fate::Nit => "nitpick",
        Fate::Unsupported => "quote not found",
        Fate::PreExisting => "pre-existing",
        Fate::Refuted => "refuted",
        Fate::BelowGate => "too uncertain",
        Fate::Softened => "listed under missing tests or risks",
        Fate::Suppressed => "suppressed",
        Fate::Dismissed => "dismissed",
        Fate::Lesson => "hidden by a lesson",
        Fate::ProtectedPath => "asks to remove a protected document",
        Fate::OverCap => "over the limit",
        Fate::OutsidePaths => "outside the paths under review",
    }
}

/// What the reader can do about an issue of this report, such as `needs a manual fix`. If `crh fix`
/// would fix nothing, or an issue of another review, [`unfixable_note`] says so once.
fn next_step_in(report: &Report, issue: &Issue) -> NextStep {
    match next_step(report, issue) {
        NextStep::Fix(_) if unfixable_reason(report).is_some() => NextStep::Other(COULD_FIX),
        step => step,
    }
}

/// Like [`next_step_in`], for an issue that is shown without [`unfixable_note`].
fn next_step_with_note(report: &Report, issue: &Issue) -> String {
    let step = next_step_in(report, issue);
    match unfixable_reason(report).filter(|_| has_fix_step(report, issue)) {
        Some(reason) => format!("{step} ({reason})"),
        None => step.to_string(),
    }
}

/// Why crh cannot fix the open issues of this report now. `None` if it can, or if it cannot fix any.
fn unfixable_note(report: &Report) -> Option<&'static str> {
    let is_needed = report.open_issues().any(|issue| has_fix_step(report, issue));
    unfixable_reason(report).filter(|_| is_needed)
}

fn has_fix_step(report: &Report, issue: &Issue) -> bool {
    matches!(next_step(report, issue), NextStep::Fix(_))
}

/// Why crh cannot fix any issue of this report now.
fn unfixable_reason(report: &Report) -> Option<&'static str> {
    match report.change.checkout_obstacle {
        Some(CheckoutObstacle::NotCheckedOut) => {
            Some("crh can fix only the checkout; check out this change and review it again")
        }
        Some(CheckoutObstacle::UnreviewedChanges) => Some(
            "crh can fix only what was reviewed, and the checkout has uncommitted changes; review them too with `crh review`",
        ),
        None if report.artifact.is_empty() => {
            Some("crh can fix only issues of a stored review, and this review is not stored")
        }
        None => None,
    }
}

/// What the reader can do about an issue of a stored review of the checkout.
fn next_step(report: &Report, issue: &Issue) -> NextStep {
    match report.fix_of(issue.number).map(|fix| fix.outcome) {
        Some(FixOutcome::Done) => return NextStep::Fixed,
        // `crh fix` does not apply the same fix twice.
        Some(FixOutcome::FoundAgain) => {
            return NextStep::Other("the applied fix did not help; needs a manual fix");
        }
        Some(FixOutcome::Unverified) => {
            return NextStep::Other(
                "the fix is applied, but not verified; run the tests, or undo it with `crh fix --undo`",
            );
        }
        Some(FixOutcome::Partial | FixOutcome::PartlyReverted) | None => {}
    }
    match open_step(report, issue) {
        NextStep::Fix(_) if report.not_fixed.contains(&issue.number) => {
            NextStep::Tried(issue.number)
        }
        step => step,
    }
}

/// What the reader can do about an issue that crh has not tried to fix, or fixed only in part.
fn open_step(report: &Report, issue: &Issue) -> NextStep {
    // A run of static checks has no model.
    let has_fixer = report.strategy != Strategy::Static || issue.has_exact_fix();
    let why_open = match report.fix_of(issue.number).map(|fix| fix.outcome) {
        Some(FixOutcome::Partial) => Some("the applied fix did not change this place"),
        Some(FixOutcome::PartlyReverted) => {
            Some("a part of the applied fix is no longer in the tree")
        }
        Some(FixOutcome::Done | FixOutcome::FoundAgain | FixOutcome::Unverified) | None => None,
    };
    if let Some(why_open) = why_open {
        return match has_fixer {
            true => NextStep::Fix(format!(
                "{why_open}; `crh fix --issue {}{}` lets a model fix it",
                issue.number,
                fix_flags(report, issue)
            )),
            false => NextStep::ByHand,
        };
    }
    match step_by_route(report, issue) {
        NextStep::Fix(_) if !has_fixer => NextStep::ByHand,
        step => step,
    }
}

/// The flags without which `crh fix` does not fix an issue: a command that verifies the fix, and a
/// model that writes it.
fn fix_flags(report: &Report, issue: &Issue) -> &'static str {
    let needs_model = report.needs_model_flag && !issue.has_exact_fix();
    match (issue.requires_verification, needs_model) {
        (true, true) => " --verify COMMAND --model MODEL",
        (true, false) => " --verify COMMAND",
        (false, true) => " --model MODEL",
        (false, false) => "",
    }
}

/// The next step by the class of the fix and the owner of the issue.
fn step_by_route(report: &Report, issue: &Issue) -> NextStep {
    let (number, is_exact) = (issue.number, issue.has_exact_fix());
    let flags = fix_flags(report, issue);
    let step = if is_exact { "can fix this" } else { "lets a model fix this" };
    match (issue.autofix_class, issue.owner) {
        (
            AutofixClass::SafeAuto | AutofixClass::GatedAuto | AutofixClass::Manual,
            Owner::Human | Owner::Release,
        ) if issue.action == Action::Apply && is_exact => NextStep::Fix(format!(
            "`crh fix --issue {number}{flags}` applies this replacement; a person must approve it"
        )),
        (_, Owner::Release) => NextStep::Other("handle it when you release"),
        (AutofixClass::Advisory, _) => NextStep::Other("no action needed"),
        (_, Owner::Human) => NextStep::Other("a person must decide this"),
        (AutofixClass::SafeAuto, Owner::ReviewFixer) => {
            NextStep::Fix(format!("`crh fix{flags}` {step}"))
        }
        (AutofixClass::SafeAuto, Owner::DownstreamResolver) => {
            NextStep::Fix(format!("`crh fix --issue {number}{flags}` {step}"))
        }
        (AutofixClass::GatedAuto, _) => NextStep::Fix(format!(
            "`crh fix --issue {number}{flags}` {step}; check the result, because the fix changes behaviour"
        )),
        (AutofixClass::Manual, _) if issue.action == Action::Apply => {
            let step = if is_exact { "applies this replacement" } else { step };
            NextStep::Fix(format!("`crh fix --issue {number}{flags}` {step}; check the result"))
        }
        (AutofixClass::Manual, _) => NextStep::ByHand,
    }
}

/// Whether an open issue needs work after the review, by crh or by a person.
fn is_residual(report: &Report, issue: &Issue) -> bool {
    !report.is_fixed(issue.number) && (issue.queue != Queue::Report || is_actionable(issue))
}

/// What the reader can do about an issue that needs work.
fn residual_step(report: &Report, issue: &Issue) -> String {
    let step = match issue.action {
        Action::Skip => NextStep::Other("choose a fix: the reviewers propose different ones"),
        Action::Apply | Action::Defer | Action::Acknowledge => next_step_in(report, issue),
    };
    let has_fix = report.fix_of(issue.number).is_some();
    let is_tried = matches!(step, NextStep::Tried(_));
    let is_open = unfixable_reason(report).is_none() && !has_fix && !is_tried;
    let suffix = match issue.requires_verification && is_open {
        true => "; run the tests after the fix",
        false => "",
    };
    format!("{step}{suffix}")
}

/// Which commit the line numbers of open issues in fixed files are from. `None` if no open issue
/// needs the note.
fn places_note(report: &Report) -> Option<String> {
    let fixed: BTreeSet<&String> = report.applied_fixes.iter().flat_map(|fix| &fix.files).collect();
    let needs_note = |issue: &Issue| {
        let outcome = report.fix_of(issue.number).map(|fix| fix.outcome);
        outcome != Some(FixOutcome::FoundAgain) && fixed.contains(&issue.location.file)
    };
    let is_needed = report.open_issues().any(needs_note) && !report.change.head_sha.is_empty();
    is_needed.then(|| {
        let head = report.change.head_sha.chars().take(COMMIT_CHARS).collect::<String>();
        let head = one_line(&head);
        format!("the first review gives line numbers of {head}, which may differ after the fixes")
    })
}

/// Reviewers with the reason why they were chosen. Static checks share the last entry.
fn team(report: &Report) -> Vec<(String, String)> {
    let (checks, reviewers): (Vec<&ReviewerRow>, Vec<&ReviewerRow>) =
        report.reviewers.iter().partition(|reviewer| reviewer.origin == Origin::Code);
    let reason = |row: &&ReviewerRow| reviewer_reason(&row.name, &row.why);
    let mut team: Vec<(String, String)> =
        reviewers.iter().map(|row| (row.name.clone(), reason(row))).collect();
    if !checks.is_empty() {
        let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        team.push(("static checks".to_owned(), names.join(", ")));
    }
    team
}

/// Words of reasons, and plainer ones. Prompts contain the former, and recordings depend on them.
const PLAIN_REASONS: [(&str, &str); 6] = [
    (", and no test did, of which there are some (", ", but no test did (there are some, such as "),
    (" before the change is another one", " changed"),
    (" is what others call", " is an interface for other code"),
    (" holds for changed files", " has rules for changed files"),
    (" is about arguments of a program", " handles command-line arguments"),
    ("lines that run ", "executable lines "),
];

/// Why a reviewer was chosen, for readers who do not know the reviewers. `why` is the reason that
/// prompts contain.
pub fn reviewer_reason(name: &str, why: &str) -> String {
    let plain = PLAIN_REASONS.iter().fold(why.to_owned(), |why, (old, new)| why.replace(old, new));
    match (name, why) {
        ("correctness", "always") => "reviews every change".to_owned(),
        (_, "always") => "reviews every change with `--depth full`".to_owned(),
        ("upkeep", why) if !why.is_empty() => {
            format!("reviews tests, documentation and clarity of the code; {plain}")
        }
        (_, _) => plain,
    }
}

/// A reviewer with the reason why it was chosen.
fn reviewer_with_reason(reviewer: &ReviewerRow) -> String {
    let name = one_line(&reviewer.name);
    let reason = one_line(&reviewer_reason(&reviewer.name, &reviewer.why));
    if reason.is_empty() { name } else { format!("{name} ({reason})") }
}

/// The location of an issue on one line.
fn location_label(issue: &Issue) -> String {
    crate::sanitise::path(&issue.location.to_string())
}

/// A note if the second model run was unsure or failed.
fn validation_note(issue: &Issue) -> Option<&'static str> {
    match issue.validation {
        Validation::Unsure | Validation::NoVerdict | Validation::Degraded => {
            validation_label(issue.validation)
        }
        Validation::NotRun | Validation::ByCode | Validation::Confirmed => None,
    }
}

/// The reviewers of an issue, or their disagreement.
fn reviewers_or_disagreement(issue: &Issue) -> String {
    issue.disagreement.clone().unwrap_or_else(|| issue.reviewers.join(", "))
}

/// The place of the quoted code, if the issue is at another one: `line 24`.
fn quote_place(issue: &Issue) -> Option<String> {
    let quote = issue.evidence.iter().find(|quote| quote.snippet == issue.evidence_snippet)?;
    let Location { file, side, line_start, .. } = &issue.location;
    if (&quote.file, quote.side, quote.line) == (file, *side, *line_start) {
        return None;
    }
    let side_note = if quote.side == *side { "" } else { side_words(quote.side) };
    let line = quote.line;
    Some(match quote.file == *file {
        true => format!("line {line}{side_note}"),
        false => format!("{}:{line}{side_note}", crate::sanitise::path(&quote.file)),
    })
}

fn side_words(side: Side) -> &'static str {
    match side {
        Side::New => " after the change",
        Side::Old => " before the change",
    }
}

/// A note about the quoted line, and [`remarks_after_quote`].
fn issue_remarks(issue: &Issue) -> Vec<String> {
    let note = note_on_quote(issue).map(str::to_owned);
    note.into_iter().chain(remarks_after_quote(issue)).collect()
}

/// [`quote_note`] of an issue.
fn note_on_quote(issue: &Issue) -> Option<&'static str> {
    quote_note(issue.rule.as_deref()).filter(|_| issue.location.side == Side::New)
}

/// What model reviewers say about the issue of a static check, the replacements of the reviewers if
/// the issue has none of them, and what a test proves. The issue itself has the text of the check,
/// so the remarks name the reviewers.
fn remarks_after_quote(issue: &Issue) -> Vec<String> {
    let is_static = issue.members.iter().any(|member| member.origin == Origin::Code);
    let models = issue.members.iter().filter(|member| is_static && member.origin == Origin::Model);
    let remark = |member: &Member| {
        let Finding { title, why_it_matters, suggested_fix, .. } = &member.finding;
        let fix = suggested_fix.as_ref().map(|fix| format!(" Fix: {fix}")).unwrap_or_default();
        format!("{} says: {title}. {why_it_matters}{fix}", member.reviewer)
    };
    let proof = issue.proof.as_ref().map(proof_sentence);
    models.map(remark).chain(proposed_replacements(issue)).chain(proof).collect()
}

/// Replacements for different lines, or different ones for the same lines. Empty if the issue has a
/// replacement.
fn proposed_replacements(issue: &Issue) -> Vec<String> {
    if issue.replacement.is_some() {
        return Vec::new();
    }
    let mut reviewers_by_proposal: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for Member { reviewer, finding, .. } in &issue.members {
        let Some(text) = &finding.replacement else { continue };
        let proposal = (&finding.file, finding.line_start, text);
        reviewers_by_proposal.entry(proposal).or_default().insert(reviewer);
    }
    if reviewers_by_proposal.len() < 2 {
        return Vec::new();
    }
    let proposals = reviewers_by_proposal.into_iter().map(|((file, line, text), reviewers)| {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let reviewers = reviewers.into_iter().collect::<Vec<_>>().join(", ");
        let text = truncate(&collapse_whitespace(text), MAX_PROPOSAL);
        format!("Replacement for {file}{line} by {reviewers}: {text}")
    });
    proposals.collect()
}

/// What to say about the quoted new line of an issue, if the line is not the problem itself.
pub fn quote_note(rule: Option<&str>) -> Option<&'static str> {
    // The removed line is gone, so the issue is at the line that took its place.
    (rule == Some("references/removed"))
        .then_some("The quoted line only shows where the removed code was.")
}

fn proof_sentence(proof: &TestProof) -> String {
    let TestProof { path, command, output, .. } = proof;
    let last_line = output.lines().rev().find(|line| !line.trim().is_empty());
    let last_line = last_line.map(|line| format!(": {}", line.trim())).unwrap_or_default();
    format!(
        "Proof: the test `{path}` passes before the change and fails with it (`{command}`){last_line}"
    )
}

/// The reviewers of an issue and the rule, which an ignore comment needs.
fn reported_by(issue: &Issue) -> String {
    let rule = issue.rule.as_ref().map(|rule| format!(", rule {rule}")).unwrap_or_default();
    format!("{}{rule}", reviewers_or_disagreement(issue))
}

/// How the issue was checked, such as by a second model run; `None` if it was not.
fn validation_label(validation: Validation) -> Option<&'static str> {
    Some(match validation {
        Validation::NotRun => return None,
        Validation::ByCode => "static check",
        Validation::Confirmed => "confirmed by a second model run",
        Validation::Unsure => "a second model run could not decide",
        Validation::NoVerdict => "a second model run gave no verdict",
        Validation::Degraded => "the second model run, which checks the issue, failed",
    })
}

/// State of a requirement: `not addressed, waived`.
fn requirement_state(requirement: &Requirement) -> String {
    let state = match requirement.state {
        RequirementState::Met => "met",
        RequirementState::PartiallyAddressed => "partially addressed",
        RequirementState::NotAddressed => "not addressed",
        RequirementState::NotJudged => "not judged",
    };
    let waived = if requirement.waived { ", waived" } else { "" };
    format!("{state}{waived}")
}

/// Why a requirement is not judged, as an addition to its text: ` (REASON)`. Empty without a reason
/// or with another state.
fn unjudged_reason(requirement: &Requirement) -> String {
    match requirement.state {
        RequirementState::NotJudged if !requirement.evidence.is_empty() => {
            format!(" ({})", requirement.evidence)
        }
        RequirementState::NotJudged
        | RequirementState::Met
        | RequirementState::PartiallyAddressed
        | RequirementState::NotAddressed => String::new(),
    }
}

/// Files that were skipped or not fully reviewed, with the reason, in report order.
fn coverage_gaps(report: &Report) -> impl Iterator<Item = String> {
    use crate::report::CoverageState;
    report.coverage.iter().filter_map(|file| {
        let state = match file.state {
            CoverageState::Reviewed => return None,
            CoverageState::Truncated => "partly reviewed",
            CoverageState::NotReviewed => "not reviewed",
            CoverageState::OutOfScope => "out of scope",
            CoverageState::ReviewedBefore => "reviewed before",
        };
        let path = crate::sanitise::path(&file.path);
        let reason = one_line(&file.reason);
        Some(if reason.is_empty() {
            format!("{path}: {state}")
        } else {
            format!("{path}: {state} ({reason})")
        })
    })
}

/// Warnings for formats that list failed reviewers with their reasons: without the warnings that
/// only repeat a failure, and with repeated reasons shortened.
fn warnings_beside_failures<'a>(
    report: &Report,
    warnings: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let failed: Vec<&ReviewerRow> = report.failed_reviewers().collect();
    let is_listed = |text: &&String| failed.iter().any(|row| **text == row.failure());
    let unlisted = warnings.filter(|text| !is_listed(text)).cloned();
    let shorten = |text: String| {
        failed.iter().fold(text, |text, row| {
            text.replace(&format!("failed ({})", row.note), "failed with the same error")
        })
    };
    unlisted.map(shorten).collect()
}

#[cfg(test)]
mod tests;
