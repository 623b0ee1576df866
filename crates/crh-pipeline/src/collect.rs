//! Stage "findings": collects the findings of all runs into one list.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::checks::{INJECTION, SECRETS};
use crate::runs::{CheckedFinding, RunResults};
use crate::scope::Scope;
use crate::text::plural;
use crh_memory::lesson::ReviewLessons;
use crh_review::finding::{Finding, Member, Origin};
use crh_review::report::{DroppedFinding, Fate};

/// Findings of all runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReviewFindings {
    /// Findings for the merge.
    pub members: Vec<Member>,
    /// Findings that an earlier step dropped, with their fates.
    #[serde(rename = "set_aside")]
    pub dropped: Vec<DroppedFinding>,
    /// Judgements on single findings, from runs of this review and, for carried-over findings, from
    /// the previous review.
    pub checked: Vec<CheckedFinding>,
    /// Findings carried over from the previous review. Validation skips them.
    #[serde(default, rename = "carried")]
    pub carried_findings: Vec<Finding>,
    /// Notes for the reader.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl ReviewFindings {
    /// Drops the findings about files outside the paths that restrict the review, with a note. A
    /// reviewer may find that a file under review breaks another file. Then it quotes both.
    #[must_use]
    pub fn within_paths(mut self, scope: &Scope) -> Self {
        let quotes_reviewed_file = |member: &Member| {
            let mut files = member.finding.evidence.iter().filter_map(|quote| quote.file.as_ref());
            member.origin == Origin::Model && files.any(|file| !scope.is_outside_paths(file))
        };
        let is_kept = |member: &Member| {
            checks_all_files(member)
                || !scope.is_outside_paths(&member.finding.file)
                || quotes_reviewed_file(member)
        };
        let (kept, outside): (Vec<Member>, Vec<Member>) =
            self.members.into_iter().partition(is_kept);
        self.members = kept;
        let were = match outside.len() {
            0 => return self,
            1 => "was",
            _ => "were",
        };
        let findings = plural(outside.len(), "finding");
        self.notes.push(format!("{findings} outside the given paths {were} left out"));
        let reason = "about a file outside the paths under review";
        let drop = |member| DroppedFinding::new(member, Fate::OutsidePaths, reason);
        self.dropped.extend(outside.into_iter().map(drop));
        self.dropped.sort_by(compare_dropped);
        self
    }

    /// Drops the findings that lessons suppress, with a note for each lesson.
    #[must_use]
    pub fn without_lessons(mut self, lessons: &ReviewLessons) -> Self {
        if lessons.is_empty() {
            return self;
        }
        let (members, dropped) = lessons.hold_back(self.members);
        self.members = members;
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &dropped {
            *counts.entry(&finding.reason).or_default() += 1;
        }
        let note = |(reason, count): (&str, usize)| {
            format!("held back {}: {reason}", plural(count, "finding"))
        };
        self.notes.extend(counts.into_iter().map(note));
        self.dropped.extend(dropped);
        self.dropped.sort_by(compare_dropped);
        self
    }
}

/// Collects all findings. The order does not depend on the order of the runs. Findings of failed or
/// cancelled runs count too, since their evidence is checked like any other.
pub fn collect(runs: &RunResults) -> ReviewFindings {
    let mut collected = ReviewFindings::default();
    for record in &runs.records {
        collected.members.extend_from_slice(&record.members);
        collected.dropped.extend_from_slice(&record.dropped);
        collected.checked.extend_from_slice(&record.checked);
    }
    collected.members.sort();
    collected.dropped.sort_by(compare_dropped);
    collected.checked.sort_by(|a, b| {
        let judgement_key = |checked: &CheckedFinding| {
            (checked.judgement.result as u8, checked.judgement.reason.clone())
        };
        a.finding.cmp(&b.finding).then_with(|| judgement_key(a).cmp(&judgement_key(b)))
    });
    collected
}

/// Whether a check found this that searches all files of the change, not only those under review:
/// leaked credentials and instructions to the reviewer do harm wherever they are.
fn checks_all_files(member: &Member) -> bool {
    member.origin == Origin::Code && [INJECTION, SECRETS].contains(&member.reviewer.as_str())
}

/// A total order of dropped findings, so that reports are deterministic.
fn compare_dropped(a: &DroppedFinding, b: &DroppedFinding) -> Ordering {
    let key =
        |dropped: &DroppedFinding| (dropped.fate, dropped.reviewer.clone(), dropped.reason.clone());
    let raw = |dropped: &DroppedFinding| dropped.raw.as_ref().map(ToString::to_string);
    key(a)
        .cmp(&key(b))
        .then_with(|| a.member.cmp(&b.member))
        .then_with(|| a.into.cmp(&b.into))
        .then_with(|| raw(a).cmp(&raw(b)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::assignment::Assignment;
    use crate::runs::{RunEnd, RunRecord};
    use crate::scope::{DiffOnly, ScopeRules, decide_scope};
    use crh_git::PathGlobs;
    use crh_review::diff::Diff;
    use crh_review::{Judgement, JudgementResult};

    fn run(name: &str, ended: RunEnd, titles: &[&str]) -> RunRecord {
        let assignment = Assignment {
            name: name.to_owned(),
            reviewer: name.to_owned(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts: Vec::new(),
        };
        let finding = |title: &&str| {
            serde_json::from_value(json!({
                "title": title, "severity": "P1", "category": "bug", "file": "a.rs", "line_start": 1,
                "confidence": 0.75, "evidence": [{ "snippet": "let total = 1;" }],
                "why_it_matters": "It is wrong.", "autofix_class": "manual", "owner": "human",
                "requires_verification": false, "pre_existing": false,
            }))
            .unwrap()
        };
        let members: Vec<Member> =
            titles.iter().map(finding).map(|finding| Member::new(name, finding)).collect();
        let checked = members.iter().map(|member| CheckedFinding {
            finding: member.finding.clone(),
            judgement: Judgement::new(JudgementResult::Unsure, name.to_owned()),
        });
        let dropped_finding = |raw: u32| DroppedFinding {
            fate: Fate::Malformed,
            reason: "no title".to_owned(),
            cause: None,
            into: None,
            open: None,
            validation: None,
            reviewer: "shared".to_owned(),
            member: None,
            raw: Some(json!({ "number": raw, "by": name })),
        };
        RunRecord {
            ended,
            checked: checked.collect(),
            members,
            dropped: vec![dropped_finding(2), dropped_finding(1)],
            ..RunRecord::new(assignment)
        }
    }

    #[test]
    fn run_order_does_not_matter_and_no_finding_is_lost() {
        let records = vec![
            run("b", RunEnd::Completed, &["two", "one"]),
            run("a", RunEnd::Failed("the model hung up".to_owned()), &["three"]),
            run("c", RunEnd::Cancelled, &["one", "four"]),
        ];
        let mut reversed = records.clone();
        reversed.reverse();
        let collected = collect(&RunResults { records, notes: Vec::new() });
        assert_eq!(collected, collect(&RunResults { records: reversed, notes: Vec::new() }));
        let titles: Vec<_> = collected
            .members
            .iter()
            .map(|member| format!("{} {}", member.reviewer, member.finding.title))
            .collect();
        assert_eq!(titles, ["a three", "b one", "b two", "c four", "c one"]);
        assert_eq!((collected.dropped.len(), collected.checked.len()), (6, 5));
    }

    /// The scope of a change that moves a file into `services/a`.
    fn scope(paths: &[&str]) -> Scope {
        let diff = "diff --git a/old.rs b/services/a/new.rs\nsimilarity index 100%\n\
                    rename from old.rs\nrename to services/a/new.rs\n";
        let none = PathGlobs::default;
        let rules = ScopeRules {
            paths: PathGlobs::new(paths).unwrap(),
            exclude: none(),
            include: none(),
            generated: none(),
            max_file_bytes: 1 << 20,
            strict: false,
        };
        decide_scope(&Diff::read(diff), &DiffOnly, &rules)
    }

    #[test]
    fn finding_in_another_file_is_kept_if_it_quotes_a_file_under_review() {
        let quoting = |origin: Origin, file: &str| {
            let mut member = run("shared", RunEnd::Completed, &["title"]).members.remove(0);
            (member.origin, member.finding.file) = (origin, "main.rs".to_owned());
            member.finding.evidence[0].file = Some(file.to_owned());
            member
        };
        let kept = quoting(Origin::Model, "services/a/new.rs");
        let dropped =
            [quoting(Origin::Model, "main.rs"), quoting(Origin::Code, "services/a/new.rs")];
        let members = [vec![kept.clone()], dropped.to_vec()].concat();
        let findings = ReviewFindings { members, ..ReviewFindings::default() };
        let within = findings.within_paths(&scope(&["/services/a", "/services/a/"]));
        assert_eq!((within.members, within.dropped.len()), (vec![kept], 2));
    }

    #[test]
    fn findings_outside_the_paths_are_dropped_with_a_note() {
        let member = |reviewer: &str, origin: Origin, file: &str| {
            let mut member = run(reviewer, RunEnd::Completed, &["title"]).members.remove(0);
            (member.origin, member.finding.file) = (origin, file.to_owned());
            member
        };
        let members = vec![
            member("correctness", Origin::Model, "services/a/new.rs"),
            member("correctness", Origin::Model, "services/a/unchanged.rs"),
            member("correctness", Origin::Model, "old.rs"),
            member("injection", Origin::Code, "services/b/x.rs"),
            member("secrets", Origin::Code, "services/b/x.rs"),
            member("correctness", Origin::Model, "services/b/x.rs"),
            member("ruff", Origin::Code, "services/ab/x.rs"),
        ];
        let findings = ReviewFindings { members: members.clone(), ..ReviewFindings::default() };
        assert_eq!(findings.clone().within_paths(&scope(&[])), findings);

        let within = findings.within_paths(&scope(&["/services/a", "/services/a/"]));
        assert_eq!(within.members, members[..5]);
        let dropped: Vec<_> = within
            .dropped
            .iter()
            .map(|dropped| (dropped.fate, dropped.member.as_ref().unwrap()))
            .collect();
        assert_eq!(dropped, [(Fate::OutsidePaths, &members[5]), (Fate::OutsidePaths, &members[6])]);
        assert_eq!(within.notes, ["2 findings outside the given paths were left out"]);
    }
}
