//! Opening a pull request for a pushed branch.

use super::scene::Scene;
use crh_forge::ForgeError;
use crh_forge::github::{
    GitHubCredentials, NewPullRequest, ReplyCache, Repo, open_pull_request, read,
};
use crh_testkit::fake_github::{Permission, REVIEWER};

fn new_pull(branch: &str, base: Option<&str>) -> NewPullRequest {
    NewPullRequest {
        title: "Spell out six".to_owned(),
        body: "- line six".to_owned(),
        head: ("acme".to_owned(), branch.to_owned()),
        base: base.map(str::to_owned),
    }
}

/// A branch `next` without a pull request.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.repo.git(&["switch", "--quiet", "-c", "next", "main"]);
    scene.repo.write("pay.py", "paid\n");
    scene.repo.commit("line six");
    scene
}

#[tokio::test]
async fn branch_gets_one_pull_request() {
    for base in [Some("main"), None] {
        let scene = scene();
        let (client, repo) = (scene.client(), Repo::parse("acme/shop").unwrap());
        let url = open_pull_request(&client, &repo, &new_pull("next", base)).await.unwrap();
        let pulls = read::open_pulls_of_branch(&client, &repo, "acme", "next").await.unwrap();
        let [pull_ref] = pulls.as_slice() else { panic!("{pulls:?}") };
        assert_eq!(url, format!("{}/acme/shop/pull/{}", scene.github.url(), pull_ref.number));
        let (proposal, _) = read::pull_request(&client, pull_ref, "crh").await.unwrap();
        assert_eq!(
            (proposal.title.as_str(), proposal.body.as_str()),
            ("Spell out six", "- line six")
        );
        assert_eq!(proposal.target.branch, "main");
        let second_error =
            open_pull_request(&client, &repo, &new_pull("next", base)).await.unwrap_err();
        assert!(matches!(second_error, ForgeError::Refused { status: 422, .. }), "{second_error}");
        assert!(
            second_error.to_string().contains("already exists for acme:next"),
            "{second_error}"
        );
    }
}

#[tokio::test]
async fn missing_or_forbidden_branch_is_refused() {
    let scene = scene();
    let (client, repo) = (scene.client(), Repo::parse("acme/shop").unwrap());
    for (branch, base) in [("nowhere", Some("main")), ("next", Some("nowhere"))] {
        let error = open_pull_request(&client, &repo, &new_pull(branch, base)).await.unwrap_err();
        assert!(matches!(error, ForgeError::Refused { status: 422, .. }), "{error}");
    }
    scene.github.token("read", REVIEWER, &[Permission::ReadPulls]);
    let reader = scene.client_with(ReplyCache::disabled(), GitHubCredentials::Token("read".into()));
    let error =
        open_pull_request(&reader, &repo, &new_pull("next", Some("main"))).await.unwrap_err();
    assert!(matches!(error, ForgeError::Forbidden { .. }), "{error}");
}
