//! The MCP server without its tools: it answers the requests of a client. `CheckoutTools` provides
//! the tools, resources and prompt for a checkout; the crate `crh-server` provides its own.

use std::borrow::Cow;
use std::fmt::Display;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, JsonObject, ListPromptsResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptMessage, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, Role, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::Serialize;
use serde_json::Value;

use super::report::LabelledData;

/// Maximum characters of an error. It may quote a long argument.
const ERROR_MAX: usize = 4_000;

/// The request of a client.
pub type ToolContext = RequestContext<RoleServer>;

/// Tools, resources and the prompt of a server.
pub trait AgentTools: Clone + Send + Sync + 'static {
    /// Instructions that the client gives to its model.
    const INSTRUCTIONS: &str;

    /// Why there is no result. The client shows the message.
    type Error: Display + Send;

    /// All tools.
    fn tools(&self) -> &[Tool];

    /// Calls a tool. [`AgentServer`] has checked that the tool exists, and that its schema has all
    /// these arguments.
    fn call(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &ToolContext,
    ) -> impl Future<Output = Result<CallToolResult, Self::Error>> + Send;

    /// Resources of the newest reviews.
    fn resources(
        &self,
        context: &ToolContext,
    ) -> impl Future<Output = Result<Vec<Resource>, Self::Error>> + Send;

    /// Text and MIME type of a resource.
    fn read(
        &self,
        uri: &str,
        context: &ToolContext,
    ) -> impl Future<Output = Result<(String, &'static str), Self::Error>> + Send;

    /// The prompt.
    fn prompt(&self) -> Prompt;

    /// The text of the prompt. `argument` finds an argument by its name.
    fn prompt_text(&self, argument: &dyn Fn(&str) -> Option<String>) -> String;
}

/// An MCP server with these tools.
#[derive(Debug, Clone)]
pub struct AgentServer<T>(pub T);

impl<T: AgentTools> ServerHandler for AgentServer<T> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("crh", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(T::INSTRUCTIONS.to_owned());
        info
    }

    /// Newer versions have no sessions, so no way to cancel a call, and no requests to the client:
    /// roots, elicitation and sampling.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: ToolContext,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.tools().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: ToolContext,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.0.tools().iter().find(|tool| tool.name == request.name) else {
            let message = format!("there is no tool `{}`", shortened(&request.name));
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        // Errors may quote long arguments and names.
        let failed = |text: String| {
            let text: String = text.chars().take(ERROR_MAX).collect();
            CallToolResult::error(vec![ContentBlock::text(text)])
        };
        let result = match unknown_argument(tool, &arguments) {
            Some(name) => {
                failed(format!("invalid arguments: there is no argument `{}`", shortened(name)))
            }
            None => {
                let result = self.0.call(&request.name, arguments, &context).await;
                result.unwrap_or_else(|error| failed(error.to_string()))
            }
        };
        Ok(result.into())
    }

    /// Rejects requests whose parameters do not fit their method, and unknown methods.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: ToolContext,
    ) -> Result<CustomResult, ErrorData> {
        let (code, problem) = match request.method.as_str() {
            "tools/call" | "resources/read" | "prompts/get" => {
                (ErrorCode::INVALID_PARAMS, "invalid parameters of")
            }
            _ => (ErrorCode::METHOD_NOT_FOUND, "there is no method"),
        };
        Err(ErrorData::new(code, format!("{problem} `{}`", shortened(&request.method)), None))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: ToolContext,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.0.resources(&context).await;
        let resources =
            resources.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: ToolContext,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &request.uri;
        let (text, kind) = self.0.read(uri, &context).await.map_err(|error| {
            ErrorData::resource_not_found(format!("{}: {error}", shortened(uri)), None)
        })?;
        let contents = ResourceContents::text(text, uri).with_mime_type(kind);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: ToolContext,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(vec![self.0.prompt()]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: ToolContext,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != self.0.prompt().name {
            let message = format!("there is no prompt `{}`", shortened(&request.name));
            return Err(ErrorData::invalid_params(message, None));
        }
        let text = self.0.prompt_text(&|name| {
            let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
            value.and_then(Value::as_str).map(shortened)
        });
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }
}

/// An argument that the schema of the tool does not have. A misspelled argument would otherwise
/// review another change.
fn unknown_argument<'a>(tool: &Tool, arguments: &'a JsonObject) -> Option<&'a str> {
    let known = tool.input_schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
    arguments.keys().map(String::as_str).find(|name| !is_known(name))
}

/// Tells the client about a step of a call, if it wants to know. `done` is the last number that was
/// sent.
pub async fn tell_step(
    context: &ToolContext,
    done: &mut f64,
    (step, total): (f64, f64),
    message: &str,
) {
    // A cancelled call sends no progress.
    let token = context.meta.get_progress_token().filter(|_| !context.ct.is_cancelled());
    let Some(token) = token else { return };
    // The protocol wants a number that grows.
    *done = if step > *done { step } else { *done + 1e-6 };
    let params =
        ProgressNotificationParam::new(token, *done).with_total(total).with_message(message);
    // If the client is gone, the call ends by itself.
    context.peer.notify_progress(params).await.unwrap_or_default();
}

/// The first 100 characters of a text, without control characters.
pub fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

/// A result with a text.
pub fn text_result(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A result with a text, and `value` as labelled data.
pub fn structured_result(
    text: String,
    value: &impl Serialize,
) -> Result<CallToolResult, serde_json::Error> {
    let mut result = text_result(text);
    result.structured_content = Some(serde_json::to_value(LabelledData::new(value))?);
    Ok(result)
}

/// Report and diff of a review as resources.
pub fn review_resources(
    (report, diff): (String, String),
    name: &str,
    about: &str,
) -> [Resource; 2] {
    [
        Resource::new(report, format!("Report {name}"))
            .with_description(format!("Report of the review: {about}"))
            .with_mime_type("application/json"),
        Resource::new(diff, format!("Diff {name}"))
            .with_description(format!("Numbered diff of the reviewed change: {about}"))
            .with_mime_type("text/plain"),
    ]
}
