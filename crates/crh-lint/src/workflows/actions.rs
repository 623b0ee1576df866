//! Third-party actions that are new and not pinned to a commit, or that are no longer pinned.

use std::collections::{HashMap, HashSet};

use super::repo_workflows;
use super::repo_workflows::{UnreadFiles, WorkflowQuery};
use super::workflow::{jobs, steps};
use super::yaml::YamlNode;
use crate::findings::FindingDraft;
use crate::source::SourceText;
use crate::{LintRule, Project};
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const UNPINNED_ACTION: LintRule = LintRule {
    id: "workflows/unpinned-action",
    severity: Severity::P2,
    category: Category::Security,
    confidence: Confidence::thousandths(800),
    summary: "a third-party action that is new or no longer pinned, at a ref that its owner can move",
    aliases: &["unpinned-uses"],
};

/// Owners of GitHub's own actions.
const PLATFORM_OWNERS: [&str; 2] = ["actions", "github"];
/// Actions whose ref selects what they install. They cannot be pinned.
const UNPINNABLE_ACTIONS: [&str; 1] = ["dtolnay/rust-toolchain"];
/// Branch names. Other names that are not versions are often required by an action's documentation.
const BRANCHES: [&str; 6] = ["main", "master", "develop", "dev", "trunk", "head"];
/// Files that may contain the repository's URL.
const MANIFESTS: [&str; 5] =
    ["package.json", "Cargo.toml", "pyproject.toml", "composer.json", "go.mod"];

struct ActionUse {
    /// The action in lower case, without the ref.
    action: String,
    reference: String,
    line: u32,
    /// Whether the action is a reusable workflow.
    is_workflow: bool,
}

impl ActionUse {
    fn owner(&self) -> &str {
        match self.action.starts_with("docker://") {
            true => &self.action,
            false => self.action.split('/').next().unwrap_or_default(),
        }
    }

    fn is_pinned(&self) -> bool {
        let hex = self.reference.strip_prefix("sha256:").unwrap_or(&self.reference);
        matches!(hex.len(), 40 | 64) && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn is_branch(&self) -> bool {
        BRANCHES.contains(&self.reference.to_ascii_lowercase().as_str())
    }
}

/// How often an action was used: in total, pinned to a commit, and at a branch.
#[derive(Debug, Clone, Copy, Default)]
struct ActionUsage {
    uses: usize,
    pinned_uses: usize,
    branch_uses: usize,
}

impl ActionUsage {
    fn add(&mut self, action_use: &ActionUse) {
        self.uses += 1;
        self.pinned_uses += usize::from(action_use.is_pinned());
        self.branch_uses += usize::from(action_use.is_branch());
    }

    fn is_all_pinned(self) -> bool {
        self.uses > 0 && self.pinned_uses == self.uses
    }
}

/// Reports uses that are pinned less strictly than before the change, one per action.
pub(super) fn check(
    query: &WorkflowQuery<'_>,
    old: Option<&YamlNode>,
    new: &YamlNode,
    source: &SourceText<'_>,
) -> Vec<FindingDraft> {
    let mut old_usages: HashMap<String, ActionUsage> = HashMap::new();
    for action_use in old.map(action_uses).unwrap_or_default() {
        old_usages.entry(action_use.action.clone()).or_default().add(&action_use);
    }
    let mut seen_actions: HashSet<String> = HashSet::new();
    let mut findings = Vec::new();
    for action_use in action_uses(new).into_iter().filter(|it| !it.is_pinned()) {
        let old_usage = old_usages.get(&action_use.action).copied().unwrap_or_default();
        let may_be_looser =
            old_usage.uses == 0 || old_usage.is_all_pinned() || action_use.is_branch();
        if !may_be_looser || seen_actions.contains(&action_use.action) {
            continue;
        }
        let usages = query.usages();
        let Some(loss) = pinning_loss(&action_use, old_usage, usages) else { continue };
        if !usages.own_owners.contains(action_use.owner()) {
            findings.push(finding(&action_use, loss, source));
        }
        seen_actions.insert(action_use.action);
    }
    group_new_actions(findings, source)
}

/// Merges the findings about new actions of one file into one. A finding with a comment about
/// ignoring on its line or the line above stays separate; otherwise the comment would suppress the
/// others too.
fn group_new_actions(findings: Vec<FindingDraft>, source: &SourceText<'_>) -> Vec<FindingDraft> {
    let mentions_ignore = |line: u32| source.line(line).contains("ignore");
    let (mut separate_findings, mut mergeable): (Vec<FindingDraft>, Vec<FindingDraft>) =
        findings.into_iter().partition(|finding| {
            finding.severity != Severity::P3
                || mentions_ignore(finding.line)
                || mentions_ignore(finding.line.saturating_sub(1))
        });
    let other_findings = mergeable.split_off(mergeable.len().min(1));
    if let (Some(first), false) = (mergeable.first_mut(), other_findings.is_empty()) {
        let lines: Vec<String> = other_findings.iter().map(|it| it.line.to_string()).collect();
        let (s, lines) = (if lines.len() == 1 { "" } else { "s" }, lines.join(", "));
        first.why +=
            &format!(" The same applies to {} more, at line{s} {lines}.", other_findings.len());
        first.witnesses =
            other_findings.into_iter().map(|it| (it.file, it.line, it.snippet)).collect();
    }
    separate_findings.extend(mergeable);
    separate_findings.sort_by_key(|it| it.line);
    separate_findings
}

/// How a use is pinned less strictly than before.
#[derive(Clone, Copy)]
enum PinningLoss {
    WasPinned,
    AtBranch,
    NewOwner,
    OthersArePinned,
}

fn pinning_loss(
    action_use: &ActionUse,
    old_usage: ActionUsage,
    usages: &ActionUsages,
) -> Option<PinningLoss> {
    if old_usage.is_all_pinned() {
        return Some(PinningLoss::WasPinned);
    }
    // Reusable workflows are mostly shared within an organisation. The repository does not show who
    // belongs to it.
    if action_use.is_workflow || UNPINNABLE_ACTIONS.contains(&action_use.action.as_str()) {
        return None;
    }
    let repo_usage = usages.by_action.get(&action_use.action).copied().unwrap_or_default();
    if action_use.is_branch() {
        return (old_usage.branch_uses + repo_usage.branch_uses == 0)
            .then_some(PinningLoss::AtBranch);
    }
    if old_usage.uses > 0 || repo_usage.uses > repo_usage.pinned_uses {
        return None;
    }
    if usages.totals.pinned_uses > 0 && usages.totals.pinned_uses * 2 >= usages.totals.uses {
        return Some(PinningLoss::OthersArePinned);
    }
    (!usages.owners.contains(action_use.owner())).then_some(PinningLoss::NewOwner)
}

fn finding(action_use: &ActionUse, loss: PinningLoss, source: &SourceText<'_>) -> FindingDraft {
    let ActionUse { action, reference, line, .. } = action_use;
    let owner = action_use.owner();
    let (title, detail, severity) = match loss {
        PinningLoss::WasPinned => (
            format!("`{action}` is no longer pinned to a commit"),
            "Before this change the workflow ran one known commit of it.",
            Severity::P2,
        ),
        PinningLoss::AtBranch => (
            format!("`{action}` is used at the branch `{reference}`"),
            "A branch moves with every commit.",
            Severity::P2,
        ),
        PinningLoss::NewOwner => (
            format!("`{action}` is new here and not pinned to a commit"),
            "No action of this owner ran here before.",
            Severity::P3,
        ),
        PinningLoss::OthersArePinned => (
            format!("`{action}` is not pinned to a commit, unlike the others"),
            "The other third-party actions here are pinned.",
            Severity::P3,
        ),
    };
    let mut draft = FindingDraft::new(&UNPINNED_ACTION, source.path, *line, source.line(*line)).with_text(
        title,
        format!(
            "The owner `{owner}` can move `{reference}` to other code at any time, which then runs with this job's token and secrets. {detail}"
        ),
        match action.starts_with("docker://") {
            true => format!("Pin the image by its digest: `{action}@sha256:…`."),
            false => format!("Pin it to the full commit hash behind `{reference}`, with the version in a comment: `{action}@<hash> # {reference}`."),
        },
    );
    draft.severity = severity;
    draft
}

/// The third-party actions that a workflow or an action uses.
fn action_uses(root: &YamlNode) -> Vec<ActionUse> {
    let steps = steps(root).into_iter().map(|step| (step.node, false));
    let called_workflows = jobs(root).iter().map(|(_, job)| (job, true));
    let references = steps.chain(called_workflows).filter_map(|(node, is_workflow)| {
        let uses = node.get("uses")?;
        Some((uses.scalar()?, uses.line, is_workflow))
    });
    references
        .filter(|(uses, ..)| !uses.starts_with('.') && !uses.contains("${{"))
        .filter_map(|(uses, line, is_workflow)| {
            let (action, reference) = split_reference(uses)?;
            let action = action.to_ascii_lowercase();
            Some(ActionUse { action, reference: reference.to_owned(), line, is_workflow })
        })
        .filter(|it| !PLATFORM_OWNERS.contains(&it.owner()))
        .collect()
}

/// Splits a `uses` value into action and ref, or into image and digest or tag.
fn split_reference(uses: &str) -> Option<(&str, &str)> {
    if let Some(split) = uses.split_once('@') {
        return Some(split);
    }
    let image = uses.strip_prefix("docker://")?;
    let colon = uses.len() - image.len()
        + image.rfind(':').filter(|colon| !image[*colon..].contains('/'))?;
    Some((&uses[..colon], &uses[colon + 1..]))
}

/// How the repository used actions before the change.
#[derive(Default)]
pub(super) struct ActionUsages {
    by_action: HashMap<String, ActionUsage>,
    owners: HashSet<String>,
    totals: ActionUsage,
    /// Owners in the repository's own URLs, in lower case.
    own_owners: HashSet<String>,
    /// Numbers of files that were not read.
    pub(super) unread_files: UnreadFiles,
}

impl ActionUsages {
    pub(super) fn new(project: &dyn Project) -> Self {
        let mut usages = Self::default();
        let unread_files = repo_workflows::read_workflows(
            project,
            Side::Old,
            repo_workflows::uses_actions,
            |_, node| {
                for action_use in action_uses(node) {
                    usages.owners.insert(action_use.owner().to_owned());
                    usages.totals.add(&action_use);
                    usages.by_action.entry(action_use.action.clone()).or_default().add(&action_use);
                }
            },
        );
        usages.unread_files = unread_files;
        for path in MANIFESTS {
            let text = match project.file(Side::Old, path) {
                Ok(bytes) => {
                    String::from_utf8_lossy(&bytes.unwrap_or_default()).to_ascii_lowercase()
                }
                Err(_) => {
                    usages.unread_files.unreadable += 1;
                    continue;
                }
            };
            match path {
                // The rest of `go.mod` names dependencies.
                "go.mod" => {
                    let module = text.lines().find(|line| line.starts_with("module "));
                    usages.own_owners.extend(module.into_iter().flat_map(repository_owners));
                }
                _ => usages.own_owners.extend(repository_owners(&text)),
            }
        }
        usages
    }
}

/// The owners of the GitHub URLs in a text.
fn repository_owners(text: &str) -> impl Iterator<Item = String> {
    let is_name = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    text.split("github.com/").skip(1).filter_map(move |after_host| {
        let (owner, rest) =
            after_host.split_at(after_host.find(|it| !is_name(it)).unwrap_or(after_host.len()));
        (rest.is_empty() || rest.starts_with('/')).then(|| owner.to_owned())
    })
}
