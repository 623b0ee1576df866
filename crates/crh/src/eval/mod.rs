//! `crh eval`: cases, their import, and their review. `crh_review::eval` computes the scores.

pub(crate) mod case;
mod case_error;
mod checked;
pub(crate) mod eval_budget;
pub(crate) mod external;
pub(crate) mod import;
pub(crate) mod ready_case;
pub(crate) mod review_cache;
pub(crate) mod ruff;
pub(crate) mod side_by_side;
pub(crate) mod suite;
mod tree;

/// Maximum number of repeats per case. More do not make the numbers more precise.
pub(crate) const REPEATS_MAX: u32 = 100;
