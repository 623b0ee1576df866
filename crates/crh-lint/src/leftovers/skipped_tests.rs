//! Tests that ran before the change and are skipped after it, without a word why.
//!
//! A test is known by its name. One that is new and skipped is work in progress; one with a comment, a condition or a
//! reason has been thought about.

use std::collections::HashMap;

use tree_sitter::Node;

use super::SKIPPED_TEST;
use super::calls::{are_of_test, chain, line, nodes, parts, text};
use super::focused::option;
use crate::found::Found;
use crate::look::Look;
use crate::source::Source;
use crh_syntax::Language;

/// A test.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Test<'t> {
    name: &'t str,
    runs: Runs,
}

/// Whether a test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runs {
    Yes,
    /// Not, says this line.
    Skipped(u32),
    /// Not, or not always, and it is said why.
    WithReason,
}

/// The tests that the change switches off.
pub(super) fn tests(look: &Look<'_>) -> Vec<Found> {
    let (Some(old), Some(new)) = (&look.old, &look.new) else { return Vec::new() };
    if !may_skip(new) {
        return Vec::new();
    }
    let after = tests_of(new);
    if !after.iter().any(|test| matches!(test.runs, Runs::Skipped(_))) {
        return Vec::new();
    }
    let before = tests_of(old);
    let (ran, run) = (running(&before), running(&after));
    let fewer =
        |name: &str| run.get(name).copied().unwrap_or(0) < ran.get(name).copied().unwrap_or(0);
    let mut found = Vec::new();
    for test in &after {
        let Runs::Skipped(line) = test.runs else { continue };
        if fewer(test.name) && look.file.adds(line) && !has_comment(look, new, line) {
            let it = Found::new(&SKIPPED_TEST, new.path, line, new.line(line)).saying(
                "A test that ran before is now skipped",
                "Before this change the test ran. Now it does not, and nothing says why or until when: what it watched over can \
                 break unseen.",
                "Let the test run again, or say why it cannot, with a pointer to where that is being worked on.",
            );
            found.push(it);
        }
    }
    found.dedup_by_key(|found| found.line);
    found
}

fn running<'t>(tests: &[Test<'t>]) -> HashMap<&'t str, usize> {
    let mut running = HashMap::new();
    for test in tests.iter().filter(|test| test.runs == Runs::Yes) {
        *running.entry(test.name).or_default() += 1;
    }
    running
}

/// Whether a comment stands on a line, or came with the change to the one above it, other attributes aside, or below.
fn has_comment(look: &Look<'_>, source: &Source<'_>, line: u32) -> bool {
    /// A test rarely has more attributes.
    const ATTRIBUTES_MAX: u32 = 4;
    let is_attribute = |line: &u32| {
        let text = source.line(*line).trim_start();
        text.starts_with("#[") || text.starts_with('@')
    };
    let mut lines = (line.saturating_sub(ATTRIBUTES_MAX)..line).rev();
    let above = lines.find(|line| !is_attribute(line));
    let is_new_comment = |line: u32| {
        let text = source.line(line).trim_start();
        look.file.adds(line) && ["//", "*", "/*", "# "].iter().any(|sign| text.starts_with(sign))
    };
    let here = source.line(line).trim_start();
    above.is_some_and(is_new_comment)
        || is_new_comment(line.saturating_add(1))
        || [" //", " # ", "/*"].into_iter().any(|sign| here.contains(sign))
}

/// Whether a text has one of the words without which none of its tests is skipped.
fn may_skip(source: &Source<'_>) -> bool {
    let words: &[&str] = match Language::of_path(source.path) {
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            &["skip", "xit", "xtest", "xdescribe", "xcontext", "xspecify"]
        }
        Some(Language::Ruby) => {
            &["skip", "pending", "xit", "xdescribe", "xcontext", "xspecify", "xexample"]
        }
        // A test has that in its name.
        Some(Language::Python) if !source.has_one_of(&["test", "Test"]) => return false,
        Some(Language::Python) => &["skip", "SkipTest"],
        Some(Language::Rust) => &["ignore"],
        Some(Language::Java | Language::Kotlin) => &["Disabled", "Ignore", "enabled"],
        Some(Language::CSharp) => &["Ignore"],
        // Ginkgo has the skip in so many names that a look at the tree is as good.
        Some(Language::Go) => return true,
        Some(Language::C | Language::Cpp | Language::Php | Language::Swift) | None => return false,
    };
    source.has_one_of(words)
}

fn tests_of<'t>(source: &Source<'t>) -> Vec<Test<'t>> {
    let Some(Ok(parsed)) = source.parsed() else { return Vec::new() };
    let test = match parsed.language() {
        Language::JavaScript | Language::TypeScript | Language::Tsx => in_script,
        Language::Ruby => in_ruby,
        Language::Python => in_python,
        Language::Go => in_go,
        Language::Rust => in_rust,
        Language::Java | Language::Kotlin => in_java,
        Language::CSharp => in_csharp,
        Language::C | Language::Cpp | Language::Php | Language::Swift => return Vec::new(),
    };
    nodes(parsed.tree()).filter_map(|node| test(node, source)).collect()
}

fn in_script<'t>(node: Node<'_>, source: &Source<'t>) -> Option<Test<'t>> {
    if node.kind() != "call_expression" {
        return None;
    }
    let arguments = node.child_by_field_name("arguments")?;
    let names = chain(node.child_by_field_name("function")?);
    let (first, others) = names.split_first()?;
    let title = parts(arguments).into_iter().next()?;
    if !matches!(title.kind(), "string" | "template_string") || !are_of_test(arguments) {
        return None;
    }
    let others: Vec<&str> = others.iter().map(|name| text(*name, source)).collect();
    let runs = match text(*first, source) {
        "xit" | "xtest" | "xdescribe" | "xcontext" | "xspecify" => Runs::Skipped(line(*first)),
        "it" | "test" | "describe" | "context" | "suite" | "specify" => match () {
            () if others.contains(&"skip") => Runs::Skipped(line(node)),
            () if has_skip(arguments, source) => Runs::Skipped(line(node)),
            () if others
                .iter()
                .any(|it| matches!(*it, "skipIf" | "runIf" | "todo" | "fixme" | "fails")) =>
            {
                Runs::WithReason
            }
            () => Runs::Yes,
        },
        _ => return None,
    };
    Some(Test { name: text(title, source), runs })
}

/// Whether an object among the arguments of a test says so, as Node's own runner has it.
fn has_skip(arguments: Node<'_>, source: &Source<'_>) -> bool {
    let mut objects = parts(arguments).into_iter().filter(|it| it.kind() == "object");
    objects.any(|it| option(it, "skip", source).is_some())
}

fn in_ruby<'t>(node: Node<'_>, source: &Source<'t>) -> Option<Test<'t>> {
    if node.kind() == "method" {
        let name = text(node.child_by_field_name("name")?, source);
        let body = parts(node).into_iter().find(|part| part.kind() == "body_statement")?;
        let runs = ruby_body(body, source);
        return name.starts_with("test_").then_some(Test { name, runs });
    }
    let receiver = node.child_by_field_name("receiver").map(|it| text(it, source));
    if node.kind() != "call" || !matches!(receiver, None | Some("RSpec")) {
        return None;
    }
    let block = node.child_by_field_name("block")?;
    let method = node.child_by_field_name("method")?;
    let arguments = parts(node.child_by_field_name("arguments")?);
    let (title, facts) = arguments.split_first()?;
    let runs = match text(method, source) {
        "xit" | "xdescribe" | "xcontext" | "xspecify" | "xexample" | "pending" | "skip" => {
            Runs::Skipped(line(node))
        }
        "it" | "describe" | "context" | "specify" | "example" => {
            let facts = facts.iter().map(|it| (it, text(*it, source)));
            let facts: Vec<_> =
                facts.filter(|(_, it)| it.contains("skip") || it.contains("pending")).collect();
            match facts.first() {
                Some((fact, ":skip" | ":pending" | "skip: true" | "pending: true")) => {
                    Runs::Skipped(line(**fact))
                }
                Some(_) => Runs::WithReason,
                None => parts(block)
                    .into_iter()
                    .next_back()
                    .map_or(Runs::Yes, |body| ruby_body(body, source)),
            }
        }
        _ => return None,
    };
    Some(Test { name: text(*title, source), runs })
}

/// Whether what a test does begins with a word that ends it.
fn ruby_body(body: Node<'_>, source: &Source<'_>) -> Runs {
    let Some(first) = parts(body).into_iter().next() else { return Runs::Yes };
    match text(first, source) {
        "skip" | "pending" => Runs::Skipped(line(first)),
        words if words.starts_with("skip ") || words.starts_with("pending ") => Runs::WithReason,
        _ => Runs::Yes,
    }
}

fn in_python<'t>(node: Node<'_>, source: &Source<'t>) -> Option<Test<'t>> {
    if !matches!(node.kind(), "function_definition" | "class_definition") {
        return None;
    }
    let name = text(node.child_by_field_name("name")?, source);
    if !name.starts_with("test") && !name.starts_with("Test") && !name.ends_with("Test") {
        return None;
    }
    let decorated = node.parent().filter(|parent| parent.kind() == "decorated_definition");
    let decorators = decorated.map(parts).unwrap_or_default();
    let mut runs = Runs::Yes;
    for decorator in decorators.into_iter().filter(|part| part.kind() == "decorator") {
        let words: String = text(decorator, source).split_whitespace().collect();
        match words.as_str() {
            "@pytest.mark.skip"
            | "@pytest.mark.skip()"
            | "@pytest.mark.skip(\"\")"
            | "@pytest.mark.skip(reason=\"\")"
            | "@mark.skip"
            | "@mark.skip()"
            | "@unittest.skip"
            | "@unittest.skip()"
            | "@unittest.skip(\"\")"
            | "@skip"
            | "@skip()" => runs = Runs::Skipped(line(decorator)),
            words if words.contains("skip") || words.contains("xfail") => {
                return Some(Test { name, runs: Runs::WithReason });
            }
            _ => {}
        }
    }
    if runs == Runs::Yes && node.kind() == "function_definition" {
        runs = python_body(node, source);
    }
    Some(Test { name, runs })
}

/// Whether a function ends its test, whatever happens.
fn python_body(function: Node<'_>, source: &Source<'_>) -> Runs {
    let statements = function.child_by_field_name("body").map(parts).unwrap_or_default();
    for statement in statements {
        match text(statement, source) {
            "pytest.skip()" | "raise SkipTest" | "raise unittest.SkipTest" => {
                return Runs::Skipped(line(statement));
            }
            words if words.starts_with("pytest.skip(") || words.starts_with("self.skipTest(") => {
                return Runs::WithReason;
            }
            _ => {}
        }
    }
    Runs::Yes
}

/// Ginkgo has the skip in the name.
fn in_ginkgo<'t>(node: Node<'_>, source: &Source<'t>) -> Option<Test<'t>> {
    const TESTS: [&str; 6] = ["It", "Describe", "Context", "When", "Specify", "DescribeTable"];
    let name = text(node.child_by_field_name("function")?, source);
    let name = name.strip_prefix("ginkgo.").unwrap_or(name);
    let title = parts(node.child_by_field_name("arguments")?).into_iter().next()?;
    if !title.kind().ends_with("string_literal") {
        return None;
    }
    let runs = match name.strip_prefix(['P', 'X']) {
        Some(rest) if TESTS.contains(&rest) => Runs::Skipped(line(node)),
        _ if TESTS.contains(&name) => Runs::Yes,
        _ => return None,
    };
    Some(Test { name: text(title, source), runs })
}

fn in_go<'t>(node: Node<'_>, source: &Source<'t>) -> Option<Test<'t>> {
    if node.kind() == "call_expression" {
        return in_ginkgo(node, source);
    }
    if node.kind() != "function_declaration" {
        return None;
    }
    let name = text(node.child_by_field_name("name")?, source);
    if !name.starts_with("Test") && !name.starts_with("Benchmark") && !name.starts_with("Fuzz") {
        return None;
    }
    // Only what the function does whatever happens.
    let mut statements = parts(node.child_by_field_name("body")?);
    if let [list] = statements.as_slice()
        && list.kind() == "statement_list"
    {
        statements = parts(*list);
    }
    let mut runs = Runs::Yes;
    for statement in statements {
        let words = text(statement, source).trim();
        match words {
            "t.Skip()" | "t.SkipNow()" | "b.Skip()" | "b.SkipNow()" => {
                runs = Runs::Skipped(line(statement));
            }
            _ if words.starts_with("t.Skip") => runs = Runs::WithReason,
            _ => {}
        }
    }
    Some(Test { name, runs })
}

fn in_rust<'t>(node: Node<'_>, source: &Source<'t>) -> Option<Test<'t>> {
    if node.kind() != "function_item" {
        return None;
    }
    let name = text(node.child_by_field_name("name")?, source);
    let (mut runs, mut is_test) = (Runs::Yes, false);
    let mut before = node.prev_sibling();
    while let Some(attribute) = before.filter(|it| it.kind() == "attribute_item") {
        let words: String = text(attribute, source).split_whitespace().collect();
        match words.as_str() {
            "#[ignore]" => runs = Runs::Skipped(line(attribute)),
            words if words.starts_with("#[ignore") => runs = Runs::WithReason,
            words => is_test |= words.contains("test"),
        }
        before = attribute.prev_sibling();
    }
    is_test.then_some(Test { name, runs })
}

fn in_java<'t>(node: Node<'_>, source: &Source<'t>) -> Option<Test<'t>> {
    if !matches!(node.kind(), "method_declaration" | "class_declaration" | "function_declaration") {
        return None;
    }
    let name = text(node.child_by_field_name("name")?, source);
    let modifiers = parts(node).into_iter().find(|part| part.kind() == "modifiers");
    let annotations = modifiers.map(parts).unwrap_or_default();
    let (mut runs, mut is_test) =
        (Runs::Yes, node.kind() == "class_declaration" && name.contains("Test"));
    for annotation in annotations {
        let words = text(annotation, source);
        let words = match words.split_once('(').map_or(words, |(name, _)| name).rfind('.') {
            Some(dot) => &words[dot + 1..],
            None => words.trim_start_matches('@'),
        };
        let folded: String = words.split_whitespace().collect();
        match folded.as_str() {
            "Disabled" | "Ignore" | "Disabled()" | "Ignore()" | "Test(enabled=false)" => {
                runs = Runs::Skipped(line(annotation));
                is_test |= folded.starts_with("Test");
            }
            words if words.starts_with("Disabled") || words.starts_with("Ignore") => {
                runs = Runs::WithReason;
            }
            words => is_test |= words.contains("Test"),
        }
    }
    is_test.then_some(Test { name, runs })
}

fn in_csharp<'t>(node: Node<'_>, source: &Source<'t>) -> Option<Test<'t>> {
    const TESTS: [&str; 6] = ["Test", "TestMethod", "TestCase", "Fact", "Theory", "TestFixture"];
    if !matches!(node.kind(), "method_declaration" | "class_declaration") {
        return None;
    }
    let name = text(node.child_by_field_name("name")?, source);
    let lists = parts(node).into_iter().filter(|part| part.kind() == "attribute_list");
    let (mut runs, mut is_test) = (Runs::Yes, false);
    for attribute in lists.flat_map(parts) {
        match text(attribute, source) {
            "Ignore" | "Ignore()" => runs = Runs::Skipped(line(attribute)),
            words if words.starts_with("Ignore(") || words.contains("Skip") => {
                return Some(Test { name, runs: Runs::WithReason });
            }
            words => is_test |= TESTS.contains(&words.split('(').next().unwrap_or(words)),
        }
    }
    is_test.then_some(Test { name, runs })
}
