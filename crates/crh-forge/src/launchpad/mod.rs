//! Launchpad: merge proposals between branches of git.

mod auth;
mod client;
pub mod login;
#[path = "merge_proposal_ref.rs"]
mod name;
pub mod post;
pub mod read;
#[path = "diff_rows.rs"]
mod rows;
mod service;
#[path = "state.rs"]
mod standing;

pub use auth::{CONSUMER, Credentials, CredentialsError};
pub use client::{Client, Collection, Rest, Setup, TIMEOUTS};
pub use name::{Name, NameError};
pub use service::{Service, ServiceError};
pub use standing::{InlineSaid, ProposalState, Said, Standing, StandingRound};
