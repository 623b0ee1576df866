//! Upkeep: reconciliation jobs, retention, and folders of removed installations.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use super::{
    folders::{INSTALLATIONS, InstallationFolders, JobFolder},
    reconcile::reconcile_job,
    run_copies::{copy_posted_runs, remove_unknown_copies},
    settings::WorkerSettings,
};
use crate::{
    clock::UnixMillis,
    job::{ChangeId, InstallationId, JobKey, JobKind, JobOrigin, NewJob, Priority},
    store::{Store, StoreResult},
};

const DAY_MS: i64 = 86_400_000;

/// Adds the jobs that are due in this hour or on this day. Every worker calls it; a job that exists
/// is not added again.
pub(super) async fn add_periodic_jobs(store: &Store) -> StoreResult<()> {
    let now = store.now();
    for installation in store.installations().await? {
        if installation.suspended {
            continue;
        }
        for repository in store.repositories_of(&installation.forge, installation.id).await? {
            store.enqueue(&reconcile_job(&installation, &repository.name, now.0)).await?;
        }
    }
    store
        .enqueue(&NewJob {
            key: JobKey {
                change: ChangeId {
                    forge: String::new(),
                    repository: String::new(),
                    number: String::new(),
                },
                head: now.day().to_string(),
                kind: JobKind::Cleanup,
            },
            installation: InstallationId(0),
            priority: Priority::Low,
            origin: JobOrigin::Automatic,
            revision: now.0,
            payload: serde_json::Value::Null,
        })
        .await?;
    Ok(())
}

/// Deletes rows and copies of runs that are past their retention, and releases reservations of lost
/// attempts.
pub(super) async fn remove_old_rows(store: &Store, settings: &WorkerSettings) -> StoreResult<()> {
    let keep_ms = i64::from(settings.keep_days) * DAY_MS;
    let before = UnixMillis(store.now().0.saturating_sub(keep_ms));
    if let Some(runs) = &settings.runs
        && let Err(error) = runs.remove(Path::new(INSTALLATIONS), Some(before)).await
    {
        tracing::warn!(%error, "cannot delete old copies of runs");
    }
    let removed = store.remove_before(before).await?;
    tracing::info!(?removed, "deleted what is past its retention");
    let released = store.release_lost().await?;
    if released > 0 {
        tracing::info!(released, "released the reservations of lost attempts");
    }
    Ok(())
}

/// Deletes the folder of an installation that was removed while a job of it ran.
pub(super) async fn remove_uninstalled(
    store: &Store,
    folders: &InstallationFolders,
    forge: &str,
    installation: InstallationId,
) -> StoreResult<()> {
    let is_in_use =
        store.is_installed(forge, installation).await? || store.has_jobs(installation).await?;
    if !is_in_use && folders.root.exists() {
        remove_folder(&folders.root);
    }
    Ok(())
}

/// Deletes folders of this machine: those of removed installations, and those of jobs past their
/// retention. Also copies posted runs that have no copy, and deletes copies of removed
/// installations.
pub(super) async fn remove_old_folders(
    store: &Store,
    settings: &WorkerSettings,
    now: SystemTime,
) -> StoreResult<()> {
    let keep = Duration::from_secs(u64::from(settings.keep_days) * 86_400);
    let known = store.installations().await?;
    for forge in subfolders(&settings.state.join(INSTALLATIONS)) {
        for folder in subfolders(&forge) {
            let folders = InstallationFolders { root: folder.clone() };
            let id = folder.file_name().and_then(|name| name.to_str()?.parse().ok());
            let Some(id) = id.map(InstallationId) else { continue };
            let expected = |host: &str| InstallationFolders::new(&settings.state, host, id);
            let is_known = known.iter().any(|installation| {
                installation.id == id && expected(&installation.forge) == folders
            });
            // An installation that the store does not list may still have jobs, for example before
            // its first event.
            if !is_known && !store.has_jobs(id).await? {
                remove_folder(&folder);
                continue;
            }
            for job in subfolders(&folders.jobs()) {
                let age = std::fs::metadata(&job)
                    .and_then(|metadata| metadata.modified())
                    .ok()
                    .and_then(|modified| now.duration_since(modified).ok());
                if age.is_some_and(|age| age > keep) {
                    remove_folder(&job);
                } else {
                    copy_posted_runs(settings, &JobFolder { root: job }).await;
                }
            }
        }
    }
    if let Some(runs) = &settings.runs {
        remove_unknown_copies(store, runs).await?;
    }
    Ok(())
}

/// Folders in a folder. A missing folder has none.
fn subfolders(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            entry.file_type().ok()?.is_dir().then(|| entry.path())
        })
        .collect()
}

fn remove_folder(folder: &Path) {
    match std::fs::remove_dir_all(folder) {
        Ok(()) => tracing::info!(folder = %folder.display(), "deleted a folder"),
        Err(error) => tracing::warn!(folder = %folder.display(), %error, "cannot delete a folder"),
    }
}
