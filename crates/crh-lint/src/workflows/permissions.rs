//! Permissions of a workflow's token that became broader.

use std::collections::{HashMap, HashSet};

use super::workflow::jobs;
use super::yaml::{Node, Value};
use crate::Rule;
use crate::found::Found;
use crate::source::Source;
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const BROADER_PERMISSIONS: Rule = Rule {
    id: "workflows/broader-permissions",
    severity: Severity::P2,
    category: Category::Security,
    confidence: Confidence::thousandths(850),
    finds: "permissions of a workflow's token that go from reading to writing, or are no longer limited",
    also: &["excessive-permissions"],
};

/// A block of permissions.
struct Block {
    line: u32,
    /// What is allowed for everything that is not named.
    rest: Level,
    named: Vec<(String, Level, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Nothing,
    Read,
    Write,
}

impl Block {
    /// The block of a workflow or a job; none if there is none or it cannot be understood.
    fn of(place: &Node) -> Option<Self> {
        let (key, node) = place.entry("permissions")?;
        let rest = match node.word() {
            Some("write-all") => Level::Write,
            Some("read-all") => Level::Read,
            Some("") | None => Level::Nothing,
            Some(_) => return None,
        };
        let named = node.entries().iter().map(|(key, level)| {
            let level = match level.word() {
                Some("write") => Level::Write,
                Some("read") => Level::Read,
                Some(_) | None => Level::Nothing,
            };
            (key.name.clone(), level, key.line)
        });
        let line = match node.value {
            Value::Word(_) => node.line,
            Value::List(_) | Value::Map(_) => key.line,
        };
        Some(Self { line, rest, named: named.collect() })
    }

    fn level(&self, name: &str) -> Level {
        self.named.iter().find(|(own, ..)| own == name).map_or(self.rest, |(_, level, _)| *level)
    }

    fn is_write_all(&self) -> bool {
        self.rest == Level::Write
    }

    fn writes(&self) -> bool {
        self.is_write_all() || self.named.iter().any(|(_, level, _)| *level == Level::Write)
    }
}

/// What became broader, for the workflow and for each of its jobs.
pub(super) fn found(
    old: Option<(&Node, &Source<'_>)>,
    new: &Node,
    source: &Source<'_>,
) -> Vec<Found> {
    let mut found = Vec::new();
    let own = Block::of(new);
    let old_own = old.and_then(|(old, _)| Block::of(old));
    found.extend(broader(old_own.as_ref(), old_own.as_ref(), own.as_ref(), "the workflow", source));
    let old_jobs: HashMap<&str, &Node> = old
        .map(|(old, _)| jobs(old).iter().map(|(key, job)| (key.name.as_str(), job)).collect())
        .unwrap_or_default();
    let mut lost: HashSet<u32> = HashSet::new();
    for (key, job) in jobs(new) {
        let block = Block::of(job);
        let name = format!("the job `{}`", key.name);
        let Some(((_, old_source), old_job)) = old.zip(old_jobs.get(key.name.as_str())) else {
            // A job that was not there before has what it needs; only everything is too much.
            found.extend(broader(None, None, block.as_ref(), &name, source));
            continue;
        };
        let old_block = Block::of(old_job);
        let limits = old_block.as_ref().or(old_own.as_ref());
        if block.is_some() {
            found.extend(broader(old_block.as_ref(), limits, block.as_ref(), &name, source));
        } else if let Some(limits) = limits
            && has_no_block(new)
            && has_no_block(job)
            && !limits.writes()
            && lost.insert(limits.line)
        {
            found.push(removed(limits, &name, old_source, source.path));
        }
    }
    found
}

fn has_no_block(place: &Node) -> bool {
    place.get("permissions").is_none()
}

/// What a block allows that was not allowed before: by the same block, or by what held in its place.
fn broader(
    same: Option<&Block>,
    limits: Option<&Block>,
    new: Option<&Block>,
    name: &str,
    source: &Source<'_>,
) -> Option<Found> {
    let new = new?;
    if new.is_write_all() {
        let was = same.or(limits).is_some_and(Block::is_write_all);
        return (!was).then(|| {
            Found::new(&BROADER_PERMISSIONS, source.path, new.line, source.line(new.line)).saying(
                format!("`write-all` gives {name} every permission"),
                "Every step and every action in it can then change code, releases, packages and settings of the repository with the token.",
                "Name the permissions that are needed, and leave the others out.",
            )
        });
    }
    let limits = limits?;
    let wider: Vec<&(String, Level, u32)> = new
        .named
        .iter()
        .filter(|(scope, level, _)| *level == Level::Write && limits.level(scope) < Level::Write)
        .collect();
    let (first, _, line) = wider.first()?;
    let scopes: Vec<String> = wider.iter().map(|(scope, ..)| format!("`{scope}: write`")).collect();
    let more = match scopes.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let scopes = scopes.join(", ");
    Some(Found::new(&BROADER_PERMISSIONS, source.path, *line, source.line(*line)).saying(
        format!("The token of {name} can now write: `{first}`{more}"),
        format!(
            "Before this change {name} had no {scopes}. Every step and every action in it gets this permission, also one that is taken over."
        ),
        "Give it to the one job that needs it, or leave it at `read` if none does.",
    ))
}

fn removed(block: &Block, name: &str, old: &Source<'_>, path: &str) -> Found {
    let mut found = Found::new(&BROADER_PERMISSIONS, path, block.line, old.line(block.line)).saying(
        "The limit on the token's permissions is gone",
        format!(
            "Before this change {name} could only read. Without a `permissions` block its token has what the repository or organisation gives by default, which may be to write everywhere."
        ),
        "Keep the block, with what is needed added to it.",
    );
    found.side = Some(Side::Old);
    found
}
