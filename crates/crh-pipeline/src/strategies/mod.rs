//! The ways to divide a change among reviewers that ask a model.

mod delegate;
mod single;

pub use delegate::delegate;
pub use single::single;
