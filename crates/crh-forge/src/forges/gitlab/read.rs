//! Reads a merge request. The first requests run concurrently. The requests that need their replies
//! follow.

mod convert;
mod wire;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use url::form_urlencoded;
use wire::{
    Approvals, Discussion, FileDiff, Issue, Job, Member, MergeRequest, MergeRequestSummary,
    Pipeline, Project, User, Version, VersionInfo,
};

use super::GitLab;
use crate::posting::{Association, ProposalState};
use crate::rest::{RestChangeRef, RestClient, RestForge, RestList, people_with_roles};
use crate::{ChangeProposal, ForgeError};
use crh_review::identity::is_commit_id;

/// Oldest supported version: the first with a paginated list of diffs.
const OLDEST_VERSION: &str = "15.7";

/// Access level from which a member may dismiss issues: Developer.
const DEVELOPER: u32 = 30;

/// All replies, before conversion.
#[derive(Default)]
struct RawMergeRequest {
    merge_request: MergeRequest,
    viewer: Option<User>,
    source_project: Option<Project>,
    files: Vec<FileDiff>,
    discussions: Vec<Discussion>,
    approvals: Approvals,
    versions: Vec<Version>,
    jobs: Vec<Job>,
    issues: Vec<Issue>,
    roles: BTreeMap<u64, Association>,
    /// Sentences about parts that crh could not read, for the reviewers and the user.
    notes: Vec<String>,
    /// Names of incomplete lists that posting depends on.
    incomplete_lists: Vec<String>,
}

/// Reads a merge request: the proposal for the review, and the state for posting.
pub(super) async fn merge_request(
    client: &RestClient,
    change: &RestChangeRef,
    instance: &str,
) -> Result<(ChangeProposal, ProposalState), ForgeError> {
    let path = change.api_path();
    let lists = [
        format!("{path}/diffs"),
        format!("{path}/discussions"),
        format!("{path}/approvals"),
        format!("{path}/versions"),
        format!("{path}/closes_issues"),
    ];
    let (merge_request, viewer, version, files, discussions, approvals, versions, issues) = tokio::join!(
        client.get_json::<MergeRequest>(&path),
        client.get_json::<User>("/user"),
        client.get_json::<VersionInfo>("/version"),
        client.list::<FileDiff>(&lists[0]),
        client.list::<Discussion>(&lists[1]),
        client.get_json::<Approvals>(&lists[2]),
        client.list::<Version>(&lists[3]),
        client.list::<Issue>(&lists[4]),
    );
    // A version that is too old explains the other errors, so crh reports it first. Job tokens
    // cannot read the version.
    if let Ok(version) = &version {
        client.check_version("GitLab", &version.version, OLDEST_VERSION)?;
    }
    let merge_request = merge_request?;
    check(&path, &merge_request, change.number)?;
    let mut raw = RawMergeRequest { merge_request, ..RawMergeRequest::default() };
    // A job token cannot read its account. It needs none, because it cannot comment.
    raw.viewer = viewer_or_none(viewer)?;
    raw.files = files?.required("files", &mut raw.notes, &mut raw.incomplete_lists);
    raw.discussions =
        discussions?.required("discussions", &mut raw.notes, &mut raw.incomplete_lists);
    raw.approvals = approvals.unwrap_or_else(|error| {
        raw.notes.push(format!("Cannot read the approvals: {error}."));
        Approvals::default()
    });
    raw.versions = list_or_note("versions", versions, &mut raw.notes);
    raw.issues = list_or_note("linked issues", issues, &mut raw.notes);
    let (jobs, source_project, roles) = tokio::join!(
        read_jobs(client, change, &raw.merge_request),
        read_source_project(client, &raw.merge_request),
        read_roles(client, change, &raw),
    );
    raw.jobs = list_or_note("jobs", jobs, &mut raw.notes);
    raw.source_project = source_project;
    raw.roles = roles;
    Ok(convert::convert(change, raw, instance))
}

/// Number of the newest open merge request from a branch of a source project.
pub(super) async fn open_merge_request_of_branch(
    client: &RestClient,
    target: &str,
    (source, branch): (&str, &str),
) -> Result<Option<u64>, ForgeError> {
    let branch: String = form_urlencoded::byte_serialize(branch.as_bytes()).collect();
    let project = GitLab.repository_path(target);
    let path = format!("{project}/merge_requests?state=opened&source_branch={branch}");
    let source: Project = client.get_json(&GitLab.repository_path(source)).await?;
    let list: RestList<MergeRequestSummary> = client.list(&path).await?;
    let mut entries = list.entries.into_iter();
    let newest = entries.find(|entry| entry.source_project_id == Some(source.id));
    Ok(newest.map(|entry| entry.iid))
}

/// Fails if the reply cannot be for this merge request.
fn check(path: &str, merge_request: &MergeRequest, number: u64) -> Result<(), ForgeError> {
    let refs = merge_request.diff_refs.as_ref();
    let problem = match refs {
        _ if merge_request.iid != number => Some("it is another merge request"),
        None => Some("GitLab has not compared its branches yet"),
        Some(refs)
            if ![&refs.base_sha, &refs.start_sha, &refs.head_sha]
                .into_iter()
                .all(|commit| commit.as_deref().is_some_and(is_commit_id)) =>
        {
            Some("its head or base is not a commit id")
        }
        Some(_) => None,
    };
    match problem {
        None => Ok(()),
        Some(problem) => Err(ForgeError::unreadable(format!("GET {path}"), problem)),
    }
}

fn viewer_or_none(viewer: Result<User, ForgeError>) -> Result<Option<User>, ForgeError> {
    match viewer {
        Ok(viewer) => Ok(Some(viewer)),
        Err(ForgeError::BadToken { .. } | ForgeError::Forbidden { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A list that a review can do without. An error becomes a note.
fn list_or_note<T>(
    name: &str,
    list: Result<RestList<T>, ForgeError>,
    notes: &mut Vec<String>,
) -> Vec<T> {
    match list {
        Ok(list) => {
            if list.is_truncated {
                notes.push(format!("There are more {name} than crh reads."));
            }
            list.entries
        }
        Err(error) => {
            notes.push(format!("Cannot read the {name}: {error}."));
            Vec::new()
        }
    }
}

/// Jobs of the newest pipeline of the head.
async fn read_jobs(
    client: &RestClient,
    change: &RestChangeRef,
    merge_request: &MergeRequest,
) -> Result<RestList<Job>, ForgeError> {
    let pipelines = client.list::<Pipeline>(&format!("{}/pipelines", change.api_path())).await?;
    let newest = pipelines
        .entries
        .into_iter()
        .filter(|pipeline| Some(&pipeline.sha) == merge_request.sha.as_ref())
        .max_by_key(|pipeline| pipeline.id);
    match newest {
        Some(Pipeline { id, project_id: Some(project), .. }) => {
            client.list(&format!("/projects/{project}/pipelines/{id}/jobs")).await
        }
        Some(_) | None => Ok(RestList { entries: Vec::new(), is_truncated: false }),
    }
}

/// The project of the source branch; `None` if it is gone or the token cannot see it.
async fn read_source_project(client: &RestClient, merge_request: &MergeRequest) -> Option<Project> {
    let id = merge_request.source_project_id?;
    get_optional(client, &format!("/projects/{id}")).await
}

/// Roles of the author and of the people who wrote in threads or resolved them.
async fn read_roles(
    client: &RestClient,
    change: &RestChangeRef,
    raw: &RawMergeRequest,
) -> BTreeMap<u64, Association> {
    let notes = raw.discussions.iter().filter(|discussion| !discussion.individual_note);
    let notes = notes.flat_map(|discussion| &discussion.notes);
    let resolvers = notes.clone().filter_map(|note| note.resolved_by.as_ref());
    let writers = notes.filter_map(|note| note.author.as_ref());
    let author = raw.merge_request.author.as_ref().map(|author| author.id);
    let others = writers.chain(resolvers).map(|user| user.id);
    let viewer = raw.viewer.as_ref().map(|viewer| viewer.id);
    let mut roles = BTreeMap::new();
    for id in people_with_roles(author, others, viewer.as_ref()) {
        let path = format!("{}/members/all/{id}", change.repository_path());
        let member: Option<Member> = get_optional(client, &path).await;
        let role = match member {
            Some(member) if member.access_level >= DEVELOPER => Association::Member,
            Some(_) => Association::Contributor,
            None => Association::Stranger,
        };
        roles.insert(id, role);
    }
    roles
}

/// A reply that crh can do without.
async fn get_optional<T: DeserializeOwned>(client: &RestClient, path: &str) -> Option<T> {
    client.get_json(path).await.ok()
}
