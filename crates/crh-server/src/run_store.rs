//! Copies of run folders in a store that all machines can read: S3, or a shared folder.
//!
//! A worker reviews in its state folder, which is local, and copies the finished review to the
//! store. Readers look into their state folder first. Files have the same names in both.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{HttpClient, HttpConnector};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::prefix::PrefixStore;
use object_store::{ClientOptions, ObjectMeta, ObjectStore, ObjectStoreExt};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;
use tokio::task::{JoinError, JoinSet};

use crate::clock::UnixMillis;
use crate::comment_jobs::{REPORT_MAX, read_report};
use crh_http::NetworkSettings;
use crh_review::report::Report;

/// Maximum number of files of one run, and of their bytes together. Larger runs are not copied.
const RUN_MAX: (usize, u64) = (20_000, 1 << 30);

/// Files that are copied at the same time.
const PARALLEL: usize = 8;

/// Environment variables with settings and keys of an S3-compatible store.
pub const VARIABLES: [&str; 10] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// Why the store cannot be used.
#[derive(Debug, Error)]
pub enum RunStoreError {
    /// Neither S3 nor a folder.
    #[error("`{0}` is not `s3://BUCKET/PREFIX` or `file:///FOLDER`")]
    Address(String),
    /// The store refuses, or does not answer.
    #[error("the store of runs failed: {0}")]
    Store(#[from] object_store::Error),
    /// A local file or folder cannot be used.
    #[error("cannot use the local files of the run: {0}")]
    Local(#[from] std::io::Error),
    /// The run is too large to copy.
    #[error("the run has more than {} files or {} MB", RUN_MAX.0, RUN_MAX.1 >> 20)]
    TooLarge,
}

/// Connects with the proxies and certificates of crh.
#[derive(Debug)]
struct NetworkConnector(NetworkSettings);

impl HttpConnector for NetworkConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = crh_http::build_client(&self.0);
        let client = client.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        })?;
        Ok(HttpClient::new(client))
    }
}

/// A store of runs. Clones share their connections.
#[derive(Debug, Clone)]
pub struct RunStore {
    store: Arc<dyn ObjectStore>,
}

impl RunStore {
    /// Opens `s3://BUCKET/PREFIX`, with settings and keys from variables, or `file:///FOLDER`.
    pub fn open<'v>(
        address: &str,
        variables: impl IntoIterator<Item = (&'v String, &'v SecretString)>,
        network: &NetworkSettings,
    ) -> Result<Self, RunStoreError> {
        let wrong = || RunStoreError::Address(address.to_owned());
        if let Some(folder) = address.strip_prefix("file://") {
            std::fs::create_dir_all(folder)?;
            let store = LocalFileSystem::new_with_prefix(folder)?.with_automatic_cleanup(true);
            return Ok(Self { store: Arc::new(store) });
        }
        let path = address.strip_prefix("s3://").ok_or_else(wrong)?;
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if bucket.is_empty() {
            return Err(wrong());
        }
        let connector = NetworkConnector(network.clone());
        let builder = AmazonS3Builder::new().with_bucket_name(bucket);
        let mut builder = builder.with_http_connector(connector);
        for (name, value) in variables {
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                builder = builder.with_config(key, value.expose_secret());
            }
        }
        let store = PrefixStore::new(builder.build()?, prefix);
        Ok(Self { store: Arc::new(store) })
    }

    #[cfg(test)]
    fn in_memory() -> Self {
        Self { store: Arc::new(object_store::memory::InMemory::new()) }
    }

    /// Copies a folder of the state folder to the store. Returns the number of files. A second copy
    /// overwrites the first.
    pub async fn copy_run(&self, state: &Path, folder: &str) -> Result<usize, RunStoreError> {
        let root = state.join(folder);
        let files = tokio::task::spawn_blocking(move || list_files(&root)).await;
        let files = files.map_err(|error| std::io::Error::other(error.to_string()))??;
        let count = files.len();
        let mut copies = JoinSet::new();
        for file in files {
            if copies.len() == PARALLEL {
                task_result(copies.join_next().await)?;
            }
            let name = object_name(file.strip_prefix(state).unwrap_or(&file));
            copies.spawn(copy_file(self.store.clone(), name, file));
        }
        while !copies.is_empty() {
            task_result(copies.join_next().await)?;
        }
        Ok(count)
    }

    /// The report of a run; `None` if the store has no readable one.
    pub async fn report(&self, folder: &str) -> Result<Option<Report>, RunStoreError> {
        let name = object_name(&Path::new(folder).join("review.json"));
        let found = match self.store.get(&name).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if found.meta.size > REPORT_MAX {
            return Ok(None);
        }
        Ok(serde_json::from_slice(&found.bytes().await?).ok())
    }

    /// Names of the folders in a folder.
    pub async fn folders(&self, folder: &Path) -> Result<Vec<String>, RunStoreError> {
        let listed = self.store.list_with_delimiter(Some(&object_name(folder))).await?;
        let names = listed.common_prefixes.iter().filter_map(ObjectPath::filename);
        Ok(names.map(str::to_owned).collect())
    }

    /// Deletes a folder, or only its files from before a time. Returns the number of files.
    pub async fn remove(
        &self,
        folder: &Path,
        before: Option<UnixMillis>,
    ) -> Result<usize, RunStoreError> {
        let prefix = object_name(folder);
        let found: Vec<ObjectMeta> = self.store.list(Some(&prefix)).try_collect().await?;
        let old: Vec<Result<ObjectPath, object_store::Error>> = found
            .into_iter()
            .filter(|file| before.is_none_or(|time| file.last_modified.timestamp_millis() < time.0))
            .map(|file| Ok(file.location))
            .collect();
        let old = futures_util::stream::iter(old).boxed();
        let removed: Vec<ObjectPath> = self.store.delete_stream(old).try_collect().await?;
        Ok(removed.len())
    }
}

fn task_result(
    result: Option<Result<Result<(), RunStoreError>, JoinError>>,
) -> Result<(), RunStoreError> {
    match result {
        Some(Ok(result)) => result,
        Some(Err(error)) => Err(std::io::Error::other(error.to_string()).into()),
        None => Ok(()),
    }
}

async fn copy_file(
    store: Arc<dyn ObjectStore>,
    name: ObjectPath,
    file: PathBuf,
) -> Result<(), RunStoreError> {
    store.put(&name, tokio::fs::read(file).await?.into()).await?;
    Ok(())
}

/// Reads the report of a review: from this machine, or else from the store of runs.
pub async fn load_report(state: &Path, runs: Option<&RunStore>, folder: &str) -> Option<Report> {
    if !Path::new(folder).components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let (state, name) = (state.to_owned(), folder.to_owned());
    let local = tokio::task::spawn_blocking(move || read_report(&state, &name)).await;
    let local = local.ok().flatten();
    match (local, runs) {
        (Some(report), _) => Some(report),
        (None, None) => None,
        (None, Some(runs)) => match runs.report(folder).await {
            Ok(report) => report,
            Err(error) => {
                tracing::warn!(%error, "cannot read a report");
                None
            }
        },
    }
}

/// Regular files in a folder and below. Links are left out.
fn list_files(root: &Path) -> Result<Vec<PathBuf>, RunStoreError> {
    let (mut files, mut folders, mut size) = (Vec::new(), vec![root.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                size += entry.metadata()?.len();
                files.push(entry.path());
            }
            if files.len() > RUN_MAX.0 || size > RUN_MAX.1 {
                return Err(RunStoreError::TooLarge);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn object_name(path: &Path) -> ObjectPath {
    let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "installations/github_com/7/jobs/3/runs/a b";

    /// Copies a run, reads its report elsewhere, and deletes it.
    async fn check(store: RunStore) {
        let (maker, other) = (tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap());
        let run = maker.path().join(RUN);
        std::fs::create_dir_all(run.join("stages")).unwrap();
        let report = serde_json::to_string(&Report::default()).unwrap();
        std::fs::write(run.join("review.json"), report).unwrap();
        std::fs::write(run.join("stages/a#?.json"), "{}").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", run.join("link")).unwrap();
        assert!(load_report(other.path(), Some(&store), RUN).await.is_none());
        for _ in 0..2 {
            assert_eq!(store.copy_run(maker.path(), RUN).await.unwrap(), 2);
        }
        assert!(load_report(other.path(), Some(&store), RUN).await.is_some());
        assert!(load_report(other.path(), None, RUN).await.is_none());
        assert!(load_report(maker.path(), None, RUN).await.is_some());
        assert!(load_report(maker.path(), Some(&store), &format!("../{RUN}")).await.is_none());
        let forge = Path::new("installations/github_com");
        assert_eq!(store.folders(forge).await.unwrap(), ["7"]);
        let jobs = Path::new("installations/github_com/7/jobs");
        assert_eq!(store.remove(jobs, Some(UnixMillis(0))).await.unwrap(), 0);
        assert_eq!(store.remove(&forge.join("70"), None).await.unwrap(), 0);
        assert_eq!(store.remove(&forge.join("7"), None).await.unwrap(), 2);
        assert!(load_report(other.path(), Some(&store), RUN).await.is_none());
        assert!(store.folders(forge).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn run_is_read_on_another_machine_and_deleted() {
        check(RunStore::in_memory()).await;
        let folder = tempfile::TempDir::new().unwrap();
        let address = format!("file://{}", folder.path().display());
        check(RunStore::open(&address, [], &NetworkSettings::default()).unwrap()).await;
    }

    /// `scripts/check-run-store` starts a server and sets the variable.
    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the script names the server")]
    async fn run_is_kept_in_a_server_that_speaks_s3() {
        let Ok(address) = std::env::var("CRH_TEST_S3") else { return };
        let variables: Vec<(String, SecretString)> = VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?.into())))
            .collect();
        let variables = variables.iter().map(|(name, value)| (name, value));
        let network = NetworkSettings::default();
        check(RunStore::open(&address, variables, &network).unwrap()).await;
    }

    #[test]
    fn other_addresses_are_refused() {
        for address in ["", "runs", "s3://", "gs://bucket", "https://bucket"] {
            let error = RunStore::open(address, [], &NetworkSettings::default());
            let error = error.unwrap_err().to_string();
            assert!(error.ends_with("is not `s3://BUCKET/PREFIX` or `file:///FOLDER`"), "{error}");
        }
    }
}
