//! Sessions of the game lobby.

pub mod clock;
pub mod sessions;
