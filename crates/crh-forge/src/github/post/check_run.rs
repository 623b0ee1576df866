//! A check run with annotations, beside or instead of comments.
//!
//! Annotations can be added to a check run and never taken away, so that a run is recognised by what it shows, and only what it
//! lacks is added. A review that says something else by now is a new run: the newest of a name is the one that counts.

use serde::Deserialize;
use serde_json::{Value, json};

use super::request::Request;
use super::{INLINE_MAX, Posting, here_alone};
use crate::ForgeError;
use crate::github::{Client, Verb};
use crate::posted::masked;
use crh_review::finding::{Severity, Side};
use crh_review::identity::content_id;
use crh_review::render::{Posted, links_into, summary};
use crh_review::report::{Issue, Strategy};
use crh_review::verdict::{Asked, Verdict, is_incomplete};
use crh_review::visible;

/// How many annotations one request carries: GitHub takes no more.
const BATCH_MAX: usize = 50;
/// How long a title and a message are at most, in characters: GitHub takes 255, and 64 KB.
const TITLE_MAX: usize = 250;
const MESSAGE_MAX: usize = 8_000;

/// How much of the hash of what is shown is in the name of a run: enough to tell the results of one review apart.
const ID_SHOWN: usize = 16;

/// A check run that stands at the head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandingRun {
    /// Its number.
    pub id: u64,
    /// What names the review and what it shows of it.
    pub external_id: String,
    /// How many annotations it has.
    pub annotations: usize,
}

/// The requests that make a check run of this name show a review, given those that stand at the head; none if the newest of
/// ours does.
pub fn check_run(posting: &Posting<'_>, name: &str, standing: &[StandingRun]) -> Vec<Request> {
    // One that cannot be masked is refused before.
    let report = masked(posting.report, posting.mask).unwrap_or_default();
    let change = &report.change;
    let mut annotations: Vec<Value> = report.issues.iter().filter_map(annotation).collect();
    let remark = here_alone(annotations.len().saturating_sub(INLINE_MAX));
    annotations.truncate(INLINE_MAX);
    let runs = format!("/repos/{}/check-runs", change.repo);
    // The markers are for comments. Without them it is also within the limit here, which is one less than that of a comment.
    let links = links_into(&change.url, &change.repo);
    let summary = summary(
        &report,
        &Posted {
            instance: posting.instance,
            links: links.as_deref(),
            remarks: remark.as_slice(),
            ..Posted::default()
        },
    );
    let summary = summary.splitn(3, '\n').nth(2).unwrap_or_default();
    let conclusion = conclusion(posting);
    // Not by the review alone: the same one may find something else when it is run again.
    let shown = json!([conclusion, report.verdict.to_string(), summary, annotations]).to_string();
    let own = format!("crh:{}:", posting.instance);
    let shown = &content_id(shown.as_bytes())[..ID_SHOWN];
    let external_id = format!("{own}{}:{shown}", report.review_id);
    let output = |annotations: &[Value]| json!({ "title": report.verdict.to_string(), "summary": summary, "annotations": annotations });
    let mut requests = Vec::new();
    let newest = standing.iter().filter(|run| run.external_id.starts_with(&own));
    let newest = newest.max_by_key(|run| run.id);
    let there = newest.filter(|run| run.external_id == external_id);
    let (path, mut done) = match there {
        Some(run) => (format!("{runs}/{}", run.id), run.annotations),
        None => {
            let first = &annotations[..annotations.len().min(BATCH_MAX)];
            requests.push(Request {
                verb: Verb::Post,
                path: runs.clone(),
                body: json!({
                    "name": name, "head_sha": change.head_sha, "external_id": external_id,
                    "status": "completed", "conclusion": conclusion, "output": output(first),
                }),
            });
            // Its number is known when it is there; whoever sends the others puts it in.
            (format!("{runs}/{NEW}"), first.len())
        }
    };
    while done < annotations.len() {
        let end = annotations.len().min(done + BATCH_MAX);
        let body = json!({ "output": output(&annotations[done..end]) });
        requests.push(Request { verb: Verb::Patch, path: path.clone(), body });
        done = end;
    }
    requests
}

/// Stands for the number of a check run that is not there yet.
const NEW: &str = "{new}";

/// How often a request may be left open before it is given up: a GitHub that fails three times in a row is down.
const UNSURE_MAX: usize = 3;

/// The check runs of this name that stand at the head.
pub async fn standing_runs(
    client: &Client,
    name: &str,
    posting: &Posting<'_>,
) -> Result<Vec<StandingRun>, ForgeError> {
    let change = &posting.report.change;
    let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    let path = format!(
        "/repos/{}/commits/{}/check-runs?check_name={name}&filter=all",
        change.repo, change.head_sha
    );
    let pages = client.pages::<Runs>(&path).await?.pages.into_iter();
    Ok(pages.flat_map(|page| page.check_runs).map(StandingRun::from).collect())
}

/// Makes a check run of this name show a review. Says how many requests that took. Where it is not known whether one was
/// applied, what stands tells.
pub async fn post_check_run(
    client: &Client,
    name: &str,
    posting: &Posting<'_>,
) -> Result<usize, ForgeError> {
    let mut sent = 0;
    let mut unsure = 0;
    loop {
        let standing = standing_runs(client, name, posting).await?;
        match send(client, &check_run(posting, name, &standing), &mut sent).await {
            Ok(()) => return Ok(sent),
            Err(
                ForgeError::Ambiguous { .. }
                | ForgeError::TooLarge { .. }
                | ForgeError::Unreadable { .. },
            ) if unsure + 1 < UNSURE_MAX => {
                unsure += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn send(client: &Client, requests: &[Request], sent: &mut usize) -> Result<(), ForgeError> {
    let mut id = String::new();
    for request in requests {
        let path = request.path.replace(NEW, &id);
        *sent += 1;
        let answer = client.write(request.verb, &path, &request.body).await?;
        if let Some(number) = answer["id"].as_u64() {
            id = number.to_string();
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Runs {
    check_runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    id: u64,
    external_id: Option<String>,
    output: Option<Output>,
}

#[derive(Deserialize)]
struct Output {
    annotations_count: Option<usize>,
}

impl From<Run> for StandingRun {
    fn from(run: Run) -> Self {
        Self {
            id: run.id,
            external_id: run.external_id.unwrap_or_default(),
            annotations: run.output.and_then(|it| it.annotations_count).unwrap_or_default(),
        }
    }
}

/// GitHub's word for the verdict. A gate lets `neutral` pass, so that a review which did not see everything is no less than a
/// failure.
fn conclusion(posting: &Posting<'_>) -> &'static str {
    let report = posting.report;
    let asked = match report.strategy {
        Strategy::Static => Asked::Checks,
        Strategy::Single | Strategy::Delegate | Strategy::Panel => Asked::Review,
    };
    match report.verdict {
        Verdict::ReadyToMerge | Verdict::ChecksPassed if !is_incomplete(report, asked) => "success",
        Verdict::ReadyToMerge
        | Verdict::ChecksPassed
        | Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete => "failure",
    }
}

/// An issue as an annotation: plain text on lines of the head. What was removed has no line there; it is in the summary.
fn annotation(issue: &Issue) -> Option<Value> {
    let level = match issue.severity {
        Severity::P0 | Severity::P1 => "failure",
        Severity::P2 => "warning",
        Severity::P3 => "notice",
    };
    let cut = |text: &str, most: usize| visible(text).chars().take(most).collect::<String>();
    let mut message = issue.why_it_matters.clone();
    if let Some(fix) = &issue.suggested_fix {
        message.push_str(&format!("\n\nFix: {fix}"));
    }
    let place = &issue.location;
    (place.side == Side::New).then(|| {
        json!({
            "path": place.file, "start_line": place.line_start, "end_line": place.line_end,
            "annotation_level": level, "title": cut(&format!("{}: {}", issue.severity, issue.title), TITLE_MAX),
            "message": cut(&message, MESSAGE_MAX),
        })
    })
}

#[cfg(test)]
mod tests;
