//! A durable outbox: jobs are appended to a journal and replayed at start.

pub mod journal;
pub mod outbox;
pub mod record;
