//! Reviews without output and without a run folder, for callers that review many changes.

use std::sync::Arc;
use std::time::Instant;

use tempfile::TempDir;

use crate::host::EvalHost;
use crate::reviews::ReviewTask;
use crh_agent::{CancelToken, Ledger, TranscriptDetail};
use crh_llm::Redactor;
use crh_pipeline::bare::{BareOutcome, BareReview};
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::pipeline::{ReviewInputs, ReviewOutput};
use crh_pipeline::review_options::{ModelSet, ReviewOptions};
use crh_pipeline::{pipeline, run_folder};
use crh_review::PastDecisions;
use crh_review::finding::Severity;

/// Reviewers and options for all changes.
#[derive(Debug, Clone)]
pub struct QuietReviewer {
    /// Options of every review.
    pub terms: Arc<ReviewOptions>,
    /// `None` for static reviews.
    pub model_set: Option<ModelSet>,
    /// Removes secrets from what the journal gets.
    pub redactor: Redactor,
    /// Lowest severity that is published.
    pub min_severity: Severity,
}

/// A change that is ready for review.
struct QuietReview {
    change: Arc<ChangeUnderReview>,
    journal: ReviewJournal,
    /// Holds the workspace.
    _folder: TempDir,
}

impl QuietReviewer {
    /// Reviews a change. `seed` seeds the retry jitter. `on_start` gets the handle that stops the
    /// review.
    pub(crate) fn review(
        &self,
        task: &ReviewTask,
        seed: u64,
        host: &dyn EvalHost,
        on_start: impl FnOnce(CancelToken),
    ) -> Result<ReviewOutput, Failure> {
        let since = Instant::now();
        let review = self.open(task, host)?;
        on_start(review.journal.cancel().clone());
        let inputs = ReviewInputs {
            change: review.change.clone(),
            options: self.terms.clone(),
            checks: Arc::default(),
            models: self.model_set.clone(),
            needs_model_flag: false,
            ledger: Ledger::open(self.terms.budget.ledger_budget()),
            remembered: PastDecisions::default(),
            // An evaluation must not depend on the outcomes of the user's repositories.
            calibration: None,
            min_severity: self.min_severity,
            intent_prompt: None,
            test_command: None,
            journal: review.journal.clone(),
            run_id: String::new(),
            retry_seed: seed,
            started: since,
        };
        block_on(pipeline::run_review(inputs))
    }

    /// Lets the model alone review a change. Like [`Self::review`] otherwise.
    pub(crate) fn review_bare(
        &self,
        task: &ReviewTask,
        seed: u64,
        host: &dyn EvalHost,
        on_start: impl FnOnce(CancelToken),
    ) -> Result<BareOutcome, Failure> {
        let review = self.open(task, host)?;
        on_start(review.journal.cancel().clone());
        let model_set = self.model_set.as_ref();
        let model =
            model_set.ok_or_else(|| Failure::usage("no model is configured"))?.reviewer.clone();
        let bare = BareReview {
            change: review.change.clone(),
            model,
            budget: self.terms.budget.clone(),
            journal: review.journal.clone(),
            retry_seed: seed,
        };
        block_on(bare.run())?.or_fail(FailureKind::External)
    }

    fn open(&self, task: &ReviewTask, host: &dyn EvalHost) -> Result<QuietReview, Failure> {
        let folder = tempfile::tempdir().or_fail(FailureKind::External)?;
        let workspace = folder.path().join(run_folder::WORKSPACE);
        let change = Arc::new(host.open_change(task, &workspace)?);
        let journal = ReviewJournal::open(
            None,
            self.redactor.clone(),
            TranscriptDetail::LengthsOnly,
            Vec::new(),
            |_| {},
        );
        Ok(QuietReview { change, journal, _folder: folder })
    }
}

fn block_on<T>(review: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    let reviewed = runtime.block_on(review);
    // Abandoned tools end by themselves.
    runtime.shutdown_background();
    Ok(reviewed)
}
