//! The one small call that decides which findings of a panel are one.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::office::Office;
use crate::plan::Assignment;
use crate::question::{Question, asked};
use crate::runs::RunRecord;
use crate::text::cut;
use crate::tools::session::{ReportPairs, read};
use crh_agent::Purpose;
use crh_review::{CandidatePair, PairSide, stable_json_line};

/// Names its run.
const PAIRS: &str = "pairs";

/// Once, and two repairs.
const TURNS: u32 = 3;
/// Some ids; the rest is for models that think first.
const OUTPUT_TOKENS: u32 = 4_000;
/// So many pairs are decided about in one call; a review with more has other troubles, and they stay apart.
const PAIRS_MAX: usize = 40;
/// Pairs that stay apart are a nuisance; issues that nobody has checked since the time was over are worse.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much of what a finding says is shown, in characters.
const WHY_CHARS: usize = 500;

/// The pairs that are asked about.
pub(super) fn asked_about(pairs: &[CandidatePair]) -> &[CandidatePair] {
    &pairs[..pairs.len().min(PAIRS_MAX)]
}

/// Which of the pairs are one issue, or none if there was no answer; and the run that was asked.
pub(super) async fn ask(
    office: &Office,
    pairs: &[CandidatePair],
) -> (Option<BTreeSet<String>>, RunRecord) {
    let ids: BTreeSet<String> = pairs.iter().map(|pair| pair.id.clone()).collect();
    let question = Question {
        assignment: assignment(pairs),
        model: office.crew.small(),
        own: office.prompts.pairs(&shown(pairs)),
        purpose: Purpose::Validation,
        turns: TURNS,
        tool_calls: 0,
        output_tokens: OUTPUT_TOKENS,
        about: "for deciding about pairs",
        patience: PATIENCE,
        places: None,
    };
    let read = move |value| {
        let said: ReportPairs = read(value)?;
        match said.same.iter().find(|id| !ids.contains(*id)) {
            Some(id) => Err(format!("there is no pair `{id}`: give ids as they were shown")),
            None => Ok(said),
        }
    };
    let (said, record) = asked::<ReportPairs, _>(office, question, read).await;
    (said.map(|said| said.same.into_iter().collect()), record)
}

/// The pairs are part of it, so that another question is another assignment.
fn assignment(pairs: &[CandidatePair]) -> Assignment {
    let ids: Vec<&str> = pairs.iter().map(|pair| pair.id.as_str()).collect();
    Assignment {
        name: PAIRS.to_owned(),
        reviewer: PAIRS.to_owned(),
        label: ids.join(" "),
        why: String::new(),
        focus: String::new(),
        parts: Vec::new(),
    }
}

fn shown(pairs: &[CandidatePair]) -> String {
    let side = |side: &PairSide| {
        let (line, title) = (side.line, &side.title);
        json!({ "line": line, "title": title, "why": cut(&side.why_it_matters, WHY_CHARS) })
    };
    let rows = pairs.iter().map(|pair| {
        let (left, right) = (side(&pair.left), side(&pair.right));
        json!({ "id": pair.id, "file": pair.file, "left": left, "right": right })
    });
    let line = |row: Value| stable_json_line(&row).unwrap_or_else(|_| row.to_string());
    rows.map(|row| format!("{}\n", line(row).trim_end())).collect()
}
