//! crh reviews proposed code changes and proves each finding with quoted code.

mod cli;
mod commands;
mod config;
mod failure;
mod fix;
mod hand_off;
mod input;
mod interactive;
mod programs;
mod ui;
mod version;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crh_lint::sandbox;
use crh_mcp::program::{ATTENDED, end_with_parent};

/// Runs the command line of this process. A binary calls this as its whole `main`.
pub fn main() -> ExitCode {
    // The sandbox helper must start before any thread, because a process with threads cannot enter
    // the sandbox.
    let mut command_line: Vec<OsString> = std::env::args_os().collect();
    let mut args = command_line.iter().skip(1);
    let first_arg = args.next();
    if first_arg.is_some_and(|arg| arg == programs::COMPANION) {
        // The parent process reports the error.
        return programs::run_companion().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    if first_arg.is_some_and(|arg| arg == sandbox::HELPER) {
        let arg = args.next().map(|arg| arg.to_string_lossy().into_owned());
        let (code, error) = sandbox::run_helper(arg.as_deref(), std::io::stdin());
        return ui::print_sandbox_helper(code, error.as_deref());
    }
    if first_arg.is_some_and(|arg| arg == ATTENDED) {
        end_with_parent();
        command_line.remove(1);
    }
    std::panic::set_hook(Box::new(ui::print_panic));
    // The panic hook has printed the error; only the exit code is left.
    let outcome = std::panic::catch_unwind(|| {
        let environment = config::environment::Environment::from_process(config::keys::variables());
        // A review that a worker of the server started ends with that worker.
        #[cfg(all(feature = "server", unix))]
        crh_server::worker::end_with_parent(
            environment
                .variable(crh_server::worker::PARENT_VARIABLE)
                .and_then(|parent| parent.to_str()),
        );
        ui::guard_workflow_commands(&environment);
        match cli::Cli::try_parse_from(&command_line) {
            Ok(cli) => commands::run(cli, &environment),
            Err(error) => Ok(ui::print_usage(&cli::with_suggestions(error, &command_line))),
        }
    });
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => ui::print_failure(&failure),
        Err(_) => failure::exit_code(failure::FailureKind::Bug),
    }
}
