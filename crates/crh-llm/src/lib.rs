//! Model access: one conversation type for all vendors, recording and replay. It knows nothing
//! about reviews.

mod cassette;
mod catalogue;
mod conversation;
mod endpoint;
mod environment;
mod error;
mod facts;
mod live;
mod model;
mod money;
mod name;
mod provider;
mod redact;
mod reply;
mod request;
mod resolve;
pub mod retry;
mod token_estimate;

pub use cassette::{Cassette, CassetteError, Recorder};
pub use catalogue::{
    CatalogueError, DefaultModels, LongPrice, ModelCatalogue, ModelEntry, PriceEntry, ProviderFacts,
};
pub use conversation::{
    CacheMark, CallArguments, Conversation, Message, Thinking, ToolCall, ToolResult, Turn,
    TurnPart, UserText,
};
pub use endpoint::{Endpoint, Wire};
pub use environment::{HeaderVariables, ModelEnvironment};
pub use error::{FailureCost, LengthUnit, ModelError};
pub use facts::{Abilities, ModelFacts, Price, Rates};
pub use live::{ContextLength, ModelServer, ModelSetupError, NoAnswer, ServerKind, VendorClient};
pub use model::Model;
pub use money::Money;
pub use name::{LiveName, ModelName, ModelNameError};
pub use provider::Provider;
pub use redact::Redactor;
pub use reply::{ModelReply, ReplyProgress, StopCause, TokenUsage};
pub use request::{Effort, ModelRequest, OutputForm, ToolChoice, ToolSpec, usual_output};
pub use resolve::{ContextSource, DefaultModelNames, LiveModel, ResolveError, ResolvedModel};
pub use token_estimate::{LeastTokens, SharedPrefix, estimated_tokens, least_tokens, text_tokens};

pub use crh_http::{BaseUrl, BaseUrlError, NetworkSettings, Timeouts};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
