//! Prepares a review before the first model call: the change, the options, the models, the run
//! folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::super::analysers::{ChangeTrust, Reproducible, analysers, test_command};
use super::super::forge::{ExpectedHead, ForgeProposal, PullRequestLookup};
use super::super::github::{Audience, SkipRules};
use super::super::limits::WorkTime;
use super::super::models::{ModelLoading, ModelResolver};
use super::super::{change_source, forge, github, learning, run_lookup};
use super::description::TitleAndBody;
use super::recovery::TreeAccess;
use super::resolved_change::{Origin, ResolvedChange};
use super::resumed_run::ResumedRun;
use super::run_location::RunLocation;
use super::since::{BasisInputs, INCREMENTAL_BASE, IncrementalBase, ReviewExtent};
use super::{checks, resumed, since, terms};
use crate::cli::{PanelArgs, PromptArgs, SarifFlags, TrustArgs, WorkspaceArgs};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, ui};
use crh_agent::UsageTotals;
use crh_forge::posting::ReviewBasis;
use crh_git::{BareRepository, Repository};
use crh_lint::analysers::Analysers;
use crh_llm::Redactor;
use crh_os::names::canonical;
use crh_pipeline::change_secrets::ChangeSecrets;
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::checks::CheckOptions;
use crh_pipeline::dismissals::ForgeDismissal;
use crh_pipeline::pack::PackedChange;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::proof::TestCommand;
use crh_pipeline::resolve::{CheckoutMatch, UntrackedPolicy};
use crh_pipeline::review_options::{ModelSet, ReviewOptions};
use crh_pipeline::run_folder::{CheckoutState, RunFolder, StampKey, Timestamp};
use crh_pipeline::runs::RunRecord;
use crh_pipeline::sinks::ForgeName;
use crh_pipeline::target_args;
use crh_review::identity::{ReviewKey, review_id};
use crh_review::report::{ReviewMode, Strategy};
use crh_review::verdict::CommandKind;

/// Hint if no model is configured.
pub(in crate::commands) const NO_MODEL: &str = "set `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY` or `OPENROUTER_API_KEY`, name a model with `--model`, or set up a local one with `crh init --local`; `crh doctor` says more";

/// File in the run folder with the [`ReviewBasis`], for posting.
pub(in crate::commands) const BASIS: &str = "stages/basis.json";

/// A request for a review, as parsed from the command line.
pub(super) struct ReviewRequest {
    pub(super) command: CommandKind,
    pub(super) parsed_target: target_args::ParsedTarget,
    /// Replaces the title and body of the commits.
    pub(super) description: Option<TitleAndBody>,
    pub(super) pull_lookup: PullRequestLookup,
    pub(super) posts: PostDestination,
    pub(super) stale_approvals: StaleApprovals,
    pub(super) rules: SkipRules,
    pub(super) extent: ReviewExtent,
    /// The head that the pull request must have.
    pub(super) head: Option<ExpectedHead>,
    pub(super) untracked: UntrackedPolicy,
    pub(super) mode: ReviewMode,
    pub(super) prepared: WorkspaceArgs,
    pub(super) panel: PanelArgs,
    pub(super) prompts: PromptArgs,
    pub(super) trust: TrustArgs,
    pub(super) sarif: SarifFlags,
    pub(super) flags: RawSettings,
    pub(super) kept: StoragePolicy,
    pub(super) reopen_purpose: ReopenPurpose,
    pub(super) loading: ModelLoading,
    pub(super) tree: TreeAccess,
    pub(super) run_dir: Option<PathBuf>,
}

/// Where the review is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostDestination {
    To(ForgeName),
    Nothing,
}

/// What happens to crh's approvals of older heads before the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StaleApprovals {
    Withdrawn,
    /// The review posts no votes.
    Kept,
}

/// Whether crh keeps the run folder of the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoragePolicy {
    Run,
    Nothing,
}

/// Why an existing run is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReopenPurpose {
    /// To finish the review.
    Reviewing,
    /// To fix issues; some fixes need no model.
    Fixing,
}

/// A prepared review, before its first model call.
pub(crate) struct ReviewSession {
    pub(crate) settings: Settings,
    pub(crate) terms: ReviewOptions,
    pub(crate) checks: CheckOptions,
    pub(crate) model_set: Option<ModelSet>,
    pub(crate) redactor: Redactor,
    pub(crate) subject: ChangeUnderReview,
    pub(crate) place: RunLocation,
    pub(crate) earlier: EarlierAttempt,
    pub(crate) log_content: bool,
    pub(crate) since: Instant,
    /// The pull request of the change.
    pub(crate) pull: Option<ForgeProposal>,
    /// The repository with the files of the change, and their commit.
    pub(crate) files: Option<(BareRepository, String)>,
    /// Issues that were dismissed on the forge.
    pub(crate) dismissed: Vec<ForgeDismissal>,
    /// Inputs that must be the same in the next review, so that it can be incremental.
    pub(crate) basis: ReviewBasis,
    /// The reviewed checkout, for clickable paths and for fixes.
    pub(crate) checkout: Option<PathBuf>,
    /// Whether the checkout matches the reviewed change.
    pub(crate) checked_out: CheckoutMatch,
    /// Why an interrupted fix could not be rolled back.
    pub(crate) interrupted_fix: Option<Failure>,
    pub(crate) trust: ChangeTrust,
    /// Runs tests that the editor proposes.
    pub(crate) test_command: Option<Arc<TestCommand>>,
    /// Keeps the unpacked archive alive.
    _packed: Option<PackedChange>,
}

/// State of an earlier attempt.
#[derive(Default)]
pub(crate) struct EarlierAttempt {
    pub(super) runs: Vec<RunRecord>,
    pub(super) spent: UsageTotals,
}

impl ReviewRequest {
    /// A request to review a prepared or stored change. The review posts, stores and skips nothing.
    pub(super) fn from_prepared(prepared: WorkspaceArgs, flags: RawSettings) -> Self {
        Self {
            command: CommandKind::Review,
            parsed_target: target_args::ParsedTarget {
                target: target_args::Target::CurrentBranch,
                mode: None,
                plan: None,
            },
            description: None,
            pull_lookup: PullRequestLookup::from_no_pr_flag(true),
            posts: PostDestination::Nothing,
            stale_approvals: StaleApprovals::Kept,
            rules: SkipRules::from_no_skip_flag(true, Audience::OnePerson),
            extent: ReviewExtent::Everything,
            head: None,
            untracked: UntrackedPolicy::Listed,
            mode: ReviewMode::ReportOnly,
            prepared,
            panel: PanelArgs::default(),
            prompts: PromptArgs::default(),
            trust: TrustArgs::default(),
            sarif: SarifFlags::default(),
            flags,
            kept: StoragePolicy::Nothing,
            reopen_purpose: ReopenPurpose::Reviewing,
            loading: ModelLoading::BeforeUse,
            tree: TreeAccess::Stays,
            run_dir: None,
        }
    }

    /// A request to review an archive of `crh prepare --pack`.
    #[cfg(all(feature = "server", unix))]
    pub(super) fn from_archive(packed: PathBuf, flags: RawSettings) -> Self {
        let packed = WorkspaceArgs { packed: Some(packed), ..WorkspaceArgs::default() };
        Self::from_prepared(packed, flags)
    }

    /// Prepares the review. Sends nothing to a model.
    pub(super) fn begin(self, environment: &Environment) -> Result<ReviewSession, Failure> {
        // A repository cannot set the limit, so its config is not read.
        let user_settings = config::load(environment, None, self.flags.clone())?;
        let time = WorkTime::start(terms::time_limit(&user_settings));
        self.prepare(environment).map_err(|failure| time.explain(failure))
    }

    #[expect(clippy::too_many_lines, reason = "one step after the other; a later change splits it")]
    fn prepare(self, environment: &Environment) -> Result<ReviewSession, Failure> {
        let since = Instant::now();
        let resumed = self.resumed(environment)?;
        let runs = self.runs(resumed.as_ref(), environment)?;
        let mut pull = self.pull(environment)?;
        let interrupted_fix =
            self.rolled_back(&mut pull, resumed.as_ref(), runs.as_deref(), environment);
        let resolved = self.resolved(&mut pull, resumed.as_ref(), runs.as_deref(), environment)?;
        self.check_can_post(&resolved, pull.as_ref())?;
        let settings = resolved.settings.clone();
        github::check_skip_rules(self.rules, pull.as_ref(), &settings)?;
        let mut terms = self.terms(resumed.as_ref(), &settings)?;
        let sarif = self.sarif_files(resumed.as_ref());
        let checks = checks::terms(&resolved.silencing, &sarif, environment)?;
        let models = ModelResolver::new(&settings, environment)?.with_loading(self.loading);
        let model_set = self.model_set(&models, &settings, &mut terms)?;
        let model_set = self.reject_changed_models(resumed.as_ref(), model_set)?;
        let redactor =
            models.redactor_with(pull.as_ref().map_or(&[][..], |pull| pull.secrets.as_slice()));
        let id = id(&resolved, &terms, model_set.as_ref());
        let place = RunLocation::open(
            resumed,
            runs,
            Timestamp::from_system_time(environment.now()),
            &id,
            &redactor,
            self.stamp_key(&settings).as_ref(),
        )?;
        let mut subject = resolved.subject(&place.workspace())?;
        let lessons = learning::review_lessons(
            resolved.silencing.lessons(),
            &subject.report_change.repo,
            &settings,
            environment,
        );
        subject.notes.extend(lessons.problems);
        subject.lessons = Arc::new(lessons.lessons);
        let place = place.hiding(ChangeSecrets::from_diff(&subject.diff));
        let earlier = self.earlier(&place)?;
        self.settle_panel(&mut terms, &subject, resolved.work(), &settings, environment)
            .inspect_err(|_| self.discard(&place))?;
        let trust = self.trust_in(resolved.origin);
        let analysers = self.analysers(&settings, trust, environment);
        subject.tool_context = subject.tool_context.with_analysers(analysers.clone());
        let checks = CheckOptions {
            analysers,
            change_origin: resolved.work(),
            author: resolved.author(),
            ..checks
        };
        let basis_inputs = BasisInputs {
            terms: &terms,
            checks: &checks,
            model_set: model_set.as_ref(),
            min_severity: settings.review_min_severity.value.severity(),
            trust,
        };
        let change_facts = resolved.change_facts(&sarif, environment).asking(model_set.as_ref());
        let basis = since::basis(&resolved, &change_facts, &subject, basis_inputs)?;
        let incremental_base = match self.stored_incremental_base(&place) {
            Some(before) => before,
            None => {
                let last = self.extent.last(pull.as_ref(), &resolved, &subject, &self.prepared)?;
                last.map(|last| IncrementalBase::find(last, &subject, &basis, basis_inputs))
            }
        };
        if let (RunLocation::Kept(folder), None) = (&place, &self.prepared.resume) {
            resumed::store(folder, &terms, change_facts)?;
            store_basis(folder, &basis, incremental_base.as_ref())?;
            folder.store_masked_diff(&subject.diff).or_fail(FailureKind::External)?;
            folder
                .write_start(&self.checkout_state(&subject, environment))
                .or_fail(FailureKind::External)?;
        }
        let test_command = model_set
            .as_ref()
            .and_then(|_| self.test_command(&settings, &resolved, trust, environment));
        Ok(ReviewSession {
            test_command,
            settings,
            terms,
            checks,
            model_set,
            redactor,
            subject: narrowed(subject, incremental_base),
            place,
            earlier,
            log_content: self.prompts.log_content,
            since,
            pull,
            files: resolved.files(),
            dismissed: resolved.dismissed,
            basis,
            checkout: resolved.checkout,
            checked_out: resolved.checked_out,
            interrupted_fix,
            trust,
            _packed: resolved.packed,
        })
    }

    /// The incremental base of a resumed review, as decided when it began.
    fn stored_incremental_base(&self, place: &RunLocation) -> Option<Option<IncrementalBase>> {
        match (place, &self.prepared.resume) {
            (RunLocation::Kept(folder), Some(_)) => Some(folder.read(INCREMENTAL_BASE).ok()),
            (RunLocation::Kept(_) | RunLocation::Passing { .. }, _) => None,
        }
    }

    /// The state of the checkout in `--repo`, or of the one that crh runs in.
    fn checkout_state(
        &self,
        subject: &ChangeUnderReview,
        environment: &Environment,
    ) -> CheckoutState {
        let folder = match &self.prepared.repo {
            Some(repo) => environment.folder.join(repo),
            None => environment.folder.clone(),
        };
        match Repository::discover(&folder) {
            Ok(repository) => CheckoutState::from_repository(&repository),
            Err(_) => CheckoutState::from_change(&subject.report_change),
        }
    }

    fn terms(
        &self,
        resumed: Option<&ResumedRun>,
        settings: &Settings,
    ) -> Result<ReviewOptions, Failure> {
        match resumed {
            Some(resumed) => Ok(resumed.options.clone()),
            None => terms::terms(settings, self.command, self.mode, &self.panel, &self.prompts),
        }
    }

    /// The run to resume, if any.
    fn resumed(&self, environment: &Environment) -> Result<Option<ResumedRun>, Failure> {
        let run = self.prepared.resume.as_deref();
        run.map(|run| ResumedRun::open(run, self, environment)).transpose()
    }

    /// Folder of all runs, if this review creates a run in it.
    fn runs(
        &self,
        resumed: Option<&ResumedRun>,
        environment: &Environment,
    ) -> Result<Option<PathBuf>, Failure> {
        match (self.kept, resumed) {
            (StoragePolicy::Run, None) => {
                run_lookup::runs_folder(environment, self.run_dir.as_deref()).map(Some)
            }
            (StoragePolicy::Nothing, None)
            | (StoragePolicy::Nothing | StoragePolicy::Run, Some(_)) => Ok(None),
        }
    }

    /// Key that stamps the run, if this review keeps its run.
    fn stamp_key(&self, settings: &Settings) -> Option<StampKey> {
        let create = || {
            let state =
                settings.state_folder.value.path().map_err(|failure| failure.error.to_string())?;
            StampKey::load_or_create(state).map_err(|why| why.to_string())
        };
        match self.kept {
            StoragePolicy::Nothing => None,
            StoragePolicy::Run => create()
                .map_err(|why| {
                    ui::warn(&format!(
                        "cannot mark the run as created on this machine, so `crh fix` and `crh show` will not use it: {why}"
                    ));
                })
                .ok(),
        }
    }

    fn analysers(
        &self,
        settings: &Settings,
        trust: ChangeTrust,
        environment: &Environment,
    ) -> Option<Arc<Analysers>> {
        let recorded = Reproducible::from_settings(settings, self.prompts.record.as_deref());
        analysers(settings, environment, self.prepared.repo.as_deref(), trust, recorded)
    }

    fn test_command(
        &self,
        settings: &Settings,
        resolved: &ResolvedChange,
        trust: ChangeTrust,
        environment: &Environment,
    ) -> Option<Arc<TestCommand>> {
        let recorded = Reproducible::from_settings(settings, self.prompts.record.as_deref());
        test_command(settings, environment, resolved.checkout.as_deref(), trust, recorded)
    }

    /// The pull request of the change, if the target can have one.
    fn pull(&self, environment: &Environment) -> Result<Option<ForgeProposal>, Failure> {
        match &self.prepared {
            WorkspaceArgs { workspace: None, packed: None, resume: None, .. } => {
                let target = &self.parsed_target.target;
                let found =
                    forge::find_proposal(target, self.pull_lookup, environment, &self.flags)?;
                self.withdraw_stale_approvals(found.as_ref(), environment)?;
                self.check_pull(found.as_ref())?;
                Ok(found)
            }
            WorkspaceArgs { .. } => match self.posts {
                PostDestination::To(_) => Err(Failure::usage(
                    "crh cannot post a prepared or resumed review right away",
                )
                .hint(
                    "leave out the `--sink` that posts, and run `crh post RUN` after the review",
                )),
                PostDestination::Nothing => Ok(None),
            },
        }
    }

    /// Withdraws crh's approvals of older heads before the review, because the review may fail.
    fn withdraw_stale_approvals(
        &self,
        pull: Option<&ForgeProposal>,
        environment: &Environment,
    ) -> Result<(), Failure> {
        match (self.posts, self.stale_approvals, pull) {
            (PostDestination::To(forge), StaleApprovals::Withdrawn, Some(pull))
                if pull.forge.name() == forge =>
            {
                let settings = config::load(environment, None, self.flags.clone())?;
                pull.withdraw_stale_approvals(environment, &settings);
                Ok(())
            }
            (PostDestination::To(_) | PostDestination::Nothing, _, _) => Ok(()),
        }
    }

    /// Fails if a flag needs a pull request and there is none, or if its head is another commit
    /// than expected.
    fn check_pull(&self, pull: Option<&ForgeProposal>) -> Result<(), Failure> {
        if let PostDestination::To(forge) = self.posts {
            forge::check_posting_target(forge, pull)?;
        }
        if let (Some(pull), Some(_)) = (pull, &self.description) {
            let message =
                format!("`--description` given, but the {} has a description", pull.word());
            return Err(Failure::usage(message)
                .hint("leave it out, or pass `--no-pr` to review the branch alone"));
        }
        self.extent.is_for(pull)?;
        ExpectedHead::check(self.head.as_ref(), pull)
    }

    /// Resolves the target.
    fn resolved(
        &self,
        pull: &mut Option<ForgeProposal>,
        resumed: Option<&ResumedRun>,
        runs: Option<&Path>,
        environment: &Environment,
    ) -> Result<ResolvedChange, Failure> {
        match (resumed, &self.prepared) {
            (None, WorkspaceArgs { workspace: None, packed: None, .. }) => {
                let resolved = ResolvedChange::target(
                    &self.parsed_target,
                    pull,
                    self.untracked,
                    environment,
                    self.flags.clone(),
                    runs,
                    |change| {
                        if let Some(description) = &self.description {
                            description.apply(change);
                        }
                        change_source::print_notes(change);
                    },
                )?;
                self.check_pull(pull.as_ref())?;
                Ok(resolved)
            }
            (resumed, prepared) => {
                ResolvedChange::prepared(prepared, resumed, environment, self.flags.clone())
            }
        }
    }

    /// Fails if crh cannot post the review. Runs before the first model call.
    fn check_can_post(
        &self,
        resolved: &ResolvedChange,
        pull: Option<&ForgeProposal>,
    ) -> Result<(), Failure> {
        let (PostDestination::To(_), Some(pull)) = (self.posts, pull) else { return Ok(()) };
        let word = pull.word();
        if !pull.proposal.open {
            return Err(Failure::usage(format!(
                "the {word} is closed, so crh does not post to it"
            ))
            .hint("leave out the `--sink` that posts to review it anyway"));
        }
        if resolved.change.head_sha != pull.proposal.source.commit {
            let message = format!("the reviewed commit is not the head of the {word}");
            return Err(Failure::usage(message)
                .hint("push your commits, or leave out the `--sink` that posts"));
        }
        Ok(())
    }

    /// State of the earlier attempt of a resumed run.
    fn earlier(&self, place: &RunLocation) -> Result<EarlierAttempt, Failure> {
        match (place, &self.prepared.resume) {
            (RunLocation::Kept(folder), Some(_)) => {
                let spent = folder.spent_before().map_err(run_lookup::folder_failure)?;
                Ok(EarlierAttempt { runs: folder.completed_runs(), spent })
            }
            (RunLocation::Kept(_) | RunLocation::Passing { .. }, _) => {
                Ok(EarlierAttempt::default())
            }
        }
    }

    /// SARIF files. A resumed run reads its files again unless others are given.
    fn sarif_files(&self, resumed: Option<&ResumedRun>) -> SarifFlags {
        match resumed {
            Some(ResumedRun { change_facts, .. }) if self.sarif.sarif.is_empty() => SarifFlags {
                sarif: change_facts.sarif.clone(),
                sarif_base: change_facts.sarif_base.clone(),
            },
            Some(_) | None => self.sarif.clone(),
        }
    }

    fn trust_in(&self, origin: Origin) -> ChangeTrust {
        match (self.trust.trust, origin) {
            (true, _) => ChangeTrust::Always,
            (false, Origin::Repository) => ChangeTrust::IfListed,
            (false, Origin::Forge | Origin::Prepared) => ChangeTrust::Never,
        }
    }

    /// Fails if a resumed review would use other models than before, unless the user named them.
    /// The code must not go to a vendor that the user did not choose. For fixes, returns `None`
    /// instead: some fixes need no model.
    fn reject_changed_models(
        &self,
        resumed: Option<&ResumedRun>,
        model_set: Option<ModelSet>,
    ) -> Result<Option<ModelSet>, Failure> {
        let before =
            resumed.map(|resumed| resumed.change_facts.models.as_str()).unwrap_or_default();
        let now = model_set.as_ref().map(ModelSet::names).unwrap_or_default();
        let is_named = self.flags.model_reviewer.is_some();
        if before.is_empty() || now.is_empty() || before == now || is_named {
            return Ok(model_set);
        }
        let message = format!("the review used `{before}`, and `{now}` is configured now");
        let hint = "choose a model with `--model`";
        match self.reopen_purpose {
            ReopenPurpose::Reviewing => Err(Failure::usage(message).hint(hint)),
            ReopenPurpose::Fixing => {
                ui::warn(&format!("no model is used: {message}"));
                ui::note(hint);
                Ok(None)
            }
        }
    }

    /// The models, if the strategy needs any. If no model is configured, a new review runs only
    /// static checks, with a warning; a resumed review fails; fixing goes on without models.
    fn model_set(
        &self,
        models: &ModelResolver<'_>,
        settings: &Settings,
        terms: &mut ReviewOptions,
    ) -> Result<Option<ModelSet>, Failure> {
        if terms.strategy == Strategy::Static {
            return Ok(None);
        }
        if models.has_no_model(settings) && self.reopen_purpose == ReopenPurpose::Fixing {
            return Ok(None);
        }
        if models.has_no_model(settings) && self.prepared.resume.is_some() {
            // Static checks alone must not replace a review that was paid for.
            return Err(Failure::usage("no model is configured, so the review cannot be resumed")
                .hint(NO_MODEL));
        }
        if models.has_no_model(settings) {
            let is_plan_named = self.parsed_target.plan.is_some() || self.panel.plan.is_some();
            let flag = self.panel_flag(is_plan_named).or(self.model_flag(settings));
            if let Some(flag) = flag {
                return Err(Failure::usage(format!("`{flag}` needs a model")).hint(NO_MODEL));
            }
            ui::warn("no model is configured; running static checks only");
            ui::note(NO_MODEL);
            terms.strategy = Strategy::Static;
            return Ok(None);
        }
        models.open_all(settings, self.prompts.record.as_deref()).map(Some)
    }
}

/// Restricts an incremental review to the files that changed since the previous review.
fn narrowed(
    subject: ChangeUnderReview,
    incremental_base: Option<IncrementalBase>,
) -> ChangeUnderReview {
    match incremental_base {
        Some(incremental_base) => incremental_base.limit_scope(subject),
        None => subject,
    }
}

/// Stores what the next review of the pull request needs.
fn store_basis(
    folder: &RunFolder,
    basis: &ReviewBasis,
    incremental_base: Option<&IncrementalBase>,
) -> Result<(), Failure> {
    folder.store_masked(BASIS, basis).or_fail(FailureKind::External)?;
    match incremental_base {
        Some(incremental_base) => {
            folder.store_masked(INCREMENTAL_BASE, incremental_base).or_fail(FailureKind::External)
        }
        None => Ok(()),
    }
}

fn id(resolved: &ResolvedChange, terms: &ReviewOptions, model_set: Option<&ModelSet>) -> String {
    review_id(&ReviewKey {
        repo: &resolved.change.repo,
        pr_number: &resolved.change.pr_number,
        base_sha: &resolved.change.base_sha,
        head_sha: &resolved.change.head_sha,
        prompt_version: &Prompts::version(&terms.overrides),
        model: &model_set.map(ModelSet::names).unwrap_or_default(),
        budget_profile: &terms.budget.name,
        strategy: &terms.strategy.to_string(),
    })
}

impl ReviewSession {
    pub(crate) fn is_trusted(&self) -> bool {
        let checkout = self.checkout.as_deref().and_then(|root| canonical(root).ok());
        self.trust.is_trusted(&self.settings, checkout.as_deref())
    }
}
