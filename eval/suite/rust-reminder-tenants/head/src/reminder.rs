//! What a reminder is.

/// Seconds since the epoch.
pub type Timestamp = u64;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reminder {
    /// The account the reminder belongs to.
    pub tenant: String,
    pub fire_at: Timestamp,
    pub id: u64,
    pub text: String,
}
