//! Accepts reminders and delivers those that are due.

use crate::queue::Queue;
use crate::reminder::{Reminder, Timestamp};

#[derive(Default)]
pub struct Service {
    queue: Queue,
    last_id: u64,
}

impl Service {
    pub fn schedule(&mut self, tenant: &str, fire_at: Timestamp, text: &str) -> u64 {
        self.last_id += 1;
        self.queue.push(Reminder {
            tenant: tenant.to_string(),
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
        service.schedule("north", 20, "later");
        service.schedule("north", 10, "now");
        let mut seen = Vec::new();
        service.tick(15, |r| seen.push(r.text.clone()));
        assert_eq!(seen, ["now"]);
    }

    #[test]
    fn delivers_for_every_tenant() {
        let mut service = Service::default();
        service.schedule("south", 10, "b");
        service.schedule("north", 10, "a");
        let mut seen = Vec::new();
        service.tick(15, |r| seen.push(format!("{}:{}", r.tenant, r.text)));
        seen.sort();
        assert_eq!(seen, ["north:a", "south:b"]);
    }
}
