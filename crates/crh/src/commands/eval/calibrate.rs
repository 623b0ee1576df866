//! `crh eval calibrate`: fits the probability that maintainers act on an issue.

use std::fs;

use super::super::stats::load_known;
use super::stored;
use crate::cli::{EvalCalibrateArgs, ListFormatArg};
use crate::config;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_memory::calibration::{cross_validate, fit, labels_from_evaluation, labels_from_history};
use crh_memory::history;
use crh_review::stable_json;

pub(super) fn run(args: &EvalCalibrateArgs, environment: &Environment) -> Result<(), Failure> {
    if args.evaluations.is_empty() && args.repo.is_none() {
        return Err(Failure::usage("there is nothing to learn from").hint(
            "name stored evaluations of `crh eval run --out`, or a repository with `--repo OWNER/NAME`",
        ));
    }
    let settings = config::load(environment, None, RawSettings::default())?;
    let mut labels = Vec::new();
    for place in &args.evaluations {
        labels.extend(labels_from_evaluation(&stored(place, None, environment)?));
    }
    if let Some(repo) = &args.repo {
        let state = settings.state_folder.value.path()?;
        labels.extend(labels_from_history(&load_known(state, repo)?));
    }
    let report = cross_validate(&labels);
    ui::result_text(&match args.format {
        ListFormatArg::Text => report.to_text(),
        ListFormatArg::Json => stable_json(&report).or_fail(FailureKind::Bug)?,
    })?;
    let Some(repo) = args.repo.as_ref().filter(|_| args.save) else { return Ok(()) };
    if !report.reasons_against.is_empty() {
        return Err(Failure::usage("crh did not store the result, because it predicts no better than the built-in estimate")
            .hint("post more reviews, then run `crh stats --refresh`"));
    }
    let path = history::weights_path(settings.state_folder.value.path()?, repo);
    let text = stable_json(&fit(&labels)).or_fail(FailureKind::Bug)?;
    let folder = path.parent().unwrap_or(&path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, text))
        .or_fail(FailureKind::External)?;
    ui::note(&format!("stored in `{}`; later reviews of `{repo}` use it", path.display()));
    Ok(())
}
