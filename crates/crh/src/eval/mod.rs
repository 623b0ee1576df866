//! `crh eval`: cases, their import, and their review. `crh_review::eval` computes the scores.

pub(crate) mod case;
mod checked;
pub(crate) mod external;
pub(crate) mod import;
pub(crate) mod laid_out;
pub(crate) mod purse;
pub(crate) mod rows;
pub(crate) mod ruff;
pub(crate) mod side_by_side;
pub(crate) mod suite;
mod tree;
mod wrong;

/// Maximum number of repeats per case. More do not make the numbers more precise.
pub(crate) const REPEATS_MAX: u32 = 100;
