//! Reviews without output and without files, for callers that review many changes.

use std::sync::Arc;
use std::time::Instant;

use super::pinned::Pinned;
use crate::config::environment::Environment;
use crate::config::key::SourcedValue;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_agent::{CancelToken, Ledger, TranscriptDetail};
use crh_llm::Redactor;
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::pipeline::ReviewInputs;
use crh_pipeline::resolve::{PinnedChange, UntrackedPolicy};
use crh_pipeline::review_options::{ModelSet, ReviewOptions};
use crh_pipeline::target_args::Target;
use crh_pipeline::{pipeline, run_folder, target_args};
use crh_review::PastDecisions;
use crh_review::finding::Severity;
use crh_review::report::Report;

/// Reviewers and options for all changes.
#[derive(Debug, Clone)]
pub(crate) struct Quiet {
    pub(crate) terms: Arc<ReviewOptions>,
    pub(crate) crew: Option<ModelSet>,
    pub(crate) redactor: Redactor,
    pub(crate) min_severity: Severity,
}

#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) target: Target,
    /// Title and description that replace those of the commits.
    pub(crate) described: Option<Described>,
}

/// Title and description of a change.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub(crate) title: String,
    pub(crate) body: String,
}

impl Quiet {
    /// Reviews a change in the repository of `environment` without asking a remote. `seed` seeds
    /// the retry jitter. `begun` gets the handle that stops the review.
    pub(crate) fn review(
        &self,
        subject: &Subject,
        seed: u64,
        environment: &Environment,
        begun: impl FnOnce(CancelToken),
    ) -> Result<Report, Failure> {
        let since = Instant::now();
        let asked =
            target_args::ParsedTarget { target: subject.target.clone(), mode: None, plan: None };
        let flags = RawSettings {
            git_offline: Some(SourcedValue::from_flag("--offline", true)),
            ..RawSettings::default()
        };
        let describe = |change: &mut PinnedChange| {
            if let Some(Described { title, body }) = subject.described.clone() {
                (change.title, change.body) = (title, body);
            }
        };
        let pinned = Pinned::target(
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
        let subject_of_review = pinned.subject(&workspace)?;
        let journal = ReviewJournal::open(
            None,
            self.redactor.clone(),
            TranscriptDetail::LengthsOnly,
            Vec::new(),
            |_| {},
        );
        begun(journal.cancel().clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.or_fail(FailureKind::External)?;
        let reviewed = runtime.block_on(async {
            pipeline::run_review(ReviewInputs {
                change: Arc::new(subject_of_review),
                options: self.terms.clone(),
                checks: Arc::default(),
                models: self.crew.clone(),
                ledger: Ledger::open(self.terms.budget.ledger_budget()),
                remembered: PastDecisions::default(),
                min_severity: self.min_severity,
                intent_prompt: None,
                journal: journal.clone(),
                run_id: String::new(),
                retry_seed: seed,
                started: since,
            })
            .await
        });
        // Abandoned tools end by themselves.
        runtime.shutdown_background();
        Ok(reviewed.report)
    }
}
