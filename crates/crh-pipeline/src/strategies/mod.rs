//! Strategies: ways to divide a change among model reviewers.

mod delegate;
pub(crate) mod panel;
mod single;

pub use delegate::delegate;
pub use panel::panel;
#[cfg(test)]
pub(crate) use single::sample::member as sample_member;
pub use single::single;
pub(crate) use single::submit_spec;
