//! `crh model`: lists models, and tests one.

mod check;
mod list;

use crate::cli::ModelCommand;
use crate::config::environment::Environment;
use crate::failure::Failure;

pub(crate) fn run(command: ModelCommand, environment: &Environment) -> Result<(), Failure> {
    match command {
        ModelCommand::List(args) => list::run(&args, environment),
        ModelCommand::Check(args) => check::run(&args, environment),
    }
}
