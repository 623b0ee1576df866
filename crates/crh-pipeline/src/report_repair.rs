//! Sends findings with a problem back to their reviewer, once per run: findings that the merge
//! would drop, and vague ones. The message lists up to [`LISTED_MAX`] findings, each with its
//! problem.
//!
//! The next report replaces the listed findings. The other findings of the first report are kept,
//! even if the model leaves them out of the next one. A P0 or P1 without proof counts as taken back
//! only if the summary of the next report has a sentence [`WITHDRAWN`] with its title.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::change_under_review::ChangeUnderReview;
use crate::consolidate::{check_findings, drop_diff_prefixes};
use crate::text::{cut, one_line};
use crh_review::finding::{Finding, Member, Severity};
use crh_review::report::{DroppedFinding, Fate};
use crh_review::{ReviewerReturn, normalise_title};

/// Maximum findings in a message. The reviewer learns of no further ones.
const LISTED_MAX: usize = 30;
/// Maximum characters of a problem in a message.
const PROBLEM_CHARS: usize = 600;
/// Begins the sentence of a summary that takes a finding back. The title follows. The words of a
/// title alone may be about something else, or repeat the claim.
const WITHDRAWN: &str = "Withdrawn:";
/// Characters of a normalised title that are compared, because crh cuts long titles.
const TITLE_CHARS: usize = 60;
/// Characters that end a sentence.
const SENTENCE_ENDS: [char; 4] = ['.', ';', '!', '?'];

/// Checks the reports of one run.
#[derive(Debug)]
pub(crate) struct ReportRepair {
    change: Arc<ChangeUnderReview>,
    /// Further check of a finding. Returns the problem.
    extra_check: fn(&Finding) -> Option<&'static str>,
    policy: RepairPolicy,
    state: Mutex<RepairState>,
}

/// Which findings are worth another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepairPolicy {
    /// Every finding with a problem.
    Every,
    /// Findings with a problem, if one of them is P0 or P1, or if all findings of the report have a
    /// problem. Otherwise the call is saved for the editor.
    UrgentOrAll,
}

/// Result of a run's repair.
#[derive(Debug, Default)]
pub(crate) struct RepairOutcome {
    /// The last refused report. crh uses it if no other report followed.
    pub(crate) refused_report: Option<ReviewerReturn>,
    /// Notes on findings that give contradictory positions.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Default)]
struct RepairState {
    refused: Option<RefusedReport>,
    findings: FindingsState,
    /// Whether a report without findings was sent back because of its words.
    has_asked_about_words: bool,
    notes: Vec<String>,
}

/// Whether findings were sent back.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FindingsState {
    #[default]
    NotSentBack,
    SentBack,
}

/// A report that was sent back.
#[derive(Debug)]
struct RefusedReport {
    /// The report without the listed findings.
    accepted: ReviewerReturn,
    /// The listed findings, with the fate that they get if the next report leaves them out.
    listed: Vec<DroppedFinding>,
    /// Whether it was sent back because of its words. Then the next report may take back its risks
    /// by leaving them out.
    is_about_words: bool,
}

impl ReportRepair {
    pub(crate) fn new(
        change: &Arc<ChangeUnderReview>,
        extra_check: fn(&Finding) -> Option<&'static str>,
        policy: RepairPolicy,
    ) -> Self {
        Self { change: change.clone(), extra_check, policy, state: Mutex::default() }
    }

    /// Returns the final report, or a message for the model. `other_problem` is a problem that is
    /// not about a finding.
    pub(crate) fn check(
        &self,
        mut report: ReviewerReturn,
        other_problem: Option<String>,
    ) -> Result<ReviewerReturn, String> {
        drop_diff_prefixes(&mut report.members, &self.change);
        let mut state = self.state();
        let mut report = match state.refused.take() {
            Some(refused) => refused.replaced_by(report),
            None => report,
        };
        let problems = self.member_problems(&report.members, &mut state.notes);
        if let Some(words) = stated_defect(&report)
            && state.findings == FindingsState::NotSentBack
            && !std::mem::replace(&mut state.has_asked_about_words, true)
        {
            state.refused =
                Some(RefusedReport { accepted: report, listed: Vec::new(), is_about_words: true });
            return Err(format!(
                "`findings` is empty, but you write: \"{words}\". Report each problem of the change as a finding with all its fields, or say that there is none."
            ));
        }
        let listed = match state.findings {
            FindingsState::NotSentBack => take_listed(&mut report, problems),
            FindingsState::SentBack => Vec::new(),
        };
        let is_worth_a_call = match self.policy {
            RepairPolicy::Every => !listed.is_empty(),
            RepairPolicy::UrgentOrAll => {
                listed.iter().any(is_urgent) || report.members.is_empty() && !listed.is_empty()
            }
        };
        if !is_worth_a_call && other_problem.is_none() {
            return Ok(RefusedReport { accepted: report, listed, is_about_words: false }.restore());
        }
        if !listed.is_empty() {
            state.findings = FindingsState::SentBack;
        }
        let message = [other_problem, message(&listed)].into_iter().flatten();
        let message = message.collect::<Vec<_>>().join("\n");
        state.refused = Some(RefusedReport { accepted: report, listed, is_about_words: false });
        Err(message)
    }

    /// The last refused report and the notes, after the run.
    pub(crate) fn finish(&self) -> RepairOutcome {
        let mut state = self.state();
        RepairOutcome {
            refused_report: state.refused.take().map(RefusedReport::restore),
            notes: std::mem::take(&mut state.notes),
        }
    }

    fn state(&self) -> MutexGuard<'_, RepairState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The problem of each finding, and the fate of the finding if the next report leaves it out.
    /// Replaces `notes` by notes on contradicting positions.
    fn member_problems(
        &self,
        members: &[Member],
        notes: &mut Vec<String>,
    ) -> Vec<Option<(Fate, String)>> {
        notes.clear();
        let checks = check_findings(members, &self.change);
        let pairs = checks.into_iter().zip(members);
        let problems = pairs.map(|(check, member)| {
            notes.extend(check.conflict);
            let is_urgent = member.finding.severity <= Severity::P1;
            let problem = check.problem.map(|problem| {
                let fate = if is_urgent { problem.fate } else { Fate::Refuted };
                (fate, problem.to_string())
            });
            let extra_problem =
                || Some((Fate::Refuted, (self.extra_check)(&member.finding)?.to_owned()));
            problem.or_else(extra_problem)
        });
        problems.collect()
    }
}

impl RefusedReport {
    /// The report as the model sent it. A defect that it states without a finding counts as a
    /// finding that crh cannot read, so the review is not green.
    fn restore(self) -> ReviewerReturn {
        let mut report = self.accepted;
        for listed in self.listed {
            match listed.member {
                Some(member) => report.members.push(member),
                None => report.dropped.push(listed),
            }
        }
        if let Some(words) = stated_defect(&report) {
            report.dropped.push(DroppedFinding {
                fate: Fate::Malformed,
                reason: format!("the reviewer reported no finding, but wrote: \"{words}\""),
                cause: None,
                into: None,
                validation: None,
                open: None,
                reviewer: report.reviewer.clone(),
                member: None,
                raw: None,
            });
        }
        report
    }

    /// The next report, with the accepted findings and texts of this report that it leaves out.
    fn replaced_by(self, mut next: ReviewerReturn) -> ReviewerReturn {
        let Self { accepted, listed, is_about_words } = self;
        let reported_again: Vec<FindingName> = next
            .members
            .iter()
            .map(FindingName::from_member)
            .chain(next.dropped.iter().map(FindingName::from_dropped))
            .collect();
        let (repeated, omitted): (Vec<Member>, Vec<Member>) = accepted
            .members
            .into_iter()
            .partition(|member| reported_again.contains(&FindingName::from_member(member)));
        let repeated: Vec<_> = repeated.iter().map(FindingName::from_member).collect();
        let new_names: Vec<FindingName> =
            reported_again.into_iter().filter(|name| !repeated.contains(name)).collect();
        let withdrawn = withdrawn(listed, new_names, &next.summary);
        next.dropped.extend(withdrawn);
        next.members.extend(omitted);
        for dropped in accepted.dropped {
            if !next.dropped.contains(&dropped) {
                next.dropped.push(dropped);
            }
        }
        for (texts, earlier) in [
            (&mut next.residual_risks, accepted.residual_risks),
            (&mut next.testing_gaps, accepted.testing_gaps),
        ] {
            if texts.is_empty() && !is_about_words {
                *texts = earlier;
            }
        }
        // A blank summary takes nothing back.
        if next.summary.trim().is_empty() {
            next.summary = accepted.summary;
        }
        next
    }
}

/// The listed findings without a counterpart among the new ones. A model may change the title when
/// it repairs a finding, so any new finding of the same file counts as a counterpart. A finding that
/// `summary` withdraws is taken back, whatever its fate would be.
fn withdrawn(
    listed: Vec<DroppedFinding>,
    mut new_names: Vec<FindingName>,
    summary: &str,
) -> Vec<DroppedFinding> {
    let mut take = |is_counterpart: &dyn Fn(&FindingName) -> bool| {
        let index = new_names.iter().position(is_counterpart);
        index.map(|index| new_names.swap_remove(index))
    };
    let without_title_match = listed.into_iter().filter(|finding| {
        let name = FindingName::from_dropped(finding);
        take(&|new_name| *new_name == name).is_none()
    });
    let unmatched: Vec<DroppedFinding> = without_title_match.collect();
    let without_file_match = unmatched.into_iter().filter(|finding| {
        let file = FindingName::from_dropped(finding).file;
        take(&|new_name| file.is_empty() || new_name.file == file).is_none()
    });
    let withdrawn = without_file_match.map(|finding| {
        let is_withdrawn = || FindingName::from_dropped(&finding).is_withdrawn_in(summary);
        match finding.member.is_some() {
            true if finding.fate == Fate::Refuted || is_withdrawn() => {
                let reason = format!("its reviewer took it back: {}", finding.reason);
                DroppedFinding { fate: Fate::Refuted, reason, ..finding }
            }
            true => {
                let reason = format!("{}; its reviewer did not repair it", finding.reason);
                DroppedFinding { reason, ..finding }
            }
            false => finding,
        }
    });
    withdrawn.collect()
}

/// File and normalised title, which identify a finding between two reports.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FindingName {
    file: String,
    title: String,
}

impl FindingName {
    pub(crate) fn from_member(member: &Member) -> Self {
        Self::new(&member.finding.file, &member.finding.title)
    }

    /// The name of a dropped finding. File or title is empty if a malformed finding lacks it.
    pub(crate) fn from_dropped(dropped: &DroppedFinding) -> Self {
        if let Some(member) = &dropped.member {
            return Self::from_member(member);
        }
        let field =
            |name: &str| dropped.raw.as_ref().and_then(|raw| raw.get(name)).and_then(Value::as_str);
        Self::new(field("file").unwrap_or_default(), field("title").unwrap_or_default())
    }

    fn new(file: &str, title: &str) -> Self {
        let title: String = normalise_title(title).chars().take(TITLE_CHARS).collect();
        Self { file: file.to_owned(), title }
    }

    /// Whether a sentence of this summary withdraws the finding: `Withdrawn:` begins it, and the
    /// title is the rest. The title may itself contain the end of a sentence.
    fn is_withdrawn_in(&self, summary: &str) -> bool {
        summary.match_indices(WITHDRAWN).any(|(start, word)| {
            begins_sentence(&summary[..start])
                && self.is_whole_start(&summary[start + word.len()..])
        })
    }

    /// Whether the text starts with the title, and a sentence, a line or the text ends there.
    fn is_whole_start(&self, text: &str) -> bool {
        let words = self.title.split(' ').count();
        let ends = text.char_indices().filter_map(|(start, char)| {
            let end = start + char.len_utf8();
            (is_word_char(char) && !text[end..].starts_with(is_word_char)).then_some(end)
        });
        let Some(end) = ends.take(words).last() else { return false };
        let (start, rest) = text.split_at(end);
        let is_cut = self.title.chars().count() == TITLE_CHARS;
        Self::new(&self.file, start) == *self && (is_cut || starts_with_end(rest))
    }
}

/// Whether [`normalise_title`] keeps this character.
fn is_word_char(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Whether a new sentence begins after this text, perhaps with a quote or a bullet.
fn begins_sentence(before: &str) -> bool {
    let is_end = |char: &char| *char == '\n' || SENTENCE_ENDS.contains(char);
    !before.chars().rev().take_while(|char| !is_end(char)).any(is_word_char)
}

/// Whether a sentence, a line or the text ends before the next word of this text.
fn starts_with_end(text: &str) -> bool {
    let Some(next_word) = text.find(is_word_char) else { return true };
    let gap = &text[..next_word];
    gap.contains('\n')
        || gap.match_indices(SENTENCE_ENDS).any(|(at, end)| {
            let after = gap[at + end.len()..].trim_start_matches(['"', '\'', '`', '*', ')']);
            after.starts_with(char::is_whitespace)
        })
}

/// Words for a defect, in lower case, and the urgent severities.
const DEFECT_WORDS: &[&str] = &[
    "breaks",
    "bug",
    "bugs",
    "corrupts",
    "crash",
    "crashes",
    "deadlock",
    "defect",
    "defects",
    "divides",
    "incorrect",
    "incorrectly",
    "injection",
    "leaks",
    "overflow",
    "p0",
    "p1",
    "panics",
    "raises",
    "regression",
    "throws",
    "unhandled",
    "vulnerability",
    "vulnerable",
    "wrong",
    "wrongly",
    "zerodivisionerror",
];

/// Words of sentences that deny a defect, or are about one of the past.
const DENIALS: &[&str] = &[
    "absent",
    "avoid",
    "avoids",
    "clean",
    "correct",
    "correctly",
    "fix",
    "fixed",
    "fixes",
    "guard",
    "guards",
    "handled",
    "handles",
    "neither",
    "never",
    "no",
    "none",
    "nor",
    "not",
    "nothing",
    "prevent",
    "prevents",
    "safe",
    "unlikely",
    "whether",
    "without",
];

/// The sentence of a report without findings, or with nits only, that states a defect, on one line:
/// the model may have put its findings into words only.
fn stated_defect(report: &ReviewerReturn) -> Option<String> {
    let has_findings = !report.members.is_empty()
        || report.dropped.iter().any(|dropped| dropped.fate != Fate::Nit);
    let sentence = if has_findings { None } else { problem_sentence(report) };
    sentence.map(|words| cut(&one_line(words), PROBLEM_CHARS))
}

/// A sentence that states a defect at a place of the code.
fn problem_sentence(report: &ReviewerReturn) -> Option<&str> {
    let texts = [report.summary.as_str()].into_iter();
    let texts = texts.chain(report.residual_risks.iter().map(String::as_str));
    let mut sentences = texts.flat_map(|text| text.split_inclusive(['\n', ';', '!']));
    sentences.find(|sentence| {
        let words: Vec<String> = sentence
            .split(|char: char| !char.is_alphanumeric() && char != '\'')
            .map(str::to_lowercase)
            .collect();
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let is_denied = has(DENIALS) || words.iter().any(|word| word.ends_with("n't"));
        let names_line = sentence.split_whitespace().any(|word| {
            let word = word.trim_matches(|char: char| !char.is_alphanumeric());
            word.split_once(':').is_some_and(|(path, line)| {
                path.contains('.') && line.starts_with(|char: char| char.is_ascii_digit())
            })
        });
        let names_number = words.windows(2).any(|pair| {
            matches!(pair[0].as_str(), "line" | "lines") && pair[1].parse::<u32>().is_ok()
        });
        has(DEFECT_WORDS) && !is_denied && (names_line || names_number)
    })
}

/// Takes the findings with a problem out of a report, up to the limit of a message.
fn take_listed(
    report: &mut ReviewerReturn,
    problems: Vec<Option<(Fate, String)>>,
) -> Vec<DroppedFinding> {
    let (malformed, dropped): (Vec<_>, Vec<_>) = std::mem::take(&mut report.dropped)
        .into_iter()
        .partition(|dropped| dropped.fate == Fate::Malformed);
    let mut listed = malformed;
    report.dropped = dropped;
    report.dropped.extend(listed.split_off(LISTED_MAX.min(listed.len())));
    let mut accepted = Vec::new();
    for (member, problem) in std::mem::take(&mut report.members).into_iter().zip(problems) {
        match problem {
            Some((fate, reason)) if listed.len() < LISTED_MAX => listed.push(DroppedFinding {
                fate,
                reason,
                cause: None,
                into: None,
                open: None,
                validation: None,
                reviewer: member.reviewer.clone(),
                member: Some(member),
                raw: None,
            }),
            Some(_) | None => accepted.push(member),
        }
    }
    report.members = accepted;
    listed
}

/// Whether a finding with a problem claims to be P0 or P1. An unknown severity counts as urgent.
fn is_urgent(dropped: &DroppedFinding) -> bool {
    let raw_severity = || dropped.raw.as_ref()?.get("severity")?.as_str();
    match &dropped.member {
        Some(member) => member.finding.severity <= Severity::P1,
        None => raw_severity().is_none_or(|severity| !matches!(severity, "P2" | "P3")),
    }
}

/// The message about the listed findings. None if there are none.
fn message(listed: &[DroppedFinding]) -> Option<String> {
    if listed.is_empty() {
        return None;
    }
    let lines: Vec<String> = listed.iter().map(problem_line).collect();
    Some(format!(
        "these findings cannot be used as they are:\n{}\nRepair each of them and report it again with all its fields. Quotes must be verbatim. Leave a finding out only if the code does not prove it; if it is P0 or P1, write the sentence `{WITHDRAWN} TITLE` with its title in `summary` then. crh keeps the findings that are not listed here.",
        lines.join("\n")
    ))
}

fn problem_line(finding: &DroppedFinding) -> String {
    let problem = cut(&one_line(&finding.reason), PROBLEM_CHARS);
    let member_title = finding.member.as_ref().map(|member| member.finding.title.as_str());
    let raw_title = || finding.raw.as_ref()?.get("title")?.as_str();
    match member_title.or_else(raw_title) {
        Some(title) => format!("- `{}`: {problem}", cut(&one_line(title), PROBLEM_CHARS)),
        None => format!("- {problem}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_that_the_message_omits_stay_dropped() {
        let malformed = |number: usize| DroppedFinding {
            fate: Fate::Malformed,
            reason: format!("problem {number}"),
            cause: None,
            into: None,
            open: None,
            validation: None,
            reviewer: "correctness".into(),
            member: None,
            raw: None,
        };
        let dropped = (0..LISTED_MAX + 2).map(malformed).collect();
        let mut report = ReviewerReturn {
            reviewer: "correctness".into(),
            members: Vec::new(),
            dropped,
            residual_risks: Vec::new(),
            testing_gaps: Vec::new(),
            summary: String::new(),
        };
        let listed = take_listed(&mut report, Vec::new());
        assert_eq!((listed.len(), report.dropped.len()), (LISTED_MAX, 2));
    }

    #[test]
    fn withdrawn_title_ends_with_a_sentence() {
        let check = |title: &str, summary: &str, is_withdrawn: bool| {
            let found = FindingName::new("a.py", title).is_withdrawn_in(summary);
            assert_eq!(found, is_withdrawn, "{title}: {summary}");
        };
        let [two, call] = ["Input is lost. No retry", "`a.b()` fails"];
        check(two, "Looked again. Withdrawn: Input is lost. No retry. Callers check.", true);
        check(two, "- **Withdrawn:** Input is lost. No retry", true);
        check(two, "Withdrawn: Input is lost. Retry works.", false);
        let both = "Withdrawn: \"`a.b()` fails\"; Withdrawn: Input is lost. No retry.";
        for title in [two, call] {
            check(title, both, true);
        }
        check(call, "* Withdrawn: a.b() fails\nThe callers check.", true);
        check(call, "Withdrawn: a.b() fails in the tests.", false);
        check(call, "Withdrawn: a.b() fails != c", false);
        check(call, "Not Withdrawn: a.b() fails.", false);
        check("Call of a", "Withdrawn: Call of a.b", false);
        let long = "word ".repeat(20);
        check(&long, &format!("Withdrawn: {long}and more"), true);
        check(&long, "Withdrawn: word word.", false);
    }
}
