//! A write request as a value.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::github::Verb;

/// A write request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHubRequest {
    /// HTTP method.
    pub verb: Verb,
    /// Path below the API address; `/graphql` for a mutation.
    pub path: String,
    /// JSON body.
    pub body: Value,
}

impl Serialize for GitHubRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let method = match self.verb {
            Verb::Post => "POST",
            Verb::Patch => "PATCH",
            Verb::Put => "PUT",
            Verb::Delete => "DELETE",
        };
        let mut fields = serializer.serialize_struct("Request", 3)?;
        fields.serialize_field("method", method)?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("body", &self.body)?;
        fields.end()
    }
}
