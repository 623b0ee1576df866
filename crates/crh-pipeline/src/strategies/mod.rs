//! Strategies: ways to divide a change among model reviewers.

mod delegate;
pub(crate) mod panel;

pub use delegate::delegate;
pub use panel::panel;
