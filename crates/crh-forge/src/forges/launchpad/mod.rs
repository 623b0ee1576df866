//! Launchpad: merge proposals of git branches.

mod auth;
mod client;
mod diff_rows;
pub mod login;
mod merge_proposal_ref;
pub mod post;
pub mod read;
mod service;

pub use auth::{CONSUMER, LaunchpadCredentials, LaunchpadCredentialsError};
pub use client::{
    Collection, CollectionCompleteness, LaunchpadClient, LaunchpadClientConfig, TIMEOUTS,
};
pub use merge_proposal_ref::{MergeProposalRef, MergeProposalRefError};
pub use service::{LaunchpadService, LaunchpadServiceError};
