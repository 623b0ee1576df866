//! Whether a change has what its plan asks for: one run that reads the change and looks things up.

use tokio::sync::Semaphore;

use crate::office::Office;
use crate::plan::{Assignment, TURN_TOKENS};
use crate::question::{Question, asked};
use crate::requirements;
use crate::requirements::{Judged, PlanDocument};
use crate::reviewers::Tier;
use crate::runs::RunRecord;
use crate::tools::session::ReportRequirements;
use crh_agent::Purpose;

/// Turns: the change is in front of it; what it does not show is looked up, several at a time.
const TURNS: u32 = 12;
/// Looks: one or two for each requirement of a usual plan.
const TOOL_CALLS: u32 = 40;

/// Judges a plan; what was said is the answer of the record.
pub(super) async fn judged(
    office: &Office,
    assignment: &Assignment,
    document: &PlanDocument,
    places: &Semaphore,
) -> RunRecord {
    let question = Question {
        assignment: assignment.clone(),
        model: office.crew.of_tier(Tier::Strong),
        own: office.prompts.requirements(document),
        purpose: Purpose::Work,
        turns: TURNS,
        tool_calls: TOOL_CALLS,
        output_tokens: TURN_TOKENS,
        about: "for judging a plan",
        // As long as reviewers wait: a plan that nobody judged leaves the review incomplete.
        patience: office.working_time(),
        places: Some(places),
    };
    let plan = document.clone();
    let read = move |value| requirements::read(value, &plan);
    let (_, record): (Option<Judged>, _) =
        asked::<ReportRequirements, _>(office, question, read).await;
    record
}
