//! `--since-last`: finds the previous review, and stores what the next one needs.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::super::analysers::ChangeTrust;
use super::super::forge::ForgeProposal;
use super::resolved_change::{ResolvedChange, ResumeState};
use crate::cli::WorkspaceArgs;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::posting::{ReviewBasis, last_saved_review};
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::checks::CheckOptions;
use crh_pipeline::context;
use crh_pipeline::incremental::{CurrentReview, IncrementalReview, PreviousReviewLookup};
use crh_pipeline::pack::PackedChange;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::review_options::{ModelSet, PanelOptions, ReviewOptions};
use crh_review::finding::Severity;
use crh_review::identity::content_id;
use crh_review::report::Strategy;
use crh_review::stable_json_line;

/// File with the incremental base of a run.
pub(in crate::commands) const INCREMENTAL_BASE: &str = "stages/since.json";

/// Reviewer name of all SARIF files.
const SARIF: &str = "sarif";

/// Whether the review is incremental.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum ReviewExtent {
    /// If possible.
    SinceLast,
    Everything,
}

/// The base of an incremental review.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::commands) enum IncrementalBase {
    /// The previous review.
    Since(IncrementalReview),
    /// No previous review can be used, so crh reviews everything. Contains the reason.
    Everything(String),
}

impl ReviewExtent {
    pub(in crate::commands) fn from_flag(since_last: bool) -> Self {
        if since_last { Self::SinceLast } else { Self::Everything }
    }

    /// Fails if the target cannot have a previous review.
    pub(in crate::commands) fn is_for(self, pull: Option<&ForgeProposal>) -> Result<(), Failure> {
        match (self, pull.map(|pull| pull.forge.saves_reviews())) {
            (Self::SinceLast, None) => Err(Failure::usage("`--since-last` needs a pull request")
                .hint("pass its address, `OWNER/NAME#N`, or `N` inside a clone")),
            (Self::SinceLast, Some(false)) => {
                Err(Failure::usage("`--since-last` does not work with Launchpad")
                    .hint("leave it out to review everything"))
            }
            (Self::SinceLast, Some(true)) | (Self::Everything, _) => Ok(()),
        }
    }

    /// Reads the previous review from the pull request or from the archive.
    pub(super) fn last(
        self,
        pull: Option<&ForgeProposal>,
        resolved: &ResolvedChange,
        subject: &ChangeUnderReview,
        prepared: &WorkspaceArgs,
    ) -> Result<Option<PreviousReviewLookup>, Failure> {
        let instance = resolved.settings.instance.value.as_str();
        let packed = resolved
            .packed
            .as_ref()
            .map(PackedChange::previous_review)
            .transpose()
            .or_fail(FailureKind::Usage)?;
        let hint = "`crh prepare --since-last --pack FILE` puts it into an archive";
        let saved = pull.filter(|pull| pull.forge.saves_reviews());
        match (self, packed, saved, resolved.files()) {
            (_, Some(Some(last)), _, _) => Ok(Some(last)),
            (Self::SinceLast, Some(None), _, _) => {
                Err(Failure::usage("the archive does not contain the previous review").hint(hint))
            }
            (Self::SinceLast, None, _, _) if prepared.workspace.is_some() => {
                Err(Failure::usage("a workspace does not contain the previous review").hint(hint))
            }
            (Self::SinceLast, None, Some(pull), Some((bare, head))) => {
                let state = last_saved_review(&pull.state, instance);
                Ok(Some(PreviousReviewLookup::compare(state, &bare, &head, &subject.diff)))
            }
            (Self::SinceLast, None, _, _) => Ok(Some(PreviousReviewLookup::without_commits())),
            (Self::Everything, _, _, _) => Ok(None),
        }
    }
}

impl IncrementalBase {
    /// Decides whether this review can build on the previous one.
    pub(super) fn find(
        last: PreviousReviewLookup,
        subject: &ChangeUnderReview,
        basis: &ReviewBasis,
        inputs: BasisInputs<'_>,
    ) -> Self {
        let models = inputs.model_set.map(ModelSet::names).unwrap_or_default();
        let now = CurrentReview {
            base: &subject.report_change.base_sha,
            head: &subject.report_change.head_sha,
            basis,
            models: &models,
            strategy: inputs.terms.strategy,
        };
        match last.incremental(&now) {
            Ok(since) => Self::Since(since),
            Err(why) => Self::Everything(why.to_string()),
        }
    }

    /// Restricts the change to what is new, and prints a note.
    pub(super) fn limit_scope(self, mut subject: ChangeUnderReview) -> ChangeUnderReview {
        match self {
            Self::Since(since) => {
                ui::note(&since.sentence());
                subject.into_incremental(since)
            }
            Self::Everything(why) => {
                let note = format!("reviewing everything despite `--since-last`: {why}");
                ui::note(&note);
                subject.notes.push(note);
                subject
            }
        }
    }

    /// The previous review, if this one builds on it.
    pub(in crate::commands) fn since(self) -> Option<IncrementalReview> {
        match self {
            Self::Since(since) => Some(since),
            Self::Everything(_) => None,
        }
    }
}

/// Inputs that determine what a review finds.
#[derive(Clone, Copy)]
pub(super) struct BasisInputs<'a> {
    pub(super) terms: &'a ReviewOptions,
    pub(super) checks: &'a CheckOptions,
    pub(super) model_set: Option<&'a ModelSet>,
    pub(super) min_severity: Severity,
    pub(super) trust: ChangeTrust,
}

/// Configuration that decides what crh reviews and how, independent of the machine. Leaves out
/// storage, concurrency and report style.
#[derive(Serialize)]
struct Configuration<'a, R> {
    /// Version of crh. Another version may review other files and find other issues.
    crh: &'static str,
    rules: R,
    asked: crh_review::verdict::CommandKind,
    allowance: &'a crh_pipeline::review_options::ReviewBudget,
    language: &'a str,
    min_severity: Severity,
    is_trusted: bool,
    /// Hashes of the project's instructions for reviewers, by name.
    instructions: BTreeMap<String, String>,
    /// Hashes of the attributes that select files, by path.
    attributes: BTreeMap<String, String>,
    /// Panel options, and a hash of the available reviewers. `None` without a panel.
    panel: Option<(&'a PanelOptions, String)>,
}

/// The inputs that must be the same in the next review, so that it can be incremental. Models,
/// strategy and base are in the report.
pub(super) fn basis(
    resolved: &ResolvedChange,
    change_facts: &ResumeState,
    subject: &ChangeUnderReview,
    inputs: BasisInputs<'_>,
) -> Result<ReviewBasis, Failure> {
    let BasisInputs { terms, checks, .. } = inputs;
    let configuration = Configuration {
        crh: env!("CARGO_PKG_VERSION"),
        rules: change_facts.rules_of_review(),
        asked: terms.command,
        allowance: &terms.budget,
        language: &terms.language,
        min_severity: inputs.min_severity,
        is_trusted: inputs.trust == ChangeTrust::Always,
        instructions: instructions(subject)?,
        attributes: resolved.attribute_files(&subject.diff)?,
        panel: match terms.strategy {
            Strategy::Panel => {
                let (catalogue, _) = context::catalogue(subject, resolved.work());
                Some((&terms.panel, catalogue.version()))
            }
            Strategy::Single | Strategy::Delegate | Strategy::Static => None,
        },
    };
    let configuration = stable_json_line(&configuration).or_fail(FailureKind::Bug)?;
    let installed = checks.analysers.iter().flat_map(|all| all.installed().map(|(name, _)| name));
    let sarif = (!checks.sarif.is_empty()).then_some(SARIF);
    let reviewers = crh_lint::REVIEWERS.iter().copied().chain(installed).chain(sarif);
    let mut reviewers: Vec<String> = reviewers.map(str::to_owned).collect();
    reviewers.sort();
    Ok(ReviewBasis {
        configuration: content_id(configuration.as_bytes()),
        prompt_version: Prompts::version(&terms.overrides),
        reviewers,
    })
}

fn instructions(subject: &ChangeUnderReview) -> Result<BTreeMap<String, String>, Failure> {
    let workspace = subject.workspace().or_fail(FailureKind::Bug)?;
    let names = workspace.instruction_files().context("the project's instructions");
    let hash = |name: String| {
        let bytes = workspace.bytes(&format!("agent/{name}")).or_fail(FailureKind::External)?;
        Ok((name, content_id(&bytes)))
    };
    names.or_fail(FailureKind::External)?.into_iter().map(hash).collect()
}
