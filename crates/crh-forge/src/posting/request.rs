//! A write request as a value.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// HTTP method of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Creates.
    Post,
    /// Changes.
    Patch,
    /// Creates or replaces.
    Put,
    /// Deletes.
    Delete,
}

impl Verb {
    /// Name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// A write request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeRequest {
    /// HTTP method.
    pub verb: Verb,
    /// Path below the API address; `/graphql` for a mutation.
    pub path: String,
    /// JSON body.
    pub body: Value,
}

impl Serialize for ForgeRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Request", 3)?;
        fields.serialize_field("method", self.verb.name())?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("body", &self.body)?;
        fields.end()
    }
}
