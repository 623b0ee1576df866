use serde_json::json;

use super::super::tests_support::{issue, report};
use super::*;

fn ticket() -> Ticket {
    Ticket {
        title: "[P1] Trouble".to_owned(),
        body: "Customers pay twice.\n".to_owned(),
        labels: vec!["P1".to_owned()],
        dedupe_key: "0000000000000001".to_owned(),
        instance: "crh".to_owned(),
    }
}

fn filed(script: &str) -> Result<Filed, String> {
    let arguments = vec!["-c".to_owned(), script.to_owned()];
    let command = TicketCommand { program: "sh".to_owned(), arguments, withheld: Vec::new() };
    let odd = issue(1, json!({"file": "$(touch x)`y`; z.rs", "title": "\u{1b}[2J"}));
    command.file(&ticket(), &odd, &report(vec![odd.clone()]))
}

#[test]
fn a_command_is_told_the_issue_and_says_where_the_ticket_is() {
    let url = |text: &str| Ok(Filed { url: text.to_owned(), was_there: false });
    assert_eq!(filed("echo; echo ' SHOP-7 '; echo more"), url("SHOP-7"));
    assert_eq!(filed("printf '\\033[2Jhttps://x/1\\n'"), url("\\u{1b}[2Jhttps://x/1"));
    assert_eq!(filed("true"), url(""));
    let failed = |why: &str| Err(format!("`tracker.command` failed: {why}"));
    assert_eq!(filed("echo no board >&2; exit 1"), failed("no board"));
    let told = filed("cat").unwrap().url;
    expect_test::expect![[r#"{"body":"Customers pay twice.\n","category":"bug","confidence":0.8,"dedupe_key":"0000000000000001","file":"$(touch x)`y`; z.rs","head_sha":"","instance":"crh","labels":["P1"],"line":12,"line_end":12,"number":1,"pr_number":"","repo":"","reviewers":["correctness"],"run_id":"20260101-000000_0123456789abcdef","severity":"P1","title":"[P1] Trouble"}"#]].assert_eq(&told);
}

#[test]
fn what_gh_says_is_told_by_its_status() {
    let check = |said: &str, asked: &Asked, expected: &str| {
        let error = gh_failed("github.com", "POST /repos/o/r/issues", said, asked);
        assert_eq!(error.to_string(), expected);
    };
    let (get, post) = (Asked::Get("/x".to_owned()), Asked::Post("/x".to_owned(), Value::Null));
    check(
        "gh: Bad credentials (HTTP 401)",
        &post,
        "`github.com` does not accept the token: gh: Bad credentials (HTTP 401)",
    );
    check(
        "gh: Gone (HTTP 410)",
        &post,
        "`POST /repos/o/r/issues` is not there, or the token cannot see it",
    );
    check(
        "gh: Validation Failed (HTTP 422)",
        &post,
        "`POST /repos/o/r/issues` was refused with status 422: gh: Validation Failed (HTTP 422)",
    );
    check(
        "gh: Oops (HTTP 502)",
        &post,
        "nobody knows whether `POST /repos/o/r/issues` was applied: gh: Oops (HTTP 502)",
    );
    check(
        "error connecting",
        &post,
        "nobody knows whether `POST /repos/o/r/issues` was applied: error connecting",
    );
    check("error connecting", &get, "`github.com` could not be asked: error connecting");
}

#[test]
fn the_projects_own_tracker_comes_first_then_github_and_the_command_at_the_end() {
    use Tracker::*;
    let check = |named: Option<Tracker>, online: &[Tracker]| {
        assert_eq!(order(named, Reach::Everybody), online, "{named:?}");
        assert_eq!(order(named, Reach::Nobody), [Command], "{named:?}, offline");
    };
    let nobody = None;
    check(nobody, &[GitHub, Command]);
    check(Some(GitHub), &[GitHub, Command]);
    check(Some(Linear), &[Linear, GitHub, Command]);
    check(Some(Jira), &[Jira, GitHub, Command]);
    check(Some(Command), &[Command, GitHub]);
}
