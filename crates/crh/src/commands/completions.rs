//! `crh completions SHELL`: prints a completion script generated from the command line definition.

use clap::CommandFactory;
use clap_complete::Generator;

use crate::cli::{Cli, CompletionsArgs};
use crate::failure::Failure;
use crate::ui;

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.set_bin_name("crh");
    command.build();
    ui::result(|out| args.shell.try_generate(&command, out))
}
