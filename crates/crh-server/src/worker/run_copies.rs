//! Copies finished runs into the store of runs.

use std::path::Path;

use super::{
    folders::{INSTALLATIONS, JobFolder, folder_name},
    settings::WorkerSettings,
};
use crate::{
    job::InstallationId,
    run_store::{RunStore, RunStoreError},
    store::{Store, StoreResult},
};

/// Copies the posted runs of a job that have no copy yet. After a failure, the next upkeep tries
/// again.
pub(super) async fn copy_posted_runs(settings: &WorkerSettings, job: &JobFolder) {
    let Some(store) = &settings.runs else { return };
    let Ok(marks) = std::fs::read_dir(job.root.join("posted")) else { return };
    for mark in marks.filter_map(Result::ok) {
        let run = job.runs().join(mark.file_name());
        let copied = job.copied_mark(&run);
        let Ok(folder) = run.strip_prefix(&settings.state) else { continue };
        if copied.exists() || !run.is_dir() {
            continue;
        }
        match store.copy_run(&settings.state, &folder.to_string_lossy()).await {
            Ok(_) => {
                let parent = copied.parent().unwrap_or(&job.root);
                let written =
                    std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&copied, ""));
                if let Err(error) = written {
                    tracing::warn!(%error, "cannot mark a run as copied");
                }
            }
            Err(error) => tracing::warn!(run = %folder.display(), %error, "cannot copy a run"),
        }
    }
}

/// Deletes the copies of installations that the database does not know any more.
pub(super) async fn remove_unknown_copies(store: &Store, runs: &RunStore) -> StoreResult<()> {
    let known = store.installations().await?;
    let known: Vec<(String, InstallationId)> = known
        .iter()
        .map(|installation| (folder_name(&installation.forge), installation.id))
        .collect();
    let root = Path::new(INSTALLATIONS);
    for forge in listed(runs.folders(root).await) {
        for name in listed(runs.folders(&root.join(&forge)).await) {
            let Some(id) = name.parse().ok().map(InstallationId) else { continue };
            if known.contains(&(forge.clone(), id)) || store.has_jobs(id).await? {
                continue;
            }
            match runs.remove(&root.join(&forge).join(&name), None).await {
                Ok(files) => tracing::info!(forge, name, files, "deleted copies of runs"),
                Err(error) => tracing::warn!(forge, name, %error, "cannot delete copies of runs"),
            }
        }
    }
    Ok(())
}

fn listed(names: Result<Vec<String>, RunStoreError>) -> Vec<String> {
    names.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot list the copies of runs");
        Vec::new()
    })
}
