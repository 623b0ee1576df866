//! Parses the answer of the requirements run: one state per id. An id without a usable entry is not
//! judged.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{RequirementJudgement, RequirementJudgements, RequirementsDoc};
use crate::text::{cut, one_line};
use crate::tools::session;
use crate::tools::session::{ReportRequirements, RequirementCheck, RequirementVerdict};
use crh_review::report::RequirementState;

/// Maximum characters of the evidence.
const EVIDENCE_CHARS: usize = 500;
/// Why an item without an entry is not judged.
const NO_ENTRY: &str = "the answer of the model has no entry for it";
/// Why an item with several entries, which may contradict each other, is not judged.
const SEVERAL_ENTRIES: &str = "the answer of the model has several entries for it";
/// Why an item whose entry has no evidence is not judged.
const NO_EVIDENCE: &str = "the answer of the model has no evidence for it";

/// What an answer says about the items of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedRequirements {
    /// One judgement per item. An item without a usable entry is not judged.
    pub judgements: RequirementJudgements,
    /// What the model should correct. Empty if every id has exactly one usable entry.
    pub problems: Vec<String>,
}

/// Judgements on all items. The error says why the whole answer is unusable. A problem with one
/// entry affects no other entry.
pub fn parse_answer(
    answer: Value,
    document: &RequirementsDoc,
) -> Result<ParsedRequirements, String> {
    let ReportRequirements { requirements } = session::parse_arguments(answer)?;
    let mut problems = Vec::new();
    let mut states_by_id = BTreeMap::new();
    for RequirementCheck { id, state, evidence } in requirements {
        if !document.items.iter().any(|item| item.id == id) {
            problems
                .push(format!("there is no id `{id}`; there are `{}`", ids(document).join("`, `")));
            continue;
        }
        let evidence = cut(&one_line(&evidence), EVIDENCE_CHARS);
        let entry = match evidence.is_empty() {
            true => {
                problems.push(format!(
                    "`evidence` of `{id}` is empty: name the lines, or say what you looked for"
                ));
                Err(NO_EVIDENCE)
            }
            false => Ok((requirement_state(state), evidence)),
        };
        if states_by_id.insert(id.clone(), entry).is_some() {
            problems.push(format!("`{id}` is answered twice; give one state for each id"));
            states_by_id.insert(id, Err(SEVERAL_ENTRIES));
        }
    }
    let missing_ids: Vec<&str> =
        ids(document).into_iter().filter(|id| !states_by_id.contains_key(*id)).collect();
    if !missing_ids.is_empty() {
        problems.push(format!(
            "nothing is said about `{}`; give a state for each id",
            missing_ids.join("`, `")
        ));
    }
    let judgements = document.items.iter().map(|item| {
        let entry = states_by_id.remove(&item.id).unwrap_or(Err(NO_ENTRY));
        let (state, evidence) =
            entry.unwrap_or_else(|why| (RequirementState::NotJudged, why.to_owned()));
        RequirementJudgement { id: item.id.clone(), state, evidence }
    });
    let judgements = RequirementJudgements { items: judgements.collect() };
    Ok(ParsedRequirements { judgements, problems })
}

/// Whether the answer of the model had no entry for an item.
pub fn has_no_entry(judgement: &RequirementJudgement) -> bool {
    judgement.state == RequirementState::NotJudged && judgement.evidence == NO_ENTRY
}

/// A model cannot answer `NotJudged`: crh sets it.
fn requirement_state(verdict: RequirementVerdict) -> RequirementState {
    match verdict {
        RequirementVerdict::Met => RequirementState::Met,
        RequirementVerdict::PartiallyAddressed => RequirementState::PartiallyAddressed,
        RequirementVerdict::NotAddressed => RequirementState::NotAddressed,
    }
}

fn ids(document: &RequirementsDoc) -> Vec<&str> {
    document.items.iter().map(|item| item.id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::super::parse_document;
    use super::*;
    use crh_review::report::PlanSource;

    fn check(requirements: Value, expected: Expect) {
        let text = "# Requirements\n- R1: charge\n- R2: refund\n";
        let (document, _) = parse_document("docs/plans/a.md", PlanSource::Explicit, text);
        let actual = match parse_answer(json!({ "requirements": requirements }), &document) {
            Ok(ParsedRequirements { judgements, problems }) => {
                let items = judgements.items.iter();
                let rows = items.map(|it| format!("{} {:?} {}\n", it.id, it.state, it.evidence));
                rows.chain(problems.iter().map(|problem| format!("! {problem}\n"))).collect()
            }
            Err(error) => error,
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn entry_with_a_problem_affects_no_other_entry() {
        let entry = |id: &str, state: &str, evidence: &str| json!({ "id": id, "state": state, "evidence": evidence });
        check(
            json!([
                entry("R2", "not_addressed", "no line\nrefunds"),
                entry("R1", "met", "`pay.rs:12` charges"),
            ]),
            expect![[r#"
                R1 Met `pay.rs:12` charges
                R2 NotAddressed no line refunds
            "#]],
        );
        check(
            json!([entry("R1", "partially_addressed", "half")]),
            expect![[r#"
                R1 PartiallyAddressed half
                R2 NotJudged the answer of the model has no entry for it
                ! nothing is said about `R2`; give a state for each id
            "#]],
        );
        check(
            json!([entry("R1", "met", "a"), entry("R1", "not_addressed", "b")]),
            expect![[r#"
                R1 NotJudged the answer of the model has several entries for it
                R2 NotJudged the answer of the model has no entry for it
                ! `R1` is answered twice; give one state for each id
                ! nothing is said about `R2`; give a state for each id
            "#]],
        );
        check(
            json!([entry("R3", "met", "a"), entry("R2", "met", "b"), entry("R1", "met", " ")]),
            expect![[r#"
                R1 NotJudged the answer of the model has no evidence for it
                R2 Met b
                ! there is no id `R3`; there are `R1`, `R2`
                ! `evidence` of `R1` is empty: name the lines, or say what you looked for
            "#]],
        );
        check(
            json!([entry("R1", "not_judged", "a")]),
            expect![
                "the argument `requirements[0].state` cannot be used: unknown variant `not_judged`, expected one of `met`, `partially_addressed`, `not_addressed`"
            ],
        );
    }
}
