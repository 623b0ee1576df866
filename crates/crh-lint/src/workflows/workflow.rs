//! Triggers, jobs and steps of a workflow or an action.

use std::collections::HashSet;

use super::expression::{ValueFlow, expressions, flows};
use super::yaml::{YamlKey, YamlNode, YamlValue};

/// A step with its job and workflow.
pub(super) struct WorkflowStep<'n> {
    pub(super) node: &'n YamlNode,
    /// The job; `None` in an action.
    pub(super) job: Option<&'n YamlNode>,
    workflow: &'n YamlNode,
}

/// The steps of a workflow or a composite action.
pub(super) fn steps(root: &YamlNode) -> Vec<WorkflowStep<'_>> {
    let jobs = jobs(root).iter().map(|(_, job)| (Some(job), job));
    let parents = jobs.chain(root.get("runs").map(|runs| (None, runs)));
    parents
        .flat_map(|(job, parent)| {
            let steps = parent.get("steps").map(YamlNode::list).unwrap_or_default();
            let steps =
                steps.iter().flat_map(|node| [node].into_iter().chain(parallel_steps(node)));
            steps.map(move |node| WorkflowStep { node, job, workflow: root })
        })
        .collect()
}

/// Parallel steps are nested in a step.
fn parallel_steps(step: &YamlNode) -> &[YamlNode] {
    step.get("parallel").map(YamlNode::list).unwrap_or_default()
}

/// The jobs of a workflow, by name.
pub(super) fn jobs(root: &YamlNode) -> &[(YamlKey, YamlNode)] {
    root.get("jobs").map(YamlNode::entries).unwrap_or_default()
}

/// The triggers of a workflow with their lines.
pub(super) fn triggers(root: &YamlNode) -> Vec<(&str, u32)> {
    let Some(on) = root.get("on") else { return Vec::new() };
    match &on.value {
        YamlValue::Scalar(word) => vec![(word.as_str(), on.line)],
        YamlValue::List(list) => {
            list.iter().filter_map(|it| it.scalar().map(|word| (word, it.line))).collect()
        }
        YamlValue::Map(map) => map.iter().map(|(key, _)| (key.name.as_str(), key.line)).collect(),
    }
}

impl<'n> WorkflowStep<'n> {
    /// The values that become part of a text of this step, with their lines. For `env.NAME`, the
    /// values of the variable are listed too.
    pub(super) fn flows(&self, node: &YamlNode, source: &str) -> Vec<(ValueFlow, u32)> {
        let Some(word) = node.scalar() else { return Vec::new() };
        let source_text = source.get(node.bytes.0..node.bytes.1).unwrap_or_default();
        let mut lines = lines_of_expressions(source_text, node.line);
        let mut flows_with_lines = Vec::new();
        for (_, expression) in expressions(word) {
            let line = lines.next().unwrap_or(node.line);
            for flow in flows(expression) {
                let variable_flows = self.variable_flows(&flow);
                flows_with_lines.extend(variable_flows.into_iter().map(|flow| (flow, line)));
                flows_with_lines.push((flow, line));
            }
        }
        flows_with_lines
    }

    /// The values of the variable that `env.NAME` refers to, or of all variables for `toJSON(env)`.
    fn variable_flows(&self, flow: &ValueFlow) -> Vec<ValueFlow> {
        let is_read = |name: &str| match flow.path.as_slice() {
            [env, read] => env == "env" && (read == "*" || read.eq_ignore_ascii_case(name)),
            _ => flow.matches(&format!("env.{}", name.to_ascii_lowercase())),
        };
        self.variables().filter(|(name, _)| is_read(name)).flat_map(|(_, flows)| flows).collect()
    }

    /// The environment variables of this step's scripts with their values. The innermost definition
    /// counts.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'n str, Vec<ValueFlow>)> {
        let levels = [Some(self.node), self.job, Some(self.workflow)].into_iter().flatten();
        let entries = levels.filter_map(|level| level.get("env")).flat_map(YamlNode::entries);
        let mut seen_names = HashSet::new();
        let innermost_entries =
            entries.filter(move |(key, _)| seen_names.insert(key.name.as_str()));
        innermost_entries.map(|(key, value)| {
            let expressions = value.scalar().map(expressions).unwrap_or_default();
            let flows = expressions.into_iter().flat_map(|(_, expression)| flows(expression));
            (key.name.as_str(), flows.collect())
        })
    }

    /// The conditions of the step and its job.
    pub(super) fn conditions(&self) -> impl Iterator<Item = &'n str> {
        let levels = [Some(self.node), self.job].into_iter().flatten();
        levels.filter_map(|level| level.get("if").and_then(YamlNode::scalar))
    }

    /// The action in lower case, without its ref.
    pub(super) fn action(&self) -> Option<String> {
        let uses = self.node.get("uses").and_then(YamlNode::scalar)?;
        Some(uses.split('@').next().unwrap_or(uses).to_ascii_lowercase())
    }
}

/// The line of every expression in a text.
fn lines_of_expressions(source_text: &str, first: u32) -> impl Iterator<Item = u32> {
    (first..).zip(source_text.split('\n')).flat_map(|(line, text)| {
        let count = text.matches("${{").count();
        std::iter::repeat_n(line, count)
    })
}
