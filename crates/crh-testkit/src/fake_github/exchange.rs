//! A request and what was answered, as tests look at it.

use serde_json::{Value, json};

/// A request and what was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without `?`.
    pub query: String,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; nothing if there was none or if it is git's.
    pub body: Value,
    /// Which write it was, if it was one.
    pub write: Option<usize>,
    /// Whether it changed anything.
    pub applied: bool,
    /// The status of the answer; none if the connection was cut.
    pub status: Option<u16>,
    /// The body of the answer; nothing if there was none or if it is git's.
    pub reply: Value,
}

impl Exchange {
    /// The value of a header, named in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A request to REST and its answer as a line of JSON, without headers: they have tokens.
    pub(super) fn line(&self) -> Option<String> {
        let path = self.path.strip_prefix("/api/v3")?;
        let line = json!({
            "method": self.method, "path": path, "query": self.query, "body": self.body,
            "status": self.status?, "reply": self.reply,
        });
        Some(format!("{line}\n"))
    }
}
