//! Tracks the owner of each MCP session, and whether its client is still connected.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for a client to connect again. After it, the client counts as gone.
const RECONNECT_TIME: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 60 });

/// Sessions by id.
#[derive(Debug, Default)]
pub(super) struct ClientSessions(Mutex<BTreeMap<String, ClientSession>>);

#[derive(Debug)]
struct ClientSession {
    /// Name of the person who started it.
    owner: String,
    /// Number of HTTP answers that the client reads right now.
    connections: usize,
    /// End of the last connection, or the start of the session.
    left_at: Instant,
}

/// An answer that the client reads. Dropping it ends the connection.
#[derive(Debug)]
pub(super) struct Connection {
    clients: Arc<ClientSessions>,
    session: String,
}

impl ClientSessions {
    pub(super) fn add(&self, id: &str, owner: &str) {
        let (owner, left_at) = (owner.to_owned(), Instant::now());
        self.lock().insert(id.to_owned(), ClientSession { owner, connections: 0, left_at });
    }

    /// Forgets sessions that are not open any more.
    pub(super) fn retain(&self, is_open: impl Fn(&str) -> bool) {
        self.lock().retain(|id, _| is_open(id));
    }

    pub(super) fn end(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Sessions that have had no connection for longer than `time`.
    pub(super) fn idle(&self, time: Duration) -> Vec<String> {
        let sessions = self.lock();
        let idle = sessions
            .iter()
            .filter(|(_, session)| session.connections == 0 && session.left_at.elapsed() > time);
        idle.map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn belongs_to(&self, id: &str, owner: &str) -> bool {
        self.lock().get(id).is_some_and(|session| session.owner == owner)
    }

    pub(super) fn connect(self: &Arc<Self>, id: &str) -> Connection {
        if let Some(session) = self.lock().get_mut(id) {
            session.connections += 1;
        }
        Connection { clients: self.clone(), session: id.to_owned() }
    }

    /// Whether the session ended, or its client left and did not come back.
    pub(super) fn is_gone(&self, id: &str) -> bool {
        self.lock().get(id).is_none_or(|session| {
            session.connections == 0 && session.left_at.elapsed() > RECONNECT_TIME
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, ClientSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(session) = self.clients.lock().get_mut(&self.session) {
            session.connections = session.connections.saturating_sub(1);
            session.left_at = Instant::now();
        }
    }
}
