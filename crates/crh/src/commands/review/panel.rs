//! Validates the panel options: reviewer names and the requirements document (`--plan`).

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use super::run_location::RunLocation;
use super::session::ReviewRequest;
use crate::cli::PanelArgs;
use crate::config::environment::Environment;
use crate::config::key::SettingOrigin;
use crate::config::keys::Settings;
use crate::failure::Failure;
use crate::{input, ui};
use crh_git::Repository;
use crh_os::names::{as_repository_path, canonical};
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::checks::ChangeOrigin;
use crh_pipeline::requirements::PLANS_FOLDER;
use crh_pipeline::review_options::{RequirementsFile, ReviewOptions};
use crh_pipeline::reviewers::ReviewerCatalogue;
use crh_pipeline::{context, team};
use crh_review::report::Strategy;
use crh_review::verdict::CommandKind;

/// Setting with the names of reviewers that do not run.
const OFF: &str = "reviewers.off";

/// Maximum size of a requirements document, in bytes; larger files are something else.
const PLAN_MAX: usize = 500_000;

/// Maximum number of untracked plans to read. crh reads them before it chooses one.
const UNTRACKED_PLANS_MAX: usize = 100;

impl ReviewRequest {
    /// Validates the panel options and reads the requirements documents. Does nothing for a resumed
    /// review, which stored the result.
    pub(super) fn settle_panel(
        &self,
        terms: &mut ReviewOptions,
        subject: &ChangeUnderReview,
        work: ChangeOrigin,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<(), Failure> {
        if self.prepared.resume.is_some() {
            return Ok(());
        }
        let named = match (self.parsed_target.plan.as_deref(), self.panel.plan.as_deref()) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage("the plan was given twice")
                    .hint("pass either `plan:FILE` or `--plan FILE`"));
            }
            (typed, flag) => typed.or(flag),
        };
        // `single` and `delegate` check no plan, but they name the plan that they did not check.
        if named.is_none() && terms.strategy != Strategy::Static {
            terms.panel.untracked_plans = untracked_plans(&subject.untracked, environment);
        }
        if terms.strategy != Strategy::Panel {
            let catalogue = context::catalogue(subject, work).0;
            let note = team::unknown_names_note(OFF, &terms.panel.off, &catalogue);
            note.iter().for_each(|note| ui::warn(note));
            return self.reject_panel_options(terms.strategy, named.is_some(), settings);
        }
        let only = terms.panel.only.as_deref().unwrap_or_default();
        are_known(only, &context::catalogue(subject, work).0)?;
        terms.panel.plan = plan(named, subject, environment)?;
        Ok(())
    }

    /// Fails on options that the strategy does not use.
    fn reject_panel_options(
        &self,
        strategy: Strategy,
        is_plan_named: bool,
        settings: &Settings,
    ) -> Result<(), Failure> {
        let panel_flag = self.panel_flag(is_plan_named);
        let flag = match strategy {
            Strategy::Static => panel_flag.or(self.model_flag(settings)),
            Strategy::Panel | Strategy::Single | Strategy::Delegate => panel_flag,
        };
        let Some(flag) = flag else { return Ok(()) };
        match strategy {
            Strategy::Static => {
                Err(Failure::usage(format!("`{flag}` needs a model")).hint(match self.command {
                    CommandKind::Checks => "use `crh review`; `crh check` runs without a model",
                    CommandKind::Review => {
                        "do not use the strategy `static`, which runs without a model"
                    }
                }))
            }
            Strategy::Panel | Strategy::Single | Strategy::Delegate => {
                Err(Failure::usage(format!("`{flag}` needs the strategy `panel`"))
                    .hint(panel_hint(settings)))
            }
        }
    }

    /// The first given option that only a panel uses.
    pub(super) fn panel_flag(&self, is_plan_named: bool) -> Option<&'static str> {
        match (&self.panel, is_plan_named) {
            (PanelArgs { reviewers, .. }, _) if !reviewers.is_empty() => Some("--reviewers"),
            (_, _) if self.flags.review_depth.is_some() => Some("--depth"),
            (_, true) => Some("--plan"),
            (PanelArgs { waive, .. }, _) if !waive.is_empty() => Some("--waive"),
            (PanelArgs { .. }, false) => None,
        }
    }

    /// The first given option that only a model uses. `--model` counts only beside `--strategy`: a
    /// script may always pass it.
    pub(super) fn model_flag(&self, settings: &Settings) -> Option<&'static str> {
        let is_strategy_named =
            matches!(settings.review_strategy.origins.as_slice(), [SettingOrigin::Flag(_)]);
        match self.prompts.record {
            Some(_) => Some("--record"),
            None => (is_strategy_named && self.flags.model_reviewer.is_some()).then_some("--model"),
        }
    }

    /// Removes the run folder of a rejected review. A resumed run stays.
    pub(super) fn discard(&self, place: &RunLocation) {
        let new_folder = place.folder().filter(|_| self.prepared.resume.is_none());
        if let Some(error) = new_folder.and_then(|folder| fs::remove_dir_all(folder.path()).err()) {
            ui::warn(&format!("cannot remove an unused run folder: {error}"));
        }
    }
}

/// Hint how to select the strategy `panel`. Depends on the origin of the selected strategy.
fn panel_hint(settings: &Settings) -> String {
    match settings.review_strategy.origins.as_slice() {
        [SettingOrigin::Flag(flag)] => format!("leave out `{flag}`, or pass `{flag} panel`"),
        [SettingOrigin::Default] => {
            "`--budget quick` uses the strategy `single`; pass `--strategy panel` or another budget"
                .to_owned()
        }
        origins => {
            let origins: Vec<String> = origins.iter().map(ToString::to_string).collect();
            let origins = origins.join(", ");
            format!("pass `--strategy panel`, or change `review.strategy` ({origins})")
        }
    }
}

/// Fails on unknown reviewer names.
pub(crate) fn are_known(names: &[String], catalogue: &ReviewerCatalogue) -> Result<(), Failure> {
    let Some(unknown) = names.iter().find(|name| catalogue.get(name).is_none()) else {
        return Ok(());
    };
    let shown = crh_review::escape_invisible(unknown);
    let known = catalogue.reviewers().iter().map(|reviewer| reviewer.name.as_str());
    let nearest = known.max_by(|a, b| {
        strsim::jaro_winkler(a, unknown).total_cmp(&strsim::jaro_winkler(b, unknown))
    });
    let hint = match nearest.filter(|name| strsim::jaro_winkler(name, unknown) > NEAR) {
        Some(name) => format!("did you mean `{name}`? `crh reviewers` lists all of them"),
        None => "`crh reviewers` lists them".to_owned(),
    };
    Err(Failure::usage(format!("unknown reviewer `{shown}`")).hint(hint))
}

/// crh suggests a reviewer whose name is more similar than this to an unknown one.
const NEAR: f64 = 0.75;

/// Reads the named requirements document from the change, else from the disk.
pub(super) fn plan(
    named: Option<&str>,
    subject: &ChangeUnderReview,
    environment: &Environment,
) -> Result<Option<RequirementsFile>, Failure> {
    let Some(path) = named else { return Ok(None) };
    let plan_path = path_in_repository(path, environment)
        .unwrap_or_else(|| path.trim_start_matches("./").to_owned());
    let in_change = subject.tool_context.repository().ok().and_then(|revisions| {
        let head = revisions.resolve(Some("head"))?;
        revisions.objects().file(head, plan_path.as_bytes()).ok()
    });
    let bytes = match in_change {
        Some(bytes) => bytes,
        None => {
            let place = environment.folder.join(Path::new(path));
            input::bytes(&place).map_err(|failure| {
                failure.hint("pass a file on disk or in the reviewed commit with `--plan`")
            })?
        }
    };
    if bytes.len() > PLAN_MAX {
        let size = bytes.len();
        return Err(Failure::usage(format!("the plan `{path}` has {size} bytes"))
            .hint(format!("the maximum is {PLAN_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("the plan `{path}` is not UTF-8")).hint("save it as UTF-8")
    })?;
    Ok(Some(RequirementsFile { path: plan_path, text }))
}

/// The path of an existing file, relative to the root of the current repository. None if the file
/// is not in it.
fn path_in_repository(path: &str, environment: &Environment) -> Option<String> {
    let file = canonical(environment.folder.join(path)).ok()?;
    let root = Repository::discover(&environment.folder).ok()?.work_tree?;
    let relative = file.strip_prefix(canonical(root).ok()?).ok()?;
    as_repository_path(relative).map(Cow::into_owned)
}

/// Reads the plans among the untracked files of the checkout. Only a review of the checkout itself
/// has untracked files, so none of them belongs to a pull request of another account.
fn untracked_plans(untracked: &[String], environment: &Environment) -> Vec<RequirementsFile> {
    let repository = Repository::discover(&environment.folder).ok();
    let Some(root) = repository.and_then(|repository| repository.work_tree) else {
        return Vec::new();
    };
    let is_plan = |path: &&String| {
        let name = path.strip_prefix(PLANS_FOLDER);
        name.is_some_and(|name| !name.contains('/') && name.ends_with(".md"))
    };
    let load = |path: &String| {
        let place = root.join(path);
        // A symlink may lead out of the repository.
        let metadata = fs::symlink_metadata(&place).ok()?;
        let size = usize::try_from(metadata.len()).ok()?;
        let is_readable = metadata.is_file() && size <= PLAN_MAX;
        let text = is_readable.then(|| fs::read_to_string(&place).ok())??;
        Some(RequirementsFile { path: path.clone(), text })
    };
    untracked.iter().filter(is_plan).take(UNTRACKED_PLANS_MAX).filter_map(load).collect()
}
