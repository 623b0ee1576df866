//! `crh schema NAME`: the JSON Schema of something crh reads or writes.

use crate::cli::SchemaArgs;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_review::schema::schema;
use crh_review::stable_json;

pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let schema = schema(&args.name)
        .ok_or_else(|| Failure::usage(format!("there is no schema `{}`", args.name)))?;
    ui::result_text(&stable_json(&schema).or_fail(Kind::Bug)?)
}
