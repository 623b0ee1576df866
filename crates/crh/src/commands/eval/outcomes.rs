//! `crh eval outcomes`: decides the outcomes of issues with labelled histories, and prints how
//! often label and decision agree, as a confusion matrix.

use anyhow::Context;

use super::super::outcome_judge::with_judge;
use crate::cli::EvalOutcomesArgs;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, input, ui};
use crh_memory::labelled::{ConfusionMatrix, SHIPPED_HISTORIES, parse_histories};

pub(super) fn run(args: &EvalOutcomesArgs, environment: &Environment) -> Result<(), Failure> {
    let text = match &args.file {
        None => SHIPPED_HISTORIES.to_owned(),
        Some(file) => {
            let bytes = input::bytes_in(&environment.folder, file)?;
            String::from_utf8(bytes).or_fail(FailureKind::Usage)?
        }
    };
    let file_name = match &args.file {
        None => "the examples of crh".to_owned(),
        Some(file) => format!("`{}`", environment.display_path(file)),
    };
    let parsed = parse_histories(&text).with_context(|| format!("{file_name} cannot be used"));
    let histories = parsed.or_fail(FailureKind::Usage).map_err(|failure| {
        failure.hint("`crates/crh-memory/data/histories.toml` in crh's source code is an example")
    })?;
    let settings = config::load(environment, None, RawSettings::default())?;
    let matrix = with_judge(&args.judge, &settings, environment, |judge| {
        Ok(ConfusionMatrix::new(&histories, judge))
    })?;
    ui::result_text(&matrix.to_markdown())?;
    ui::note(&format!("{} of {} answers are right", matrix.right(), matrix.total()));
    if let Some(judge) = &args.judge.judge {
        let version = crh_pipeline::outcome_judge::version();
        // The address of a model may contain a password.
        let judge = judge.split_once('@').map_or(judge.as_str(), |(name, _)| name);
        ui::note(&format!("judge {}, prompt {version}", crh_review::one_line(judge)));
    }
    for (id, label, decision) in &matrix.mistakes {
        ui::note(&format!(
            "example `{}`: the known answer is `{label}`, crh's answer is `{decision}`",
            crh_review::one_line(id)
        ));
    }
    Ok(())
}
