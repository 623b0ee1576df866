//! Test support for crh: real repositories from a string, a program runner, a terminal, a scripted
//! model, and stateful fakes of GitHub, GitLab, Gitea, Launchpad, Linear and Jira.
//!
//! Nothing here uses the network beyond loopback, reads user configuration or depends on the time
//! of day.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::io::Write;

pub mod fake_forge;
pub mod fake_github;
pub mod fake_launchpad;
pub mod fake_model;
pub mod fake_trackers;
mod fixture;
mod http;
pub mod measure;
mod program;
mod repo;
mod terminal;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod traced;

pub use fake_forge::FakeForge;
pub use fake_github::FakeGitHub;
pub use fake_launchpad::FakeLaunchpad;
pub use fake_model::FakeModel;
pub use fixture::Fixture;
pub use program::{Output, Program, RunningProgram};
pub use repo::Repo;
pub use rustix::process::Signal;
pub use terminal::{Terminal, TerminalOutput};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use traced::InjectedFault;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use traced::TraceOutcome;

/// Whether `CRH_TEST_ALL` asks for every case of the tests that try a sample.
pub fn runs_all_cases() -> bool {
    std::env::var_os("CRH_TEST_ALL").is_some_and(|value| !value.is_empty())
}

/// Says that a test proves nothing on this machine. Prints past the test harness, which hides the
/// output of passing tests.
///
/// # Panics
///
/// If `CRH_TEST_ALL` is set.
pub fn skip_test(test: &str, reason: &str) {
    assert!(!runs_all_cases(), "`{test}` was not tried: {reason}");
    let notice = format!("\nNOT SHOWN: `{test}` was not tried: {reason}\n");
    std::io::stderr().write_all(notice.as_bytes()).unwrap();
}

/// Whether a test tries this choice, such as a kind of fault, at this step. By default, tests try
/// one choice at each step, in turn. With `CRH_TEST_ALL=1`, tests try every choice at every step.
pub fn tries_case(step: usize, choice: usize, choices: usize) -> bool {
    step % choices == choice || runs_all_cases()
}
