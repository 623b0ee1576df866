//! The fake forge and the fake model: a server on loopback with one JSON line per request.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::Dice;

/// Cost of one model call, in millionths of a dollar.
pub(crate) const CALL_COST: i64 = 10_000;

/// Share of requests that fail, in percent. Half of them have their effect before the connection breaks.
const FAULT_PERCENT: u64 = 5;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Request {
    /// State of a pull request.
    Pull { pull: usize },
    /// Heads with a posted review, one entry per review.
    Reviews { pull: usize },
    /// Posts a review.
    Post { pull: usize, head: String },
    /// All pull requests of a repository.
    Pulls { repository: String },
    /// A model call.
    Call { repository: String },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Reply {
    Pull(PullState),
    Pulls(Vec<PullState>),
    Reviews(Vec<String>),
    Posted,
    Moved,
    Answer,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PullState {
    pub(crate) number: usize,
    pub(crate) repository: String,
    pub(crate) head: String,
    /// Grows with each push.
    pub(crate) revision: i64,
}

/// State of the fakes.
#[derive(Debug, Default)]
pub(crate) struct Services {
    pub(crate) pulls: BTreeMap<usize, PullState>,
    /// Heads in the order in which they were posted, by pull request.
    pub(crate) reviews: BTreeMap<usize, Vec<String>>,
    /// Cost of all calls, by repository.
    pub(crate) cost: BTreeMap<String, i64>,
    pub(crate) requests: u64,
    pub(crate) faults: u64,
}

/// Starts the fakes on a free port and returns its address.
pub(crate) fn start(services: Arc<Mutex<Services>>, seed: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let dice = Arc::new(Mutex::new(Dice::new(seed)));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (services, dice) = (services.clone(), dice.clone());
            std::thread::spawn(move || serve(&stream, &services, &dice));
        }
    });
    address
}

fn serve(mut stream: &TcpStream, services: &Mutex<Services>, dice: &Mutex<Dice>) -> Option<()> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    let request: Request = serde_json::from_str(&line).ok()?;
    let (fault, late, delay) = {
        let mut dice = dice.lock().unwrap();
        (dice.roll(100) < FAULT_PERCENT, dice.roll(2) == 0, 10 + dice.roll(60))
    };
    if matches!(request, Request::Call { .. }) {
        std::thread::sleep(Duration::from_millis(delay));
    }
    let reply = {
        let mut services = services.lock().unwrap();
        services.requests += 1;
        services.faults += u64::from(fault);
        (!fault || late).then(|| services.answer(request))
    };
    if fault {
        // The connection breaks, before or after the effect.
        return None;
    }
    let text = serde_json::to_string(&reply?).ok()?;
    stream.write_all(format!("{text}\n").as_bytes()).ok()
}

impl Services {
    fn answer(&mut self, request: Request) -> Reply {
        match request {
            Request::Pull { pull } => Reply::Pull(self.pulls[&pull].clone()),
            Request::Pulls { repository } => Reply::Pulls(
                self.pulls
                    .values()
                    .filter(|pull| pull.repository == repository && pull.revision > 0)
                    .cloned()
                    .collect(),
            ),
            Request::Reviews { pull } => {
                Reply::Reviews(self.reviews.get(&pull).cloned().unwrap_or_default())
            }
            Request::Post { pull, head } => {
                if self.pulls[&pull].head != head {
                    return Reply::Moved;
                }
                self.reviews.entry(pull).or_default().push(head);
                Reply::Posted
            }
            Request::Call { repository } => {
                *self.cost.entry(repository).or_default() += CALL_COST;
                Reply::Answer
            }
        }
    }
}

/// Sends one request. Any failure is `None`, as for a client of a broken network.
pub(crate) fn send(address: &str, request: &Request) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let text = serde_json::to_string(request).ok()?;
    stream.write_all(format!("{text}\n").as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}
