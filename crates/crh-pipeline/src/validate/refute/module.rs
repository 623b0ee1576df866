//! Import statements: which names they bind, and whether they refer to a given file.
//!
//! If this code cannot be certain, the answer is "no": for glob imports, and for languages whose
//! imports do not name files.

use crh_syntax::Language;

/// The names that an import statement binds.
pub(super) fn imported_names(language: Language, text: &str) -> Vec<&str> {
    let is_glob = text.contains('*');
    match language {
        Language::Python => match text.split_once(" import ") {
            Some((from, names)) if from.starts_with("from ") => item_names(names).collect(),
            Some(_) | None => {
                let modules = text.strip_prefix("import ").unwrap_or_default().split(',');
                let name = |module| match str::contains(module, " as ") {
                    true => last_word(module),
                    false => words(module).next(),
                };
                modules.filter_map(name).collect()
            }
        },
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let names = text.strip_prefix("import ").and_then(|rest| rest.split_once(" from "));
            names.map(|(names, _)| item_names(names).collect()).unwrap_or_default()
        }
        Language::Rust if !is_glob => {
            let items = text.split([',', '{', '}', ';']);
            items.filter(|item| !item.trim_end().ends_with("::")).filter_map(last_word).collect()
        }
        Language::Java | Language::Kotlin if !is_glob => last_word(text).into_iter().collect(),
        Language::Rust
        | Language::Java
        | Language::Kotlin
        | Language::Go
        | Language::Ruby
        | Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Swift => Vec::new(),
    }
}

/// Whether an import statement refers to the file that defines the name.
pub(super) fn imports_file(
    language: Language,
    text: &str,
    importer: &str,
    defined_in: &str,
) -> bool {
    let importer_folder: Vec<&str> = importer.split('/').collect();
    let importer_folder = &importer_folder[..importer_folder.len() - 1];
    let target = module_path(defined_in);
    match language {
        Language::Python => {
            let from = text.strip_prefix("from ").and_then(|rest| rest.split_once(" import "));
            from.is_some_and(|(from, _)| is_python_module(from.trim(), importer_folder, &target))
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let from = text.split(['"', '\'']).nth(1).unwrap_or_default();
            is_relative_path(from, importer_folder, &target)
        }
        Language::Rust => is_crate_path(text, importer, defined_in, &target),
        Language::Java => {
            let path = text.trim_start_matches("import ").trim_end_matches(';');
            let path: Vec<&str> = path.split('.').map(str::trim).collect();
            path.len() > 1 && target.ends_with(&path)
        }
        Language::Go
        | Language::Kotlin
        | Language::Ruby
        | Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Swift => false,
    }
}

/// The module path of a file: without its extension, and without `__init__`, `index` or `mod`.
fn module_path(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split('/').collect();
    if let Some(name) = parts.pop() {
        match name.split('.').next().unwrap_or(name) {
            "__init__" | "index" | "mod" => {}
            stem => parts.push(stem),
        }
    }
    parts
}

/// Whether a Python module path names the target. Relative imports (`.orders`, `..shop.orders`) are
/// resolved. `shop.orders` may be in any folder. `orders` must be at the root, since a library may
/// have the same name.
fn is_python_module(from: &str, importer_folder: &[&str], target: &[&str]) -> bool {
    let name = from.trim_start_matches('.');
    let dots = from.len() - name.len();
    let segments: Vec<&str> = name.split('.').filter(|part| !part.is_empty()).collect();
    match dots {
        0 => segments == target || segments.len() > 1 && target.ends_with(&segments),
        dots => importer_folder
            .len()
            .checked_sub(dots - 1)
            .is_some_and(|depth| [&importer_folder[..depth], &segments].concat() == target),
    }
}

/// Whether a relative path, such as `./orders` or `../shop/orders.js`, leads to the target.
fn is_relative_path(from: &str, importer_folder: &[&str], target: &[&str]) -> bool {
    if !from.starts_with("./") && !from.starts_with("../") {
        return false;
    }
    let mut parts = importer_folder.to_vec();
    for part in from.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.pop().is_none() => return false,
            ".." => {}
            part => parts.push(part),
        }
    }
    module_path(&parts.join("/")) == target
}

/// Whether the statement contains the target as `crate::shop::orders::…`, in the same crate.
fn is_crate_path(text: &str, importer: &str, defined_in: &str, target: &[&str]) -> bool {
    let root = |path: &str| path.rfind("src/").map(|index| path[..index].to_owned());
    let Some(index) = target.iter().rposition(|part| *part == "src") else { return false };
    let path = match &target[index + 1..] {
        ["lib" | "main"] => "crate::".to_owned(),
        parts => format!("crate::{}::", parts.join("::")),
    };
    root(importer) == root(defined_in) && text.contains(&format!(" {path}"))
}

fn item_names(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').filter_map(last_word)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

/// The last word: the alias after `as`, or the last path segment.
fn last_word(item: &str) -> Option<&str> {
    words(item).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_binds_its_names() {
        let check = |language, text: &str, names: &str| {
            assert_eq!(imported_names(language, text).join(" "), names, "{text}");
        };
        check(Language::Python, "import os.path, json as j", "os j");
        check(Language::Python, "from a.b import (\n    c,\n    d as e,\n)", "c e");
        check(Language::TypeScript, "import x, { a, type B, c as d } from \"./y\"", "x a B d");
        check(Language::JavaScript, "import * as all from 'y'", "all");
        check(Language::JavaScript, "import './y'", "");
        check(Language::Rust, "use a::{b, c as d, e::{f, g}};", "b d f g");
        check(Language::Rust, "use a::b;", "b");
        check(Language::Rust, "use a::*;", "");
        check(Language::Java, "import static a.B.c;", "c");
        check(Language::Java, "import a.*;", "");
        check(Language::Go, "import \"fmt\"", "");
    }

    #[test]
    fn import_path_must_lead_to_the_file() {
        let check = |language, text: &str, importer: &str, defined_in: &str, expected: bool| {
            let actual = imports_file(language, text, importer, defined_in);
            assert_eq!(actual, expected, "{text} in {importer} of {defined_in}");
        };
        let python = |from: &str, importer: &str, defined_in: &str, expected| {
            let text = format!("from {from} import x");
            check(Language::Python, &text, importer, defined_in, expected);
        };
        python("shop.orders", "a.py", "src/shop/orders.py", true);
        python("shop.orders", "a.py", "shop/orders/__init__.py", true);
        python("shop.orders", "a.py", "shop/other/orders.py", false);
        python("json", "a.py", "shop/json.py", false);
        python("orders", "a.py", "orders.py", true);
        python(".orders", "shop/a.py", "shop/orders.py", true);
        python(".orders", "other/a.py", "shop/orders.py", false);
        python("..shop.orders", "other/a.py", "shop/orders.py", true);
        python("....orders", "a.py", "orders.py", false);
        let web = |from: &str, importer: &str, defined_in: &str, expected| {
            let text = format!("import {{ x }} from \"{from}\"");
            check(Language::TypeScript, &text, importer, defined_in, expected);
        };
        web("./text", "web/page.ts", "web/text.ts", true);
        web("../lib/text.js", "web/page.ts", "lib/text.ts", true);
        web("./text", "web/page.ts", "web/text/index.tsx", true);
        web("./text", "other/page.ts", "web/text.ts", false);
        web("text", "web/page.ts", "web/text.ts", false);
        let rust = |text: &str, importer: &str, defined_in: &str, expected| {
            check(Language::Rust, text, importer, defined_in, expected);
        };
        rust("use crate::a::b::{x, y};", "src/c.rs", "src/a/b.rs", true);
        rust("use crate::a::x;", "src/c.rs", "src/a/mod.rs", true);
        rust("use crate::x;", "src/c.rs", "src/lib.rs", true);
        rust("use crate::a::x;", "one/src/c.rs", "two/src/a.rs", false);
        rust("use super::a::x;", "src/c.rs", "src/a.rs", false);
        let java = |text: &str, defined_in: &str, expected| {
            check(Language::Java, text, "src/X.java", defined_in, expected);
        };
        java("import a.b.Cart;", "src/main/java/a/b/Cart.java", true);
        java("import c.Cart;", "src/main/java/a/b/Cart.java", false);
    }
}
