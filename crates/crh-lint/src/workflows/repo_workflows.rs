//! The workflows and actions of the repository around those that are looked at: read once for a change, however many of them it touches.

use std::cell::Cell;
use std::sync::OnceLock;

use super::actions::Usages;
use super::workflow::triggers;
use super::yaml::Node;
use super::{is_action, is_workflow};
use crate::{Change, Project};
use crh_review::finding::Side;

/// More files than this are not read to learn what a repository does.
const FILES_MAX: usize = 100;

/// What the repository has, each side once somebody has asked for it.
#[derive(Default)]
pub(crate) struct Around {
    usages: OnceLock<Usages>,
    followed: OnceLock<Followed>,
}

/// The workflows after the change, by name.
#[derive(Default)]
struct Followed {
    /// The name, and whether it runs for pull requests.
    workflows: Vec<(String, bool)>,
    unread: usize,
}

/// What one look asks, with how much of the answer could not be read.
pub(super) struct Asking<'a> {
    change: &'a Change<'a>,
    unread: Cell<usize>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(change: &'a Change<'a>) -> Self {
        Self { change, unread: Cell::new(0) }
    }

    /// How the repository used actions before the change.
    pub(super) fn usages(&self) -> &'a Usages {
        let (usages, project) = (&self.change.workflows.usages, self.change.project);
        let usages = usages.get_or_init(|| project.map(Usages::new).unwrap_or_default());
        self.unread.set(self.unread.get().max(usages.unread));
        usages
    }

    /// Whether one of these workflows runs for pull requests, as far as they can be found.
    pub(super) fn may_come_from_strangers(&self, followed: &[&str]) -> bool {
        let (known, project) = (&self.change.workflows.followed, self.change.project);
        let known = known.get_or_init(|| project.map(Followed::new).unwrap_or_default());
        self.unread.set(self.unread.get().max(known.unread));
        let named = known.workflows.iter().filter(|(name, _)| followed.contains(&name.as_str()));
        let mut named = named.peekable();
        named.peek().is_none() || named.any(|(_, is_for_pull_requests)| *is_for_pull_requests)
    }

    /// How many files that the answers needed could not be read.
    pub(super) fn unread(&self) -> usize {
        self.unread.get()
    }
}

impl Followed {
    fn new(project: &dyn Project) -> Self {
        let mut all = Self::default();
        all.unread = read(project, Side::New, is_workflow, |path, node| {
            let name = node.get("name").and_then(Node::word).unwrap_or(path);
            let is_for_pull_requests =
                triggers(node).iter().any(|(trigger, _)| trigger.starts_with("pull_request"));
            all.workflows.push((name.to_owned(), is_for_pull_requests));
        });
        all
    }
}

/// Reads such files on one side; what is no YAML says nothing. How many could not be read.
pub(super) fn read(
    project: &dyn Project,
    side: Side,
    is_wanted: impl Fn(&str) -> bool,
    mut take_in: impl FnMut(&str, &Node),
) -> usize {
    let Ok(paths) = project.paths(side) else { return 1 };
    let mut unread = 0;
    for path in paths.iter().filter(|path| is_wanted(path)).take(FILES_MAX) {
        match project.file(side, path) {
            Ok(Some(bytes)) => {
                if let Ok(node) = Node::read(&String::from_utf8_lossy(&bytes)) {
                    take_in(path, &node);
                }
            }
            Ok(None) => {}
            Err(_) => unread += 1,
        }
    }
    unread
}

/// Whether a file uses actions.
pub(super) fn uses_actions(path: &str) -> bool {
    is_workflow(path) || is_action(path)
}
