//! The workflows and actions of the repository, read once per change.

use std::cell::Cell;
use std::sync::OnceLock;

use super::actions::ActionUsages;
use super::workflow::triggers;
use super::yaml::YamlNode;
use super::{is_action, is_workflow};
use crate::{ChangeView, Project};
use crh_review::finding::Side;

const FILES_MAX: usize = 100;

/// Workflows and actions of the repository, read on first use.
#[derive(Default)]
pub(crate) struct RepoWorkflows {
    usages: OnceLock<ActionUsages>,
    followed_workflows: OnceLock<FollowedWorkflows>,
}

/// Workflows after the change. A `workflow_run` trigger can follow them.
#[derive(Default)]
struct FollowedWorkflows {
    /// Names of workflows, and whether each runs for pull requests.
    workflows: Vec<(String, bool)>,
    unread_count: usize,
}

/// Repository queries while one file is checked. Counts files that could not be read.
pub(super) struct WorkflowQuery<'a> {
    change: &'a ChangeView<'a>,
    unread_count: Cell<usize>,
}

impl<'a> WorkflowQuery<'a> {
    pub(super) fn new(change: &'a ChangeView<'a>) -> Self {
        Self { change, unread_count: Cell::new(0) }
    }

    /// How the repository used actions before the change.
    pub(super) fn usages(&self) -> &'a ActionUsages {
        let (usages, project) = (&self.change.workflows.usages, self.change.project);
        let usages = usages.get_or_init(|| project.map(ActionUsages::new).unwrap_or_default());
        self.unread_count.set(self.unread_count.get().max(usages.unread_count));
        usages
    }

    /// Whether one of these workflows runs for pull requests; `true` if none is known.
    pub(super) fn may_come_from_strangers(&self, workflow_names: &[&str]) -> bool {
        let (cell, project) = (&self.change.workflows.followed_workflows, self.change.project);
        let followed_workflows =
            cell.get_or_init(|| project.map(FollowedWorkflows::new).unwrap_or_default());
        self.unread_count.set(self.unread_count.get().max(followed_workflows.unread_count));
        let matching_workflows = followed_workflows
            .workflows
            .iter()
            .filter(|(name, _)| workflow_names.contains(&name.as_str()));
        let mut matching_workflows = matching_workflows.peekable();
        matching_workflows.peek().is_none()
            || matching_workflows.any(|(_, is_for_pull_requests)| *is_for_pull_requests)
    }

    /// Number of needed files that could not be read.
    pub(super) fn unread_count(&self) -> usize {
        self.unread_count.get()
    }
}

impl FollowedWorkflows {
    fn new(project: &dyn Project) -> Self {
        let mut followed_workflows = Self::default();
        followed_workflows.unread_count =
            read_workflows(project, Side::New, is_workflow, |path, node| {
                let name = node.get("name").and_then(YamlNode::scalar).unwrap_or(path);
                let is_for_pull_requests =
                    triggers(node).iter().any(|(trigger, _)| trigger.starts_with("pull_request"));
                followed_workflows.workflows.push((name.to_owned(), is_for_pull_requests));
            });
        followed_workflows
    }
}

/// Calls `visit` for each selected file of one side. Files that are not YAML are skipped. Returns
/// how many files could not be read.
pub(super) fn read_workflows(
    project: &dyn Project,
    side: Side,
    selects: impl Fn(&str) -> bool,
    mut visit: impl FnMut(&str, &YamlNode),
) -> usize {
    let Ok(paths) = project.paths(side) else { return 1 };
    let mut unread_count = 0;
    for path in paths.iter().filter(|path| selects(path)).take(FILES_MAX) {
        match project.file(side, path) {
            Ok(Some(bytes)) => {
                if let Ok(node) = YamlNode::parse(&String::from_utf8_lossy(&bytes)) {
                    visit(path, &node);
                }
            }
            Ok(None) => {}
            Err(_) => unread_count += 1,
        }
    }
    unread_count
}

pub(super) fn uses_actions(path: &str) -> bool {
    is_workflow(path) || is_action(path)
}
