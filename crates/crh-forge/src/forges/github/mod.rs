//! GitHub and GitHub Enterprise: pull requests.

mod auth;
mod client;
mod host;
mod new_pull_request;
pub mod post;
mod pull_request_ref;
pub mod read;

pub use auth::{GitHubApp, GitHubAppError, GitHubCredentials};
pub use client::{
    GitHubClient, GitHubClientConfig, GitHubSetupError, GraphError, PageCompleteness, Pages,
    RateLimit, ReplyCache, TIMEOUTS,
};
pub use host::{GitHubHost, GitHubHostError};
pub use new_pull_request::{NewPullRequest, open_pull_request};
pub use pull_request_ref::{PullRequestRef, PullRequestRefError, Repo};
