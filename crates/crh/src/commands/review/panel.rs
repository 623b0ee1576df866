//! What the user said about a panel, held against what there is: the names of reviewers, and the plan.

use std::fs;
use std::path::Path;

use super::begin::Beginning;
use super::place::Place;
use crate::cli::PanelArgs;
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::Failure;
use crate::{input, ui};
use crh_pipeline::checks::Work;
use crh_pipeline::context;
use crh_pipeline::reviewers::Catalogue;
use crh_pipeline::subject::Subject;
use crh_pipeline::terms::{GivenPlan, PanelTerms, Terms};
use crh_review::report::Strategy;

/// A plan has a few thousand words; more is another kind of file.
const PLAN_MAX: usize = 500_000;

impl Beginning {
    /// Holds what was said about a panel against what there is. A review that goes on has settled it before.
    pub(super) fn settle_panel(
        &self,
        terms: &mut Terms,
        subject: &Subject,
        work: Work,
        environment: &Environment,
    ) -> Result<(), Failure> {
        if self.prepared.resume.is_some() {
            return Ok(());
        }
        let named = match (self.typed.plan.as_deref(), self.panel.plan.as_deref()) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage("the plan was named twice")
                    .hint("`plan:FILE` and `--plan FILE` say the same"));
            }
            (typed, flag) => typed.or(flag),
        };
        if terms.strategy != Strategy::Panel {
            return self.needs_no_panel(named.is_some());
        }
        let only = terms.panel.only.as_deref().unwrap_or_default();
        are_known(only, &context::catalogue(subject, work).0)?;
        terms.panel.plan = plan(named, subject, environment)?;
        Ok(())
    }

    /// Refuses what only a panel heeds, or a review would look as if it had.
    fn needs_no_panel(&self, is_plan_named: bool) -> Result<(), Failure> {
        let flag = match (&self.panel, is_plan_named) {
            (PanelArgs { reviewers, .. }, _) if !reviewers.is_empty() => "--reviewers",
            (_, _) if self.flags.review_depth.is_some() => "--depth",
            (_, true) => "--plan",
            (PanelArgs { waive, .. }, _) if !waive.is_empty() => "--waive",
            (PanelArgs { .. }, false) => return Ok(()),
        };
        Err(Failure::usage(format!("`{flag}` is for a panel, and this review has none"))
            .hint("a panel is the strategy `panel` with a model; `--budget quick` alone is none"))
    }

    /// Leaves nothing of a review that was refused. One that goes on is left as it was.
    pub(super) fn discard(&self, place: &Place) {
        let made = place.folder().filter(|_| self.prepared.resume.is_none());
        if let Some(error) = made.and_then(|folder| fs::remove_dir_all(folder.path()).err()) {
            ui::warn(&format!("a run folder that is of no use is left: {error}"));
        }
    }
}

/// What the settings and the command line say. Nothing is looked up yet.
pub(super) fn terms(settings: &Settings, args: &PanelArgs) -> PanelTerms {
    let only: Vec<String> = args.reviewers.iter().map(|name| name.trim().to_owned()).collect();
    PanelTerms {
        depth: settings.review_depth.value.depth(),
        only: Some(only).filter(|names| !names.is_empty()),
        off: settings.reviewers_off.value.0.clone(),
        tiers: settings.model_tiers.value.0.clone(),
        plan: None,
        waived: args.waive.iter().map(|id| id.trim().to_uppercase()).collect(),
    }
}

/// Refuses names of reviewers that there are not.
pub(crate) fn are_known(names: &[String], catalogue: &Catalogue) -> Result<(), Failure> {
    let Some(unknown) = names.iter().find(|name| catalogue.get(name).is_none()) else {
        return Ok(());
    };
    let shown = crh_review::visible(unknown);
    let known = catalogue.reviewers().iter().map(|reviewer| reviewer.name.as_str());
    let nearest = known.max_by(|a, b| {
        strsim::jaro_winkler(a, unknown).total_cmp(&strsim::jaro_winkler(b, unknown))
    });
    let hint = match nearest.filter(|name| strsim::jaro_winkler(name, unknown) > NEAR) {
        Some(name) => format!("did you mean `{name}`? `crh reviewers` lists all of them"),
        None => "`crh reviewers` lists them".to_owned(),
    };
    Err(Failure::usage(format!("there is no reviewer `{shown}`")).hint(hint))
}

/// How much alike two names are that one may have been meant for the other.
const NEAR: f64 = 0.75;

/// The plan that was named, read: from the change itself, or else from the disk.
pub(super) fn plan(
    named: Option<&str>,
    subject: &Subject,
    environment: &Environment,
) -> Result<Option<GivenPlan>, Failure> {
    let Some(path) = named else { return Ok(None) };
    let tidy = path.trim_start_matches("./");
    let in_change = subject.bench.repository().ok().and_then(|revisions| {
        let head = revisions.named(Some("head"))?;
        revisions.objects().file(head, tidy.as_bytes()).ok()
    });
    let bytes = match in_change {
        Some(bytes) => bytes,
        None => {
            let place = environment.folder.join(Path::new(path));
            input::bytes(&place).map_err(|failure| {
                failure.hint("`--plan` names a file of the change, or one on the disk")
            })?
        }
    };
    if bytes.len() > PLAN_MAX {
        let size = bytes.len();
        return Err(Failure::usage(format!("the plan `{path}` has {size} bytes"))
            .hint(format!("a plan has at most {PLAN_MAX}")));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("the plan `{path}` is not UTF-8")).hint("save it as UTF-8")
    })?;
    Ok(Some(GivenPlan { path: tidy.to_owned(), text }))
}
