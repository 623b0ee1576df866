//! Forges: where changes are proposed, talked about and checked. What is there is read in one burst before a review; what a
//! review says is posted after it, and posting twice changes nothing. And trackers: what is left for later is filed there, once.
//!
//! A forge answers with values ([`Proposal`]); what is to be written is decided by pure functions over them. This crate knows
//! neither git (objects are fetched elsewhere, from the addresses in a proposal) nor models.

#[path = "http/mod.rs"]
mod asking;
mod error;
pub mod github;
pub mod launchpad;
#[path = "posting/mod.rs"]
pub mod posted;
#[path = "change_proposal.rs"]
mod proposal;
pub mod tracker;

pub use asking::retry::RetryPolicy;
pub use error::ForgeError;
pub use proposal::{
    Check, Comment, End, LinkedIssue, Proposal, ProposalKind, Round, Spot, Thread, Vote,
};
