//! Checkouts of untrusted code in a run that has the repository's secrets.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::expression::ValueFlow;
use super::repo_workflows::WorkflowQuery;
use super::workflow::{WorkflowStep, steps, triggers};
use super::yaml::YamlNode;
use crate::LintRule;
use crate::findings::FindingDraft;
use crate::source::SourceText;
use crh_review::finding::{Category, Confidence, Severity};

pub(super) const UNTRUSTED_CHECKOUT: LintRule = LintRule {
    id: "workflows/untrusted-checkout",
    severity: Severity::P1,
    category: Category::Security,
    confidence: Confidence::thousandths(850),
    summary: "a checkout of a pull request's head in a workflow that has the repository's secrets",
    aliases: &["dangerous-triggers"],
};

/// Expressions for the head of a pull request.
const HEAD_REFS: [&str; 9] = [
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

/// Expressions for the repository of a pull request's head.
const HEAD_REPOSITORIES: [&str; 7] = [
    "github.event.pull_request.head.repo.full_name",
    "github.event.pull_request.head.repo.clone_url",
    "github.event.pull_request.head.repo.git_url",
    "github.event.pull_request.head.repo.html_url",
    "github.event.pull_request.head.repo.ssh_url",
    "github.event.workflow_run.head_repository.full_name",
    "github.event.workflow_run.pull_requests.*.head.repo.full_name",
];

/// Fields that identify who caused a run. Conditions can compare these fields.
#[rustfmt::skip]
const IDENTITY_FIELDS: [&str; 6] = [
    "head.repo.full_name", "head.repo.owner", "head_repository", "user.login", "github.actor", "triggering_actor",
];

/// Nesting limit for conditions.
const NESTED_MAX: usize = 8;

/// A checkout of untrusted code.
pub(super) struct UntrustedCheckout {
    pub(super) draft: FindingDraft,
    /// Line of the dangerous trigger.
    pub(super) trigger_line: u32,
}

/// All checkouts of untrusted code in a workflow.
pub(super) fn find_checkouts(
    root: &YamlNode,
    source: &SourceText<'_>,
    query: &WorkflowQuery<'_>,
) -> Vec<UntrustedCheckout> {
    let triggers = triggers(root);
    let dangerous_trigger = triggers.iter().find(|(name, _)| match *name {
        "pull_request_target" => true,
        "workflow_run" => may_come_from_strangers(root, query),
        _ => false,
    });
    let Some((trigger, trigger_line)) = dangerous_trigger else { return Vec::new() };
    let steps = steps(root);
    let (mut checkouts, mut reported_lines): (Vec<UntrustedCheckout>, HashSet<u32>) =
        Default::default();
    for step in &steps {
        let Some((line, subject)) = checkout_of_head(step, source, trigger) else { continue };
        if step_excludes_strangers(step, trigger) || !reported_lines.insert(line) {
            continue;
        }
        let draft = FindingDraft::new(&UNTRUSTED_CHECKOUT, source.path, line, source.line(line)).with_text(
            format!("`{trigger}` with a checkout of the pull request's head"),
            format!(
                "On `{trigger}` the run has the repository's secrets and a token with write access, even for a pull request from a fork. {subject} brings the fork's files into the run. Every command that builds, tests or installs them then runs the author's code with these rights."
            ),
            format!(
                "Use `pull_request` for steps that need the code, or check out the base. If `{trigger}` is needed for its rights, do that part in a workflow that does not use the files of the pull request."
            ),
        );
        checkouts.push(UntrustedCheckout { draft, trigger_line: *trigger_line });
    }
    checkouts
}

/// Line of the expression for the pull request's head, and the start of the sentence about it.
fn checkout_of_head(
    step: &WorkflowStep<'_>,
    source: &SourceText<'_>,
    trigger: &str,
) -> Option<(u32, &'static str)> {
    if step.action().as_deref() == Some("actions/checkout") {
        let with = step.node.get("with")?;
        let head_line = |input: &str, heads: &[&str]| {
            let value = with.get(input)?;
            let flows = step.flows(value, source.text);
            let is_head = |flow: &ValueFlow| heads.iter().any(|name| flow.matches(name));
            let flow_line = flows.iter().find(|(flow, _)| is_head(flow)).map(|(_, line)| *line);
            flow_line.or_else(|| {
                let is_pull_ref = value.scalar()?.contains("refs/pull/") && !flows.is_empty();
                is_pull_ref.then_some(value.line)
            })
        };
        let line =
            head_line("ref", &HEAD_REFS).or_else(|| head_line("repository", &HEAD_REPOSITORIES))?;
        return Some((line, "The checkout"));
    }
    let run = step.node.get("run")?;
    let line = checkout_command_line(step, run, source, trigger)?;
    Some((line, "The command"))
}

/// Commands that check out the head.
static CHECKOUT_COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let head = r"\$\{\{[^}]*(?:github\.head_ref|pull_request\.head\.(?:sha|ref)|workflow_run\.head_(?:sha|branch))";
    let repository = r"\$\{\{[^}]*(?:pull_request\.head\.repo\.|workflow_run\.head_repository\.)";
    let pattern = format!(
        r"^\s*(?:[^#]*[\s;&|(])?(?:gh\s+pr\s+checkout\b|(?:git|hub)\s+(?:checkout|switch|reset|merge|worktree)\s.*{head}|git\s+(?:clone|pull)\s.*{repository})"
    );
    Regex::new(&pattern).ok()
});

/// Commands that fetch a pull request. Its files appear only after a checkout.
static FETCH_COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?:[^#]*[\s;&|(])?git\s+(?:-\S+\s+)*(?:fetch|pull)\b.*\bpull/\S.*/(?:head|merge)\b",
    )
    .ok()
});

/// Commands that check out the value of a variable.
static VARIABLE_CHECKOUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?:[^#]*[\s;&|(])?git\s+(?:-\S+\s+)*(?:checkout|switch|reset|merge|worktree|clone|pull)\s.*\$",
    )
    .ok()
});

/// Commands that create a branch: name and start point of the branch.
static NEW_BRANCH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r#"(?:"[^"]*"|'[^']*'|\$\{\{[^}]*\}\}|[^\s;&|"'])+"#;
    let pattern = format!(
        r"(?P<git>\b(?:git|hub)\s+(?:-\S+\s+)*(?:checkout|switch)\s)\s*(?:-\S+\s+)*?(?:-[bBcC]|--orphan|--create|--force-create)[\s=]\s*{name}(?P<from>[^;&|]*)"
    );
    Regex::new(&pattern).ok()
});

/// Commands that may check out a fetched commit.
static ANY_CHECKOUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"git\s+(?:-\S+\s+)*(?:pull|checkout|switch|reset|merge|worktree)\s").ok()
});

fn checkout_command_line(
    step: &WorkflowStep<'_>,
    run: &YamlNode,
    source: &SourceText<'_>,
    trigger: &str,
) -> Option<u32> {
    let (start, end) = run.bytes;
    let script = source.text.get(start..end)?;
    let matches = |regex: &LazyLock<Option<Regex>>, text: &str| {
        LazyLock::force(regex).as_ref().is_some_and(|regex| regex.is_match(text))
    };
    // A run on `workflow_run` has no pull request of its own.
    let has_pull_request = trigger == "pull_request_target";
    let lines = || (run.line..).zip(script.lines());
    let direct_checkout = lines().find(|(_, line)| {
        matches(&CHECKOUT_COMMAND, &strip_new_branch_names(line))
            && (has_pull_request
                || !line.contains("gh pr checkout")
                || line.contains("workflow_run"))
    });
    let fetch = || {
        lines()
            .find(|(_, line)| matches(&FETCH_COMMAND, line))
            .filter(|_| matches(&ANY_CHECKOUT, script))
    };
    let is_head = |flow: &ValueFlow| {
        HEAD_REFS.iter().chain(&HEAD_REPOSITORIES).any(|name| flow.matches(name))
    };
    let variable_checkout = || {
        let heads: Vec<&str> = step
            .variables()
            .filter(|(_, flows)| flows.iter().any(is_head))
            .map(|it| it.0)
            .collect();
        lines().find(|(_, line)| {
            let line = strip_new_branch_names(line);
            matches(&VARIABLE_CHECKOUT, &line) && heads.iter().any(|name| has_variable(&line, name))
        })
    };
    direct_checkout.or_else(fetch).or_else(variable_checkout).map(|(line, _)| line)
}

/// Removes the names of new branches from a shell line. A new branch that is named like the head
/// contains the current files, unless the branch starts at a variable or a fetched commit.
fn strip_new_branch_names(line: &str) -> Cow<'_, str> {
    let Some(new_branch) = LazyLock::force(&NEW_BRANCH) else { return Cow::Borrowed(line) };
    new_branch.replace_all(line, |branch_creation: &Captures<'_>| match &branch_creation["from"] {
        from if from.contains("FETCH_HEAD") => branch_creation[0].to_owned(),
        from if from.contains('$') => format!("{}{from}", &branch_creation["git"]),
        _ => String::new(),
    })
}

/// Whether a shell line uses a variable.
fn has_variable(line: &str, name: &str) -> bool {
    let mut parts = line.split('$').skip(1);
    parts.any(|part| {
        let part = part.strip_prefix('{').unwrap_or(part);
        let rest = part.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
    })
}

/// Whether a condition of the step excludes strangers (people without rights in the repository) or
/// the trigger.
fn step_excludes_strangers(step: &WorkflowStep<'_>, trigger: &str) -> bool {
    step.conditions().any(|condition| {
        let condition = condition.trim();
        let inner = condition.strip_prefix("${{").and_then(|it| it.strip_suffix("}}"));
        condition_excludes_strangers(inner.unwrap_or(condition), trigger, NESTED_MAX)
    })
}

/// Whether every alternative of a condition requires something that strangers do not have.
/// Conditions nested too deeply do not count.
fn condition_excludes_strangers(condition: &str, trigger: &str, depth: usize) -> bool {
    split_condition(condition, "||").all(|alternative| {
        split_condition(alternative, "&&").any(|clause| {
            let clause = clause.trim();
            match inside_parentheses(clause) {
                Some(inner) => depth > 0 && condition_excludes_strangers(inner, trigger, depth - 1),
                None => {
                    let requires_other_event = clause.contains("event_name")
                        && clause.contains("==")
                        && !clause.contains(trigger);
                    let excludes_trigger = clause.contains(&format!("!= '{trigger}'"));
                    requires_other_event || excludes_trigger || clause_excludes_strangers(clause)
                }
            }
        })
    })
}

/// Splits a condition at an operator outside of parentheses and quotes.
fn split_condition<'c>(condition: &'c str, sign: &'static str) -> impl Iterator<Item = &'c str> {
    let mut rest = Some(condition);
    std::iter::from_fn(move || {
        let text = rest?;
        let (mut depth, mut is_quoted) = (0_usize, false);
        let end = text.bytes().enumerate().find_map(|(offset, byte)| {
            match byte {
                b'\'' => is_quoted = !is_quoted,
                b'(' if !is_quoted => depth += 1,
                b')' if !is_quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
            let is_end =
                depth == 0 && !is_quoted && text.as_bytes()[offset..].starts_with(sign.as_bytes());
            is_end.then_some(offset)
        });
        rest = end.map(|end| &text[end + sign.len()..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// The content of the parentheses around a whole clause. The clause has no operator outside of
/// parentheses, so the first parenthesis matches the last.
fn inside_parentheses(clause: &str) -> Option<&str> {
    clause.strip_prefix('(')?.strip_suffix(')')
}

/// Whether a clause requires a known person, or an act that only a known person can do.
fn clause_excludes_strangers(clause: &str) -> bool {
    let is_negated = clause.starts_with('!');
    let requires_identity = clause.contains("==")
        && !is_negated
        && IDENTITY_FIELDS.iter().any(|field| clause.contains(field));
    let excludes_forks = clause.contains(".fork") && (is_negated || clause.contains("false"));
    let is_word_end = |offset: usize| {
        !clause[offset..].starts_with(|it: char| it.is_alphanumeric() || "-_".contains(it))
    };
    let mut labels = clause.match_indices(".labels").map(|(offset, name)| offset + name.len());
    let mentions_label = labels.any(is_word_end) || clause.contains("event.label.name");
    let requires_label = mentions_label && !is_negated && !clause.contains("!=");
    let is_other_event =
        clause.contains("workflow_run.event") && !clause.contains("== 'pull_request");
    requires_identity
        || excludes_forks
        || requires_label
        || is_other_event
        || clause.contains("author_association")
}

/// Whether a workflow that triggers this one may run for a stranger's pull request.
fn may_come_from_strangers(root: &YamlNode, query: &WorkflowQuery<'_>) -> bool {
    let trigger = root.get("on").and_then(|on| on.get("workflow_run"));
    let workflow_names: Vec<&str> = trigger
        .and_then(|on| on.get("workflows"))
        .map(|names| names.list().iter().chain([names]).filter_map(YamlNode::scalar).collect())
        .unwrap_or_default();
    query.may_come_from_strangers(&workflow_names)
}
