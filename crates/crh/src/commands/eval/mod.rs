//! `crh eval`: measures how good reviews are.

mod calibrate;
mod compare;
mod evaluated_reviewers;
mod evaluation_files;
mod gate;
mod judge;
mod noise;
mod outcomes;
mod reviews;
mod run;
mod score;
mod show;
mod suite_reviews;

use std::process::ExitCode;

use crate::cli::EvalCommand;
use crate::config::environment::Environment;
use crate::eval::import;
use crate::failure::Failure;

pub(super) fn run(command: EvalCommand, environment: &Environment) -> Result<ExitCode, Failure> {
    let done = match command {
        EvalCommand::Run(args) => return run::run(&args, environment),
        EvalCommand::Gate(args) => return gate::run(&args, environment),
        EvalCommand::Noise(args) => return noise::run(&args, environment),
        EvalCommand::Compare(args) => compare::run(&args, environment),
        EvalCommand::Show(args) => show::run(&args, environment),
        EvalCommand::Score(args) => score::run(&args, environment),
        EvalCommand::Import(args) => import::run(&args, environment),
        EvalCommand::Outcomes(args) => outcomes::run(&args, environment),
        EvalCommand::Calibrate(args) => calibrate::run(&args, environment),
    };
    done.map(|()| ExitCode::SUCCESS)
}
