//! The MCP server: tools, resources and prompts for coding agents.
//!
//! Invariants:
//! - A call uses only a repository inside the folders that the client opened.
//! - Quoted code and texts of models are fenced and labelled as data.
//! - A cancelled call, or a client that is gone, ends the child process of the call.

mod arguments;
mod calls;
mod checkout_tools;
mod handler;
mod progress;
mod report;
mod roots;
mod runs;
mod sampling;
mod tools;
mod transport;

use std::io;
use std::path::PathBuf;

use rmcp::ServiceExt as _;
use tokio_util::sync::CancellationToken;

use self::checkout_tools::CheckoutTools;
pub use self::handler::{
    AgentServer, AgentTools, ToolContext, review_resources, shortened, structured_result,
    tell_step, text_result,
};
pub use self::report::{CostView, IssueView, LabelledData, QuoteView, ReportView, fence};
pub use self::runs::{explain, numbered_diff};
pub use self::tools::{ToolEffect, complete_tools, describe_tool};
use self::transport::LineTransport;
use crate::program::Program;

/// Settings with which the user started the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// The program crh.
    pub program: Program,
    /// Folder in which the server started, for clients that offer no roots.
    pub folder: PathBuf,
    /// Folder that the user named with `--root`. It replaces `folder`, and also serves clients that
    /// offer roots but opened none.
    pub named_root: Option<PathBuf>,
    /// Whether the tool `apply_fix` asks the user before each fix.
    pub fixes: FixConsent,
    /// Whether reviews use the client's model.
    pub model: ModelSource,
}

/// How the user agrees to a fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixConsent {
    /// For each fix, crh asks the user through the client.
    AskUser,
    /// The user agreed to all fixes when they started the server.
    Given,
}

/// Which model reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource {
    /// The model of crh's settings.
    Settings,
    /// The model of the client, through `sampling`.
    Client,
}

/// Serves one client on standard input and output, until it is gone.
pub fn serve_stdio(settings: ServerSettings) -> io::Result<()> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let client_gone = CancellationToken::new();
        let (reader, writer) = rmcp::transport::stdio_pipes();
        let transport = LineTransport::new(reader, writer, client_gone.clone());
        let server = AgentServer(CheckoutTools::new(settings, client_gone));
        match server.serve(transport).await {
            Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
            // The client closed the connection before it sent `initialize`.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    })
    // Dropping the runtime waits for the last child process.
}
