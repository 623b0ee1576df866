//! Actions of others that are no longer, or not from the start, pinned to a commit.

use std::collections::{HashMap, HashSet};

use super::around;
use super::around::Asking;
use super::workflow::{jobs, steps};
use super::yaml::Node;
use crate::found::Found;
use crate::source::Source;
use crate::{Project, Rule};
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const UNPINNED_ACTION: Rule = Rule {
    id: "workflows/unpinned-action",
    severity: Severity::P2,
    category: Category::Security,
    confidence: Confidence::thousandths(800),
    finds: "somebody else's action that is newly used, or no longer pinned, at a name that its owner can move",
    also: &["unpinned-uses"],
};

/// Owners whose actions are the platform's own.
const PLATFORM: [&str; 2] = ["actions", "github"];
/// Its names choose what it installs: it cannot be used otherwise.
const NAMED_BY_DESIGN: [&str; 1] = ["dtolnay/rust-toolchain"];
/// Names that move with every commit. Other names than versions are often what an action's documentation asks for.
const BRANCHES: [&str; 6] = ["main", "master", "develop", "dev", "trunk", "head"];
/// Files that say where a repository lives.
const OWN_NAMES: [&str; 5] =
    ["package.json", "Cargo.toml", "pyproject.toml", "composer.json", "go.mod"];

/// A use of somebody's action.
struct Use {
    /// The action, in lower case, without what stands behind the `@`.
    action: String,
    reference: String,
    line: u32,
    /// Whether a whole workflow is used rather than an action.
    is_workflow: bool,
}

impl Use {
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

/// How an action was used.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    times: usize,
    pinned: usize,
    at_branch: usize,
}

impl Usage {
    fn add(&mut self, it: &Use) {
        self.times += 1;
        self.pinned += usize::from(it.is_pinned());
        self.at_branch += usize::from(it.is_branch());
    }

    fn is_all_pinned(self) -> bool {
        self.times > 0 && self.pinned == self.times
    }
}

/// Uses that this change made looser, one for each action.
pub(super) fn found(
    asking: &Asking<'_>,
    old: Option<&Node>,
    new: &Node,
    source: &Source<'_>,
) -> Vec<Found> {
    let mut before: HashMap<String, Usage> = HashMap::new();
    for it in old.map(uses).unwrap_or_default() {
        before.entry(it.action.clone()).or_default().add(&it);
    }
    let mut seen: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for it in uses(new).into_iter().filter(|it| !it.is_pinned()) {
        let same = before.get(&it.action).copied().unwrap_or_default();
        let is_news = same.times == 0 || same.is_all_pinned() || it.is_branch();
        if !is_news || seen.contains(&it.action) {
            continue;
        }
        let usages = asking.usages();
        let Some(loose) = loosened(&it, same, usages) else { continue };
        if !usages.own.contains(it.owner()) {
            found.push(said(&it, loose, source));
        }
        seen.insert(it.action);
    }
    together(found, source)
}

/// New actions of one file are one matter: the first stands for all, and names them. What somebody has said a word about stays alone,
/// so that no comment silences its neighbours.
fn together(found: Vec<Found>, source: &Source<'_>) -> Vec<Found> {
    let has_word = |line: u32| source.line(line).contains("ignore");
    let (mut alone, mut new): (Vec<Found>, Vec<Found>) = found.into_iter().partition(|it| {
        it.severity != Severity::P3 || has_word(it.line) || has_word(it.line.saturating_sub(1))
    });
    let others = new.split_off(new.len().min(1));
    if let (Some(first), false) = (new.first_mut(), others.is_empty()) {
        let lines: Vec<String> = others.iter().map(|it| it.line.to_string()).collect();
        let (s, lines) = (if lines.len() == 1 { "" } else { "s" }, lines.join(", "));
        first.why += &format!(" The same goes for {} more, at line{s} {lines}.", others.len());
        first.witnesses = others.into_iter().map(|it| (it.file, it.line, it.snippet)).collect();
    }
    alone.extend(new);
    alone.sort_by_key(|it| it.line);
    alone
}

/// In which way a use is looser than what was there.
#[derive(Clone, Copy)]
enum Loose {
    WasPinned,
    AtBranch,
    NewOwner,
    OthersArePinned,
}

fn loosened(it: &Use, same: Usage, usages: &Usages) -> Option<Loose> {
    if same.is_all_pinned() {
        return Some(Loose::WasPinned);
    }
    // Whole workflows are mostly shared within an organisation, which cannot be seen from here.
    if it.is_workflow || NAMED_BY_DESIGN.contains(&it.action.as_str()) {
        return None;
    }
    let elsewhere = usages.by_action.get(&it.action).copied().unwrap_or_default();
    if it.is_branch() {
        return (same.at_branch + elsewhere.at_branch == 0).then_some(Loose::AtBranch);
    }
    if same.times > 0 || elsewhere.times > elsewhere.pinned {
        return None;
    }
    if usages.all.pinned > 0 && usages.all.pinned * 2 >= usages.all.times {
        return Some(Loose::OthersArePinned);
    }
    (!usages.owners.contains(it.owner())).then_some(Loose::NewOwner)
}

fn said(it: &Use, loose: Loose, source: &Source<'_>) -> Found {
    let Use { action, reference, line, .. } = it;
    let owner = it.owner();
    let (title, how, severity) = match loose {
        Loose::WasPinned => (
            format!("`{action}` is no longer pinned to a commit"),
            "Before this change the workflow ran one known commit of it.",
            Severity::P2,
        ),
        Loose::AtBranch => (
            format!("`{action}` is used at the branch `{reference}`"),
            "A branch moves with every commit.",
            Severity::P2,
        ),
        Loose::NewOwner => (
            format!("`{action}` is new here and not pinned to a commit"),
            "Nothing of this owner ran here before.",
            Severity::P3,
        ),
        Loose::OthersArePinned => (
            format!("`{action}` is not pinned to a commit as the others are"),
            "The other actions of third parties here are pinned.",
            Severity::P3,
        ),
    };
    let mut found = Found::new(&UNPINNED_ACTION, source.path, *line, source.line(*line)).saying(
        title,
        format!(
            "Whoever controls `{owner}` can move `{reference}` to other code at any time, and it then runs with this job's token and secrets. {how}"
        ),
        match action.starts_with("docker://") {
            true => format!("Pin the image by its digest: `{action}@sha256:…`."),
            false => format!("Pin it to the full commit hash behind `{reference}`, with the version in a comment: `{action}@<hash> # {reference}`."),
        },
    );
    found.severity = severity;
    found
}

/// The actions of third parties that a workflow or an action uses.
fn uses(root: &Node) -> Vec<Use> {
    let steps = steps(root).into_iter().map(|step| (step.node, false));
    let called = jobs(root).iter().map(|(_, job)| (job, true));
    let places = steps.chain(called).filter_map(|(node, is_workflow)| {
        let uses = node.get("uses")?;
        Some((uses.word()?, uses.line, is_workflow))
    });
    places
        .filter(|(uses, ..)| !uses.starts_with('.') && !uses.contains("${{"))
        .filter_map(|(uses, line, is_workflow)| {
            let (action, reference) = split(uses)?;
            let action = action.to_ascii_lowercase();
            Some(Use { action, reference: reference.to_owned(), line, is_workflow })
        })
        .filter(|it| !PLATFORM.contains(&it.owner()))
        .collect()
}

/// An action and its version; an image is split at its digest or its tag.
fn split(uses: &str) -> Option<(&str, &str)> {
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
pub(super) struct Usages {
    by_action: HashMap<String, Usage>,
    owners: HashSet<String>,
    all: Usage,
    /// The owners in whose names the repository says that it lives, in lower case.
    own: HashSet<String>,
    /// How many files could not be read.
    pub(super) unread: usize,
}

impl Usages {
    pub(super) fn new(project: &dyn Project) -> Self {
        let mut usages = Self::default();
        let unread = around::read(project, Side::Old, around::uses_actions, |_, node| {
            for it in uses(node) {
                usages.owners.insert(it.owner().to_owned());
                usages.all.add(&it);
                usages.by_action.entry(it.action.clone()).or_default().add(&it);
            }
        });
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
                // The rest of the file names what others wrote.
                "go.mod" => {
                    let module = text.lines().find(|line| line.starts_with("module "));
                    usages.own.extend(module.into_iter().flat_map(owners));
                }
                _ => usages.own.extend(owners(&text)),
            }
        }
        usages
    }
}

/// The owners of the repositories that a text names by their addresses.
fn owners(text: &str) -> impl Iterator<Item = String> {
    let is_name = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    text.split("github.com/").skip(1).filter_map(move |behind| {
        let (owner, rest) = behind.split_at(behind.find(|it| !is_name(it)).unwrap_or(behind.len()));
        (rest.is_empty() || rest.starts_with('/')).then(|| owner.to_owned())
    })
}
