//! Whole reviews by a panel, from the change to the report, with a scripted model.

mod choosing;
mod cost;
mod failing;
mod gates;
mod large;
mod merging;
mod order;
mod plan;
mod resume;
mod reviewer_inputs;
pub(crate) mod scene;
mod single;
