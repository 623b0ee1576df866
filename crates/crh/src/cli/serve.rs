//! `crh serve` and `crh worker`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crh_forge::ForgeName;
use crh_forge::rest::RestForge;

/// Flags of a real server, which the demo does not use.
const DEMO_CONFLICTS: [&str; 14] = [
    "public_url",
    "state",
    "database",
    "app_id",
    "app_key",
    "webhook_secret",
    "forge",
    "forge_token",
    "forge_secret",
    "page_token",
    "client_id",
    "client_secret",
    "runs",
    "model_keys",
];

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Start a server with an example repository and a recorded model; needs no GitHub App, key or
    /// network
    #[arg(long, conflicts_with_all = DEMO_CONFLICTS)]
    pub(crate) demo: bool,
    /// Address to listen on; if other machines can reach it, set up a sign-in
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8780")]
    pub(crate) listen: SocketAddr,
    /// Public URL of the web page, such as `https://crh.example.com`
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Folder for the database, git objects and stored reviews (default: `server` in the folder of
    /// the setting `state.folder`)
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Database: `sqlite:FILE` or `postgres://…`; to hide a password from the process list, set the
    /// variable `CRH_DATABASE` instead
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// Format of the log on standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormatArg::Text)]
    pub(crate) log: LogFormatArg,
    #[command(flatten)]
    pub(crate) app: AppArgs,
    #[command(flatten)]
    pub(crate) forges: RestForgeArgs,
    /// File with the webhook secret of a forge, as `NAME=FILE` (default: the secret itself in the
    /// variable `CRH_NAME_WEBHOOK_SECRET`, such as `CRH_GITLAB_WEBHOOK_SECRET`)
    #[arg(long, value_name = "NAME=FILE", value_parser = named_value, help_heading = "Other forges")]
    pub(crate) forge_secret: Vec<(String, String)>,
    /// File with the webhook secret of the App (default: the secret itself in the variable
    /// `CRH_WEBHOOK_SECRET`). While you replace the secret, put both secrets into the file, each on
    /// its own line
    #[arg(long, value_name = "FILE", help_heading = "GitHub App")]
    pub(crate) webhook_secret: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sign_in: SignInArgs,
    #[command(flatten)]
    pub(crate) reviews: ServeReviewArgs,
    #[command(flatten)]
    pub(crate) limits: ServeLimitArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Database of the server: `postgres://…`, or `sqlite:FILE` on the server's machine; to hide a
    /// password from the process list, set the variable `CRH_DATABASE` instead
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// Folder for git objects and stored reviews (default: `server` in the folder of the setting
    /// `state.folder`)
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Format of the log on standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormatArg::Text)]
    pub(crate) log: LogFormatArg,
    #[command(flatten)]
    pub(crate) app: AppArgs,
    #[command(flatten)]
    pub(crate) forges: RestForgeArgs,
    #[command(flatten)]
    pub(crate) reviews: ServeReviewArgs,
    #[command(flatten)]
    pub(crate) limits: ServeLimitArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "GitHub App")]
pub(crate) struct AppArgs {
    /// Id of the GitHub App (default: `CRH_GITHUB_APP_ID`)
    #[arg(long, value_name = "ID")]
    pub(crate) app_id: Option<String>,
    /// File with the private key of the App (default: the file named in the variable
    /// `CRH_GITHUB_APP_KEY_FILE`, or the key itself in `CRH_GITHUB_APP_KEY`)
    #[arg(long, value_name = "FILE")]
    pub(crate) app_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Other forges")]
pub(crate) struct RestForgeArgs {
    #[arg(long, value_name = "NAME=URL", value_parser = named_value, help = forge_help())]
    pub(crate) forge: Vec<(String, String)>,
    /// File with the access token of crh's account on a forge, as `NAME=FILE` (default: the token
    /// itself in the variable `CRH_NAME_TOKEN`, such as `CRH_GITLAB_TOKEN`)
    #[arg(long, value_name = "NAME=FILE", value_parser = named_value)]
    pub(crate) forge_token: Vec<(String, String)>,
}

fn forge_help() -> String {
    let example = |forge: &'static dyn RestForge| {
        format!("`{}={}`", forge.name().name(), forge.rest_profile().public_server)
    };
    let examples: Vec<String> = ForgeName::all_rest().map(example).collect();
    format!("Code host (forge) and its URL, such as {}", examples.join(" or "))
}

/// Parses `NAME=VALUE`.
fn named_value(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or_else(|| "expected `NAME=VALUE`, such as `gitlab=https://gitlab.com`".to_owned())
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sign-in")]
pub(crate) struct SignInArgs {
    /// File with a password for the web page; people who sign in with it see all repositories
    /// (default: the password itself in the variable `CRH_PAGE_TOKEN`)
    #[arg(long, value_name = "FILE")]
    pub(crate) page_token: Option<PathBuf>,
    /// Client id of the App, for sign-in with GitHub
    #[arg(long, value_name = "ID", requires = "public_url")]
    pub(crate) client_id: Option<String>,
    /// File with the client secret of the App (default: the secret itself in the variable
    /// `CRH_CLIENT_SECRET`)
    #[arg(long, value_name = "FILE", requires = "client_id")]
    pub(crate) client_secret: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Reviews")]
pub(crate) struct ServeReviewArgs {
    /// Number of reviews that this process runs in parallel. `crh serve` accepts 0 and then leaves
    /// all reviews to `crh worker`
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    pub(crate) workers: u32,
    /// What to do with pull requests from forks and from first-time contributors
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = StrangersArg::Ask)]
    pub(crate) strangers: StrangersArg,
    /// Label that allows the review of a pull request held back by `--strangers ask`
    #[arg(long, value_name = "NAME", default_value = "crh-review")]
    pub(crate) label: String,
    /// Shared storage for a copy of every review, so that all machines can read the report:
    /// `s3://BUCKET/PREFIX`, with keys from the `AWS_…` variables, or `file:///FOLDER`
    #[arg(long, value_name = "URL")]
    pub(crate) runs: Option<String>,
    /// File with API keys of model providers, one `NAME=VALUE` per line; crh reads it before each
    /// review
    #[arg(long, value_name = "FILE")]
    pub(crate) model_keys: Option<PathBuf>,
    /// Days after which crh deletes stored reviews, finished jobs and audit log entries
    #[arg(long, value_name = "DAYS", default_value_t = 90, allow_negative_numbers = true)]
    pub(crate) keep_days: u32,
    /// Seconds that crh waits for running reviews when you stop it
    #[arg(long, value_name = "SECONDS", default_value_t = 30, allow_negative_numbers = true)]
    pub(crate) shutdown_seconds: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct ServeLimitArgs {
    /// Maximum cost of one review, in US dollars
    #[arg(long, value_name = "USD", default_value_t = 2.0, value_parser = usd, allow_negative_numbers = true)]
    pub(crate) max_cost: f64,
    /// Maximum cost per repository and day, in US dollars
    #[arg(long, value_name = "USD", value_parser = usd, allow_negative_numbers = true)]
    pub(crate) usd_per_day: Option<f64>,
    /// Maximum cost per repository and month, in US dollars
    #[arg(long, value_name = "USD", value_parser = usd, allow_negative_numbers = true)]
    pub(crate) usd_per_month: Option<f64>,
    /// Maximum number of reviews per repository and day
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) reviews_per_day: Option<u32>,
    /// Maximum number of parallel reviews per repository
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) concurrent_reviews: Option<u32>,
    /// Maximum cost per day for each installation of the GitHub App, in US dollars
    #[arg(long, value_name = "USD", value_parser = usd, allow_negative_numbers = true)]
    pub(crate) installation_usd_per_day: Option<f64>,
    /// Maximum cost per month for each installation of the GitHub App, in US dollars
    #[arg(long, value_name = "USD", value_parser = usd, allow_negative_numbers = true)]
    pub(crate) installation_usd_per_month: Option<f64>,
}

/// Parses an amount of money.
fn usd(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| "expected an amount above 0, such as `2.50`".to_owned())
}

/// What to do with pull requests of strangers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrangersArg {
    /// Review them only after a person with write access adds the label or comments `/crh review`
    Ask,
    /// Review them like all other pull requests
    Review,
}

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormatArg {
    /// One line of text per event
    Text,
    /// One JSON object per event
    Json,
}
