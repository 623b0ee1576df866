//! Posts a review: performs the steps of a [`PostingMachine`] and feeds the results back.

use super::machine::{PostingMachine, PostingStep};
use super::plan::plan;
use super::{ForgePoster, PostingDelays, PostingOutcome, PostingSteps, ReviewPosting, receptions};
use crate::ForgeError;

/// Number of writes without a pause: inline comments, vote, summary. Forges ask for pauses between
/// many writes.
const WRITES_WITHOUT_PAUSE: u32 = 3;

/// Posts a review. Reads the current state first. An error means that the state could not be read
/// and nothing was written; later failures are in the outcome.
pub async fn post_review(
    poster: &impl ForgePoster,
    posting: &ReviewPosting<'_>,
    delays: &PostingDelays,
) -> Result<PostingOutcome, ForgeError> {
    let state = Box::pin(poster.read_state(posting.instance)).await?;
    let receptions = receptions(&state, posting.instance);
    let mut machine = PostingMachine::new(poster.rules(), *posting);
    machine.record_state(state);
    let (mut writes, mut url) = (0, None);
    loop {
        match machine.next() {
            PostingStep::Done(outcome) => {
                let url = url.or(outcome.url.clone());
                return Ok(PostingOutcome { url, receptions, ..outcome });
            }
            PostingStep::Write(write) => {
                if writes >= WRITES_WITHOUT_PAUSE {
                    tokio::time::sleep(delays.between_writes).await;
                }
                writes += 1;
                let (answer, summary_url) = Box::pin(poster.send(&write)).await;
                url = summary_url.or(url);
                machine.record_answer(answer);
            }
            PostingStep::Read { reread } => {
                let wait = (1..).zip(delays.rereads).find(|(number, _)| *number == reread);
                tokio::time::sleep(wait.map(|(_, wait)| wait).unwrap_or_default()).await;
                match Box::pin(poster.read_state(posting.instance)).await {
                    Ok(state) => machine.record_state(state),
                    Err(error) => machine.record_read_failure(&error.to_string()),
                }
            }
        }
    }
}

/// The writes that [`post_review`] would send.
pub async fn plan_review(
    poster: &impl ForgePoster,
    posting: &ReviewPosting<'_>,
) -> Result<PostingSteps, ForgeError> {
    let state = Box::pin(poster.read_state(posting.instance)).await?;
    Ok(plan(poster.rules(), posting, &state))
}
