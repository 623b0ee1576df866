//! Asks models: one conversation type, every vendor's API, recording and replaying. Knows nothing of reviews.

mod cassette;
mod catalogue;
mod conversation;
#[path = "token_estimate.rs"]
mod count;
mod endpoint;
mod error;
mod facts;
#[path = "environment.rs"]
mod keys;
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

pub use cassette::{Cassette, CassetteError, Recorder};
pub use catalogue::{
    Catalogue, CatalogueError, DefaultModels, LongPrice, ModelEntry, PriceEntry, ProviderFacts,
};
pub use conversation::{
    Arguments, Cache, Conversation, Message, Part, Thinking, ToolCall, ToolResult, Turn, UserText,
};
pub use count::{estimated_tokens, text_tokens};
// What stands in the signatures below.
pub use endpoint::{Endpoint, Wire};
pub use error::{ModelError, Spent};
pub use facts::{Abilities, ModelFacts, Price, Rates};
pub use keys::Surroundings;
pub use live::{Live, SetupError};
pub use model::Model;
pub use money::Money;
pub use name::{LiveName, ModelName, NameError};
pub use provider::Provider;
pub use redact::Redactor;
pub use reply::{Progress, Reply, Stop, Usage};
pub use request::{Effort, OutputForm, Request, ToolChoice, ToolSpec};
pub use resolve::{Defaults, LiveModel, ResolveError, Resolved};

pub use crh_http::{BadUrl, BaseUrl, Network, Timeouts};
