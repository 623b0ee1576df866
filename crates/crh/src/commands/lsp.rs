//! `crh lsp`: the language server for editors.

use std::process::ExitCode;

use anyhow::Context;

use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_mcp::lsp;
use crh_mcp::lsp::SessionEnd;
use crh_mcp::program::Program;

pub(crate) fn run(environment: &Environment) -> Result<ExitCode, Failure> {
    let program = environment.program.as_ref();
    let program = program.ok_or_else(|| Failure::usage("the program crh cannot be found"))?;
    let end = lsp::serve(Program::new(program)).context("cannot start the language server");
    // The protocol prescribes these exit codes.
    Ok(match end.or_fail(FailureKind::External)? {
        SessionEnd::AfterShutdown => ExitCode::SUCCESS,
        SessionEnd::WithoutShutdown => ExitCode::FAILURE,
    })
}
