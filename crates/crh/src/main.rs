//! crh reviews a proposed code change and tells its author, with evidence, what is wrong with it.

mod cli;
mod commands;
mod config;
mod eval;
mod failure;
mod fix;
mod hand_off;
mod input;
mod interactive;
mod programs;
mod ui;

use std::process::ExitCode;

use clap::Parser;

use crh_lint::sandbox;

fn main() -> ExitCode {
    // First: a process that has started a thread cannot be shut in.
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    if first.as_ref().is_some_and(|word| word == programs::COMPANION) {
        // Whoever started it says what went wrong.
        return programs::companion().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    if first.is_some_and(|word| word == sandbox::HELPER) {
        let word = words.next().map(|word| word.to_string_lossy().into_owned());
        let (code, why) = sandbox::helper(word.as_deref(), std::io::stdin());
        return ui::say_shut_in(code, why.as_deref());
    }
    std::panic::set_hook(Box::new(ui::say_bug));
    // The hook has spoken; what is left is the exit code that says whose fault it was.
    let outcome = std::panic::catch_unwind(|| match cli::Cli::try_parse() {
        Ok(cli) => {
            let environment = config::environment::Environment::of_process();
            commands::run(cli, &environment)
        }
        Err(refused) => Ok(ui::say_usage(&refused)),
    });
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => ui::say_failure(&failure),
        Err(_) => failure::Kind::Bug.exit_code(),
    }
}
