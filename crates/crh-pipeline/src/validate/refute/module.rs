//! Imports: which names a statement brings into its file, and whether it takes them from a certain other file.
//!
//! Only what is certain counts: of languages whose imports name no file, and of what takes everything in, nothing.

use crh_syntax::Language;

/// The names that an import statement brings into its file.
pub(super) fn bound(language: Language, text: &str) -> Vec<&str> {
    let all = text.contains('*');
    match language {
        Language::Python => match text.split_once(" import ") {
            Some((from, names)) if from.starts_with("from ") => each(names).collect(),
            Some(_) | None => {
                let modules = text.strip_prefix("import ").unwrap_or_default().split(',');
                let name = |module| match str::contains(module, " as ") {
                    true => last(module),
                    false => words(module).next(),
                };
                modules.filter_map(name).collect()
            }
        },
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let names = text.strip_prefix("import ").and_then(|rest| rest.split_once(" from "));
            names.map(|(names, _)| each(names).collect()).unwrap_or_default()
        }
        Language::Rust if !all => {
            let items = text.split([',', '{', '}', ';']);
            items.filter(|item| !item.trim_end().ends_with("::")).filter_map(last).collect()
        }
        Language::Java | Language::Kotlin if !all => last(text).into_iter().collect(),
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

/// Whether an import statement of one file takes in what another file defines.
pub(super) fn comes_from(language: Language, text: &str, importer: &str, defined_in: &str) -> bool {
    let here: Vec<&str> = importer.split('/').collect();
    let here = &here[..here.len() - 1];
    let there = module(defined_in);
    match language {
        Language::Python => {
            let from = text.strip_prefix("from ").and_then(|rest| rest.split_once(" import "));
            from.is_some_and(|(from, _)| is_python_module(from.trim(), here, &there))
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let from = text.split(['"', '\'']).nth(1).unwrap_or_default();
            is_relative_path(from, here, &there)
        }
        Language::Rust => is_crate_path(text, importer, defined_in, &there),
        Language::Java => {
            let path = text.trim_start_matches("import ").trim_end_matches(';');
            let path: Vec<&str> = path.split('.').map(str::trim).collect();
            path.len() > 1 && there.ends_with(&path)
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

/// The parts of a file's path as imports name it: without its ending, and a folder's own file as the folder.
fn module(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split('/').collect();
    if let Some(name) = parts.pop() {
        match name.split('.').next().unwrap_or(name) {
            "__init__" | "index" | "mod" => {}
            stem => parts.push(stem),
        }
    }
    parts
}

/// `.orders` and `..shop.orders` from where they stand; `shop.orders` wherever it is, and `orders` only at the root: a
/// library may have the same name.
fn is_python_module(from: &str, here: &[&str], there: &[&str]) -> bool {
    let name = from.trim_start_matches('.');
    let dots = from.len() - name.len();
    let named: Vec<&str> = name.split('.').filter(|part| !part.is_empty()).collect();
    match dots {
        0 => named == there || named.len() > 1 && there.ends_with(&named),
        dots => here
            .len()
            .checked_sub(dots - 1)
            .is_some_and(|kept| [&here[..kept], &named].concat() == there),
    }
}

/// `./orders` and `../shop/orders.js` from where they stand.
fn is_relative_path(from: &str, here: &[&str], there: &[&str]) -> bool {
    if !from.starts_with("./") && !from.starts_with("../") {
        return false;
    }
    let mut parts = here.to_vec();
    for part in from.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.pop().is_none() => return false,
            ".." => {}
            part => parts.push(part),
        }
    }
    module(&parts.join("/")) == there
}

/// `crate::shop::orders::…` of the same crate.
fn is_crate_path(text: &str, importer: &str, defined_in: &str, there: &[&str]) -> bool {
    let root = |path: &str| path.rfind("src/").map(|at| path[..at].to_owned());
    let Some(at) = there.iter().rposition(|part| *part == "src") else { return false };
    let path = match &there[at + 1..] {
        ["lib" | "main"] => "crate::".to_owned(),
        parts => format!("crate::{}::", parts.join("::")),
    };
    root(importer) == root(defined_in) && text.contains(&format!(" {path}"))
}

fn each(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').filter_map(last)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

/// The last word: what comes after `as`, or behind the path.
fn last(item: &str) -> Option<&str> {
    words(item).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_brings_in_the_names_that_it_gives() {
        let check = |language, text: &str, names: &str| {
            assert_eq!(bound(language, text).join(" "), names, "{text}");
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
    fn a_name_comes_from_a_file_only_if_the_path_leads_there() {
        let check = |language, text: &str, importer: &str, defined_in: &str, expected: bool| {
            let found = comes_from(language, text, importer, defined_in);
            assert_eq!(found, expected, "{text} in {importer} of {defined_in}");
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
