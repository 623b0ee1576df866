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

/// Fields that identify who caused a run; conditions can compare them.
const IDENTITY_FIELDS: [&str; 6] = [
    "head.repo.full_name",
    "head.repo.owner",
    "head_repository",
    "user.login",
    "github.actor",
    "triggering_actor",
];

/// Nesting limit for conditions.
const NESTED_MAX: usize = 8;

/// A checkout of untrusted code.
pub(super) struct UntrustedCheckout {
    pub(super) found: FindingDraft,
    /// Line of the dangerous trigger.
    pub(super) trigger: u32,
}

/// All checkouts of untrusted code in a workflow.
pub(super) fn find_checkouts(
    root: &YamlNode,
    source: &SourceText<'_>,
    query: &WorkflowQuery<'_>,
) -> Vec<UntrustedCheckout> {
    let triggers = triggers(root);
    let dangerous = triggers.iter().find(|(name, _)| match *name {
        "pull_request_target" => true,
        "workflow_run" => may_come_from_strangers(root, query),
        _ => false,
    });
    let Some((trigger, trigger_line)) = dangerous else { return Vec::new() };
    let steps = steps(root);
    let (mut found, mut seen): (Vec<UntrustedCheckout>, HashSet<u32>) = Default::default();
    for step in &steps {
        let Some((line, what)) = checkout_of_head(step, source, trigger) else { continue };
        if is_gated(step, trigger) || !seen.insert(line) {
            continue;
        }
        let it = FindingDraft::new(&UNTRUSTED_CHECKOUT, source.path, line, source.line(line)).with_text(
            format!("`{trigger}` with a checkout of the pull request's head"),
            format!(
                "On `{trigger}` the run has the repository's secrets and a token with write access, even for a pull request from a fork. {what} brings the fork's files into the run. Every command that builds, tests or installs them then runs the author's code with these rights."
            ),
            format!(
                "Use `pull_request` for steps that need the code, or check out the base. If `{trigger}` is needed for its rights, do that part in a workflow that does not use the files of the pull request."
            ),
        );
        found.push(UntrustedCheckout { found: it, trigger: *trigger_line });
    }
    found
}

/// The line with the head, and what does the checkout.
fn checkout_of_head(
    step: &WorkflowStep<'_>,
    source: &SourceText<'_>,
    trigger: &str,
) -> Option<(u32, &'static str)> {
    if step.action().as_deref() == Some("actions/checkout") {
        let with = step.node.get("with")?;
        let given = |input: &str, heads: &[&str]| {
            let value = with.get(input)?;
            let flows = step.flows(value, source.text);
            let is_head = |flow: &ValueFlow| heads.iter().any(|name| flow.matches(name));
            let found = flows.iter().find(|(flow, _)| is_head(flow)).map(|(_, line)| *line);
            found.or_else(|| {
                let is_pull = value.scalar()?.contains("refs/pull/") && !flows.is_empty();
                is_pull.then_some(value.line)
            })
        };
        let line = given("ref", &HEAD_REFS).or_else(|| given("repository", &HEAD_REPOSITORIES))?;
        return Some((line, "The checkout"));
    }
    let run = step.node.get("run")?;
    let line = run_line(step, run, source, trigger)?;
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

/// Fetches of a pull request; its files appear only after a checkout.
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

/// Creation of a branch: its name and its start point.
static NEW_BRANCH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r#"(?:"[^"]*"|'[^']*'|\$\{\{[^}]*\}\}|[^\s;&|"'])+"#;
    let pattern = format!(
        r"(?P<git>\b(?:git|hub)\s+(?:-\S+\s+)*(?:checkout|switch)\s)\s*(?:-\S+\s+)*?(?:-[bBcC]|--orphan|--create|--force-create)[\s=]\s*{name}(?P<from>[^;&|]*)"
    );
    Regex::new(&pattern).ok()
});

/// Checkout of a fetched commit.
static ANY_CHECKOUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"git\s+(?:-\S+\s+)*(?:pull|checkout|switch|reset|merge|worktree)\s").ok()
});

fn run_line(
    step: &WorkflowStep<'_>,
    run: &YamlNode,
    source: &SourceText<'_>,
    trigger: &str,
) -> Option<u32> {
    let (start, end) = run.bytes;
    let written = source.text.get(start..end)?;
    let is = |regex: &LazyLock<Option<Regex>>, text: &str| {
        LazyLock::force(regex).as_ref().is_some_and(|regex| regex.is_match(text))
    };
    // A later run has no pull request of its own.
    let has_pull = trigger == "pull_request_target";
    let lines = || (run.line..).zip(written.lines());
    let direct = lines().find(|(_, line)| {
        is(&CHECKOUT_COMMAND, &strip_new_branch_names(line))
            && (has_pull || !line.contains("gh pr checkout") || line.contains("workflow_run"))
    });
    let fetched = || {
        lines().find(|(_, line)| is(&FETCH_COMMAND, line)).filter(|_| is(&ANY_CHECKOUT, written))
    };
    let is_head = |flow: &ValueFlow| {
        HEAD_REFS.iter().chain(&HEAD_REPOSITORIES).any(|name| flow.matches(name))
    };
    let by_variable = || {
        let heads: Vec<&str> = step
            .variables()
            .filter(|(_, flows)| flows.iter().any(is_head))
            .map(|it| it.0)
            .collect();
        lines().find(|(_, line)| {
            let line = strip_new_branch_names(line);
            is(&VARIABLE_CHECKOUT, &line) && heads.iter().any(|name| has_variable(&line, name))
        })
    };
    direct.or_else(fetched).or_else(by_variable).map(|(line, _)| line)
}

/// Removes the names of new branches from a shell line. A branch named like the head contains the
/// current files, unless it starts at a variable or a fetched commit.
fn strip_new_branch_names(line: &str) -> Cow<'_, str> {
    let Some(new_branch) = LazyLock::force(&NEW_BRANCH) else { return Cow::Borrowed(line) };
    new_branch.replace_all(line, |made: &Captures<'_>| match &made["from"] {
        from if from.contains("FETCH_HEAD") => made[0].to_owned(),
        from if from.contains('$') => format!("{}{from}", &made["git"]),
        _ => String::new(),
    })
}

/// Whether a shell line uses a variable.
fn has_variable(line: &str, name: &str) -> bool {
    let mut behind = line.split('$').skip(1);
    behind.any(|behind| {
        let behind = behind.strip_prefix('{').unwrap_or(behind);
        let rest = behind.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
    })
}

/// Whether a condition excludes strangers or the trigger.
fn is_gated(step: &WorkflowStep<'_>, trigger: &str) -> bool {
    step.conditions().any(|condition| {
        let condition = condition.trim();
        let inner = condition.strip_prefix("${{").and_then(|it| it.strip_suffix("}}"));
        is_gate(inner.unwrap_or(condition), trigger, NESTED_MAX)
    })
}

/// Whether every alternative of a condition requires something that strangers do not have.
/// Conditions nested too deeply do not count.
fn is_gate(condition: &str, trigger: &str, depth: usize) -> bool {
    split_condition(condition, "||").all(|alternative| {
        split_condition(alternative, "&&").any(|clause| {
            let clause = clause.trim();
            match inside_parentheses(clause) {
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

/// Splits a condition at an operator outside of parentheses and quotes.
fn split_condition<'c>(condition: &'c str, sign: &'static str) -> impl Iterator<Item = &'c str> {
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

/// The content of the parentheses around a whole clause. The clause has no operator outside of
/// parentheses, so the first and the last one match.
fn inside_parentheses(clause: &str) -> Option<&str> {
    clause.strip_prefix('(')?.strip_suffix(')')
}

/// Whether a clause requires a known person, or something only such a person can do.
fn keeps_strangers_out(clause: &str) -> bool {
    let is_not = clause.starts_with('!');
    let is_who =
        clause.contains("==") && !is_not && IDENTITY_FIELDS.iter().any(|who| clause.contains(who));
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

/// Whether a workflow that triggers this one may run for a stranger's pull request.
fn may_come_from_strangers(root: &YamlNode, query: &WorkflowQuery<'_>) -> bool {
    let on = root.get("on").and_then(|on| on.get("workflow_run"));
    let followed: Vec<&str> = on
        .and_then(|on| on.get("workflows"))
        .map(|names| names.list().iter().chain([names]).filter_map(YamlNode::scalar).collect())
        .unwrap_or_default();
    query.may_come_from_strangers(&followed)
}
