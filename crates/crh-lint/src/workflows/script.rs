//! Script injection: untrusted text becomes part of a script.

use std::collections::HashSet;

use super::expression::ValueFlow;
use super::workflow::{WorkflowStep, steps, triggers};
use super::yaml::YamlNode;
use crate::LintRule;
use crate::findings::FindingDraft;
use crate::source::SourceText;
use crh_review::finding::{Category, Confidence, Severity};

pub(super) const SCRIPT_INJECTION: LintRule = LintRule {
    id: "workflows/script-injection",
    severity: Severity::P1,
    category: Category::Security,
    confidence: Confidence::thousandths(900),
    summary: "untrusted data, such as an issue's title, inside a workflow script",
    aliases: &["template-injection"],
};

/// Values that anyone who opens an issue, a pull request or a discussion can choose.
pub(super) const UNTRUSTED_VALUES: [&str; 41] = [
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

/// Actions that run a script, each with the name of its input for the script.
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

/// Events whose runs have no secrets and only a read token when a stranger triggers them.
#[rustfmt::skip]
const HARMLESS_TRIGGERS: [&str; 7] = [
    "pull_request", "pull_request_review", "pull_request_review_comment", "push", "merge_group", "schedule",
    "workflow_dispatch",
];

/// Reports scripts that contain untrusted values.
pub(super) fn check(root: &YamlNode, source: &SourceText<'_>) -> Vec<FindingDraft> {
    let triggers = triggers(root);
    let is_harmless = !triggers.is_empty()
        && triggers.iter().all(|(trigger, _)| HARMLESS_TRIGGERS.contains(trigger));
    let (mut findings, mut reported_lines): (Vec<FindingDraft>, HashSet<u32>) = Default::default();
    for step in steps(root) {
        for (script, language) in scripts(&step) {
            for (flow, line) in step.flows(script, source.text) {
                if !is_untrusted(&flow, language) || !reported_lines.insert(line) {
                    continue;
                }
                let mut draft = finding(source, line, &flow);
                if is_harmless {
                    draft.severity = Severity::P2;
                }
                findings.push(draft);
            }
        }
    }
    findings
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScriptLanguage {
    Shell,
    JavaScript,
}

fn scripts<'n>(step: &WorkflowStep<'n>) -> Vec<(&'n YamlNode, ScriptLanguage)> {
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

fn is_untrusted(flow: &ValueFlow, language: ScriptLanguage) -> bool {
    // Any JSON is a literal in JavaScript.
    let is_js_literal = flow.is_json() && language == ScriptLanguage::JavaScript;
    !is_js_literal && UNTRUSTED_VALUES.iter().any(|name| flow.matches(name))
}

fn finding(source: &SourceText<'_>, line: u32, flow: &ValueFlow) -> FindingDraft {
    let name = flow.name();
    let variable = variable_name(flow);
    FindingDraft::new(&SCRIPT_INJECTION, source.path, line, source.line(line)).with_text(
        format!("`{name}` becomes part of a script"),
        format!(
            "Anyone who opens an issue or a pull request chooses the text of `{name}`. The expression is expanded before the script runs, so text with a quote or `$(…)` runs as code, with the token and secrets of this job."
        ),
        format!(
            "Pass it through the environment: `env:` with `{variable}: ${{{{ {} }}}}`, and `\"${variable}\"` in the script (`process.env.{variable}` in JavaScript).",
            match flow.is_json() {
                true => format!("toJSON({name})"),
                false => name.clone(),
            }
        ),
    )
}

/// A variable name from the last two parts of the value's name.
fn variable_name(flow: &ValueFlow) -> String {
    let parts: Vec<&str> = flow
        .path
        .iter()
        .skip(1)
        .map(String::as_str)
        .filter(|part| !matches!(*part, "*" | "event"))
        .collect();
    let start = parts.len().saturating_sub(2);
    match parts.get(start..) {
        Some(parts) if !parts.is_empty() => parts.join("_").to_ascii_uppercase(),
        _ => "EVENT".to_owned(),
    }
}
