//! The state of the questions in the run folder.

use serde::{Deserialize, Serialize};

use crh_pipeline::run_folder::{FileWriteError, RunFolder};

/// File of the questions in the run folder.
pub(super) const QUESTIONS: &str = "stages/questions.json";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(super) enum Questions {
    /// At least one question is not answered.
    Open(StartPosition),
    /// All questions are answered.
    Answered { decisions: Vec<StoredDecision> },
}

/// Position of the checkout when the questions began. crh undoes fixes only at this position.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct StartPosition {
    #[serde(default)]
    pub(super) head: Option<String>,
    #[serde(default)]
    pub(super) branch: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredDecision {
    pub(super) number: u32,
    pub(super) decision: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) detail: String,
}

pub(crate) fn is_answered(run: &RunFolder) -> bool {
    match run.read::<Questions>(QUESTIONS) {
        Ok(Questions::Answered { .. }) => true,
        Ok(Questions::Open(_)) | Err(_) => false,
    }
}

/// Drops stored answers before a new review.
pub(crate) fn forget_answers(run: &RunFolder) -> Result<(), FileWriteError> {
    match is_answered(run) {
        true => run.store(QUESTIONS, &Questions::Open(StartPosition::default())),
        false => Ok(()),
    }
}
