mod counting;
mod ending;
mod limits;
mod properties;
mod script;
#[path = "tests/turns.rs"]
mod talking;
mod trimming;
#[path = "tests/protocols.rs"]
mod ways;
