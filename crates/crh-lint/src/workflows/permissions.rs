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

/// A `permissions` block.
struct PermissionsBlock {
    line: u32,
    /// Level for scopes that are not listed.
    rest: PermissionLevel,
    named: Vec<(String, PermissionLevel, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PermissionLevel {
    Nothing,
    Read,
    Write,
}

impl PermissionsBlock {
    /// The block of a workflow or job; `None` if there is none or it is not understood.
    fn from_node(place: &YamlNode) -> Option<Self> {
        let (key, node) = place.entry("permissions")?;
        let rest = match node.scalar() {
            Some("write-all") => PermissionLevel::Write,
            Some("read-all") => PermissionLevel::Read,
            Some("") | None => PermissionLevel::Nothing,
            Some(_) => return None,
        };
        let named = node.entries().iter().map(|(key, level)| {
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
        Some(Self { line, rest, named: named.collect() })
    }

    fn level(&self, name: &str) -> PermissionLevel {
        self.named.iter().find(|(own, ..)| own == name).map_or(self.rest, |(_, level, _)| *level)
    }

    fn is_write_all(&self) -> bool {
        self.rest == PermissionLevel::Write
    }

    fn writes(&self) -> bool {
        self.is_write_all()
            || self.named.iter().any(|(_, level, _)| *level == PermissionLevel::Write)
    }
}

/// Reports broader permissions, of the workflow and of each job.
pub(super) fn check(
    old: Option<(&YamlNode, &SourceText<'_>)>,
    new: &YamlNode,
    source: &SourceText<'_>,
) -> Vec<FindingDraft> {
    let mut found = Vec::new();
    let own = PermissionsBlock::from_node(new);
    let old_own = old.and_then(|(old, _)| PermissionsBlock::from_node(old));
    found.extend(broader_finding(
        old_own.as_ref(),
        old_own.as_ref(),
        own.as_ref(),
        "the workflow",
        source,
    ));
    let old_jobs: HashMap<&str, &YamlNode> = old
        .map(|(old, _)| jobs(old).iter().map(|(key, job)| (key.name.as_str(), job)).collect())
        .unwrap_or_default();
    let mut reported: HashSet<u32> = HashSet::new();
    for (key, job) in jobs(new) {
        let block = PermissionsBlock::from_node(job);
        let name = format!("the job `{}`", key.name);
        let Some(((_, old_source), old_job)) = old.zip(old_jobs.get(key.name.as_str())) else {
            // A new job has what it needs; only `write-all` is too much.
            found.extend(broader_finding(None, None, block.as_ref(), &name, source));
            continue;
        };
        let old_block = PermissionsBlock::from_node(old_job);
        let limits = old_block.as_ref().or(old_own.as_ref());
        if block.is_some() {
            found.extend(broader_finding(
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
            && reported.insert(limits.line)
        {
            found.push(removed_finding(limits, &name, old_source, source.path));
        }
    }
    found
}

fn has_no_block(place: &YamlNode) -> bool {
    place.get("permissions").is_none()
}

/// A finding for permissions that neither the old block nor the limits before allowed.
fn broader_finding(
    same: Option<&PermissionsBlock>,
    limits: Option<&PermissionsBlock>,
    new: Option<&PermissionsBlock>,
    name: &str,
    source: &SourceText<'_>,
) -> Option<FindingDraft> {
    let new = new?;
    if new.is_write_all() {
        let was = same.or(limits).is_some_and(PermissionsBlock::is_write_all);
        return (!was).then(|| {
            FindingDraft::new(&BROADER_PERMISSIONS, source.path, new.line, source.line(new.line)).with_text(
                format!("`write-all` gives {name} every permission"),
                "Every step and every action in it can then change code, releases, packages and settings of the repository with the token.",
                "List only the permissions that are needed.",
            )
        });
    }
    let limits = limits?;
    let wider: Vec<&(String, PermissionLevel, u32)> = new
        .named
        .iter()
        .filter(|(scope, level, _)| {
            *level == PermissionLevel::Write && limits.level(scope) < PermissionLevel::Write
        })
        .collect();
    let (first, _, line) = wider.first()?;
    let scopes: Vec<String> = wider.iter().map(|(scope, ..)| format!("`{scope}: write`")).collect();
    let more = match scopes.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let scopes = scopes.join(", ");
    Some(FindingDraft::new(&BROADER_PERMISSIONS, source.path, *line, source.line(*line)).with_text(
        format!("The token of {name} can now write: `{first}`{more}"),
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
    let mut found = FindingDraft::new(&BROADER_PERMISSIONS, path, block.line, old.line(block.line)).with_text(
        "The limit on the token's permissions is removed",
        format!(
            "Before this change {name} could only read. Without a `permissions` block its token has the default permissions of the repository or organisation, which may include write access to everything."
        ),
        "Keep the block and add what is needed.",
    );
    found.side = Some(Side::Old);
    found
}
