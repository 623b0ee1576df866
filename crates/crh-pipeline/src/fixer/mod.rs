//! Repairs issues of a review.

mod edit;

pub use edit::FileEdit;
