//! Reading and writing by REST.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use expect_test::expect;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use super::super::{APP_KEY, FakeGitHub, Permission, Pull, TOKEN};
use super::{ask, ask_as, get, opened, send, shop};
use crate::Repo;

fn review(comments: &[Value]) -> Value {
    json!({ "event": "COMMENT", "body": "One thing.", "comments": comments })
}

#[test]
fn files_have_git_hunks() {
    let (github, _) = opened(&shop());
    let files = get(&github, "/pulls/1/files").body;
    expect![[r#"
        removed gone.py from - +0 -1
        @@ -1 +0,0 @@
        -old
        added logo.png from - +0 -0
        -
        modified orders.py from - +3 -2
        @@ -1,5 +1,5 @@
         line 1
        -line 2
        +changed 2
         line 3
         line 4
         line 5
        @@ -7,7 +7,6 @@ line 6
         line 7
         line 8
         line 9
        -line 10
         line 11
         line 12
         line 13
        @@ -16,5 +15,7 @@ line 15
         line 16
         line 17
         line 18
        +new 18a
        +new 18b
         line 19
         line 20
        renamed paid.py from pay.py +0 -0
        -
    "#]]
    .assert_eq(&listed(&files));
}

#[test]
fn odd_files_have_their_own_hunks() {
    let repo = Repo::new();
    repo.write("a link", "a\n");
    repo.write("naïve.txt", "no end");
    repo.write("script", "run\n");
    repo.write("z", "z\n");
    repo.commit("base");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    std::fs::remove_file(repo.path().join("a link")).unwrap();
    std::os::unix::fs::symlink("z", repo.path().join("a link")).unwrap();
    repo.write("naïve.txt", "no end\nnor here");
    repo.git(&["update-index", "--chmod=+x", "script"]);
    repo.write("z", "y\n");
    repo.git(&["add", "a link", "naïve.txt", "z"]);
    repo.git(&["commit", "--quiet", "--message", "change"]);
    let (github, _) = opened(&repo);
    expect![[r#"
        changed a link from - +1 -1
        @@ -1 +0,0 @@
        -a
        @@ -0,0 +1 @@
        +z
        \ No newline at end of file
        modified naïve.txt from - +2 -1
        @@ -1 +1,2 @@
        -no end
        \ No newline at end of file
        +no end
        +nor here
        \ No newline at end of file
        modified script from - +0 -0
        -
        modified z from - +1 -1
        @@ -1 +1 @@
        -z
        +y
    "#]]
    .assert_eq(&listed(&get(&github, "/pulls/1/files").body));
}

fn listed(files: &Value) -> String {
    let shown = files.as_array().unwrap().iter().map(|file| {
        let word = |key: &str| file[key].as_str().unwrap_or("-").to_owned();
        let numbers = format!("+{} -{}", file["additions"], file["deletions"]);
        let (status, name, from) = (word("status"), word("filename"), word("previous_filename"));
        format!("{status} {name} from {from} {numbers}\n{}\n", word("patch"))
    });
    shown.collect()
}

#[test]
fn review_with_one_bad_position_is_refused() {
    let (github, pull) = opened(&shop());
    let good = json!({ "path": "orders.py", "line": 2, "body": "why?" });
    let mut said = String::new();
    for bad in [
        json!({ "path": "orders.py", "line": 6, "body": "too far" }),
        json!({ "path": "orders.py", "line": 23, "body": "past the end" }),
        json!({ "path": "orders.py", "line": 22, "side": "LEFT", "body": "not on that side" }),
        json!({ "path": "other.py", "line": 1, "body": "no such file" }),
        json!({ "path": "gone.py", "line": 1, "body": "not there any more" }),
        json!({ "path": "logo.png", "line": 1, "body": "binary" }),
        json!({ "path": "orders.py", "start_line": 2, "line": 2, "body": "equal" }),
        json!({ "path": "orders.py", "start_line": 2, "line": 9, "body": "two hunks" }),
        json!({ "path": "orders.py", "start_line": 6, "line": 9, "body": "starts outside" }),
        json!({ "path": "orders.py", "line": 2, "side": "MIDDLE", "body": "no side" }),
        json!({ "path": "orders.py", "line": "2", "body": "a text" }),
        json!({ "path": "orders.py", "line": 2, "body": " " }),
        json!({ "path": "orders.py", "line": 2, "body": "x".repeat(65_537) }),
    ] {
        let why = bad["body"].as_str().unwrap().chars().take(20).collect::<String>();
        let got = ask(&github, "POST", "/pulls/1/reviews", &review(&[good.clone(), bad]));
        said += &format!("{why}: {:?}\n", got.why());
    }
    expect![[r#"
        too far: (422, "Unprocessable Entity: Line could not be resolved")
        past the end: (422, "Unprocessable Entity: Line could not be resolved")
        not on that side: (422, "Unprocessable Entity: Line could not be resolved")
        no such file: (422, "Unprocessable Entity: Path could not be resolved")
        not there any more: (422, "Unprocessable Entity: Line could not be resolved")
        binary: (422, "Unprocessable Entity: Line could not be resolved")
        equal: (422, "Unprocessable Entity: Pull request review thread start line must precede the end line.")
        two hunks: (422, "Unprocessable Entity: Pull request review thread start line must be part of the same hunk as the line.")
        starts outside: (422, "Unprocessable Entity: Start line could not be resolved")
        no side: (422, "Unprocessable Entity: Side is invalid")
        a text: (422, "Invalid request.: \"2\" is not an integer.")
         : (422, "Unprocessable Entity: Body can't be blank")
        xxxxxxxxxxxxxxxxxxxx: (422, "Unprocessable Entity: Body is too long (maximum is 65536 characters)")
    "#]].assert_eq(&said);
    assert_eq!((github.threads(&pull), github.reviews(&pull)), (Vec::new(), Vec::new()));
    assert_eq!(github.writes(), []);
    assert_eq!(github.writes_received(), 13);
}

#[test]
fn other_invalid_reviews_are_refused() {
    let (github, pull) = opened(&shop());
    github.token("ghp_author", "author", &Permission::ALL);
    github.token("ghs_reads", "github-actions[bot]", &[Permission::ReadPulls]);
    github.token("ghp_pulls", "bob", &[Permission::ReadPulls, Permission::WritePulls]);
    let old = "0".repeat(40);
    let mut said = String::new();
    for (token, method, path, body) in [
        (TOKEN, "POST", "/pulls/1/reviews", json!({ "event": "SHOUT", "body": "x" })),
        (TOKEN, "POST", "/pulls/1/reviews", json!({ "event": "COMMENT", "body": "" })),
        (TOKEN, "POST", "/pulls/1/reviews", json!({ "event": "REQUEST_CHANGES" })),
        (
            TOKEN,
            "POST",
            "/pulls/1/reviews",
            json!({ "event": "COMMENT", "body": "x", "commit_id": old }),
        ),
        ("ghp_author", "POST", "/pulls/1/reviews", json!({ "event": "APPROVE" })),
        (
            "ghp_author",
            "POST",
            "/pulls/1/reviews",
            json!({ "event": "REQUEST_CHANGES", "body": "x" }),
        ),
        ("ghs_reads", "POST", "/pulls/1/reviews", json!({ "event": "COMMENT", "body": "x" })),
        ("ghs_reads", "POST", "/issues/1/comments", json!({ "body": "x" })),
        ("ghs_reads", "GET", "/commits/abc/status", Value::Null),
        ("ghp_unknown", "GET", "/pulls/1", Value::Null),
        (TOKEN, "GET", "/pulls/2", Value::Null),
        (TOKEN, "POST", "/issues/1/comments", json!({ "body": "x".repeat(65_537) })),
        (TOKEN, "POST", "/issues/1/comments", json!({ "text": "x" })),
        (TOKEN, "PATCH", "/issues/comments/7", json!({ "body": "x" })),
        (TOKEN, "POST", "/check-runs", json!({ "name": "crh", "head_sha": old })),
        ("ghp_pulls", "POST", "/code-scanning/sarifs", json!({ "sarif": "x" })),
        (
            TOKEN,
            "POST",
            "/code-scanning/sarifs",
            json!({ "commit_sha": old, "ref": "refs/heads/x", "sarif": "x" }),
        ),
    ] {
        let got = ask_as(&github, token, method, path, &body);
        said += &format!("{token} {method} {path}: {:?}\n", got.why());
    }
    expect![[r#"
        ghp_fakeTokenOfTheReviewer0123456789 POST /pulls/1/reviews: (422, "Unprocessable Entity: Variable $event of type PullRequestReviewEvent was provided invalid value")
        ghp_fakeTokenOfTheReviewer0123456789 POST /pulls/1/reviews: (422, "Unprocessable Entity: Body can't be blank")
        ghp_fakeTokenOfTheReviewer0123456789 POST /pulls/1/reviews: (422, "Unprocessable Entity: You need to leave a comment indicating the requested changes.")
        ghp_fakeTokenOfTheReviewer0123456789 POST /pulls/1/reviews: (422, "Unprocessable Entity: The commit_id is not part of the pull request")
        ghp_author POST /pulls/1/reviews: (422, "Unprocessable Entity: Can not approve your own pull request")
        ghp_author POST /pulls/1/reviews: (422, "Unprocessable Entity: Can not request changes on your own pull request")
        ghs_reads POST /pulls/1/reviews: (403, "Resource not accessible by integration: ")
        ghs_reads POST /issues/1/comments: (403, "Resource not accessible by integration: ")
        ghs_reads GET /commits/abc/status: (403, "Resource not accessible by integration: ")
        ghp_unknown GET /pulls/1: (401, "Bad credentials: ")
        ghp_fakeTokenOfTheReviewer0123456789 GET /pulls/2: (404, "Not Found: ")
        ghp_fakeTokenOfTheReviewer0123456789 POST /issues/1/comments: (422, "Validation Failed: body is too long (maximum is 65536 characters)")
        ghp_fakeTokenOfTheReviewer0123456789 POST /issues/1/comments: (422, "Validation Failed: body is missing")
        ghp_fakeTokenOfTheReviewer0123456789 PATCH /issues/comments/7: (404, "Not Found: ")
        ghp_fakeTokenOfTheReviewer0123456789 POST /check-runs: (403, "You must authenticate via a GitHub App.: ")
        ghp_pulls POST /code-scanning/sarifs: (403, "Resource not accessible by personal access token: ")
        ghp_fakeTokenOfTheReviewer0123456789 POST /code-scanning/sarifs: (400, "SARIF is not gzip in base64, or no JSON: ")
    "#]].assert_eq(&said);
    assert_eq!(
        github.surprises(),
        ["an issue comment has a field that GitHub does not know: `text`"]
    );
    assert_eq!(github.comments(&pull), []);
}

#[test]
fn private_repository_is_hidden_from_strangers() {
    let (github, _) = opened(&shop());
    let path = "/api/v3/repos/acme/shop/pulls/1";
    let got = send(&github, "GET", path, &[], &Value::Null).unwrap();
    assert_eq!(got.status, 403, "no user agent");
    let got = send(&github, "GET", path, &["user-agent: x"], &Value::Null).unwrap();
    assert_eq!(got.status, 200, "what is public can be read without a token");
    github.make_private("acme/shop");
    let got = send(&github, "GET", path, &["user-agent: x"], &Value::Null).unwrap();
    assert_eq!(got.status, 404, "what is private cannot");
}

#[test]
fn thread_follows_its_line_until_changed() {
    let repo = shop();
    let (github, pull) = opened(&repo);
    let comments = [
        json!({ "path": "orders.py", "line": 2, "body": "this one changes" }),
        json!({ "path": "orders.py", "line": 19, "body": "this one moves" }),
        json!({ "path": "orders.py", "line": 10, "side": "LEFT", "body": "this one stays" }),
        json!({ "path": "orders.py", "start_line": 17, "line": 20, "body": "these move" }),
    ];
    assert_eq!(ask(&github, "POST", "/pulls/1/reviews", &review(&comments)).status, 200);
    let before = github.head(&pull);
    let text = String::from_utf8(repo.git(&["show", "HEAD:orders.py"])).unwrap();
    repo.write("orders.py", format!("first\n{}", text.replace("changed 2", "other 2")));
    repo.commit("more");
    assert_eq!(github.head(&pull), before, "nothing is pushed yet");
    github.push(&pull);
    assert_ne!(github.head(&pull), before);
    let lines: Vec<_> = github
        .threads(&pull)
        .iter()
        .map(|thread| (thread.start_line, thread.line, thread.outdated))
        .collect();
    assert_eq!(
        lines,
        [
            (None, None, true),
            (None, Some(20), false),
            (None, Some(10), false),
            (Some(18), Some(21), false)
        ]
    );
    repo.git(&["reset", "--quiet", "--hard", &before]);
    github.push(&pull);
    assert!(github.threads(&pull).iter().all(|thread| !thread.outdated), "all as it was");
}

#[test]
fn invalid_jwt_and_too_many_annotations_are_refused() {
    let (github, pull) = opened(&shop());
    let id = github.app("reviewer", "acme", &Permission::ALL);
    let claim = |issued: u64, ends: u64| claim(APP_KEY, id, issued, ends);
    let as_app = |claim: &str, method: &str, path: &str| {
        let authorization = format!("authorization: Bearer {claim}");
        send(&github, method, path, &["user-agent: x", &authorization], &Value::Null).unwrap()
    };
    let now = super::super::time::now();
    let at = "/api/v3/repos/acme/shop/installation";
    let good = claim(now - 60, now + 540);
    let installed = as_app(&good, "GET", at);
    assert_eq!((installed.status, &installed.body["app_id"]), (200, &json!(id)));
    let forged = format!("{}x", &good[..good.len() - 1]);
    for bad in [forged, claim(now - 900, now - 300), claim(now, now + 3_600), "a.b.c".into()] {
        assert_eq!(as_app(&bad, "GET", at).status, 401);
    }
    let path = format!("/api/v3/app/installations/{}/access_tokens", installed.body["id"]);
    let given = as_app(&good, "POST", &path);
    assert_eq!(given.status, 201);
    let token = given.body["token"].as_str().unwrap();
    let annotation = json!({ "path": "orders.py", "start_line": 2, "end_line": 2,
        "annotation_level": "warning", "message": "why?" });
    let run = |count: usize| {
        json!({ "name": "crh", "head_sha": github.head(&pull), "status": "completed",
            "conclusion": "neutral", "output": { "title": "t", "summary": "s",
            "annotations": vec![annotation.clone(); count] } })
    };
    assert_eq!(ask_as(&github, token, "POST", "/check-runs", &run(51)).status, 422);
    assert_eq!(ask_as(&github, token, "POST", "/check-runs", &run(50)).status, 201);
}

/// A signed JWT.
fn claim(key: &str, id: u64, issued: u64, ends: u64) -> String {
    let lines: String = key.lines().filter(|line| !line.starts_with("-----")).collect();
    let key = RsaKeyPair::from_der(&STANDARD.decode(lines).unwrap()).unwrap();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let body = json!({ "iat": issued, "exp": ends, "iss": id.to_string() });
    let text = format!("{}.{}", part(json!({ "alg": "RS256", "typ": "JWT" })), part(body));
    let mut signature = vec![0; key.public().modulus_len()];
    let random = SystemRandom::new();
    key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[test]
fn large_pull_request_is_served_completely() {
    let repo = Repo::new();
    repo.import((0..3_100).map(|number| (format!("f{number:04}"), "one\n".to_owned())));
    repo.git(&["branch", "base"]);
    let big = (0..3_100).map(|number| {
        let lines = if number == 7 { 4_000 } else { 2 };
        (format!("f{number:04}"), "two\n".repeat(lines))
    });
    repo.import(big);
    let github = FakeGitHub::start();
    github.repository("acme/shop", &repo);
    let change = Pull { head: "main".into(), base: "base".into(), ..Pull::default() };
    let pull = github.pull("acme/shop", change);
    for number in 0..5_000 {
        github.comment(&pull, "alice", &format!("comment {number}"));
    }
    let all = |path: &str| -> Vec<Value> {
        let pages =
            (1..).map(|page| get(&github, &format!("{path}?per_page=100&page={page}")).body);
        let pages = pages.take_while(|page| page != &json!([]));
        pages.flat_map(|page| page.as_array().unwrap().clone()).collect()
    };
    let files = all("/pulls/1/files");
    assert_eq!(files.len(), 3_000, "GitHub lists no more");
    let without: Vec<_> = files.iter().filter(|file| file.get("patch").is_none()).collect();
    assert_eq!(without.len(), 1, "one is too long to be shown");
    assert_eq!(without[0]["filename"], "f0007");
    assert_eq!(all("/issues/1/comments").len(), 5_000);
    assert_eq!(get(&github, "/pulls/1").body["changed_files"], 3_100);
}
