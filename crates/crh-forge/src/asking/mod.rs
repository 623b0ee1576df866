//! What every forge needs to ask a host: when again, how long to wait, what to say of a failure, and how much to read.

pub(crate) mod retry;
pub(crate) mod said;
pub(crate) mod waiting;
pub(crate) mod whole;
