//! What becomes of what a plan asks for and a change does not have: a row of the report, and a finding.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use super::{Judged, JudgedItem, PlanDocument, PlanItem, REVIEWER};
use crate::text::{count, cut, ended};
use crh_review::finding::{
    AutofixClass, Category, Confidence, Evidence, Finding, Member, Origin, Owner, Severity,
    TITLE_MAX,
};
use crh_review::report::{Plan, PlanSource, Requirement, RequirementState};

/// What all goes by that a plan asks for beyond what can be judged.
const MORE: &str = "more";

/// A plan as the report has it, and a finding for everything that is missing. Without a judgement nobody knows what is,
/// and nothing is reported. What the user waives is no finding.
pub fn members(
    document: &PlanDocument,
    judged: Option<&Judged>,
    waived: &BTreeSet<String>,
) -> (Plan, Vec<Member>) {
    let judged = judged.iter().flat_map(|judged| &judged.items);
    let said: BTreeMap<&str, &JudgedItem> = judged.map(|it| (it.id.as_str(), it)).collect();
    let mut requirements = Vec::new();
    let mut members = Vec::new();
    for item in &document.items {
        let said = said.get(item.id.as_str());
        let requirement = Requirement {
            id: item.id.clone(),
            text: item.text.clone(),
            state: said.map_or(RequirementState::NotJudged, |said| said.state),
            evidence: said.map(|said| said.evidence.clone()).unwrap_or_default(),
            waived: waived.iter().any(|id| id.eq_ignore_ascii_case(&item.id)),
        };
        members.extend(missing(document, item, &requirement));
        requirements.push(requirement);
    }
    if document.more > 0 {
        requirements.push(Requirement {
            id: MORE.to_owned(),
            text: format!("{} that the plan asks for", count(document.more, "other thing")),
            state: RequirementState::NotJudged,
            evidence: String::new(),
            waived: waived.iter().any(|id| id.eq_ignore_ascii_case(MORE)),
        });
    }
    let plan = Plan { plan_source: document.source, path: document.path.clone(), requirements };
    (plan, members)
}

/// The ids that were waived and that the plan does not have.
pub fn not_in_plan(document: &PlanDocument, waived: &BTreeSet<String>) -> Vec<String> {
    let has = |id: &&String| {
        document.items.iter().any(|item| item.id.eq_ignore_ascii_case(id))
            || (document.more > 0 && id.eq_ignore_ascii_case(MORE))
    };
    waived.iter().filter(|id| !has(id)).cloned().collect()
}

/// The finding about a requirement; none if the change has it, or nobody wants or knows to say that it has not.
fn missing(document: &PlanDocument, item: &PlanItem, requirement: &Requirement) -> Option<Member> {
    let state = match requirement.state {
        RequirementState::NotAddressed => "is not addressed",
        RequirementState::PartiallyAddressed => "is only partly addressed",
        RequirementState::Met | RequirementState::NotJudged => return None,
    };
    if requirement.waived {
        return None;
    }
    let id = &item.id;
    // A plan that somebody named is a contract; one that was guessed is a hint.
    let (severity, class, owner, hint) = match document.source {
        PlanSource::Explicit => (
            Severity::P1,
            AutofixClass::Manual,
            Owner::DownstreamResolver,
            format!(" If it is left out on purpose, `--waive {id}` says so."),
        ),
        PlanSource::Inferred => (Severity::P3, AutofixClass::Advisory, Owner::Human, String::new()),
    };
    let why = match requirement.evidence.is_empty() {
        true => format!("The plan asks for it, and the change does not have all of it.{hint}"),
        false => format!("The plan asks for it. {}{hint}", ended(&requirement.evidence)),
    };
    let finding = Finding {
        // The sign of a cut is a character too.
        title: cut(&format!("{id} of the plan {state}: {}", item.text), TITLE_MAX - 1),
        severity,
        category: Category::Requirements,
        file: anchor(&document.path),
        line_start: NonZeroU32::new(item.line),
        line_end: None,
        side: None,
        diff_line: None,
        confidence: Confidence::ONE,
        evidence: vec![Evidence { file: None, line: None, side: None, snippet: item.text.clone() }],
        why_it_matters: why,
        suggested_fix: None,
        replacement: None,
        autofix_class: class,
        owner,
        requires_verification: false,
        pre_existing: false,
    };
    Some(Member { origin: Origin::Code, ..Member::new(REVIEWER, finding) })
}

/// The place of a plan as a finding can name it: one that the user keeps elsewhere has no path from the root.
fn anchor(path: &str) -> String {
    let path = path.replace('\\', "/");
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
