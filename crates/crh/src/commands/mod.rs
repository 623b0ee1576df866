//! One file per command. A command reads its input, calls library code, and prints the result.

mod analysers;
mod ask;
mod baseline;
mod change_source;
mod completions;
mod config;
mod demo;
mod diff;
pub(crate) mod dismiss;
mod doctor;
mod eval;
mod fix;
pub(crate) mod forge;
pub(crate) mod github;
mod init;
pub(crate) mod interrupts;
pub(crate) mod launchpad;
mod learn;
pub(crate) mod learning;
mod limits;
mod lsp;
mod man;
mod mcp;
mod merge;
mod model;
mod model_client;
pub(crate) mod models;
mod outcome_judge;
mod post;
mod prepare;
mod render;
mod repository_file;
pub(crate) mod rest_forge;
pub(crate) mod rest_session;
pub(crate) mod review;
pub(crate) mod run_lookup;
mod runs;
mod schema;
#[cfg(all(feature = "server", unix))]
mod serve;
mod show;
mod stats;
pub(crate) mod store;
mod tool;
mod watch;
#[cfg(all(feature = "server", unix))]
mod worker;

use std::path::Path;
use std::process::ExitCode;

pub(crate) use self::store::hidden_variables;
use crate::cli::{Cli, Command};
use crate::config::environment::Environment;
use crate::failure::Failure;

/// Fails if the folder of an output file does not exist. crh does not create it, because the user
/// may have misspelled it.
fn require_parent_folder(file: &Path) -> Result<(), Failure> {
    match file.parent() {
        Some(folder) if !folder.is_dir() => {
            Err(Failure::usage(format!("the folder `{}` does not exist", folder.display()))
                .hint("create the folder, or name a file in another one"))
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(not(all(feature = "server", unix)))]
fn no_server() -> Failure {
    Failure::usage("this program was built without the server")
        .hint(if cfg!(unix) {
            "install a package of crh, or build with `cargo install --path crates/crh --features server`"
        } else {
            "the server runs on Linux and macOS"
        })
}

/// Runs the command. Some commands return their own exit code; the others return 0 on success.
pub(crate) fn run(cli: Cli, environment: &Environment) -> Result<ExitCode, Failure> {
    match &cli.command {
        // An evaluation runs many reviews at once.
        Command::Eval(_) => {}
        // The commands that the server starts have their own limits.
        #[cfg(all(feature = "server", unix))]
        Command::Serve(_) | Command::Worker(_) => {}
        _ => limits::watch_memory(environment),
    }
    let result = match cli.command {
        Command::Review(args) => return review::review(*args, environment),
        Command::Fix(args) => return fix::run(*args, environment),
        Command::Check(args) => return review::check(*args, environment),
        Command::Demo(args) => return demo::run(args, environment),
        Command::Doctor(args) => return doctor::run(&args, environment),
        Command::Post(args) => return post::run(*args, environment),
        Command::Eval(command) => return eval::run(command, environment),
        Command::Lsp => return lsp::run(environment),
        #[cfg(all(feature = "server", unix))]
        Command::Serve(args) => return serve::run(*args, environment),
        #[cfg(not(all(feature = "server", unix)))]
        Command::Serve(_) => return Err(no_server()),
        #[cfg(all(feature = "server", unix))]
        Command::Worker(args) => return worker::run(*args, environment),
        #[cfg(all(feature = "server", unix))]
        Command::Answer(args) => review::answer::run(*args, environment),
        #[cfg(all(feature = "server", unix))]
        Command::CheckFix(args) => review::fix_check::run(*args, environment),
        Command::Reviewers(args) => review::reviewers::run(*args, environment),
        Command::Baseline(args) => baseline::run(&args, environment),
        Command::Prepare(args) => prepare::run(args, environment),
        Command::Tool(args) => tool::run(args, environment),
        Command::Diff(command) => diff::run(command),
        Command::Merge(args) => merge::run(args, environment),
        Command::Render(args) => render::run(args, environment),
        Command::Schema(args) => schema::run(&args),
        Command::Config(command) => config::run(command, environment),
        Command::Init(args) => init::run(&args, environment),
        Command::Mcp(args) => mcp::run(&args, environment),
        Command::Model(command) => model::run(command, environment),
        Command::Ask(args) => ask::run(args, environment),
        Command::Show(args) => show::run(args, environment),
        Command::Runs(command) => runs::run(command, environment),
        Command::Stats(args) => stats::run(&args, environment),
        Command::Learn(args) => learn::run(&args, environment),
        Command::Dismiss(args) => dismiss::run(args, environment),
        Command::Login(command) => launchpad::login(&command, environment),
        Command::Logout(command) => launchpad::logout(&command, environment),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args, environment),
    };
    result.map(|()| ExitCode::SUCCESS)
}
