//! What the tests of crh stand on: real repositories from a string, and a runner for real programs.
//!
//! Nothing here talks to the network, reads the user's configuration or depends on the time of day.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

mod fixture;
mod program;
mod repo;

pub use fixture::Fixture;
pub use program::Output;
pub use program::Program;
pub use repo::Repo;
