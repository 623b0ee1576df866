//! A whole review by a panel, from a pinned change to its report, with a scripted model.

mod asked_once;
mod choosing;
mod cost;
mod failing;
mod gates;
mod given;
mod large;
mod merging;
mod order;
mod plan;
mod scene;
