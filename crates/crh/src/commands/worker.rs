//! `crh worker`: runs jobs of a server on another machine.

use std::process::ExitCode;

use super::serve;
use crate::cli::WorkerArgs;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_server::comment_jobs::CommentJobRunner;
use crh_server::worker::{StopReason, StopSignal, Worker};

pub(crate) fn run(args: WorkerArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    serve::run_with_log(args.log, environment, work(args, environment))
}

async fn work(args: WorkerArgs, environment: &Environment) -> Result<(), Failure> {
    if args.reviews.workers == 0 {
        return Err(Failure::usage("`--workers 0` runs no jobs").hint("leave `--workers` out"));
    }
    let url = serve::named_database(args.database.as_deref(), environment)?.ok_or_else(|| {
        Failure::usage("the database of the server is missing")
            .hint("pass the database URL of `crh serve` with `--database`, or set `CRH_DATABASE`")
    })?;
    let state = serve::state_folder(args.state.as_deref(), environment)?;
    let access = serve::forges(&args.app, &args.forges, None, environment)?;
    let settings =
        serve::worker_settings(&args.reviews, &args.limits, &state, &access, environment)?;
    serve::note_missing_model(&settings);
    let store = serve::open_store(&url).await?;
    ui::note(&format!("worker {} takes jobs", settings.name));
    let stop = StopSignal::default();
    let comments = CommentJobRunner::new(access.clone(), args.reviews.label);
    let worker = Worker::new(store.clone(), settings, access, comments);
    let worker = tokio::spawn(worker.run(stop.clone()));
    serve::wait_for_signal().await?;
    ui::note("crh stops: running jobs end or go back to the queue");
    stop.stop(StopReason::Shutdown);
    worker.await.or_fail(FailureKind::Bug)?;
    store.close().await;
    Ok(())
}
