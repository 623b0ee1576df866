//! Reminders that fire at a given time.

pub mod queue;
pub mod reminder;
pub mod service;
