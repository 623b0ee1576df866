//! A review that leaves nothing behind and says nothing: for whoever reviews many changes.

use std::sync::Arc;
use std::time::Instant;

use super::pinned::Pinned;
use crate::config::environment::Environment;
use crate::config::key::Given;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, Kind, OrFail};
use crh_agent::{Cancel, Contents, Ledger};
use crh_llm::Redactor;
use crh_pipeline::asked::Target;
use crh_pipeline::journal::Journal;
use crh_pipeline::pipeline::Review;
use crh_pipeline::target::{Change, Untracked};
use crh_pipeline::terms::{Crew, Terms};
use crh_pipeline::{asked, pipeline, run_folder};
use crh_review::Remembered;
use crh_review::finding::Severity;
use crh_review::report::Report;

/// Who reviews, and on what terms: the same for every change.
#[derive(Debug, Clone)]
pub(crate) struct Quiet {
    pub(crate) terms: Arc<Terms>,
    pub(crate) crew: Option<Crew>,
    pub(crate) redactor: Redactor,
    pub(crate) min_severity: Severity,
}

/// A change that is to be reviewed.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) target: Target,
    /// What it is called and what it says about itself, over what its commits say.
    pub(crate) described: Option<Described>,
}

/// What a change is called and what it says about itself.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub(crate) title: String,
    pub(crate) body: String,
}

impl Quiet {
    /// Reviews a change of the repository of `environment`, from what is there: no remote is asked. Waits between attempts
    /// take their randomness from `seed`. `begun` is given what stops it.
    pub(crate) fn review(
        &self,
        subject: &Subject,
        seed: u64,
        environment: &Environment,
        begun: impl FnOnce(Cancel),
    ) -> Result<Report, Failure> {
        let since = Instant::now();
        let asked = asked::Asked { target: subject.target.clone(), mode: None, plan: None };
        let flags = RawSettings {
            git_offline: Some(Given::by_flag("--offline", true)),
            ..RawSettings::default()
        };
        let describe = |change: &mut Change| {
            if let Some(Described { title, body }) = subject.described.clone() {
                (change.title, change.body) = (title, body);
            }
        };
        let pinned = Pinned::target(
            &asked,
            &mut None,
            Untracked::Named,
            environment,
            flags,
            None,
            describe,
        )?;
        let folder = tempfile::tempdir().or_fail(Kind::Outside)?;
        let workspace = folder.path().join(run_folder::WORKSPACE);
        let subject_of_review = pinned.subject(&workspace)?;
        let journal =
            Journal::open(None, self.redactor.clone(), Contents::Withheld, Vec::new(), |_| {});
        begun(journal.cancel().clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.or_fail(Kind::Outside)?;
        let reviewed = runtime.block_on(async {
            pipeline::review(Review {
                subject: Arc::new(subject_of_review),
                terms: self.terms.clone(),
                checks: Arc::default(),
                crew: self.crew.clone(),
                ledger: Ledger::open(self.terms.allowance.budget()),
                remembered: Remembered::default(),
                min_severity: self.min_severity,
                person: None,
                journal: journal.clone(),
                run_id: String::new(),
                seed,
                since,
            })
            .await
        });
        // Tools that nobody waits for any more end by themselves.
        runtime.shutdown_background();
        Ok(reviewed.report)
    }
}
