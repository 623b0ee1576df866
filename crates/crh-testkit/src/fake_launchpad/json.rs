//! Entries of the web service as JSON.

use serde_json::{Value, json};

use super::state::{
    Bug, Comment, FakeLaunchpadState, Person, PreviewDiff, Proposal, Repository, StatusReport,
};
use crate::fake_github::time::format_time;

/// The state, with the server address for the links in its JSON.
pub(super) struct LaunchpadView<'a> {
    pub(super) state: &'a FakeLaunchpadState,
    /// The address of the pages.
    pub(super) web: &'a str,
}

impl LaunchpadView<'_> {
    /// Address of an entry in the web service.
    pub(super) fn link(&self, path: &str) -> String {
        format!("{}/devel/{path}", self.web)
    }

    /// An entry with common and specific fields.
    fn entry(&self, kind: &str, path: &str, fields: Value) -> Value {
        let mut entry = fields;
        entry["self_link"] = json!(self.link(path));
        entry["web_link"] = json!(format!("{}/{path}", self.web));
        entry["resource_type_link"] = json!(self.link(&format!("#{kind}")));
        entry["http_etag"] = json!("\"fake\"");
        entry
    }

    pub(super) fn person(&self, person: &Person) -> Value {
        let fields = json!({
            "name": person.name, "display_name": person.display_name, "is_team": false,
            "is_valid": true, "private": false, "description": null,
        });
        self.entry("person", &format!("~{}", person.name), fields)
    }

    fn person_link(&self, name: &str) -> String {
        self.link(&format!("~{name}"))
    }

    pub(super) fn proposal(&self, proposal: &Proposal) -> Value {
        let link = |rest: &str| self.link(&format!("{}/{rest}", proposal.path));
        let repository = |name: &str| (!proposal.bazaar).then(|| self.link(name));
        let branch = |name: &str| proposal.bazaar.then(|| self.link(name));
        let path = |branch: &str| (!proposal.bazaar).then(|| format!("refs/heads/{branch}"));
        let diff = proposal.diffs.last().map(|diff| link(&format!("+preview-diff/{}", diff.id)));
        let fields = json!({
            "address": format!("mp+{}@code.launchpad.example", proposal.id),
            "all_comments_collection_link": link("all_comments"),
            "bugs_collection_link": link("bugs"),
            "commit_message": proposal.commit_message, "description": proposal.description,
            "date_created": format_date(proposal.created), "date_merged": null,
            "date_review_requested": format_date(proposal.created), "date_reviewed": null,
            "merge_reporter_link": null, "merged_revision_id": null, "merged_revno": null,
            "prerequisite_branch_link": null, "prerequisite_git_path": null,
            "prerequisite_git_repository_link": null,
            "preview_diff_link": diff, "preview_diffs_collection_link": link("preview_diffs"),
            "private": self.state.is_private(proposal), "queue_status": proposal.status,
            "registrant_link": self.person_link(&proposal.registrant),
            "reviewed_revid": null, "reviewer_link": null,
            "source_branch_link": branch(&proposal.source.0), "target_branch_link": branch(&proposal.target.0),
            "source_git_path": path(&proposal.source.1), "target_git_path": path(&proposal.target.1),
            "source_git_repository_link": repository(&proposal.source.0),
            "target_git_repository_link": repository(&proposal.target.0),
            "superseded_by_link": null, "supersedes_link": null,
            "votes_collection_link": link("votes"),
        });
        self.entry("branch_merge_proposal", &proposal.path, fields)
    }

    /// Tips of source and target. This asks git, so for a list of preview diffs call it once.
    pub(super) fn tips(&self, proposal: &Proposal) -> [Option<String>; 2] {
        [&proposal.source, &proposal.target].map(|end| self.state.tip(end))
    }

    pub(super) fn preview_diff(
        &self,
        proposal: &Proposal,
        diff: &PreviewDiff,
        [source, target]: &[Option<String>; 2],
    ) -> Value {
        let path = format!("{}/+preview-diff/{}", proposal.path, diff.id);
        let matches_tips = source.as_ref() == Some(&diff.source_revision)
            && target.as_ref() == Some(&diff.target_revision);
        let is_last = proposal.diffs.last().is_some_and(|last| last.id == diff.id);
        let conflicts = diff.conflicts.iter().map(|path| format!("Conflict in {path}\n"));
        let conflicts: String = conflicts.collect();
        let fields = json!({
            "id": diff.id, "title": format!("diff {}", diff.id),
            "branch_merge_proposal_link": self.link(&proposal.path),
            "conflicts": conflicts, "date_created": format_date(diff.created),
            "diff_lines_count": diff.lines(), "diff_text_link": self.link(&format!("{path}/diff_text")),
            "diffstat": {}, "added_lines_count": 0, "removed_lines_count": 0,
            "prerequisite_revision_id": null,
            "source_revision_id": diff.source_revision, "target_revision_id": diff.target_revision,
            "stale": !(matches_tips && is_last),
        });
        self.entry("preview_diff", &path, fields)
    }

    pub(super) fn comment(&self, proposal: &Proposal, comment: &Comment) -> Value {
        let person = self.person_link(&comment.author);
        let title = match comment.subject.as_str() {
            "" => format!("Re: {}", proposal.path),
            subject => subject.to_owned(),
        };
        let fields = json!({
            "id": comment.id, "author_link": person, "owner_link": person, "title": title,
            "content": comment.content, "message_body": comment.content,
            "as_quoted_email": comment.content.lines().map(|line| format!("> {line}\n")).collect::<String>(),
            "branch_merge_proposal_link": self.link(&proposal.path),
            "date_created": format_date(comment.created), "date_last_edited": null, "date_deleted": null,
            "vote": comment.vote, "vote_tag": null,
        });
        let path = format!("{}/comments/{}", proposal.path, comment.id);
        self.entry("code_review_comment", &path, fields)
    }

    pub(super) fn vote(&self, proposal: &Proposal, reviewer: &str, comment: u64) -> Value {
        let link = |rest: String| self.link(&format!("{}/{rest}", proposal.path));
        let fields = json!({
            "branch_merge_proposal_link": self.link(&proposal.path),
            "comment_link": link(format!("comments/{comment}")), "is_pending": false,
            "registrant_link": self.person_link(reviewer),
            "reviewer_link": self.person_link(reviewer), "review_type": null,
            "date_created": format_date(proposal.created),
        });
        let path = format!("{}/+review/{comment}", proposal.path);
        self.entry("code_review_vote_reference", &path, fields)
    }

    pub(super) fn bug(&self, bug: &Bug) -> Value {
        let fields = json!({
            "id": bug.number, "title": bug.title, "description": bug.description, "name": null,
            "private": false, "information_type": "Public",
        });
        self.entry("bug", &format!("bugs/{}", bug.number), fields)
    }

    pub(super) fn repository(&self, repository: &Repository) -> Value {
        let name = repository.name.rsplit('/').next().unwrap_or_default();
        let fields = json!({
            "id": repository.id, "name": name, "unique_name": repository.name,
            "display_name": format!("lp:{}", repository.name), "private": repository.private,
            "git_https_url": format!("{}/{}", self.web, repository.name),
        });
        self.entry("git_repository", &repository.name, fields)
    }

    pub(super) fn git_ref(&self, repository: &Repository, branch: &str, commit: &str) -> Value {
        let fields = json!({
            "path": format!("refs/heads/{branch}"), "commit_sha1": commit,
            "repository_link": self.link(&repository.name),
        });
        self.entry("git_ref", &format!("{}/+ref/{branch}", repository.name), fields)
    }

    pub(super) fn status_report(&self, repository: &Repository, report: &StatusReport) -> Value {
        let fields = json!({
            "title": report.title, "result": report.result, "result_summary": report.summary,
            "url": report.url, "commit_sha1": report.commit,
            "git_repository_link": self.link(&repository.name),
            "date_created": format_date(report.created), "date_started": null, "date_finished": null,
        });
        let path = format!("{}/+status/{}", repository.name, report.id);
        self.entry("revision_status_report", &path, fields)
    }

    /// Inline comments on a preview diff, in the order of the proposal's comments that contain
    /// them.
    pub(super) fn inline_comments(&self, proposal: &Proposal, diff: u64) -> Value {
        let comments =
            proposal.comments.iter().filter(|comment| comment.preview_diff == Some(diff));
        let lines = comments.flat_map(|comment| {
            comment.inline.iter().map(|(line, text)| {
                json!({
                    "line_number": line.to_string(), "text": text,
                    "person": self.state.people.get(&comment.author).map(|it| self.person(it)),
                    "date": format_date(comment.created),
                })
            })
        });
        lines.collect()
    }
}

/// `2026-01-01T00:00:00.000000+00:00`.
pub(super) fn format_date(seconds: u64) -> String {
    format!("{}.000000+00:00", format_time(seconds).trim_end_matches('Z'))
}
