//! What a checking run answers: one verdict for each issue that it was shown.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::tools::session;
use crate::tools::session::{ClaimCheck, ClaimVerdict, ReportChecks};
use crh_agent::Submit;
use crh_review::{Judged, Judgement};

/// How the answer about these issues is read.
pub(super) fn submit(ids: BTreeSet<String>) -> Submit<BTreeMap<String, Judgement>> {
    Submit::new(session::spec::<ReportChecks>(), move |value| judgements(value, &ids))
}

/// The judgement on every id, or what is wrong with the answer. An id that nothing was said about is undecided.
fn judgements(value: Value, ids: &BTreeSet<String>) -> Result<BTreeMap<String, Judgement>, String> {
    let answer: ReportChecks = session::read(value)?;
    let mut judgements = BTreeMap::new();
    for ClaimCheck { id, verdict, reason } in answer.checks {
        if !ids.contains(&id) {
            let known: Vec<&str> = ids.iter().map(String::as_str).collect();
            return Err(format!("there is no id `{id}`; there are `{}`", known.join("`, `")));
        }
        let result = match verdict {
            ClaimVerdict::Confirmed => Judged::Confirmed,
            ClaimVerdict::Refuted => Judged::Refuted,
            ClaimVerdict::Unsure => Judged::Unsure,
        };
        let judgement = Judgement { result, reason };
        if judgements.insert(id.clone(), judgement).is_some() {
            return Err(format!("`{id}` stands there twice; give one verdict for each id"));
        }
    }
    for id in ids {
        judgements.entry(id.clone()).or_insert_with(|| Judgement {
            result: Judged::Unsure,
            reason: "the check said nothing about it".to_owned(),
        });
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
        let shown = match judgements(value, &ids) {
            Ok(judgements) => judgements
                .iter()
                .map(|(id, said)| format!("{id} {:?} {}\n", said.result, said.reason))
                .collect(),
            Err(error) => error,
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn every_id_has_one_judgement_and_what_was_left_out_is_undecided() {
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
            a1 Unsure the check said nothing about it
            b2 Unsure the check said nothing about it
        "#]],
        );
        check(
            json!({ "checks": [entry("c3", "refuted")] }),
            expect!["there is no id `c3`; there are `a1`, `b2`"],
        );
        check(
            json!({ "checks": [entry("a1", "refuted"), entry("a1", "unsure")] }),
            expect!["`a1` stands there twice; give one verdict for each id"],
        );
        check(
            json!({ "checks": [entry("a1", "maybe")] }),
            expect![
                "the argument `checks[0].verdict` cannot be used: unknown variant `maybe`, expected one of `confirmed`, `refuted`, `unsure`"
            ],
        );
        check(
            json!({ "checks": [], "note": "" }),
            expect!["there is no argument `note`; there are `checks`"],
        );
        check(json!({}), expect!["the argument `checks` is missing"]);
    }
}
