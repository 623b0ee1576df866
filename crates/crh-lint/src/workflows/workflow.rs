//! What a workflow or an action does: its triggers and its steps.

use std::collections::HashSet;

use super::expression::{Flow, expressions, flows};
use super::yaml::{Key, Node, Value};

/// One step, with all around it that counts.
pub(super) struct Step<'n> {
    pub(super) node: &'n Node,
    /// The job; none in an action.
    pub(super) job: Option<&'n Node>,
    workflow: &'n Node,
}

/// The steps of a workflow, or of an action made of steps.
pub(super) fn steps(root: &Node) -> Vec<Step<'_>> {
    let jobs = jobs(root).iter().map(|(_, job)| (Some(job), job));
    let places = jobs.chain(root.get("runs").map(|runs| (None, runs)));
    places
        .flat_map(|(job, place)| {
            let steps = place.get("steps").map(Node::list).unwrap_or_default();
            let steps = steps.iter().flat_map(|node| [node].into_iter().chain(within(node)));
            steps.map(move |node| Step { node, job, workflow: root })
        })
        .collect()
}

/// Steps that run side by side stand in a step of their own.
fn within(step: &Node) -> &[Node] {
    step.get("parallel").map(Node::list).unwrap_or_default()
}

/// The jobs of a workflow, by name.
pub(super) fn jobs(root: &Node) -> &[(Key, Node)] {
    root.get("jobs").map(Node::entries).unwrap_or_default()
}

/// What starts a workflow, with the line of each.
pub(super) fn triggers(root: &Node) -> Vec<(&str, u32)> {
    let Some(on) = root.get("on") else { return Vec::new() };
    match &on.value {
        Value::Word(word) => vec![(word.as_str(), on.line)],
        Value::List(list) => {
            list.iter().filter_map(|it| it.word().map(|word| (word, it.line))).collect()
        }
        Value::Map(map) => map.iter().map(|(key, _)| (key.name.as_str(), key.line)).collect(),
    }
}

impl<'n> Step<'n> {
    /// The values that become part of a text of this step, with the line of each. A variable that is asked for in an
    /// expression is what it is set to.
    pub(super) fn flows(&self, node: &Node, source: &str) -> Vec<(Flow, u32)> {
        let Some(word) = node.word() else { return Vec::new() };
        let written = source.get(node.bytes.0..node.bytes.1).unwrap_or_default();
        let mut lines = lines_of_expressions(written, node.line);
        let mut found = Vec::new();
        for (_, expression) in expressions(word) {
            let line = lines.next().unwrap_or(node.line);
            for flow in flows(expression) {
                let set = self.variable(&flow);
                found.extend(set.into_iter().map(|flow| (flow, line)));
                found.push((flow, line));
            }
        }
        found
    }

    /// What the variable that `env.NAME` asks for is made of.
    fn variable(&self, flow: &Flow) -> Vec<Flow> {
        let [env, name] = flow.path.as_slice() else { return Vec::new() };
        if env != "env" {
            return Vec::new();
        }
        let places = [Some(self.node), self.job, Some(self.workflow)].into_iter().flatten();
        let value = places.filter_map(|place| place.get("env")).find_map(|env| {
            let set = env.entries().iter().find(|(key, _)| key.name.eq_ignore_ascii_case(name));
            set.and_then(|(_, value)| value.word())
        });
        let expressions = value.map(expressions).unwrap_or_default();
        expressions.into_iter().flat_map(|(_, expression)| flows(expression)).collect()
    }

    /// The variables that scripts of this step have, with what they are made of. What is set again nearer to it is what counts.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'n str, Vec<Flow>)> {
        let places = [Some(self.node), self.job, Some(self.workflow)].into_iter().flatten();
        let entries = places.filter_map(|place| place.get("env")).flat_map(Node::entries);
        let mut seen = HashSet::new();
        let nearest = entries.filter(move |(key, _)| seen.insert(key.name.as_str()));
        nearest.map(|(key, value)| {
            let expressions = value.word().map(expressions).unwrap_or_default();
            let flows = expressions.into_iter().flat_map(|(_, expression)| flows(expression));
            (key.name.as_str(), flows.collect())
        })
    }

    /// The conditions under which the step runs: its own and the job's.
    pub(super) fn conditions(&self) -> impl Iterator<Item = &'n str> {
        let places = [Some(self.node), self.job].into_iter().flatten();
        places.filter_map(|place| place.get("if").and_then(Node::word))
    }

    /// The action it uses, without what stands behind the `@`, in lower case.
    pub(super) fn action(&self) -> Option<String> {
        let uses = self.node.get("uses").and_then(Node::word)?;
        Some(uses.split('@').next().unwrap_or(uses).to_ascii_lowercase())
    }
}

/// The line of every expression in a text that begins on a line.
fn lines_of_expressions(written: &str, first: u32) -> impl Iterator<Item = u32> {
    (first..).zip(written.split('\n')).flat_map(|(line, text)| {
        let count = text.matches("${{").count();
        std::iter::repeat_n(line, count)
    })
}
