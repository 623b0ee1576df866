//! Fixes for issues, on the tree that was reviewed.

pub(crate) mod outcome;

use std::collections::BTreeSet;

use crh_review::report::Report;

use self::outcome::Fixed;
use self::outcome::Left;
use crate::commands::review::Begun;
use crate::config::environment::Environment;
use crate::failure::Failure;

/// Applies fixes for the issues of these numbers on the tree that was reviewed.
pub(crate) fn fix(
    _begun: &Begun,
    _report: &mut Report,
    numbers: &BTreeSet<u32>,
    _environment: &Environment,
) -> Result<Fixed, Failure> {
    let why = "fixes cannot be applied yet";
    let left = numbers.iter().map(|number| Left { number: *number, why: why.to_owned() });
    Ok(Fixed { applied: Vec::new(), left: left.collect() })
}

/// Takes back what a run has applied.
pub(crate) fn undo(_begun: &Begun, _environment: &Environment) -> Result<(), Failure> {
    Ok(())
}
