//! Receives deliveries of GitHub, with the parts that other forges share. A delivery is answered
//! with 2xx only after its jobs are stored.

use axum::body::{self, Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use secrecy::SecretString;
use serde_json::json;
use tokio::time::timeout;

use super::{ServerState, Shared};
use crate::github_app::SecretError;
use crate::job::{
    ChangeId, Enqueued, InstallationId, JobKey, JobKind, JobOrigin, NewJob, Priority,
};
use crate::store::{
    Acceptance, Delivery, Installation, InstalledRepository, StoreError, StoreResult,
};
use crate::tasks::CommandTask;
use crate::webhook::plan::{
    ChangeName, PlannedInstallation, PlannedReview, WebhookPlan, plan_delivery,
};
use crate::webhook::signature::verify_signature;

/// Largest body, in bytes. GitHub has the same limit.
const BODY_MAX: usize = 25 << 20;

/// Maximum bodies that the server reads at the same time. Together they need at most 800 MB.
pub(super) const BODIES_MAX: usize = 32;

/// Longest id of a delivery. GitHub sends 36 characters.
const DELIVERY_ID_MAX: usize = 64;

pub(super) async fn github(
    State(state): State<Shared>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let received = receive(&state, &headers, body).await;
    answer(&state, received)
}

/// The answer to a delivery.
pub(super) fn answer(state: &ServerState, received: Result<Received, Refusal>) -> Response {
    let (status, message) = match received {
        Ok(Received::Accepted(jobs)) => (StatusCode::ACCEPTED, format!("{jobs} jobs added")),
        Ok(Received::AlreadyHandled) => (StatusCode::OK, "handled before".to_owned()),
        Ok(Received::Ignored(why)) => (StatusCode::ACCEPTED, format!("ignored: {why}")),
        Err((status, message)) => (status, message),
    };
    state.counters.count_delivery(status);
    if !status.is_success() {
        tracing::warn!(status = status.as_u16(), message, "delivery refused");
    }
    let mut response = (status, format!("{message}\n")).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, 60.into());
    }
    response
}

/// What happened to a delivery.
pub(super) enum Received {
    Accepted(usize),
    AlreadyHandled,
    Ignored(&'static str),
}

pub(super) type Refusal = (StatusCode, String);

/// Reads the body of a delivery.
pub(super) async fn read_body(
    state: &ServerState,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, Refusal> {
    let too_large = || (StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 25 MB".to_owned());
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let length = text("content-length").and_then(|length| length.parse::<usize>().ok());
    if length.is_some_and(|length| length > BODY_MAX) {
        return Err(too_large());
    }
    // The sender is not known until the whole body was read, so few bodies are read at once.
    let _slot = state.bodies.acquire().await;
    match timeout(state.body_time, body::to_bytes(body, BODY_MAX)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) => {
            // All other errors come from the connection.
            let is_limit = std::error::Error::source(&error)
                .is_some_and(|why| why.to_string().contains("length limit"));
            let incomplete = (StatusCode::BAD_REQUEST, "the body is incomplete".to_owned());
            Err(if is_limit { too_large() } else { incomplete })
        }
        Err(_) => {
            let message = format!("the body took more than {} seconds", state.body_time.as_secs());
            Err((StatusCode::REQUEST_TIMEOUT, message))
        }
    }
}

/// The secrets of the webhook, or the refusal if they cannot be read.
pub(super) fn readable_secrets(
    secrets: Result<Vec<SecretString>, SecretError>,
) -> Result<Vec<SecretString>, Refusal> {
    secrets.map_err(|error| {
        tracing::error!(%error, "cannot check deliveries");
        (StatusCode::SERVICE_UNAVAILABLE, "the server cannot check deliveries".to_owned())
    })
}

async fn receive(
    state: &ServerState,
    headers: &HeaderMap,
    body: Body,
) -> Result<Received, Refusal> {
    let no_app = || (StatusCode::NOT_FOUND, "this server has no GitHub App".to_owned());
    let secret = state.settings.webhook_secret.as_ref().ok_or_else(no_app)?;
    let github = state.access.github().ok_or_else(no_app)?;
    let body = read_body(state, headers, body).await?;
    let secrets = readable_secrets(secret.load_lines().await)?;
    let signature = headers.get("x-hub-signature-256").map(HeaderValue::as_bytes);
    verify_signature(&secrets, signature, &body)
        .map_err(|error| (StatusCode::UNAUTHORIZED, error.to_string()))?;
    require_json(headers)?;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let missing =
        |name: &str| (StatusCode::BAD_REQUEST, format!("the delivery has no valid `{name}`"));
    let event = text("x-github-event").ok_or_else(|| missing("X-GitHub-Event"))?;
    let id = text("x-github-delivery").filter(|id| is_delivery_id(id));
    let id = id.ok_or_else(|| missing("X-GitHub-Delivery"))?;
    let plan = plan_delivery(event, &body, &state.settings.rules)
        .map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    drop(body);
    let forge = github.host().name().to_owned();
    let delivery = Delivery { forge, id: id.to_owned(), event: event.to_owned() };
    accept(state, &delivery, plan).await
}

/// Refuses payloads that are not JSON, such as forms.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("application/json")) {
        return Ok(());
    }
    let message = "set the content type of the webhook to `application/json`";
    Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, message.to_owned()))
}

/// Stores a delivery and its jobs.
pub(super) async fn accept(
    state: &ServerState,
    delivery: &Delivery,
    plan: WebhookPlan,
) -> Result<Received, Refusal> {
    if let WebhookPlan::Ignore(reason) = plan {
        return Ok(Received::Ignored(reason.word()));
    }
    state.store.note(store_delivery(state, delivery, plan).await).map_err(|error| {
        // The forge shows the failure, and can send the delivery again.
        tracing::error!(%error, "cannot store a delivery");
        (StatusCode::SERVICE_UNAVAILABLE, "the server cannot store the delivery".to_owned())
    })
}

async fn store_delivery(
    state: &ServerState,
    delivery: &Delivery,
    plan: WebhookPlan,
) -> StoreResult<Received> {
    let (store, forge) = (&state.store, delivery.forge.as_str());
    if store.is_handled(forge, &delivery.id).await? {
        return Ok(Received::AlreadyHandled);
    }
    let jobs = jobs_of(state, delivery, plan).await?;
    match store.accept(delivery, &jobs).await? {
        Acceptance::AlreadyHandled => Ok(Received::AlreadyHandled),
        Acceptance::New(results) => {
            let added =
                results.iter().filter(|result| matches!(result, Enqueued::Added(_))).count();
            tracing::info!(
                delivery = delivery.id,
                event = delivery.event,
                added,
                "delivery accepted"
            );
            Ok(Received::Accepted(added))
        }
    }
}

/// Applies a plan, and returns the jobs to add. If a later step fails, the forge can send the
/// delivery again, which applies the plan again.
async fn jobs_of(
    state: &ServerState,
    delivery: &Delivery,
    plan: WebhookPlan,
) -> StoreResult<Vec<NewJob>> {
    let (store, forge) = (&state.store, delivery.forge.as_str());
    Ok(match plan {
        WebhookPlan::Ignore(_) => Vec::new(),
        WebhookPlan::Review(review) => {
            ensure_repository(state, forge, &review.change, review.private).await?;
            vec![review_job(forge, &review, store.now().0)]
        }
        WebhookPlan::AwaitMaintainer(review) => {
            ensure_repository(state, forge, &review.change, review.private).await?;
            let task = CommandTask::AwaitMaintainer;
            vec![new_job(
                forge,
                &review.change,
                &review.head,
                JobKind::Command,
                json!(task),
                store.now().0,
            )]
        }
        WebhookPlan::Stop(change) => {
            store
                .cancel_reviews(
                    &change_id(forge, &change),
                    "the pull request was closed or made a draft",
                )
                .await?;
            let number = change.number.to_string();
            let reviewed = store.undecided_pulls(forge, &change.repository, &number).await?;
            let installation = InstallationId(change.installation);
            let jobs = reviewed.into_iter();
            jobs.map(|pull| NewJob::outcomes(pull, installation, store.now())).collect()
        }
        WebhookPlan::Command(command) => {
            let (head, change) = (command.comment.id.to_string(), command.change);
            let task = CommandTask::Comment { comment: command.comment, command: command.command };
            vec![new_job(forge, &change, &head, JobKind::Command, json!(task), store.now().0)]
        }
        WebhookPlan::Reply(reply) => {
            let (head, now) = (reply.task.comment.id.to_string(), store.now().0);
            let task = json!(reply.task);
            vec![new_job(forge, &reply.change, &head, JobKind::Reply, task, now)]
        }
        WebhookPlan::Install(installation) => {
            save_installation(state, forge, &installation, false).await?;
            let id = InstallationId(installation.installation);
            let names = installation.repositories.iter().map(|(name, _)| name);
            names.map(|name| reconcile_job(forge, id, name, &delivery.id, store.now().0)).collect()
        }
        WebhookPlan::Suspend(installation) => {
            save_installation(state, forge, &installation, true).await?;
            Vec::new()
        }
        WebhookPlan::RemoveRepositories(installation) => {
            let names: Vec<String> =
                installation.repositories.into_iter().map(|(name, _)| name).collect();
            let id = InstallationId(installation.installation);
            store.change_repositories(forge, id, &[], &names).await?;
            Vec::new()
        }
        WebhookPlan::Uninstall { installation } => {
            store.remove_installation(forge, InstallationId(installation), "github").await?;
            Vec::new()
        }
    })
}

/// Adds the repository and its installation if the store does not know them: the installation may
/// be older than the server.
async fn ensure_repository(
    state: &ServerState,
    forge: &str,
    change: &ChangeName,
    private: bool,
) -> StoreResult<()> {
    match state.store.installation_of(forge, &change.repository).await {
        Ok(InstallationId(id)) if id == change.installation => return Ok(()),
        Ok(_) | Err(StoreError::Missing(_)) => {}
        Err(error) => return Err(error),
    }
    let account = change.repository.split('/').next().unwrap_or_default().to_owned();
    let repositories = vec![(change.repository.clone(), private)];
    let installation =
        PlannedInstallation { installation: change.installation, account, repositories };
    save_installation(state, forge, &installation, false).await
}

async fn save_installation(
    state: &ServerState,
    forge: &str,
    installation: &PlannedInstallation,
    suspended: bool,
) -> StoreResult<()> {
    let id = InstallationId(installation.installation);
    let saved = Installation {
        forge: forge.to_owned(),
        id,
        account: installation.account.clone(),
        suspended,
        created_at: state.store.now(),
    };
    state.store.save_installation(&saved).await?;
    let added: Vec<InstalledRepository> = installation
        .repositories
        .iter()
        .map(|(name, private)| InstalledRepository {
            name: name.clone(),
            private: *private,
            settings: String::new(),
        })
        .collect();
    state.store.change_repositories(forge, id, &added, &[]).await
}

fn change_id(forge: &str, change: &ChangeName) -> ChangeId {
    ChangeId {
        forge: forge.to_owned(),
        repository: change.repository.clone(),
        number: change.number.to_string(),
    }
}

fn review_job(forge: &str, review: &PlannedReview, now: i64) -> NewJob {
    let revision = review.revision.unwrap_or(now);
    let job = new_job(forge, &review.change, &review.head, JobKind::Review, json!({}), revision);
    NewJob { priority: Priority::Normal, origin: JobOrigin::Automatic, ..job }
}

/// A job of high priority.
fn new_job(
    forge: &str,
    change: &ChangeName,
    head: &str,
    kind: JobKind,
    payload: serde_json::Value,
    revision: i64,
) -> NewJob {
    NewJob {
        key: JobKey { change: change_id(forge, change), head: head.to_owned(), kind },
        installation: InstallationId(change.installation),
        priority: Priority::High,
        origin: JobOrigin::Automatic,
        revision,
        payload,
    }
}

/// The job that lists the open pull requests of a repository.
fn reconcile_job(
    forge: &str,
    installation: InstallationId,
    repository: &str,
    delivery: &str,
    now: i64,
) -> NewJob {
    let repository = repository.to_owned();
    let change = ChangeId { forge: forge.to_owned(), repository, number: String::new() };
    NewJob {
        key: JobKey { change, head: format!("delivery-{delivery}"), kind: JobKind::Reconcile },
        installation,
        priority: Priority::Low,
        origin: JobOrigin::Automatic,
        revision: now,
        payload: json!({}),
    }
}

pub(super) fn is_delivery_id(id: &str) -> bool {
    let is_id_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !id.is_empty() && id.len() <= DELIVERY_ID_MAX && id.bytes().all(is_id_byte)
}
