//! Checkouts of a stranger's code in a run that has the repository's secrets.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::around::Asking;
use super::expression::Flow;
use super::workflow::{Step, steps, triggers};
use super::yaml::Node;
use crate::Rule;
use crate::found::Found;
use crate::source::Source;
use crh_review::finding::{Category, Confidence, Severity};

pub(super) const UNTRUSTED_CHECKOUT: Rule = Rule {
    id: "workflows/untrusted-checkout",
    severity: Severity::P1,
    category: Category::Security,
    confidence: Confidence::thousandths(850),
    finds: "a checkout of a pull request's head in a workflow that runs with the repository's secrets",
    also: &["dangerous-triggers"],
};

/// What names the code of a pull request's author.
const HEADS: [&str; 9] = [
    "github.head_ref",
    "github.event.pull_request.head.sha",
    "github.event.pull_request.head.ref",
    "github.event.pull_request.merge_commit_sha",
    "github.event.workflow_run.head_sha",
    "github.event.workflow_run.head_branch",
    "github.event.workflow_run.head_commit.id",
    "github.event.workflow_run.pull_requests.*.head.sha",
    "github.event.workflow_run.pull_requests.*.head.ref",
];

/// What names the repository of a pull request's author.
const HEAD_REPOSITORIES: [&str; 7] = [
    "github.event.pull_request.head.repo.full_name",
    "github.event.pull_request.head.repo.clone_url",
    "github.event.pull_request.head.repo.git_url",
    "github.event.pull_request.head.repo.html_url",
    "github.event.pull_request.head.repo.ssh_url",
    "github.event.workflow_run.head_repository.full_name",
    "github.event.workflow_run.pull_requests.*.head.repo.full_name",
];

/// What names whoever a run is for, so that a condition can ask for one that is known.
const WHO: [&str; 6] = [
    "head.repo.full_name",
    "head.repo.owner",
    "head_repository",
    "user.login",
    "github.actor",
    "triggering_actor",
];

/// Brackets in a condition are followed so deep; people write one or two.
const NESTED_MAX: usize = 8;

/// A checkout of a stranger's code.
pub(super) struct Checkout {
    pub(super) found: Found,
    /// The line of the trigger that makes it dangerous.
    pub(super) trigger: u32,
}

/// All checkouts of strangers' code in a workflow.
pub(super) fn checkouts(root: &Node, source: &Source<'_>, asking: &Asking<'_>) -> Vec<Checkout> {
    let triggers = triggers(root);
    let dangerous = triggers.iter().find(|(name, _)| match *name {
        "pull_request_target" => true,
        "workflow_run" => may_come_from_strangers(root, asking),
        _ => false,
    });
    let Some((trigger, trigger_line)) = dangerous else { return Vec::new() };
    let steps = steps(root);
    let (mut found, mut seen): (Vec<Checkout>, HashSet<u32>) = Default::default();
    for step in &steps {
        let Some((line, what)) = checked_out(step, source, trigger) else { continue };
        if is_gated(step, trigger) || !seen.insert(line) {
            continue;
        }
        let it = Found::new(&UNTRUSTED_CHECKOUT, source.path, line, source.line(line)).saying(
            format!("`{trigger}` with a checkout of the pull request's head"),
            format!(
                "On `{trigger}` the run has the repository's secrets and a token that can write, also for a pull request from a fork. {what} brings that fork's files \
                 into it: whatever then builds, tests or installs them runs its author's code with those rights."
            ),
            format!(
                "Use `pull_request` for what needs the code, or leave the checkout at the base; if `{trigger}` is needed for its rights, do that part in a workflow \
                 that does not touch the files of the pull request."
            ),
        );
        found.push(Checkout { found: it, trigger: *trigger_line });
    }
    found
}

/// The line that names the head, and what does the checkout.
fn checked_out(step: &Step<'_>, source: &Source<'_>, trigger: &str) -> Option<(u32, &'static str)> {
    if step.action().as_deref() == Some("actions/checkout") {
        let with = step.node.get("with")?;
        let given = |input: &str, heads: &[&str]| {
            let value = with.get(input)?;
            let flows = step.flows(value, source.text);
            let is_head = |flow: &Flow| heads.iter().any(|name| flow.is(name));
            let found = flows.iter().find(|(flow, _)| is_head(flow)).map(|(_, line)| *line);
            found.or_else(|| {
                let is_pull = value.word()?.contains("refs/pull/") && !flows.is_empty();
                is_pull.then_some(value.line)
            })
        };
        let line = given("ref", &HEADS).or_else(|| given("repository", &HEAD_REPOSITORIES))?;
        return Some((line, "The checkout"));
    }
    let run = step.node.get("run")?;
    let line = run_line(step, run, source, trigger)?;
    Some((line, "The command"))
}

/// Commands that bring the head's files here.
static COMMANDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let head = r"\$\{\{[^}]*(?:github\.head_ref|pull_request\.head\.(?:sha|ref)|workflow_run\.head_(?:sha|branch))";
    let repository = r"\$\{\{[^}]*(?:pull_request\.head\.repo\.|workflow_run\.head_repository\.)";
    let pattern = format!(
        r"^\s*(?:[^#]*[\s;&|(])?(?:gh\s+pr\s+checkout\b|(?:git|hub)\s+(?:checkout|switch|reset|merge|worktree)\s.*{head}|git\s+(?:clone|pull)\s.*{repository})"
    );
    Regex::new(&pattern).ok()
});

/// Fetching a pull request; only with a checkout after it do its files appear.
static FETCHES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?:[^#]*[\s;&|(])?git\s+(?:-\S+\s+)*(?:fetch|pull)\b.*\bpull/\S.*/(?:head|merge)\b",
    )
    .ok()
});

/// Commands with which a variable that names the head brings its files here.
static WITH_VARIABLES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?:[^#]*[\s;&|(])?git\s+(?:-\S+\s+)*(?:checkout|switch|reset|merge|worktree|clone|pull)\s.*\$",
    )
    .ok()
});

/// A new branch: how it is called, and behind it what it begins at.
static NEW_BRANCH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r#"(?:"[^"]*"|'[^']*'|\$\{\{[^}]*\}\}|[^\s;&|"'])+"#;
    let pattern = format!(
        r"(?P<git>\b(?:git|hub)\s+(?:-\S+\s+)*(?:checkout|switch)\s)\s*(?:-\S+\s+)*?(?:-[bBcC]|--orphan|--create|--force-create)[\s=]\s*{name}(?P<from>[^;&|]*)"
    );
    Regex::new(&pattern).ok()
});

/// A checkout of whatever was fetched.
static CHECKS_OUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"git\s+(?:-\S+\s+)*(?:pull|checkout|switch|reset|merge|worktree)\s").ok()
});

fn run_line(step: &Step<'_>, run: &Node, source: &Source<'_>, trigger: &str) -> Option<u32> {
    let (start, end) = run.bytes;
    let written = source.text.get(start..end)?;
    let is = |regex: &LazyLock<Option<Regex>>, text: &str| {
        LazyLock::force(regex).as_ref().is_some_and(|regex| regex.is_match(text))
    };
    // A later run has no pull request of its own to check out.
    let has_pull = trigger == "pull_request_target";
    let lines = || (run.line..).zip(written.lines());
    let direct = lines().find(|(_, line)| {
        is(&COMMANDS, &without_new_names(line))
            && (has_pull || !line.contains("gh pr checkout") || line.contains("workflow_run"))
    });
    let fetched =
        || lines().find(|(_, line)| is(&FETCHES, line)).filter(|_| is(&CHECKS_OUT, written));
    let is_head = |flow: &Flow| HEADS.iter().chain(&HEAD_REPOSITORIES).any(|name| flow.is(name));
    let by_variable = || {
        let heads: Vec<&str> = step
            .variables()
            .filter(|(_, flows)| flows.iter().any(is_head))
            .map(|it| it.0)
            .collect();
        lines().find(|(_, line)| {
            let line = without_new_names(line);
            is(&WITH_VARIABLES, &line) && heads.iter().any(|name| has_variable(&line, name))
        })
    };
    direct.or_else(fetched).or_else(by_variable).map(|(line, _)| line)
}

/// A line of a shell without the names that it gives to new branches: a branch that is called like the head is made of what is
/// here, unless it begins at something that a variable names or that was fetched.
fn without_new_names(line: &str) -> Cow<'_, str> {
    let Some(new_branch) = LazyLock::force(&NEW_BRANCH) else { return Cow::Borrowed(line) };
    new_branch.replace_all(line, |made: &Captures<'_>| match &made["from"] {
        from if from.contains("FETCH_HEAD") => made[0].to_owned(),
        from if from.contains('$') => format!("{}{from}", &made["git"]),
        _ => String::new(),
    })
}

/// Whether a line of a shell has the value of a variable in it.
fn has_variable(line: &str, name: &str) -> bool {
    let mut behind = line.split('$').skip(1);
    behind.any(|behind| {
        let behind = behind.strip_prefix('{').unwrap_or(behind);
        let rest = behind.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
    })
}

/// Whether a condition keeps strangers out, or the trigger.
fn is_gated(step: &Step<'_>, trigger: &str) -> bool {
    step.conditions().any(|condition| {
        let condition = condition.trim();
        let inner = condition.strip_prefix("${{").and_then(|it| it.strip_suffix("}}"));
        is_gate(inner.unwrap_or(condition), trigger, NESTED_MAX)
    })
}

/// Whether each of a condition's alternatives asks, among other things, for something that strangers do not have. What is nested
/// deeper than anybody writes it is none.
fn is_gate(condition: &str, trigger: &str, depth: usize) -> bool {
    split(condition, "||").all(|alternative| {
        split(alternative, "&&").any(|clause| {
            let clause = clause.trim();
            match within_brackets(clause) {
                Some(inner) => depth > 0 && is_gate(inner, trigger, depth - 1),
                None => {
                    let is_event = clause.contains("event_name")
                        && clause.contains("==")
                        && !clause.contains(trigger);
                    let is_other = clause.contains(&format!("!= '{trigger}'"));
                    is_event || is_other || keeps_strangers_out(clause)
                }
            }
        })
    })
}

/// The parts of a condition between the signs that stand in no brackets and no quotes.
fn split<'c>(condition: &'c str, sign: &'static str) -> impl Iterator<Item = &'c str> {
    let mut rest = Some(condition);
    std::iter::from_fn(move || {
        let text = rest?;
        let (mut depth, mut is_quoted) = (0_usize, false);
        let end = text.bytes().enumerate().find_map(|(at, byte)| {
            match byte {
                b'\'' => is_quoted = !is_quoted,
                b'(' if !is_quoted => depth += 1,
                b')' if !is_quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
            let is_end =
                depth == 0 && !is_quoted && text.as_bytes()[at..].starts_with(sign.as_bytes());
            is_end.then_some(at)
        });
        rest = end.map(|at| &text[at + sign.len()..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// What stands in the brackets that a clause is wholly in. It has no sign outside of brackets, so the first and the last are a pair.
fn within_brackets(clause: &str) -> Option<&str> {
    clause.strip_prefix('(')?.strip_suffix(')')
}

/// Whether a part of a condition asks for somebody who is known, or for something that only such people can do.
fn keeps_strangers_out(clause: &str) -> bool {
    let is_not = clause.starts_with('!');
    let is_who = clause.contains("==") && !is_not && WHO.iter().any(|who| clause.contains(who));
    let is_no_fork = clause.contains(".fork") && (is_not || clause.contains("false"));
    let is_word_end =
        |at: usize| !clause[at..].starts_with(|it: char| it.is_alphanumeric() || "-_".contains(it));
    let mut labels = clause.match_indices(".labels").map(|(at, name)| at + name.len());
    let is_label = labels.any(is_word_end) || clause.contains("event.label.name");
    let has_label = is_label && !is_not && !clause.contains("!=");
    let is_other_event =
        clause.contains("workflow_run.event") && !clause.contains("== 'pull_request");
    is_who || is_no_fork || has_label || is_other_event || clause.contains("author_association")
}

/// Whether one of the workflows that this one follows may run for a stranger's pull request.
fn may_come_from_strangers(root: &Node, asking: &Asking<'_>) -> bool {
    let on = root.get("on").and_then(|on| on.get("workflow_run"));
    let followed: Vec<&str> = on
        .and_then(|on| on.get("workflows"))
        .map(|names| names.list().iter().chain([names]).filter_map(Node::word).collect())
        .unwrap_or_default();
    asking.may_come_from_strangers(&followed)
}
