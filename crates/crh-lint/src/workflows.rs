//! GitHub workflows that give an attacker new rights.

mod actions;
mod checkout;
mod expression;
mod permissions;
mod repo_workflows;
mod script;
mod workflow;
mod yaml;

use std::collections::HashMap;

pub(crate) use self::repo_workflows::RepoWorkflows;
use self::repo_workflows::{FILES_MAX, UnreadFiles, WorkflowQuery};
use self::yaml::YamlNode;
use crate::file_context::{FileContext, FileFindings, FileReviewer};
use crate::findings::FindingDraft;
use crate::source::SourceText;
use crate::{ChangedFile, LintRule, paths};
use crh_syntax::Language;

pub(crate) const RULES: &[LintRule] = &[
    script::SCRIPT_INJECTION,
    checkout::UNTRUSTED_CHECKOUT,
    actions::UNPINNED_ACTION,
    permissions::BROADER_PERMISSIONS,
];

/// The `workflows` reviewer.
pub(crate) struct WorkflowCheck;

impl FileReviewer for WorkflowCheck {
    fn name(&self) -> &'static str {
        "workflows"
    }

    fn handles(&self, file: &ChangedFile, _: Option<Language>) -> bool {
        is_workflow(&file.path) || is_action(&file.path)
    }

    fn review(&self, ctx: &FileContext<'_>) -> FileFindings {
        let mut findings = FileFindings::default();
        let Some(source) = &ctx.new else { return findings };
        let new = match YamlNode::parse(source.text) {
            Ok(new) => new,
            Err(why) => {
                findings.abort_reason = Some(format!("the workflow was not checked: {why}"));
                return findings;
            }
        };
        // If the old text cannot be parsed, all findings count as new.
        let old = ctx.old.as_ref().map(|old| (YamlNode::parse(old.text), old));
        let old = match &old {
            Some((Ok(node), old)) => Some((node, *old)),
            None | Some((Err(_), _)) => None,
        };
        findings.findings.extend(ctx.new_findings(|source| match YamlNode::parse(source.text) {
            Ok(root) => script::check(&root, source),
            Err(_) => Vec::new(),
        }));
        let query = WorkflowQuery::new(ctx.change);
        findings.findings.extend(new_checkouts(ctx, &query, &new, source));
        if is_workflow(source.path) {
            findings.findings.extend(permissions::check(old, &new, source));
        }
        findings.findings.extend(actions::check(&query, old.map(|(old, _)| old), &new, source));
        findings.findings.sort_by_key(|finding| finding.line);
        findings.notes.extend(unread_notes(source.path, query.unread_files()));
        findings
    }
}

/// Notes on the files of the repository that the check of a workflow did not read.
fn unread_notes(path: &str, unread_files: UnreadFiles) -> Vec<String> {
    let mut notes = Vec::new();
    let UnreadFiles { unreadable, over_limit } = unread_files;
    if unreadable > 0 {
        let files = if unreadable == 1 { "file" } else { "files" };
        notes.push(format!(
            "`{path}` was checked, but {unreadable} {files} of the repository could not be read"
        ));
    }
    if over_limit > 0 {
        let were = if over_limit == 1 { "was" } else { "were" };
        notes.push(format!(
            "`{path}` was compared with {FILES_MAX} workflows and actions of the repository; {over_limit} more {were} not read"
        ));
    }
    notes
}

/// New checkouts of untrusted code. A finding points at the line of the ref. If the change adds
/// only the line of the trigger, it points at that line.
fn new_checkouts(
    ctx: &FileContext<'_>,
    query: &WorkflowQuery<'_>,
    new: &YamlNode,
    source: &SourceText<'_>,
) -> Vec<FindingDraft> {
    let trigger_line_by_checkout_line: HashMap<u32, u32> =
        checkout::find_checkouts(new, source, query)
            .into_iter()
            .map(|it| (it.draft.line, it.trigger_line))
            .collect();
    if trigger_line_by_checkout_line.is_empty() {
        return Vec::new();
    }
    let mut findings = ctx.new_findings(|source| match YamlNode::parse(source.text) {
        Ok(root) => {
            checkout::find_checkouts(&root, source, query).into_iter().map(|it| it.draft).collect()
        }
        Err(_) => Vec::new(),
    });
    for finding in &mut findings {
        let trigger = trigger_line_by_checkout_line
            .get(&finding.line)
            .copied()
            .filter(|line| ctx.file.adds(*line));
        if let Some(trigger) = trigger.filter(|_| !ctx.file.adds(finding.line)) {
            finding.witnesses.push((finding.file.clone(), finding.line, finding.snippet.clone()));
            finding.line = trigger;
            source.line(trigger).clone_into(&mut finding.snippet);
        }
    }
    findings
}

fn is_workflow(path: &str) -> bool {
    let name = path.strip_prefix(".github/workflows/");
    name.is_some_and(|name| !name.contains('/') && is_yaml(name))
}

/// Whether a file defines an action.
fn is_action(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "action.yml" | "action.yaml") && !paths::is_sample(path)
}

fn is_yaml(name: &str) -> bool {
    matches!(paths::extension(name).as_str(), "yml" | "yaml")
}

#[cfg(test)]
mod tests;
