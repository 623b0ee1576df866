//! Names that code can use although no file of the repository defines them.

use super::suspects::LanguageFamily;

pub(super) fn is_global(family: LanguageFamily, name: &str) -> bool {
    match family {
        LanguageFamily::Python => PYTHON_BUILTINS.contains(&name) || name.starts_with("__"),
        LanguageFamily::Script => SCRIPT_GLOBALS.contains(&name) || name.starts_with("__"),
        LanguageFamily::Rust => RUST_PRELUDE.contains(&name),
        LanguageFamily::Go | LanguageFamily::Java | LanguageFamily::Ruby => false,
    }
}

#[rustfmt::skip]
const RUST_PRELUDE: [&str; 30] = [
    "Result", "Option", "Vec", "String", "Box", "Some", "None", "Ok", "Err", "Iterator", "Into", "From", "Default", "Clone",
    "Copy", "Send", "Sync", "Drop", "ToString", "ToOwned", "Fn", "FnMut", "FnOnce", "drop", "Eq", "Ord", "PartialEq",
    "PartialOrd", "AsRef", "Self",
];

#[rustfmt::skip]
const PYTHON_BUILTINS: [&str; 44] = [
    "abs", "all", "any", "bin", "bool", "bytes", "callable", "chr", "compile", "dict", "dir", "divmod", "enumerate", "eval",
    "exit", "filter", "float", "format", "hash", "help", "hex", "id", "input", "int", "iter", "len", "list", "map", "max",
    "min", "next", "object", "open", "print", "property", "range", "repr", "reversed", "round", "set", "sorted", "str",
    "sum", "type",
];

#[rustfmt::skip]
const SCRIPT_GLOBALS: [&str; 40] = [
    "fetch", "name", "event", "process", "global", "window", "document", "require", "module", "exports", "console", "crypto",
    "performance", "location", "history", "self", "parent", "top", "status", "Buffer", "URL", "Event", "Node", "Element",
    "Text", "Request", "Response", "Headers", "Map", "Set", "Symbol", "Promise", "Error", "describe", "it", "test", "expect",
    "React", "JSX", "Record",
];
