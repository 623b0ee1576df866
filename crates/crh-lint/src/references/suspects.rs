//! What in the diff alone is a reason to look closer. It reads no file, so that a change that removes nothing costs next to nothing.

use std::collections::HashSet;

use crate::{Change, ChangedFile, paths};
use crh_syntax::Language;

/// A file of the change, and why it is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reason<'a> {
    pub(super) file: &'a ChangedFile,
    pub(super) family: Family,
    /// Whether it may have lost names, or changed parameters.
    pub(super) may_lose: bool,
    /// Whether it may take something that is not there.
    pub(super) may_miss: bool,
}

/// Languages that can take names from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Family {
    Python,
    /// JavaScript and TypeScript.
    Script,
    Go,
    Rust,
    Java,
    Ruby,
}

impl Family {
    pub(super) fn of(path: &str) -> Option<Self> {
        match Language::of_path(path)? {
            Language::Python => Some(Self::Python),
            Language::JavaScript | Language::TypeScript | Language::Tsx => Some(Self::Script),
            Language::Go => Some(Self::Go),
            Language::Rust => Some(Self::Rust),
            Language::Java => Some(Self::Java),
            Language::Ruby => Some(Self::Ruby),
            Language::C
            | Language::Cpp
            | Language::CSharp
            | Language::Php
            | Language::Kotlin
            | Language::Swift => None,
        }
    }
}

/// The files worth a closer look.
pub(super) fn reasons<'a>(change: &Change<'a>) -> Vec<Reason<'a>> {
    let files: HashSet<&str> = change.files.iter().map(|it| it.path.as_str()).collect();
    // What has no line to review, but was somewhere else before, is no less gone from there.
    let went = change.all.iter().filter(|it| {
        it.added.is_empty() && it.removed.is_empty() && !files.contains(it.path.as_str())
    });
    change.files.iter().chain(went).filter_map(reason).collect()
}

fn reason(file: &ChangedFile) -> Option<Reason<'_>> {
    let before = file.before.as_deref();
    let family = Family::of(&file.path).or_else(|| before.and_then(Family::of))?;
    if !file.has_lines || is_foreign(&file.path) {
        return None;
    }
    let went = file.is_deleted || before.is_some_and(|before| before != file.path);
    let removed = file.removed.iter().any(|line| may_define(family, line));
    let reshaped = file.added.iter().any(|line| may_reshape(family, &line.text));
    let may_lose = before.is_some() && (went || removed || reshaped);
    let may_miss = !file.is_deleted && file.added.iter().any(|line| may_take(family, &line.text));
    (may_lose || may_miss).then_some(Reason { file, family, may_lose, may_miss })
}

/// Whether others wrote the file, or a program did.
pub(super) fn is_foreign(path: &str) -> bool {
    let is_theirs = |part: &str| {
        matches!(
            part,
            "node_modules"
                | "vendor"
                | "third_party"
                | "dist"
                | "generated"
                | "testdata"
                | "fixtures"
                | "__fixtures__"
                | "snapshots"
                // What is tried out there need not work.
                | "playground"
                | "playgrounds"
        )
    };
    path.split('/').any(is_theirs)
        || path.contains(".min.")
        || path.contains("_pb2")
        || path.ends_with(".pb.go")
        || path.contains(".generated.")
        || path.contains("{{")
        || paths::is_document(path)
}

/// Whether a line that was taken away may have named something that others can use.
fn may_define(family: Family, line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let word = line.trim_start();
    let has = |words: &[&str]| words.iter().any(|it| word.starts_with(it));
    let is_outermost = line.starts_with(|it: char| it.is_alphanumeric() || it == '_' || it == '@');
    match family {
        Family::Python => {
            has(&["def ", "async def ", "class ", "from ", "import "])
                || is_outermost && line.contains('=')
                || is_item(word)
        }
        Family::Script => {
            has(&[
                "export",
                "function",
                "async function",
                "class ",
                "const ",
                "let ",
                "var ",
                "module.exports",
                "exports.",
                "enum ",
                "interface ",
                "type ",
                "abstract class",
                "import ",
                "declare ",
            ]) || is_item(word)
                || is_method(family, line)
        }
        Family::Go => {
            has(&["func ", "type ", "const ", "var "]) || is_item(word) || word.contains('=')
        }
        Family::Rust => {
            has(&[
                "pub",
                "fn ",
                "async fn",
                "const ",
                "static ",
                "struct ",
                "enum ",
                "trait ",
                "type ",
                "mod ",
                "use ",
                "unsafe fn",
                "macro_rules!",
            ]) || is_item(word)
        }
        Family::Java => {
            word.contains('(')
                || word.contains("static ")
                || word.contains("class ")
                || word.contains("interface ")
                || word.contains("enum ")
                || word.contains("record ")
                || is_item(word)
        }
        Family::Ruby => {
            has(&["def ", "class ", "module "])
                || word.starts_with(|it: char| it.is_ascii_uppercase())
        }
    }
}

/// Whether a line may begin a method of a class, in the languages in which those are followed.
pub(super) fn is_method(family: Family, line: &str) -> bool {
    let word = line.trim();
    match family {
        Family::Python => {
            line.starts_with([' ', '\t'])
                && (word.starts_with("def ") || word.starts_with("async def "))
        }
        Family::Script => {
            let modifiers = ["public ", "private ", "protected ", "static ", "async "];
            let mut name = word;
            while let Some(rest) = modifiers.iter().find_map(|it| name.strip_prefix(it)) {
                name = rest;
            }
            let end = name.find(['(', '<']).unwrap_or_default();
            let is_name = |it: char| it.is_alphanumeric() || matches!(it, '_' | '$' | '#');
            let is_statement =
                matches!(&name[..end], "if" | "for" | "while" | "switch" | "catch" | "with");
            line.starts_with([' ', '\t'])
                && end > 0
                && name[..end].chars().all(is_name)
                && !is_statement
                && word.ends_with('{')
                && !word.contains("=>")
        }
        Family::Go | Family::Rust | Family::Java | Family::Ruby => false,
    }
}

/// Whether an added line may be part of the parameters of a function.
fn may_reshape(family: Family, line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let word = line.trim_start();
    match family {
        Family::Python => {
            word.starts_with("def ") || word.starts_with("async def ") || is_item(word)
        }
        Family::Script => word.contains("function") || word.contains("=>") || is_item(word),
        Family::Go => word.starts_with("func ") || is_item(word),
        Family::Rust => word.contains("fn ") || is_item(word),
        Family::Java => word.contains('(') && word.ends_with(['{', ',']) || is_item(word),
        Family::Ruby => word.starts_with("def "),
    }
}

/// One of several on lines of their own: `name,`, `name: Type,`, `Type name,` or `name = 1,`, in brackets that open above. What
/// has values or calls in it is part of a call or a table, which are everywhere.
fn is_item(word: &str) -> bool {
    let name = word.trim_start_matches(['*', '&']);
    let end = name
        .find(|it: char| !(it.is_alphanumeric() || it == '_' || it == '$'))
        .unwrap_or(name.len());
    let (name, rest) = (&name[..end], name[end..].trim());
    if name.is_empty()
        || name.starts_with(|it: char| it.is_ascii_digit())
        || STATEMENTS.contains(&name)
    {
        return false;
    }
    let Some(annotation) = rest.strip_prefix(':').filter(|it| !it.starts_with(':')) else {
        let is_typed = rest.ends_with(',')
            && !rest.contains(['(', '"', '\''])
            && rest.starts_with(|it: char| it.is_alphanumeric() || "_*[<?.".contains(it));
        return rest.is_empty()
            || rest.starts_with(',')
            || rest.starts_with("as ")
            || rest.starts_with('=') && rest.ends_with(',')
            || is_typed;
    };
    let annotation = annotation.trim_start();
    let is_value = annotation.starts_with(|it: char| it.is_ascii_digit() || "\"'`".contains(it))
        || ["true", "false", "null", "undefined"].iter().any(|it| annotation.starts_with(it));
    !annotation.is_empty() && !is_value && !annotation.ends_with([';', '{'])
}

/// Words that stand on lines of their own and name nothing.
#[rustfmt::skip]
const STATEMENTS: [&str; 22] = [
    "else", "try", "finally", "return", "pass", "break", "continue", "end", "default", "do", "loop", "begin", "ensure", "true", "false",
    "null", "None", "True", "False", "self", "this", "raise",
];

/// Whether an added line may take something from elsewhere in the repository.
fn may_take(family: Family, line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let word = line.trim_start();
    match family {
        Family::Python => {
            word.starts_with("from ") || word.starts_with("import ") || is_listed(word)
        }
        Family::Script => line.contains("'.") || line.contains("\".") || is_listed(word),
        Family::Go => word.starts_with("import ") || word.starts_with('"') || word.ends_with('"'),
        Family::Rust => {
            ["use ", "mod "].iter().any(|it| word.starts_with(it))
                || word.starts_with("pub") && (word.contains(" use ") || word.contains(" mod "))
                || is_listed(word)
        }
        Family::Java => word.starts_with("import "),
        Family::Ruby => word.starts_with("require_relative"),
    }
}

/// Names alone, as in a list of imports: `name,`, `a, b as c,`, `type Row }`.
fn is_listed(word: &str) -> bool {
    let word = word.trim_start_matches(['{', '(']).trim_end_matches([';', ')', '}', ',', ' ']);
    let is_word = |it: &str| {
        it.chars().all(|it| it.is_alphanumeric() || matches!(it, '_' | '$' | ':'))
            && !it.ends_with(':')
            && !it.starts_with(|it: char| it.is_ascii_digit())
            && !STATEMENTS.contains(&it)
    };
    let is_one = |item: &str| {
        let mut parts = item.split_whitespace().filter(|it| !matches!(*it, "as" | "type"));
        parts.clone().count() <= 2 && parts.all(is_word)
    };
    !word.trim().is_empty() && word.split(',').all(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_imports_on_lines_of_their_own_are_a_reason_and_statements_are_not() {
        let items = [
            "name,",
            "name",
            "*args,",
            "**kwargs,",
            "name: Type,",
            "name: Type = 1,",
            "limit=1,",
            "limit = \"a\",",
            "x int,",
            "x *Row,",
            "String name,",
            "Name as Other,",
            "callback: (x: number) => void,",
            "name?: string,",
        ];
        let others = [
            "else:",
            "try:",
            "return",
            "end",
            "load(x),",
            "self.load(x),",
            "\"a\",",
            "1,",
            "key: \"value\",",
            "key: 1,",
            "key: true,",
            "pass",
            "a.load(\"x\"),",
            "case: {",
        ];
        assert_eq!(items.map(is_item), [true; 14]);
        assert_eq!(others.map(is_item), [false; 14]);
        assert_eq!(
            ["name,", "a as b,", "type Row,", "a::b,", "a, b,", "{ a, b }"].map(is_listed),
            [true; 6]
        );
        assert_eq!(
            ["else:", "return", "1,", "end", "a b c", "f(a, b);"].map(is_listed),
            [false; 6]
        );
    }
}
