//! Shows a review as a check run with annotations.
//!
//! GitHub can add annotations to a run but not remove them. crh recognises its run by a hash of the
//! content and adds only missing annotations. A different result becomes a new run, because GitHub
//! counts only the newest run of a name.

use serde::Deserialize;
use serde_json::{Value, json};

use super::PROFILE;
use crate::ForgeError;
use crate::forges::github::GitHubClient;
use crate::posting::{
    ForgeRequest, ReviewPosting, Verb, commit_status, mask_report, overflow_remark,
};
use crh_review::escape_invisible;
use crh_review::finding::{Severity, Side};
use crh_review::identity::content_id;
use crh_review::render::{SummaryOptions, repo_link_prefix, summary};
use crh_review::report::Issue;

/// Annotations per request: GitHub's maximum.
const BATCH_MAX: usize = 50;
/// Longest title and message, in characters. GitHub accepts 255 characters and 64 KB.
const TITLE_MAX: usize = 250;
const MESSAGE_MAX: usize = 8_000;

/// Length of the content hash in a run's external id.
const CONTENT_HASH_LENGTH: usize = 16;

/// A check run at the head commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExistingCheckRun {
    /// Check run id.
    pub id: u64,
    /// Identifies the review and its content.
    pub external_id: String,
    /// Number of annotations.
    pub annotations: usize,
}

/// Requests that make a check run of this name show the review. Empty if the newest run of this
/// instance already does.
pub fn check_run_requests(
    posting: &ReviewPosting<'_>,
    name: &str,
    existing: &[ExistingCheckRun],
) -> Vec<ForgeRequest> {
    // `find_refusal` already rejected reports that cannot be masked.
    let report = mask_report(posting.report, posting.mask).unwrap_or_default();
    let change = &report.change;
    let mut annotations: Vec<Value> = report.shown_open_issues().filter_map(annotation).collect();
    let inline_max = PROFILE.inline_max;
    let remark = overflow_remark(annotations.len().saturating_sub(inline_max), inline_max);
    annotations.truncate(inline_max);
    let runs = format!("/repos/{}/check-runs", change.repo);
    // The first two lines of a summary are markers by which crh recognises its comments. Without
    // them, the text also fits GitHub's limit for check runs, which is one character less than for
    // comments.
    let links = repo_link_prefix(&change.url, &change.repo);
    let summary = summary(
        &report,
        &SummaryOptions {
            instance: posting.instance,
            links: links.as_deref(),
            remarks: remark.as_slice(),
            ..SummaryOptions::default()
        },
    );
    let summary = summary.splitn(3, '\n').nth(2).unwrap_or_default();
    let conclusion = conclusion(posting);
    // The id includes a hash of the content, because a repeated review may find something else.
    let content = json!([conclusion, report.verdict.to_string(), summary, annotations]).to_string();
    let own_prefix = format!("crh:{}:", posting.instance);
    let content_hash = &content_id(content.as_bytes())[..CONTENT_HASH_LENGTH];
    let external_id = format!("{own_prefix}{}:{content_hash}", report.review_id);
    let output = |annotations: &[Value]| json!({ "title": report.verdict.to_string(), "summary": summary, "annotations": annotations });
    let mut requests = Vec::new();
    let own_runs = existing.iter().filter(|run| run.external_id.starts_with(&own_prefix));
    let newest = own_runs.max_by_key(|run| run.id);
    let current_run = newest.filter(|run| run.external_id == external_id);
    let (path, mut posted_count) = match current_run {
        Some(run) => (format!("{runs}/{}", run.id), run.annotations),
        None => {
            let first = &annotations[..annotations.len().min(BATCH_MAX)];
            requests.push(ForgeRequest {
                verb: Verb::Post,
                path: runs.clone(),
                body: json!({
                    "name": name, "head_sha": change.head_sha, "external_id": external_id,
                    "status": "completed", "conclusion": conclusion, "output": output(first),
                }),
            });
            // `send` replaces the placeholder once it knows the id.
            (format!("{runs}/{NEW_ID_PLACEHOLDER}"), first.len())
        }
    };
    while posted_count < annotations.len() {
        let end = annotations.len().min(posted_count + BATCH_MAX);
        let body = json!({ "output": output(&annotations[posted_count..end]) });
        requests.push(ForgeRequest { verb: Verb::Patch, path: path.clone(), body });
        posted_count = end;
    }
    requests
}

/// Stands for the id of a check run that does not exist yet.
const NEW_ID_PLACEHOLDER: &str = "{new}";

/// Maximum number of unconfirmed requests. After that many, GitHub is probably down.
const UNCONFIRMED_MAX: usize = 3;

/// Check runs of this name at the head commit.
pub async fn existing_check_runs(
    client: &GitHubClient,
    name: &str,
    posting: &ReviewPosting<'_>,
) -> Result<Vec<ExistingCheckRun>, ForgeError> {
    let change = &posting.report.change;
    let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    let path = format!(
        "/repos/{}/commits/{}/check-runs?check_name={name}&filter=all",
        change.repo, change.head_sha
    );
    let pages = client.pages::<CheckRunPage>(&path).await?.pages.into_iter();
    Ok(pages.flat_map(|page| page.check_runs).map(ExistingCheckRun::from).collect())
}

/// Makes a check run of this name show the review and returns the number of requests sent. Reads
/// the existing runs again after an unconfirmed request.
pub async fn post_check_run(
    client: &GitHubClient,
    name: &str,
    posting: &ReviewPosting<'_>,
) -> Result<usize, ForgeError> {
    let mut sent = 0;
    let mut unconfirmed = 0;
    loop {
        let existing = existing_check_runs(client, name, posting).await?;
        match send(client, &check_run_requests(posting, name, &existing), &mut sent).await {
            Ok(()) => return Ok(sent),
            Err(
                ForgeError::Ambiguous { .. }
                | ForgeError::TooLarge { .. }
                | ForgeError::Unreadable { .. },
            ) if unconfirmed + 1 < UNCONFIRMED_MAX => {
                unconfirmed += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn send(
    client: &GitHubClient,
    requests: &[ForgeRequest],
    sent: &mut usize,
) -> Result<(), ForgeError> {
    let mut id = None;
    for request in requests {
        let path = path_with_id(&request.path, id)?;
        *sent += 1;
        let reply = client.write(request.verb, &path, &request.body).await?;
        id = reply["id"].as_u64().or(id);
    }
    Ok(())
}

/// The path of a request, with the id of the new check run.
fn path_with_id(path: &str, id: Option<u64>) -> Result<String, ForgeError> {
    match id {
        Some(id) => Ok(path.replace(NEW_ID_PLACEHOLDER, &id.to_string())),
        None if !path.contains(NEW_ID_PLACEHOLDER) => Ok(path.to_owned()),
        None => {
            let message = "GitHub's reply has no id of the new check run";
            Err(ForgeError::unreadable(format!("PATCH {path}"), message))
        }
    }
}

#[derive(Deserialize)]
struct CheckRunPage {
    check_runs: Vec<CheckRunEntry>,
}

#[derive(Deserialize)]
struct CheckRunEntry {
    id: u64,
    external_id: Option<String>,
    output: Option<CheckRunOutput>,
}

#[derive(Deserialize)]
struct CheckRunOutput {
    annotations_count: Option<usize>,
}

impl From<CheckRunEntry> for ExistingCheckRun {
    fn from(run: CheckRunEntry) -> Self {
        Self {
            id: run.id,
            external_id: run.external_id.unwrap_or_default(),
            annotations: run.output.and_then(|output| output.annotations_count).unwrap_or_default(),
        }
    }
}

/// GitHub's conclusion for the verdict. Incomplete reviews get `failure`, because branch protection
/// lets `neutral` pass.
fn conclusion(posting: &ReviewPosting<'_>) -> &'static str {
    if commit_status(posting).is_success { "success" } else { "failure" }
}

/// An issue as an annotation. Issues on removed lines get none, because these lines do not exist at
/// the head; the summary lists them.
fn annotation(issue: &Issue) -> Option<Value> {
    let level = match issue.severity {
        Severity::P0 | Severity::P1 => "failure",
        Severity::P2 => "warning",
        Severity::P3 => "notice",
    };
    let shorten = |text: &str, max_chars: usize| {
        escape_invisible(text).chars().take(max_chars).collect::<String>()
    };
    let mut message = issue.why_it_matters.clone();
    if let Some(fix) = &issue.suggested_fix {
        message.push_str(&format!("\n\nFix: {fix}"));
    }
    let location = &issue.location;
    (location.side == Side::New).then(|| {
        json!({
            "path": location.file, "start_line": location.line_start, "end_line": location.line_end,
            "annotation_level": level, "title": shorten(&format!("{}: {}", issue.severity, issue.title), TITLE_MAX),
            "message": shorten(&message, MESSAGE_MAX),
        })
    })
}

#[cfg(test)]
mod tests;
