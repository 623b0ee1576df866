//! Web service: routes, permissions and pages.

use serde_json::{Value, json};

use super::create;
use super::json::LaunchpadView;
use super::state::{FakeLaunchpadState, Proposal, Repository};

/// Default and largest page size.
const PAGE: (usize, usize) = (75, 300);

/// A parsed request.
#[derive(Debug)]
pub(super) struct LaunchpadCall {
    pub(super) method: String,
    /// Decoded path after `/devel/`.
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) form: Vec<(String, String)>,
    /// Requested media type.
    pub(super) accept: String,
    /// Account; `None` if anonymous.
    pub(super) person: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct LaunchpadReply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

/// A reply or a refusal.
pub(super) type LaunchpadReplyResult = Result<LaunchpadReply, LaunchpadReply>;

impl LaunchpadCall {
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let parameter = self.query.iter().find(|(known, _)| known == name);
        parameter.map(|(_, value)| plain(value))
    }
}

/// An argument of a named operation: JSON, or else text.
pub(super) fn argument(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| json!(value))
}

fn plain(value: &str) -> String {
    match argument(value) {
        Value::String(text) => text,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_owned()
        }
    }
}

impl LaunchpadReply {
    pub(super) fn json(body: &Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { status: 200, headers, body: body.to_string().into_bytes() }
    }

    /// Launchpad's errors are plain text.
    pub(super) fn text(status: u16, body: &str) -> Self {
        let headers = vec![("content-type", "text/plain".to_owned())];
        Self { status, headers, body: body.as_bytes().to_vec() }
    }

    pub(super) fn see_other(location: String) -> Self {
        Self { status: 303, headers: vec![("location", location)], body: Vec::new() }
    }

    pub(super) fn not_found(name: &str) -> Self {
        Self::text(404, &format!("Object: <Launchpad>, name: '{name}'"))
    }
}

/// Applies and answers a request.
pub(super) fn answer(
    state: &mut FakeLaunchpadState,
    web: &str,
    librarian: &str,
    call: &LaunchpadCall,
) -> LaunchpadReplyResult {
    if let Some(location) = redirect(&LaunchpadView { state, web }, call) {
        return Ok(LaunchpadReply {
            status: 301,
            headers: vec![("location", location)],
            body: Vec::new(),
        });
    }
    if call.method == "POST" {
        return create::comment(state, web, call);
    }
    if call.method != "GET" {
        state.surprises.push(format!("{} {}", call.method, call.path));
        return Err(LaunchpadReply::text(405, "Method not allowed"));
    }
    let view = LaunchpadView { state, web };
    let path = call.path.trim_matches('/');
    let result = match path {
        "" => Some(Ok(root(&view, call))),
        "people/+me" => Some(me(&view, call)),
        _ => None,
    };
    if let Some(found) = result {
        return found;
    }
    if let Some(number) = path.strip_prefix("bugs/") {
        let bug = number.parse().ok().and_then(|number| view.state.bugs.get(&number));
        return bug
            .map(|bug| LaunchpadReply::json(&view.bug(bug)))
            .ok_or_else(|| LaunchpadReply::not_found(path));
    }
    if let Some(person) = path.strip_prefix('~').and_then(|name| view.state.people.get(name)) {
        return Ok(LaunchpadReply::json(&view.person(person)));
    }
    if let Some((proposal, rest)) = proposal_at(view.state, path) {
        if view.state.is_private(proposal) && call.person.is_none() {
            return Err(LaunchpadReply::not_found(path));
        }
        return of_proposal(&view, librarian, call, proposal, rest);
    }
    of_repository(&view, call, path).unwrap_or_else(|| Err(LaunchpadReply::not_found(path)))
}

/// Address that a former path redirects to.
fn redirect(view: &LaunchpadView<'_>, call: &LaunchpadCall) -> Option<String> {
    let new_path = |(before, now): (&String, &String)| {
        call.path.strip_prefix(before.as_str()).map(|rest| format!("{now}{rest}"))
    };
    let path = view.state.moved.iter().find_map(new_path)?;
    let query: Vec<String> =
        call.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Some(view.link(&format!("{path}?{}", query.join("&"))))
}

fn root(view: &LaunchpadView<'_>, call: &LaunchpadCall) -> LaunchpadReply {
    if let (true, Some(wadl)) = (call.accept.contains("wadl"), &view.state.wadl) {
        let headers = vec![("content-type", "application/vnd.sun.wadl+xml".to_owned())];
        return LaunchpadReply { status: 200, headers, body: wadl.clone().into_bytes() };
    }
    let link = |path: &str| view.link(path);
    LaunchpadReply::json(&json!({
        "people_collection_link": link("people"), "bugs_collection_link": link("bugs"),
        "me_link": link("people/+me"), "resource_type_link": link("#service-root"),
    }))
}

fn me(view: &LaunchpadView<'_>, call: &LaunchpadCall) -> LaunchpadReplyResult {
    match &call.person {
        Some(name) => Ok(LaunchpadReply::see_other(view.link(&format!("~{name}")))),
        None => Err(LaunchpadReply::text(401, "You need to be logged in to view this URL.")),
    }
}

/// The merge proposal of a path, and the rest of the path.
pub(super) fn proposal_at<'s, 'p>(
    state: &'s FakeLaunchpadState,
    path: &'p str,
) -> Option<(&'s Proposal, &'p str)> {
    let (before, after) = path.split_once("/+merge/")?;
    let (number, rest) = after.split_once('/').unwrap_or((after, ""));
    let proposal = state.proposals.get(&format!("{before}/+merge/{number}"))?;
    Some((proposal, rest))
}

fn of_proposal(
    view: &LaunchpadView<'_>,
    librarian: &str,
    call: &LaunchpadCall,
    proposal: &Proposal,
    rest: &str,
) -> LaunchpadReplyResult {
    let unknown = || LaunchpadReply::not_found(rest);
    let page = |name: &str, entries: Vec<Value>| {
        Ok(paged(view, call, &format!("{name}-page-resource"), &entries, Value::clone))
    };
    match rest {
        "" => match call.parameter("ws.op").as_deref() {
            None => Ok(LaunchpadReply::json(&view.proposal(proposal))),
            Some("getInlineComments") => inline_comments(view, call, proposal),
            Some("getDraftInlineComments") => drafts(call, proposal),
            Some(other) => Err(LaunchpadReply::text(400, &format!("No such operation: {other}"))),
        },
        "preview_diffs" => {
            let (diffs, tips) = (proposal.diffs.iter().rev(), view.tips(proposal));
            let diffs = diffs.map(|diff| view.preview_diff(proposal, diff, &tips));
            page("preview_diff", diffs.collect())
        }
        "all_comments" => {
            // There may be thousands of comments, so only those of the page are rendered.
            let kind = "code_review_comment-page-resource";
            Ok(paged(view, call, kind, &proposal.comments, |it| view.comment(proposal, it)))
        }
        "votes" => {
            let votes = proposal.votes.iter();
            let votes = votes.map(|(reviewer, comment)| view.vote(proposal, reviewer, *comment));
            page("code_review_vote_reference", votes.collect())
        }
        "bugs" => {
            let bugs = proposal.bugs.iter().filter_map(|number| view.state.bugs.get(number));
            page("bug", bugs.map(|bug| view.bug(bug)).collect())
        }
        _ => {
            if let Some(number) = rest.strip_prefix("comments/") {
                let is_comment = |it: &&super::Comment| it.id.to_string() == number;
                let comment = proposal.comments.iter().find(is_comment).ok_or_else(unknown)?;
                return Ok(LaunchpadReply::json(&view.comment(proposal, comment)));
            }
            let rest = rest.strip_prefix("+preview-diff/").ok_or_else(unknown)?;
            let (number, part) = rest.split_once('/').unwrap_or((rest, ""));
            let is_diff = |it: &&super::state::PreviewDiff| it.id.to_string() == number;
            let diff = proposal.diffs.iter().find(is_diff).ok_or_else(unknown)?;
            match part {
                "" => Ok(LaunchpadReply::json(&view.preview_diff(
                    proposal,
                    diff,
                    &view.tips(proposal),
                ))),
                "diff_text" => Ok(LaunchpadReply::see_other(format!(
                    "{librarian}/{}/preview.diff.txt",
                    diff.id
                ))),
                _ => Err(unknown()),
            }
        }
    }
}

fn inline_comments(
    view: &LaunchpadView<'_>,
    call: &LaunchpadCall,
    proposal: &Proposal,
) -> LaunchpadReplyResult {
    let id = call.parameter("previewdiff_id").and_then(|text| text.parse::<u64>().ok());
    let Some(id) = id else {
        return Err(LaunchpadReply::text(400, "previewdiff_id: Required input is missing."));
    };
    if !proposal.diffs.iter().any(|diff| diff.id == id) {
        return Err(LaunchpadReply::text(404, "Preview diff not found."));
    }
    Ok(LaunchpadReply::json(&view.inline_comments(proposal, id)))
}

/// Draft comments of the account; `null` if none.
fn drafts(call: &LaunchpadCall, proposal: &Proposal) -> LaunchpadReplyResult {
    let Some(person) = &call.person else {
        return Err(LaunchpadReply::text(401, "You need to be logged in to view this URL."));
    };
    let id = call.parameter("previewdiff_id").and_then(|text| text.parse::<u64>().ok());
    let drafts = proposal.drafts.get(&(person.clone(), id.unwrap_or_default()));
    Ok(LaunchpadReply::json(&json!(drafts)))
}

/// Answers requests about a repository; `None` if it is not visible, or if the branch is missing.
fn of_repository(
    view: &LaunchpadView<'_>,
    call: &LaunchpadCall,
    path: &str,
) -> Option<LaunchpadReplyResult> {
    let visible_repository = |name: &str| {
        let repository = view.state.repository(name)?;
        (!repository.private || call.person.is_some()).then_some(repository)
    };
    if let Some((name, branch)) = path.split_once("/+ref/") {
        let repository: &Repository = visible_repository(name)?;
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        let commit = repository.bare.tip(branch)?;
        return Some(Ok(LaunchpadReply::json(&view.git_ref(repository, branch, &commit))));
    }
    let repository = visible_repository(path)?;
    match call.parameter("ws.op").as_deref() {
        None => Some(Ok(LaunchpadReply::json(&view.repository(repository)))),
        Some("getStatusReports") => {
            let commit = call.parameter("commit_sha1").unwrap_or_default();
            let reports = repository.status_reports.iter().filter(|report| report.commit == commit);
            let entries: Vec<Value> =
                reports.map(|report| view.status_report(repository, report)).collect();
            Some(Ok(paged(
                view,
                call,
                "revision_status_report-page-resource",
                &entries,
                Value::clone,
            )))
        }
        Some(other) => Some(Err(LaunchpadReply::text(400, &format!("No such operation: {other}")))),
    }
}

fn paged<T>(
    view: &LaunchpadView<'_>,
    call: &LaunchpadCall,
    kind: &str,
    entries: &[T],
    shown: impl Fn(&T) -> Value,
) -> LaunchpadReply {
    let number = |name: &str| call.parameter(name).and_then(|text| text.parse::<usize>().ok());
    let size = number("ws.size").filter(|size| *size > 0).unwrap_or(PAGE.0).min(PAGE.1);
    let size = view.state.page.unwrap_or(size);
    let start = number("ws.start").unwrap_or(0);
    let on_page: Vec<Value> = entries.iter().skip(start).take(size).map(shown).collect();
    let link = |start: usize| {
        let parameters = call
            .query
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "ws.size" | "ws.start" | "memo"));
        let query: String = parameters.map(|(name, value)| format!("{name}={value}&")).collect();
        format!("{}?{query}ws.size={size}&memo={start}&ws.start={start}", view.link(&call.path))
    };
    let mut page = json!({
        "start": start, "total_size": entries.len(), "entries": on_page,
        "resource_type_link": view.link(&format!("#{kind}")),
    });
    if start + size < entries.len() {
        page["next_collection_link"] = json!(link(start + size));
    }
    if start > 0 {
        page["prev_collection_link"] = json!(link(start.saturating_sub(size)));
    }
    LaunchpadReply::json(&page)
}
