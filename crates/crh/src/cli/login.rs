//! `crh login` and `crh logout`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum LoginCommand {
    /// Log in to Launchpad in a browser; crh stores the credentials in a file that only you can
    /// read
    Launchpad(LoginArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) service: ServiceArg,
    /// Only show which account is logged in
    #[arg(long)]
    pub(crate) status: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogoutCommand {
    /// Delete the stored Launchpad credentials
    Launchpad(ServiceArg),
}

#[derive(Debug, Args)]
pub(crate) struct ServiceArg {
    /// Launchpad server: `production`, `staging`, `qastaging`, `dogfood`, `dev` or the URL of a
    /// web service (default: the setting `launchpad.service_root`)
    #[arg(long, value_name = "SERVICE")]
    pub(crate) service: Option<String>,
}
