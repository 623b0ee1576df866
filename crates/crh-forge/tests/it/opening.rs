//! Opening a pull request for a branch that was pushed.

use super::scene::Scene;
use crh_forge::ForgeError;
use crh_forge::github::{Cache, Credentials, NewPull, Repo, open_pull, read};
use crh_testkit::fake_github::{Permission, REVIEWER};

fn new(branch: &str, base: Option<&str>) -> NewPull {
    NewPull {
        title: "Spell out six".to_owned(),
        body: "- line six".to_owned(),
        head: ("acme".to_owned(), branch.to_owned()),
        base: base.map(str::to_owned),
    }
}

/// A branch `next` that nobody has proposed.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.repo.git(&["switch", "--quiet", "-c", "next", "main"]);
    scene.repo.write("pay.py", "paid\n");
    scene.repo.commit("line six");
    scene
}

#[tokio::test]
async fn a_branch_is_proposed_once() {
    for base in [Some("main"), None] {
        let scene = scene();
        let (client, repo) = (scene.client(), Repo::parse("acme/shop").unwrap());
        let url = open_pull(&client, &repo, &new("next", base)).await.unwrap();
        let found = read::open_pulls_of_branch(&client, &repo, "acme", "next").await.unwrap();
        let [name] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(url, format!("{}/acme/shop/pull/{}", scene.github.url(), name.number));
        let (proposal, _) = read::proposal(&client, name, "crh").await.unwrap();
        assert_eq!(
            (proposal.title.as_str(), proposal.body.as_str()),
            ("Spell out six", "- line six")
        );
        assert_eq!(proposal.target.branch, "main");
        let again = open_pull(&client, &repo, &new("next", base)).await.unwrap_err();
        assert!(matches!(again, ForgeError::Refused { status: 422, .. }), "{again}");
        assert!(again.to_string().contains("already exists for acme:next"), "{again}");
    }
}

#[tokio::test]
async fn what_is_not_there_or_not_allowed_is_not_proposed() {
    let scene = scene();
    let (client, repo) = (scene.client(), Repo::parse("acme/shop").unwrap());
    for (branch, base) in [("nowhere", Some("main")), ("next", Some("nowhere"))] {
        let refused = open_pull(&client, &repo, &new(branch, base)).await.unwrap_err();
        assert!(matches!(refused, ForgeError::Refused { status: 422, .. }), "{refused}");
    }
    scene.github.token("read", REVIEWER, &[Permission::ReadPulls]);
    let reader = scene.client_with(Cache::none(), Credentials::Token("read".into()));
    let refused = open_pull(&reader, &repo, &new("next", Some("main"))).await.unwrap_err();
    assert!(matches!(refused, ForgeError::Forbidden { .. }), "{refused}");
}
