//! Statements for a debugger.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tree_sitter::Node;

use super::DEBUGGER;
use super::calls::{Here, line, nodes_in_parents, text};
use crate::found::Found;
use crate::paths;
use crate::source::Source;
use crh_syntax::Language;

/// Debuggers of Python that stop with `set_trace`.
const PYTHON: [&str; 11] = [
    "pdb",
    "ipdb",
    "pudb",
    "rpdb",
    "web_pdb",
    "wdb",
    "pdbpp",
    "pytest",
    "remote_pdb",
    "rdb",
    "Pdb()",
];
/// Those that nobody imports for anything else.
const PYTHON_IMPORTED: [&str; 4] = ["pdb", "ipdb", "pudb", "rpdb"];
/// What Ruby's debuggers add to `binding`.
const RUBY_OF_BINDING: [&str; 7] =
    ["pry", "irb", "remote_pry", "pry_remote", "b", "break", "console"];
/// What they add everywhere.
const RUBY: [&str; 5] =
    ["byebug", "debugger", "remote_byebug", "save_and_open_page", "save_and_open_screenshot"];
/// Where a bare word is a statement in Ruby.
const RUBY_BLOCKS: [&str; 12] = [
    "program",
    "body_statement",
    "block_body",
    "then",
    "else",
    "do",
    "begin",
    "ensure",
    "if_modifier",
    "unless_modifier",
    "block",
    "do_block",
];

/// The statements for a debugger in a text.
pub(super) fn statements(source: &Source<'_>) -> Vec<Found> {
    if source.path.to_ascii_lowercase().contains("debug") {
        return Vec::new();
    }
    let Some(language) = Language::of_path(source.path) else { return Vec::new() };
    // Each with words of which one stands in the text if it finds anything.
    let (stops, words): (Stops, &[&str]) = match language {
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
    let Some(Ok(parsed)) = source.parsed() else { return Vec::new() };
    let text = Text { source, known: RefCell::default() };
    let mut found: Vec<Found> = nodes_in_parents(parsed.tree())
        .filter_map(|here| stops(here, &text).map(|what| found(here.node, what, source)))
        .collect();
    found.sort_by_key(|found| found.line);
    found.dedup_by_key(|found| found.line);
    found
}

/// What a node stops the program with.
type Stops = fn(Here<'_>, &Text<'_, '_>) -> Option<&'static str>;

/// A text that is asked again and again whether something stands in it; each is looked for once.
struct Text<'s, 't> {
    source: &'s Source<'t>,
    known: RefCell<BTreeMap<String, bool>>,
}

impl Text<'_, '_> {
    fn has(&self, part: &str) -> bool {
        if let Some(known) = self.known.borrow().get(part) {
            return *known;
        }
        let has = self.source.text.contains(part);
        self.known.borrow_mut().insert(part.to_owned(), has);
        has
    }
}

fn in_script(here: Here<'_>, _: &Text<'_, '_>) -> Option<&'static str> {
    (here.node.kind() == "debugger_statement").then_some("`debugger`")
}

fn in_python(here: Here<'_>, whole: &Text<'_, '_>) -> Option<&'static str> {
    let (node, source) = (here.node, whole.source);
    match node.kind() {
        "call" => {}
        "import_statement" => return unused_import(node, source),
        "attribute" if text(node, source) == "pu.db" && whole.has("pudb") => {
            return Some("`pu.db`");
        }
        _ => return None,
    }
    let function = node.child_by_field_name("function")?;
    match function.kind() {
        "identifier" => match text(function, source) {
            "breakpoint" if !whole.has("def breakpoint") => Some("`breakpoint()`"),
            "set_trace" if whole.has("import set_trace") => Some("`set_trace()`"),
            "embed" if whole.has("from IPython import embed") => Some("`IPython.embed()`"),
            _ => None,
        },
        "attribute" => {
            let object = text(function.child_by_field_name("object")?, source);
            let last = object.rsplit('.').next().unwrap_or(object);
            let is_debugger = PYTHON.contains(&last)
                || object.starts_with("__import__(") && object.contains("pdb");
            match text(function.child_by_field_name("attribute")?, source) {
                "set_trace" if is_debugger => Some("`set_trace()`"),
                "embed" if object == "IPython" => Some("`IPython.embed()`"),
                "breakpoint" if object == "debugpy" => Some("`debugpy.breakpoint()`"),
                "settrace" if object.starts_with("pydevd") => Some("`settrace()`"),
                "interact" if object == "code" => {
                    let arguments = text(node.child_by_field_name("arguments")?, source);
                    arguments.contains("locals()").then_some("`code.interact()`")
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The import of a debugger that nothing else in the text names.
fn unused_import(node: Node<'_>, source: &Source<'_>) -> Option<&'static str> {
    let names = text(node, source).strip_prefix("import")?.split(',').map(str::trim);
    let debugger = names.into_iter().find(|name| PYTHON_IMPORTED.contains(name))?;
    let is_used = source.text.matches(debugger).nth(1).is_some();
    (!is_used).then_some("An import of a debugger")
}

fn in_go(here: Here<'_>, whole: &Text<'_, '_>) -> Option<&'static str> {
    let function = called(here, "call_expression")?;
    (text(function, whole.source) == "runtime.Breakpoint").then_some("`runtime.Breakpoint()`")
}

fn in_csharp(here: Here<'_>, whole: &Text<'_, '_>) -> Option<&'static str> {
    let function = called(here, "invocation_expression")?;
    let name = text(function, whole.source);
    let what = match name.strip_prefix("System.Diagnostics.").unwrap_or(name) {
        "Debugger.Break" => "`Debugger.Break()`",
        "Debugger.Launch" => "`Debugger.Launch()`",
        _ => return None,
    };
    // Whoever asks for the debugger first means it.
    (!whole.has("Debugger.IsAttached")).then_some(what)
}

fn called<'t>(here: Here<'t>, kind: &str) -> Option<Node<'t>> {
    here.node.child_by_field_name("function").filter(|_| here.node.kind() == kind)
}

fn in_ruby(here: Here<'_>, whole: &Text<'_, '_>) -> Option<&'static str> {
    let (node, source) = (here.node, whole.source);
    match node.kind() {
        "call" => {
            let receiver = text(node.child_by_field_name("receiver")?, source);
            let method = text(node.child_by_field_name("method")?, source);
            let is_binding = matches!(receiver, "binding" | "Kernel.binding");
            let is_debugger = is_binding && RUBY_OF_BINDING.contains(&method);
            is_debugger.then_some("a call of the debugger")
        }
        "identifier" => {
            let name = text(node, source);
            let is_statement =
                || here.parent.is_some_and(|parent| RUBY_BLOCKS.contains(&parent.kind()));
            // Somebody may have given the word a meaning of their own.
            let is_defined = || {
                [
                    format!("def {name}"),
                    format!("{name} ="),
                    format!("|{name}|"),
                    format!("{name}:"),
                ]
                .iter()
                .any(|definition| whole.has(definition))
            };
            (RUBY.contains(&name) && is_statement() && !is_defined())
                .then_some("a call of the debugger")
        }
        _ => None,
    }
}

fn in_rust(here: Here<'_>, whole: &Text<'_, '_>) -> Option<&'static str> {
    let (node, source) = (here.node, whole.source);
    // In the arguments of another macro there are only tokens.
    let is_called = match node.kind() {
        "macro_invocation" => {
            let name = node.child_by_field_name("macro")?;
            matches!(text(name, source), "dbg" | "std::dbg")
        }
        "identifier" => {
            text(node, source) == "dbg"
                && here.parent.is_some_and(|parent| parent.kind() == "token_tree")
                && source.text.get(node.end_byte()..).is_some_and(|rest| rest.starts_with('!'))
        }
        _ => false,
    };
    (is_called && !whole.has("macro_rules! dbg")).then_some("`dbg!`")
}

fn in_php(here: Here<'_>, whole: &Text<'_, '_>) -> Option<&'static str> {
    let (node, source) = (here.node, whole.source);
    if node.kind() != "function_call_expression" || paths::is_sample(source.path) {
        return None;
    }
    let what = match text(node.child_by_field_name("function")?, source).trim_start_matches('\\') {
        "var_dump" => "`var_dump()`",
        "dd" if !whole.has("function dd(") => "`dd()`",
        "ddd" if !whole.has("function ddd(") => "`ddd()`",
        "xdebug_break" => "`xdebug_break()`",
        _ => return None,
    };
    Some(what)
}

fn found(node: Node<'_>, what: &str, source: &Source<'_>) -> Found {
    let line = line(node);
    let whole = source.line(line);
    let why = match what {
        "`dbg!`" | "`var_dump()`" => {
            "It was put there to look into a running program, and prints what users of the program should not see."
        }
        _ => {
            "It was put there to look into a running program. Wherever the program runs without somebody to watch, it stops or \
              fails here."
        }
    };
    let found = Found::new(&DEBUGGER, source.path, line, whole).saying(
        format!("{what} was left in the code"),
        why,
        "Take it out.",
    );
    // In Python a block needs a statement.
    let is_alone = node.kind() == "debugger_statement" && whole.trim() == text(node, source).trim();
    Found { replacement: is_alone.then(String::new), ..found }
}
