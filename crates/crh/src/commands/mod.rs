//! The commands, one file each. A command reads its input, calls pure code, and prints the result.

mod diff;
mod merge;
mod render;
mod schema;

use crate::cli::Cli;
use crate::cli::Command;
use crate::failure::Failure;

/// Runs what the user asked for.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Diff(command) => diff::run(command),
        Command::Merge(args) => merge::run(args),
        Command::Render(args) => render::run(&args),
        Command::Schema(args) => schema::run(&args),
    }
}
