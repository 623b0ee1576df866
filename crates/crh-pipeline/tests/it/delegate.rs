//! `delegate` over a real repository, against a fake model.

mod failures;
mod rules;
mod scene;
mod together;
