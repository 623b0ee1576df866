//! The commands, one file each. A command reads its input, calls pure code, and prints the result.

mod ask;
mod config;
mod desk;
mod diff;
mod init;
mod merge;
mod model;
mod models;
mod prepare;
mod render;
mod repository_file;
mod schema;
mod store;
mod tool;

use crate::cli::Cli;
use crate::cli::Command;
use crate::config::environment::Environment;
use crate::failure::Failure;

/// Runs what the user asked for.
pub(crate) fn run(cli: Cli, environment: &Environment) -> Result<(), Failure> {
    match cli.command {
        Command::Prepare(args) => prepare::run(args, environment),
        Command::Tool(args) => tool::run(args, environment),
        Command::Diff(command) => diff::run(command),
        Command::Merge(args) => merge::run(args, environment),
        Command::Render(args) => render::run(args, environment),
        Command::Schema(args) => schema::run(&args),
        Command::Config(command) => config::run(command, environment),
        Command::Init(args) => init::run(&args, environment),
        Command::Model(command) => model::run(command, environment),
        Command::Ask(args) => ask::run(args, environment),
    }
}
