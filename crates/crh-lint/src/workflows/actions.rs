//! Third-party actions that are not pinned to a commit, or no longer.

use std::collections::{HashMap, HashSet};

use super::repo_workflows;
use super::repo_workflows::WorkflowQuery;
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

/// Owners of the platform's own actions.
const PLATFORM_OWNERS: [&str; 2] = ["actions", "github"];
/// Actions whose ref selects what they install, so they cannot be pinned.
const NAMED_BY_DESIGN: [&str; 1] = ["dtolnay/rust-toolchain"];
/// Branch names. Other names that are not versions are often required by an action's documentation.
const BRANCHES: [&str; 6] = ["main", "master", "develop", "dev", "trunk", "head"];
/// Files that contain the repository's URL.
const OWN_NAMES: [&str; 5] =
    ["package.json", "Cargo.toml", "pyproject.toml", "composer.json", "go.mod"];

/// A use of an action.
struct ActionUse {
    /// The action in lower case, without the ref.
    action: String,
    reference: String,
    line: u32,
    /// Whether it is a reusable workflow.
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

/// How often an action was used, and how.
#[derive(Debug, Clone, Copy, Default)]
struct ActionUsage {
    times: usize,
    pinned: usize,
    at_branch: usize,
}

impl ActionUsage {
    fn add(&mut self, it: &ActionUse) {
        self.times += 1;
        self.pinned += usize::from(it.is_pinned());
        self.at_branch += usize::from(it.is_branch());
    }

    fn is_all_pinned(self) -> bool {
        self.times > 0 && self.pinned == self.times
    }
}

/// Reports uses that the change loosens, one per action.
pub(super) fn check(
    query: &WorkflowQuery<'_>,
    old: Option<&YamlNode>,
    new: &YamlNode,
    source: &SourceText<'_>,
) -> Vec<FindingDraft> {
    let mut before: HashMap<String, ActionUsage> = HashMap::new();
    for it in old.map(action_uses).unwrap_or_default() {
        before.entry(it.action.clone()).or_default().add(&it);
    }
    let mut seen: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for it in action_uses(new).into_iter().filter(|it| !it.is_pinned()) {
        let same = before.get(&it.action).copied().unwrap_or_default();
        let is_news = same.times == 0 || same.is_all_pinned() || it.is_branch();
        if !is_news || seen.contains(&it.action) {
            continue;
        }
        let usages = query.usages();
        let Some(loose) = pinning_loss(&it, same, usages) else { continue };
        if !usages.own.contains(it.owner()) {
            found.push(finding(&it, loose, source));
        }
        seen.insert(it.action);
    }
    group_new_actions(found, source)
}

/// Merges new actions of one file into one finding. A line with a comment about ignoring stays
/// separate, so that no comment suppresses its neighbours.
fn group_new_actions(found: Vec<FindingDraft>, source: &SourceText<'_>) -> Vec<FindingDraft> {
    let has_word = |line: u32| source.line(line).contains("ignore");
    let (mut alone, mut new): (Vec<FindingDraft>, Vec<FindingDraft>) =
        found.into_iter().partition(|it| {
            it.severity != Severity::P3 || has_word(it.line) || has_word(it.line.saturating_sub(1))
        });
    let others = new.split_off(new.len().min(1));
    if let (Some(first), false) = (new.first_mut(), others.is_empty()) {
        let lines: Vec<String> = others.iter().map(|it| it.line.to_string()).collect();
        let (s, lines) = (if lines.len() == 1 { "" } else { "s" }, lines.join(", "));
        first.why += &format!(" The same applies to {} more, at line{s} {lines}.", others.len());
        first.witnesses = others.into_iter().map(|it| (it.file, it.line, it.snippet)).collect();
    }
    alone.extend(new);
    alone.sort_by_key(|it| it.line);
    alone
}

/// How a use is looser than before.
#[derive(Clone, Copy)]
enum PinningLoss {
    WasPinned,
    AtBranch,
    NewOwner,
    OthersArePinned,
}

fn pinning_loss(it: &ActionUse, same: ActionUsage, usages: &ActionUsages) -> Option<PinningLoss> {
    if same.is_all_pinned() {
        return Some(PinningLoss::WasPinned);
    }
    // Reusable workflows are mostly shared within an organisation, which is not visible here.
    if it.is_workflow || NAMED_BY_DESIGN.contains(&it.action.as_str()) {
        return None;
    }
    let elsewhere = usages.by_action.get(&it.action).copied().unwrap_or_default();
    if it.is_branch() {
        return (same.at_branch + elsewhere.at_branch == 0).then_some(PinningLoss::AtBranch);
    }
    if same.times > 0 || elsewhere.times > elsewhere.pinned {
        return None;
    }
    if usages.all.pinned > 0 && usages.all.pinned * 2 >= usages.all.times {
        return Some(PinningLoss::OthersArePinned);
    }
    (!usages.owners.contains(it.owner())).then_some(PinningLoss::NewOwner)
}

fn finding(it: &ActionUse, loose: PinningLoss, source: &SourceText<'_>) -> FindingDraft {
    let ActionUse { action, reference, line, .. } = it;
    let owner = it.owner();
    let (title, how, severity) = match loose {
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
    let mut found = FindingDraft::new(&UNPINNED_ACTION, source.path, *line, source.line(*line)).with_text(
        title,
        format!(
            "The owner `{owner}` can move `{reference}` to other code at any time, which then runs with this job's token and secrets. {how}"
        ),
        match action.starts_with("docker://") {
            true => format!("Pin the image by its digest: `{action}@sha256:…`."),
            false => format!("Pin it to the full commit hash behind `{reference}`, with the version in a comment: `{action}@<hash> # {reference}`."),
        },
    );
    found.severity = severity;
    found
}

/// The third-party actions that a workflow or an action uses.
fn action_uses(root: &YamlNode) -> Vec<ActionUse> {
    let steps = steps(root).into_iter().map(|step| (step.node, false));
    let called = jobs(root).iter().map(|(_, job)| (job, true));
    let places = steps.chain(called).filter_map(|(node, is_workflow)| {
        let uses = node.get("uses")?;
        Some((uses.scalar()?, uses.line, is_workflow))
    });
    places
        .filter(|(uses, ..)| !uses.starts_with('.') && !uses.contains("${{"))
        .filter_map(|(uses, line, is_workflow)| {
            let (action, reference) = split_reference(uses)?;
            let action = action.to_ascii_lowercase();
            Some(ActionUse { action, reference: reference.to_owned(), line, is_workflow })
        })
        .filter(|it| !PLATFORM_OWNERS.contains(&it.owner()))
        .collect()
}

/// Splits an action and its ref; an image at its digest or tag.
fn split_reference(uses: &str) -> Option<(&str, &str)> {
    if let Some(split) = uses.split_once('@') {
        return Some(split);
    }
    let image = uses.strip_prefix("docker://")?;
    let colon =
        uses.len() - image.len() + image.rfind(':').filter(|at| !image[*at..].contains('/'))?;
    Some((&uses[..colon], &uses[colon + 1..]))
}

/// How the repository used actions before the change.
#[derive(Default)]
pub(super) struct ActionUsages {
    by_action: HashMap<String, ActionUsage>,
    owners: HashSet<String>,
    all: ActionUsage,
    /// Owners in the repository's own URLs, in lower case.
    own: HashSet<String>,
    /// Files that could not be read.
    pub(super) unread: usize,
}

impl ActionUsages {
    pub(super) fn new(project: &dyn Project) -> Self {
        let mut usages = Self::default();
        let unread = repo_workflows::read_workflows(
            project,
            Side::Old,
            repo_workflows::uses_actions,
            |_, node| {
                for it in action_uses(node) {
                    usages.owners.insert(it.owner().to_owned());
                    usages.all.add(&it);
                    usages.by_action.entry(it.action.clone()).or_default().add(&it);
                }
            },
        );
        usages.unread += unread;
        for path in OWN_NAMES {
            let text = match project.file(Side::Old, path) {
                Ok(bytes) => {
                    String::from_utf8_lossy(&bytes.unwrap_or_default()).to_ascii_lowercase()
                }
                Err(_) => {
                    usages.unread += 1;
                    continue;
                }
            };
            match path {
                // The rest of the file names dependencies.
                "go.mod" => {
                    let module = text.lines().find(|line| line.starts_with("module "));
                    usages.own.extend(module.into_iter().flat_map(repository_owners));
                }
                _ => usages.own.extend(repository_owners(&text)),
            }
        }
        usages
    }
}

/// The owners of the GitHub URLs in a text.
fn repository_owners(text: &str) -> impl Iterator<Item = String> {
    let is_name = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    text.split("github.com/").skip(1).filter_map(move |behind| {
        let (owner, rest) = behind.split_at(behind.find(|it| !is_name(it)).unwrap_or(behind.len()));
        (rest.is_empty() || rest.starts_with('/')).then(|| owner.to_owned())
    })
}
