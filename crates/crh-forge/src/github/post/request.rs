//! One request that changes something, as a value.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::github::Verb;

/// One request that changes something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What it asks for.
    pub verb: Verb,
    /// The path below the address of the API; `/graphql` for a mutation.
    pub path: String,
    /// What is sent.
    pub body: Value,
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let method = match self.verb {
            Verb::Post => "POST",
            Verb::Patch => "PATCH",
            Verb::Put => "PUT",
            Verb::Delete => "DELETE",
        };
        let mut shown = serializer.serialize_struct("Request", 3)?;
        shown.serialize_field("method", method)?;
        shown.serialize_field("path", &self.path)?;
        shown.serialize_field("body", &self.body)?;
        shown.end()
    }
}
