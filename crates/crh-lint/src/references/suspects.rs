//! Finds the files that the diff alone makes suspicious. Reads no file, so a change that removes
//! nothing costs almost nothing.

use std::collections::HashSet;

use crate::{ChangeView, ChangedFile, paths};
use crh_syntax::Language;

/// A changed file that may break references.
#[derive(Debug, Clone, Copy)]
pub(super) struct SuspectFile<'a> {
    pub(super) file: &'a ChangedFile,
    pub(super) family: LanguageFamily,
    /// Whether it may remove names or change parameters.
    pub(super) may_remove_names: bool,
    /// Whether it may import something that does not exist.
    pub(super) may_miss_imports: bool,
}

/// Languages that can import from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum LanguageFamily {
    Python,
    /// JavaScript and TypeScript.
    Script,
    Go,
    Rust,
    Java,
    Ruby,
}

impl LanguageFamily {
    pub(super) fn from_path(path: &str) -> Option<Self> {
        match Language::from_path(path)? {
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

pub(super) fn suspect_files<'a>(change: &ChangeView<'a>) -> Vec<SuspectFile<'a>> {
    let files: HashSet<&str> = change.files.iter().map(|it| it.path.as_str()).collect();
    // A moved file without changed lines is still gone from its old path.
    let went = change.all_files.iter().filter(|it| {
        it.added.is_empty() && it.removed.is_empty() && !files.contains(it.path.as_str())
    });
    change.files.iter().chain(went).filter_map(suspect_file).collect()
}

fn suspect_file(file: &ChangedFile) -> Option<SuspectFile<'_>> {
    let before = file.old_path.as_deref();
    let family = LanguageFamily::from_path(&file.path)
        .or_else(|| before.and_then(LanguageFamily::from_path))?;
    if !file.has_lines || is_foreign(&file.path) {
        return None;
    }
    let went = file.is_deleted || before.is_some_and(|before| before != file.path);
    let removed = file.removed.iter().any(|line| may_define(family, line));
    let reshaped = file.added.iter().any(|line| may_change_parameters(family, &line.text));
    let may_lose = before.is_some() && (went || removed || reshaped);
    let may_miss = !file.is_deleted && file.added.iter().any(|line| may_import(family, &line.text));
    (may_lose || may_miss).then_some(SuspectFile {
        file,
        family,
        may_remove_names: may_lose,
        may_miss_imports: may_miss,
    })
}

/// Whether a file is third-party code, generated or documentation.
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
                // Experiments need not work.
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

/// Whether a removed line may have defined a name that others use.
fn may_define(family: LanguageFamily, line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let word = line.trim_start();
    let has = |words: &[&str]| words.iter().any(|it| word.starts_with(it));
    let is_outermost = line.starts_with(|it: char| it.is_alphanumeric() || it == '_' || it == '@');
    match family {
        LanguageFamily::Python => {
            has(&["def ", "async def ", "class ", "from ", "import "])
                || is_outermost && line.contains('=')
                || is_list_item(word)
        }
        LanguageFamily::Script => {
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
            ]) || is_list_item(word)
                || is_method(family, line)
        }
        LanguageFamily::Go => {
            has(&["func ", "type ", "const ", "var "]) || is_list_item(word) || word.contains('=')
        }
        LanguageFamily::Rust => {
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
            ]) || is_list_item(word)
        }
        LanguageFamily::Java => {
            word.contains('(')
                || word.contains("static ")
                || word.contains("class ")
                || word.contains("interface ")
                || word.contains("enum ")
                || word.contains("record ")
                || is_list_item(word)
        }
        LanguageFamily::Ruby => {
            has(&["def ", "class ", "module "])
                || word.starts_with(|it: char| it.is_ascii_uppercase())
        }
    }
}

/// Whether a line may start a method, in the languages whose methods are followed.
pub(super) fn is_method(family: LanguageFamily, line: &str) -> bool {
    let word = line.trim();
    match family {
        LanguageFamily::Python => {
            line.starts_with([' ', '\t'])
                && (word.starts_with("def ") || word.starts_with("async def "))
        }
        LanguageFamily::Script => {
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
        LanguageFamily::Go | LanguageFamily::Rust | LanguageFamily::Java | LanguageFamily::Ruby => {
            false
        }
    }
}

/// Whether an added line may be part of a parameter list.
fn may_change_parameters(family: LanguageFamily, line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let word = line.trim_start();
    match family {
        LanguageFamily::Python => {
            word.starts_with("def ") || word.starts_with("async def ") || is_list_item(word)
        }
        LanguageFamily::Script => {
            word.contains("function") || word.contains("=>") || is_list_item(word)
        }
        LanguageFamily::Go => word.starts_with("func ") || is_list_item(word),
        LanguageFamily::Rust => word.contains("fn ") || is_list_item(word),
        LanguageFamily::Java => {
            word.contains('(') && word.ends_with(['{', ',']) || is_list_item(word)
        }
        LanguageFamily::Ruby => word.starts_with("def "),
    }
}

/// An item on a line of its own: `name,`, `name: Type,`, `Type name,` or `name = 1,`. Items with
/// values or calls belong to calls or tables and are too common.
fn is_list_item(word: &str) -> bool {
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

/// Words that stand on lines of their own and define nothing.
#[rustfmt::skip]
const STATEMENTS: [&str; 22] = [
    "else", "try", "finally", "return", "pass", "break", "continue", "end", "default", "do", "loop", "begin", "ensure", "true", "false",
    "null", "None", "True", "False", "self", "this", "raise",
];

/// Whether an added line may import something from the repository.
fn may_import(family: LanguageFamily, line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let word = line.trim_start();
    match family {
        LanguageFamily::Python => {
            word.starts_with("from ") || word.starts_with("import ") || is_import_list_item(word)
        }
        LanguageFamily::Script => {
            line.contains("'.") || line.contains("\".") || is_import_list_item(word)
        }
        LanguageFamily::Go => {
            word.starts_with("import ") || word.starts_with('"') || word.ends_with('"')
        }
        LanguageFamily::Rust => {
            ["use ", "mod "].iter().any(|it| word.starts_with(it))
                || word.starts_with("pub") && (word.contains(" use ") || word.contains(" mod "))
                || is_import_list_item(word)
        }
        LanguageFamily::Java => word.starts_with("import "),
        LanguageFamily::Ruby => word.starts_with("require_relative"),
    }
}

/// Plain names, as in a list of imports: `name,`, `a, b as c,`, `type Row }`.
fn is_import_list_item(word: &str) -> bool {
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
    fn list_items_are_suspicious_and_statements_are_not() {
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
        assert_eq!(items.map(is_list_item), [true; 14]);
        assert_eq!(others.map(is_list_item), [false; 14]);
        assert_eq!(
            ["name,", "a as b,", "type Row,", "a::b,", "a, b,", "{ a, b }"]
                .map(is_import_list_item),
            [true; 6]
        );
        assert_eq!(
            ["else:", "return", "1,", "end", "a b c", "f(a, b);"].map(is_import_list_item),
            [false; 6]
        );
    }
}
