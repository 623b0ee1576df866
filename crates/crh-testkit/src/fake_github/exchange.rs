//! A recorded request with its reply.

use serde_json::{Value, json};

/// A request with its reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without `?`.
    pub query: String,
    /// Headers with lower-case names.
    pub headers: Vec<(String, String)>,
    /// Body; null if empty or from git.
    pub body: Value,
    /// Number of the write; `None` for a request that only reads.
    pub write: Option<usize>,
    /// Whether the request changed anything.
    pub applied: bool,
    /// Status of the reply; `None` if the connection was cut.
    pub status: Option<u16>,
    /// Body of the reply; null if empty or from git.
    pub reply: Value,
}

impl Exchange {
    /// Value of a header, by lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str())
    }

    /// A REST exchange as one line of JSON, without headers, which contain tokens.
    pub(super) fn line(&self) -> Option<String> {
        let path = self.path.strip_prefix("/api/v3")?;
        let line = json!({
            "method": self.method, "path": path, "query": self.query, "body": self.body,
            "status": self.status?, "reply": self.reply,
        });
        Some(format!("{line}\n"))
    }
}
