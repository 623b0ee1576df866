//! Deliveries of a forge: signature, meaning, and who may cause a review.

pub mod admission;
mod payload;
pub mod plan;
pub mod signature;
