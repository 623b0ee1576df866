//! The workflows and actions of the repository, read once per change.

use std::cell::Cell;
use std::sync::OnceLock;

use super::actions::ActionUsages;
use super::workflow::triggers;
use super::yaml::YamlNode;
use super::{is_action, is_workflow};
use crate::{ChangeView, Project};
use crh_review::finding::Side;

/// Limit for workflow files that are read.
const FILES_MAX: usize = 100;

/// Workflows and actions of the repository, read on first use.
#[derive(Default)]
pub(crate) struct RepoWorkflows {
    usages: OnceLock<ActionUsages>,
    followed: OnceLock<FollowedWorkflows>,
}

/// The workflows after the change, by name.
#[derive(Default)]
struct FollowedWorkflows {
    /// Name, and whether it runs for pull requests.
    workflows: Vec<(String, bool)>,
    unread: usize,
}

/// Queries of one file check; counts files that could not be read.
pub(super) struct WorkflowQuery<'a> {
    change: &'a ChangeView<'a>,
    unread: Cell<usize>,
}

impl<'a> WorkflowQuery<'a> {
    pub(super) fn new(change: &'a ChangeView<'a>) -> Self {
        Self { change, unread: Cell::new(0) }
    }

    /// How the repository used actions before the change.
    pub(super) fn usages(&self) -> &'a ActionUsages {
        let (usages, project) = (&self.change.workflows.usages, self.change.project);
        let usages = usages.get_or_init(|| project.map(ActionUsages::new).unwrap_or_default());
        self.unread.set(self.unread.get().max(usages.unread));
        usages
    }

    /// Whether one of these workflows runs for pull requests; `true` if none is known.
    pub(super) fn may_come_from_strangers(&self, followed: &[&str]) -> bool {
        let (known, project) = (&self.change.workflows.followed, self.change.project);
        let known = known.get_or_init(|| project.map(FollowedWorkflows::new).unwrap_or_default());
        self.unread.set(self.unread.get().max(known.unread));
        let named = known.workflows.iter().filter(|(name, _)| followed.contains(&name.as_str()));
        let mut named = named.peekable();
        named.peek().is_none() || named.any(|(_, is_for_pull_requests)| *is_for_pull_requests)
    }

    /// Needed files that could not be read.
    pub(super) fn unread(&self) -> usize {
        self.unread.get()
    }
}

impl FollowedWorkflows {
    fn new(project: &dyn Project) -> Self {
        let mut all = Self::default();
        all.unread = read_workflows(project, Side::New, is_workflow, |path, node| {
            let name = node.get("name").and_then(YamlNode::scalar).unwrap_or(path);
            let is_for_pull_requests =
                triggers(node).iter().any(|(trigger, _)| trigger.starts_with("pull_request"));
            all.workflows.push((name.to_owned(), is_for_pull_requests));
        });
        all
    }
}

/// Calls `take_in` for each matching file of one side. Files that are not YAML are skipped. Returns
/// how many files could not be read.
pub(super) fn read_workflows(
    project: &dyn Project,
    side: Side,
    is_wanted: impl Fn(&str) -> bool,
    mut take_in: impl FnMut(&str, &YamlNode),
) -> usize {
    let Ok(paths) = project.paths(side) else { return 1 };
    let mut unread = 0;
    for path in paths.iter().filter(|path| is_wanted(path)).take(FILES_MAX) {
        match project.file(side, path) {
            Ok(Some(bytes)) => {
                if let Ok(node) = YamlNode::parse(&String::from_utf8_lossy(&bytes)) {
                    take_in(path, &node);
                }
            }
            Ok(None) => {}
            Err(_) => unread += 1,
        }
    }
    unread
}

pub(super) fn uses_actions(path: &str) -> bool {
    is_workflow(path) || is_action(path)
}
