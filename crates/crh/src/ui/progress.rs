//! What a review does, shown while it does it: the thin shell around the faces.

use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::face::{Detail, Face, Verbosity};
use super::lines::{Pace, Weight};
use super::panel::panel_lines;
use super::state::State;
use super::{lines, screen};
use crate::config::environment::Environment;
use crh_pipeline::events::Event;

/// How often the panel is drawn: five times a second is lively enough, and costs nothing.
const TICK: Duration = Duration::from_millis(200);

/// Shows what a review does until it is ended or dropped: after a failure or a panic the terminal is left as it is after a
/// good end.
pub(crate) struct Progress {
    shown: Arc<Shown>,
    /// Dropping it ends the clock.
    alive: Option<Sender<()>>,
    clock: Option<JoinHandle<()>>,
}

/// What the listener and the clock share.
struct Shown {
    face: Face,
    started: Instant,
    latest: Mutex<Latest>,
}

#[derive(Default)]
struct Latest {
    state: State,
    pace: Pace,
}

/// An event as `--debug` prints it.
#[derive(Serialize)]
struct EventLine<'a> {
    /// From the start, in milliseconds.
    at_ms: u64,
    #[serde(flatten)]
    event: &'a Event,
}

impl Progress {
    /// Begins to show, in the way that fits standard error and what the user wants.
    pub(crate) fn new(verbosity: Verbosity, environment: &Environment) -> Self {
        let face = super::face(verbosity, environment);
        let latest = Mutex::default();
        let shown = Arc::new(Shown { face, started: Instant::now(), latest });
        let (alive, clock) = shown.clone().clock();
        Self { shown, alive, clock }
    }

    /// What is to be told everything that happens.
    pub(crate) fn listener(&self) -> impl Fn(&Event) + Send + Sync + 'static {
        let shown = self.shown.clone();
        move |event| shown.hear(event)
    }

    /// Shows what is left to be shown, and takes the panel away.
    pub(crate) fn end(self) {
        drop(self);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.alive.take());
        // A clock that has panicked has said so, and there is nothing left to wait for.
        self.clock.take().map(JoinHandle::join);
        let pace = std::mem::take(&mut self.shown.latest().pace);
        pace.rest().iter().for_each(|line| screen::say(line));
        // Whoever stopped the review while being asked something is not asked any more.
        screen::go_on_drawing();
        screen::clear();
    }
}

impl Shown {
    fn hear(&self, event: &Event) {
        let at = self.started.elapsed();
        let mut latest = self.latest();
        latest.state.take_in(event, at);
        match self.face {
            Face::Silent => {}
            Face::Events => {
                let at_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
                match crh_review::stable_json_line(&EventLine { at_ms, event }) {
                    Ok(line) => screen::say(line.trim_end()),
                    Err(error) => screen::say(&format!("warning: an event was lost: {error}")),
                }
            }
            Face::Panel(detail) => {
                let line = lines::line(event, &latest.state, detail);
                let stays = |weight| match weight {
                    // The panel says it.
                    Weight::Status => false,
                    Weight::Passing => detail == Detail::Every,
                    Weight::Lasting => true,
                };
                if let Some(line) = line.filter(|line| stays(line.weight)) {
                    screen::say(&line.text);
                }
            }
            Face::Lines(Detail::Every) => {
                if let Some(line) = lines::line(event, &latest.state, Detail::Every) {
                    screen::say(&line.text);
                }
            }
            Face::Lines(Detail::Brief) => {
                if let Some(line) = lines::line(event, &latest.state, Detail::Brief) {
                    latest.pace.offer(line);
                }
                latest.pace.due(at).iter().for_each(|line| screen::say(line));
            }
        }
    }

    /// Starts the clock that shows what time alone changes; it runs until the sender is dropped.
    fn clock(self: Arc<Self>) -> (Option<Sender<()>>, Option<JoinHandle<()>>) {
        match self.face {
            Face::Silent | Face::Events | Face::Lines(Detail::Every) => return (None, None),
            Face::Panel(_) | Face::Lines(Detail::Brief) => {}
        }
        let (alive, ended) = mpsc::channel::<()>();
        let run = move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                self.tick();
            }
        };
        // Without a thread there is no panel; the review goes on all the same.
        let clock = std::thread::Builder::new().name("progress".to_owned()).spawn(run);
        (Some(alive), clock.ok())
    }

    fn tick(&self) {
        let at = self.started.elapsed();
        let mut latest = self.latest();
        match self.face {
            Face::Panel(_) => {
                let lines = panel_lines(&latest.state, at, screen::size());
                drop(latest);
                screen::draw(lines);
            }
            Face::Lines(_) => latest.pace.due(at).iter().for_each(|line| screen::say(line)),
            Face::Silent | Face::Events => {}
        }
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
