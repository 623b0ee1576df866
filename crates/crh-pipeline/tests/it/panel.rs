//! A whole review by a panel, from a pinned change to its report, with a scripted model.

#[path = "panel/resume.rs"]
mod asked_once;
mod choosing;
mod cost;
mod failing;
mod gates;
#[path = "panel/reviewer_inputs.rs"]
mod given;
mod large;
mod merging;
mod order;
mod plan;
mod scene;
