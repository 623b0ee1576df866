//! GraphQL.

use expect_test::expect;
use serde_json::{Value, json};

use super::super::{FakeGitHub, Permission, TOKEN};
use super::{opened, send, shop};

fn graphql_as(github: &FakeGitHub, token: &str, query: &str, variables: Value) -> Value {
    let authorization = format!("authorization: bearer {token}");
    let body = json!({ "query": query, "variables": variables });
    send(github, "POST", "/api/graphql", &["user-agent: x", &authorization], &body).unwrap().body
}

fn graphql(github: &FakeGitHub, query: &str, variables: Value) -> Value {
    graphql_as(github, TOKEN, query, variables)
}

#[test]
fn invalid_queries_are_explained() {
    let (github, _) = opened(&shop());
    github.token("ghs_checks", "checks[bot]", &[Permission::ReadChecks]);
    let mut said = String::new();
    for query in [
        "{ viewer { shoeSize } }",
        "{ viewer }",
        "{ viewer { login { x } } }",
        "{ repository(owner: \"acme\", name: \"none\") { id } }",
        "{ repository(owner: \"acme\", name: \"shop\") { pullRequest(number: 9) { id } } }",
        "{ repository(owner: \"acme\", name: \"shop\") { pullRequest(number: 1) { reviewThreads { nodes { id } } } } }",
        "{ repository(owner: \"acme\", name: \"shop\") { pullRequest(number: 1) { reviewThreads(first: 101) { nodes { id } } } } }",
        "{ viewer { login }",
        "query($a: Int) { viewer { login } }",
        "{ repository(owner: $a, name: \"shop\") { id } }",
        "{ viewer { login } } fragment f on User { login }",
        "mutation { resolveReviewThread(input: { threadId: \"PRRT_1\" }) { thread { id } } }",
        "mutation { mergePullRequest(input: { id: \"1\" }) { clientMutationId } }",
    ] {
        let answer = graphql(&github, query, json!({}));
        let error = &answer["errors"][0];
        said += &format!(
            "{}: {}\n",
            error["type"].as_str().unwrap_or("-"),
            error["message"].as_str().unwrap()
        );
    }
    expect![[r#"
        -: Field 'shoeSize' doesn't exist on type 'User'
        -: Objects must have selections (User)
        -: Selections can't be made on scalars (login)
        NOT_FOUND: Could not resolve to a Repository with the name 'acme/none'.
        NOT_FOUND: Could not resolve to a PullRequest with the number of 9.
        MISSING_PAGINATION_BOUNDARIES: You must provide a `first` or `last` value to properly paginate the `reviewThreads` connection.
        EXCESSIVE_PAGINATION: Requesting 101 records on the `reviewThreads` connection exceeds the `first` limit of 100 records.
        -: Parse error: expected a name, found None
        -: Variable $a is declared but not used
        -: Variable $a is used but not declared
        -: Fragment f was defined, but not used
        NOT_FOUND: Could not resolve to a node with the global id of 'PRRT_1'
        -: Field 'mergePullRequest' doesn't exist on type 'Mutation'
    "#]].assert_eq(&said);
    let query = "{ viewer { login } repository(owner: \"acme\", name: \"shop\") { name pullRequest(number: 1) { id } } }";
    let error = json!({ "type": "FORBIDDEN", "message": "Resource not accessible by integration" });
    let data = json!({ "viewer": { "login": "checks[bot]" }, "repository": { "name": "shop", "pullRequest": null } });
    assert_eq!(
        graphql_as(&github, "ghs_checks", query, json!({})),
        json!({ "data": data, "errors": [error] }),
        "the rest of the answer is there"
    );
}

#[test]
fn resolving_a_thread_needs_permission() {
    let (github, pull) = opened(&shop());
    let thread = github.thread(&pull, "alice", ("orders.py", 2), "why?");
    let query = "mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { isResolved } } }";
    let variables = json!({ "id": thread });
    let permissions = [Permission::ReadPulls, Permission::WritePulls, Permission::Contents];
    github.token("ghs_pulls", "pulls[bot]", &permissions);
    let refused = graphql_as(&github, "ghs_pulls", query, variables.clone());
    assert_eq!(refused["errors"][0]["type"], "FORBIDDEN", "writing to pull requests is not enough");
    assert!(!github.threads(&pull)[0].resolved);
    let done = graphql(&github, query, variables);
    assert_eq!(
        done,
        json!({ "data": { "resolveReviewThread": { "thread": { "isResolved": true } } } })
    );
    assert_eq!(github.threads(&pull)[0].resolved_by.as_deref(), Some("crh-reviewer"));
    assert_eq!((github.writes().len(), github.writes_received()), (1, 2));
}
