//! What a reminder is.

/// Seconds since the epoch.
pub type Timestamp = u64;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reminder {
    pub fire_at: Timestamp,
    pub id: u64,
    pub text: String,
}
