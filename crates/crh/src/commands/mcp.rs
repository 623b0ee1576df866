//! `crh mcp`: serves a coding agent over standard input and output.

use anyhow::Context;

use crate::cli::McpArgs;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_mcp::mcp::{FixConsent, ModelSource, ServerSettings, serve_stdio};
use crh_mcp::program::Program;

pub(super) fn run(args: &McpArgs, environment: &Environment) -> Result<(), Failure> {
    let executable = environment.program.as_ref().context("cannot find the executable of crh");
    let program = Program::new(executable.or_fail(FailureKind::External)?);
    let folder = environment.folder.clone();
    let named_root = args.root.as_ref().map(|root| folder.join(root));
    if let Some(root) = named_root.as_ref().filter(|root| !root.is_dir()) {
        return Err(Failure::usage(format!("`{}` is not a folder", root.display()))
            .hint("`--root DIR` names the folder that the server may read"));
    }
    let fixes = match args.allow_fixes {
        true => FixConsent::Given,
        false => FixConsent::AskUser,
    };
    let model = match args.client_model {
        true => ModelSource::Client,
        false => ModelSource::Settings,
    };
    let settings = ServerSettings { program, folder, named_root, fixes, model };
    serve_stdio(settings).context("the MCP server failed").or_fail(FailureKind::External)
}
