//! Texts of the questions. This module escapes every text that comes from a review.

use std::collections::BTreeMap;

use super::code;
use super::destination::{Checkout, Destination};
use super::diffs::Diffs;
use super::flow::first_pick;
use super::next::{
    ActionPlan, Choice, DeferAvailability, FilingFailure, FindingQuestion, NextSink, PlanKind,
    Question, QuestionSubject, ResolvedCounts, SafeFixes,
};
use super::replacement::Replacement;
use crate::fix::outcome::SkippedIssue;
use crate::hand_off::tickets::TrackerLabel;
use crate::ui::questions::{LeaveEffect, MenuOption, MenuQuestion};
use crh_review::one_line;
use crh_review::report::{Issue, Report};
use crh_review::{columns, truncate, wrap};

/// Suffix of the recommended option.
const RECOMMENDED: &str = " (recommended)";
/// Minimum rows for code and for a fix, even in a tiny window.
const ROWS_LEAST: usize = 3;
/// Maximum rows for a fix.
const FIX_ROWS_MAX: usize = 12;
/// Maximum rows for each fix of a plan.
const PLAN_FIX_ROWS_MAX: usize = 6;
/// Maximum length of the list of safe fixes.
const SAFE_LISTED_MAX: usize = 10;
/// Indent of lines that belong to an issue of a plan.
const UNDER_ITEM: &str = "    ";

/// Data for rendering, besides the question itself.
#[derive(Clone, Copy)]
pub(super) struct RenderInput<'a> {
    pub(super) report: &'a Report,
    /// Issues whose safe fix failed, by number.
    pub(super) not_fixed: &'a BTreeMap<u32, SkippedIssue>,
    pub(super) diffs: &'a Diffs,
    pub(super) tracker: &'a TrackerLabel,
    /// Maximum line width.
    pub(super) columns: usize,
}

/// Text above a question; may be empty. To fit into `rows` rows, code, exact fixes and lists of
/// safe fixes are shortened, but no other text.
pub(super) fn lead(about: &QuestionSubject, input: RenderInput<'_>, rows: usize) -> String {
    match about {
        QuestionSubject::Finding(finding) => match input.report.issue(finding.number) {
            Some(issue) => format!("\n{}", finding_text(issue, *finding, input, rows)),
            None => String::new(),
        },
        QuestionSubject::Preview(plan) => format!("\n{}", plan_text(plan, input, rows)),
        QuestionSubject::Routing { remaining, safe: SafeFixes::Offered(numbers) } => {
            format!("\n{}", safe_text(numbers, *remaining, input, rows))
        }
        QuestionSubject::Routing { .. }
        | QuestionSubject::NotFiled { .. }
        | QuestionSubject::NextSteps { .. } => String::new(),
    }
}

/// The findings that crh can fix by itself, one line each, cut to the room.
fn safe_text(numbers: &[u32], findings: usize, input: RenderInput<'_>, rows: usize) -> String {
    let count = numbers.len();
    let of = counted(findings, "finding", "findings");
    let head = match count == findings {
        true if count == 1 => "crh can fix the finding by itself:".to_owned(),
        true => format!("crh can fix all {of} by itself:"),
        false => format!("crh can fix {count} of the {of} by itself:"),
    };
    let mut out = wrap("", "  ", &head, input.columns);
    let room = rows.saturating_sub(rows_of(&out, input.columns));
    let listed = match count <= room.min(SAFE_LISTED_MAX) {
        true => count,
        // The last line says how many are missing.
        false => room.min(SAFE_LISTED_MAX + 1).saturating_sub(1).max(1),
    };
    for issue in numbers.iter().take(listed).filter_map(|number| input.report.issue(*number)) {
        let title = one_line(&issue.title);
        let line = format!("  #{} {} {} {title}", issue.number, issue.severity, place(issue));
        out.push_str(&format!("{}\n", truncate(&line, input.columns)));
    }
    if listed < count {
        out.push_str(&format!("  … and {} more\n", count - listed));
    }
    out
}

/// The question with its options, in the order of `ask.picks`.
pub(super) fn question(ask: &Question, input: RenderInput<'_>) -> MenuQuestion {
    let option = |pick: &Choice| {
        // The label of this option contains "Recommended" already.
        let is_marked = ask.recommended == Some(*pick) && *pick != Choice::CreatePullRequest;
        let mark = if is_marked { RECOMMENDED } else { "" };
        MenuOption { key: letter(*pick), label: format!("{}{mark}", label(*pick, ask, input)) }
    };
    let marked = ask.picks.iter().position(|pick| ask.recommended == Some(*pick));
    MenuQuestion {
        paragraphs: stem(&ask.about, input),
        options: ask.picks.iter().map(option).collect(),
        preselected: marked.unwrap_or_default(),
        on_leave: on_leave(&ask.about),
    }
}

/// What happens to the fixes if the user leaves a question. At the last question, all decisions are
/// made, so the fixes stay.
pub(super) fn on_leave(about: &QuestionSubject) -> LeaveEffect {
    match about {
        QuestionSubject::NextSteps { .. } => LeaveEffect::Keep,
        QuestionSubject::Routing { .. }
        | QuestionSubject::Finding(_)
        | QuestionSubject::Preview(_)
        | QuestionSubject::NotFiled { .. } => LeaveEffect::Undo,
    }
}

fn stem(about: &QuestionSubject, input: RenderInput<'_>) -> Vec<String> {
    match about {
        QuestionSubject::Routing { remaining, safe } => {
            let findings = counted(*remaining, "finding", "findings");
            let mut stem = match safe {
                SafeFixes::Offered(_) => vec![
                    format!("What should the agent do with the {findings}?"),
                    "No file is changed yet.".to_owned(),
                ],
                SafeFixes::None => vec![format!("What should the agent do with the {findings}?")],
                SafeFixes::AppliedFirst(count) => {
                    let fixes = counted(*count, "safe fix is", "safe fixes are");
                    vec![
                        format!("What should the agent do with the remaining {findings}?"),
                        format!("{fixes} applied already; \"Report only\" undoes that."),
                    ]
                }
                SafeFixes::Agreed(_) => {
                    vec![format!("What should the agent do with the remaining {findings}?")]
                }
            };
            match input.tracker {
                TrackerLabel::Named(_) | TrackerLabel::Generic => {}
                TrackerLabel::None(_) => {
                    stem.push(format!("Filing unavailable — {}.", reason(input.tracker)));
                }
            }
            stem
        }
        QuestionSubject::Finding(finding) => {
            let heading = input.report.issue(finding.number).map(|issue| heading(issue, *finding));
            let mut stem = vec![truncate(&heading.unwrap_or_default(), input.columns)];
            match finding.deferring {
                DeferAvailability::AsRecommended => {}
                DeferAvailability::BecomesSkip => stem.push(format!(
                    "Defer is recommended but unavailable: {}",
                    reason(input.tracker)
                )),
            }
            stem.push("What should the agent do with it?".to_owned());
            stem
        }
        QuestionSubject::Preview(_) => vec!["Should the agent do this?".to_owned()],
        QuestionSubject::NotFiled { number, not_filed: FilingFailure { why, next } } => {
            let mut stem =
                vec![format!("The ticket for #{number} was not filed: {}", one_line(why))];
            match next {
                NextSink::There => {}
                NextSink::None => stem.push("There is no other tracker.".to_owned()),
            }
            stem.push("What should the agent do about it?".to_owned());
            stem
        }
        QuestionSubject::NextSteps { fixes, destination } => {
            let fixes = counted(*fixes, "fix was", "fixes were");
            let mut stem = vec![format!("{fixes} applied. What should happen next?")];
            let what = match destination.checkout {
                Checkout::PullRequest => "Push",
                Checkout::Branch | Checkout::Base => "Create a PR",
            };
            let stays = destination.stays.as_deref().map(one_line);
            stem.extend(stays.map(|why| format!("{what} unavailable — {why}.")));
            stem
        }
    }
}

/// Letters of the options of the first question. Other questions have numbers.
fn letter(pick: Choice) -> Option<char> {
    match pick {
        Choice::ApplySafe => Some('F'),
        Choice::OneByOne => Some('A'),
        Choice::BestJudgment => Some('B'),
        Choice::FileAll => Some('C'),
        Choice::ReportOnly | Choice::KeepFixes => Some('D'),
        Choice::Apply
        | Choice::Acknowledge
        | Choice::Defer
        | Choice::Skip
        | Choice::TheRest
        | Choice::Dismiss
        | Choice::Proceed
        | Choice::Cancel
        | Choice::Retry
        | Choice::NextSink
        | Choice::ConvertToSkip
        | Choice::PushFixes
        | Choice::CreatePullRequest
        | Choice::Continue
        | Choice::Exit => None,
    }
}

fn label(pick: Choice, ask: &Question, input: RenderInput<'_>) -> String {
    let label = match pick {
        Choice::ApplySafe => return apply_safe(&ask.about),
        Choice::OneByOne => {
            "Review each finding one by one — accept the recommendation or choose another action"
        }
        Choice::BestJudgment => "LFG. Apply the agent's best-judgment action per finding",
        Choice::FileAll => {
            let ticket = ticket(input.tracker);
            return format!("File {ticket} per finding without applying fixes");
        }
        Choice::ReportOnly => "Report only — take no further action",
        Choice::KeepFixes => "Stop here — keep the applied fixes, leave the rest in the report",
        Choice::Apply => "Apply the proposed fix",
        Choice::Acknowledge => "Acknowledge — take note, change nothing",
        Choice::Defer => return format!("Defer — file {}", ticket(input.tracker)),
        Choice::Skip => "Skip — don't apply, don't track",
        Choice::TheRest => "LFG the rest",
        Choice::Dismiss => "Dismiss — never report it again",
        Choice::Proceed => "Proceed",
        Choice::Cancel => "Cancel",
        Choice::Retry => "Retry",
        Choice::NextSink => "Fall back to the next sink",
        Choice::ConvertToSkip => "Convert to Skip",
        Choice::PushFixes => "Push fixes -- push commits to the existing PR branch",
        Choice::CreatePullRequest => "Create a PR (Recommended) -- push and open a pull request",
        Choice::Continue => match &ask.about {
            QuestionSubject::NextSteps {
                destination: Destination { checkout: Checkout::Branch, .. },
                ..
            } => "Continue without PR -- stay on the branch",
            QuestionSubject::NextSteps { .. }
            | QuestionSubject::Routing { .. }
            | QuestionSubject::Finding(_)
            | QuestionSubject::Preview(_)
            | QuestionSubject::NotFiled { .. } => "Continue -- proceed with next steps",
        },
        Choice::Exit => "Exit -- done for now",
    };
    label.to_owned()
}

/// Label of the option that applies the safe fixes.
fn apply_safe(about: &QuestionSubject) -> String {
    let QuestionSubject::Routing { remaining, safe: SafeFixes::Offered(numbers) } = about else {
        return String::new();
    };
    let fixes = match numbers.len() {
        1 => "Apply this fix".to_owned(),
        count => format!("Apply these {count} fixes"),
    };
    match numbers.len() == *remaining {
        true => fixes,
        false => format!("{fixes}, then ask about the rest"),
    }
}

/// The word for a ticket, with its article.
fn ticket(tracker: &TrackerLabel) -> String {
    match tracker {
        TrackerLabel::Named(name) => format!("a {} ticket", one_line(name)),
        TrackerLabel::Generic | TrackerLabel::None(_) => "an issue".to_owned(),
    }
}

/// One finding: location, code, problem, proposed fix.
fn finding_text(
    issue: &Issue,
    finding: FindingQuestion,
    input: RenderInput<'_>,
    rows: usize,
) -> String {
    let width = input.columns;
    let fix = input.report.fix_of(issue.number);
    let moved = fix.and_then(|_| input.diffs.in_tree(issue));
    let issue = moved.as_ref().unwrap_or(issue);
    let diff = match moved {
        Some(_) => input.diffs.tree(),
        None => input.diffs.of_issue(issue.number),
    };
    // The replacement of an issue with a fix is in the tree.
    let exact = Replacement::from_issue(issue, diff).filter(|_| fix.is_none());
    let mut head = wrap("", "  ", &heading(issue, finding), width);
    head.push_str(&format!("{}\n\n", truncate(&place(issue), width)));
    let why = one_line(&issue.why_it_matters);
    let mut explanation = wrap("What's wrong: ", "  ", &why, width);
    explanation.push_str(&match fix {
        Some(fix) => {
            let done = one_line(&fix.description);
            let done = format!("{}{}", done.trim_end_matches('.'), fix.outcome.note());
            wrap("Applied fix: ", "  ", &done, width)
        }
        None => {
            let not_fixed = input.not_fixed.get(&issue.number);
            let is_applicable = first_pick(issue, input.report, not_fixed) == Choice::Apply;
            let proposed = proposed(issue, issue.has_exact_fix(), is_applicable);
            let failure =
                not_fixed.map(|left| wrap("Not fixed: ", "  ", &one_line(&left.why), width));
            failure.unwrap_or_default() + &wrap("Proposed fix: ", "  ", &proposed, width)
        }
    });
    let conflict = issue.disagreement.as_deref().map(one_line);
    let conflict = conflict.map(|it| wrap("Conflict: ", "  ", &it, width)).unwrap_or_default();
    // An empty line follows the code.
    let taken: usize =
        [&head, &explanation, &conflict].map(|text| rows_of(text, width)).iter().sum();
    let left = rows.saturating_sub(taken + 1);
    let wanted = exact.as_ref().map_or(0, Replacement::rows).min(FIX_ROWS_MAX);
    let fix_rows = wanted.min(left.saturating_sub(ROWS_LEAST).max(ROWS_LEAST));
    let code_rows = left.saturating_sub(fix_rows).clamp(ROWS_LEAST, code::ROWS_MAX);
    let code = code::text(issue, diff, code_rows, width);
    let fix = exact.map(|exact| exact.text("  ", fix_rows, width)).unwrap_or_default();
    [head, code, explanation, fix, conflict].concat()
}

/// Rows of a text at this width. Words longer than a row are broken.
fn rows_of(text: &str, width: usize) -> usize {
    text.lines().map(|line| columns(line).div_ceil(width.max(1)).max(1)).sum()
}

/// The proposed fix in words. An exact fix is shown as a diff below.
fn proposed(issue: &Issue, is_exact: bool, is_applicable: bool) -> String {
    let writer = (is_applicable && !is_exact).then_some("a model");
    match (issue.suggested_fix.as_deref().map(one_line), writer) {
        (Some(fix), Some(writer)) => format!("{fix} ({writer} writes it)"),
        (Some(fix), None) => fix,
        (None, _) if is_exact => "this replacement".to_owned(),
        (None, Some(writer)) => format!("none yet; {writer} looks for one"),
        (None, None) => "none".to_owned(),
    }
}

fn heading(issue: &Issue, finding: FindingQuestion) -> String {
    let counter = match finding.position {
        Some((at, of)) => format!("Finding {at} of {of}"),
        None => "Finding".to_owned(),
    };
    format!("{counter} — {} {}", issue.severity, one_line(&issue.title))
}

/// The plan by action. If it is longer than the window, it ends with the counts.
fn plan_text(plan: &ActionPlan, input: RenderInput<'_>, rows: usize) -> String {
    let (fixes, note) = plan_fixes(plan, input, rows);
    let mut out = plan_buckets(plan, input, &fixes);
    let counts = [
        (&plan.apply, "to apply"),
        (&plan.file, "to file"),
        (&plan.skip, "to skip"),
        (&plan.acknowledge, "to acknowledge"),
    ];
    let counts = counts.iter().filter(|(numbers, _)| !numbers.is_empty());
    let counts: Vec<String> =
        counts.map(|(numbers, what)| format!("{} {what}", numbers.len())).collect();
    let in_all =
        (rows_of(&out, input.columns) > rows).then(|| format!("Total: {}.", counts.join(", ")));
    let ends: Vec<String> = in_all.into_iter().chain(note).collect();
    if !ends.is_empty() {
        out.push('\n');
        out.push_str(&wrap("", "", &ends.join(" "), input.columns));
    }
    out
}

/// The exact fixes of a plan by issue number, with the same room for each. If there is too little
/// room, returns a note instead.
fn plan_fixes(
    plan: &ActionPlan,
    input: RenderInput<'_>,
    rows: usize,
) -> (BTreeMap<u32, String>, Option<String>) {
    let issues = plan.apply.iter().filter_map(|number| input.report.issue(*number));
    let fixes = issues
        .filter_map(|issue| {
            let diff = input.diffs.of_issue(issue.number);
            Some((issue.number, Replacement::from_issue(issue, diff)?))
        })
        .collect::<BTreeMap<u32, Replacement>>();
    let without_fixes = plan_buckets(plan, input, &BTreeMap::new());
    let left = rows.saturating_sub(rows_of(&without_fixes, input.columns));
    let all: usize = fixes.values().map(|exact| exact.rows().min(PLAN_FIX_ROWS_MAX)).sum();
    let each = match all <= left {
        true => PLAN_FIX_ROWS_MAX,
        false => (left / fixes.len().max(1)).min(PLAN_FIX_ROWS_MAX),
    };
    if each < ROWS_LEAST {
        let fixes = counted(fixes.len(), "exact fix", "exact fixes");
        let note = format!("The window is too small for {fixes}; cancel, then go one by one.");
        return (BTreeMap::new(), Some(note));
    }
    let shown =
        |(number, exact): (u32, Replacement)| (number, exact.text(UNDER_ITEM, each, input.columns));
    (fixes.into_iter().map(shown).collect(), None)
}

/// The plan, with the text of `under` below each issue.
fn plan_buckets(
    plan: &ActionPlan,
    input: RenderInput<'_>,
    under: &BTreeMap<u32, String>,
) -> String {
    let tickets = match input.tracker {
        TrackerLabel::Named(name) => format!("{} tickets", one_line(name)),
        TrackerLabel::Generic | TrackerLabel::None(_) => "issues".to_owned(),
    };
    let mut out = wrap("", "  ", &plan_header(plan, input.tracker, &tickets), input.columns);
    let buckets = [
        ("Applying".to_owned(), &plan.apply),
        (format!("Filing {tickets}"), &plan.file),
        ("Skipping".to_owned(), &plan.skip),
        ("Acknowledging".to_owned(), &plan.acknowledge),
    ];
    for (name, numbers) in buckets.iter().filter(|(_, numbers)| !numbers.is_empty()) {
        out.push_str(&format!("\n{name} ({}):\n", numbers.len()));
        for issue in numbers.iter().filter_map(|number| input.report.issue(*number)) {
            let why = one_line(&issue.why_it_matters);
            let why = first_sentence(&why);
            let line = format!("  [{}] {} — {why}", issue.severity, place(issue));
            out.push_str(&format!("{}\n", truncate(&line, input.columns)));
            out.push_str(under.get(&issue.number).map_or("", String::as_str));
            if plan.not_deferred.contains(&issue.number) {
                let line = "instead of Defer, which is unavailable: ";
                let line = format!("{UNDER_ITEM}{line}{}", reason(input.tracker));
                out.push_str(&format!("{}\n", truncate(&line, input.columns)));
            }
        }
    }
    out
}

fn plan_header(plan: &ActionPlan, tracker: &TrackerLabel, tickets: &str) -> String {
    let count = plan.apply.len() + plan.file.len() + plan.skip.len() + plan.acknowledge.len();
    let findings = counted(count, "finding", "findings");
    let (findings, decided) = match plan.kind {
        PlanKind::Tickets => return format!("File plan — {findings} as {tickets}:"),
        PlanKind::All => (findings, None),
        PlanKind::Rest { decided } => {
            let findings = counted(count, "remaining finding", "remaining findings");
            (findings, Some(format!("{decided} already decided")))
        }
    };
    let tracker = match tracker {
        TrackerLabel::Named(name) => Some(format!("tracker: {}", one_line(name))),
        TrackerLabel::Generic | TrackerLabel::None(_) => None,
    };
    let more: Vec<String> = decided.into_iter().chain(tracker).collect();
    match more.is_empty() {
        true => format!("LFG plan — {findings}:"),
        false => format!("LFG plan — {findings} ({}):", more.join("; ")),
    }
}

/// The message that no finding needs a decision.
pub(super) fn resolved(resolved: ResolvedCounts) -> String {
    let ResolvedCounts { safe_fixes, advisory, pre_existing } = resolved;
    let mut remain = Vec::new();
    if advisory > 0 {
        remain.push(format!("{advisory} advisory"));
    }
    if pre_existing > 0 {
        remain.push(format!("{pre_existing} pre-existing"));
    }
    let fixes = counted(safe_fixes, "safe_auto fix", "safe_auto fixes");
    let findings = if advisory + pre_existing == 1 { "finding remains" } else { "findings remain" };
    match remain.is_empty() {
        true => format!("All findings resolved — {fixes} applied."),
        false => format!(
            "All actionable findings resolved — {fixes} applied. ({} {findings} in the report.)",
            remain.join(", ")
        ),
    }
}

/// The message that no finding needs a decision, although the review is incomplete.
pub(super) fn decided(resolved: ResolvedCounts) -> String {
    let fixes = counted(resolved.safe_fixes, "safe_auto fix is", "safe_auto fixes are");
    format!("No finding needs a decision, but the review is incomplete. {fixes} applied.")
}

/// Why Defer is unavailable, without a period.
fn reason(tracker: &TrackerLabel) -> String {
    match tracker {
        TrackerLabel::Named(_) | TrackerLabel::Generic => String::new(),
        TrackerLabel::None(why) => one_line(why).trim_end_matches('.').to_owned(),
    }
}

/// Location of an issue on one line.
pub(super) fn place(issue: &Issue) -> String {
    crh_review::escape_invisible(&issue.location.to_string())
        .replace('\n', "\\n")
        .replace('\t', "\\t")
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
mod tests;
