//! What the flow asks and says, in words. Everything that comes from a review is made harmless here.

use crh_review::cut;
use crh_review::diff::Diff;
use crh_review::report::Action;
use crh_review::report::Issue;
use crh_review::report::Report;
use crh_review::wrapped;

use super::code;
use super::next::About;
use super::next::Ask;
use super::next::Deferring;
use super::next::Finding;
use super::next::Pick;
use super::next::Plan;
use super::next::PlanKind;
use super::next::Resolved;
use super::standing::Standing;
use crate::hand_off::tickets::TrackerLabel;
use crate::ui::on_one_line;
use crate::ui::questions::Choice;
use crate::ui::questions::Question;

/// What stands behind the option that the review would choose.
const RECOMMENDED: &str = " (recommended)";
/// A replacement that is longer is recognised, not read.
const REPLACEMENT_LINES: usize = 6;

/// What questions are made of, beside what the flow says.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a> {
    pub(super) report: &'a Report,
    /// The reviewed diff, without its secrets.
    pub(super) diff: &'a Diff,
    pub(super) tracker: &'a TrackerLabel,
    pub(super) standing: &'a Standing,
    /// How wide the lines may be.
    pub(super) columns: usize,
}

/// What is shown before a question, to be read; empty if the question says it all.
pub(super) fn lead(about: &About, beside: Beside<'_>) -> String {
    match about {
        About::Finding(finding) => match issue(beside.report, finding.number) {
            Some(issue) => format!("\n{}", finding_text(issue, *finding, beside)),
            None => String::new(),
        },
        About::Preview(plan) => format!("\n{}", plan_text(plan, beside)),
        About::Routing { .. } | About::NotFiled { .. } | About::NextSteps { .. } => String::new(),
    }
}

/// The question with its options, in the order of what can be picked.
pub(super) fn question(ask: &Ask, beside: Beside<'_>) -> Question {
    let option = |pick: &Pick| {
        let mark = if ask.recommended == Some(*pick) { RECOMMENDED } else { "" };
        Choice { key: letter(*pick), label: format!("{}{mark}", label(*pick, beside.tracker)) }
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
        About::NotFiled { number, why } => {
            let why = on_one_line(why);
            vec![
                format!("The ticket for #{number} was not filed: {why}"),
                "What should the agent do about it?".to_owned(),
            ]
        }
        About::NextSteps { fixes } => {
            let fixes = counted(*fixes, "fix was", "fixes were");
            let mut stem = vec![format!("{fixes} applied. What should happen next?")];
            match beside.standing {
                Standing::PullRequest | Standing::Branch | Standing::Base => {}
                Standing::NotClean(why) => stem.push(why.clone()),
            }
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

fn label(pick: Pick, tracker: &TrackerLabel) -> String {
    let label = match pick {
        Pick::OneByOne => {
            "Review each finding one by one — accept the recommendation or choose another action"
        }
        Pick::BestJudgment => "LFG. Apply the agent's best-judgment action per finding",
        Pick::FileAll => match tracker {
            TrackerLabel::Named(name) => {
                let name = on_one_line(name);
                return format!("File a {name} ticket per finding without applying fixes");
            }
            TrackerLabel::Generic | TrackerLabel::None(_) => {
                "File an issue per finding without applying fixes"
            }
        },
        Pick::ReportOnly => "Report only — take no further action",
        Pick::Apply => "Apply the proposed fix",
        Pick::Acknowledge => "Acknowledge — take note, change nothing",
        Pick::Defer => match tracker {
            TrackerLabel::Named(name) => {
                return format!("Defer — file a {} ticket", on_one_line(name));
            }
            TrackerLabel::Generic | TrackerLabel::None(_) => "Defer — file an issue",
        },
        Pick::Skip => "Skip — don't apply, don't track",
        Pick::TheRest => "LFG the rest",
        Pick::Proceed => "Proceed",
        Pick::Cancel => "Cancel",
        Pick::Retry => "Retry",
        Pick::NextSink => "Fall back to the next sink",
        Pick::ConvertToSkip => "Convert to Skip",
        Pick::PushFixes => "Push fixes -- push commits to the existing PR branch",
        Pick::CreatePullRequest => "Create a PR -- push and open a pull request",
        Pick::Continue => "Continue -- leave the fixes in the working tree",
        Pick::Exit => "Exit -- done for now",
    };
    label.to_owned()
}

/// One issue: where it is, its code, what is wrong, what is proposed.
fn finding_text(issue: &Issue, finding: Finding, beside: Beside<'_>) -> String {
    let width = beside.columns;
    let mut out = wrapped("", "  ", &heading(issue, finding), width);
    out.push_str(&format!("{}\n\n", place(issue)));
    out.push_str(&code::text(issue, beside.diff, width));
    let why = on_one_line(&issue.why_it_matters);
    out.push_str(&wrapped("What's wrong: ", "  ", &why, width));
    match (&issue.suggested_fix, &issue.replacement) {
        (Some(fix), _) => {
            out.push_str(&wrapped("Proposed fix: ", "  ", &on_one_line(fix), width));
        }
        (None, Some(text)) => {
            let lines = match issue.location.line_end - issue.location.line_start {
                0 => format!("line {} becomes", issue.location.line_start),
                _ => {
                    format!(
                        "lines {}-{} become",
                        issue.location.line_start, issue.location.line_end
                    )
                }
            };
            out.push_str(&format!("Proposed fix: {lines}\n"));
            out.push_str(&replacement(text, width));
        }
        (None, None) => {
            let none = match issue.action {
                Action::Acknowledge => "nobody proposed one",
                Action::Apply | Action::Defer | Action::Skip => {
                    "nobody proposed one; Apply leaves it to the fixer to find one"
                }
            };
            out.push_str(&wrapped("Proposed fix: ", "  ", none, width));
        }
    }
    if let Some(conflict) = &issue.disagreement {
        out.push_str(&wrapped("Conflict: ", "  ", &on_one_line(conflict), width));
    }
    out
}

fn replacement(text: &str, width: usize) -> String {
    let text = crh_review::visible(text);
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.iter().take(REPLACEMENT_LINES);
    let shown = shown.map(|line| format!("  {}\n", cut(line, width.saturating_sub(2))));
    let mut out: String = shown.collect();
    if lines.len() > REPLACEMENT_LINES {
        out.push_str(&format!("  … {} more lines\n", lines.len() - REPLACEMENT_LINES));
    }
    out
}

fn heading(issue: &Issue, finding: Finding) -> String {
    let counter = match finding.position {
        Some((at, of)) => format!("Finding {at} of {of}"),
        None => "Finding".to_owned(),
    };
    format!("{counter} — {} {}", issue.severity, on_one_line(&issue.title))
}

/// What would be done, in buckets.
fn plan_text(plan: &Plan, beside: Beside<'_>) -> String {
    let count = plan.apply.len() + plan.file.len() + plan.skip.len() + plan.acknowledge.len();
    let tracker = match beside.tracker {
        TrackerLabel::Named(name) => Some(on_one_line(name)),
        TrackerLabel::Generic | TrackerLabel::None(_) => None,
    };
    let tickets = match &tracker {
        Some(name) => format!("{name} tickets"),
        None => "issues".to_owned(),
    };
    let findings = counted(count, "finding", "findings");
    let header = match (plan.kind, &tracker) {
        (PlanKind::All, Some(name)) => format!("LFG plan — {findings} (tracker: {name}):"),
        (PlanKind::All, None) => format!("LFG plan — {findings}:"),
        (PlanKind::Rest { decided }, tracker) => {
            let tracker = tracker.as_ref().map(|name| format!("; tracker: {name}"));
            let findings = counted(count, "remaining finding", "remaining findings");
            let tracker = tracker.unwrap_or_default();
            format!("LFG plan — {findings} ({decided} already decided{tracker}):")
        }
        (PlanKind::Tickets, _) => format!("File plan — {findings} as {tickets}:"),
    };
    let mut out = format!("{header}\n");
    let buckets = [
        ("Applying".to_owned(), &plan.apply),
        (format!("Filing {tickets}"), &plan.file),
        ("Skipping".to_owned(), &plan.skip),
        ("Acknowledging".to_owned(), &plan.acknowledge),
    ];
    for (name, numbers) in buckets.iter().filter(|(_, numbers)| !numbers.is_empty()) {
        out.push_str(&format!("\n{name} ({}):\n", numbers.len()));
        for issue in numbers.iter().filter_map(|number| issue(beside.report, *number)) {
            let line = format!(
                "  [{}] {} — {}",
                issue.severity,
                place(issue),
                first_sentence(&on_one_line(&issue.why_it_matters))
            );
            out.push_str(&format!("{}\n", cut(&line, beside.columns)));
            if plan.not_deferred.contains(&issue.number) {
                let line = "instead of Defer, which cannot be done: ";
                let line = format!("    {line}{}", reason(beside.tracker));
                out.push_str(&format!("{}\n", cut(&line, beside.columns)));
            }
        }
    }
    out
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
