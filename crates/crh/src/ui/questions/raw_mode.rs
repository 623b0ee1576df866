//! A terminal that hands over every key at once, for as long as a question is open.
//!
//! Invariant: however the question ends, the terminal is as it was: when the value is dropped, also by a panic, and when the
//! program is left in the middle (`restore_at_once`). Lines still end as usual, so that whatever is printed meanwhile can be read.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// What the terminal was like before; none while it is like that.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Keys come in one by one until this is dropped.
pub(super) struct RawMode(());

impl RawMode {
    /// Switches it on. What was typed before is no answer to what is asked now, and is forgotten.
    pub(super) fn on() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.local_modes &=
            !(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let on = Self(());
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        Ok(on)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore(BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Makes the terminal what it was, for a program that ends at once.
pub(in crate::ui) fn restore_at_once() {
    if let Ok(mut before) = BEFORE.try_lock() {
        restore(before.take());
    }
}

fn restore(before: Option<Termios>) {
    if let Some(before) = before {
        // A terminal that is gone need not be restored.
        tcsetattr(io::stdin(), OptionalActions::Now, &before).ok();
    }
}
