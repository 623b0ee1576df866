//! Forges and issue trackers. crh reads a proposed change before the review, posts the review
//! afterwards, and files tickets. Posting or filing twice changes nothing.
//!
//! Reading returns plain values ([`ChangeProposal`]), and pure functions decide what to write. This
//! crate knows neither git (the caller fetches commits from the addresses in a proposal) nor
//! models.

mod change_proposal;
mod error;
pub mod forge_code;
pub mod forges;
mod http;
pub mod posting;
pub mod rest;
pub mod tracker;

pub use change_proposal::{
    BranchEnd, ChangeProposal, DiffSpot, DiscussionComment, DiscussionThread, ForgeCheck,
    ForgeIssue, ProposalKind, ProposalRound, ReviewVote,
};
pub use error::ForgeError;
pub use forges::{ForgeName, PostKind, github, launchpad};
pub use http::retry::ForgeRetryPolicy;
