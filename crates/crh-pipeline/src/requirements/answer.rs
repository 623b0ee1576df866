//! Parses the answer of the requirements run: one state per id.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{RequirementJudgement, RequirementJudgements, RequirementsDoc};
use crate::text::{cut, one_line};
use crate::tools::session;
use crate::tools::session::{ReportRequirements, RequirementCheck, RequirementVerdict};
use crh_review::report::RequirementState;

/// Maximum characters of the evidence.
const EVIDENCE_CHARS: usize = 500;

/// Judgements on all items, or an error for the model.
pub fn parse_answer(
    answer: Value,
    document: &RequirementsDoc,
) -> Result<RequirementJudgements, String> {
    let ReportRequirements { requirements } = session::parse_arguments(answer)?;
    let mut states_by_id = BTreeMap::new();
    for RequirementCheck { id, state, evidence } in requirements {
        if !document.items.iter().any(|item| item.id == id) {
            return Err(format!(
                "there is no id `{id}`; there are `{}`",
                ids(document).join("`, `")
            ));
        }
        let evidence = cut(&one_line(&evidence), EVIDENCE_CHARS);
        if evidence.is_empty() {
            return Err(format!(
                "`evidence` of `{id}` is empty: name the lines, or say what you looked for"
            ));
        }
        if states_by_id.insert(id.clone(), (state, evidence)).is_some() {
            return Err(format!("`{id}` is answered twice; give one state for each id"));
        }
    }
    let missing_ids: Vec<&str> =
        ids(document).into_iter().filter(|id| !states_by_id.contains_key(*id)).collect();
    if !missing_ids.is_empty() {
        return Err(format!(
            "nothing is said about `{}`; give a state for each id",
            missing_ids.join("`, `")
        ));
    }
    let judgements = document.items.iter().filter_map(|item| {
        let (state, evidence) = states_by_id.remove(&item.id)?;
        // A model cannot answer `NotJudged`: crh sets it.
        let state = match state {
            RequirementVerdict::Met => RequirementState::Met,
            RequirementVerdict::PartiallyAddressed => RequirementState::PartiallyAddressed,
            RequirementVerdict::NotAddressed => RequirementState::NotAddressed,
        };
        Some(RequirementJudgement { id: item.id.clone(), state, evidence })
    });
    Ok(RequirementJudgements { items: judgements.collect() })
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
            Ok(judged) => judged
                .items
                .iter()
                .map(|it| format!("{} {:?} {}\n", it.id, it.state, it.evidence))
                .collect(),
            Err(error) => error,
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn every_id_is_answered_exactly_once() {
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
            expect!["nothing is said about `R2`; give a state for each id"],
        );
        check(
            json!([entry("R1", "met", "a"), entry("R1", "met", "b")]),
            expect!["`R1` is answered twice; give one state for each id"],
        );
        check(
            json!([entry("R3", "met", "a")]),
            expect!["there is no id `R3`; there are `R1`, `R2`"],
        );
        check(
            json!([entry("R1", "met", " ")]),
            expect!["`evidence` of `R1` is empty: name the lines, or say what you looked for"],
        );
        check(
            json!([entry("R1", "not_judged", "a")]),
            expect![
                "the argument `requirements[0].state` cannot be used: unknown variant `not_judged`, expected one of `met`, `partially_addressed`, `not_addressed`"
            ],
        );
    }
}
