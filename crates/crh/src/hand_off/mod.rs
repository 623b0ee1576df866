//! What a review leaves for later: tickets of the project's tracker.

pub(crate) mod tickets;
