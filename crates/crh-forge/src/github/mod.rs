//! GitHub, and GitHub Enterprise: pull requests.

mod auth;
mod client;
mod host;
mod name;
pub mod post;
pub mod read;
mod standing;

pub use auth::App;
pub use auth::AppError;
pub use auth::Credentials;
pub use client::Cache;
pub use client::Client;
pub use client::GraphError;
pub use client::Limit;
pub use client::Pages;
pub use client::Rest;
pub use client::Setup;
pub use client::SetupError;
pub use client::TIMEOUTS;
pub use client::Verb;
pub use host::Host;
pub use host::HostError;
pub use name::Name;
pub use name::NameError;
pub use name::Repo;
pub use standing::Account;
pub use standing::Association;
pub use standing::FilePatch;
pub use standing::InlineComment;
pub use standing::InlineThread;
pub use standing::PullState;
pub use standing::Standing;
pub use standing::StandingReview;
pub use standing::TopComment;
