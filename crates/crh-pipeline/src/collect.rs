//! Findings: what all runs brought, as one list.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::runs::{Checked, Runs};
use crh_review::finding::{Finding, Member};
use crh_review::report::Dropped;

/// What all runs brought.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    /// The findings that go on.
    pub members: Vec<Member>,
    /// Those that met their fate already.
    pub set_aside: Vec<Dropped>,
    /// What a second look inside a run said.
    pub checked: Vec<Checked>,
    /// Those of the findings that come from the last review, which nobody has to look at again.
    #[serde(default)]
    pub carried: Vec<Finding>,
    /// What the reader should know about them.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Collects what all runs brought, in an order that does not depend on theirs. What a run had found before it failed or
/// was stopped counts like everything else: its evidence is checked all the same.
pub fn collect(runs: &Runs) -> Collected {
    let mut collected = Collected::default();
    for record in &runs.records {
        collected.members.extend_from_slice(&record.members);
        collected.set_aside.extend_from_slice(&record.set_aside);
        collected.checked.extend_from_slice(&record.checked);
    }
    collected.members.sort();
    collected.set_aside.sort_by(in_order);
    collected.checked.sort_by(|a, b| {
        let rest =
            |checked: &Checked| (checked.judgement.result as u8, checked.judgement.reason.clone());
        a.finding.cmp(&b.finding).then_with(|| rest(a).cmp(&rest(b)))
    });
    collected
}

/// The order of findings that are not shown. Two that are equal in it are equal.
fn in_order(a: &Dropped, b: &Dropped) -> Ordering {
    let key = |dropped: &Dropped| (dropped.fate, dropped.reviewer.clone(), dropped.reason.clone());
    let raw = |dropped: &Dropped| dropped.raw.as_ref().map(ToString::to_string);
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
    use crate::plan::Assignment;
    use crate::runs::{RunEnd, RunRecord};
    use crh_review::report::Fate;
    use crh_review::{Judged, Judgement};

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
        let checked = members.iter().map(|member| Checked {
            finding: member.finding.clone(),
            judgement: Judgement { result: Judged::Unsure, reason: name.to_owned() },
        });
        let set_aside = |raw: u32| Dropped {
            fate: Fate::Malformed,
            reason: "no title".to_owned(),
            into: None,
            reviewer: "shared".to_owned(),
            member: None,
            raw: Some(json!({ "number": raw, "by": name })),
        };
        RunRecord {
            ended,
            checked: checked.collect(),
            members,
            set_aside: vec![set_aside(2), set_aside(1)],
            ..RunRecord::begun(assignment)
        }
    }

    #[test]
    fn the_order_of_runs_is_of_no_consequence_and_no_run_loses_its_findings() {
        let records = vec![
            run("b", RunEnd::Completed, &["two", "one"]),
            run("a", RunEnd::Failed("the model hung up".to_owned()), &["three"]),
            run("c", RunEnd::Cancelled, &["one", "four"]),
        ];
        let mut reversed = records.clone();
        reversed.reverse();
        let collected = collect(&Runs { records, notes: Vec::new() });
        assert_eq!(collected, collect(&Runs { records: reversed, notes: Vec::new() }));
        let shown: Vec<_> = collected
            .members
            .iter()
            .map(|member| format!("{} {}", member.reviewer, member.finding.title))
            .collect();
        assert_eq!(shown, ["a three", "b one", "b two", "c four", "c one"]);
        assert_eq!((collected.set_aside.len(), collected.checked.len()), (6, 5));
    }
}
