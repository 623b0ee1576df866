//! The waiting reminders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::reminder::{Reminder, Timestamp};

#[derive(Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<Reminder>>,
}

impl Queue {
    pub fn push(&mut self, reminder: Reminder) {
        self.heap.push(Reverse(reminder));
    }

    /// Takes the next reminder if its time has come.
    pub fn pop_due(&mut self, now: Timestamp) -> Option<Reminder> {
        let next = &self.heap.peek()?.0;
        if next.fire_at > now {
            return None;
        }
        self.heap.pop().map(|Reverse(reminder)| reminder)
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
