//! What every forge needs to ask a host: when again, how long to wait, what to say of a failure, and how much to read.

pub(crate) mod retry;
#[path = "message.rs"]
pub(crate) mod said;
#[path = "wait_notifier.rs"]
pub(crate) mod waiting;
#[path = "reply.rs"]
pub(crate) mod whole;
