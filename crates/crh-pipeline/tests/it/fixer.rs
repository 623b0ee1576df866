//! A fixer from its issues to its edits, with a scripted model.

mod confined;
mod counting;
mod failing;
mod repairing;
mod scene;
