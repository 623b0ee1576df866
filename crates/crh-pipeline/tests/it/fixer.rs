//! A fixer on an errand, from its issues to its edits, with a scripted model.

mod confined;
mod failing;
mod repairing;
mod scene;
