//! `crh schema NAME`: prints the JSON Schema of a file format of crh.

use crate::cli::SchemaArgs;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_review::schema::schema;
use crh_review::stable_json;

pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let schema = schema(&args.name)
        .ok_or_else(|| Failure::usage(format!("unknown schema `{}`", args.name)))?;
    ui::result_text(&stable_json(&schema).or_fail(FailureKind::Bug)?)
}
