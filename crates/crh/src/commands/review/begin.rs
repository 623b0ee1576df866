//! Everything that has to be known before a review costs anything: the change, the terms, the models, the place.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::super::analysers::{Recorded, Trust, analysers};
use super::super::forge::{Forge, Head, LookedFor, Submission};
use super::super::github::Rules;
use super::super::models::Models;
use super::super::{forge, github, launchpad, opened, run_place};
use super::pinned::{Origin, Pinned};
use super::place::Place;
use super::recovery::Tree;
use super::resumed::Resumed;
use super::since::{GROUND, Ground, Made, Wish};
use super::{checks, resumed, since, terms};
use crate::cli::{PanelArgs, PreparedArgs, PromptArgs, SarifFlags, TrustArgs};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_agent::Totals;
use crh_forge::github::post::Basis;
use crh_git::{Bare, Repository};
use crh_lint::analysers::Analysers;
use crh_llm::Redactor;
use crh_pipeline::asked;
use crh_pipeline::checks::CheckTerms;
use crh_pipeline::credentials::Credentials;
use crh_pipeline::dismissed::SaidNo;
use crh_pipeline::pack::Packed;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::run_folder::{RunFolder, Stamp, Standpoint};
use crh_pipeline::runs::RunRecord;
use crh_pipeline::subject::Subject;
use crh_pipeline::target::{CheckedOut, Untracked};
use crh_pipeline::terms::{Crew, Terms};
use crh_review::identity::{ReviewKey, review_id};
use crh_review::report::{Mode, Strategy};
use crh_review::verdict::Asked;

/// What to do about a model that is missing.
const NO_MODEL: &str = "set `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY` or `OPENROUTER_API_KEY`, or name a model with `--model`; `crh doctor` says more";

/// Where a run keeps what it was made with, for posting it.
pub(in crate::commands) const BASIS: &str = "stages/basis.json";

/// What was asked for.
pub(super) struct Beginning {
    pub(super) asked: Asked,
    pub(super) typed: asked::Asked,
    pub(super) looked_for: LookedFor,
    pub(super) posts: Posts,
    pub(super) rules: Rules,
    pub(super) wish: Wish,
    /// What the pull request must have for its head.
    pub(super) head: Option<Head>,
    pub(super) untracked: Untracked,
    pub(super) mode: Mode,
    pub(super) prepared: PreparedArgs,
    pub(super) panel: PanelArgs,
    pub(super) prompts: PromptArgs,
    pub(super) trust: TrustArgs,
    pub(super) sarif: SarifFlags,
    pub(super) flags: RawSettings,
    pub(super) kept: Kept,
    pub(super) goes_on: GoesOn,
    pub(super) tree: Tree,
    pub(super) run_dir: Option<PathBuf>,
}

/// Whether a review is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Posts {
    /// It is, to the pull request of its change.
    ToPullRequest,
    /// It is, to the merge proposal of its change.
    ToMergeProposal,
    /// It is not.
    Nothing,
}

impl Posts {
    /// The flag by which it is; none if it is not.
    fn flag(self) -> Option<&'static str> {
        match self {
            Self::ToPullRequest => Some("--sink github"),
            Self::ToMergeProposal => Some("--sink launchpad"),
            Self::Nothing => None,
        }
    }
}

/// What is left of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Its run folder.
    Run,
    /// Nothing.
    Nothing,
}

/// What a review that goes on is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoesOn {
    /// To be carried out to its end.
    Reviewing,
    /// To fix what it has found. Some of that needs no model.
    Fixing,
}

/// A review that is about to begin: everything is known, nothing is paid for.
pub(crate) struct Begun {
    pub(crate) settings: Settings,
    pub(crate) terms: Terms,
    pub(crate) checks: CheckTerms,
    pub(crate) crew: Option<Crew>,
    pub(crate) redactor: Redactor,
    pub(crate) subject: Subject,
    pub(crate) place: Place,
    pub(crate) earlier: Earlier,
    pub(crate) log_content: bool,
    pub(crate) since: Instant,
    /// The pull request that the change is proposed in.
    pub(crate) pull: Option<Submission>,
    /// Where the files of the change are, and the commit they are in.
    pub(crate) files: Option<(Bare, String)>,
    /// The issues that were dismissed at the forge, and by whom.
    pub(crate) dismissed: Vec<SaidNo>,
    /// What the next review must find unchanged to build on this one.
    pub(crate) basis: Basis,
    /// The checkout whose files were reviewed, for places that can be clicked and for fixes.
    pub(crate) checkout: Option<PathBuf>,
    /// Whether there is one that has what was reviewed.
    pub(crate) checked_out: CheckedOut,
    /// Why a fix that stands in the checkout by half is not rolled back; none if there is none any more.
    pub(crate) half_done: Option<Failure>,
    /// Whether the change is trusted.
    pub(crate) trust: Trust,
    /// An archive is laid out in a folder that is gone when this is.
    _packed: Option<Packed>,
}

/// What an earlier attempt has left.
#[derive(Default)]
pub(crate) struct Earlier {
    pub(super) runs: Vec<RunRecord>,
    pub(super) spent: Totals,
}

impl Beginning {
    /// Finds out everything. Nothing is asked of a model, and nothing is written but the run folder.
    pub(super) fn begin(self, environment: &Environment) -> Result<Begun, Failure> {
        let since = Instant::now();
        let resumed = self.resumed(environment)?;
        let runs = self.runs(resumed.as_ref(), environment)?;
        let mut pull = self.pull(environment)?;
        let half_done = self.rolled_back(&mut pull, resumed.as_ref(), runs.as_deref(), environment);
        let pinned = self.pinned(&mut pull, resumed.as_ref(), runs.as_deref(), environment)?;
        self.can_be_posted(&pinned, pull.as_ref())?;
        let settings = pinned.settings.clone();
        github::wanted(self.rules, pull.as_ref(), &settings)?;
        let mut terms = self.terms(resumed.as_ref(), &settings)?;
        let sarif = self.sarif_files(resumed.as_ref());
        let checks = checks::terms(&pinned.silencing, &sarif, environment)?;
        let models = Models::new(&settings, environment)?;
        let crew = self.crew(&models, &settings, &mut terms)?;
        let crew = self.still_asked(resumed.as_ref(), crew)?;
        let redactor =
            models.redactor_with(pull.as_ref().map_or(&[][..], |pull| pull.secrets.as_slice()));
        let id = id(&pinned, &terms, crew.as_ref());
        let place = Place::of(resumed, runs, Stamp::of(environment.now()), &id, &redactor)?;
        let mut subject = pinned.subject(&place.workspace())?;
        let place = place.hiding(Credentials::of(&subject.diff));
        let earlier = self.earlier(&place)?;
        self.settle_panel(&mut terms, &subject, pinned.work(), environment)
            .inspect_err(|_| self.discard(&place))?;
        let trust = self.trust_in(pinned.origin);
        let analysers = self.analysers(&settings, trust, environment);
        subject.bench = subject.bench.with_analysers(analysers.clone());
        let checks = CheckTerms { analysers, work: pinned.work(), ..checks };
        let made = Made {
            terms: &terms,
            checks: &checks,
            crew: crew.as_ref(),
            min_severity: settings.review_min_severity.value.severity(),
            trust,
        };
        let found = pinned.found(&sarif, environment).asking(crew.as_ref());
        let basis = since::basis(&pinned, &found, &subject, made)?;
        let ground = match self.ground_before(&place) {
            Some(before) => before,
            None => {
                let last = self.wish.last(pull.as_ref(), &pinned, &subject, &self.prepared)?;
                last.map(|last| Ground::of(last, &subject, &basis, made))
            }
        };
        if let (Place::Kept(folder), None) = (&place, &self.prepared.resume) {
            resumed::store(folder, &terms, found)?;
            store_basis(folder, &basis, ground.as_ref())?;
            folder.begin(&self.standpoint(&subject, environment)).or_fail(Kind::Outside)?;
        }
        Ok(Begun {
            settings,
            terms,
            checks,
            crew,
            redactor,
            subject: narrowed(subject, ground),
            place,
            earlier,
            log_content: self.prompts.log_content,
            since,
            pull,
            files: pinned.files(),
            dismissed: pinned.dismissed,
            basis,
            checkout: pinned.checkout,
            checked_out: pinned.checked_out,
            half_done,
            trust,
            _packed: pinned.packed,
        })
    }

    /// What a review that goes on was built on: that was decided when it began, however things are now.
    fn ground_before(&self, place: &Place) -> Option<Option<Ground>> {
        match (place, &self.prepared.resume) {
            (Place::Kept(folder), Some(_)) => Some(folder.read(GROUND).ok()),
            (Place::Kept(_) | Place::Passing { .. }, _) => None,
        }
    }

    /// Where the review is made from. Whether it is of what is checked out there is for its report to say.
    fn standpoint(&self, subject: &Subject, environment: &Environment) -> Standpoint {
        let folder = match &self.prepared.repo {
            Some(repo) => environment.folder.join(repo),
            None => environment.folder.clone(),
        };
        match Repository::discover(&folder) {
            Ok(repository) => Standpoint::in_repository(&repository),
            Err(_) => Standpoint::of_change(&subject.change),
        }
    }

    fn terms(&self, resumed: Option<&Resumed>, settings: &Settings) -> Result<Terms, Failure> {
        match resumed {
            Some(resumed) => Ok(resumed.terms.clone()),
            None => terms::terms(settings, self.asked, self.mode, &self.panel, &self.prompts),
        }
    }

    /// The review that this one goes on with.
    fn resumed(&self, environment: &Environment) -> Result<Option<Resumed>, Failure> {
        let run = self.prepared.resume.as_deref();
        run.map(|run| Resumed::open(run, self, environment)).transpose()
    }

    /// Where run folders lie, if this review makes one.
    fn runs(
        &self,
        resumed: Option<&Resumed>,
        environment: &Environment,
    ) -> Result<Option<PathBuf>, Failure> {
        match (self.kept, resumed) {
            (Kept::Run, None) => {
                run_place::runs_folder(environment, self.run_dir.as_deref()).map(Some)
            }
            (Kept::Nothing, None) | (Kept::Nothing | Kept::Run, Some(_)) => Ok(None),
        }
    }

    fn analysers(
        &self,
        settings: &Settings,
        trust: Trust,
        environment: &Environment,
    ) -> Option<Arc<Analysers>> {
        let recorded = Recorded::by(settings, self.prompts.record.as_deref());
        analysers(settings, environment, self.prepared.repo.as_deref(), trust, recorded)
    }

    /// The pull request that the change is proposed in, if what is reviewed can have one.
    fn pull(&self, environment: &Environment) -> Result<Option<Submission>, Failure> {
        match &self.prepared {
            PreparedArgs { workspace: None, packed: None, resume: None, .. } => {
                let target = &self.typed.target;
                let found = forge::of_target(target, self.looked_for, environment, &self.flags)?;
                self.needs(found.as_ref())?;
                Ok(found)
            }
            PreparedArgs { .. } => match self.posts.flag() {
                Some(flag) => Err(Failure::usage(
                    "what was prepared or begun before is not posted by a review",
                )
                .hint(format!("leave `{flag}` out; `crh post RUN` posts the run"))),
                None => Ok(None),
            },
        }
    }

    /// Refuses what only a pull request has where there is none, and one with another head than it must have.
    fn needs(&self, pull: Option<&Submission>) -> Result<(), Failure> {
        match (self.posts, pull.map(|pull| &pull.at)) {
            (Posts::ToPullRequest, Some(Forge::GitHub { .. })) | (Posts::Nothing, _) => {}
            (Posts::ToMergeProposal, Some(Forge::Launchpad { standing, .. })) => {
                if standing.viewer.is_none() {
                    return Err(Failure::usage(
                        "nobody is logged in at Launchpad, and only somebody who is can comment",
                    )
                    .hint(launchpad::TO_LOG_IN));
                }
            }
            (Posts::ToMergeProposal, Some(Forge::GitHub { .. })) => {
                return Err(Failure::usage(
                    "`--sink launchpad` is for a merge proposal, and this is a pull request",
                )
                .hint("`--sink github` posts to it"));
            }
            (Posts::ToMergeProposal, None) => {
                return Err(Failure::usage(
                    "`--sink launchpad` is for a merge proposal, and this is none",
                )
                .hint("name one by its address"));
            }
            (Posts::ToPullRequest, None) => {
                return Err(Failure::usage(
                    "`--sink github` is for a pull request, and this is none",
                )
                .hint("name one: its address, `OWNER/NAME#N`, or `N` inside a clone"));
            }
            (Posts::ToPullRequest, Some(Forge::Launchpad { .. })) => {
                return Err(Failure::usage(
                    "`--sink github` is for a pull request, and this is a merge proposal",
                )
                .hint("`--sink launchpad` posts to it"));
            }
        }
        self.wish.is_for(pull)?;
        Head::is_of(self.head.as_ref(), pull)
    }

    /// What is to be reviewed, pinned.
    fn pinned(
        &self,
        pull: &mut Option<Submission>,
        resumed: Option<&Resumed>,
        runs: Option<&Path>,
        environment: &Environment,
    ) -> Result<Pinned, Failure> {
        match (resumed, &self.prepared) {
            (None, PreparedArgs { workspace: None, packed: None, .. }) => {
                let pinned = Pinned::target(
                    &self.typed,
                    pull,
                    self.untracked,
                    environment,
                    self.flags.clone(),
                    runs,
                    |change| opened::tell(change),
                )?;
                self.needs(pull.as_ref())?;
                Ok(pinned)
            }
            (resumed, prepared) => {
                Pinned::prepared(prepared, resumed, environment, self.flags.clone())
            }
        }
    }

    /// Finds out before anything is paid for whether the review could be posted.
    fn can_be_posted(&self, pinned: &Pinned, pull: Option<&Submission>) -> Result<(), Failure> {
        let Some((pull, flag)) = pull.zip(self.posts.flag()) else { return Ok(()) };
        let word = pull.word();
        if !pull.proposal.open {
            return Err(Failure::usage(format!("the {word} is closed: nothing is posted to it"))
                .hint(format!("leave `{flag}` out to review it all the same")));
        }
        if pinned.change.head_sha != pull.proposal.source.commit {
            let message = format!("what is reviewed here is not the head of the {word}");
            return Err(Failure::usage(message)
                .hint(format!("push what is not there yet, or leave `{flag}` out")));
        }
        Ok(())
    }

    /// What an earlier attempt has left, if this one goes on with it.
    fn earlier(&self, place: &Place) -> Result<Earlier, Failure> {
        match (place, &self.prepared.resume) {
            (Place::Kept(folder), Some(_)) => {
                let spent = folder.spent_before().map_err(run_place::failed)?;
                Ok(Earlier { runs: folder.earlier(), spent })
            }
            (Place::Kept(_) | Place::Passing { .. }, _) => Ok(Earlier::default()),
        }
    }

    /// The files of other tools. Those of a run that goes on are read again, unless others are given.
    fn sarif_files(&self, resumed: Option<&Resumed>) -> SarifFlags {
        match resumed {
            Some(Resumed { found, .. }) if self.sarif.sarif.is_empty() => {
                SarifFlags { sarif: found.sarif.clone(), sarif_base: found.sarif_base.clone() }
            }
            Some(_) | None => self.sarif.clone(),
        }
    }

    fn trust_in(&self, origin: Origin) -> Trust {
        match (self.trust.trust, origin) {
            (true, _) => Trust::Given,
            (false, Origin::Repository) => Trust::IfListed,
            (false, Origin::Forge | Origin::Prepared) => Trust::No,
        }
    }

    /// Shows the code of a review that goes on to no model that nobody has named: whoever chose one of their own the first time did not
    /// choose the vendor that happens to be configured. What needs no model can be fixed all the same.
    fn still_asked(
        &self,
        resumed: Option<&Resumed>,
        crew: Option<Crew>,
    ) -> Result<Option<Crew>, Failure> {
        let before = resumed.map(|resumed| resumed.found.models.as_str()).unwrap_or_default();
        let now = crew.as_ref().map(Crew::names).unwrap_or_default();
        let is_named = self.flags.model_reviewer.is_some();
        if before.is_empty() || now.is_empty() || before == now || is_named {
            return Ok(crew);
        }
        let message = format!("the review asked `{before}`, and `{now}` would be asked now");
        let hint =
            "name the model with `--model`: the same one, or another if that is what you want";
        match self.goes_on {
            GoesOn::Reviewing => Err(Failure::usage(message).hint(hint)),
            GoesOn::Fixing => {
                ui::warn(&format!("no model is asked: {message}"));
                ui::note(hint);
                Ok(None)
            }
        }
    }

    /// The models, if there are any and the strategy asks one. Without one the review falls back, and says so.
    fn crew(
        &self,
        models: &Models<'_>,
        settings: &Settings,
        terms: &mut Terms,
    ) -> Result<Option<Crew>, Failure> {
        if terms.strategy == Strategy::Static {
            return Ok(None);
        }
        if models.are_none(settings) && self.goes_on == GoesOn::Fixing {
            return Ok(None);
        }
        if models.are_none(settings) && self.prepared.resume.is_some() {
            // What was paid for must not give way to the checks alone.
            return Err(
                Failure::usage("no model is configured, so the review cannot go on").hint(NO_MODEL)
            );
        }
        if models.are_none(settings) {
            ui::warn("no model is configured, so only the checks that need none are run");
            ui::note(NO_MODEL);
            terms.strategy = Strategy::Static;
            return Ok(None);
        }
        models.crew(settings, self.prompts.record.as_deref()).map(Some)
    }
}

/// What is left to be reviewed, if a review goes on from an earlier one.
fn narrowed(subject: Subject, ground: Option<Ground>) -> Subject {
    match ground {
        Some(ground) => ground.under(subject),
        None => subject,
    }
}

/// Keeps what the next review of the same pull request needs to know of this one.
fn store_basis(folder: &RunFolder, basis: &Basis, ground: Option<&Ground>) -> Result<(), Failure> {
    folder.store_as_it_is(BASIS, basis).or_fail(Kind::Outside)?;
    match ground {
        Some(ground) => folder.store_as_it_is(GROUND, ground).or_fail(Kind::Outside),
        None => Ok(()),
    }
}

fn id(pinned: &Pinned, terms: &Terms, crew: Option<&Crew>) -> String {
    review_id(&ReviewKey {
        repo: &pinned.change.repo,
        pr_number: &pinned.change.pr_number,
        head_sha: &pinned.change.head_sha,
        prompt_version: &Prompts::version(&terms.overrides),
        model: &crew.map(Crew::names).unwrap_or_default(),
        budget_profile: &terms.allowance.name,
    })
}

impl Begun {
    /// Whether the user trusts the change.
    pub(crate) fn is_trusted(&self) -> bool {
        let checkout = self.checkout.as_deref().and_then(|root| root.canonicalize().ok());
        self.trust.holds(&self.settings, checkout.as_deref())
    }
}
