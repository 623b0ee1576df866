//! Reading a pull request.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use expect_test::{ExpectFile, expect, expect_file};
use serde_json::json;

use crate::scene::{INSTANCE, Scene};
use crh_forge::github::{GitHubCredentials, ReplyCache, Repo, read};
use crh_forge::posting::{ProposalState, Verb};
use crh_forge::{ChangeProposal, ForgeError};
use crh_testkit::fake_github::{Fault, FaultKind, Permission, Pull, REVIEWER, TOKEN};

async fn read(scene: &Scene) -> Result<(ChangeProposal, ProposalState), ForgeError> {
    let read = read::pull_request(&scene.client(), &scene.pull_ref(), INSTANCE).await;
    assert_eq!(scene.github.surprises(), Vec::<String>::new());
    read
}

/// A value as stable text.
fn check(scene: &Scene, value: &impl std::fmt::Debug, expected: ExpectFile) {
    expected.assert_eq(&stable(scene, value));
}

fn stable(scene: &Scene, value: &impl std::fmt::Debug) -> String {
    let mut text = format!("{value:#?}\n").replace(&scene.github.url(), "URL");
    for (name, commit) in [("HEAD", "feature"), ("BASE", "main")] {
        text = text.replace(&scene.repo.id(commit), name);
    }
    text
}

#[tokio::test]
async fn pull_request_is_read_completely() {
    let scene = Scene::new();
    let head = scene.github.head(&scene.pull);
    scene.github.association("acme/shop", "ben", "MEMBER");
    scene.github.comment(&scene.pull, "ben", "Looks fine.");
    let thread = scene.github.thread(&scene.pull, "ben", ("orders.py", 5), "Why?");
    scene.github.reply(&thread, "helper[bot]", "Because.");
    scene.github.reply(&thread, "gone", "I know.");
    scene.github.reply(&thread, REVIEWER, "So do we.");
    scene.github.resolve(&thread, "ann");
    scene.github.check("acme/shop", &head, "tests", Some("success"));
    scene.github.check("acme/shop", &head, "lint", None);
    scene.github.status("acme/shop", &head, "ci/old", "failure");
    post(&scene, TOKEN, "A thought.", &head).await;
    scene.github.remove_account("gone");
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    check(&scene, &proposal, expect_file!["../data/proposal.txt"]);
    check(&scene, &proposal_state, expect_file!["../data/standing.txt"]);
}

/// Posts a review without inline comments.
async fn post(scene: &Scene, token: &str, body: &str, head: &str) {
    let review = json!({ "event": "COMMENT", "body": body, "commit_id": head });
    let client = scene.client_with(ReplyCache::disabled(), GitHubCredentials::Token(token.into()));
    let path = "/repos/acme/shop/pulls/2/reviews";
    client.write(Verb::Post, path, &review).await.unwrap();
}

#[tokio::test]
async fn deleted_author_and_fork_are_handled() {
    let scene = Scene::new();
    scene.github.fork("cas/shop", "acme/shop", &scene.repo);
    let pull = Pull {
        head: "cas:feature".to_owned(),
        author: "cas".to_owned(),
        draft: true,
        ..Pull::default()
    };
    let pull = scene.github.pull("acme/shop", pull);
    let scene = Scene { pull, ..scene };
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    assert_eq!(proposal.source.repo.as_deref(), Some("cas/shop"));
    assert_eq!(proposal.source.git_url, Some(format!("{}/cas/shop.git", scene.github.url())));
    assert!(
        proposal_state.properties.from_fork && proposal_state.properties.draft && proposal.draft
    );
    scene.github.delete_repository("cas/shop");
    scene.github.remove_account("cas");
    scene.github.close(&scene.pull);
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    assert_eq!((proposal.source.repo, proposal.source.git_url), (None, None));
    assert_eq!((proposal.author.as_deref(), proposal.state.as_str()), (Some("ghost"), "closed"));
    assert!(proposal_state.properties.from_fork && !proposal_state.properties.open);
    assert_eq!(proposal.target.git_url, Some(format!("{}/acme/shop.git", scene.github.url())));
}

#[tokio::test]
async fn requests_are_unique_and_concurrent() {
    let scene = Scene::new();
    read(&scene).await.unwrap();
    let mut requests = scene.requests();
    requests.sort();
    let requests = requests.join("\n").replace(&scene.github.head(&scene.pull), "HEAD");
    expect![[r#"
        GET /api/v3/repos/acme/shop/commits/HEAD/check-runs 200
        GET /api/v3/repos/acme/shop/commits/HEAD/status 200
        GET /api/v3/repos/acme/shop/issues/2/comments 200
        GET /api/v3/repos/acme/shop/pulls/2 200
        GET /api/v3/repos/acme/shop/pulls/2/files 200
        GET /api/v3/repos/acme/shop/pulls/2/reviews 200
        POST /api/graphql 200"#]]
    .assert_eq(&requests);
}

#[tokio::test]
async fn long_lists_and_threads_are_read_completely() {
    let scene = Scene::new();
    for number in 0..250 {
        scene.github.comment(&scene.pull, "ben", &format!("comment {number}"));
        let thread =
            scene.github.thread(&scene.pull, "ben", ("orders.py", 5), &format!("thread {number}"));
        let replies = if number == 120 { 250 } else { number % 3 };
        for reply in 0..replies {
            scene.github.reply(&thread, "ann", &format!("reply {reply}"));
        }
    }
    let head = scene.github.head(&scene.pull);
    for number in 0..130 {
        scene.github.check("acme/shop", &head, &format!("check {number:03}"), Some("success"));
        scene.github.status("acme/shop", &head, &format!("status {number:03}"), "success");
    }
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    assert_eq!((proposal.comments.len(), proposal_state.comments.len()), (250, 250));
    assert_eq!(proposal.comments[249].content, "comment 249");
    assert_eq!((proposal.threads.len(), proposal_state.threads.len()), (250, 250));
    for (number, thread) in proposal.threads.iter().enumerate() {
        assert_eq!(thread.comments[0].content, format!("thread {number}"));
        let replies = if number == 120 { 250 } else { number % 3 };
        let texts: Vec<&str> =
            thread.comments[1..].iter().map(|comment| comment.content.as_str()).collect();
        let expected: Vec<String> = (0..replies).map(|reply| format!("reply {reply}")).collect();
        assert_eq!(texts, expected);
    }
    assert_eq!(proposal.checks.len(), 260);
    assert_eq!(proposal.notes, Vec::<String>::new());
}

#[tokio::test]
async fn files_after_first_page_are_read() {
    let scene = Scene::new();
    for number in 0..250 {
        scene.repo.write(&format!("many/{number:03}.txt"), "one\n");
    }
    scene.repo.commit("many");
    scene.github.push(&scene.pull);
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    assert_eq!(proposal_state.files.len(), 252);
    assert_eq!(proposal_state.files[0].path, "many/000.txt");
    assert_eq!(proposal_state.files[0].patch.as_deref(), Some("@@ -0,0 +1 @@\n+one"));
    assert_eq!(proposal.notes, Vec::<String>::new());
}

#[tokio::test]
async fn optional_parts_become_notes() {
    let scene = Scene::new();
    let permissions = [Permission::Contents, Permission::ReadPulls];
    scene.github.token("ghp_few", REVIEWER, &permissions);
    let client =
        scene.client_with(ReplyCache::disabled(), GitHubCredentials::Token("ghp_few".into()));
    let (proposal, _) = read::pull_request(&client, &scene.pull_ref(), INSTANCE).await.unwrap();
    expect![[r#"
        [
            "Cannot read the check runs: the token does not permit `GET /repos/acme/shop/commits/HEAD/check-runs`: Resource not accessible by personal access token.",
            "Cannot read the commit statuses: the token does not permit `GET /repos/acme/shop/commits/HEAD/status`: Resource not accessible by personal access token.",
        ]
    "#]].assert_eq(&stable(&scene, &proposal.notes));
}

#[tokio::test]
async fn required_parts_fail_the_read() {
    for path in ["/api/v3/repos/acme/shop/pulls/2", "*/comments", "*/reviews", "/api/graphql"] {
        for method in ["GET", "POST"] {
            let scene = Scene::new();
            scene.github.fail(Fault::on(method, path, FaultKind::StatusBefore(403)).times(9));
            let read = read::pull_request(&scene.client(), &scene.pull_ref(), INSTANCE).await;
            let is_requested = (method == "POST") == (path == "/api/graphql");
            assert_eq!(matches!(read, Err(ForgeError::Forbidden { .. })), is_requested, "{path}");
        }
    }
}

#[tokio::test]
async fn earlier_heads_come_only_from_own_reviews() {
    let scene = Scene::new();
    scene.github.token("ghp_forger", "mallory", &Permission::ALL);
    let mut heads = vec![scene.github.head(&scene.pull)];
    let own_body = "<!-- crh:crh:review:0123456789abcdef -->\nTwo issues.";
    post(&scene, TOKEN, own_body, &heads[0]).await;
    post(&scene, TOKEN, own_body, &heads[0]).await;
    for (number, body) in [
        (1, own_body),
        (2, "<!-- crh:other:review:0123456789abcdef -->\nOf another instance."),
        (3, "I saw <!-- crh:crh:review:0123456789abcdef --> somewhere."),
    ] {
        scene.repo.write("orders.py", format!("{number}\n"));
        heads.push(scene.repo.commit("more"));
        scene.github.push(&scene.pull);
        post(&scene, TOKEN, body, heads.last().unwrap()).await;
    }
    scene.repo.write("orders.py", "forged\n");
    heads.push(scene.repo.commit("more"));
    scene.github.push(&scene.pull);
    post(&scene, "ghp_forger", own_body, heads.last().unwrap()).await;
    scene.repo.write("orders.py", "last\n");
    heads.push(scene.repo.commit("more"));
    scene.github.push(&scene.pull);
    let (proposal, _) = read(&scene).await.unwrap();
    let rounds: Vec<(&str, &str)> =
        proposal.rounds.iter().map(|round| (round.id.as_str(), round.head.as_str())).collect();
    assert_eq!(rounds, [("1", &*heads[0]), ("2", &*heads[1]), ("3", &*heads[5])]);
    assert!(proposal.rounds[0].created_at.is_some() && proposal.rounds[2].target.is_some());
}

#[tokio::test]
async fn head_in_own_summary_is_an_earlier_round() {
    let scene = Scene::new();
    let head = scene.github.head(&scene.pull);
    let summary = |head: &str| {
        let state = json!({
            "version": 1, "review_id": "0123456789abcdef", "base": "b", "head": head, "configuration": "",
            "prompt_version": "", "models": "", "reviewers": [], "strategy": "single", "complete": true,
            "issues": [],
        });
        let id = "<!-- code-review-agent:review_id=0123456789abcdef -->";
        let state = URL_SAFE_NO_PAD.encode(state.to_string());
        format!("{id}\n<!-- crh:crh:summary -->\nFine.\n\n<!-- crh:crh:state:{state} -->")
    };
    scene.github.comment(&scene.pull, "mallory", &summary(&"f".repeat(40)));
    scene.github.comment(&scene.pull, REVIEWER, &summary(&head));
    scene.repo.write("orders.py", "more\n");
    scene.repo.commit("more");
    scene.github.push(&scene.pull);
    let (proposal, _) = read(&scene).await.unwrap();
    let heads: Vec<&str> = proposal.rounds.iter().map(|round| round.head.as_str()).collect();
    assert_eq!(heads, [&*head, &*proposal.source.commit]);
}

#[tokio::test]
async fn branch_pull_request_is_found_in_parent_of_fork() {
    let scene = Scene::new();
    let find = async |repo: &str, owner: &str, branch: &str| {
        let repo = Repo::parse(repo).unwrap();
        let pulls = read::open_pulls_of_branch(&scene.client(), &repo, owner, branch).await;
        pulls.unwrap().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(find("acme/shop", "acme", "feature").await, ["acme/shop#2"]);
    assert!(find("acme/shop", "acme", "main").await.is_empty());
    assert!(find("acme/shop", "cas", "feature").await.is_empty());
    scene.repo.git(&["branch", "fix/a&b#1"]);
    scene.github.fork("cas/shop", "acme/shop", &scene.repo);
    let pull = Pull { head: "cas:fix/a&b#1".to_owned(), ..Pull::default() };
    scene.github.pull("acme/shop", pull);
    assert_eq!(find("cas/shop", "cas", "fix/a&b#1").await, ["acme/shop#3"]);
    scene.github.close(&scene.pull);
    assert!(find("acme/shop", "acme", "feature").await.is_empty());
    assert_eq!(scene.github.surprises(), Vec::<String>::new());
}

#[tokio::test]
async fn push_while_reading_restarts_the_read() {
    let scene = Scene::new();
    let folder = tempfile::tempdir().unwrap();
    let cache = || ReplyCache::in_folder(folder.path().to_owned());
    let client = scene.client_with(cache(), GitHubCredentials::Token(TOKEN.into()));
    read::pull_request(&client, &scene.pull_ref(), INSTANCE).await.unwrap();
    scene.repo.write("orders.py", "pushed\n");
    let head = scene.repo.commit("more");
    scene.github.push(&scene.pull);
    // A stale reply with the old head.
    let stale = Fault::on("GET", "/api/v3/repos/acme/shop/pulls/2", FaultKind::NotModified);
    scene.github.fail(stale.clone());
    let (proposal, proposal_state) =
        read::pull_request(&client, &scene.pull_ref(), INSTANCE).await.unwrap();
    assert_eq!((&proposal.source.commit, &proposal_state.properties.head), (&head, &head));
    assert_eq!(proposal.notes, Vec::<String>::new());
    // If pushes continue, the result has a note.
    scene.repo.write("orders.py", "pushed again\n");
    scene.repo.commit("more");
    scene.github.push(&scene.pull);
    scene.github.fail(stale.times(9));
    let (proposal, _) = read::pull_request(&client, &scene.pull_ref(), INSTANCE).await.unwrap();
    assert_eq!(
        proposal.notes,
        ["The pull request received pushes while crh read it; the data may mix several heads."]
    );
}
