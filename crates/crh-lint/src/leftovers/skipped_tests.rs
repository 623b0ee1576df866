//! Tests that ran before the change and are skipped after it without a reason.
//!
//! Tests are identified by name. A new skipped test is work in progress; a comment, a condition or
//! a reason makes a skip acceptable.

use std::collections::HashMap;

use tree_sitter::Node;

use super::SKIPPED_TEST;
use super::focused_tests::true_option;
use super::syntax_nodes::{
    callee_names, is_test_call, named_children, node_line, node_text, nodes,
};
use crate::file_context::FileContext;
use crate::findings::FindingDraft;
use crate::source::SourceText;
use crh_syntax::Language;

#[derive(Debug, Clone, PartialEq, Eq)]
struct TestState<'t> {
    name: &'t str,
    status: TestStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestStatus {
    Runs,
    /// Skipped by the code on this line.
    Skipped(u32),
    /// Skipped, always or under a condition, with a reason.
    SkippedWithReason,
}

/// Reports tests that the change disables.
pub(super) fn find_tests(ctx: &FileContext<'_>) -> Vec<FindingDraft> {
    let (Some(old), Some(new)) = (&ctx.old, &ctx.new) else { return Vec::new() };
    if !may_skip(new) {
        return Vec::new();
    }
    let new_tests = parse_tests(new);
    if !new_tests.iter().any(|test| matches!(test.status, TestStatus::Skipped(_))) {
        return Vec::new();
    }
    let old_tests = parse_tests(old);
    let (old_counts, new_counts) = (count_running(&old_tests), count_running(&new_tests));
    let runs_less_often = |name: &str| {
        new_counts.get(name).copied().unwrap_or(0) < old_counts.get(name).copied().unwrap_or(0)
    };
    let mut findings = Vec::new();
    for test in &new_tests {
        let TestStatus::Skipped(line) = test.status else { continue };
        if runs_less_often(test.name) && ctx.file.adds(line) && !has_comment(ctx, new, line) {
            let draft = FindingDraft::new(&SKIPPED_TEST, new.path, line, new.line(line)).with_text(
                "A test that ran before is now skipped",
                "The test ran before this change. Now it is skipped, and nothing says why or until when. Regressions that it covered go unnoticed.",
                "Enable the test, or state why it is skipped, with a link to the work on it.",
            );
            findings.push(draft);
        }
    }
    findings.dedup_by_key(|finding| finding.line);
    findings
}

fn count_running<'t>(tests: &[TestState<'t>]) -> HashMap<&'t str, usize> {
    let mut counts = HashMap::new();
    for test in tests.iter().filter(|test| test.status == TestStatus::Runs) {
        *counts.entry(test.name).or_default() += 1;
    }
    counts
}

/// Whether there is a comment on a line, or the change adds one above or below it. Attributes may
/// be between the line and the comment above.
fn has_comment(ctx: &FileContext<'_>, source: &SourceText<'_>, line: u32) -> bool {
    /// Maximum lines to search above. Tests rarely have as many attributes.
    const ATTRIBUTES_MAX: u32 = 4;
    let is_attribute = |line: &u32| {
        let text = source.line(*line).trim_start();
        text.starts_with("#[") || text.starts_with('@')
    };
    let mut lines = (line.saturating_sub(ATTRIBUTES_MAX)..line).rev();
    let line_above = lines.find(|line| !is_attribute(line));
    let is_new_comment = |line: u32| {
        let text = source.line(line).trim_start();
        ctx.file.adds(line) && ["//", "*", "/*", "# "].iter().any(|sign| text.starts_with(sign))
    };
    let line_text = source.line(line).trim_start();
    line_above.is_some_and(is_new_comment)
        || is_new_comment(line.saturating_add(1))
        || [" //", " # ", "/*"].into_iter().any(|sign| line_text.contains(sign))
}

/// Whether a text may have a skipped test, judged by its words.
fn may_skip(source: &SourceText<'_>) -> bool {
    let words: &[&str] = match source.language {
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            &["skip", "xit", "xtest", "xdescribe", "xcontext", "xspecify"]
        }
        Some(Language::Ruby) => {
            &["skip", "pending", "xit", "xdescribe", "xcontext", "xspecify", "xexample"]
        }
        // Python tests have `test` in their names.
        Some(Language::Python) if !source.has_one_of(&["test", "Test"]) => return false,
        Some(Language::Python) => &["skip", "SkipTest"],
        Some(Language::Rust) => &["ignore"],
        Some(Language::Java | Language::Kotlin) => &["Disabled", "Ignore", "enabled"],
        Some(Language::CSharp) => &["Ignore"],
        // Ginkgo has too many names for skipped tests, so parse the tree.
        Some(Language::Go) => return true,
        Some(Language::C | Language::Cpp | Language::Php | Language::Swift) | None => return false,
    };
    source.has_one_of(words)
}

fn parse_tests<'t>(source: &SourceText<'t>) -> Vec<TestState<'t>> {
    let Some(Ok(parsed)) = source.syntax_tree() else { return Vec::new() };
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

/// JavaScript modifiers that skip a test under a condition or for a known reason.
const SCRIPT_CONDITIONS: [&str; 5] = ["skipIf", "runIf", "todo", "fixme", "fails"];

fn in_script<'t>(node: Node<'_>, source: &SourceText<'t>) -> Option<TestState<'t>> {
    if node.kind() != "call_expression" {
        return None;
    }
    let arguments = node.child_by_field_name("arguments")?;
    let names = callee_names(node.child_by_field_name("function")?);
    let (first, others) = names.split_first()?;
    let title = named_children(arguments).into_iter().next()?;
    if !matches!(title.kind(), "string" | "template_string") || !is_test_call(arguments) {
        return None;
    }
    let others: Vec<&str> = others.iter().map(|name| node_text(*name, source)).collect();
    let status = match node_text(*first, source) {
        "xit" | "xtest" | "xdescribe" | "xcontext" | "xspecify" => {
            TestStatus::Skipped(node_line(*first))
        }
        "it" | "test" | "describe" | "context" | "suite" | "specify" => match () {
            () if others.contains(&"skip") || has_skip(arguments, source) => {
                TestStatus::Skipped(node_line(node))
            }
            () if others.iter().any(|it| SCRIPT_CONDITIONS.contains(it)) => {
                TestStatus::SkippedWithReason
            }
            () => TestStatus::Runs,
        },
        _ => return None,
    };
    Some(TestState { name: node_text(title, source), status })
}

/// Whether the options object of a Node test has `skip: true`.
fn has_skip(arguments: Node<'_>, source: &SourceText<'_>) -> bool {
    let mut objects = named_children(arguments).into_iter().filter(|it| it.kind() == "object");
    objects.any(|it| true_option(it, "skip", source).is_some())
}

fn in_ruby<'t>(node: Node<'_>, source: &SourceText<'t>) -> Option<TestState<'t>> {
    if node.kind() == "method" {
        let name = node_text(node.child_by_field_name("name")?, source);
        let body = named_children(node).into_iter().find(|part| part.kind() == "body_statement")?;
        let status = ruby_body_status(body, source);
        return name.starts_with("test_").then_some(TestState { name, status });
    }
    let receiver = node.child_by_field_name("receiver").map(|it| node_text(it, source));
    if node.kind() != "call" || !matches!(receiver, None | Some("RSpec")) {
        return None;
    }
    let block = node.child_by_field_name("block")?;
    let method = node.child_by_field_name("method")?;
    let arguments = named_children(node.child_by_field_name("arguments")?);
    let (title, metadata) = arguments.split_first()?;
    let status = match node_text(method, source) {
        "xit" | "xdescribe" | "xcontext" | "xspecify" | "xexample" | "pending" | "skip" => {
            TestStatus::Skipped(node_line(node))
        }
        "it" | "describe" | "context" | "specify" | "example" => {
            let metadata = metadata.iter().map(|it| (it, node_text(*it, source)));
            let skip_metadata: Vec<_> =
                metadata.filter(|(_, it)| it.contains("skip") || it.contains("pending")).collect();
            match skip_metadata.first() {
                Some((argument, ":skip" | ":pending" | "skip: true" | "pending: true")) => {
                    TestStatus::Skipped(node_line(**argument))
                }
                Some(_) => TestStatus::SkippedWithReason,
                None => named_children(block)
                    .into_iter()
                    .next_back()
                    .map_or(TestStatus::Runs, |body| ruby_body_status(body, source)),
            }
        }
        _ => return None,
    };
    Some(TestState { name: node_text(*title, source), status })
}

/// The status of a test, by whether its body starts with `skip` or `pending`.
fn ruby_body_status(body: Node<'_>, source: &SourceText<'_>) -> TestStatus {
    let Some(first) = named_children(body).into_iter().next() else { return TestStatus::Runs };
    match node_text(first, source) {
        "skip" | "pending" => TestStatus::Skipped(node_line(first)),
        words if words.starts_with("skip ") || words.starts_with("pending ") => {
            TestStatus::SkippedWithReason
        }
        _ => TestStatus::Runs,
    }
}

/// Python decorators that skip a test without a reason.
#[rustfmt::skip]
const PYTHON_SKIPS: [&str; 11] = [
    "@pytest.mark.skip", "@pytest.mark.skip()", "@pytest.mark.skip(\"\")", "@pytest.mark.skip(reason=\"\")", "@mark.skip",
    "@mark.skip()", "@unittest.skip", "@unittest.skip()", "@unittest.skip(\"\")", "@skip", "@skip()",
];

fn in_python<'t>(node: Node<'_>, source: &SourceText<'t>) -> Option<TestState<'t>> {
    if !matches!(node.kind(), "function_definition" | "class_definition") {
        return None;
    }
    let name = node_text(node.child_by_field_name("name")?, source);
    if !name.starts_with("test") && !name.starts_with("Test") && !name.ends_with("Test") {
        return None;
    }
    let decorated_definition =
        node.parent().filter(|parent| parent.kind() == "decorated_definition");
    let decorators = decorated_definition.map(named_children).unwrap_or_default();
    let mut status = TestStatus::Runs;
    for decorator in decorators.into_iter().filter(|part| part.kind() == "decorator") {
        let words: String = node_text(decorator, source).split_whitespace().collect();
        match words.as_str() {
            words if PYTHON_SKIPS.contains(&words) => {
                status = TestStatus::Skipped(node_line(decorator));
            }
            words if words.contains("skip") || words.contains("xfail") => {
                return Some(TestState { name, status: TestStatus::SkippedWithReason });
            }
            _ => {}
        }
    }
    if status == TestStatus::Runs && node.kind() == "function_definition" {
        status = python_body_status(node, source);
    }
    Some(TestState { name, status })
}

/// The status of a test function, by whether its body skips it unconditionally.
fn python_body_status(function: Node<'_>, source: &SourceText<'_>) -> TestStatus {
    let statements = function.child_by_field_name("body").map(named_children).unwrap_or_default();
    for statement in statements {
        match node_text(statement, source) {
            "pytest.skip()" | "raise SkipTest" | "raise unittest.SkipTest" => {
                return TestStatus::Skipped(node_line(statement));
            }
            words if words.starts_with("pytest.skip(") || words.starts_with("self.skipTest(") => {
                return TestStatus::SkippedWithReason;
            }
            _ => {}
        }
    }
    TestStatus::Runs
}

/// Ginkgo marks skipped tests by their function name.
fn in_ginkgo<'t>(node: Node<'_>, source: &SourceText<'t>) -> Option<TestState<'t>> {
    const TESTS: [&str; 6] = ["It", "Describe", "Context", "When", "Specify", "DescribeTable"];
    let name = node_text(node.child_by_field_name("function")?, source);
    let name = name.strip_prefix("ginkgo.").unwrap_or(name);
    let title = named_children(node.child_by_field_name("arguments")?).into_iter().next()?;
    if !title.kind().ends_with("string_literal") {
        return None;
    }
    let status = match name.strip_prefix(['P', 'X']) {
        Some(rest) if TESTS.contains(&rest) => TestStatus::Skipped(node_line(node)),
        _ if TESTS.contains(&name) => TestStatus::Runs,
        _ => return None,
    };
    Some(TestState { name: node_text(title, source), status })
}

fn in_go<'t>(node: Node<'_>, source: &SourceText<'t>) -> Option<TestState<'t>> {
    if node.kind() == "call_expression" {
        return in_ginkgo(node, source);
    }
    if node.kind() != "function_declaration" {
        return None;
    }
    let name = node_text(node.child_by_field_name("name")?, source);
    if !name.starts_with("Test") && !name.starts_with("Benchmark") && !name.starts_with("Fuzz") {
        return None;
    }
    // Only unconditional statements count.
    let mut statements = named_children(node.child_by_field_name("body")?);
    if let [list] = statements.as_slice()
        && list.kind() == "statement_list"
    {
        statements = named_children(*list);
    }
    let mut status = TestStatus::Runs;
    for statement in statements {
        let words = node_text(statement, source).trim();
        match words {
            "t.Skip()" | "t.SkipNow()" | "b.Skip()" | "b.SkipNow()" => {
                status = TestStatus::Skipped(node_line(statement));
            }
            _ if words.starts_with("t.Skip") => status = TestStatus::SkippedWithReason,
            _ => {}
        }
    }
    Some(TestState { name, status })
}

fn in_rust<'t>(node: Node<'_>, source: &SourceText<'t>) -> Option<TestState<'t>> {
    if node.kind() != "function_item" {
        return None;
    }
    let name = node_text(node.child_by_field_name("name")?, source);
    let (mut status, mut is_test) = (TestStatus::Runs, false);
    let mut sibling = node.prev_sibling();
    while let Some(attribute) = sibling.filter(|it| it.kind() == "attribute_item") {
        let words: String = node_text(attribute, source).split_whitespace().collect();
        match words.as_str() {
            "#[ignore]" => status = TestStatus::Skipped(node_line(attribute)),
            words if words.starts_with("#[ignore") => status = TestStatus::SkippedWithReason,
            words => is_test |= words.contains("test"),
        }
        sibling = attribute.prev_sibling();
    }
    is_test.then_some(TestState { name, status })
}

fn in_java<'t>(node: Node<'_>, source: &SourceText<'t>) -> Option<TestState<'t>> {
    if !matches!(node.kind(), "method_declaration" | "class_declaration" | "function_declaration") {
        return None;
    }
    let name = node_text(node.child_by_field_name("name")?, source);
    let modifiers = named_children(node).into_iter().find(|part| part.kind() == "modifiers");
    let annotations = modifiers.map(named_children).unwrap_or_default();
    let (mut status, mut is_test) =
        (TestStatus::Runs, node.kind() == "class_declaration" && name.contains("Test"));
    for annotation in annotations {
        let words = node_text(annotation, source);
        let words = match words.split_once('(').map_or(words, |(name, _)| name).rfind('.') {
            Some(dot) => &words[dot + 1..],
            None => words.trim_start_matches('@'),
        };
        let compact_text: String = words.split_whitespace().collect();
        match compact_text.as_str() {
            "Disabled" | "Ignore" | "Disabled()" | "Ignore()" | "Test(enabled=false)" => {
                status = TestStatus::Skipped(node_line(annotation));
                is_test |= compact_text.starts_with("Test");
            }
            words if words.starts_with("Disabled") || words.starts_with("Ignore") => {
                status = TestStatus::SkippedWithReason;
            }
            words => is_test |= words.contains("Test"),
        }
    }
    is_test.then_some(TestState { name, status })
}

fn in_csharp<'t>(node: Node<'_>, source: &SourceText<'t>) -> Option<TestState<'t>> {
    const TESTS: [&str; 6] = ["Test", "TestMethod", "TestCase", "Fact", "Theory", "TestFixture"];
    if !matches!(node.kind(), "method_declaration" | "class_declaration") {
        return None;
    }
    let name = node_text(node.child_by_field_name("name")?, source);
    let lists = named_children(node).into_iter().filter(|part| part.kind() == "attribute_list");
    let (mut status, mut is_test) = (TestStatus::Runs, false);
    for attribute in lists.flat_map(named_children) {
        match node_text(attribute, source) {
            "Ignore" | "Ignore()" => status = TestStatus::Skipped(node_line(attribute)),
            words if words.starts_with("Ignore(") || words.contains("Skip") => {
                return Some(TestState { name, status: TestStatus::SkippedWithReason });
            }
            words => is_test |= TESTS.contains(&words.split('(').next().unwrap_or(words)),
        }
    }
    is_test.then_some(TestState { name, status })
}
