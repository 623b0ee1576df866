//! Tests that keep all others from running.

use tree_sitter::Node;

use super::FOCUSED_TEST;
use super::calls::{are_of_test, chain, line, line_with, nodes, parts, text};
use crate::found::Found;
use crate::source::Source;
use crh_syntax::Language;

/// What makes a test or a group of tests in JavaScript.
const SCRIPT: [&str; 10] = [
    "it", "test", "describe", "context", "suite", "specify", "scenario", "feature", "bench",
    "serial",
];
/// The same with the focus in the name.
const SCRIPT_FOCUSED: [&str; 4] = ["fit", "fdescribe", "fcontext", "fspecify"];
/// The same in Ruby.
const RUBY: [&str; 8] =
    ["it", "describe", "context", "specify", "example", "feature", "scenario", "example_group"];
const RUBY_FOCUSED: [&str; 7] =
    ["fit", "fdescribe", "fcontext", "fspecify", "fexample", "ffeature", "fscenario"];
/// The same in Go, by Ginkgo.
const GO_FOCUSED: [&str; 8] = [
    "FIt",
    "FDescribe",
    "FContext",
    "FWhen",
    "FSpecify",
    "FDescribeTable",
    "FEntry",
    "FDescribeTableSubtree",
];

/// The focused tests of a text.
pub(super) fn tests(source: &Source<'_>) -> Vec<Found> {
    let Some(language) = Language::of_path(source.path) else { return Vec::new() };
    // Each with words of which one stands in the text if it finds anything.
    let (focus, words): (Focus, [&[&str]; 2]) = match language {
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
    let Some(Ok(parsed)) = source.parsed() else { return Vec::new() };
    let focused = nodes(parsed.tree()).filter_map(|node| focus(node, source));
    let mut found: Vec<Found> = focused.collect();
    found.sort_by_key(|found| found.line);
    found.dedup_by_key(|found| found.line);
    found
}

/// What has the focus at a node.
type Focus = fn(Node<'_>, &Source<'_>) -> Option<Found>;

fn in_script(node: Node<'_>, source: &Source<'_>) -> Option<Found> {
    if node.kind() != "call_expression" {
        return None;
    }
    let arguments = node.child_by_field_name("arguments")?;
    let names = chain(node.child_by_field_name("function")?);
    let (first, others) = match names.split_first()? {
        // Deno has its runner in a name of its own.
        (first, others) if text(*first, source) == "Deno" => others.split_first()?,
        all => all,
    };
    let name = text(*first, source);
    let has_test = || match arguments.kind() {
        "template_string" => true,
        _ => are_of_test(arguments) || others.iter().any(|it| text(*it, source) == "each"),
    };
    if SCRIPT_FOCUSED.contains(&name) && others.iter().all(|it| text(*it, source) == "each") {
        return has_test().then(|| found(*first, line_with(*first, &name[1..], source), source));
    }
    if !SCRIPT.contains(&name) {
        return None;
    }
    if let Some(only) = others.iter().find(|it| text(**it, source) == "only") {
        let whole = source.line(line(*only));
        let column = only.start_position().column;
        let without = whole.get(..column).and_then(|before| before.strip_suffix('.'));
        let rest = whole.get(column + "only".len()..);
        let without = without.zip(rest).map(|(before, rest)| format!("{before}{rest}"));
        return has_test().then(|| found(*only, without, source));
    }
    // Node's own runner takes it as an option, Deno's with all the rest.
    let options = parts(arguments).into_iter().find(|it| it.kind() == "object")?;
    let only = option(options, "only", source)?;
    let has_body = || {
        let mut names = parts(options).into_iter().flat_map(|it| {
            ["key", "name"].map(|field| it.child_by_field_name(field)).into_iter().flatten()
        });
        names.any(|name| text(name, source) == "fn")
    };
    (are_of_test(arguments) || has_body()).then(|| found(only, None, source))
}

/// The part of an object that sets something to true.
pub(super) fn option<'t>(object: Node<'t>, name: &str, source: &Source<'_>) -> Option<Node<'t>> {
    parts(object).into_iter().find(|it| {
        let (key, value) = (it.child_by_field_name("key"), it.child_by_field_name("value"));
        key.is_some_and(|key| text(key, source) == name)
            && value.is_some_and(|value| value.kind() == "true")
    })
}

fn in_ruby(node: Node<'_>, source: &Source<'_>) -> Option<Found> {
    if node.kind() != "call" {
        return None;
    }
    let method = node.child_by_field_name("method")?;
    let name = text(method, source);
    node.child_by_field_name("block")?;
    let arguments = node.child_by_field_name("arguments").map(parts).unwrap_or_default();
    let receiver = node.child_by_field_name("receiver").map(|it| text(it, source));
    let is_own = matches!(receiver, None | Some("RSpec"));
    if name == "focus" && receiver.is_none() && source.path.ends_with("_spec.rb") {
        let is_test = arguments.first().is_some_and(|first| first.kind() == "string");
        return is_test.then(|| found(method, line_with(method, "it", source), source));
    }
    if RUBY_FOCUSED.contains(&name) && is_own {
        return Some(found(method, line_with(method, &name[1..], source), source));
    }
    if !RUBY.contains(&name) {
        return None;
    }
    let focus = arguments.into_iter().skip(1).find(|it| {
        let folded: String = text(*it, source).split_whitespace().collect();
        matches!(folded.as_str(), "focus:true" | ":focus=>true" | ":focus")
    })?;
    let whole = source.line(line(focus));
    let before = whole.get(..focus.start_position().column);
    let before = before.and_then(|before| before.trim_end().strip_suffix(','));
    let after = whole.get(focus.end_position().column..);
    let without = before.zip(after).map(|(before, after)| format!("{before}{after}"));
    Some(found(focus, without, source))
}

fn in_go(node: Node<'_>, source: &Source<'_>) -> Option<Found> {
    if node.kind() != "call_expression" {
        return None;
    }
    let function = node.child_by_field_name("function")?;
    let name = match function.kind() {
        "identifier" => function,
        "selector_expression" => function.child_by_field_name("field")?,
        _ => return None,
    };
    let word = text(name, source);
    let arguments = parts(node.child_by_field_name("arguments")?);
    let is_text = arguments.first().is_some_and(|first| first.kind().ends_with("string_literal"));
    (GO_FOCUSED.contains(&word) && is_text && arguments.len() > 1)
        .then(|| found(name, line_with(name, &word[1..], source), source))
}

fn found(at: Node<'_>, replacement: Option<String>, source: &Source<'_>) -> Found {
    let line = line(at);
    let found = Found::new(&FOCUSED_TEST, source.path, line, source.line(line)).saying(
        "A focused test keeps the others from running",
        "With a focus on this test the runner leaves out all others, here or in the whole suite, and the build stays green \
         whatever they would have said.",
        "Take the focus off.",
    );
    Found { replacement, ..found }
}
