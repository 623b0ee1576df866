//! Serves the web page: identifies the visitor, checks what they may see, and fills the templates.

use std::collections::{BTreeMap, BTreeSet};

use axum::Form;
use axum::extract::{FromRequestParts, Path as UrlPath, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::sign_in::ask_viewer;
use super::{ServerState, Shared};
use crate::forge_time::{format_day, format_span, format_time};
use crate::job::{InstallationId, Job, JobId, JobState};
use crate::page::{SCRIPT, STYLE_SHEET};
use crate::run_store::load_report;
use crate::session::{Session, Sessions, Viewer};
use crate::store::{
    AuditEntry, BudgetScope, JobFilter, MicroUsd, OutcomeSum, QueueCounts, ReviewFilter,
    StoreError, StoreResult, StoredReview,
};
use crh_review::report::Report;

/// Cookie of a session.
pub(super) const SESSION_COOKIE: &str = "crh_session";

/// Maximum rows of a list.
const ROWS: usize = 50;

/// Rows that one query reads, to find [`ROWS`] that a person may see.
const BATCH_ROWS: u32 = 500;

/// Maximum queries for one list.
const BATCHES_MAX: usize = 10;

/// Content security policy of a report: it has its own style and no script, and cannot act in the
/// name of the page.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox";

/// A person who may look at the page.
pub(super) struct SignedIn {
    pub(super) viewer: Viewer,
    pub(super) csrf: String,
    can_sign_out: bool,
}

/// A form with only the CSRF token.
#[derive(Deserialize)]
pub(super) struct CsrfForm {
    #[serde(default)]
    pub(super) csrf: String,
}

/// The value of a cookie.
pub(super) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs =
        lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// The signed-in person, or the redirect to the sign-in form.
pub(super) async fn require_viewer(
    state: &ServerState,
    headers: &HeaderMap,
) -> Result<SignedIn, Response> {
    if !state.settings.sign_in.is_configured() {
        let csrf = state.sessions.derive("csrf", "loopback");
        return Ok(SignedIn { viewer: Viewer::Operator, csrf, can_sign_out: false });
    }
    let id = cookie(headers, SESSION_COOKIE).unwrap_or_default();
    match find_session(state, &state.sessions, id).await {
        Some(Session { viewer, csrf, .. }) => Ok(SignedIn { viewer, csrf, can_sign_out: true }),
        None => Err(Redirect::to("/sign-in").into_response()),
    }
}

/// A page, or the reply that takes its place.
pub(super) type PageResult = Result<Response, Response>;

impl FromRequestParts<Shared> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Response> {
        require_viewer(state, &parts.headers).await
    }
}

/// A session with what the person may see now. The session ends if the page token changed, or
/// GitHub does not answer.
pub(super) async fn find_session(
    state: &ServerState,
    sessions: &Sessions,
    id: &str,
) -> Option<Session> {
    let now = state.store.now();
    let mut session = sessions.find(id, now)?;
    if let Some(mark) = &session.page_token {
        // The page token may have been replaced meanwhile.
        let current = match &state.settings.sign_in.token {
            Some(source) => source.load().await.ok(),
            None => None,
        };
        let is_same = |token| state.sessions.same(&state.sessions.token_mark(&token), mark);
        if !current.is_some_and(is_same) {
            sessions.end(id);
            return None;
        }
    }
    let Some(token) = session.token.as_ref().filter(|_| session.is_outdated(now)) else {
        return Some(session);
    };
    match ask_viewer(state, token).await {
        Ok(viewer) => {
            sessions.refresh(id, viewer.clone(), now);
            session.viewer = viewer;
            Some(session)
        }
        Err(error) => {
            // If GitHub does not confirm the access, nothing is shown.
            tracing::warn!(%error, "cannot read what a person may see");
            sessions.end(id);
            None
        }
    }
}

pub(super) fn refuse_form() -> Response {
    (StatusCode::FORBIDDEN, "the form is too old: load the page again\n").into_response()
}

impl From<StoreError> for Response {
    fn from(error: StoreError) -> Self {
        let status = match error {
            StoreError::Missing(_) => StatusCode::NOT_FOUND,
            StoreError::Refused(_) => StatusCode::CONFLICT,
            StoreError::Unavailable(_)
            | StoreError::StaleLease
            | StoreError::Address(_)
            | StoreError::NewerSchema { .. }
            | StoreError::Content(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, format!("{error}\n")).into_response()
    }
}

/// Renders a template.
pub(super) fn render(
    state: &ServerState,
    status: StatusCode,
    name: &str,
    mut values: Value,
) -> Response {
    values["problem"] = json!(state.store.problem());
    match state.templates.render(name, &values) {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot render a page");
            (StatusCode::INTERNAL_SERVER_ERROR, "cannot render the page\n").into_response()
        }
    }
}

pub(super) fn show(
    state: &ServerState,
    who: &SignedIn,
    name: &str,
    title: &str,
    mut values: Value,
) -> Response {
    values["title"] = json!(title);
    values["viewer"] = json!({
        "name": who.viewer.name(), "csrf": who.csrf, "can_sign_out": who.can_sign_out,
        "is_operator": who.viewer == Viewer::Operator,
    });
    render(state, StatusCode::OK, name, values)
}

/// The same answer whether something does not exist or is not for this person.
pub(super) fn hidden(state: &ServerState, who: &SignedIn) -> Response {
    let message = "This does not exist, or you have no access to its repository.";
    let mut response = show(state, who, "message.html", "Not found", json!({ "message": message }));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn sees_job(viewer: &Viewer, job: &Job) -> bool {
    viewer.sees(job.installation, &job.key.change.repository)
}

pub(super) fn sees_review(viewer: &Viewer, review: &StoredReview) -> bool {
    viewer.sees(review.installation, &review.change.repository)
}

/// Jobs that a person may see, newest first.
pub(super) async fn visible_jobs(
    state: &ServerState,
    viewer: &Viewer,
    filter: JobFilter,
) -> StoreResult<Vec<Job>> {
    let mut filter = JobFilter { limit: BATCH_ROWS, ..filter };
    let mut visible = Vec::new();
    for _ in 0..BATCHES_MAX {
        let jobs = state.store.jobs(&filter).await?;
        let count = jobs.len();
        filter.before = jobs.last().map(|job| job.id);
        // Jobs without a repository, such as cleanups, are for operators.
        visible.extend(jobs.into_iter().filter(|job| sees_job(viewer, job)));
        if visible.len() >= ROWS || count < BATCH_ROWS as usize {
            break;
        }
    }
    visible.truncate(ROWS);
    Ok(visible)
}

/// Reviews that a person may see, newest first.
pub(super) async fn visible_reviews(
    state: &ServerState,
    viewer: &Viewer,
    before: Option<i64>,
) -> StoreResult<Vec<StoredReview>> {
    let mut filter = ReviewFilter { limit: BATCH_ROWS, before, ..ReviewFilter::default() };
    let mut visible = Vec::new();
    for _ in 0..BATCHES_MAX {
        let reviews = state.store.reviews(&filter).await?;
        let count = reviews.len();
        filter.before = reviews.last().map(|review| review.id);
        visible.extend(reviews.into_iter().filter(|review| sees_review(viewer, review)));
        if visible.len() >= ROWS || count < BATCH_ROWS as usize {
            break;
        }
    }
    visible.truncate(ROWS);
    Ok(visible)
}

/// Size of the queue, as far as a person may see it. Except for operators, each number is at most
/// [`ROWS`].
pub(super) async fn visible_counts(
    state: &ServerState,
    viewer: &Viewer,
) -> StoreResult<QueueCounts> {
    if *viewer == Viewer::Operator {
        return state.store.queue_counts().await;
    }
    let waiting = visible_jobs(state, viewer, JobFilter::in_state(JobState::Waiting)).await?;
    let running = visible_jobs(state, viewer, JobFilter::in_state(JobState::Running)).await?;
    let dead = visible_jobs(state, viewer, JobFilter::in_state(JobState::Dead)).await?;
    Ok(QueueCounts {
        waiting: waiting.len() as u64,
        running: running.len() as u64,
        dead: dead.len() as u64,
        oldest_due: waiting.iter().map(|job| job.run_at).min(),
    })
}

pub(super) async fn overview(State(state): State<Shared>, who: SignedIn) -> PageResult {
    let values = overview_values(&state, &who.viewer).await?;
    Ok(show(&state, &who, "overview.html", "Queue", values))
}

async fn overview_values(state: &ServerState, viewer: &Viewer) -> StoreResult<Value> {
    let (store, now) = (&state.store, state.store.now());
    let counts = visible_counts(state, viewer).await?;
    let job_values =
        |jobs: Vec<Job>| -> Vec<Value> { jobs.iter().map(|job| job_values(state, job)).collect() };
    let mut active = visible_jobs(state, viewer, JobFilter::in_state(JobState::Running)).await?;
    active.extend(visible_jobs(state, viewer, JobFilter::in_state(JobState::Waiting)).await?);
    let dead = visible_jobs(state, viewer, JobFilter::in_state(JobState::Dead)).await?;
    let reviews = visible_reviews(state, viewer, None).await?;
    let workers = store.workers().await?;
    let workers: Vec<Value> = workers
        .iter()
        .map(|worker| {
            json!({
                "name": worker.name, "version": worker.version, "running": worker.running,
                "slots": worker.slots, "started": format_time(worker.started_at),
                "seen": format!("{} ago", format_span(now.0 - worker.seen_at.0)),
            })
        })
        .collect();
    let oldest = counts.oldest_due.map_or("–".to_owned(), |due| format_span(now.0 - due.0));
    Ok(json!({
        "counts": { "waiting": counts.waiting, "running": counts.running, "dead": counts.dead, "oldest": oldest },
        "active": job_values(active), "dead": job_values(dead), "workers": workers,
        "reviews": reviews.iter().take(10).map(|review| review_values(state, review)).collect::<Vec<_>>(),
    }))
}

#[derive(Deserialize)]
pub(super) struct PageQuery {
    before: Option<i64>,
}

pub(super) async fn reviews(
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
    who: SignedIn,
) -> PageResult {
    let reviews = visible_reviews(&state, &who.viewer, query.before).await?;
    let more = reviews.last().filter(|_| reviews.len() == ROWS).map(|review| review.id);
    let rows: Vec<Value> = reviews.iter().map(|review| review_values(&state, review)).collect();
    let values = json!({ "reviews": rows, "more": more });
    Ok(show(&state, &who, "reviews.html", "Reviews", values))
}

/// A review that the person may see.
async fn find_review(
    state: &ServerState,
    who: &SignedIn,
    id: &str,
) -> Result<StoredReview, Response> {
    let id: i64 = id.parse().map_err(|_| hidden(state, who))?;
    match state.store.review(id).await {
        Ok(review) if sees_review(&who.viewer, &review) => Ok(review),
        Ok(_) | Err(StoreError::Missing(_)) => Err(hidden(state, who)),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn review(
    State(state): State<Shared>,
    UrlPath(id): UrlPath<String>,
    who: SignedIn,
) -> PageResult {
    let review = find_review(&state, &who, &id).await?;
    let title = format!("Review of {}#{}", review.change.repository, review.change.number);
    let mut values = review_values(&state, &review);
    values["has_report"] = json!(find_report(&state, &review).await.is_some());
    Ok(show(&state, &who, "review.html", &title, json!({ "review": values })))
}

pub(super) async fn report(
    State(state): State<Shared>,
    UrlPath(id): UrlPath<String>,
    who: SignedIn,
) -> PageResult {
    let review = find_review(&state, &who, &id).await?;
    let Some(report) = find_report(&state, &review).await else {
        return Err(hidden(&state, &who));
    };
    let page = tokio::task::spawn_blocking(move || crh_review::render::html(&report, None)).await;
    match page {
        Ok(Ok(text)) => {
            let mut response = Html(text).into_response();
            let policy = HeaderValue::from_static(REPORT_POLICY);
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            Ok(response)
        }
        Ok(Err(_)) | Err(_) => {
            Err((StatusCode::INTERNAL_SERVER_ERROR, "the report cannot be read\n").into_response())
        }
    }
}

/// The stored report of a review, from this machine or from the store of runs.
async fn find_report(state: &ServerState, review: &StoredReview) -> Option<Report> {
    let settings = &state.settings;
    load_report(&settings.state_folder, settings.runs.as_ref(), &review.folder).await
}

pub(super) async fn repositories(State(state): State<Shared>, who: SignedIn) -> PageResult {
    let values = json!({ "repositories": repository_rows(&state, &who.viewer).await? });
    Ok(show(&state, &who, "repositories.html", "Repositories", values))
}

async fn repository_rows(state: &ServerState, viewer: &Viewer) -> StoreResult<Vec<Value>> {
    let mut rows = Vec::new();
    for installation in state.store.installations().await? {
        for repository in state.store.repositories_of(&installation.forge, installation.id).await? {
            if !viewer.sees(installation.id, &repository.name) {
                continue;
            }
            let scope = BudgetScope {
                forge: installation.forge.clone(),
                installation: installation.id,
                repository: repository.name.clone(),
            };
            let spending = state.store.spending(&scope).await?;
            rows.push(json!({
                "name": repository.name,
                "visibility": if repository.private { "private" } else { "public" },
                "reviews_today": spending.reviews_today, "today": dollars(spending.today),
                "month": dollars(spending.month),
            }));
        }
    }
    Ok(rows)
}

pub(super) async fn repository(
    State(state): State<Shared>,
    UrlPath(name): UrlPath<String>,
    who: SignedIn,
) -> PageResult {
    match repository_values(&state, &who.viewer, &name).await {
        Ok(values) => Ok(show(&state, &who, "repository.html", &name, values)),
        Err(StoreError::Missing(_)) => Err(hidden(&state, &who)),
        Err(error) => Err(error.into()),
    }
}

/// The forge that has a repository, and its installation there.
async fn find_repository<'a>(
    state: &'a ServerState,
    name: &str,
) -> StoreResult<(&'a str, InstallationId)> {
    let mut missing = StoreError::Missing(format!("repository {name}"));
    for forge in state.access.names() {
        match state.store.installation_of(forge, name).await {
            Ok(installation) => return Ok((forge, installation)),
            Err(error @ StoreError::Missing(_)) => missing = error,
            Err(error) => return Err(error),
        }
    }
    Err(missing)
}

async fn repository_values(state: &ServerState, viewer: &Viewer, name: &str) -> StoreResult<Value> {
    let store = &state.store;
    let (forge, installation) = find_repository(state, name).await?;
    if !viewer.sees(installation, name) {
        return Err(StoreError::Missing(format!("repository {name}")));
    }
    let repositories = store.repositories_of(forge, installation).await?;
    let settings = repositories.iter().find(|repository| repository.name == name);
    let scope = BudgetScope { forge: forge.to_owned(), installation, repository: name.to_owned() };
    let spending = store.spending(&scope).await?;
    let trends = store.trends(forge, installation, name, 30).await?;
    let most = trends.iter().map(|day| day.issues_shown).max().unwrap_or_default().max(1);
    let trends: Vec<Value> = trends
        .iter()
        .rev()
        .map(|day| {
            json!({
                "day": format_day(day.day), "reviews": day.reviews, "shown": day.issues_shown,
                "dismissed": day.issues_dismissed, "fixed": day.issues_fixed,
                "cost": dollars(day.cost), "mean": format_span(day.mean_ms),
                "bar": day.issues_shown * 120 / most,
            })
        })
        .collect();
    let filter = ReviewFilter {
        repository: Some((forge.to_owned(), name.to_owned())),
        installation: Some(installation),
        limit: 20,
        ..ReviewFilter::default()
    };
    let reviews = store.reviews(&filter).await?;
    let repository = Some((forge.to_owned(), name.to_owned()));
    let filter = JobFilter { repository, ..JobFilter::default() };
    let jobs = visible_jobs(state, viewer, filter).await?;
    let limit = |limit: Option<MicroUsd>| limit.map_or("none".to_owned(), dollars);
    let limits = &state.settings.limits.repository;
    Ok(json!({
        "spending": {
            "today": dollars(spending.today), "month": dollars(spending.month),
            "reviews": spending.reviews_today, "limit_day": limit(limits.usd_per_day),
            "limit_month": limit(limits.usd_per_month),
        },
        "trends": trends,
        "outcomes": outcome_values(&store.outcome_sums(forge, name).await?),
        "jobs": jobs.iter().take(20).map(|job| job_values(state, job)).collect::<Vec<_>>(),
        "reviews": reviews.iter().map(|review| review_values(state, review)).collect::<Vec<_>>(),
        "settings": settings.map_or("", |repository| repository.settings.as_str()),
    }))
}

/// Maximum months whose outcomes the page shows, the newest ones.
const OUTCOME_MONTHS: usize = 12;

/// What became of posted issues: by month, by category, and by outcome.
fn outcome_values(sums: &[OutcomeSum]) -> Value {
    let months: BTreeSet<&str> = sums.iter().map(|sum| sum.month.as_str()).collect();
    let months: BTreeSet<&str> = months.into_iter().rev().take(OUTCOME_MONTHS).collect();
    let sums = || sums.iter().filter(|sum| months.contains(sum.month.as_str()));
    let rows = |name: fn(&OutcomeSum) -> &str| -> Vec<Value> {
        let names: BTreeSet<&str> = sums().map(name).collect();
        let row = |of: &str| {
            let count = |reception: &str| -> u64 {
                let of_row = sums().filter(|sum| name(sum) == of && sum.reception == reception);
                of_row.map(|sum| sum.issues).sum()
            };
            let counts = ["acted_on", "rejected", "left_alone", "undecided"].map(count);
            let [acted_on, rejected, left_alone, undecided] = counts;
            let decided = acted_on + rejected + left_alone;
            let percent = (100 * acted_on + decided / 2).checked_div(decided);
            json!({
                "name": of, "shown": decided + undecided, "acted_on": acted_on,
                "rejected": rejected, "left_alone": left_alone, "undecided": undecided,
                "percent": percent.map_or("–".to_owned(), |it| format!("{it} %")),
                "bar": percent.unwrap_or_default() * 120 / 100,
            })
        };
        names.into_iter().map(row).collect()
    };
    let mut by_month = rows(|sum| &sum.month);
    by_month.reverse();
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for sum in sums() {
        *kinds.entry(&sum.outcome).or_default() += sum.issues;
    }
    let kind =
        |(name, issues): (&str, u64)| json!({ "name": name.replace('_', " "), "issues": issues });
    json!({
        "by_month": by_month, "by_category": rows(|sum| &sum.category),
        "kinds": kinds.into_iter().map(kind).collect::<Vec<_>>(),
    })
}

/// A job that the person may see.
async fn find_job(state: &ServerState, who: &SignedIn, id: &str) -> Result<Job, Response> {
    let id: i64 = id.parse().map_err(|_| hidden(state, who))?;
    match state.store.job(JobId(id)).await {
        Ok(job) if sees_job(&who.viewer, &job) => Ok(job),
        Ok(_) | Err(StoreError::Missing(_)) => Err(hidden(state, who)),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn job(
    State(state): State<Shared>,
    UrlPath(id): UrlPath<String>,
    who: SignedIn,
) -> PageResult {
    let job = find_job(&state, &who, &id).await?;
    let may_write = who.viewer.may_write(job.installation, &job.key.change.repository);
    let values = json!({ "job": job_values(&state, &job), "may_write": may_write });
    Ok(show(&state, &who, "job.html", &format!("Job {}", job.id), values))
}

/// What a person does to a job.
#[derive(Clone, Copy)]
enum JobAction {
    Retry,
    Cancel,
}

pub(super) async fn retry(
    state: State<Shared>,
    headers: HeaderMap,
    id: UrlPath<String>,
    form: Form<CsrfForm>,
) -> PageResult {
    act(state, headers, id, form, JobAction::Retry).await
}

pub(super) async fn cancel(
    state: State<Shared>,
    headers: HeaderMap,
    id: UrlPath<String>,
    form: Form<CsrfForm>,
) -> PageResult {
    act(state, headers, id, form, JobAction::Cancel).await
}

async fn act(
    State(state): State<Shared>,
    headers: HeaderMap,
    UrlPath(id): UrlPath<String>,
    Form(form): Form<CsrfForm>,
    action: JobAction,
) -> PageResult {
    let who = require_viewer(&state, &headers).await?;
    if !state.sessions.same(&form.csrf, &who.csrf) {
        return Err(refuse_form());
    }
    let job = find_job(&state, &who, &id).await?;
    if !who.viewer.may_write(job.installation, &job.key.change.repository) {
        let message = "You need write access to the repository.";
        let mut response =
            show(&state, &who, "message.html", "Not allowed", json!({ "message": message }));
        *response.status_mut() = StatusCode::FORBIDDEN;
        return Err(response);
    }
    let name = who.viewer.name();
    match action {
        JobAction::Retry => state.store.retry_dead(job.id, name).await?,
        JobAction::Cancel => state.store.cancel(job.id, name).await?,
    }
    Ok(Redirect::to(&format!("/jobs/{}", job.id)).into_response())
}

pub(super) async fn audit(State(state): State<Shared>, who: SignedIn) -> PageResult {
    if who.viewer != Viewer::Operator {
        return Err(hidden(&state, &who));
    }
    let entry_values = |entry: &AuditEntry| {
        json!({
            "at": format_time(entry.at), "who": entry.who, "action": entry.action,
            "target": entry.target, "detail": entry.detail,
        })
    };
    let rows: Vec<Value> = state.store.audit(200).await?.iter().map(entry_values).collect();
    Ok(show(&state, &who, "audit.html", "Audit log", json!({ "entries": rows })))
}

pub(super) async fn style_sheet() -> Response {
    asset("text/css; charset=utf-8", STYLE_SHEET)
}

pub(super) async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "max-age=300")], text).into_response()
}

fn job_values(state: &ServerState, job: &Job) -> Value {
    let change = &job.key.change;
    let tone = match job.state {
        JobState::Dead => "bad",
        JobState::Done => "good",
        JobState::Running => "warn",
        _ => "",
    };
    json!({
        "id": job.id.0, "kind": job.key.kind.name(), "state": job.state.name(), "tone": tone,
        "change": change_name(&change.repository, &change.number),
        "url": state.access.change_url(change),
        "head": job.key.head, "attempts": job.attempts, "reason": job.reason, "step": job.step,
        "owner": job.owner, "run_at": format_time(job.run_at),
        "since": format_span(state.store.now().0 - job.changed_at.0),
    })
}

fn review_values(state: &ServerState, review: &StoredReview) -> Value {
    let change = &review.change;
    json!({
        "id": review.id, "job": review.job.0, "head": review.head, "verdict": review.verdict,
        "change": change_name(&change.repository, &change.number),
        "url": state.access.change_url(change),
        "repository": change.repository, "issues": review.issues_shown,
        "dismissed": review.issues_dismissed, "fixed": review.issues_fixed,
        "cost": dollars(review.cost), "time": format_span(review.ended_at.0 - review.started_at.0),
        "ended": format_time(review.ended_at), "worker": review.worker, "posted": review.posted,
    })
}

fn change_name(repository: &str, number: &str) -> String {
    match (repository, number) {
        ("", _) => "all".to_owned(),
        (repository, "") => repository.to_owned(),
        (repository, number) => format!("{repository}#{number}"),
    }
}

fn dollars(amount: MicroUsd) -> String {
    format!("{:.2} USD", amount.as_usd())
}
