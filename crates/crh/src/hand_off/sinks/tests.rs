use serde_json::json;

use super::super::tests_support::{issue, report};
use super::*;

fn ticket() -> TrackerTicket {
    TrackerTicket {
        title: "[P1] Trouble".to_owned(),
        body: "Customers pay twice.\n".to_owned(),
        labels: vec!["P1".to_owned()],
        dedupe_key: "0000000000000001".to_owned(),
        instance: "crh".to_owned(),
    }
}

fn filed(script: &str) -> Result<FiledTicket, String> {
    let arguments = vec!["-c".to_owned(), script.to_owned()];
    let command = TicketCommand { program: "sh".to_owned(), arguments, withheld: Vec::new() };
    let odd = issue(1, json!({"file": "$(touch x)`y`; z.rs", "title": "\u{1b}[2J"}));
    command.file(&ticket(), &odd, &report(vec![odd.clone()]))
}

#[test]
fn command_gets_the_issue_and_returns_an_address() {
    let url = |text: &str| Ok(FiledTicket { url: text.to_owned(), already_filed: false });
    assert_eq!(filed("echo; echo ' SHOP-7 '; echo more"), url("SHOP-7"));
    assert_eq!(filed("printf '\\033[2Jhttps://x/1\\n'"), url("\\u{1b}[2Jhttps://x/1"));
    assert_eq!(filed("true"), url(""));
    let failed = |why: &str| Err(format!("`tracker.command` failed: {why}"));
    assert_eq!(filed("echo no board >&2; exit 1"), failed("no board"));
    let told = filed("cat").unwrap().url;
    expect_test::expect![[r#"{"body":"Customers pay twice.\n","category":"bug","confidence":0.8,"dedupe_key":"0000000000000001","file":"$(touch x)`y`; z.rs","head_sha":"","instance":"crh","labels":["P1"],"line":12,"line_end":12,"number":1,"pr_number":"","repo":"","reviewers":["correctness"],"run_id":"20260101-000000_0123456789abcdef","severity":"P1","title":"[P1] Trouble"}"#]].assert_eq(&told);
}

#[test]
fn gh_errors_are_classified_by_status() {
    let check = |said: &str, asked: &GitHubProgramCall, expected: &str| {
        let error = gh_failed("github.com", "POST /repos/o/r/issues", said, asked);
        assert_eq!(error.to_string(), expected);
    };
    let (get, post) = (
        GitHubProgramCall::Get("/x".to_owned()),
        GitHubProgramCall::Post("/x".to_owned(), Value::Null),
    );
    check(
        "gh: Bad credentials (HTTP 401)",
        &post,
        "`github.com` rejected the credentials: gh: Bad credentials (HTTP 401)",
    );
    check(
        "gh: Gone (HTTP 410)",
        &post,
        "`POST /repos/o/r/issues` failed: not found, or the token cannot see it",
    );
    check(
        "gh: Validation Failed (HTTP 422)",
        &post,
        "`POST /repos/o/r/issues` was rejected with status 422: gh: Validation Failed (HTTP 422)",
    );
    check(
        "gh: Oops (HTTP 502)",
        &post,
        "cannot tell whether `POST /repos/o/r/issues` was applied: gh: Oops (HTTP 502)",
    );
    check(
        "error connecting",
        &post,
        "cannot tell whether `POST /repos/o/r/issues` was applied: error connecting",
    );
    check("error connecting", &get, "cannot reach `github.com`: error connecting");
}

#[test]
fn tracker_order_is_project_github_command() {
    use Tracker::*;
    let check = |named: Option<Tracker>, online: &[Tracker]| {
        assert_eq!(order(named, NetworkAccess::Online), online, "{named:?}");
        assert_eq!(order(named, NetworkAccess::Offline), [Command], "{named:?}, offline");
    };
    let unnamed = None;
    check(unnamed, &[GitHub, Command]);
    check(Some(GitHub), &[GitHub, Command]);
    check(Some(Linear), &[Linear, GitHub, Command]);
    check(Some(Jira), &[Jira, GitHub, Command]);
    check(Some(Command), &[Command, GitHub]);
}
