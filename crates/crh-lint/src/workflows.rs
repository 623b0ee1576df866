//! GitHub workflows that give an attacker more than they had.

mod actions;
#[path = "workflows/repo_workflows.rs"]
mod around;
mod checkout;
mod expression;
mod permissions;
mod script;
mod workflow;
mod yaml;

use std::collections::HashMap;

pub(crate) use self::around::Around;
use self::around::Asking;
use self::yaml::Node;
use crate::found::Found;
use crate::look::{Look, Looked, Reviewer};
use crate::source::Source;
use crate::{ChangedFile, Rule, paths};

/// What is looked for.
pub(crate) const RULES: &[Rule] = &[
    script::SCRIPT_INJECTION,
    checkout::UNTRUSTED_CHECKOUT,
    actions::UNPINNED_ACTION,
    permissions::BROADER_PERMISSIONS,
];

/// The reviewer.
pub(crate) struct Workflows;

impl Reviewer for Workflows {
    fn name(&self) -> &'static str {
        "workflows"
    }

    fn wants(&self, file: &ChangedFile) -> bool {
        is_workflow(&file.path) || is_action(&file.path)
    }

    fn look(&self, look: &Look<'_>) -> Looked {
        let mut looked = Looked::default();
        let Some(source) = &look.new else { return looked };
        let new = match Node::read(source.text) {
            Ok(new) => new,
            Err(why) => {
                looked.notes.push(format!("the workflow `{}` was not checked: {why}", source.path));
                return looked;
            }
        };
        // What could not be read before says nothing about what is new.
        let old = look.old.as_ref().map(|old| (Node::read(old.text), old));
        let old = match &old {
            None => None,
            Some((Ok(node), old)) => Some((node, *old)),
            Some((Err(_), _)) => return looked,
        };
        looked.found.extend(look.introduced(|source| match Node::read(source.text) {
            Ok(root) => script::found(&root, source),
            Err(_) => Vec::new(),
        }));
        let asking = Asking::new(look.change);
        looked.found.extend(checkouts(look, &asking, &new, source));
        if is_workflow(source.path) {
            looked.found.extend(permissions::found(old, &new, source));
        }
        looked.found.extend(actions::found(&asking, old.map(|(old, _)| old), &new, source));
        looked.found.sort_by_key(|found| found.line);
        let unread = asking.unread();
        if unread > 0 {
            looked.notes.push(format!("`{}` was compared with the repository without {unread} of its files: they cannot be read", source.path));
        }
        looked
    }
}

/// New checkouts of strangers' code, each at a line that the change adds where there is one: what names the head, or the trigger.
fn checkouts(look: &Look<'_>, asking: &Asking<'_>, new: &Node, source: &Source<'_>) -> Vec<Found> {
    let triggers: HashMap<u32, u32> = checkout::checkouts(new, source, asking)
        .into_iter()
        .map(|it| (it.found.line, it.trigger))
        .collect();
    if triggers.is_empty() {
        return Vec::new();
    }
    let mut found = look.introduced(|source| match Node::read(source.text) {
        Ok(root) => {
            checkout::checkouts(&root, source, asking).into_iter().map(|it| it.found).collect()
        }
        Err(_) => Vec::new(),
    });
    for it in &mut found {
        let trigger = triggers.get(&it.line).copied().filter(|line| look.file.adds(*line));
        if let Some(trigger) = trigger.filter(|_| !look.file.adds(it.line)) {
            it.witnesses.push((it.file.clone(), it.line, it.snippet.clone()));
            it.line = trigger;
            source.line(trigger).clone_into(&mut it.snippet);
        }
    }
    found
}

/// Whether a file is a workflow.
fn is_workflow(path: &str) -> bool {
    let name = path.strip_prefix(".github/workflows/");
    name.is_some_and(|name| !name.contains('/') && is_yaml(name))
}

/// Whether a file describes an action.
fn is_action(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "action.yml" | "action.yaml") && !paths::is_sample(path)
}

fn is_yaml(name: &str) -> bool {
    matches!(paths::extension(name).as_str(), "yml" | "yaml")
}

#[cfg(test)]
mod tests;
