//! What the tests of crh stand on: real repositories from a string, a runner for real programs, and
//! a model that says what it is told to, a GitHub and a Launchpad that keep state.
//!
//! Nothing here talks to the network beyond loopback, reads the user's configuration or depends on the time of day.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

pub mod fake_github;
pub mod fake_launchpad;
pub mod fake_model;
mod fixture;
mod http;
pub mod measure;
mod program;
mod repo;

pub use fake_github::FakeGitHub;
pub use fake_launchpad::FakeLaunchpad;
pub use fake_model::FakeModel;
pub use fixture::Fixture;
pub use program::Output;
pub use program::Program;
pub use program::Running;
pub use repo::Repo;
