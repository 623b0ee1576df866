//! `crh model` and `crh ask`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::flags::{ModelFlags, parse_dollars};
use super::plumbing::ListFormatArg;
use crh_llm::Money;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List providers, whether their API keys are set, and known models with prices
    List(ModelListArgs),
    /// Test a model with a few short questions: text, streaming, tools, schema, caching
    Check(ModelCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ModelListArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text)]
    pub(crate) format: ListFormatArg,
}

#[derive(Debug, Args)]
pub(crate) struct ModelCheckArgs {
    /// Model to test: `PROVIDER:MODEL`, with `@URL` for your own server
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text)]
    pub(crate) format: ListFormatArg,
    /// Record every exchange to this file, for `replay:FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Maximum cost of all questions together, in US dollars
    #[arg(long, value_name = "USD", default_value = "0.10", value_parser = parse_dollars, allow_negative_numbers = true)]
    pub(crate) max_cost: Money,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The question; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) model: ModelFlags,
    /// Record every model exchange to this file, for `replay:FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// System prompt
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) system: String,
    /// Ask for JSON that matches the JSON Schema in this file
    #[arg(long, value_name = "FILE", conflicts_with = "workspace")]
    pub(crate) schema: Option<PathBuf>,
    /// Let the model read this workspace, written by `crh prepare --out`, with the reviewers' tools
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Repository of the workspace (default: the current one)
    #[arg(long, value_name = "DIR", requires = "workspace")]
    pub(crate) repo: Option<PathBuf>,
    /// Log every step to this file: models, costs, text lengths
    #[arg(long, value_name = "FILE")]
    pub(crate) transcript: Option<PathBuf>,
    /// Also log the texts: prompts, answers and tool results
    #[arg(long, requires = "transcript")]
    pub(crate) log_content: bool,
    #[command(flatten)]
    pub(crate) limits: AskLimits,
}

#[derive(Debug, Args)]
pub(crate) struct AskLimits {
    /// Maximum number of output tokens per turn
    #[arg(long, value_name = "TOKENS", default_value = "4000", allow_negative_numbers = true)]
    pub(crate) max_output: NonZeroU32,
    /// Maximum number of model turns
    #[arg(long, value_name = "N", default_value = "20", allow_negative_numbers = true)]
    pub(crate) max_turns: NonZeroU32,
    /// Maximum number of tool calls
    #[arg(long, value_name = "N", default_value_t = 60, allow_negative_numbers = true)]
    pub(crate) max_tool_calls: u32,
    /// Maximum cost of the answer, in US dollars
    #[arg(long, value_name = "USD", default_value = "0.50", value_parser = parse_dollars, allow_negative_numbers = true)]
    pub(crate) max_cost: Money,
    /// Time limit in seconds
    #[arg(long, value_name = "SECONDS", default_value = "300", allow_negative_numbers = true)]
    pub(crate) max_seconds: NonZeroU32,
}
