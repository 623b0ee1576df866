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

/// What is called for every session that was closed.
type CloseHook = Box<dyn Fn(SessionId, &str) + Send + Sync>;

pub struct Sessions<C> {
    clock: C,
    idle_limit: Duration,
    open: Mutex<HashMap<SessionId, Session>>,
    on_close: CloseHook,
}

impl<C: Clock> Sessions<C> {
    /// `on_close` gets the id and the player of a session after it was closed. It
    /// runs without the lock, so it may use this table, for example to open a new session.
    pub fn new(
        clock: C,
        idle_limit: Duration,
        on_close: impl Fn(SessionId, &str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            clock,
            idle_limit,
            open: Mutex::new(HashMap::new()),
            on_close: Box::new(on_close),
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

    /// Closes a session, for example when the player leaves. False if it was not open.
    pub fn close(&self, id: SessionId) -> bool {
        let removed = self.open.lock().unwrap().remove(&id);
        let Some(session) = removed else {
            return false;
        };
        (self.on_close)(id, &session.player);
        true
    }

    /// Closes the sessions that were idle too long. Returns how many.
    pub fn sweep(&self) -> usize {
        let closed: Vec<(SessionId, Session)> = {
            let mut open = self.open.lock().unwrap();
            let now = self.clock.now();
            open.extract_if(|_, s| now - s.last_seen > self.idle_limit)
                .collect()
        };
        for (id, session) in &closed {
            (self.on_close)(*id, &session.player);
        }
        closed.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, OnceLock};

    struct TestClock(Mutex<u64>);

    impl Clock for Arc<TestClock> {
        fn now(&self) -> Duration {
            Duration::from_secs(*self.0.lock().unwrap())
        }
    }

    #[test]
    fn sweep_tells_who_was_closed() {
        let clock = Arc::new(TestClock(Mutex::new(0)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let sessions = Sessions::new(Arc::clone(&clock), Duration::from_secs(60), move |id, p| {
            log.lock().unwrap().push(format!("{id} {p}"));
        });
        sessions.open(1, "ada");
        sessions.open(2, "ben");
        *clock.0.lock().unwrap() = 50;
        assert!(sessions.touch(2));
        *clock.0.lock().unwrap() = 61;
        assert_eq!(sessions.sweep(), 1);
        assert_eq!(*seen.lock().unwrap(), ["1 ada"]);
        assert!(sessions.close(2));
        assert!(!sessions.close(2));
        assert_eq!(*seen.lock().unwrap(), ["1 ada", "2 ben"]);
    }

    #[test]
    fn hook_may_use_the_table() {
        static TABLE: OnceLock<Sessions<Arc<TestClock>>> = OnceLock::new();
        let clock = Arc::new(TestClock(Mutex::new(0)));
        let table = TABLE.get_or_init(|| {
            Sessions::new(clock, Duration::from_secs(60), |id, player| {
                if let Some(table) = TABLE.get() {
                    table.open(id + 100, player);
                }
            })
        });
        table.open(1, "ada");
        assert!(table.close(1));
        assert_eq!(table.player(101).as_deref(), Some("ada"));
    }
}
