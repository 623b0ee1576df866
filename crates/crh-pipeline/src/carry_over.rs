//! Carried over: the open issues of the last review that nobody looked at again, as findings of this one.
//!
//! Their quotes are held against the code of now. What still stands goes the way of every finding, under the names of those
//! who found it; what is gone is set aside. Where somebody looked again, the last word is theirs.

#[cfg(test)]
#[path = "carry_over/tests.rs"]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::assemble::judged;
use crate::code::Code;
use crate::collect::Collected;
use crate::plan::is_static;
use crate::requirements;
use crate::runs::{Checked, Runs};
use crate::scope::short;
use crate::since::Since;
use crate::subject::Subject;
use crh_forge::github::post::OpenIssue;
use crh_review::diff::LineKind;
use crh_review::finding::{Evidence, Finding, Member, Origin, Severity, Side};
use crh_review::report::{Dropped, Fate, Strategy, Validation};
use crh_review::{AGREEMENT, Judged, Judgement, Quote, normal_title};

/// Whose an issue is that does not say, or says it in words that are no name.
const NOBODY: &str = "earlier-review";
/// The longest name of a reviewer: ours have some twenty characters.
const NAME_MAX: usize = 64;
/// What one line must have to prove something; two lines always do.
const VISIBLE_MIN: usize = 8;
/// A longer line is not quoted as a whole.
const SNIPPET_MAX: usize = 2_000;
/// What stands for a reason that was not kept.
const NOT_KEPT: &str = "An earlier review found it; its comment says more.";

/// Adds what the last review left open to what the runs brought; nothing if this is a review of everything.
pub(crate) fn carry(
    mut collected: Collected,
    subject: &Subject,
    runs: &Runs,
    strategy: Strategy,
) -> Collected {
    let Some(since) = &subject.since else { return collected };
    let again = judged(subject, runs, strategy);
    let mut texts = Texts { since, subject, code: Code::of(subject), read: BTreeMap::new() };
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    // A plan is judged anew each time.
    let is_of_plan = |old: &OpenIssue| old.reviewers.iter().all(|it| it == requirements::REVIEWER);
    let stale = |old: &&OpenIssue| !again.contains(&old.location.file) && !is_of_plan(old);
    for old in since.issues.iter().filter(stale) {
        match texts.standing(old) {
            Some(finding) => {
                let members = members(old, finding);
                let first = members.first().map(|member| &member.finding);
                collected.checked.extend(first.and_then(|finding| checked(old, finding)));
                collected.carried.extend(first.cloned());
                collected.members.extend(members);
                kept.push(shown(old));
            }
            // A program that finds it anew says that it is there.
            None if is_found(old, &collected.members) => {}
            None => {
                collected.set_aside.push(set_aside(old, &since.head));
                gone.push(shown(old));
            }
        }
    }
    collected.members.sort();
    collected.carried.sort();
    let head = short(&since.head);
    let note = |what: &str, issues: Vec<String>| {
        (!issues.is_empty())
            .then(|| format!("{what} from the review of `{head}`: {}", issues.join(", ")))
    };
    collected.notes.extend(note("carried over", kept));
    collected.notes.extend(note("no longer there", gone));
    collected
}

fn shown(old: &OpenIssue) -> String {
    format!("{} ({})", old.title, old.location)
}

fn is_found(old: &OpenIssue, members: &[Member]) -> bool {
    let title = normal_title(&old.title);
    members.iter().any(|member| {
        member.finding.file == old.location.file && normal_title(&member.finding.title) == title
    })
}

fn set_aside(old: &OpenIssue, head: &str) -> Dropped {
    Dropped {
        fate: Fate::Unsupported,
        reason: format!(
            "raised in the review of {}; what it quotes is no longer there",
            short(head)
        ),
        into: None,
        reviewer: names(old).swap_remove(0),
        member: Some(Member::new(names(old).swap_remove(0), finding(old, 0, Vec::new()))),
        raw: None,
    }
}

/// Those who found it, each with the same words. What agreement adds is in the confidence that was kept, and comes again.
fn members(old: &OpenIssue, mut finding: Finding) -> Vec<Member> {
    let names = names(old);
    if names.len() > 1 {
        finding.confidence = finding.confidence.lowered(AGREEMENT);
    }
    let member = |name: String| {
        let origin = if is_static(&name) { Origin::Code } else { Origin::Model };
        let rule = old.rule.clone().filter(|_| origin == Origin::Code);
        Member { origin, rule, ..Member::new(name, finding.clone()) }
    };
    names.into_iter().map(member).collect()
}

/// The names, each once; at least one.
fn names(old: &OpenIssue) -> Vec<String> {
    let is_name = |name: &&String| {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
        (1..=NAME_MAX).contains(&name.len()) && name.chars().all(is_plain)
    };
    let mut names: Vec<String> = old.reviewers.iter().filter(is_name).cloned().collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        names.push(NOBODY.to_owned());
    }
    names
}

/// What the check of it said then. A doubt about something mild has cost it confidence already.
fn checked(old: &OpenIssue, finding: &Finding) -> Option<Checked> {
    let result = match old.validation {
        Validation::Confirmed => Judged::Confirmed,
        Validation::Unsure if old.severity <= Severity::P1 => Judged::Unsure,
        Validation::Unsure | Validation::NotRun | Validation::ByCode | Validation::Degraded => {
            return None;
        }
    };
    let reason = "by the review that raised it".to_owned();
    Some(Checked { finding: finding.clone(), judgement: Judgement { result, reason } })
}

/// The finding that an issue was, moved by so many lines.
fn finding(old: &OpenIssue, moved: i64, evidence: Vec<Evidence>) -> Finding {
    let line = |line: u32| {
        let line = (i64::from(line) + moved).clamp(1, i64::from(u32::MAX));
        u32::try_from(line).ok().and_then(NonZeroU32::new)
    };
    let why = old.why.trim();
    Finding {
        title: old.title.clone(),
        severity: old.severity,
        category: old.category,
        file: old.location.file.clone(),
        line_start: line(old.location.line_start),
        line_end: line(old.location.line_end),
        side: Some(old.location.side),
        diff_line: None,
        confidence: old.confidence,
        evidence,
        why_it_matters: if why.is_empty() { NOT_KEPT } else { why }.to_owned(),
        suggested_fix: None,
        replacement: None,
        autofix_class: old.autofix_class,
        owner: old.owner,
        requires_verification: old.requires_verification,
        pre_existing: false,
    }
}

/// Lines of a file, by their numbers.
type Lines = Vec<(u32, String)>;

/// The code that quotes are held against, each file read once.
struct Texts<'a> {
    since: &'a Since,
    subject: &'a Subject,
    code: Code<'a>,
    read: BTreeMap<(Side, String), Lines>,
}

impl Texts<'_> {
    /// The finding that an issue was, if what it quotes still stands.
    fn standing(&mut self, old: &OpenIssue) -> Option<Finding> {
        let Some((own, others)) = old.evidence.split_first() else {
            let is_same = self.since.unchanged.contains(&old.location.file);
            return is_same.then(|| finding(old, 0, Vec::new()));
        };
        let (line, first) = self.located(own)?;
        let mut evidence = vec![first];
        evidence.extend(others.iter().filter_map(|quote| Some(self.located(quote)?.1)));
        Some(finding(old, i64::from(line) - i64::from(own.line), evidence))
    }

    /// Where a quote stands now, nearest to where it stood, as the whole lines that are there.
    fn located(&mut self, quote: &Quote) -> Option<(u32, Evidence)> {
        let is_same = self.since.unchanged.contains(&quote.file);
        let lines = self.lines(quote.side, &quote.file);
        let wanted: Vec<String> = quote.snippet.lines().map(folded).collect();
        let at = if is_same {
            // It stands, also if what is kept of it has something hidden.
            lines.iter().position(|(number, _)| *number == quote.line)?
        } else {
            let stands = |at: &usize| {
                let there = lines[*at..].iter().map(|(_, text)| folded(text));
                at + wanted.len() <= lines.len()
                    && wanted.iter().zip(there).all(|(wanted, there)| there.contains(wanted))
            };
            let far = |at: &usize| lines[*at].0.abs_diff(quote.line);
            (0..lines.len()).filter(stands).min_by_key(far)?
        };
        let line = lines[at].0;
        let snippet = quoted(&lines[at..], wanted.len()).unwrap_or_else(|| quote.snippet.clone());
        let evidence = Evidence {
            file: Some(quote.file.clone()),
            line: NonZeroU32::new(line),
            side: Some(quote.side),
            snippet,
        };
        Some((line, evidence))
    }

    /// The lines of a file after the change; of one before it, those that the change removes.
    fn lines(&mut self, side: Side, path: &str) -> &Lines {
        let (code, subject) = (&self.code, self.subject);
        self.read.entry((side, path.to_owned())).or_insert_with(|| match side {
            Side::New => {
                let text = code.text(Side::New, path).unwrap_or_default();
                (1..).zip(text.lines().map(str::to_owned)).collect()
            }
            Side::Old => removed(subject, path),
        })
    }
}

fn removed(subject: &Subject, path: &str) -> Lines {
    let files = subject.diff.files().iter().filter(|file| file.path.shown() == path);
    let lines = files.flat_map(|file| &file.hunks).flat_map(|hunk| subject.diff.lines(hunk));
    let removed = lines.filter(|line| line.kind == LineKind::Removed);
    removed.map(|line| (line.old, String::from_utf8_lossy(line.text()).into_owned())).collect()
}

/// So many lines, and one more if they prove too little; none if that is too long.
fn quoted(lines: &[(u32, String)], count: usize) -> Option<String> {
    let text = |count: usize| {
        let lines: Vec<&str> = lines.iter().take(count).map(|(_, text)| text.as_str()).collect();
        lines.join("\n")
    };
    let visible = |text: &str| text.chars().filter(|char| !char.is_whitespace()).count();
    let count = count.max(1);
    let snippet = match text(count) {
        short if count == 1 && visible(&short) < VISIBLE_MIN => text(2),
        enough => enough,
    };
    (snippet.len() <= SNIPPET_MAX).then_some(snippet)
}

fn folded(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
