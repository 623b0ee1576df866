//! The only write: a comment with vote and inline comments.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::LaunchpadView;
use super::rest::{LaunchpadCall, LaunchpadReply, LaunchpadReplyResult, argument, proposal_at};
use super::scenario::new_comment;
use super::state::{FakeLaunchpadState, Proposal};

const VOTES: [&str; 6] =
    ["Approve", "Needs Fixing", "Needs Information", "Abstain", "Disapprove", "Needs Resubmitting"];

/// Arguments of `createComment`.
const ARGUMENTS: [&str; 8] = [
    "ws.op",
    "subject",
    "content",
    "vote",
    "review_type",
    "parent",
    "previewdiff_id",
    "inline_comments",
];

struct CommentRequest {
    subject: String,
    content: String,
    vote: Option<String>,
    preview_diff: Option<u64>,
    inline: BTreeMap<u64, String>,
}

/// Creates a comment.
pub(super) fn comment(
    state: &mut FakeLaunchpadState,
    web: &str,
    call: &LaunchpadCall,
) -> LaunchpadReplyResult {
    let path = call.path.trim_matches('/').to_owned();
    let operation = call.form.iter().find(|(name, _)| name == "ws.op");
    let operation = operation.map(|(_, value)| value.as_str()).unwrap_or_default().to_owned();
    let Some((proposal, "")) = proposal_at(state, &path) else {
        state.surprises.push(format!("a write to `{path}`"));
        return Err(LaunchpadReply::not_found(&path));
    };
    if operation != "createComment" {
        state.surprises.push(format!("the operation `{operation}`"));
        return Err(LaunchpadReply::text(400, &format!("No such operation: {operation}")));
    }
    let Some(person) = call.person.clone() else {
        return Err(LaunchpadReply::text(
            401,
            "(<BranchMergeProposal>, 'createComment', 'launchpad.View')",
        ));
    };
    let comment_request = parse_request(&call.form, proposal)?;
    for (name, value) in &call.form {
        let is_text = matches!(name.as_str(), "subject" | "content" | "inline_comments");
        if !ARGUMENTS.contains(&name.as_str()) {
            state.surprises.push(format!("the argument `{name}`"));
        } else if is_text && serde_json::from_str::<Value>(value).is_err() {
            // Launchpad accepts a text that is not JSON, but misreads a text that looks like JSON.
            state.surprises.push(format!("`{name}` is not sent as JSON"));
        }
    }
    let mut comment = new_comment(state, &person);
    comment.subject = comment_request.subject;
    comment.content = comment_request.content;
    comment.vote = comment_request.vote;
    comment.preview_diff = comment_request.preview_diff;
    comment.inline = comment_request.inline;
    let id = comment.id;
    let voted = comment.vote.is_some();
    if let Some(proposal) = state.proposals.get_mut(&path) {
        // Publishing replaces the drafts.
        if let Some(diff) = comment.preview_diff {
            proposal.drafts.remove(&(person.clone(), diff));
        }
        proposal.comments.push(comment);
        if voted {
            proposal.votes.insert(person, id);
        }
    }
    let location = LaunchpadView { state, web }.link(&format!("{path}/comments/{id}"));
    Ok(LaunchpadReply { status: 201, headers: vec![("location", location)], body: Vec::new() })
}

fn parse_request(
    form: &[(String, String)],
    proposal: &Proposal,
) -> Result<CommentRequest, LaunchpadReply> {
    let argument_value = |name: &str| {
        let field = form.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| argument(value)).filter(|value| !value.is_null())
    };
    let text = |name: &str| match argument_value(name) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        // An unquoted `123` is a number.
        Some(other) => {
            Err(LaunchpadReply::text(400, &format!("{name}: got '{other}', expected a string.")))
        }
    };
    let vote = Some(text("vote")?).filter(|vote| !vote.is_empty());
    if let Some(vote) = vote.as_deref().filter(|vote| !VOTES.contains(vote)) {
        let votes = VOTES.join(", ");
        let message = format!("vote: Invalid value \"{vote}\". Acceptable values are: {votes}");
        return Err(LaunchpadReply::text(400, &message));
    }
    let preview_diff = match argument_value("previewdiff_id") {
        None => None,
        Some(value) => {
            let id = value.as_u64();
            let id = id.filter(|id| proposal.diffs.iter().any(|diff| diff.id == *id));
            Some(id.ok_or_else(|| LaunchpadReply::text(404, "Preview diff not found."))?)
        }
    };
    let inline = match argument_value("inline_comments") {
        None => BTreeMap::new(),
        Some(Value::Object(lines)) => inline(&lines, preview_diff, proposal)?,
        Some(_) => return Err(LaunchpadReply::text(400, "inline_comments: not a dictionary.")),
    };
    Ok(CommentRequest {
        subject: text("subject")?,
        content: text("content")?,
        vote,
        preview_diff,
        inline,
    })
}

fn inline(
    lines: &serde_json::Map<String, Value>,
    preview_diff: Option<u64>,
    proposal: &Proposal,
) -> Result<BTreeMap<u64, String>, LaunchpadReply> {
    let diff = proposal.diffs.iter().find(|diff| Some(diff.id) == preview_diff);
    let Some(diff) = diff else {
        return Err(LaunchpadReply::text(
            400,
            "Inline comments must be associated with a preview diff.",
        ));
    };
    let mut inline = BTreeMap::new();
    for (key, text) in lines {
        let number = key.parse::<u64>().ok();
        let number = number.filter(|number| (1..=diff.rows() as u64).contains(number));
        match (number, text.as_str()) {
            (Some(number), Some(text)) => inline.insert(number, text.to_owned()),
            (_, _) => {
                let message = format!("inline_comments: {key} is no line of the preview diff.");
                return Err(LaunchpadReply::text(400, &message));
            }
        };
    }
    Ok(inline)
}
