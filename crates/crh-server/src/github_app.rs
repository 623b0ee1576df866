//! The GitHub App: one client with a short-lived token per repository, and the requests that jobs
//! send to GitHub. Tokens live only in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;

use crate::clock::UnixMillis;
use crate::forge_access::{CheckNotice, ForgeFailure, ForgeResult, OpenChange};
use crate::forge_time::parse_forge_time;
use crate::job::ChangeId;
use crate::webhook::admission::PullRequestFacts;
use crate::webhook::plan::{CommentPlace, CommentRef};
use crh_forge::github::{
    GitHubApp, GitHubAppError, GitHubClient, GitHubClientConfig, GitHubCredentials, GitHubHost,
    GitHubSetupError, RateLimit, ReplyCache, Repo, TIMEOUTS,
};
use crh_forge::posting::{Verb, mark_line};
use crh_forge::{ForgeError, ForgeRetryPolicy};
use crh_http::NetworkSettings;

/// Maximum number of cached clients, each with its own connections. At the limit, crh drops all of
/// them.
const CLIENTS_MAX: usize = 256;

/// Largest file with a secret, in bytes.
const SECRET_FILE_MAX: u64 = 64 << 10;

/// Entries per page: GitHub's maximum.
const PAGE_ENTRIES: usize = 100;

/// Most pages of one list that crh reads.
const PAGES_MAX: usize = 100;

/// Wait after a rate limit if the forge does not say when it ends.
const UNKNOWN_WAIT: Duration = Duration::from_secs(60);

/// Longest wait after a rate limit, even if the forge asks for more. GitHub's limits start anew
/// every hour.
const LONGEST_WAIT: Duration = Duration::from_secs(2 * 60 * 60);

/// Name of the check run that says why crh does not review.
pub const CHECK_NAME: &str = "crh";

/// Query for the id of the App's own account.
const VIEWER: &str = "query { viewer { databaseId } }";

/// Where a secret comes from.
#[derive(Debug, Clone)]
pub enum SecretSource {
    /// A value, from a variable.
    Value(SecretString),
    /// A file. crh reads it again when it is needed, so that it can be replaced without a restart.
    File(PathBuf),
}

/// Why a secret cannot be read. The error does not contain the secret.
#[derive(Debug, Error)]
#[error("cannot read the secret in `{}`: {message}", path.display())]
pub struct SecretError {
    /// The file.
    pub path: PathBuf,
    /// Cause.
    pub message: String,
}

impl SecretSource {
    /// The secret. White space around the secret of a file is removed.
    pub fn read(&self) -> Result<SecretString, SecretError> {
        let path = match self {
            Self::Value(secret) => return Ok(secret.clone()),
            Self::File(path) => path,
        };
        let failed = |message: String| SecretError { path: path.clone(), message };
        let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
        if size > SECRET_FILE_MAX {
            return Err(failed(format!("it is larger than {SECRET_FILE_MAX} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        if text.trim().is_empty() {
            return Err(failed("it is empty".to_owned()));
        }
        Ok(text.trim().to_owned().into())
    }

    /// The secrets, one per line: during a rotation several are valid.
    pub fn read_lines(&self) -> Result<Vec<SecretString>, SecretError> {
        Ok(secret_lines(&self.read()?))
    }

    /// Like [`Self::read`], for a handler of requests: a slow disk blocks no other request.
    pub async fn load(&self) -> Result<SecretString, SecretError> {
        let source = self.clone();
        let path = match self {
            Self::Value(_) => return source.read(),
            Self::File(path) => path.clone(),
        };
        tokio::task::spawn_blocking(move || source.read())
            .await
            .unwrap_or_else(|error| Err(SecretError { path, message: error.to_string() }))
    }

    /// Like [`Self::read_lines`], for a handler of requests.
    pub async fn load_lines(&self) -> Result<Vec<SecretString>, SecretError> {
        Ok(secret_lines(&self.load().await?))
    }
}

fn secret_lines(secret: &SecretString) -> Vec<SecretString> {
    let lines = secret.expose_secret().lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| line.to_owned().into()).collect()
}

/// Settings of the App.
#[derive(Debug, Clone)]
pub struct GitHubAppSettings {
    /// The GitHub server.
    pub host: GitHubHost,
    /// App id or client id.
    pub id: String,
    /// Private key in PEM format.
    pub key: SecretSource,
    /// Proxies and certificates.
    pub network: NetworkSettings,
    /// Clock that decides when tokens expire.
    pub now: fn() -> SystemTime,
}

/// Why the App cannot act.
#[derive(Debug, Error)]
pub enum AppAccessError {
    /// Malformed name.
    #[error("`{0}` is not the name of a repository")]
    Name(String),
    /// Unreadable key.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Invalid id or key.
    #[error(transparent)]
    App(#[from] GitHubAppError),
    /// HTTP setup failed.
    #[error(transparent)]
    Setup(#[from] GitHubSetupError),
}

impl From<AppAccessError> for ForgeFailure {
    fn from(error: AppAccessError) -> Self {
        Self::Denied(error.to_string())
    }
}

/// Access to all repositories of the App.
#[derive(Debug)]
pub struct GitHubAccess {
    settings: GitHubAppSettings,
    clients: Mutex<BTreeMap<String, CachedClient>>,
}

#[derive(Debug)]
struct CachedClient {
    client: GitHubClient,
    /// Modification time of the key file that the client was made with.
    key_time: Option<SystemTime>,
}

#[derive(Deserialize)]
struct PullReply {
    number: u64,
    state: String,
    #[serde(default)]
    draft: bool,
    head: HeadReply,
    #[serde(default)]
    author_association: String,
    #[serde(default)]
    updated_at: String,
}

#[derive(Deserialize)]
struct HeadReply {
    sha: String,
    repo: Option<RepoReply>,
}

#[derive(Deserialize)]
struct RepoReply {
    full_name: String,
}

#[derive(Deserialize)]
struct CheckRunsReply {
    check_runs: Vec<CheckRunReply>,
}

#[derive(Deserialize)]
struct CheckRunReply {
    #[serde(default)]
    output: CheckOutputReply,
}

#[derive(Default, Deserialize)]
struct CheckOutputReply {
    title: Option<String>,
}

#[derive(Deserialize)]
struct PermissionReply {
    permission: String,
}

#[derive(Deserialize)]
struct MarkedComment {
    #[serde(default)]
    body: String,
    /// `None` if the account is gone.
    user: Option<CommentAuthor>,
}

#[derive(Deserialize)]
struct CommentAuthor {
    id: u64,
}

#[derive(Deserialize)]
struct ViewerReply {
    viewer: ViewerAccount,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ViewerAccount {
    database_id: u64,
}

impl GitHubAccess {
    /// Creates the access without sending a request. Fails if the key or the id is invalid.
    pub fn new(settings: GitHubAppSettings) -> Result<Self, AppAccessError> {
        let access = Self { settings, clients: Mutex::default() };
        // Any repository name shows whether the key can be used.
        access.client("owner/name")?;
        Ok(access)
    }

    /// The GitHub server.
    pub fn host(&self) -> &GitHubHost {
        &self.settings.host
    }

    /// The clock that decides when tokens expire.
    pub fn clock(&self) -> fn() -> SystemTime {
        self.settings.now
    }

    /// A client whose token is for one repository.
    pub fn client(&self, repository: &str) -> Result<GitHubClient, AppAccessError> {
        let repo = Repo::parse(repository);
        let repo = repo.ok_or_else(|| AppAccessError::Name(repository.to_owned()))?;
        let key_time = self.key_time();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = clients.get(repository).filter(|cached| cached.key_time == key_time) {
            return Ok(cached.client.clone());
        }
        let key = self.settings.key.read()?;
        let app = GitHubApp::new(&self.settings.id, &key, repo)?;
        let network = NetworkSettings { timeouts: TIMEOUTS, ..self.settings.network.clone() };
        let config = GitHubClientConfig {
            host: self.settings.host.clone(),
            credentials: GitHubCredentials::App(Box::new(app)),
            cache: ReplyCache::disabled(),
            retry: ForgeRetryPolicy::default(),
            now: self.settings.now,
            seed: clients.len() as u64,
        };
        let client = GitHubClient::new(&network, config)?;
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        clients.insert(repository.to_owned(), CachedClient { client: client.clone(), key_time });
        Ok(client)
    }

    fn key_time(&self) -> Option<SystemTime> {
        match &self.settings.key {
            SecretSource::Value(_) => None,
            SecretSource::File(path) => {
                std::fs::metadata(path).and_then(|data| data.modified()).ok()
            }
        }
    }

    /// Latest known rate limits. For each resource, the one with the fewest remaining requests.
    pub fn rate_limits(&self) -> Vec<RateLimit> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lowest: BTreeMap<String, RateLimit> = BTreeMap::new();
        for limit in clients.values().flat_map(|cached| cached.client.limits()) {
            let known = lowest.entry(limit.resource.clone()).or_insert_with(|| limit.clone());
            if limit.remaining < known.remaining {
                *known = limit;
            }
        }
        lowest.into_values().collect()
    }

    /// Whether a comment of the App in the conversation has this mark.
    pub async fn has_marked_comment(
        &self,
        repository: &str,
        number: &str,
        mark: &str,
    ) -> ForgeResult<bool> {
        let path = format!("/repos/{repository}/issues/{number}/comments");
        let client = self.client(repository)?;
        self.has_mark(&client, &path, mark).await
    }

    /// Whether a comment of the App in a list has this mark. Other Apps can write the same text.
    pub(crate) async fn has_mark(
        &self,
        client: &GitHubClient,
        path: &str,
        mark: &str,
    ) -> ForgeResult<bool> {
        let comments = list_pages(client, path, |page: Vec<MarkedComment>| page).await;
        let comments = comments.map_err(|error| self.failure(error))?;
        let marked: Vec<u64> = comments
            .into_iter()
            .filter(|comment| mark_line(&comment.body) == mark)
            .filter_map(|comment| comment.user.map(|user| user.id))
            .collect();
        if marked.is_empty() {
            return Ok(false);
        }
        let data = client.graphql::<ViewerReply>(VIEWER, &json!({})).await;
        let own = data.map_err(|error| self.failure(error))?.viewer.database_id;
        Ok(marked.contains(&own))
    }

    /// Posts a comment in the conversation of a pull request.
    pub async fn comment(&self, repository: &str, number: &str, body: &str) -> ForgeResult<()> {
        let path = format!("/repos/{repository}/issues/{number}/comments");
        self.write(repository, &path, json!({ "body": body })).await
    }

    /// Adds a reaction to a comment. Repeating it changes nothing.
    pub async fn react(
        &self,
        repository: &str,
        comment: &CommentRef,
        reaction: &str,
    ) -> ForgeResult<()> {
        let kind = match comment.place {
            CommentPlace::Conversation => "issues",
            CommentPlace::Line => "pulls",
        };
        let path = format!("/repos/{repository}/{kind}/comments/{}/reactions", comment.id);
        self.write(repository, &path, json!({ "content": reaction })).await
    }

    pub(crate) async fn write(
        &self,
        repository: &str,
        path: &str,
        body: serde_json::Value,
    ) -> ForgeResult<()> {
        let result = self.client(repository)?.write(Verb::Post, path, &body).await;
        result.map(|_| ()).map_err(|error| self.failure(error))
    }

    pub(crate) async fn get<T: serde::de::DeserializeOwned>(
        &self,
        repository: &str,
        path: &str,
    ) -> ForgeResult<T> {
        let result = self.client(repository)?.get_json(path).await;
        result.map_err(|error| self.failure(error))
    }

    fn open_change_from(&self, reply: PullReply, repository: &str) -> OpenChange {
        let head_repository = reply.head.repo.as_ref().map(|repo| repo.full_name.as_str());
        let facts = PullRequestFacts {
            open: true,
            draft: reply.draft,
            from_fork: !head_repository.is_some_and(|name| name.eq_ignore_ascii_case(repository)),
            author_association: reply.author_association,
        };
        OpenChange {
            change: ChangeId {
                forge: self.settings.host.name().to_owned(),
                repository: repository.to_owned(),
                number: reply.number.to_string(),
            },
            head: reply.head.sha,
            revision: parse_forge_time(&reply.updated_at).map_or(0, |time| time.0),
            authorship: facts.authorship(),
            // A label approves only the head that it was added to. Only the webhook's delivery says
            // which head that is.
            labelled: false,
            draft: reply.draft,
        }
    }

    pub(crate) fn failure(&self, error: ForgeError) -> ForgeFailure {
        forge_failure(error, (self.settings.now)())
    }
}

/// What a failed request means for a job.
pub(crate) fn forge_failure(error: ForgeError, now: SystemTime) -> ForgeFailure {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    match error {
        ForgeError::RateLimited { wait, .. } => {
            let wait = wait.unwrap_or(UNKNOWN_WAIT).min(LONGEST_WAIT);
            let until = (now + wait).as_millis();
            ForgeFailure::RateLimited {
                until: UnixMillis(i64::try_from(until).unwrap_or(i64::MAX)),
            }
        }
        ForgeError::NotFound { request } => ForgeFailure::Gone(format!("`{request}`")),
        ForgeError::BadToken { .. } | ForgeError::Forbidden { .. } => {
            ForgeFailure::Denied(error.to_string())
        }
        ForgeError::Refused { .. }
        | ForgeError::Ambiguous { .. }
        | ForgeError::Failing { .. }
        | ForgeError::Unreachable { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::TooOld { .. }
        | ForgeError::Bazaar { .. }
        | ForgeError::Unreadable { .. } => ForgeFailure::Unavailable(error.to_string()),
    }
}

impl GitHubAccess {
    pub(crate) async fn token(&self, repository: &str) -> ForgeResult<SecretString> {
        let client = self.client(repository)?;
        client.git_token().await.map_err(|error| self.failure(error))
    }

    pub(crate) async fn open_change(&self, change: &ChangeId) -> ForgeResult<Option<OpenChange>> {
        let path = format!("/repos/{}/pulls/{}", change.repository, change.number);
        let reply: PullReply = self.get(&change.repository, &path).await?;
        let is_open = reply.state == "open";
        Ok(is_open.then(|| self.open_change_from(reply, &change.repository)))
    }

    pub(crate) async fn open_changes(&self, repository: &str) -> ForgeResult<Vec<OpenChange>> {
        let path = format!("/repos/{repository}/pulls?state=open");
        let client = self.client(repository)?;
        let pulls = list_pages(&client, &path, |page: Vec<PullReply>| page).await;
        let pulls = pulls.map_err(|error| self.failure(error))?;
        Ok(pulls.into_iter().map(|pull| self.open_change_from(pull, repository)).collect())
    }

    pub(crate) async fn may_write(&self, repository: &str, account: &str) -> ForgeResult<bool> {
        if !is_login(account) {
            return Ok(false);
        }
        let path = format!("/repos/{repository}/collaborators/{account}/permission");
        match self.get::<PermissionReply>(repository, &path).await {
            Ok(reply) => Ok(matches!(reply.permission.as_str(), "admin" | "write")),
            // The account is gone.
            Err(ForgeFailure::Gone(_)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    pub(crate) async fn report_check(
        &self,
        change: &ChangeId,
        head: &str,
        notice: &CheckNotice,
    ) -> ForgeResult<()> {
        let repository = &change.repository;
        let path = format!("/repos/{repository}/commits/{head}/check-runs?check_name={CHECK_NAME}");
        let known: CheckRunsReply = self.get(repository, &path).await?;
        let mut titles = known.check_runs.iter().filter_map(|run| run.output.title.as_deref());
        if titles.any(|title| title == notice.title) {
            return Ok(());
        }
        let body = json!({
            "name": CHECK_NAME, "head_sha": head, "status": "completed", "conclusion": "action_required",
            "output": { "title": notice.title, "summary": notice.summary },
        });
        self.write(repository, &format!("/repos/{repository}/check-runs"), body).await
    }
}

/// Entries of the first [`PAGES_MAX`] pages of a list.
pub(crate) async fn list_pages<P: serde::de::DeserializeOwned, T>(
    client: &GitHubClient,
    path: &str,
    entries: fn(P) -> Vec<T>,
) -> Result<Vec<T>, ForgeError> {
    let separator = if path.contains('?') { '&' } else { '?' };
    let mut all = Vec::new();
    for page in 1..=PAGES_MAX {
        let path = format!("{path}{separator}per_page={PAGE_ENTRIES}&page={page}");
        let on_page = entries(client.get_json(&path).await?);
        let is_last = on_page.len() < PAGE_ENTRIES;
        all.extend(on_page);
        if is_last {
            break;
        }
    }
    Ok(all)
}

/// Whether a text can be a login. Logins become parts of addresses.
fn is_login(login: &str) -> bool {
    let is_login_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !login.is_empty() && login.len() <= 64 && login.bytes().all(is_login_byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_testkit::FakeGitHub;
    use crh_testkit::fake_github::{APP_KEY, Permission, Pull, PullHandle};

    #[expect(clippy::disallowed_methods, reason = "the fake compares tokens with real time")]
    fn now() -> SystemTime {
        SystemTime::now()
    }

    fn change(pull: &PullHandle) -> ChangeId {
        let (repository, number) = (pull.repository.clone(), pull.number.to_string());
        ChangeId { forge: "127.0.0.1".to_owned(), repository, number }
    }

    fn access(github: &FakeGitHub, key: SecretSource) -> Result<GitHubAccess, AppAccessError> {
        let id = github.app("crh", "acme", &Permission::ALL).to_string();
        let variables = [github.url(), github.api_url(), github.graphql_url()];
        let [server, api, graphql] = variables.each_ref().map(|text| Some(text.as_str()));
        let host = GitHubHost::from_variables(server, api, graphql).unwrap();
        let network = NetworkSettings::default();
        GitHubAccess::new(GitHubAppSettings { host, id, key, network, now })
    }

    fn shop() -> (FakeGitHub, PullHandle) {
        let repo = crh_testkit::Repo::from_fixture("\n//- a.txt\na\n");
        repo.git(&["checkout", "--quiet", "-b", "feature"]);
        repo.write("a.txt", "b\n");
        repo.commit("change");
        let github = FakeGitHub::start();
        github.repository("acme/shop", &repo);
        let pull = github.pull("acme/shop", Pull::default());
        (github, pull)
    }

    #[tokio::test]
    async fn only_people_with_write_access_may_write() {
        let (github, _) = shop();
        for role in ["read", "triage", "write", "maintain", "admin"] {
            github.role("acme/shop", role, role);
        }
        let access = access(&github, SecretSource::Value(APP_KEY.into())).unwrap();
        let mut allowed = Vec::new();
        for login in
            ["read", "triage", "write", "maintain", "admin", "acme", "author", "gone", "a/../b", ""]
        {
            if access.may_write("acme/shop", login).await.unwrap() {
                allowed.push(login);
            }
        }
        assert_eq!(allowed, ["write", "maintain", "admin", "acme"]);
        assert_eq!(github.surprises(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn comments_reactions_and_check_runs_are_posted() {
        let (github, pull) = shop();
        let access = access(&github, SecretSource::Value(APP_KEY.into())).unwrap();
        github.thread(&pull, "crh[bot]", ("a.txt", 1), "wrong");
        let first = github.threads(&pull)[0].comments[0].id;
        access.comment("acme/shop", &pull.number.to_string(), "hello").await.unwrap();
        github.comment(&pull, "other[bot]", "forged\n\n<mark>");
        let comment = CommentRef { id: first, author: "ann".to_owned(), place: CommentPlace::Line };
        access.react("acme/shop", &comment, "eyes").await.unwrap();
        let change = change(&pull);
        let open = access.open_change(&change).await.unwrap().unwrap();
        assert_eq!(open.head, github.head(&pull));
        assert_eq!(open.authorship, crate::queue::Authorship::Stranger);
        let notice = CheckNotice { title: "Waits".to_owned(), summary: "why".to_owned() };
        for _ in 0..2 {
            access.report_check(&change, &open.head, &notice).await.unwrap();
        }
        let number = pull.number.to_string();
        for (mark, expected) in [("hello", true), ("hell", false), ("<mark>", false)] {
            let found = access.has_marked_comment("acme/shop", &number, mark).await.unwrap();
            assert_eq!(found, expected, "{mark}");
        }
        assert_eq!(github.comments(&pull)[0].body, "hello");
        assert_eq!(github.reactions("acme/shop"), [(first, "eyes".to_owned())]);
        assert_eq!(github.check_runs("acme/shop").len(), 1);
        assert_eq!(access.open_changes("acme/shop").await.unwrap(), [open]);
        github.close(&pull);
        assert_eq!(access.open_change(&change).await.unwrap(), None);
        let gone = access.open_changes("acme/other").await.unwrap_err();
        assert!(matches!(gone, ForgeFailure::Gone(_)), "{gone}");
        assert_eq!(github.surprises(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn replaced_key_file_is_used_without_a_restart() {
        let (github, pull) = shop();
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("key.pem");
        std::fs::write(&path, "nonsense").unwrap();
        let key = SecretSource::File(path.clone());
        assert!(matches!(access(&github, key.clone()), Err(AppAccessError::App(_))));
        std::fs::write(&path, APP_KEY).unwrap();
        let access = access(&github, key).unwrap();
        access.open_change(&change(&pull)).await.unwrap();
        std::fs::write(&path, "revoked").unwrap();
        let later = now() + Duration::from_secs(5);
        std::fs::File::open(&path).unwrap().set_modified(later).unwrap();
        let failure = access.open_change(&change(&pull)).await.unwrap_err();
        assert!(matches!(failure, ForgeFailure::Denied(_)), "{failure}");
    }
}
