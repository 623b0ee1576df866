//! Broader permissions of a workflow's token.

use std::collections::{HashMap, HashSet};

use super::workflow::jobs;
use super::yaml::{YamlNode, YamlValue};
use crate::LintRule;
use crate::findings::FindingDraft;
use crate::source::SourceText;
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const BROADER_PERMISSIONS: LintRule = LintRule {
    id: "workflows/broader-permissions",
    severity: Severity::P2,
    category: Category::Security,
    confidence: Confidence::thousandths(850),
    summary: "token permissions of a workflow that change from read to write, or are no longer limited",
    aliases: &["excessive-permissions"],
};

struct PermissionsBlock {
    line: u32,
    /// Level for scopes that are not listed.
    default_level: PermissionLevel,
    scopes: Vec<(String, PermissionLevel, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PermissionLevel {
    Nothing,
    Read,
    Write,
}

impl PermissionsBlock {
    /// The block of a workflow or job; `None` if there is none or its value is unknown.
    fn from_node(parent: &YamlNode) -> Option<Self> {
        let (key, node) = parent.entry("permissions")?;
        let default_level = match node.scalar() {
            Some("write-all") => PermissionLevel::Write,
            Some("read-all") => PermissionLevel::Read,
            Some("") | None => PermissionLevel::Nothing,
            Some(_) => return None,
        };
        let scopes = node.entries().iter().map(|(key, level)| {
            let level = match level.scalar() {
                Some("write") => PermissionLevel::Write,
                Some("read") => PermissionLevel::Read,
                Some(_) | None => PermissionLevel::Nothing,
            };
            (key.name.clone(), level, key.line)
        });
        let line = match node.value {
            YamlValue::Scalar(_) => node.line,
            YamlValue::List(_) | YamlValue::Map(_) => key.line,
        };
        Some(Self { line, default_level, scopes: scopes.collect() })
    }

    fn level(&self, name: &str) -> PermissionLevel {
        self.scopes
            .iter()
            .find(|(scope, ..)| scope == name)
            .map_or(self.default_level, |(_, level, _)| *level)
    }

    fn is_write_all(&self) -> bool {
        self.default_level == PermissionLevel::Write
    }

    fn writes(&self) -> bool {
        self.is_write_all()
            || self.scopes.iter().any(|(_, level, _)| *level == PermissionLevel::Write)
    }
}

/// Reports broader permissions, of the workflow and of each job.
pub(super) fn check(
    old: Option<(&YamlNode, &SourceText<'_>)>,
    new: &YamlNode,
    source: &SourceText<'_>,
) -> Vec<FindingDraft> {
    let mut findings = Vec::new();
    let workflow_block = PermissionsBlock::from_node(new);
    let old_workflow_block = old.and_then(|(old, _)| PermissionsBlock::from_node(old));
    findings.extend(broader_finding(
        old_workflow_block.as_ref(),
        old_workflow_block.as_ref(),
        workflow_block.as_ref(),
        "the workflow",
        source,
    ));
    let old_jobs: HashMap<&str, &YamlNode> = old
        .map(|(old, _)| jobs(old).iter().map(|(key, job)| (key.name.as_str(), job)).collect())
        .unwrap_or_default();
    let mut reported_lines: HashSet<u32> = HashSet::new();
    for (key, job) in jobs(new) {
        let block = PermissionsBlock::from_node(job);
        let name = format!("the job `{}`", key.name);
        let Some(((_, old_source), old_job)) = old.zip(old_jobs.get(key.name.as_str())) else {
            // A new job gets the permissions that it needs, so only `write-all` is reported.
            findings.extend(broader_finding(None, None, block.as_ref(), &name, source));
            continue;
        };
        let old_block = PermissionsBlock::from_node(old_job);
        let limits = old_block.as_ref().or(old_workflow_block.as_ref());
        if block.is_some() {
            findings.extend(broader_finding(
                old_block.as_ref(),
                limits,
                block.as_ref(),
                &name,
                source,
            ));
        } else if let Some(limits) = limits
            && has_no_block(new)
            && has_no_block(job)
            && !limits.writes()
            && reported_lines.insert(limits.line)
        {
            findings.push(removed_finding(limits, &name, old_source, source.path));
        }
    }
    findings
}

fn has_no_block(node: &YamlNode) -> bool {
    node.get("permissions").is_none()
}

/// A finding for permissions that were not allowed before. `limits` is the block that applied
/// before: that of the job, or else of the workflow.
fn broader_finding(
    old_block: Option<&PermissionsBlock>,
    limits: Option<&PermissionsBlock>,
    new: Option<&PermissionsBlock>,
    name: &str,
    source: &SourceText<'_>,
) -> Option<FindingDraft> {
    let new = new?;
    if new.is_write_all() {
        let had_write_all = old_block.or(limits).is_some_and(PermissionsBlock::is_write_all);
        return (!had_write_all).then(|| {
            FindingDraft::new(&BROADER_PERMISSIONS, source.path, new.line, source.line(new.line)).with_text(
                format!("`write-all` gives {name} every permission"),
                "Every step and every action in it can then change code, releases, packages and settings of the repository with the token.",
                "List only the permissions that are needed.",
            )
        });
    }
    let limits = limits?;
    let widened_scopes: Vec<&(String, PermissionLevel, u32)> = new
        .scopes
        .iter()
        .filter(|(scope, level, _)| {
            *level == PermissionLevel::Write && limits.level(scope) < PermissionLevel::Write
        })
        .collect();
    let (first, _, line) = widened_scopes.first()?;
    let scopes: Vec<String> =
        widened_scopes.iter().map(|(scope, ..)| format!("`{scope}: write`")).collect();
    let suffix = match scopes.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let scopes = scopes.join(", ");
    Some(FindingDraft::new(&BROADER_PERMISSIONS, source.path, *line, source.line(*line)).with_text(
        format!("The token of {name} can now write: `{first}`{suffix}"),
        format!(
            "Before this change {name} did not have {scopes}. Every step and every action in it gets this permission, including a compromised one."
        ),
        "Grant it only to the job that needs it, or keep `read` if none does.",
    ))
}

fn removed_finding(
    block: &PermissionsBlock,
    name: &str,
    old: &SourceText<'_>,
    path: &str,
) -> FindingDraft {
    let mut draft = FindingDraft::new(&BROADER_PERMISSIONS, path, block.line, old.line(block.line)).with_text(
        "The limit on the token's permissions is removed",
        format!(
            "Before this change {name} could only read. Without a `permissions` block its token has the default permissions of the repository or organisation, which may include write access to everything."
        ),
        "Keep the block and add what is needed.",
    );
    draft.side = Some(Side::Old);
    draft
}
