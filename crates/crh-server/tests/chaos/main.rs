//! Chaos test: many pull requests, four worker processes that are killed or frozen at random, a database that goes away twice,
//! and a forge and a model that fail 5 % of the time. At the end every newest head has exactly one posted review.
//!
//! Without arguments it runs a short form on SQLite. `scripts/chaos` runs the long form on both databases.
//! The children of the workers are this program itself, in the place of `crh`: `step.rs` does what `crh prepare`,
//! `crh review` and `crh post` do with the forge and the model, without git and without a real review.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test with processes, arguments and time of its own"
)]

mod driver;
mod services;
mod step;
mod worker_process;

use std::{path::PathBuf, process::ExitCode, time::Duration};

/// Variable that says which part of the test a process plays.
const ROLE: &str = "CRH_CHAOS_ROLE";
/// Variable with the address of the fake forge and model.
const ADDRESS: &str = "CRH_CHAOS_ADDRESS";
/// Variables of a worker process.
const WORKER: &str = "CRH_CHAOS_WORKER";
const DATABASE: &str = "CRH_CHAOS_DATABASE";
const STATE: &str = "CRH_CHAOS_STATE";
const LIMIT: &str = "CRH_CHAOS_LIMIT";

/// Size of a test.
#[derive(Debug, Clone)]
struct ChaosPlan {
    pulls: usize,
    /// Pull requests of one repository that together cost more than its limit.
    greedy_pulls: usize,
    /// Daily limit of each repository, in millionths of a dollar.
    limit: i64,
    /// Number of worker kills.
    kills: usize,
    /// Longest time of the whole test.
    bound: Duration,
    seed: u64,
    /// Address of a PostgreSQL server. SQLite without it.
    postgres: Option<String>,
    /// Program that restarts that server.
    restart: Option<PathBuf>,
}

fn main() -> ExitCode {
    match std::env::var(ROLE).as_deref() {
        Ok("step") => return step::run(),
        Ok("worker") => return worker_process::run(),
        _ => {}
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test FILTER` runs this program, too.
    let filter = arguments.iter().find(|argument| !argument.starts_with("--"));
    if arguments.iter().any(|argument| argument == "--list")
        || filter.is_some_and(|filter| !"chaos".contains(filter.as_str()))
    {
        return ExitCode::SUCCESS;
    }
    let value = |name: &str| {
        arguments.iter().find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='))
    };
    let number =
        |name: &str, default: u64| value(name).map_or(default, |text| text.parse().unwrap());
    let pulls = number("--pulls", 40);
    let long = pulls >= 100;
    let plan = ChaosPlan {
        pulls: usize::try_from(pulls).unwrap(),
        greedy_pulls: if long { 45 } else { 24 },
        limit: if long { 750_000 } else { 450_000 },
        kills: usize::try_from(number("--kills", pulls / 5)).unwrap(),
        bound: Duration::from_secs(number("--seconds", 150)),
        seed: number("--seed", u64::from(std::process::id())),
        postgres: arguments
            .iter()
            .any(|argument| argument == "--postgres")
            .then(|| std::env::var("CRH_TEST_POSTGRES").unwrap()),
        restart: std::env::var("CRH_TEST_POSTGRES_RESTART").ok().map(PathBuf::from),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let failures = runtime.block_on(driver::run(&plan));
    for failure in &failures {
        println!("FAILED: {failure}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A small random generator (xorshift), so that a seed repeats the choices of a test.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}
