//! Parses the answer of a validation run: one judgement per issue.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::tools::session;
use crate::tools::session::{ClaimCheck, ClaimVerdict, ReportChecks};
use crh_agent::SubmitTool;
use crh_review::{Judgement, JudgementResult};

/// Reason of a judgement that the run did not give.
const NO_VERDICT: &str = "the validation run gave no verdict";

/// The tool that submits judgements on these issues.
pub(super) fn answer_tool(ids: BTreeSet<String>) -> SubmitTool<BTreeMap<String, Judgement>> {
    SubmitTool::new(session::tool_spec::<ReportChecks>(), move |value| {
        parse_judgements(value, &ids)
    })
}

/// The judgement on every id, or an error for the model.
fn parse_judgements(
    value: Value,
    ids: &BTreeSet<String>,
) -> Result<BTreeMap<String, Judgement>, String> {
    let answer: ReportChecks = session::parse_arguments(value)?;
    let mut judgements = BTreeMap::new();
    for ClaimCheck { id, verdict, probability, severity, reason } in answer.checks {
        if !ids.contains(&id) {
            let valid_ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            return Err(format!("there is no id `{id}`; there are `{}`", valid_ids.join("`, `")));
        }
        let result = match verdict {
            ClaimVerdict::Confirmed | ClaimVerdict::Unfulfilled => JudgementResult::Confirmed,
            ClaimVerdict::Refuted => JudgementResult::Refuted,
            ClaimVerdict::Unsure => JudgementResult::Unsure,
        };
        let judgement = Judgement { probability, severity, ..Judgement::new(result, reason) };
        if judgements.insert(id.clone(), judgement).is_some() {
            return Err(format!("`{id}` is answered twice; give one verdict for each id"));
        }
    }
    for id in ids {
        judgements
            .entry(id.clone())
            .or_insert_with(|| Judgement::new(JudgementResult::NoVerdict, NO_VERDICT.to_owned()));
    }
    Ok(judgements)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(value: Value, expected: Expect) {
        let ids = ["a1", "b2"].map(str::to_owned).into();
        let actual = match parse_judgements(value, &ids) {
            Ok(judgements) => judgements
                .iter()
                .map(|(id, judgement)| {
                    format!("{id} {:?} {}\n", judgement.result, judgement.reason)
                })
                .collect(),
            Err(error) => error,
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn missing_judgement_is_no_verdict() {
        let entry =
            |id: &str, verdict: &str| json!({ "id": id, "verdict": verdict, "reason": "line 3" });
        check(
            json!({ "checks": [entry("b2", "refuted"), entry("a1", "confirmed")] }),
            expect![[r#"
            a1 Confirmed line 3
            b2 Refuted line 3
        "#]],
        );
        check(
            json!({ "checks": [] }),
            expect![[r#"
            a1 NoVerdict the validation run gave no verdict
            b2 NoVerdict the validation run gave no verdict
        "#]],
        );
        check(
            json!({ "checks": [entry("c3", "refuted")] }),
            expect!["there is no id `c3`; there are `a1`, `b2`"],
        );
        check(
            json!({ "checks": [entry("a1", "refuted"), entry("a1", "unsure")] }),
            expect!["`a1` is answered twice; give one verdict for each id"],
        );
        check(
            json!({ "checks": [entry("a1", "maybe")] }),
            expect![
                "the argument `checks[0].verdict` cannot be used: unknown variant `maybe`, expected one of `confirmed`, `unfulfilled`, `refuted`, `unsure`"
            ],
        );
        check(json!({}), expect!["the argument `checks` is missing"]);
    }
}
