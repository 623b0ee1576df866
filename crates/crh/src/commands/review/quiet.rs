//! Reviews without output and without files, for callers that review many changes.

use std::sync::Arc;
use std::time::Instant;

use tempfile::TempDir;

use super::description::TitleAndBody;
use super::resolved_change::ResolvedChange;
use crate::config::environment::Environment;
use crate::config::key::SourcedValue;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_agent::{CancelToken, Ledger, TranscriptDetail};
use crh_llm::Redactor;
use crh_pipeline::bare::{BareOutcome, BareReview};
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::pipeline::{ReviewInputs, ReviewOutput};
use crh_pipeline::resolve::{PinnedChange, UntrackedPolicy};
use crh_pipeline::review_options::{ModelSet, ReviewOptions};
use crh_pipeline::target_args::Target;
use crh_pipeline::{pipeline, run_folder, target_args};
use crh_review::PastDecisions;
use crh_review::finding::Severity;

/// Reviewers and options for all changes.
#[derive(Debug, Clone)]
pub(crate) struct QuietReviewer {
    pub(crate) terms: Arc<ReviewOptions>,
    pub(crate) model_set: Option<ModelSet>,
    pub(crate) redactor: Redactor,
    pub(crate) min_severity: Severity,
}

#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) target: Target,
    /// Replaces the title and body of the commits.
    pub(crate) description: Option<TitleAndBody>,
}

/// A change that is ready for review.
struct QuietReview {
    change: Arc<ChangeUnderReview>,
    journal: ReviewJournal,
    /// Holds the workspace.
    _folder: TempDir,
}

impl QuietReviewer {
    /// Reviews a change in the repository of `environment` without asking a remote. `seed` seeds
    /// the retry jitter. `session` gets the handle that stops the review.
    pub(crate) fn review(
        &self,
        subject: &Subject,
        seed: u64,
        environment: &Environment,
        session: impl FnOnce(CancelToken),
    ) -> Result<ReviewOutput, Failure> {
        let since = Instant::now();
        let review = self.open(subject, environment)?;
        session(review.journal.cancel().clone());
        let inputs = ReviewInputs {
            change: review.change.clone(),
            options: self.terms.clone(),
            checks: Arc::default(),
            models: self.model_set.clone(),
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
        subject: &Subject,
        seed: u64,
        environment: &Environment,
        session: impl FnOnce(CancelToken),
    ) -> Result<BareOutcome, Failure> {
        let review = self.open(subject, environment)?;
        session(review.journal.cancel().clone());
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

    /// Resolves a change and writes its workspace.
    fn open(&self, subject: &Subject, environment: &Environment) -> Result<QuietReview, Failure> {
        let asked =
            target_args::ParsedTarget { target: subject.target.clone(), mode: None, plan: None };
        let flags = RawSettings {
            git_offline: Some(SourcedValue::from_flag("--offline", true)),
            ..RawSettings::default()
        };
        let describe = |change: &mut PinnedChange| {
            if let Some(description) = &subject.description {
                description.apply(change);
            }
        };
        let resolved = ResolvedChange::target(
            &asked,
            &mut None,
            UntrackedPolicy::Listed,
            environment,
            flags,
            None,
            describe,
        )?;
        let folder = tempfile::tempdir().or_fail(FailureKind::External)?;
        let workspace = folder.path().join(run_folder::WORKSPACE);
        let change = Arc::new(resolved.subject(&workspace)?);
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
