//! Launchpad: merge proposals between branches of git.

mod auth;
mod client;
pub mod login;
mod name;
pub mod post;
pub mod read;
mod rows;
mod service;
mod standing;

pub use auth::CONSUMER;
pub use auth::Credentials;
pub use auth::CredentialsError;
pub use client::Client;
pub use client::Collection;
pub use client::Rest;
pub use client::Setup;
pub use client::TIMEOUTS;
pub use name::Name;
pub use name::NameError;
pub use service::Service;
pub use service::ServiceError;
pub use standing::InlineSaid;
pub use standing::ProposalState;
pub use standing::Said;
pub use standing::Standing;
pub use standing::StandingRound;
