//! The workflows and actions of the repository, read once per change.

use std::cell::Cell;
use std::sync::OnceLock;

use super::actions::ActionUsages;
use super::workflow::triggers;
use super::yaml::YamlNode;
use super::{is_action, is_workflow};
use crate::{ChangeView, Project};
use crh_review::finding::Side;

/// Maximum number of workflows and actions to read. Hardly any repository has more.
pub(super) const FILES_MAX: usize = 100;

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
    unread_files: UnreadFiles,
}

/// Numbers of files of the repository that a check needs, but that crh did not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct UnreadFiles {
    /// Number of files that could not be read.
    pub(super) unreadable: usize,
    /// Number of files over [`FILES_MAX`].
    pub(super) over_limit: usize,
}

/// Repository queries while one file is checked. Counts files that were not read.
pub(super) struct WorkflowQuery<'a> {
    change: &'a ChangeView<'a>,
    unread_files: Cell<UnreadFiles>,
}

impl<'a> WorkflowQuery<'a> {
    pub(super) fn new(change: &'a ChangeView<'a>) -> Self {
        Self { change, unread_files: Cell::default() }
    }

    /// How the repository used actions before the change.
    pub(super) fn usages(&self) -> &'a ActionUsages {
        let (usages, project) = (&self.change.workflows.usages, self.change.project);
        let usages = usages.get_or_init(|| project.map(ActionUsages::new).unwrap_or_default());
        self.add_unread_files(usages.unread_files);
        usages
    }

    /// Whether one of these workflows runs for pull requests; `true` if none is known.
    pub(super) fn may_come_from_strangers(&self, workflow_names: &[&str]) -> bool {
        let (cell, project) = (&self.change.workflows.followed_workflows, self.change.project);
        let followed_workflows =
            cell.get_or_init(|| project.map(FollowedWorkflows::new).unwrap_or_default());
        self.add_unread_files(followed_workflows.unread_files);
        let matching_workflows = followed_workflows
            .workflows
            .iter()
            .filter(|(name, _)| workflow_names.contains(&name.as_str()));
        let mut matching_workflows = matching_workflows.peekable();
        matching_workflows.peek().is_none()
            || matching_workflows.any(|(_, is_for_pull_requests)| *is_for_pull_requests)
    }

    /// The two sides of a repository mostly have the same files, so only the larger number counts.
    fn add_unread_files(&self, added: UnreadFiles) {
        let known = self.unread_files.get();
        self.unread_files.set(UnreadFiles {
            unreadable: known.unreadable.max(added.unreadable),
            over_limit: known.over_limit.max(added.over_limit),
        });
    }

    /// Numbers of needed files that were not read.
    pub(super) fn unread_files(&self) -> UnreadFiles {
        self.unread_files.get()
    }
}

impl FollowedWorkflows {
    fn new(project: &dyn Project) -> Self {
        let mut followed_workflows = Self::default();
        followed_workflows.unread_files =
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
/// how many files were not read.
pub(super) fn read_workflows(
    project: &dyn Project,
    side: Side,
    selects: impl Fn(&str) -> bool,
    mut visit: impl FnMut(&str, &YamlNode),
) -> UnreadFiles {
    let mut unread_files = UnreadFiles::default();
    let Ok(paths) = project.paths(side) else {
        unread_files.unreadable += 1;
        return unread_files;
    };
    for (index, path) in paths.iter().filter(|path| selects(path)).enumerate() {
        if index >= FILES_MAX {
            unread_files.over_limit += 1;
            continue;
        }
        match project.file(side, path) {
            Ok(Some(bytes)) => {
                if let Ok(node) = YamlNode::parse(&String::from_utf8_lossy(&bytes)) {
                    visit(path, &node);
                }
            }
            Ok(None) => {}
            Err(_) => unread_files.unreadable += 1,
        }
    }
    unread_files
}

pub(super) fn uses_actions(path: &str) -> bool {
    is_workflow(path) || is_action(path)
}
