//! `crh eval`: cases, where they come from, and what is run over them. The numbers are `crh_review::eval`'s.

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

/// The most times that a case is reviewed: more tell nothing that these do not.
pub(crate) const REPEATS_MAX: u32 = 100;
