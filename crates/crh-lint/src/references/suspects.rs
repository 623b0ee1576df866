//! Selects the files that may break references, by the diff alone. crh reads a file only if its
//! name does not tell the language, so a change that removes nothing costs almost nothing.

use crate::{ChangeView, ChangedFile, paths};
use crh_syntax::Language;

/// A changed file that may break references.
#[derive(Debug, Clone, Copy)]
pub(super) struct SuspectFile<'a> {
    pub(super) file: &'a ChangedFile,
    pub(super) family: LanguageFamily,
    /// Whether the file may have lost names or changed parameters.
    pub(super) may_remove_names: bool,
    /// Whether the file may import something that does not exist.
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
        Self::from_language(Language::from_path(path)?)
    }

    pub(super) fn from_language(language: Language) -> Option<Self> {
        match language {
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

/// Files that may break references. Files that are not under review count too, because they break
/// other code in the same way.
pub(super) fn suspect_files<'a>(change: &ChangeView<'a>) -> Vec<SuspectFile<'a>> {
    change.all_files.iter().filter_map(|file| suspect_file(change, file)).collect()
}

fn suspect_file<'a>(change: &ChangeView<'a>, file: &'a ChangedFile) -> Option<SuspectFile<'a>> {
    let old_path = file.old_path.as_deref();
    let language = change.language(file).or_else(|| old_path.and_then(Language::from_path))?;
    let family = LanguageFamily::from_language(language)?;
    if !file.has_lines || is_excluded_path(&file.path) {
        return None;
    }
    let is_moved_or_deleted =
        file.is_deleted || old_path.is_some_and(|old_path| old_path != file.path);
    let removes_definition = file.removed.iter().any(|line| may_define(family, line));
    let changes_parameters =
        file.added.iter().any(|line| may_change_parameters(family, &line.text));
    let may_remove_names =
        old_path.is_some() && (is_moved_or_deleted || removes_definition || changes_parameters);
    let may_miss_imports =
        !file.is_deleted && file.added.iter().any(|line| may_import(family, &line.text));
    (may_remove_names || may_miss_imports).then_some(SuspectFile {
        file,
        family,
        may_remove_names,
        may_miss_imports,
    })
}

/// Folders of third-party code, generated code, test data and experiments, which may be broken.
#[rustfmt::skip]
const EXCLUDED_FOLDERS: [&str; 11] = [
    "node_modules", "vendor", "third_party", "dist", "generated", "testdata", "fixtures", "__fixtures__", "snapshots", "playground",
    "playgrounds",
];

/// Whether crh does not check a file's references: third-party code, generated code, test data or
/// documentation.
pub(super) fn is_excluded_path(path: &str) -> bool {
    path.split('/').any(|part| EXCLUDED_FOLDERS.contains(&part))
        || path.contains(".min.")
        || path.contains("_pb2")
        || path.ends_with(".pb.go")
        || path.contains(".generated.")
        || path.contains("{{")
        || paths::is_document(path)
}

#[rustfmt::skip]
const SCRIPT_DEFINITIONS: [&str; 15] = [
    "export", "function", "async function", "class ", "const ", "let ", "var ", "module.exports", "exports.", "enum ", "interface ",
    "type ", "abstract class", "import ", "declare ",
];

#[rustfmt::skip]
const RUST_DEFINITIONS: [&str; 13] = [
    "pub", "fn ", "async fn", "const ", "static ", "struct ", "enum ", "trait ", "type ", "mod ", "use ", "unsafe fn",
    "macro_rules!",
];

/// Whether a removed line may have defined a name that other code uses.
fn may_define(family: LanguageFamily, line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let code = line.trim_start();
    let starts_with_any = |words: &[&str]| words.iter().any(|it| code.starts_with(it));
    let is_outermost = line.starts_with(|it: char| it.is_alphanumeric() || it == '_' || it == '@');
    match family {
        LanguageFamily::Python => {
            starts_with_any(&["def ", "async def ", "class ", "from ", "import "])
                || is_outermost && line.contains('=')
                || is_list_item(code)
        }
        LanguageFamily::Script => {
            starts_with_any(&SCRIPT_DEFINITIONS) || is_list_item(code) || is_method(family, line)
        }
        LanguageFamily::Go => {
            starts_with_any(&["func ", "type ", "const ", "var "])
                || is_list_item(code)
                || code.contains('=')
        }
        LanguageFamily::Rust => starts_with_any(&RUST_DEFINITIONS) || is_list_item(code),
        LanguageFamily::Java => {
            let words = ["(", "static ", "class ", "interface ", "enum ", "record "];
            words.iter().any(|it| code.contains(it)) || is_list_item(code)
        }
        LanguageFamily::Ruby => {
            starts_with_any(&["def ", "class ", "module "])
                || code.starts_with(|it: char| it.is_ascii_uppercase())
        }
    }
}

/// Whether a line may start a method, in the languages that `methods.rs` checks.
pub(super) fn is_method(family: LanguageFamily, line: &str) -> bool {
    let code = line.trim();
    match family {
        LanguageFamily::Python => {
            line.starts_with([' ', '\t'])
                && (code.starts_with("def ") || code.starts_with("async def "))
        }
        LanguageFamily::Script => {
            let modifiers = ["public ", "private ", "protected ", "static ", "async "];
            let mut name = code;
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
                && code.ends_with('{')
                && !code.contains("=>")
        }
        LanguageFamily::Go | LanguageFamily::Rust | LanguageFamily::Java | LanguageFamily::Ruby => {
            false
        }
    }
}

/// Whether an added line may be part of a parameter list.
fn may_change_parameters(family: LanguageFamily, line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let code = line.trim_start();
    match family {
        LanguageFamily::Python => {
            code.starts_with("def ") || code.starts_with("async def ") || is_list_item(code)
        }
        LanguageFamily::Script => {
            code.contains("function") || code.contains("=>") || is_list_item(code)
        }
        LanguageFamily::Go => code.starts_with("func ") || is_list_item(code),
        LanguageFamily::Rust => code.contains("fn ") || is_list_item(code),
        LanguageFamily::Java => {
            code.contains('(') && code.ends_with(['{', ',']) || is_list_item(code)
        }
        LanguageFamily::Ruby => code.starts_with("def "),
    }
}

/// Whether a line may be one item of a list of names or parameters: `name,`, `name: Type,`,
/// `Type name,` or `name = 1,`. Calls and literal values after a colon do not count: such lines are
/// too common in arguments and tables.
fn is_list_item(item: &str) -> bool {
    let name = item.trim_start_matches(['*', '&']);
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

/// Words that look like list items if they are alone on a line, but are statements or constants.
#[rustfmt::skip]
const STATEMENTS: [&str; 22] = [
    "else", "try", "finally", "return", "pass", "break", "continue", "end", "default", "do", "loop", "begin", "ensure", "true", "false",
    "null", "None", "True", "False", "self", "this", "raise",
];

/// Whether an added line may import something from the repository.
fn may_import(family: LanguageFamily, line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let code = line.trim_start();
    match family {
        LanguageFamily::Python => {
            code.starts_with("from ") || code.starts_with("import ") || is_import_list_item(code)
        }
        LanguageFamily::Script => {
            line.contains("'.") || line.contains("\".") || is_import_list_item(code)
        }
        LanguageFamily::Go => {
            code.starts_with("import ") || code.starts_with('"') || code.ends_with('"')
        }
        LanguageFamily::Rust => {
            ["use ", "mod "].iter().any(|it| code.starts_with(it))
                || code.starts_with("pub") && (code.contains(" use ") || code.contains(" mod "))
                || is_import_list_item(code)
        }
        LanguageFamily::Java => code.starts_with("import "),
        LanguageFamily::Ruby => code.starts_with("require_relative"),
    }
}

/// Whether a line contains only names, as a line in a list of imports: `name,`, `a, b as c,`, `type
/// Row }`.
fn is_import_list_item(list: &str) -> bool {
    let list = list.trim_start_matches(['{', '(']).trim_end_matches([';', ')', '}', ',', ' ']);
    let is_name = |word: &str| {
        word.chars().all(|it| it.is_alphanumeric() || matches!(it, '_' | '$' | ':'))
            && !word.ends_with(':')
            && !word.starts_with(|it: char| it.is_ascii_digit())
            && !STATEMENTS.contains(&word)
    };
    let is_import = |item: &str| {
        let mut parts = item.split_whitespace().filter(|it| !matches!(*it, "as" | "type"));
        parts.clone().count() <= 2 && parts.all(is_name)
    };
    !list.trim().is_empty() && list.split(',').all(is_import)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_items_are_suspicious_and_statements_are_not() {
        #[rustfmt::skip]
        let items = [
            "name,", "name", "*args,", "**kwargs,", "name: Type,", "name: Type = 1,", "limit=1,", "limit = \"a\",", "x int,",
            "x *Row,", "String name,", "Name as Other,", "callback: (x: number) => void,", "name?: string,",
        ];
        #[rustfmt::skip]
        let others = [
            "else:", "try:", "return", "end", "load(x),", "self.load(x),", "\"a\",", "1,", "key: \"value\",", "key: 1,",
            "key: true,", "pass", "a.load(\"x\"),", "case: {",
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
