//! Which pull request CI runs for: what the service itself says, in the file of its event.

use serde_json::Value;

/// What must be true of a pull request that is posted to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) repo: Option<String>,
    pub(super) number: Option<u64>,
    pub(super) head: Option<String>,
}

/// Reads an event: that of a pull request, or that of a workflow which ran for exactly one. What it does not say is left open.
pub(super) fn read(event: &Value) -> Event {
    let text = |path: &str| event.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let repo = text("/repository/full_name");
    if event.get("pull_request").is_some() {
        return Event {
            repo: text("/pull_request/base/repo/full_name").or(repo),
            number: event.pointer("/pull_request/number").and_then(Value::as_u64),
            head: text("/pull_request/head/sha"),
        };
    }
    let pulls = event.pointer("/workflow_run/pull_requests").and_then(Value::as_array);
    let number = match pulls.map(Vec::as_slice) {
        // Of several nobody can tell which is meant, and none is named for a fork.
        Some([only]) => only.get("number").and_then(Value::as_u64),
        Some(_) | None => None,
    };
    Event { repo, number, head: text("/workflow_run/head_sha") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(event: &Value, repo: Option<&str>, number: Option<u64>, head: Option<&str>) {
        let (repo, head) = (repo.map(str::to_owned), head.map(str::to_owned));
        assert_eq!(read(event), Event { repo, number, head });
    }

    #[test]
    fn an_event_names_the_pull_request_that_it_is_about() {
        check(
            &json!({
                "repository": {"full_name": "o/r"},
                "pull_request": {"number": 7, "head": {"sha": "abc"}, "base": {"repo": {"full_name": "o/r"}}},
            }),
            Some("o/r"),
            Some(7),
            Some("abc"),
        );
        check(
            &json!({
                "repository": {"full_name": "o/r"},
                "workflow_run": {"head_sha": "abc", "pull_requests": [{"number": 7}]},
            }),
            Some("o/r"),
            Some(7),
            Some("abc"),
        );
    }

    #[test]
    fn what_an_event_leaves_open_stays_open() {
        let of_fork = json!({"workflow_run": {"head_sha": "abc", "pull_requests": []}});
        check(&of_fork, None, None, Some("abc"));
        let several = json!({"workflow_run": {"pull_requests": [{"number": 1}, {"number": 2}]}});
        check(&several, None, None, None);
        check(&json!({"push": true}), None, None, None);
        check(&json!([]), None, None, None);
    }
}
