//! GitHub, and GitHub Enterprise: pull requests.

mod auth;
mod client;
mod host;
#[path = "pull_request_ref.rs"]
mod name;
#[path = "new_pull_request.rs"]
mod open;
pub mod post;
pub mod read;
#[path = "state.rs"]
mod standing;

pub use auth::{App, AppError, Credentials};
pub use client::{
    Cache, Client, GraphError, Limit, Pages, Rest, Setup, SetupError, TIMEOUTS, Verb,
};
pub use host::{Host, HostError};
pub use name::{Name, NameError, Repo};
pub use open::{NewPull, open_pull};
pub use standing::{
    Account, Association, FilePatch, InlineComment, InlineThread, PullState, Standing,
    StandingReview, TopComment,
};
