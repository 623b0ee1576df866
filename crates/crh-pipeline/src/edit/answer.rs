//! Parses the editor's answer. If an id is missing, unknown or repeated, the answer goes back to
//! the model once. In the last answer, a missing finding forms a group of its own.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::tools::session::{EditVerdict, EditedIssue, ReportEdit, parse_arguments};
use crh_review::finding::Member;
use crh_review::{EditedGroup, EditorJudgement};

pub(super) fn finding_id(index: usize) -> String {
    format!("F{}", index + 1)
}

/// A parser of the editor's answers about these findings. `can_ask_again` is false if no call is
/// left for a second answer.
pub(super) fn parse_edit(
    members: Vec<Member>,
    can_ask_again: bool,
) -> impl Fn(Value) -> Result<Vec<EditedGroup>, String> + Send + Sync + 'static {
    let is_last_answer = AtomicBool::new(!can_ask_again);
    move |value| {
        let answer: ReportEdit = parse_arguments(value)?;
        let problems = id_problems(&answer, members.len());
        if !problems.is_empty() && !is_last_answer.swap(true, Ordering::Relaxed) {
            return Err(format!("{}; report all groups again", problems.join("; ")));
        }
        Ok(groups(answer, &members))
    }
}

/// What is wrong with the ids of an answer.
fn id_problems(answer: &ReportEdit, count: usize) -> Vec<String> {
    let mut missing: BTreeSet<usize> = (0..count).collect();
    let mut problems = Vec::new();
    for id in answer.groups.iter().flat_map(|group| &group.findings) {
        match index_of(id, count) {
            None => problems.push(format!("there is no finding `{id}`")),
            Some(index) if !missing.remove(&index) => {
                problems.push(format!("`{id}` is listed more than once"));
            }
            Some(_) => {}
        }
    }
    if !missing.is_empty() {
        let ids: Vec<String> = missing.into_iter().map(finding_id).collect();
        problems.push(format!("these findings are in no group: {}", ids.join(", ")));
    }
    problems
}

fn index_of(id: &str, count: usize) -> Option<usize> {
    (0..count).find(|index| finding_id(*index).eq_ignore_ascii_case(id.trim()))
}

/// The groups with their findings. If an id occurs in several groups, the first one counts.
fn groups(answer: ReportEdit, members: &[Member]) -> Vec<EditedGroup> {
    let mut unassigned: BTreeSet<usize> = (0..members.len()).collect();
    let mut groups = Vec::new();
    for group in answer.groups {
        let indices = group.findings.iter().filter_map(|id| index_of(id, members.len()));
        let group_members: Vec<Member> = indices
            .filter(|index| unassigned.remove(index))
            .filter_map(|index| members.get(index).cloned())
            .collect();
        if !group_members.is_empty() {
            groups.push(edited_group(group, group_members));
        }
    }
    let unassigned = unassigned.into_iter().filter_map(|index| members.get(index));
    groups.extend(unassigned.map(unedited_group));
    groups
}

/// Fits groups to `members`: removes other findings from groups, and adds a group for each member
/// that is in none.
pub(super) fn complete_groups(groups: Vec<EditedGroup>, members: &[Member]) -> Vec<EditedGroup> {
    let mut unassigned: Vec<&Member> = members.iter().collect();
    let mut complete = Vec::new();
    for mut group in groups {
        group.members.retain(|member| {
            let index = unassigned.iter().position(|known| *known == member);
            index.is_some_and(|index| {
                unassigned.remove(index);
                true
            })
        });
        if !group.members.is_empty() {
            complete.push(group);
        }
    }
    complete.extend(unassigned.into_iter().map(unedited_group));
    complete
}

fn edited_group(issue: EditedIssue, members: Vec<Member>) -> EditedGroup {
    let EditedIssue { verdict, probability, severity, title, text, reason, test, .. } = issue;
    let judgement = match verdict {
        EditVerdict::Publish => EditorJudgement::Probable(probability),
        EditVerdict::Minor => EditorJudgement::Minor,
        EditVerdict::Refuted => EditorJudgement::Refuted(reason.unwrap_or_default()),
    };
    EditedGroup { members, judgement, severity, title, text, is_forgotten: false, test }
}

/// A group for a finding that the editor forgot. The confidence of its reviewer counts.
fn unedited_group(member: &Member) -> EditedGroup {
    EditedGroup {
        judgement: EditorJudgement::Probable(member.finding.confidence),
        severity: member.finding.severity,
        title: None,
        text: None,
        is_forgotten: true,
        test: None,
        members: vec![member.clone()],
    }
}

#[cfg(test)]
mod tests;
