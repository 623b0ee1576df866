//! What the flow asks and says, in words. Everything that comes from a review is made harmless here.

use std::collections::BTreeMap;

use super::code;
use super::destination::{Checkout, Destination};
use super::diffs::Diffs;
use super::next::{
    About, Ask, Deferring, Finding, NextSink, NotFiled, Pick, Plan, PlanKind, Resolved,
};
use super::replacement::Replacement;
use crate::hand_off::tickets::TrackerLabel;
use crate::ui::on_one_line;
use crate::ui::questions::{Choice, Question};
use crh_review::report::{Action, Issue, Report};
use crh_review::{columns, cut, wrapped};

/// What stands behind the option that the review would choose.
const RECOMMENDED: &str = " (recommended)";
/// The fewest rows for the code of an issue and for what its fix writes, however small the window is.
const ROWS_LEAST: usize = 3;
/// The most rows for what a fix writes: it is longer in a patch, and read there.
const FIX_ROWS_MAX: usize = 12;
/// The same for each issue of a plan.
const PLAN_FIX_ROWS_MAX: usize = 6;
/// Stands before what belongs to an issue of a plan.
const UNDER_ITEM: &str = "    ";

/// What questions are made of, beside what the flow says.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a> {
    pub(super) report: &'a Report,
    pub(super) diffs: &'a Diffs,
    pub(super) tracker: &'a TrackerLabel,
    /// How wide the lines may be.
    pub(super) columns: usize,
}

/// What is shown before a question, to be read; empty if the question says it all. It takes no more than so many rows where it can
/// be shorter without being wrong.
pub(super) fn lead(about: &About, beside: Beside<'_>, rows: usize) -> String {
    match about {
        About::Finding(finding) => match issue(beside.report, finding.number) {
            Some(issue) => format!("\n{}", finding_text(issue, *finding, beside, rows)),
            None => String::new(),
        },
        About::Preview(plan) => format!("\n{}", plan_text(plan, beside, rows)),
        About::Routing { .. } | About::NotFiled { .. } | About::NextSteps { .. } => String::new(),
    }
}

/// The question with its options, in the order of what can be picked.
pub(super) fn question(ask: &Ask, beside: Beside<'_>) -> Question {
    let option = |pick: &Pick| {
        // One label of the last question says it itself.
        let is_marked = ask.recommended == Some(*pick) && *pick != Pick::CreatePullRequest;
        let mark = if is_marked { RECOMMENDED } else { "" };
        Choice { key: letter(*pick), label: format!("{}{mark}", label(*pick, ask, beside)) }
    };
    let marked = ask.picks.iter().position(|pick| ask.recommended == Some(*pick));
    Question {
        stem: stem(&ask.about, beside),
        options: ask.picks.iter().map(option).collect(),
        marked: marked.unwrap_or_default(),
    }
}

fn stem(about: &About, beside: Beside<'_>) -> Vec<String> {
    match about {
        About::Routing { remaining } => {
            let findings = counted(*remaining, "finding", "findings");
            let mut stem = vec![format!("What should the agent do with the remaining {findings}?")];
            match beside.tracker {
                TrackerLabel::Named(_) | TrackerLabel::Generic => {}
                TrackerLabel::None(_) => {
                    stem.push(format!("Defer unavailable — {}.", reason(beside.tracker)));
                }
            }
            stem
        }
        About::Finding(finding) => {
            let heading =
                issue(beside.report, finding.number).map(|issue| heading(issue, *finding));
            let mut stem = vec![cut(&heading.unwrap_or_default(), beside.columns)];
            match finding.deferring {
                Deferring::AsRecommended => {}
                Deferring::BecomesSkip => stem.push(format!(
                    "Defer would be recommended, and cannot be done: {}",
                    reason(beside.tracker)
                )),
            }
            stem.push("What should the agent do with it?".to_owned());
            stem
        }
        About::Preview(_) => vec!["Should the agent do this?".to_owned()],
        About::NotFiled { number, not_filed: NotFiled { why, next } } => {
            let mut stem =
                vec![format!("The ticket for #{number} was not filed: {}", on_one_line(why))];
            match next {
                NextSink::There => {}
                NextSink::None => stem.push("There is no other place for tickets.".to_owned()),
            }
            stem.push("What should the agent do about it?".to_owned());
            stem
        }
        About::NextSteps { fixes, destination } => {
            let fixes = counted(*fixes, "fix was", "fixes were");
            let mut stem = vec![format!("{fixes} applied. What should happen next?")];
            let what = match destination.checkout {
                Checkout::PullRequest => "Push",
                Checkout::Branch | Checkout::Base => "Create a PR",
            };
            let stays = destination.stays.as_deref().map(on_one_line);
            stem.extend(stays.map(|why| format!("{what} unavailable — {why}.")));
            stem
        }
    }
}

/// The letters of the first question, by which it is known; the others have numbers.
fn letter(pick: Pick) -> Option<char> {
    match pick {
        Pick::OneByOne => Some('A'),
        Pick::BestJudgment => Some('B'),
        Pick::FileAll => Some('C'),
        Pick::ReportOnly => Some('D'),
        Pick::Apply
        | Pick::Acknowledge
        | Pick::Defer
        | Pick::Skip
        | Pick::TheRest
        | Pick::Proceed
        | Pick::Cancel
        | Pick::Retry
        | Pick::NextSink
        | Pick::ConvertToSkip
        | Pick::PushFixes
        | Pick::CreatePullRequest
        | Pick::Continue
        | Pick::Exit => None,
    }
}

fn label(pick: Pick, ask: &Ask, beside: Beside<'_>) -> String {
    let label = match pick {
        Pick::OneByOne => {
            "Review each finding one by one — accept the recommendation or choose another action"
        }
        Pick::BestJudgment => "LFG. Apply the agent's best-judgment action per finding",
        Pick::FileAll => {
            let ticket = ticket(beside.tracker);
            return format!("File {ticket} per finding without applying fixes");
        }
        Pick::ReportOnly => "Report only — take no further action",
        Pick::Apply => "Apply the proposed fix",
        Pick::Acknowledge => "Acknowledge — take note, change nothing",
        Pick::Defer => return format!("Defer — file {}", ticket(beside.tracker)),
        Pick::Skip => "Skip — don't apply, don't track",
        Pick::TheRest => "LFG the rest",
        Pick::Proceed => "Proceed",
        Pick::Cancel => "Cancel",
        Pick::Retry => "Retry",
        Pick::NextSink => "Fall back to the next sink",
        Pick::ConvertToSkip => "Convert to Skip",
        Pick::PushFixes => "Push fixes -- push commits to the existing PR branch",
        Pick::CreatePullRequest => "Create a PR (Recommended) -- push and open a pull request",
        Pick::Continue => match &ask.about {
            About::NextSteps {
                destination: Destination { checkout: Checkout::Branch, .. },
                ..
            } => "Continue without PR -- stay on the branch",
            About::NextSteps { .. }
            | About::Routing { .. }
            | About::Finding(_)
            | About::Preview(_)
            | About::NotFiled { .. } => "Continue -- proceed with next steps",
        },
        Pick::Exit => "Exit -- done for now",
    };
    label.to_owned()
}

/// What a tracker files, with its article.
fn ticket(tracker: &TrackerLabel) -> String {
    match tracker {
        TrackerLabel::Named(name) => format!("a {} ticket", on_one_line(name)),
        TrackerLabel::Generic | TrackerLabel::None(_) => "an issue".to_owned(),
    }
}

/// One issue: where it is, its code, what is wrong, what is proposed, and what that would write.
fn finding_text(issue: &Issue, finding: Finding, beside: Beside<'_>, rows: usize) -> String {
    let width = beside.columns;
    let diff = beside.diffs.of_issue(issue.number);
    let exact = Replacement::of(issue, diff);
    let mut head = wrapped("", "  ", &heading(issue, finding), width);
    head.push_str(&format!("{}\n\n", cut(&place(issue), width)));
    let why = on_one_line(&issue.why_it_matters);
    let mut said = wrapped("What's wrong: ", "  ", &why, width);
    said.push_str(&wrapped("Proposed fix: ", "  ", &proposed(issue, exact.is_some()), width));
    let conflict = issue.disagreement.as_deref().map(on_one_line);
    let conflict = conflict.map(|it| wrapped("Conflict: ", "  ", &it, width)).unwrap_or_default();
    // An empty line follows the code.
    let taken: usize = [&head, &said, &conflict].map(|text| rows_of(text, width)).iter().sum();
    let left = rows.saturating_sub(taken + 1);
    let wanted = exact.as_ref().map_or(0, Replacement::rows).min(FIX_ROWS_MAX);
    let fix_rows = wanted.min(left.saturating_sub(ROWS_LEAST).max(ROWS_LEAST));
    let code_rows = left.saturating_sub(fix_rows).clamp(ROWS_LEAST, code::ROWS_MAX);
    let code = code::text(issue, diff, code_rows, width);
    let fix = exact.map(|exact| exact.text("  ", fix_rows, width)).unwrap_or_default();
    [head, code, said, fix, conflict].concat()
}

/// How many rows a text takes: a word that is longer than a row goes on in the next.
fn rows_of(text: &str, width: usize) -> usize {
    text.lines().map(|line| columns(line).div_ceil(width.max(1)).max(1)).sum()
}

/// What is proposed for an issue, in words; what is exact is shown besides.
fn proposed(issue: &Issue, is_exact: bool) -> String {
    let by_fixer = match (issue.action, is_exact) {
        (Action::Acknowledge, _) | (_, true) => None,
        (Action::Apply | Action::Defer | Action::Skip, false) => {
            Some("Apply leaves it to the fixer")
        }
    };
    match (issue.suggested_fix.as_deref().map(on_one_line), by_fixer) {
        (Some(fix), Some(by_fixer)) => format!("{fix} ({by_fixer} to write it)"),
        (Some(fix), None) => fix,
        (None, _) if is_exact => "exactly this".to_owned(),
        (None, Some(by_fixer)) => format!("nobody proposed one; {by_fixer} to find one"),
        (None, None) => "nobody proposed one".to_owned(),
    }
}

fn heading(issue: &Issue, finding: Finding) -> String {
    let counter = match finding.position {
        Some((at, of)) => format!("Finding {at} of {of}"),
        None => "Finding".to_owned(),
    };
    format!("{counter} — {} {}", issue.severity, on_one_line(&issue.title))
}

/// What would be done, in buckets; what is longer than the window ends with how much it is.
fn plan_text(plan: &Plan, beside: Beside<'_>, rows: usize) -> String {
    let (fixes, note) = plan_fixes(plan, beside, rows);
    let mut out = plan_buckets(plan, beside, &fixes);
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
        (rows_of(&out, beside.columns) > rows).then(|| format!("In all: {}.", counts.join(", ")));
    let ends: Vec<String> = in_all.into_iter().chain(note).collect();
    if !ends.is_empty() {
        out.push('\n');
        out.push_str(&wrapped("", "", &ends.join(" "), beside.columns));
    }
    out
}

/// What the exact fixes of a plan write, by the number of the issue, each in the same room; where that is too little, what is said
/// instead.
fn plan_fixes(
    plan: &Plan,
    beside: Beside<'_>,
    rows: usize,
) -> (BTreeMap<u32, String>, Option<String>) {
    let issues = plan.apply.iter().filter_map(|number| issue(beside.report, *number));
    let fixes = issues
        .filter_map(|issue| {
            let diff = beside.diffs.of_issue(issue.number);
            Some((issue.number, Replacement::of(issue, diff)?))
        })
        .collect::<BTreeMap<u32, Replacement>>();
    let without = plan_buckets(plan, beside, &BTreeMap::new());
    let left = rows.saturating_sub(rows_of(&without, beside.columns));
    let all: usize = fixes.values().map(|exact| exact.rows().min(PLAN_FIX_ROWS_MAX)).sum();
    let each = match all <= left {
        true => PLAN_FIX_ROWS_MAX,
        false => (left / fixes.len().max(1)).min(PLAN_FIX_ROWS_MAX),
    };
    if each < ROWS_LEAST {
        let fixes = counted(fixes.len(), "exact fix", "exact fixes");
        let note = format!("This window has no room for {fixes}; one by one, each is shown.");
        return (BTreeMap::new(), Some(note));
    }
    let shown = |(number, exact): (u32, Replacement)| {
        (number, exact.text(UNDER_ITEM, each, beside.columns))
    };
    (fixes.into_iter().map(shown).collect(), None)
}

/// The plan with what stands under an issue, by its number.
fn plan_buckets(plan: &Plan, beside: Beside<'_>, under: &BTreeMap<u32, String>) -> String {
    let tickets = match beside.tracker {
        TrackerLabel::Named(name) => format!("{} tickets", on_one_line(name)),
        TrackerLabel::Generic | TrackerLabel::None(_) => "issues".to_owned(),
    };
    let mut out = wrapped("", "  ", &plan_header(plan, beside.tracker, &tickets), beside.columns);
    let buckets = [
        ("Applying".to_owned(), &plan.apply),
        (format!("Filing {tickets}"), &plan.file),
        ("Skipping".to_owned(), &plan.skip),
        ("Acknowledging".to_owned(), &plan.acknowledge),
    ];
    for (name, numbers) in buckets.iter().filter(|(_, numbers)| !numbers.is_empty()) {
        out.push_str(&format!("\n{name} ({}):\n", numbers.len()));
        for issue in numbers.iter().filter_map(|number| issue(beside.report, *number)) {
            let why = on_one_line(&issue.why_it_matters);
            let why = first_sentence(&why);
            let line = format!("  [{}] {} — {why}", issue.severity, place(issue));
            out.push_str(&format!("{}\n", cut(&line, beside.columns)));
            out.push_str(under.get(&issue.number).map_or("", String::as_str));
            if plan.not_deferred.contains(&issue.number) {
                let line = "instead of Defer, which cannot be done: ";
                let line = format!("{UNDER_ITEM}{line}{}", reason(beside.tracker));
                out.push_str(&format!("{}\n", cut(&line, beside.columns)));
            }
        }
    }
    out
}

fn plan_header(plan: &Plan, tracker: &TrackerLabel, tickets: &str) -> String {
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
        TrackerLabel::Named(name) => Some(format!("tracker: {}", on_one_line(name))),
        TrackerLabel::Generic | TrackerLabel::None(_) => None,
    };
    let more: Vec<String> = decided.into_iter().chain(tracker).collect();
    match more.is_empty() {
        true => format!("LFG plan — {findings}:"),
        false => format!("LFG plan — {findings} ({}):", more.join("; ")),
    }
}

/// Nothing is left to decide: what was fixed, and what this does not speak of.
pub(super) fn resolved(resolved: Resolved) -> String {
    let Resolved { safe_fixes, advisory, pre_existing } = resolved;
    let mut remain = Vec::new();
    if advisory > 0 {
        remain.push(format!("{advisory} advisory"));
    }
    if pre_existing > 0 {
        remain.push(format!("{pre_existing} pre-existing"));
    }
    match remain.is_empty() {
        true => format!("All findings resolved — {safe_fixes} safe_auto fixes applied."),
        false => format!(
            "All actionable findings resolved — {safe_fixes} safe_auto fixes applied. ({} findings remain in the report.)",
            remain.join(", ")
        ),
    }
}

/// Why nothing can be deferred, without a period.
fn reason(tracker: &TrackerLabel) -> String {
    match tracker {
        TrackerLabel::Named(_) | TrackerLabel::Generic => String::new(),
        TrackerLabel::None(why) => on_one_line(why).trim_end_matches('.').to_owned(),
    }
}

/// Where an issue is, on one line.
pub(super) fn place(issue: &Issue) -> String {
    crh_review::visible(&issue.location.to_string()).replace('\n', "\\n").replace('\t', "\\t")
}

fn issue(report: &Report, number: u32) -> Option<&Issue> {
    report.issues.iter().find(|issue| issue.number == number)
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
mod tests;
