//! The model call that decides which findings of a panel are duplicates.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::model_question::{ModelQuestion, ask};
use crate::plan::Assignment;
use crate::review_context::ReviewContext;
use crate::runs::RunRecord;
use crate::text::cut;
use crate::tools::session::{ReportPairs, parse_arguments};
use crh_agent::CallPurpose;
use crh_review::{CandidatePair, PairSide, stable_json_line};

const RUN_NAME: &str = "pairs";

/// One answer and two corrections.
const TURNS: u32 = 3;
/// A few ids; the rest is for models that reason first.
const OUTPUT_TOKENS: u32 = 4_000;
/// Maximum number of pairs in one call. Further pairs stay separate.
const PAIRS_MAX: usize = 40;
/// Maximum wait for rate limits. A longer wait would take time from validation, and unvalidated
/// issues are worse than duplicates.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Maximum characters of each explanation.
const WHY_CHARS: usize = 500;

pub(super) fn pairs_to_ask(pairs: &[CandidatePair]) -> &[CandidatePair] {
    &pairs[..pairs.len().min(PAIRS_MAX)]
}

/// Asks which pairs are duplicates. Returns their ids, or None without an answer, and the record of
/// the run.
pub(super) async fn ask_about_pairs(
    ctx: &ReviewContext,
    pairs: &[CandidatePair],
) -> (Option<BTreeSet<String>>, RunRecord) {
    let ids: BTreeSet<String> = pairs.iter().map(|pair| pair.id.clone()).collect();
    let question = ModelQuestion {
        assignment: assignment(pairs),
        model: ctx.models.small_or_reviewer(),
        prompt: ctx.prompts.pairs(&pair_lines(pairs)),
        purpose: CallPurpose::Validation,
        turns: TURNS,
        tool_calls: 0,
        output_tokens: OUTPUT_TOKENS,
        role_phrase: "for deciding about pairs",
        max_wait: MAX_WAIT,
        permits: None,
    };
    let parse = move |value| {
        let report: ReportPairs = parse_arguments(value)?;
        match report.same.iter().find(|id| !ids.contains(*id)) {
            Some(id) => Err(format!("there is no pair `{id}`: give ids as they were shown")),
            None => Ok(report),
        }
    };
    let (report, record) = ask::<ReportPairs, _>(ctx, question, parse).await;
    (report.map(|report| report.same.into_iter().collect()), record)
}

/// The label contains the pair ids, so that a different question is a different assignment.
fn assignment(pairs: &[CandidatePair]) -> Assignment {
    let ids: Vec<&str> = pairs.iter().map(|pair| pair.id.as_str()).collect();
    Assignment {
        name: RUN_NAME.to_owned(),
        reviewer: RUN_NAME.to_owned(),
        label: ids.join(" "),
        why: String::new(),
        focus: String::new(),
        parts: Vec::new(),
    }
}

fn pair_lines(pairs: &[CandidatePair]) -> String {
    let side = |side: &PairSide| {
        let (line, title) = (side.line, &side.title);
        json!({ "line": line, "title": title, "why": cut(&side.why_it_matters, WHY_CHARS) })
    };
    let values = pairs.iter().map(|pair| {
        let (left, right) = (side(&pair.left), side(&pair.right));
        json!({ "id": pair.id, "file": pair.file, "left": left, "right": right })
    });
    let json_line = |value: Value| stable_json_line(&value).unwrap_or_else(|_| value.to_string());
    values.map(|value| format!("{}\n", json_line(value).trim_end())).collect()
}
