//! `crh model` and `crh ask`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ListingArg;
use super::flags::{ModelFlags, dollars};
use crh_llm::Money;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Print the providers, whether their keys are there, and the known models with their prices
    List(ModelListArgs),
    /// Ask a model a few short questions and say what works: text, streaming, tools, schema, caching
    Check(ModelCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ModelListArgs {
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = ListingArg::Text)]
    pub(crate) format: ListingArg,
}

#[derive(Debug, Args)]
pub(crate) struct ModelCheckArgs {
    /// The model: `PROVIDER:MODEL`, with `@URL` for a server of your own
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = ListingArg::Text)]
    pub(crate) format: ListingArg,
    /// Write every exchange to this file, to be replayed with `replay:FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// What all questions together may cost, in US dollars
    #[arg(long, value_name = "USD", default_value = "0.10", value_parser = dollars)]
    pub(crate) max_cost: Money,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The question; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) model: ModelFlags,
    /// Write every exchange with the model to this file, to be replayed with `replay:FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// The rules that the model is given before the question
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) system: String,
    /// Ask for JSON of the JSON Schema in this file
    #[arg(long, value_name = "FILE", conflicts_with = "workspace")]
    pub(crate) schema: Option<PathBuf>,
    /// Give the model the read-only tools over this workspace, which `crh prepare --out` wrote
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The repository of the workspace (default: the one you are in)
    #[arg(long, value_name = "DIR", requires = "workspace")]
    pub(crate) repo: Option<PathBuf>,
    /// Write what happens to this file, as it happens: who was asked, what it cost, how long texts were
    #[arg(long, value_name = "FILE")]
    pub(crate) transcript: Option<PathBuf>,
    /// Write the texts too: prompts, answers, and what tools read
    #[arg(long, requires = "transcript")]
    pub(crate) log_content: bool,
    #[command(flatten)]
    pub(crate) limits: AskLimits,
}

/// How far an answer may go.
#[derive(Debug, Args)]
pub(crate) struct AskLimits {
    /// The most tokens that one turn of the model may have
    #[arg(long, value_name = "TOKENS", default_value = "4000")]
    pub(crate) max_output: NonZeroU32,
    /// How often the model may be asked
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) max_turns: NonZeroU32,
    /// How many tools it may call
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) max_tool_calls: u32,
    /// What it may cost, in US dollars
    #[arg(long, value_name = "USD", default_value = "0.50", value_parser = dollars)]
    pub(crate) max_cost: Money,
    /// How long it may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub(crate) max_seconds: NonZeroU32,
}
