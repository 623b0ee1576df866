//! A write request as a value.

use serde::Serialize;
use serde_json::Value;

/// HTTP method of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    /// Creates.
    Post,
    /// Changes.
    Patch,
    /// Creates or replaces.
    Put,
}

/// A write request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ForgeRequest {
    /// HTTP method.
    #[serde(rename = "method")]
    pub verb: Verb,
    /// Path below the API address; `/graphql` for a mutation.
    pub path: String,
    /// JSON body.
    pub body: Value,
}
