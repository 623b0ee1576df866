//! Debugger statements.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tree_sitter::Node;

use super::DEBUGGER;
use super::syntax_nodes::{NodeWithParent, node_line, node_text, nodes_with_parents};
use crate::findings::FindingDraft;
use crate::paths;
use crate::source::SourceText;
use crh_syntax::Language;

/// Python debuggers that stop with `set_trace`.
#[rustfmt::skip]
const PYTHON: [&str; 11] = [
    "pdb", "ipdb", "pudb", "rpdb", "web_pdb", "wdb", "pdbpp", "pytest", "remote_pdb", "rdb", "Pdb()",
];
/// Debugger modules that have no other use.
const PYTHON_IMPORTED: [&str; 4] = ["pdb", "ipdb", "pudb", "rpdb"];
/// Methods that Ruby debuggers add to `binding`.
const RUBY_OF_BINDING: [&str; 7] =
    ["pry", "irb", "remote_pry", "pry_remote", "b", "break", "console"];
/// Methods that Ruby debuggers add everywhere.
const RUBY: [&str; 5] =
    ["byebug", "debugger", "remote_byebug", "save_and_open_page", "save_and_open_screenshot"];
/// Node kinds in which a bare Ruby word is a statement.
#[rustfmt::skip]
const RUBY_BLOCKS: [&str; 12] = [
    "program", "body_statement", "block_body", "then", "else", "do", "begin", "ensure", "if_modifier",
    "unless_modifier", "block", "do_block",
];

/// Finds the debugger statements of a text. A file with `debug` in its path has none: it probably
/// implements a debugger.
pub(super) fn find_statements(source: &SourceText<'_>) -> Vec<FindingDraft> {
    if source.path.to_ascii_lowercase().contains("debug") {
        return Vec::new();
    }
    let Some(language) = source.language else { return Vec::new() };
    // The matcher of the language, and words of which the text must contain one.
    let (matcher, words): (DebuggerMatcher, &[&str]) = match language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => (in_script, &["debugger"]),
        Language::Python => (
            in_python,
            &["breakpoint", "set_trace", "settrace", "embed", "interact", "pdb", "pudb"],
        ),
        Language::Ruby => (in_ruby, &["binding", "byebug", "debugger", "save_and_open_"]),
        Language::Rust => (in_rust, &["dbg"]),
        Language::Php => (in_php, &["var_dump", "dd", "xdebug_break"]),
        Language::Go => (in_go, &["runtime.Breakpoint"]),
        Language::CSharp => (in_csharp, &["Debugger."]),
        Language::Java | Language::C | Language::Cpp | Language::Kotlin | Language::Swift => {
            return Vec::new();
        }
    };
    if !source.has_one_of(words) {
        return Vec::new();
    }
    let Some(Ok(syntax_tree)) = source.syntax_tree() else { return Vec::new() };
    let text = SearchedText { source, cache: RefCell::default() };
    let findings = nodes_with_parents(syntax_tree.tree())
        .filter_map(|it| Some(finding(it.node, matcher(it, &text)?, source)));
    let mut findings: Vec<FindingDraft> = findings.collect();
    findings.sort_by_key(|finding| finding.line);
    findings.dedup_by_key(|finding| finding.line);
    findings
}

/// Describes the debugger statement at a node; `None` if the node is no such statement.
type DebuggerMatcher = fn(NodeWithParent<'_>, &SearchedText<'_, '_>) -> Option<&'static str>;

/// A text with cached substring searches.
struct SearchedText<'s, 't> {
    source: &'s SourceText<'t>,
    cache: RefCell<BTreeMap<String, bool>>,
}

impl SearchedText<'_, '_> {
    fn has(&self, part: &str) -> bool {
        if let Some(is_present) = self.cache.borrow().get(part) {
            return *is_present;
        }
        let is_present = self.source.text.contains(part);
        self.cache.borrow_mut().insert(part.to_owned(), is_present);
        is_present
    }
}

fn in_script(candidate: NodeWithParent<'_>, _: &SearchedText<'_, '_>) -> Option<&'static str> {
    (candidate.node.kind() == "debugger_statement").then_some("`debugger`")
}

fn in_python(candidate: NodeWithParent<'_>, text: &SearchedText<'_, '_>) -> Option<&'static str> {
    let (node, source) = (candidate.node, text.source);
    match node.kind() {
        "call" => {}
        "import_statement" => return unused_import(node, source),
        "attribute" if node_text(node, source) == "pu.db" && text.has("pudb") => {
            return Some("`pu.db`");
        }
        _ => return None,
    }
    let function = node.child_by_field_name("function")?;
    match function.kind() {
        "identifier" => match node_text(function, source) {
            "breakpoint" if !text.has("def breakpoint") => Some("`breakpoint()`"),
            "set_trace" if text.has("import set_trace") => Some("`set_trace()`"),
            "embed" if text.has("from IPython import embed") => Some("`IPython.embed()`"),
            _ => None,
        },
        "attribute" => {
            let object = node_text(function.child_by_field_name("object")?, source);
            let last_name = object.rsplit('.').next().unwrap_or(object);
            let is_debugger = PYTHON.contains(&last_name)
                || object.starts_with("__import__(") && object.contains("pdb");
            match node_text(function.child_by_field_name("attribute")?, source) {
                "set_trace" if is_debugger => Some("`set_trace()`"),
                "embed" if object == "IPython" => Some("`IPython.embed()`"),
                "breakpoint" if object == "debugpy" => Some("`debugpy.breakpoint()`"),
                "settrace" if object.starts_with("pydevd") => Some("`settrace()`"),
                "interact" if object == "code" => {
                    let arguments = node_text(node.child_by_field_name("arguments")?, source);
                    arguments.contains("locals()").then_some("`code.interact()`")
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The import of a debugger that the text does not use.
fn unused_import(node: Node<'_>, source: &SourceText<'_>) -> Option<&'static str> {
    let names = node_text(node, source).strip_prefix("import")?.split(',').map(str::trim);
    let debugger = names.into_iter().find(|name| PYTHON_IMPORTED.contains(name))?;
    let is_used = source.text.matches(debugger).nth(1).is_some();
    (!is_used).then_some("An import of a debugger")
}

fn in_go(candidate: NodeWithParent<'_>, text: &SearchedText<'_, '_>) -> Option<&'static str> {
    let function = callee(candidate, "call_expression")?;
    (node_text(function, text.source) == "runtime.Breakpoint").then_some("`runtime.Breakpoint()`")
}

fn in_csharp(candidate: NodeWithParent<'_>, text: &SearchedText<'_, '_>) -> Option<&'static str> {
    let function = callee(candidate, "invocation_expression")?;
    let name = node_text(function, text.source);
    let description = match name.strip_prefix("System.Diagnostics.").unwrap_or(name) {
        "Debugger.Break" => "`Debugger.Break()`",
        "Debugger.Launch" => "`Debugger.Launch()`",
        _ => return None,
    };
    // Code that first checks for an attached debugger uses the debugger on purpose.
    (!text.has("Debugger.IsAttached")).then_some(description)
}

fn callee<'t>(candidate: NodeWithParent<'t>, kind: &str) -> Option<Node<'t>> {
    candidate.node.child_by_field_name("function").filter(|_| candidate.node.kind() == kind)
}

fn in_ruby(candidate: NodeWithParent<'_>, text: &SearchedText<'_, '_>) -> Option<&'static str> {
    let (node, source) = (candidate.node, text.source);
    match node.kind() {
        "call" => {
            let receiver = node_text(node.child_by_field_name("receiver")?, source);
            let method = node_text(node.child_by_field_name("method")?, source);
            let is_binding = matches!(receiver, "binding" | "Kernel.binding");
            let is_debugger = is_binding && RUBY_OF_BINDING.contains(&method);
            is_debugger.then_some("a call of the debugger")
        }
        "identifier" => {
            let name = node_text(node, source);
            let is_statement =
                || candidate.parent.is_some_and(|parent| RUBY_BLOCKS.contains(&parent.kind()));
            // The file may define the word itself.
            let is_defined = || {
                let definitions = ["def {}", "{} =", "|{}|", "{}:"];
                definitions.iter().any(|it| text.has(&it.replace("{}", name)))
            };
            (RUBY.contains(&name) && is_statement() && !is_defined())
                .then_some("a call of the debugger")
        }
        _ => None,
    }
}

fn in_rust(candidate: NodeWithParent<'_>, text: &SearchedText<'_, '_>) -> Option<&'static str> {
    let (node, source) = (candidate.node, text.source);
    // In the arguments of another macro, `dbg!` is only a sequence of tokens.
    let is_called = match node.kind() {
        "macro_invocation" => {
            let name = node.child_by_field_name("macro")?;
            matches!(node_text(name, source), "dbg" | "std::dbg")
        }
        "identifier" => {
            node_text(node, source) == "dbg"
                && candidate.parent.is_some_and(|parent| parent.kind() == "token_tree")
                && source.text.get(node.end_byte()..).is_some_and(|rest| rest.starts_with('!'))
        }
        _ => false,
    };
    (is_called && !text.has("macro_rules! dbg")).then_some("`dbg!`")
}

fn in_php(candidate: NodeWithParent<'_>, text: &SearchedText<'_, '_>) -> Option<&'static str> {
    let (node, source) = (candidate.node, text.source);
    if node.kind() != "function_call_expression" || paths::is_sample(source.path) {
        return None;
    }
    let description =
        match node_text(node.child_by_field_name("function")?, source).trim_start_matches('\\') {
            "var_dump" => "`var_dump()`",
            "dd" if !text.has("function dd(") => "`dd()`",
            "ddd" if !text.has("function ddd(") => "`ddd()`",
            "xdebug_break" => "`xdebug_break()`",
            _ => return None,
        };
    Some(description)
}

fn finding(node: Node<'_>, description: &str, source: &SourceText<'_>) -> FindingDraft {
    let line = node_line(node);
    let line_text = source.line(line);
    let why = match description {
        "`dbg!`" | "`var_dump()`" => {
            "It is a debugging aid and prints values that users of the program should not see."
        }
        _ => {
            "It is a debugging aid. Without a person at the debugger, the program stops or fails here."
        }
    };
    let draft = FindingDraft::new(&DEBUGGER, source.path, line, line_text).with_text(
        format!("{description} was left in the code"),
        why,
        "Remove it.",
    );
    // In Python an empty block is an error, so only JavaScript gets a replacement.
    let is_alone =
        node.kind() == "debugger_statement" && line_text.trim() == node_text(node, source).trim();
    FindingDraft { replacement: is_alone.then(String::new), ..draft }
}
