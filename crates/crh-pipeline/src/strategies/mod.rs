//! The ways to divide a change among reviewers that ask a model.

mod delegate;
pub(crate) mod panel;
mod single;

pub use delegate::delegate;
pub use panel::panel;
pub use single::single;
