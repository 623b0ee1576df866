//! Raw mode: the terminal delivers every key immediately while a question is open.
//!
//! Invariant: the terminal is restored on drop, after a panic, and before an immediate exit, unless
//! another thread holds the lock (`try_restore`). Newlines still work, so other output stays
//! readable.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Terminal settings to restore; none if raw mode is off.
static SAVED_SETTINGS: Mutex<Option<Termios>> = Mutex::new(None);

/// Raw mode until dropped.
pub(super) struct RawMode(());

impl RawMode {
    /// Switches raw mode on and discards earlier input.
    pub(super) fn enable() -> io::Result<Self> {
        let saved = tcgetattr(io::stdin())?;
        let mut raw = saved.clone();
        raw.local_modes &=
            !(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        *SAVED_SETTINGS.lock().unwrap_or_else(PoisonError::into_inner) = Some(saved);
        let raw_mode = Self(());
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        Ok(raw_mode)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore(SAVED_SETTINGS.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Restores the terminal before an immediate exit.
pub(in crate::ui) fn try_restore() {
    if let Ok(mut saved) = SAVED_SETTINGS.try_lock() {
        restore(saved.take());
    }
}

fn restore(saved: Option<Termios>) {
    if let Some(saved) = saved {
        // A terminal that is gone needs no restore.
        tcsetattr(io::stdin(), OptionalActions::Now, &saved).ok();
    }
}
