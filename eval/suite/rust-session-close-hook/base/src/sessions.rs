//! The table of open sessions, shared between the connection threads.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::clock::Clock;

/// Given out by the acceptor, never used twice.
pub type SessionId = u64;

struct Session {
    player: String,
    last_seen: Duration,
}

pub struct Sessions<C> {
    clock: C,
    idle_limit: Duration,
    open: Mutex<HashMap<SessionId, Session>>,
}

impl<C: Clock> Sessions<C> {
    pub fn new(clock: C, idle_limit: Duration) -> Self {
        Self {
            clock,
            idle_limit,
            open: Mutex::new(HashMap::new()),
        }
    }

    pub fn open(&self, id: SessionId, player: &str) {
        let session = Session {
            player: player.to_string(),
            last_seen: self.clock.now(),
        };
        self.open.lock().unwrap().insert(id, session);
    }

    /// Notes a sign of life. False if the session is not open any more.
    pub fn touch(&self, id: SessionId) -> bool {
        match self.open.lock().unwrap().get_mut(&id) {
            Some(session) => {
                session.last_seen = self.clock.now();
                true
            }
            None => false,
        }
    }

    pub fn player(&self, id: SessionId) -> Option<String> {
        let open = self.open.lock().unwrap();
        open.get(&id).map(|s| s.player.clone())
    }

    /// Closes the sessions that were idle too long. Returns how many.
    pub fn sweep(&self) -> usize {
        let mut open = self.open.lock().unwrap();
        let now = self.clock.now();
        let before = open.len();
        open.retain(|_, s| now - s.last_seen <= self.idle_limit);
        before - open.len()
    }
}
