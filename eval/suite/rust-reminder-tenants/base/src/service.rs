//! Accepts reminders and delivers those that are due.

use crate::queue::Queue;
use crate::reminder::{Reminder, Timestamp};

#[derive(Default)]
pub struct Service {
    queue: Queue,
    last_id: u64,
}

impl Service {
    pub fn schedule(&mut self, fire_at: Timestamp, text: &str) -> u64 {
        self.last_id += 1;
        self.queue.push(Reminder {
            fire_at,
            id: self.last_id,
            text: text.to_string(),
        });
        self.last_id
    }

    /// Called once a second. Hands every due reminder to `deliver`.
    pub fn tick(&mut self, now: Timestamp, mut deliver: impl FnMut(&Reminder)) {
        while let Some(reminder) = self.queue.pop_due(now) {
            deliver(&reminder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivers_what_is_due() {
        let mut service = Service::default();
        service.schedule(20, "later");
        service.schedule(10, "now");
        let mut seen = Vec::new();
        service.tick(15, |r| seen.push(r.text.clone()));
        assert_eq!(seen, ["now"]);
    }
}
