//! Webhook deliveries of a forge: checks the signature, decides what to do, and decides who may
//! request a review.

pub mod admission;
mod payload;
pub mod plan;
pub mod signature;
