//! Script injection: text that a stranger wrote becomes part of a script.

use std::collections::HashSet;

use super::expression::Flow;
use super::workflow::{Step, steps, triggers};
use super::yaml::Node;
use crate::Rule;
use crate::found::Found;
use crate::source::Source;
use crh_review::finding::{Category, Confidence, Severity};

pub(super) const SCRIPT_INJECTION: Rule = Rule {
    id: "workflows/script-injection",
    severity: Severity::P1,
    category: Category::Security,
    confidence: Confidence::thousandths(900),
    finds: "data that a stranger controls, such as an issue's title, inside a script of a workflow",
    also: &["template-injection"],
};

/// What anybody who can open an issue, a pull request or a discussion can set to whatever they like.
const STRANGERS: [&str; 41] = [
    "github.head_ref",
    "github.event.issue.title",
    "github.event.issue.body",
    "github.event.pull_request.title",
    "github.event.pull_request.body",
    "github.event.pull_request.head.ref",
    "github.event.pull_request.head.label",
    "github.event.pull_request.head.repo.default_branch",
    "github.event.pull_request.head.repo.description",
    "github.event.pull_request.head.repo.homepage",
    "github.event.comment.body",
    "github.event.review.body",
    "github.event.review_comment.body",
    "github.event.pages.*.page_name",
    "github.event.pages.*.title",
    "github.event.commits.*.message",
    "github.event.commits.*.author.email",
    "github.event.commits.*.author.name",
    "github.event.commits.*.committer.email",
    "github.event.commits.*.committer.name",
    "github.event.head_commit.message",
    "github.event.head_commit.author.email",
    "github.event.head_commit.author.name",
    "github.event.head_commit.committer.email",
    "github.event.head_commit.committer.name",
    "github.event.discussion.title",
    "github.event.discussion.body",
    "github.event.changes.*.from",
    "github.event.check_suite.head_commit.message",
    "github.event.check_suite.head_commit.author.name",
    "github.event.workflow_run.head_branch",
    "github.event.workflow_run.display_title",
    "github.event.workflow_run.head_commit.message",
    "github.event.workflow_run.head_commit.author.email",
    "github.event.workflow_run.head_commit.author.name",
    "github.event.workflow_run.head_commit.committer.email",
    "github.event.workflow_run.head_commit.committer.name",
    "github.event.workflow_run.head_repository.description",
    "github.event.workflow_run.pull_requests.*.head.ref",
    "github.event.check_suite.head_branch",
    "github.event.check_run.check_suite.head_branch",
];

/// Actions that run what they are given, and the input it is given in.
const SCRIPT_INPUTS: [(&str, &str); 9] = [
    ("actions/github-script", "script"),
    ("appleboy/ssh-action", "script"),
    ("azure/cli", "inlineScript"),
    ("codspeedhq/action", "run"),
    ("azure/powershell", "inlineScript"),
    ("nick-fields/retry", "command"),
    ("nick-invision/retry", "command"),
    ("reactivecircus/android-emulator-runner", "script"),
    ("addnab/docker-run-action", "run"),
];

/// Events whose runs have no secrets, and a token that only reads, when a stranger sets them off.
const HARMLESS_TRIGGERS: [&str; 7] = [
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "push",
    "merge_group",
    "schedule",
    "workflow_dispatch",
];

/// All scripts that data of strangers becomes a part of.
pub(super) fn found(root: &Node, source: &Source<'_>) -> Vec<Found> {
    let triggers = triggers(root);
    let is_harmless = !triggers.is_empty()
        && triggers.iter().all(|(trigger, _)| HARMLESS_TRIGGERS.contains(trigger));
    let (mut found, mut seen): (Vec<Found>, HashSet<u32>) = Default::default();
    for step in steps(root) {
        for (script, language) in scripts(&step) {
            for (flow, line) in step.flows(script, source.text) {
                if !is_strangers(&flow, language) || !seen.insert(line) {
                    continue;
                }
                let mut it = said(source, line, &flow);
                if is_harmless {
                    it.severity = Severity::P2;
                }
                found.push(it);
            }
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScriptLanguage {
    Shell,
    JavaScript,
}

fn scripts<'n>(step: &Step<'n>) -> Vec<(&'n Node, ScriptLanguage)> {
    let run = step.node.get("run").map(|run| (run, ScriptLanguage::Shell));
    let action = step.action().unwrap_or_default();
    let input = SCRIPT_INPUTS.iter().find(|(name, _)| *name == action);
    let script = input.and_then(|(_, input)| step.node.get("with")?.get(input));
    let language = match action.as_str() {
        "actions/github-script" => ScriptLanguage::JavaScript,
        _ => ScriptLanguage::Shell,
    };
    run.into_iter().chain(script.map(|script| (script, language))).collect()
}

fn is_strangers(flow: &Flow, language: ScriptLanguage) -> bool {
    // JSON is also JavaScript: there it is a value, whatever stands in it.
    let is_value = flow.is_json && language == ScriptLanguage::JavaScript;
    !is_value && STRANGERS.iter().any(|name| flow.is(name))
}

fn said(source: &Source<'_>, line: u32, flow: &Flow) -> Found {
    let name = flow.name();
    let variable = variable(flow);
    Found::new(&SCRIPT_INJECTION, source.path, line, source.line(line)).saying(
        format!("`{name}` becomes part of a script"),
        format!(
            "Whoever opens an issue or a pull request chooses the text of `{name}`. The expression is put into the script before it runs, so that a text with a \
             quote or `$(…)` in it runs as code, with the token and the secrets of this job."
        ),
        format!(
            "Pass it through the environment: `env:` with `{variable}: ${{{{ {} }}}}`, and `\"${variable}\"` in the script (`process.env.{variable}` in JavaScript).",
            match flow.is_json {
                true => format!("toJSON({name})"),
                false => name.clone(),
            }
        ),
    )
}

/// A name for the variable: the last two parts of the value's.
fn variable(flow: &Flow) -> String {
    let parts: Vec<&str> = flow
        .path
        .iter()
        .skip(1)
        .map(String::as_str)
        .filter(|part| !matches!(*part, "*" | "event"))
        .collect();
    let last = parts.len().saturating_sub(2);
    match parts.get(last..) {
        Some(parts) if !parts.is_empty() => parts.join("_").to_ascii_uppercase(),
        _ => "EVENT".to_owned(),
    }
}
