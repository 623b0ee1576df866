//! Decides which issues are published after the editor (a model that groups and rates findings) and
//! an independent validation run have judged them (steps 7 and 8 of merging, see
//! `docs/findings.md`).
//!
//! The editor and validation each give an issue a severity. Validation that does not confirm a
//! finding gives it at most the severity that its reviewer claimed. If validation gives none, a P0
//! or P1 that the reviewers claimed takes its place. Invariant: if the worse of these two severities,
//! capped as in `grade.rs`, is P0 or P1, and validation has not refuted the issue, it is published
//! or stays open. So no answer of the editor, no threshold and no limit can make the verdict better
//! than the open P0 and P1 allow.
//!
//! If the editor does not publish a group, its findings at different places may be different
//! defects. Each place is then a group of its own, see `split_rejected`. If the editor separates
//! copies of one finding, their groups are joined, see `join_copies`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::is_near;
use crate::evidence::Sources;
use crate::finding::{AutofixClass, Confidence, Member, Severity};
use crate::grade::{downgrade_reason, members_severity_cap};
use crate::issue::{places_sentence, regrade};
use crate::merge::{Judgement, JudgementResult, MergeResult, VALIDATION, number_issues};
use crate::place::{Location, Placer};
use crate::report::{DropCause, Fate, Issue, Validation};
use crate::shape::shorten_title;
use crate::words::{collapse_whitespace, normalise_title};

/// The editor's decision about findings with the same root cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditedGroup {
    /// The findings. The first one provides place and evidence.
    pub members: Vec<Member>,
    /// What the editor thinks of them.
    pub judgement: EditorJudgement,
    /// Severity by the editor.
    pub severity: Severity,
    /// Title by the editor. None keeps the title of the first finding.
    pub title: Option<String>,
    /// Text by the editor. None keeps the text of the first finding.
    pub text: Option<String>,
    /// Whether the editor's answer omits these findings. Then their confidence takes the place of a
    /// probability.
    #[serde(default)]
    pub is_forgotten: bool,
    /// Test by the editor that may prove the defect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<ProposedTest>,
}

impl EditedGroup {
    /// Whether the editor gives the group at least the probability of the threshold.
    pub fn is_probable(&self, rules: PublishRules) -> bool {
        matches!(
            self.judgement,
            EditorJudgement::Probable(probability) if probability >= rules.threshold
        )
    }

    /// A group of some of the findings. The editor's words are about the first finding, so a group
    /// that another finding leads keeps the words of its reviewers.
    #[must_use]
    pub fn with_members(&self, members: Vec<Member>) -> Self {
        match members.first() == self.members.first() {
            true => Self { members, ..self.clone() },
            false => Self { members, title: None, text: None, test: None, ..self.clone() },
        }
    }
}

/// A new test file that passes before the change and fails after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ProposedTest {
    /// Path of the new file, from the root of the repository.
    pub path: String,
    /// The whole content of the file.
    pub content: String,
}

/// What the editor thinks of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditorJudgement {
    /// Probability that the maintainers agree.
    Probable(Confidence),
    /// True, but too small to publish.
    Minor,
    /// Wrong, for this reason.
    Refuted(String),
}

/// Which issues are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishRules {
    /// Minimum probability.
    pub threshold: Confidence,
    /// Minimum severity. Less severe issues are minor.
    pub min_severity: Severity,
}

/// Why a true advisory finding is not published.
const ADVISORY_NOT_PUBLISHED: &str = "advisory findings are shown only with `--min-severity P3`";

/// What happens to an issue.
#[derive(Debug, PartialEq, Eq)]
enum Publication {
    Published,
    /// Published against the editor or the threshold: a reviewer claims a P0 or P1 and validation
    /// confirms the claim, or it is a P0.
    Rescued,
    /// Not published, but it counts for the verdict.
    Open(Fate, String, Option<DropCause>),
    Dropped(Fate, String, Option<DropCause>),
}

/// Splits each group that the editor calls minor or refutes by place: findings whose lines overlap
/// or start near each other stay together. Thus the findings that the rules merge do.
pub fn split_rejected(groups: &[EditedGroup], sources: &Sources) -> Vec<EditedGroup> {
    let mut placer = Placer::new(sources);
    let mut parts = Vec::with_capacity(groups.len());
    for group in groups {
        match group.judgement {
            EditorJudgement::Probable(_) => parts.push(group.clone()),
            EditorJudgement::Minor | EditorJudgement::Refuted(_) => {
                let places = split_by_place(&group.members, &mut placer);
                parts.extend(places.into_iter().map(|members| group.with_members(members)));
            }
        }
    }
    parts
}

/// Findings by place, in the order of the first finding of each place.
fn split_by_place(members: &[Member], placer: &mut Placer<'_>) -> Vec<Vec<Member>> {
    let locate = |member: &Member| placer.try_place(member).ok().map(|(location, ..)| location);
    let locations: Vec<Option<Location>> = members.iter().map(locate).collect();
    let places = joined_indexes(&locations, |one, other| {
        let both = one.as_ref().zip(other.as_ref());
        both.is_some_and(|(one, other)| one.overlaps(other) || is_near(one, other))
    });
    let members_at = |place: Vec<usize>| -> Vec<Member> {
        place.into_iter().map(|index| members[index].clone()).collect()
    };
    places.into_iter().map(members_at).collect()
}

/// Joins groups that have copies of a finding. If several reviewers report one defect, it must not
/// count several times, even if the editor gives each report a group of its own.
///
/// Two findings are copies if they have a line in common and the same title, or if they replace the
/// same lines with the same text. The rules of `cluster.rs` merge more, such as findings of related
/// categories that quote one line. These may be different defects, so the editor may separate them.
pub fn join_copies(groups: &[EditedGroup], sources: &Sources) -> Vec<EditedGroup> {
    let mut placer = Placer::new(sources);
    let mut claims: Vec<Vec<LocatedClaim>> = Vec::with_capacity(groups.len());
    for EditedGroup { members, .. } in groups {
        let located = members.iter().filter_map(|member| LocatedClaim::new(member, &mut placer));
        claims.push(located.collect());
    }
    let joined = joined_indexes(&claims, |one, other| {
        one.iter().any(|claim| other.iter().any(|copy| claim.is_copy_of(copy)))
    });
    let groups_at = |indexes: Vec<usize>| -> Vec<EditedGroup> {
        indexes.into_iter().map(|index| groups[index].clone()).collect()
    };
    joined.into_iter().filter_map(|indexes| join_groups(groups_at(indexes))).collect()
}

/// What makes two findings copies.
struct LocatedClaim {
    location: Location,
    title: String,
    replacement: Option<String>,
}

impl LocatedClaim {
    fn new(member: &Member, placer: &mut Placer<'_>) -> Option<Self> {
        let (location, ..) = placer.try_place(member).ok()?;
        let replacement = member.finding.replacement.clone();
        Some(Self {
            location,
            title: normalise_title(&member.finding.title),
            // Models send empty text for fields that they do not fill.
            replacement: replacement.filter(|text| !text.trim().is_empty()),
        })
    }

    fn is_copy_of(&self, other: &Self) -> bool {
        // A title without letters or digits normalises to an empty string.
        let same_title = !self.title.is_empty() && self.title == other.title;
        let same_edit = self.location == other.location
            && self.replacement.is_some()
            && self.replacement == other.replacement;
        self.location.overlaps(&other.location) && (same_title || same_edit)
    }
}

/// One group of several: the best judgement of the editor, with its words, and the worst severity.
fn join_groups(mut groups: Vec<EditedGroup>) -> Option<EditedGroup> {
    let rank = |group: &EditedGroup| {
        let (verdict, probability) = match group.judgement {
            EditorJudgement::Probable(probability) => (2, probability),
            EditorJudgement::Minor => (1, Confidence::ZERO),
            EditorJudgement::Refuted(_) => (0, Confidence::ZERO),
        };
        (!group.is_forgotten, verdict, probability)
    };
    groups.sort_by_key(|group| Reverse(rank(group)));
    groups.into_iter().reduce(|mut best, group| {
        best.members.extend(group.members);
        best.severity = best.severity.min(group.severity);
        best.test = best.test.or(group.test);
        best
    })
}

/// The indexes of the items in sets. Items are in one set if `are_joined` holds for them, or for
/// each with a further item of the set.
fn joined_indexes<T>(items: &[T], are_joined: impl Fn(&T, &T) -> bool) -> Vec<Vec<usize>> {
    // The set of an item is the index of its first item.
    let mut sets: Vec<usize> = (0..items.len()).collect();
    for (later, item) in items.iter().enumerate() {
        for (earlier, known) in items.iter().enumerate().take(later) {
            let (one, other) = (sets[earlier], sets[later]);
            if one != other && are_joined(known, item) {
                let (first, second) = (one.min(other), one.max(other));
                sets.iter_mut().filter(|set| **set == second).for_each(|set| *set = first);
            }
        }
    }
    let mut indexes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, set) in sets.into_iter().enumerate() {
        indexes.entry(set).or_default().push(index);
    }
    indexes.into_values().collect()
}

/// Applies the decisions of the editor and the judgements of validation, then numbers the issues.
///
/// `merged` has the editor's groups as issues. To other issues, such as those of static checks,
/// only judgements apply. `judgements` are the results of validating single findings.
pub fn apply_edit(
    mut merged: MergeResult,
    groups: &[EditedGroup],
    judgements: &BTreeMap<Member, Judgement>,
    rules: PublishRules,
) -> MergeResult {
    for mut issue in std::mem::take(&mut merged.issues) {
        let group = issue
            .members
            .first()
            .and_then(|lead| groups.iter().find(|group| group.members.contains(lead)))
            .filter(|_| issue.takes_second_look());
        let validation = combine_judgements(&issue.members, judgements);
        let Some(group) = group else {
            // Without a judgement, as for an issue from an earlier review, the issue keeps its
            // validation.
            merged.add_judged_issue(issue, validation.as_ref());
            continue;
        };
        let claimed_severity = issue.severity;
        edit_issue(&mut issue, group, validation.as_ref());
        let known_count = merged.dropped.len();
        let mut cause_of_drop = None;
        match decide(&issue, claimed_severity, group, validation.as_ref(), rules) {
            Publication::Published => merged.issues.push(issue),
            Publication::Rescued => {
                issue.probability = validation.and_then(|judgement| judgement.probability);
                merged.issues.push(issue);
            }
            Publication::Open(fate, reason, cause) => {
                cause_of_drop = cause;
                merged.hide_open_issue(issue, fate, &reason);
            }
            Publication::Dropped(fate, reason, cause) => {
                cause_of_drop = cause;
                merged.drop_issue(issue, fate, &reason);
            }
        }
        for dropped in &mut merged.dropped[known_count..] {
            dropped.cause = cause_of_drop;
        }
    }
    number_issues(merged)
}

/// Sets severity, probability, text and validation of an issue.
fn edit_issue(issue: &mut Issue, group: &EditedGroup, validation: Option<&Judgement>) {
    let claimed_severity = Some(issue.severity).filter(|severity| *severity <= Severity::P1);
    let validated_severity = validation.and_then(|judgement| judgement.severity);
    let other_severity = validated_severity.or(claimed_severity);
    let severity = other_severity.map_or(group.severity, |other| other.min(group.severity));
    let (judge, reason) = match validation {
        Some(judgement) if judgement.severity == Some(severity) && severity < group.severity => {
            (VALIDATION, judgement.reason.as_str())
        }
        Some(_) | None => ("editor", ""),
    };
    regrade(issue, severity.max(members_severity_cap(&issue.members)), judge, reason);
    let editor_probability = match group.judgement {
        EditorJudgement::Probable(probability) => probability,
        EditorJudgement::Minor | EditorJudgement::Refuted(_) => Confidence::ZERO,
    };
    let other_probability = validation.and_then(|judgement| judgement.probability);
    issue.probability = match (group.is_forgotten, other_probability) {
        // The confidence of a reviewer is not a probability of the editor.
        (true, other) => other,
        (false, Some(other)) => Some(other.min(editor_probability)),
        (false, None) => Some(editor_probability),
    };
    if matches!(group.judgement, EditorJudgement::Probable(_)) {
        set_text(issue, group);
    }
    issue.validation =
        validation.map_or(Validation::NotRun, |judgement| judgement.result.validation());
}

/// Uses the title and the text of the editor, if there are any, and names the other places.
fn set_text(issue: &mut Issue, group: &EditedGroup) {
    if let Some(title) = group.title.as_deref().filter(|title| !title.trim().is_empty()) {
        issue.title = shorten_title(&collapse_whitespace(title));
    }
    if let Some(text) = group.text.as_deref().filter(|text| !text.trim().is_empty()) {
        issue.why_it_matters = text.trim().to_owned();
    }
    issue.why_it_matters.push_str(&places_sentence(&issue.other_places));
    issue.description.clone_from(&issue.why_it_matters);
}

/// Decides about an issue whose severity and probability are set. `claimed_severity` is the one by
/// its reviewers.
fn decide(
    issue: &Issue,
    claimed_severity: Severity,
    group: &EditedGroup,
    validation: Option<&Judgement>,
    rules: PublishRules,
) -> Publication {
    let refuted = validation.filter(|judgement| judgement.result == JudgementResult::Refuted);
    if let Some(judgement) = refuted {
        return Publication::Dropped(Fate::Refuted, judgement.reason.clone(), None);
    }
    let forgotten = match group.judgement {
        EditorJudgement::Probable(confidence) if group.is_forgotten => Some(confidence),
        EditorJudgement::Probable(_) | EditorJudgement::Minor | EditorJudgement::Refuted(_) => None,
    };
    let known = [issue.probability, forgotten].into_iter().flatten().min();
    let probability = known.unwrap_or(issue.confidence);
    let is_probable =
        matches!(group.judgement, EditorJudgement::Probable(_)) && probability >= rules.threshold;
    let is_urgent = issue.severity <= Severity::P1;
    // An advisory issue asks for no work, so it ranks as P3.
    let is_advisory = issue.autofix_class == AutofixClass::Advisory && !is_urgent;
    let rank = if is_advisory { Severity::P3 } else { issue.severity };
    let is_small = rank > rules.min_severity;
    if is_probable && !is_small {
        return Publication::Published;
    }
    // If the editor does not refute a claim and validation confirms it as P2, both agree that it is
    // not urgent.
    let is_refuted = matches!(group.judgement, EditorJudgement::Refuted(_));
    if is_urgent || is_refuted && claimed_severity <= Severity::P1 && !is_small {
        let is_confirmed = validation.is_some_and(|judgement| {
            judgement.result == JudgementResult::Confirmed
                && judgement.probability.is_none_or(|probability| probability >= rules.threshold)
        });
        if is_confirmed || issue.severity == Severity::P0 {
            return Publication::Rescued;
        }
    }
    let (fate, reason) = match &group.judgement {
        EditorJudgement::Refuted(reason) if !is_urgent => (Fate::Refuted, reason.clone()),
        EditorJudgement::Refuted(reason) => {
            (Fate::BelowGate, format!("the model that selects issues refutes it: {reason}"))
        }
        EditorJudgement::Minor => {
            (Fate::Minor, "the model that selects issues calls it minor".to_owned())
        }
        EditorJudgement::Probable(_) if is_probable && is_advisory => {
            (Fate::Minor, ADVISORY_NOT_PUBLISHED.to_owned())
        }
        EditorJudgement::Probable(_) if is_probable => {
            (Fate::Minor, format!("{} issues are hidden", issue.severity))
        }
        EditorJudgement::Probable(_) if group.is_forgotten => (
            Fate::BelowGate,
            format!("confidence {probability}, and the model that selects issues did not rate it"),
        ),
        EditorJudgement::Probable(_) => {
            (Fate::BelowGate, format!("the probability that maintainers agree is {probability}"))
        }
    };
    let members: Vec<&Member> = issue.members.iter().collect();
    let reason = match downgrade_reason(&members, issue.severity) {
        Some(cap) => format!("{reason}; lowered to {}: {cap}", issue.severity),
        None => reason,
    };
    let cause = drop_cause(group, fate, is_advisory);
    match is_urgent {
        true => Publication::Open(fate, reason, cause),
        false => Publication::Dropped(fate, reason, cause),
    }
}

/// The cause of a fate that the editor's judgement on a group decided.
fn drop_cause(group: &EditedGroup, fate: Fate, is_advisory: bool) -> Option<DropCause> {
    match (&group.judgement, fate) {
        (EditorJudgement::Probable(_), Fate::Minor) => is_advisory.then_some(DropCause::Advisory),
        (EditorJudgement::Probable(_), Fate::BelowGate) => {
            (!group.is_forgotten).then_some(DropCause::Improbable)
        }
        (EditorJudgement::Refuted(_), Fate::BelowGate) => Some(DropCause::Improbable),
        (
            EditorJudgement::Probable(_) | EditorJudgement::Minor | EditorJudgement::Refuted(_),
            _,
        ) => None,
    }
}

/// The judgement on a group of findings: confirmed if one is, else unsure if one is, else failed if
/// one is, and refuted only if all are. `None` if no judgement decides.
///
/// Only a judgement that confirms a finding makes it more severe than its reviewer did.
fn combine_judgements(
    members: &[Member],
    judgements: &BTreeMap<Member, Judgement>,
) -> Option<Judgement> {
    let judgement_on = |member: &Member| {
        let judgement = judgements.get(member)?;
        let severity = judgement.severity.map(|severity| match judgement.result {
            JudgementResult::Confirmed => severity,
            JudgementResult::Refuted
            | JudgementResult::Unsure
            | JudgementResult::NoVerdict
            | JudgementResult::Failed => severity.max(member.finding.severity),
        });
        Some(Judgement { severity, ..judgement.clone() })
    };
    let found: Vec<Judgement> = members.iter().filter_map(judgement_on).collect();
    let is_complete = found.len() == members.len();
    let first = |result: JudgementResult| found.iter().find(|judgement| judgement.result == result);
    let upheld = || found.iter().filter(|judgement| judgement.result != JudgementResult::Refuted);
    let leading = first(JudgementResult::Confirmed)
        .or_else(|| first(JudgementResult::Unsure))
        .or_else(|| first(JudgementResult::NoVerdict))
        .or_else(|| first(JudgementResult::Failed))
        .or_else(|| first(JudgementResult::Refuted).filter(|_| is_complete))?;
    if leading.result == JudgementResult::Refuted {
        return Some(leading.clone());
    }
    Some(Judgement {
        probability: upheld().filter_map(|judgement| judgement.probability).max(),
        severity: upheld()
            .map(|judgement| judgement.severity)
            .collect::<Option<Vec<Severity>>>()
            .and_then(|severities| severities.into_iter().min())
            .filter(|_| is_complete),
        ..leading.clone()
    })
}

#[cfg(test)]
mod tests;
