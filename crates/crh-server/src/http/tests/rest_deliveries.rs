//! Deliveries of GitLab and Gitea at a server without a GitHub App, and what their jobs ask.

use super::*;
use crate::forge_access::{CheckNotice, ForgeAccess};
use crate::forges::{NO_INSTALLATION, RestAccess, RestAccessSettings};
use crate::job::{ChangeId, JobKind};
use crate::queue::Authorship;
use crate::webhook::plan::{CommentPlace, CommentRef};
use crh_forge::ForgeName;
use crh_testkit::fake_forge::{Change, ChangeHandle, Dialect, TOKEN};
use crh_testkit::{FakeForge, Repo};

struct RestScene {
    forge: FakeForge,
    change: ChangeHandle,
    access: ServerForges,
    name: &'static str,
}

impl RestScene {
    fn new(dialect: Dialect, name: &'static str, repository: &str) -> Self {
        let repo = Repo::from_fixture("\n//- a.txt\na\n");
        repo.git(&["checkout", "--quiet", "-b", "feature"]);
        repo.write("a.txt", "b\n");
        repo.write("folder/b.txt", "b\n");
        std::os::unix::fs::symlink("../a.txt", repo.path().join("folder/link")).unwrap();
        repo.commit("change");
        let submodule = format!("160000,{},submodule", repo.id("HEAD"));
        repo.git(&["update-index", "--add", "--cacheinfo", &submodule]);
        repo.git(&["commit", "--quiet", "--message", "submodule"]);
        let forge = FakeForge::start_below(dialect, "/forge");
        forge.repository(repository, &repo).member(repository, "ann", 30);
        forge.member(repository, "annika", 20);
        let change = forge.change(repository, Change::default());
        let forge_name = ForgeName::ALL.into_iter().find(|it| it.name() == name).unwrap();
        let access = RestAccess::new(RestAccessSettings {
            forge: forge_name.rules().rest().unwrap(),
            server: forge.url(),
            token: SecretSource::Value(TOKEN.into()),
            webhook_secret: Some(SecretSource::Value(SECRET.into())),
            network: NetworkSettings::default(),
            now,
        });
        let access = ServerForges::new(None, vec![Arc::new(access.unwrap())]);
        Self { forge, change, access, name }
    }

    fn change_id(&self) -> ChangeId {
        ChangeId {
            forge: self.access.names()[0].to_owned(),
            repository: self.change.repository.clone(),
            number: self.change.number.to_string(),
        }
    }
}

/// A delivery about the head, as the forge sends it.
fn delivery(scene: &RestScene, id: &str, secret: &str) -> (String, Vec<(&'static str, String)>) {
    let (head, repository) = (scene.forge.head(&scene.change), &scene.change.repository);
    let json = ("content-type", "application/json".to_owned());
    match scene.name {
        "gitlab" => {
            let body = json!({
                "project": { "path_with_namespace": repository }, "user": { "username": "ann" },
                "object_attributes": {
                    "iid": scene.change.number, "state": "opened", "action": "open",
                    "source_project_id": 1, "target_project_id": 1, "last_commit": { "id": head },
                },
            });
            let headers = [
                ("x-gitlab-event", "Merge Request Hook"),
                ("x-gitlab-token", secret),
                ("x-gitlab-event-uuid", id),
            ];
            let headers = headers.map(|(name, value)| (name, value.to_owned()));
            (body.to_string(), [&headers[..], &[json]].concat())
        }
        _ => {
            let body = json!({
                "action": "opened", "repository": { "full_name": repository },
                "pull_request": {
                    "number": scene.change.number, "state": "open",
                    "head": { "sha": head, "repo_id": 1 }, "base": { "repo_id": 1 },
                },
            });
            let body = body.to_string();
            let signature = sign(&secret.into(), body.as_bytes()).replace("sha256=", "");
            let headers = [
                ("x-gitea-event", "pull_request"),
                ("x-gitea-delivery", id),
                ("x-gitea-signature", &signature),
            ];
            let headers = headers.map(|(name, value)| (name, value.to_owned()));
            (body, [&headers[..], &[json]].concat())
        }
    }
}

async fn send(server: &str, forge: &str, delivery: (String, Vec<(&'static str, String)>)) -> u16 {
    let http = crh_http::build_client(&NetworkSettings::default()).unwrap();
    let mut request = http.post(format!("{server}/webhooks/{forge}")).body(delivery.0);
    for (name, value) in delivery.1 {
        request = request.header(name, value);
    }
    request.send().await.unwrap().status().as_u16()
}

fn scenes() -> [RestScene; 2] {
    [
        RestScene::new(Dialect::GitLab, "gitlab", "acme/web/shop"),
        RestScene::new(Dialect::Gitea, "gitea", "acme/shop"),
    ]
}

#[tokio::test]
async fn deliveries_of_rest_forges_become_jobs_once() {
    for scene in scenes() {
        let folder = TempDir::new().unwrap();
        let url = DatabaseUrl::Sqlite(folder.path().join("crh.db"));
        let store = Store::open(&url).await.unwrap();
        let settings =
            HttpSettings { webhook_secret: None, ..settings(&folder, SignIn::default(), None) };
        let address = "127.0.0.1:0".parse().unwrap();
        let server =
            HttpServer::bind(address, store.clone(), scene.access.clone(), settings).await.unwrap();
        let url = format!("http://{}", server.address());
        let task = tokio::spawn(server.serve(std::future::pending()));
        let name = scene.name;
        assert_eq!(send(&url, name, delivery(&scene, "d-1", SECRET)).await, 202, "{name}");
        assert_eq!(send(&url, name, delivery(&scene, "d-1", SECRET)).await, 200, "{name}");
        assert_eq!(send(&url, name, delivery(&scene, "d-2", "other")).await, 401, "{name}");
        let (body, mut headers) = delivery(&scene, "d-3", SECRET);
        headers.retain(|(name, _)| !name.ends_with("-token") && !name.ends_with("-signature"));
        assert_eq!(send(&url, name, (body, headers)).await, 401, "{name}");
        let (body, mut headers) = delivery(&scene, "d-4", SECRET);
        headers.retain(|(name, _)| !name.ends_with("-uuid") && !name.ends_with("-delivery"));
        assert_eq!(send(&url, name, (body, headers)).await, 400, "{name}");
        assert_eq!(send(&url, "launchpad", delivery(&scene, "d-5", SECRET)).await, 404, "{name}");
        assert_eq!(send(&url, "github", delivery(&scene, "d-6", SECRET)).await, 404, "{name}");
        let jobs = store.jobs(&JobFilter { limit: 9, ..JobFilter::default() }).await.unwrap();
        assert_eq!(jobs.len(), 1, "{name} {jobs:?}");
        assert_eq!(jobs[0].key.change, scene.change_id(), "{name}");
        assert_eq!(
            (jobs[0].key.kind, jobs[0].installation),
            (JobKind::Review, NO_INSTALLATION),
            "{name}"
        );
        // The page finds the repository, and links to the change at its forge.
        let page = async |path: &str| {
            let http = crh_http::build_client(&NetworkSettings::default()).unwrap();
            let page = http.get(format!("{url}/{path}")).send().await.unwrap();
            page.text().await.unwrap().replace("&#x2f;", "/")
        };
        let repository = page(&format!("repositories/{}", scene.change.repository)).await;
        assert!(repository.contains(&format!("{}#1", scene.change.repository)), "{repository}");
        let job = page(&format!("jobs/{}", jobs[0].id)).await;
        assert!(job.contains(&scene.forge.change_url(&scene.change)), "{name} {job}");
        task.abort();
    }
}

#[tokio::test]
async fn rest_forges_answer_what_jobs_ask() {
    for scene in scenes() {
        let (access, change, name) = (&scene.access, scene.change_id(), scene.name);
        let open = access.open_change(NO_INSTALLATION, &change).await.unwrap().unwrap();
        assert_eq!(open.head, scene.forge.head(&scene.change), "{name}");
        assert_eq!(open.authorship, Authorship::Trusted, "{name}");
        assert!(open.revision >= 1_767_323_045_000, "{name}");
        let all =
            access.open_changes(&change.forge, NO_INSTALLATION, &change.repository).await.unwrap();
        assert_eq!(all, [open], "{name}");
        for (account, expected) in
            [("ann", true), ("nobody", false), ("an", false), ("a/../b", false), ("", false)]
        {
            let may =
                access.may_write(&change.forge, NO_INSTALLATION, &change.repository, account).await;
            assert_eq!(may.unwrap(), expected, "{name} {account}");
        }
        let notice = CheckNotice { title: "Waits".to_owned(), summary: "why".to_owned() };
        for _ in 0..2 {
            access.report_check(NO_INSTALLATION, &change, "", &notice).await.unwrap();
        }
        let comments = scene.forge.comments(&scene.change);
        assert_eq!(comments.len(), 1, "{name}");
        scene.forge.comment(&scene.change, "mallory", "forged mark");
        for (mark, expected) in
            [("<!-- crh notice Waits -->", true), ("why", false), ("forged mark", false)]
        {
            let found = access.has_marked_comment(&change, mark).await.unwrap();
            assert_eq!(found, expected, "{name} {mark}");
        }
        let comment = CommentRef {
            id: comments[0].id,
            author: "ann".to_owned(),
            place: CommentPlace::Conversation,
        };
        for _ in 0..2 {
            access.approve_comment(&change, &comment).await.unwrap();
        }
        assert_eq!(scene.forge.reactions().len(), 1, "{name}");
        scene.forge.close(&scene.change);
        assert_eq!(access.open_change(NO_INSTALLATION, &change).await.unwrap(), None, "{name}");
        assert_eq!(scene.forge.surprises(), Vec::<String>::new(), "{name}");
    }
}

#[tokio::test]
async fn links_and_submodules_are_no_files_to_fix() {
    for scene in scenes() {
        let (change, head) = (scene.change_id(), scene.forge.head(&scene.change));
        for (path, expected) in [
            ("a.txt", Some("b\n")),
            ("folder/b.txt", Some("b\n")),
            ("folder/link", None),
            ("submodule", None),
            ("folder", None),
            ("missing/a.txt", None),
        ] {
            let file = scene.access.file_at(&change, &head, path).await.unwrap();
            assert_eq!(file.map(|file| file.text).as_deref(), expected, "{} {path}", scene.name);
        }
        assert_eq!(scene.forge.surprises(), Vec::<String>::new(), "{}", scene.name);
    }
}

#[test]
fn server_without_a_token_for_a_forge_says_so() {
    let [scene, _] = scenes();
    let elsewhere = ChangeId { forge: "other.example".to_owned(), ..scene.change_id() };
    let found = scene.access.has_marked_comment(&elsewhere, "x");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = runtime.block_on(found).unwrap_err().to_string();
    assert_eq!(error, "the forge refuses access: this server has no token for `other.example`");
}
