//! From findings to issues: the order of the steps, and what becomes of every finding.
//!
//! Invariants: each finding leaves with exactly one fate. Issues keep the findings they are made of, and
//! merging always starts from those, so merging twice is merging once and the order of the input is of
//! no consequence.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::{CandidatePair, clusters};
use crate::evidence::Sources;
use crate::finding::{Confidence, Member, Severity, Side};
use crate::issue::{issue, near_keys, tell_twins_apart};
use crate::place::{Placement, Placer};
use crate::report::{Dropped, Fate, Issue, Queue, Queues, Report, Validation};
use crate::soften::{QuietPlace, Untested, weak};
use crate::verdict::{Asked, is_actionable, verdict, verdict_with_hidden};
use crate::words::normal_posted_title;

/// What an issue needs to be shown.
const GATE: Confidence = Confidence::thousandths(600);
/// What a P0 needs: an uncertain disaster is worth a look.
const GATE_P0: Confidence = Confidence::thousandths(500);
/// What an undecided check costs an issue below P1.
const UNSURE_COST: Confidence = Confidence::thousandths(250);
/// How far an issue may have moved from where it was dismissed or suppressed.
const REMEMBERED_REACH: u32 = 3;

/// Findings on their way: issues, what was there before, everything else with its fate, and the pairs that
/// someone should look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    /// What is wrong with the change.
    pub issues: Vec<Issue>,
    /// What was wrong before.
    pub pre_existing: Vec<Issue>,
    /// Everything else.
    pub dropped: Vec<Dropped>,
    /// Issues that may be one.
    pub candidate_pairs: Vec<CandidatePair>,
    /// How many more such pairs there are than anyone should look at.
    #[serde(default)]
    pub unlisted_pairs: usize,
    /// What became of softened findings about tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub testing_gaps: Vec<String>,
    /// What became of the other softened findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residual_risks: Vec<String>,
}

/// What was decided about issues before this review, by `dedupe_key`, with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    /// A person said no.
    pub dismissed: BTreeMap<String, String>,
    /// A baseline, an ignore comment or a setting silences it.
    pub suppressed: BTreeMap<String, String>,
    /// What dismissed issues were about whose lines have another text by now, and with it another key.
    pub rewritten: Vec<About>,
}

/// What an issue is about, whatever its line says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// What named it when somebody said no.
    pub dedupe_key: String,
    /// Its file.
    pub file: String,
    /// The side of its line; none if that is not known.
    pub side: Option<Side>,
    /// Its title, as it was posted or before.
    pub title: String,
}

impl About {
    /// Whether an issue is about the same.
    pub fn fits(&self, issue: &Issue) -> bool {
        self.file == issue.location.file
            && self.side.is_none_or(|side| side == issue.location.side)
            && normal_posted_title(&self.title) == normal_posted_title(&issue.title)
    }
}

/// What a check said of one issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// What it said.
    pub result: Judged,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// The four things a check can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// It is real and new.
    Confirmed,
    /// It is not.
    Refuted,
    /// It could not be decided.
    Unsure,
    /// The check itself failed.
    Failed,
}

/// Steps 1 to 7: shape, evidence, tier, clusters, agreement, route, softening and gate.
///
/// `same` holds the ids of candidate pairs that were found to be one issue.
pub fn consolidate(
    members: Vec<Member>,
    sources: &Sources,
    remembered: &Remembered,
    same: &BTreeSet<String>,
) -> Merged {
    let mut placer = Placer::new(sources);
    let mut merged = Merged::default();
    let mut placed = Vec::with_capacity(members.len());
    for member in members {
        match placer.place(member) {
            Placement::At(finding) => placed.push(finding),
            Placement::Nowhere(member, why) => {
                merged.drop_member(member, why.fate, &why.reason, None);
            }
        }
    }
    let grouped = clusters(placed, same);
    merged.candidate_pairs = grouped.pairs;
    merged.unlisted_pairs = grouped.unlisted_pairs;
    let issues = grouped.clusters.into_iter().map(|cluster| issue(cluster, &mut placer)).collect();
    let mut issues = merged.without_remembered(issues, remembered, &mut placer);
    issues.sort_by(by_urgency);
    merged.sort_out(issues);
    sort_dropped(&mut merged.dropped);
    // Only now: an issue that is not shown must not take a key from one that is.
    tell_twins_apart(merged.issues.iter_mut().chain(&mut merged.pre_existing));
    merged
}

/// Steps 8 to 10: validation, order and numbers. `judgements` are by `dedupe_key`; an issue that is not among
/// them was not asked about. What a program found is not asked about, and what was there before neither.
pub fn conclude(mut merged: Merged, judgements: &BTreeMap<String, Judgement>) -> Merged {
    let issues = std::mem::take(&mut merged.issues);
    let mut kept = Vec::with_capacity(issues.len());
    for mut issue in issues {
        let judgement = judgements.get(&issue.dedupe_key);
        match judgement.and_then(|judgement| judged(&mut issue, judgement)) {
            Some((fate, reason)) => merged.drop_issue(issue, fate, &reason),
            None => kept.push(issue),
        }
    }
    // A check may have cost one of them some of its confidence.
    kept.sort_by(by_urgency);
    merged.issues = kept;
    sort_dropped(&mut merged.dropped);
    // One row of numbers, so that `#3` means one thing in every output.
    for (number, issue) in (1..).zip(merged.issues.iter_mut().chain(&mut merged.pre_existing)) {
        issue.number = number;
    }
    merged
}

/// Puts merged findings into a report: verdict, then the cap, then what was merged into what.
pub fn into_report(mut report: Report, merged: Merged, asked: Asked, cap: usize) -> Report {
    report.issues = merged.issues;
    report.pre_existing = merged.pre_existing;
    report.candidate_pairs = merged.candidate_pairs;
    report.suppressed.extend(merged.dropped);
    add_each_once(&mut report.testing_gaps, merged.testing_gaps);
    add_each_once(&mut report.residual_risks, merged.residual_risks);
    // Before the cap: a verdict must not turn better because the list is cut.
    (report.verdict, report.verdict_reason) = verdict(&report, asked);
    let mut rest = Merged::default();
    let over_cap = report.issues.split_off(report.issues.len().min(cap));
    if !over_cap.is_empty() {
        let over = over_cap.len();
        let issues = if over == 1 { "issue is" } else { "issues are" };
        report.warnings.push(format!("{over} more {issues} beyond the limit of {cap}"));
    }
    for issue in over_cap {
        let reason = format!("number {} of at most {cap}", issue.number);
        rest.drop_issue(issue, Fate::OverCap, &reason);
    }
    for issue in report.issues.iter().chain(&report.pre_existing) {
        for member in issue.members.iter().skip(1) {
            let reason = format!("says the same as `{}`", issue.title);
            rest.drop_member(member.clone(), Fate::Merged, &reason, Some(&issue.dedupe_key));
        }
    }
    report.suppressed.extend(rest.dropped);
    sort_dropped(&mut report.suppressed);
    report.queues = queues(report.issues.iter());
    report.fix_order = fix_order(&report);
    report
}

/// Brings a report up to date after issues of it were fixed, or more of them were found: verdict, queues and order.
pub fn settle(report: &mut Report, asked: Asked) {
    (report.verdict, report.verdict_reason) = verdict_with_hidden(report, asked);
    let open = report.issues.iter().filter(|issue| !report.is_fixed(issue.number));
    report.queues = queues(open);
    report.fix_order = fix_order(report);
}

impl Merged {
    /// The findings that all this is made of, as they were returned; and what could never be read.
    pub fn flatten(self) -> (Vec<Member>, Vec<Dropped>) {
        let issues = self.issues.into_iter().chain(self.pre_existing);
        let mut members: Vec<Member> = issues.flat_map(|issue| issue.members).collect();
        let (read, unread): (Vec<_>, Vec<_>) =
            self.dropped.into_iter().partition(|dropped| dropped.member.is_some());
        members.extend(read.into_iter().filter_map(|dropped| dropped.member));
        (members, unread)
    }

    /// Drops what was decided about earlier; returns the rest.
    ///
    /// A decision is about one issue. It is claimed by the issue on that very line, or else by one next to it,
    /// since lines move. A P0 is only ever silenced by name.
    fn without_remembered(
        &mut self,
        issues: Vec<Issue>,
        remembered: &Remembered,
        placer: &mut Placer<'_>,
    ) -> Vec<Issue> {
        let mut open = remembered.clone();
        if open.is_empty() {
            return issues;
        }
        let mut rest = Vec::with_capacity(issues.len());
        for issue in issues {
            match open.claim(std::slice::from_ref(&issue.dedupe_key)) {
                Some((fate, reason)) => self.drop_issue(issue, fate, &reason),
                None => rest.push(issue),
            }
        }
        let (p0, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|issue| issue.severity == Severity::P0);
        let mut rest = p0;
        for issue in others {
            let mut keys = near_keys(&issue, REMEMBERED_REACH, placer);
            let rewritten = remembered.rewritten.iter().filter(|about| about.fits(&issue));
            keys.extend(rewritten.map(|about| about.dedupe_key.clone()));
            match open.claim(&keys) {
                Some((fate, reason)) => self.drop_issue(issue, fate, &reason),
                None => rest.push(issue),
            }
        }
        rest
    }

    /// Decides which issues stay. They come in the order of a report, and are put into it.
    fn sort_out(&mut self, issues: Vec<Issue>) {
        let mut untested = Untested::default();
        for issue in issues {
            // Before the gate: what is too weak to be shown as an issue may still be worth a line.
            if let Some((place, reason)) = weak(&issue) {
                self.soften(issue, place, &reason);
            } else if is_below_gate(&issue) {
                let reason = format!("confidence {}", issue.confidence.value());
                self.drop_issue(issue, Fate::BelowGate, &reason);
            } else if issue.pre_existing {
                self.pre_existing.push(issue);
            } else if let Some((place, reason)) = untested.again(&issue) {
                self.soften(issue, place, &reason);
            } else {
                self.issues.push(issue);
            }
        }
    }

    /// Makes a line of an issue.
    fn soften(&mut self, issue: Issue, place: QuietPlace, reason: &str) {
        let line = format!("{}: {}", issue.location, issue.title);
        let lines = match place {
            QuietPlace::TestingGaps => &mut self.testing_gaps,
            QuietPlace::ResidualRisks => &mut self.residual_risks,
        };
        lines.push(line);
        self.drop_issue(issue, Fate::Softened, reason);
    }

    fn drop_member(&mut self, member: Member, fate: Fate, reason: &str, into: Option<&str>) {
        self.dropped.push(Dropped {
            fate,
            reason: reason.to_owned(),
            into: into.map(str::to_owned),
            reviewer: member.reviewer.clone(),
            member: Some(member),
            raw: None,
        });
    }

    /// Drops an issue: each of its findings meets the same fate.
    fn drop_issue(&mut self, issue: Issue, fate: Fate, reason: &str) {
        for member in issue.members {
            self.drop_member(member, fate, reason, None);
        }
    }
}

/// The order of a report. Two issues that are equal in all of it are one issue.
fn by_urgency(a: &Issue, b: &Issue) -> Ordering {
    let key = |issue: &Issue| (issue.severity, Reverse(issue.confidence));
    key(a)
        .cmp(&key(b))
        .then_with(|| a.location.file.cmp(&b.location.file))
        .then_with(|| a.location.line_start.cmp(&b.location.line_start))
        .then_with(|| a.location.cmp(&b.location))
        .then_with(|| a.members.cmp(&b.members))
}

impl Remembered {
    fn is_empty(&self) -> bool {
        self.dismissed.is_empty() && self.suppressed.is_empty()
    }

    /// Takes the decision that one of these keys has, if any.
    fn claim(&mut self, keys: &[String]) -> Option<(Fate, String)> {
        keys.iter().find_map(|key| {
            let dismissed = self.dismissed.remove(key).map(|reason| (Fate::Dismissed, reason));
            dismissed
                .or_else(|| self.suppressed.remove(key).map(|reason| (Fate::Suppressed, reason)))
        })
    }
}

/// Puts lines behind those that are there, without those that are there already.
fn add_each_once(lines: &mut Vec<String>, more: Vec<String>) {
    let mut seen: BTreeSet<String> = lines.iter().cloned().collect();
    lines.extend(more.into_iter().filter(|line| seen.insert(line.clone())));
}

fn sort_dropped(dropped: &mut [Dropped]) {
    dropped.sort_by(|a, b| {
        (a.fate, &a.reviewer, &a.member, &a.reason).cmp(&(
            b.fate,
            &b.reviewer,
            &b.member,
            &b.reason,
        ))
    });
}

/// The open issues that keep the change from being merged, most urgent first.
fn fix_order(report: &Report) -> Vec<u32> {
    let open = report.issues.iter().filter(|issue| !report.is_fixed(issue.number));
    open.filter(|issue| is_actionable(issue)).map(|issue| issue.number).collect()
}

fn queues<'a>(issues: impl Iterator<Item = &'a Issue> + Clone) -> Queues {
    let of = |queue| issues.clone().filter(|i| i.queue == queue).map(|i| i.number).collect();
    Queues { fixer: of(Queue::Fixer), residual: of(Queue::Residual), report: of(Queue::Report) }
}

fn is_below_gate(issue: &Issue) -> bool {
    let gate = if issue.severity == Severity::P0 { GATE_P0 } else { GATE };
    issue.confidence < gate
}

/// Takes in what the check said; returns the fate if the issue does not survive it.
fn judged(issue: &mut Issue, judgement: &Judgement) -> Option<(Fate, String)> {
    // A model has no say about what a program has found: it may be the one the program warns about.
    if issue.validation == Validation::ByCode {
        return None;
    }
    match judgement.result {
        Judged::Refuted => return Some((Fate::Refuted, judgement.reason.clone())),
        Judged::Confirmed => issue.validation = Validation::Confirmed,
        // Never lose a blocker because the checker crashed.
        Judged::Failed => issue.validation = Validation::Degraded,
        Judged::Unsure => {
            issue.validation = Validation::Unsure;
            if issue.severity > Severity::P1 {
                issue.confidence = issue.confidence.lowered(UNSURE_COST);
            }
        }
    }
    is_below_gate(issue).then(|| {
        let reason = format!("confidence {} after an undecided check", issue.confidence.value());
        (Fate::BelowGate, reason)
    })
}

#[cfg(test)]
mod tests;
