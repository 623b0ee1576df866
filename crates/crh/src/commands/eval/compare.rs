//! `crh eval compare`: shows which differences between two evaluations are significant.

use super::{print_comparison, stored};
use crate::cli::EvalCompareArgs;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crh_review::eval::{Sheet, compare};

pub(super) fn run(args: &EvalCompareArgs, environment: &Environment) -> Result<(), Failure> {
    let rule = args.match_args.rule();
    let before = stored(&args.before, rule, environment)?;
    let after = stored(&args.after, rule, environment)?;
    let comparison = compare(&before, &after);
    if comparison.cases == 0 {
        return Err(Failure::usage("the two evaluations have no case in common")
            .hint("compare evaluations of the same suite"));
    }
    let sheets = [after, before].map(|evaluation| Sheet::new(evaluation, &[]));
    print_comparison(&comparison, &sheets, args.format)
}
