//! Focused tests, which keep all other tests from running.

use tree_sitter::Node;

use super::FOCUSED_TEST;
use super::syntax_nodes::{
    callee_names, is_test_call, line_with, named_children, node_line, node_text, nodes,
};
use crate::findings::FindingDraft;
use crate::source::SourceText;
use crh_syntax::Language;

/// JavaScript functions that define tests.
const SCRIPT: [&str; 10] = [
    "it", "test", "describe", "context", "suite", "specify", "scenario", "feature", "bench",
    "serial",
];
/// JavaScript functions that define focused tests.
const SCRIPT_FOCUSED: [&str; 4] = ["fit", "fdescribe", "fcontext", "fspecify"];
/// Ruby methods that define tests.
const RUBY: [&str; 8] =
    ["it", "describe", "context", "specify", "example", "feature", "scenario", "example_group"];
const RUBY_FOCUSED: [&str; 7] =
    ["fit", "fdescribe", "fcontext", "fspecify", "fexample", "ffeature", "fscenario"];
/// Ginkgo functions that define focused tests.
#[rustfmt::skip]
const GO_FOCUSED: [&str; 8] = [
    "FIt", "FDescribe", "FContext", "FWhen", "FSpecify", "FDescribeTable", "FEntry", "FDescribeTableSubtree",
];

/// Finds the focused tests of a text.
pub(super) fn find_tests(source: &SourceText<'_>) -> Vec<FindingDraft> {
    let Some(language) = source.language else { return Vec::new() };
    // The matcher of the language, and words of which the text must contain one.
    let (matcher, words): (FocusMatcher, [&[&str]; 2]) = match language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            (in_script, [&["only"], &SCRIPT_FOCUSED])
        }
        Language::Ruby => (in_ruby, [&["focus"], &RUBY_FOCUSED]),
        Language::Go => (in_go, [&[], &GO_FOCUSED]),
        Language::Python
        | Language::Rust
        | Language::Java
        | Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift => return Vec::new(),
    };
    if !words.into_iter().any(|words| source.has_one_of(words)) {
        return Vec::new();
    }
    let Some(Ok(parsed)) = source.syntax_tree() else { return Vec::new() };
    let findings = nodes(parsed.tree()).filter_map(|node| matcher(node, source));
    let mut findings: Vec<FindingDraft> = findings.collect();
    findings.sort_by_key(|finding| finding.line);
    findings.dedup_by_key(|finding| finding.line);
    findings
}

/// Reports the focused test at a node; `None` if the node is no such test.
type FocusMatcher = fn(Node<'_>, &SourceText<'_>) -> Option<FindingDraft>;

fn in_script(node: Node<'_>, source: &SourceText<'_>) -> Option<FindingDraft> {
    if node.kind() != "call_expression" {
        return None;
    }
    let arguments = node.child_by_field_name("arguments")?;
    let names = callee_names(node.child_by_field_name("function")?);
    let (first, others) = match names.split_first()? {
        // Deno's test runner is `Deno.test`.
        (first, others) if node_text(*first, source) == "Deno" => others.split_first()?,
        all => all,
    };
    let name = node_text(*first, source);
    let has_test = || match arguments.kind() {
        "template_string" => true,
        _ => is_test_call(arguments) || others.iter().any(|it| node_text(*it, source) == "each"),
    };
    if SCRIPT_FOCUSED.contains(&name) && others.iter().all(|it| node_text(*it, source) == "each") {
        return has_test().then(|| finding(*first, line_with(*first, &name[1..], source), source));
    }
    if !SCRIPT.contains(&name) {
        return None;
    }
    if let Some(only) = others.iter().find(|it| node_text(**it, source) == "only") {
        let line_text = source.line(node_line(*only));
        let column = only.start_position().column;
        let prefix = line_text.get(..column).and_then(|before| before.strip_suffix('.'));
        let rest = line_text.get(column + "only".len()..);
        let replacement = prefix.zip(rest).map(|(before, rest)| format!("{before}{rest}"));
        return has_test().then(|| finding(*only, replacement, source));
    }
    // Node's test runner takes `only` as an option, Deno's in its single argument.
    let options = named_children(arguments).into_iter().find(|it| it.kind() == "object")?;
    let only = true_option(options, "only", source)?;
    let has_body = || {
        let mut names = named_children(options).into_iter().flat_map(|property| {
            ["key", "name"].map(|field| property.child_by_field_name(field)).into_iter().flatten()
        });
        names.any(|name| node_text(name, source) == "fn")
    };
    (is_test_call(arguments) || has_body()).then(|| finding(only, None, source))
}

/// The property of an object literal with this name, if its value is `true`.
pub(super) fn true_option<'t>(
    object: Node<'t>,
    name: &str,
    source: &SourceText<'_>,
) -> Option<Node<'t>> {
    named_children(object).into_iter().find(|property| {
        let (key, value) =
            (property.child_by_field_name("key"), property.child_by_field_name("value"));
        key.is_some_and(|key| node_text(key, source) == name)
            && value.is_some_and(|value| value.kind() == "true")
    })
}

fn in_ruby(node: Node<'_>, source: &SourceText<'_>) -> Option<FindingDraft> {
    if node.kind() != "call" {
        return None;
    }
    let method = node.child_by_field_name("method")?;
    let name = node_text(method, source);
    node.child_by_field_name("block")?;
    let arguments = node.child_by_field_name("arguments").map(named_children).unwrap_or_default();
    let receiver = node.child_by_field_name("receiver").map(|it| node_text(it, source));
    let is_rspec_call = matches!(receiver, None | Some("RSpec"));
    if name == "focus" && receiver.is_none() && source.path.ends_with("_spec.rb") {
        let is_test = arguments.first().is_some_and(|first| first.kind() == "string");
        return is_test.then(|| finding(method, line_with(method, "it", source), source));
    }
    if RUBY_FOCUSED.contains(&name) && is_rspec_call {
        return Some(finding(method, line_with(method, &name[1..], source), source));
    }
    if !RUBY.contains(&name) {
        return None;
    }
    let focus = arguments.into_iter().skip(1).find(|argument| {
        let compact_text: String = node_text(*argument, source).split_whitespace().collect();
        matches!(compact_text.as_str(), "focus:true" | ":focus=>true" | ":focus")
    })?;
    let line_text = source.line(node_line(focus));
    let before = line_text.get(..focus.start_position().column);
    let before = before.and_then(|before| before.trim_end().strip_suffix(','));
    let after = line_text.get(focus.end_position().column..);
    let replacement = before.zip(after).map(|(before, after)| format!("{before}{after}"));
    Some(finding(focus, replacement, source))
}

fn in_go(node: Node<'_>, source: &SourceText<'_>) -> Option<FindingDraft> {
    if node.kind() != "call_expression" {
        return None;
    }
    let function = node.child_by_field_name("function")?;
    let name = match function.kind() {
        "identifier" => function,
        "selector_expression" => function.child_by_field_name("field")?,
        _ => return None,
    };
    let word = node_text(name, source);
    let arguments = named_children(node.child_by_field_name("arguments")?);
    let is_text = arguments.first().is_some_and(|first| first.kind().ends_with("string_literal"));
    (GO_FOCUSED.contains(&word) && is_text && arguments.len() > 1)
        .then(|| finding(name, line_with(name, &word[1..], source), source))
}

fn finding(node: Node<'_>, replacement: Option<String>, source: &SourceText<'_>) -> FindingDraft {
    let line = node_line(node);
    let draft = FindingDraft::new(&FOCUSED_TEST, source.path, line, source.line(line)).with_text(
        "A focused test keeps other tests from running",
        "The test runner skips all other tests, in this file or in the whole suite, and the build passes even if they would fail.",
        "Remove the focus.",
    );
    FindingDraft { replacement, ..draft }
}
