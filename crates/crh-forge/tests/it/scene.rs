//! GitHub test scene: a repository with a change, a fake GitHub, and a client.

use std::time::{Duration, SystemTime};

use serde_json::json;

use crh_forge::ForgeRetryPolicy;
use crh_forge::github::{
    GitHubClient, GitHubClientConfig, GitHubCredentials, GitHubHost, PullRequestRef, ReplyCache,
    Repo,
};
use crh_http::{NetworkSettings, Timeouts};
use crh_review::report::Issue;
use crh_testkit::FakeGitHub;
use crh_testkit::fake_github::{Pull, PullHandle, TOKEN};

pub(crate) const INSTANCE: &str = "crh";

/// Short delays for tests.
pub(crate) const QUICK: ForgeRetryPolicy = ForgeRetryPolicy {
    attempts: 3,
    first_wait: Duration::from_millis(1),
    longest_wait: Duration::from_secs(2),
    rate_limit_wait: Duration::from_millis(1),
};

/// A GitHub with one repository and one pull request of two files.
pub(crate) struct Scene {
    pub(crate) github: FakeGitHub,
    pub(crate) pull: PullHandle,
    pub(crate) repo: crh_testkit::Repo,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let lines: String = (1..=9).map(|line| format!("line {line}\n")).collect();
        let repo = crh_testkit::Repo::new();
        repo.write("orders.py", &lines);
        repo.write("pay.py", "pay\n");
        repo.commit("base");
        repo.git(&["switch", "--quiet", "-c", "feature"]);
        repo.write("orders.py", lines.replace("line 5", "line five"));
        repo.git(&["mv", "pay.py", "paid.py"]);
        repo.commit("change");
        let github = FakeGitHub::start();
        github.repository("acme/shop", &repo);
        let number = github.issue("acme/shop", "ann", "Orders are wrong", "Line 5.");
        let pull = Pull {
            head: "feature".to_owned(),
            title: "Spell out five".to_owned(),
            body: "Closes #1".to_owned(),
            author: "ann".to_owned(),
            labels: vec!["bug".to_owned(), "shop".to_owned()],
            closes: vec![number],
            ..Pull::default()
        };
        let pull = github.pull("acme/shop", pull);
        Self { github, pull, repo }
    }

    pub(crate) fn host(&self) -> GitHubHost {
        let (server, api, graphql) =
            (self.github.url(), self.github.api_url(), self.github.graphql_url());
        GitHubHost::from_variables(Some(&server), Some(&api), Some(&graphql)).unwrap()
    }

    pub(crate) fn pull_ref(&self) -> PullRequestRef {
        let repo = Repo::parse(&self.pull.repository).unwrap();
        PullRequestRef { host: self.host(), repo, number: self.pull.number }
    }

    pub(crate) fn client(&self) -> GitHubClient {
        self.client_with(ReplyCache::disabled(), GitHubCredentials::Token(TOKEN.into()))
    }

    pub(crate) fn client_with(
        &self,
        cache: ReplyCache,
        credentials: GitHubCredentials,
    ) -> GitHubClient {
        let (host, retry) = (self.host(), QUICK);
        let config = GitHubClientConfig { host, credentials, cache, retry, now, seed: 7 };
        let timeouts = Timeouts { idle: Duration::from_secs(20), ..Timeouts::default() };
        GitHubClient::new(&NetworkSettings { timeouts, ..NetworkSettings::default() }, config)
            .unwrap()
    }

    /// Method, path and status of all requests.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.github.requests();
        let lines = requests.iter().map(|request| {
            let status = request.status.map_or("cut".to_owned(), |status| status.to_string());
            format!("{} {} {status}", request.method, request.path)
        });
        lines.collect()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the fake holds the claims of an App against the real clock"
)]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// A P1 issue at this line.
pub(crate) fn issue(number: usize, key: &str, title: &str, file: &str, line: u32) -> Issue {
    serde_json::from_value(json!({
        "number": number, "dedupe_key": key, "title": title, "severity": "P1", "category": "bug",
        "file": file, "side": "new", "line_start": line, "line_end": line, "confidence": 0.8,
        "why_it_matters": "Customers pay twice.", "description": "", "suggestion": "",
        "evidence_snippet": "", "evidence": [], "reviewers": ["correctness"], "language": "rust",
        "tier": "primary", "validation": "not_run", "autofix_class": "manual", "owner": "human",
        "queue": "report", "action": "defer", "requires_verification": false,
        "pre_existing": false, "members": [],
    }))
    .unwrap()
}
