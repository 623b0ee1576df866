//! Shows the progress of a review on standard error.

use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::lines::{LinePriority, LineThrottle};
use super::panel::panel_lines;
use super::state::ProgressState;
use super::style::{LineDetail, ProgressStyle, Verbosity};
use super::{lines, screen};
use crate::config::environment::Environment;
use crh_pipeline::events::ReviewEvent;

/// Interval between two redraws of the panel, or between two checks for lines to print.
const TICK: Duration = Duration::from_millis(200);

/// Shows progress until it is ended or dropped. Dropping restores the terminal, also after a panic.
pub(crate) struct ProgressDisplay {
    shared: Arc<SharedDisplay>,
    /// Dropping the sender stops the clock thread.
    clock_stop: Option<Sender<()>>,
    clock: Option<JoinHandle<()>>,
}

/// Shared by the event listener and the clock thread.
struct SharedDisplay {
    style: ProgressStyle,
    /// Whether users see the report on the same screen.
    is_beside_report: bool,
    started: Instant,
    latest: Mutex<LatestProgress>,
}

#[derive(Default)]
struct LatestProgress {
    state: ProgressState,
    throttle: LineThrottle,
}

/// An event as `--debug` prints it.
#[derive(Serialize)]
struct EventLine<'a> {
    /// Milliseconds since the start.
    at_ms: u64,
    #[serde(flatten)]
    event: &'a ReviewEvent,
}

impl ProgressDisplay {
    /// Starts to show progress in the style for this terminal and verbosity.
    pub(crate) fn new(verbosity: Verbosity, environment: &Environment) -> Self {
        let style = super::progress_style(verbosity, environment);
        let shared = Arc::new(SharedDisplay {
            style,
            is_beside_report: super::report_is_beside_progress(),
            started: Instant::now(),
            latest: Mutex::default(),
        });
        let (clock_stop, clock) = shared.clone().start_clock();
        Self { shared, clock_stop, clock }
    }

    /// The callback for review events.
    pub(crate) fn listener(&self) -> impl Fn(&ReviewEvent) + Send + Sync + 'static {
        let shared = self.shared.clone();
        move |event| shared.handle(event)
    }

    /// Prints the remaining lines and removes the panel.
    pub(crate) fn end(self) {
        drop(self);
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        drop(self.clock_stop.take());
        // A panic of the clock thread was already reported.
        self.clock.take().map(JoinHandle::join);
        let throttle = std::mem::take(&mut self.shared.latest().throttle);
        throttle.remaining().iter().for_each(|line| screen::print_line(line));
        // The review may have been interrupted while a prompt was open.
        screen::resume_drawing();
        screen::clear();
    }
}

impl SharedDisplay {
    fn handle(&self, event: &ReviewEvent) {
        let elapsed = self.started.elapsed();
        let mut latest = self.latest();
        latest.state.apply(event, elapsed);
        match self.style {
            ProgressStyle::Silent => {}
            ProgressStyle::Events => {
                let at_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
                match crh_review::stable_json_line(&EventLine { at_ms, event }) {
                    Ok(line) => screen::print_line(line.trim_end()),
                    Err(error) => {
                        screen::print_line(&format!("warning: cannot print an event: {error}"));
                    }
                }
            }
            ProgressStyle::Panel(_) | ProgressStyle::Lines(_) if self.is_in_report(event) => {}
            ProgressStyle::Panel(detail) => {
                let line = lines::line(event, &latest.state, detail);
                let is_printed = |priority| match priority {
                    // The panel shows the status.
                    LinePriority::Status => false,
                    LinePriority::Transient => detail == LineDetail::Every,
                    LinePriority::Permanent => true,
                };
                if let Some(line) = line.filter(|line| is_printed(line.priority)) {
                    screen::print_line(&line.text);
                }
            }
            ProgressStyle::Lines(LineDetail::Every) => {
                if let Some(line) = lines::line(event, &latest.state, LineDetail::Every) {
                    screen::print_line(&line.text);
                }
            }
            ProgressStyle::Lines(LineDetail::Brief) => {
                if let Some(line) = lines::line(event, &latest.state, LineDetail::Brief) {
                    latest.throttle.queue(line);
                }
                if !screen::is_drawing_paused() {
                    let due_lines = latest.throttle.take_due(elapsed);
                    due_lines.iter().for_each(|line| screen::print_line(line));
                }
            }
        }
    }

    /// Whether the report on the same screen shows the same: it lists the team with the reasons.
    fn is_in_report(&self, event: &ReviewEvent) -> bool {
        self.is_beside_report && matches!(event, ReviewEvent::TeamChosen { .. })
    }

    /// Starts the thread that redraws the panel or prints lines that are due. The thread stops when
    /// the sender is dropped.
    fn start_clock(self: Arc<Self>) -> (Option<Sender<()>>, Option<JoinHandle<()>>) {
        match self.style {
            ProgressStyle::Silent
            | ProgressStyle::Events
            | ProgressStyle::Lines(LineDetail::Every) => return (None, None),
            ProgressStyle::Panel(_) | ProgressStyle::Lines(LineDetail::Brief) => {}
        }
        let (stop_sender, stop_receiver) = mpsc::channel::<()>();
        let run = move || {
            while stop_receiver.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                self.tick();
            }
        };
        // If the thread cannot start, the review continues without a panel.
        let clock = std::thread::Builder::new().name("progress".to_owned()).spawn(run);
        (Some(stop_sender), clock.ok())
    }

    fn tick(&self) {
        let elapsed = self.started.elapsed();
        let mut latest = self.latest();
        match self.style {
            ProgressStyle::Panel(_) => {
                let lines = panel_lines(&latest.state, elapsed, screen::size());
                drop(latest);
                screen::draw(lines);
            }
            // Lines wait while the user answers a question.
            ProgressStyle::Lines(_) if screen::is_drawing_paused() => {}
            ProgressStyle::Lines(_) => {
                let LatestProgress { state, throttle } = &mut *latest;
                throttle.tick(elapsed, state).iter().for_each(|line| screen::print_line(line));
            }
            ProgressStyle::Silent | ProgressStyle::Events => {}
        }
    }

    fn latest(&self) -> MutexGuard<'_, LatestProgress> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
