//! `crh login` and `crh logout`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum LoginCommand {
    /// Log in at Launchpad in a browser, and keep what it gives out where only you can read it
    Launchpad(LoginArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) service: ServiceArg,
    /// Change nothing, and say as whom Launchpad is asked
    #[arg(long)]
    pub(crate) status: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogoutCommand {
    /// Forget what the last login at Launchpad has left
    Launchpad(ServiceArg),
}

#[derive(Debug, Args)]
pub(crate) struct ServiceArg {
    /// Which Launchpad: `production`, `staging`, `qastaging`, `dogfood`, `dev` or the address of a web service (default: the
    /// setting `launchpad.service_root`)
    #[arg(long, value_name = "SERVICE")]
    pub(crate) service: Option<String>,
}
