//! Reads the pull request from the event file of GitHub Actions.

use serde_json::Value;

/// Properties of the pull request that the event names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CiEvent {
    pub(super) repo: Option<String>,
    pub(super) number: Option<u64>,
    pub(super) head: Option<String>,
}

/// Reads a pull request event, or a workflow event with exactly one pull request. Missing values
/// stay `None`.
pub(super) fn parse(event: &Value) -> CiEvent {
    let text = |path: &str| event.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let repo = text("/repository/full_name");
    if event.get("pull_request").is_some() {
        return CiEvent {
            repo: text("/pull_request/base/repo/full_name").or(repo),
            number: event.pointer("/pull_request/number").and_then(Value::as_u64),
            head: text("/pull_request/head/sha"),
        };
    }
    let pulls = event.pointer("/workflow_run/pull_requests").and_then(Value::as_array);
    let number = match pulls.map(Vec::as_slice) {
        // Several pull requests are ambiguous. Runs for forks list none.
        Some([only]) => only.get("number").and_then(Value::as_u64),
        Some(_) | None => None,
    };
    CiEvent { repo, number, head: text("/workflow_run/head_sha") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(event: &Value, repo: Option<&str>, number: Option<u64>, head: Option<&str>) {
        let (repo, head) = (repo.map(str::to_owned), head.map(str::to_owned));
        assert_eq!(parse(event), CiEvent { repo, number, head });
    }

    #[test]
    fn event_names_its_pull_request() {
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
    fn missing_event_values_stay_none() {
        let fork_event = json!({"workflow_run": {"head_sha": "abc", "pull_requests": []}});
        check(&fork_event, None, None, Some("abc"));
        let ambiguous_event =
            json!({"workflow_run": {"pull_requests": [{"number": 1}, {"number": 2}]}});
        check(&ambiguous_event, None, None, None);
        check(&json!({"push": true}), None, None, None);
        check(&json!([]), None, None, None);
    }
}
