//! Serves the page and MCP with example data and a fake GitHub, for `scripts/check-server-page` and
//! `scripts/check-mcp`.
//! Prints its address and stops when standard input ends.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot set itself up must fail")]
#![expect(clippy::print_stdout, reason = "the script reads the address")]

use std::io::Read;
use std::sync::Arc;
use std::time::SystemTime;

use crh_forge::github::GitHubHost;
use crh_http::NetworkSettings;
use crh_server::github_app::{GitHubAccess, GitHubAppSettings, SecretSource};
use crh_server::http::{HttpServer, HttpSettings, OAuthSettings, SignIn};
use crh_server::job::{
    AttemptFailure, ChangeId, InstallationId, JobKey, JobKind, JobOrigin, NewJob, Priority,
    RetryAdvice,
};
use crh_server::queue::RetryPolicy;
use crh_server::store::{
    AuditEntry, BudgetLimits, ClaimRequest, DatabaseUrl, Installation, InstalledRepository,
    IssueOutcome, LeaseEnd, MicroUsd, NewReview, Store,
};
use crh_server::webhook::plan::WebhookRules;
use crh_testkit::FakeGitHub;
use crh_testkit::fake_github::{APP_KEY, Permission, Pull};

const LIMITS: BudgetLimits = BudgetLimits {
    repository: crh_server::store::ScopeLimits {
        concurrent_reviews: None,
        reviews_per_day: None,
        usd_per_day: Some(MicroUsd(10_000_000)),
        usd_per_month: None,
    },
    installation: crh_server::store::ScopeLimits {
        concurrent_reviews: None,
        reviews_per_day: None,
        usd_per_day: None,
        usd_per_month: None,
    },
};

#[expect(clippy::disallowed_methods, reason = "the fake compares tokens with real time")]
fn now() -> SystemTime {
    SystemTime::now()
}

#[tokio::main]
async fn main() {
    let (github, folder) = (FakeGitHub::start(), tempfile::TempDir::new().unwrap());
    let repo = crh_testkit::Repo::from_fixture("\n//- a.txt\na\n");
    for name in ["acme/help-desk-with-a-long-name", "acme/secret"] {
        github.repository(name, &repo);
    }
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("a.txt", "b\n");
    repo.commit("change");
    github.repository("acme/shop", &repo);
    github.pull("acme/shop", Pull::default());
    github.role("acme/shop", "ann", "write").role("acme/help-desk-with-a-long-name", "ann", "read");
    let app = github.app("crh", "acme", &Permission::ALL);
    let (id, installation) = (app.to_string(), github.installation(app));
    let installation = InstallationId(installation.try_into().unwrap());
    let urls = [github.url(), github.api_url(), github.graphql_url()];
    let [server, api, graphql] = urls.each_ref().map(|text| Some(text.as_str()));
    let host = GitHubHost::from_variables(server, api, graphql).unwrap();
    let forge = host.name().to_owned();
    let (key, network) = (SecretSource::Value(APP_KEY.into()), NetworkSettings::default());
    let access = GitHubAccess::new(GitHubAppSettings { host, id, key, network, now }).unwrap();
    let store = Store::open(&DatabaseUrl::Sqlite(folder.path().join("crh.db"))).await.unwrap();
    fill(&store, &forge, installation, folder.path()).await;
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let (client_id, secret) = github.sign_in_as("ann");
    let oauth = OAuthSettings {
        client_id,
        client_secret: SecretSource::Value(secret.into()),
        network: NetworkSettings::default(),
    };
    let settings = HttpSettings {
        webhook_secret: Some(SecretSource::Value("secret".into())),
        rules: WebhookRules { strangers: Default::default(), label: "crh-review".to_owned() },
        public_url: Some(format!("http://{address}")),
        sign_in: SignIn {
            token: Some(SecretSource::Value("a token of the example".into())),
            github: Some(oauth),
        },
        state_folder: folder.path().to_owned(),
        runs: None,
        limits: LIMITS,
    };
    let server = HttpServer::bind(address, store, Arc::new(access), settings).await.unwrap();
    println!("http://{address}");
    let task = tokio::spawn(server.serve(std::future::pending()));
    let stopped = tokio::task::spawn_blocking(|| {
        let mut nothing = Vec::new();
        std::io::stdin().read_to_end(&mut nothing)
    });
    stopped.await.unwrap().unwrap();
    task.abort();
}

/// A store with every kind of row.
async fn fill(store: &Store, forge: &str, id: InstallationId, folder: &std::path::Path) {
    let installation = Installation {
        forge: forge.to_owned(),
        id,
        account: "acme".to_owned(),
        suspended: false,
        created_at: store.now(),
    };
    store.save_installation(&installation).await.unwrap();
    let repositories = ["acme/shop", "acme/help-desk-with-a-long-name", "acme/secret"];
    let repositories = repositories.map(|name| InstalledRepository {
        name: name.to_owned(),
        private: name != "acme/shop",
        settings: "[scope]\nexclude = [\"docs/**\"]\n".to_owned(),
    });
    store.change_repositories(forge, id, &repositories, &[]).await.unwrap();
    store.register_worker("box-1", "0.1.0", 2).await.unwrap();
    let claim = async || {
        let retry = RetryPolicy::default();
        let request = ClaimRequest { worker: "box-1", lease_ms: 3_600_000, retry, limits: &LIMITS };
        store.claim(&request).await.unwrap().unwrap()
    };
    let retry = RetryPolicy::default();
    for (number, repository) in ["acme/shop", "acme/shop", "acme/secret"].iter().enumerate() {
        store.enqueue(&review_job(forge, id, repository, number + 1)).await.unwrap();
        let leased = claim().await;
        let run = format!("runs/{number}");
        std::fs::create_dir_all(folder.join(&run)).unwrap();
        let report = include_str!("../../crh-review/tests/data/render/report.json");
        std::fs::write(folder.join(&run).join("review.json"), report).unwrap();
        let review = NewReview {
            verdict: ["Ready with fixes", "Not ready", "Ready to merge"][number].to_owned(),
            issues_shown: [4, 9, 0][number],
            issues_fixed: 1,
            cost: MicroUsd(430_000),
            tokens: 120_000,
            started_at: crh_server::clock::UnixMillis(store.now().0 - 95_000),
            folder: run,
            worker: "box-1".to_owned(),
            posted: true,
            report: None,
        };
        store.end(&leased.lease, &LeaseEnd::Done(Some(review)), &retry).await.unwrap();
    }
    for repository in ["acme/shop", "acme/secret"] {
        store.enqueue(&review_job(forge, id, repository, 8)).await.unwrap();
        let leased = claim().await;
        let reason = "prepare: cannot write to the store: no space left on device".to_owned();
        let failure = AttemptFailure { reason, retry: RetryAdvice::Never };
        store.end(&leased.lease, &LeaseEnd::Failed(failure), &retry).await.unwrap();
    }
    store.enqueue(&review_job(forge, id, "acme/help-desk-with-a-long-name", 11)).await.unwrap();
    let leased = claim().await;
    store.set_step(&leased.lease, "review", 3_600_000).await.unwrap();
    store.enqueue(&review_job(forge, id, "acme/shop", 12)).await.unwrap();
    let outcomes = [("bug", "fixed_in_place", "acted_on"), ("style", "dismissed", "rejected")];
    let outcomes = outcomes.map(|(category, outcome, reception)| IssueOutcome {
        issue_key: category.to_owned(),
        severity: "P2".to_owned(),
        category: category.to_owned(),
        month: "2026-10".to_owned(),
        outcome: outcome.to_owned(),
        reception: reception.to_owned(),
    });
    let closed = review_job(forge, id, "acme/shop", 1).key.change;
    store.save_outcomes(&closed, &outcomes).await.unwrap();
    let entry = AuditEntry {
        at: store.now(),
        who: "box-1".to_owned(),
        action: "post".to_owned(),
        target: "acme/shop#1".to_owned(),
        detail: "review".to_owned(),
    };
    store.record(&entry).await.unwrap();
}

fn review_job(
    forge: &str,
    installation: InstallationId,
    repository: &str,
    number: usize,
) -> NewJob {
    let change = ChangeId {
        forge: forge.to_owned(),
        repository: repository.to_owned(),
        number: number.to_string(),
    };
    NewJob {
        key: JobKey { change, head: format!("{number:040}"), kind: JobKind::Review },
        installation,
        priority: Priority::Normal,
        origin: JobOrigin::Automatic,
        revision: 0,
        payload: serde_json::Value::Null,
    }
}
