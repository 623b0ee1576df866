//! Turns requirements into report rows, and missing ones into findings.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::Path;

use super::{
    REVIEWER, RequirementItem, RequirementJudgement, RequirementJudgements, RequirementsDoc,
};
use crate::text::{cut, plural, with_period};
use crh_review::finding::{
    AutofixClass, Category, Confidence, Evidence, Finding, Member, Origin, Owner, Severity,
    TITLE_MAX,
};
use crh_review::report::{Plan, PlanSource, Requirement, RequirementState};

/// Confidence in a judgement on a requirement. The model gives none, so crh uses the default
/// confidence of a finding.
const JUDGED_CONFIDENCE: Confidence = Confidence::thousandths(750);
/// Id of the row that stands for all items beyond the maximum.
const OMITTED_ID: &str = "more";

/// The report section, and a finding for each requirement that is not or only partially addressed.
/// Waived requirements produce no finding.
pub fn missing_findings(
    document: &RequirementsDoc,
    judgements: Option<&RequirementJudgements>,
    waived: &BTreeSet<String>,
) -> (Plan, Vec<Member>) {
    let judgement_items = judgements.iter().flat_map(|judged| &judged.items);
    let judgement_by_id: BTreeMap<&str, &RequirementJudgement> =
        judgement_items.map(|item| (item.id.as_str(), item)).collect();
    let mut requirements = Vec::new();
    let mut members = Vec::new();
    for item in &document.items {
        let judgement = judgement_by_id.get(item.id.as_str());
        let requirement = Requirement {
            id: item.id.clone(),
            text: item.text.clone(),
            state: judgement.map_or(RequirementState::NotJudged, |judgement| judgement.state),
            evidence: judgement.map(|judgement| judgement.evidence.clone()).unwrap_or_default(),
            waived: waived.iter().any(|id| id.eq_ignore_ascii_case(&item.id)),
        };
        members.extend(missing_finding(document, item, &requirement));
        requirements.push(requirement);
    }
    if document.omitted_count > 0 {
        requirements.push(Requirement {
            id: OMITTED_ID.to_owned(),
            text: format!(
                "{} that the plan asks for",
                plural(document.omitted_count, "other thing")
            ),
            state: RequirementState::NotJudged,
            evidence: String::new(),
            waived: waived.iter().any(|id| id.eq_ignore_ascii_case(OMITTED_ID)),
        });
    }
    let plan = Plan { plan_source: document.source, path: document.path.clone(), requirements };
    (plan, members)
}

/// Waived ids that the document does not contain.
pub fn not_in_plan(document: &RequirementsDoc, waived: &BTreeSet<String>) -> Vec<String> {
    let has_id = |id: &&String| {
        document.items.iter().any(|item| item.id.eq_ignore_ascii_case(id))
            || (document.omitted_count > 0 && id.eq_ignore_ascii_case(OMITTED_ID))
    };
    waived.iter().filter(|id| !has_id(id)).cloned().collect()
}

/// The finding for a requirement. None if it is met, unjudged or waived.
fn missing_finding(
    document: &RequirementsDoc,
    item: &RequirementItem,
    requirement: &Requirement,
) -> Option<Member> {
    let (state, default_reason) = match requirement.state {
        RequirementState::NotAddressed => ("is not addressed", "The change does not have it."),
        RequirementState::PartiallyAddressed => {
            ("is only partly addressed", "The change has a part of it.")
        }
        RequirementState::Met | RequirementState::NotJudged => return None,
    };
    if requirement.waived {
        return None;
    }
    let id = &item.id;
    // A document that was named explicitly is binding; an inferred one is a hint.
    let (severity, class, owner, hint) = match document.source {
        PlanSource::Explicit => (
            Severity::P1,
            AutofixClass::Manual,
            Owner::DownstreamResolver,
            format!(" If it is left out on purpose, pass `--waive {id}`."),
        ),
        PlanSource::Inferred => (Severity::P3, AutofixClass::Advisory, Owner::Human, String::new()),
    };
    let reason = match requirement.evidence.is_empty() {
        true => default_reason.to_owned(),
        false => with_period(&requirement.evidence),
    };
    let file = anchor(&document.path);
    let plan = match file.as_str() {
        OUTSIDE => format!("The plan `{}`", document.path),
        _ => "The plan".to_owned(),
    };
    let why = format!("{plan} asks for it. {reason}{hint}");
    let finding = Finding {
        // `cut` may add an ellipsis.
        title: cut(&format!("{id} of the plan {state}: {}", item.text), TITLE_MAX - 1),
        severity,
        category: Category::Requirements,
        file,
        line_start: NonZeroU32::new(item.line),
        line_end: None,
        side: None,
        diff_line: None,
        confidence: JUDGED_CONFIDENCE,
        evidence: vec![Evidence { file: None, line: None, side: None, snippet: item.text.clone() }],
        why_it_matters: why,
        suggested_fix: None,
        replacement: None,
        autofix_class: class,
        owner,
        requires_verification: false,
        pre_existing: false,
    };
    Some(Member { origin: Origin::Plan, ..Member::new(REVIEWER, finding) })
}

/// File name in findings about a document outside the repository.
const OUTSIDE: &str = "(plan)";

/// The path of the document in a form that is valid in a finding.
fn anchor(path: &str) -> String {
    let path = path.replace('\\', "/");
    if Path::new(&path).is_absolute() || path.split('/').any(|part| part == "..") {
        return OUTSIDE.to_owned();
    }
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
