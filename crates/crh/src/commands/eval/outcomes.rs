//! `crh eval outcomes`: decides labelled histories of issues and prints the confusion matrix.

use crate::cli::EvalOutcomesArgs;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_memory::labelled::{ConfusionMatrix, SHIPPED_HISTORIES, parse_histories};
use crh_memory::outcome::CodeOnly;

pub(super) fn run(args: &EvalOutcomesArgs, environment: &Environment) -> Result<(), Failure> {
    let text = match &args.file {
        None => SHIPPED_HISTORIES.to_owned(),
        Some(file) => {
            let bytes = input::bytes(&environment.folder.join(file))?;
            String::from_utf8(bytes).or_fail(FailureKind::Usage)?
        }
    };
    let histories = parse_histories(&text).or_fail(FailureKind::Usage).map_err(|failure| {
        failure.hint("the format is that of `crates/crh-memory/data/histories.toml`")
    })?;
    let matrix = ConfusionMatrix::new(&histories, &CodeOnly);
    ui::result_text(&matrix.to_markdown())?;
    ui::note(&format!("{} of {} decisions are right", matrix.right(), matrix.total()));
    for (id, label, decision) in &matrix.mistakes {
        ui::note(&format!("{}: labelled {label}, decided {decision}", ui::one_line(id)));
    }
    Ok(())
}
