//! Parses source code: functions, methods and types with their positions, imports, and syntax
//! errors.
//!
//! Invariants:
//! - There is no I/O, and the same text always gives the same result. A clock only decides when the
//!   fast path is abandoned (`parse.rs`).
//! - No text causes a panic, an abort, an endless loop or a stack overflow. A text that is too
//!   large or too expensive is a [`ParseError`].
//! - Lines are 1-based, inclusive, and counted by `\n`.
//! - Guesses are never mixed with parsed results: [`GuessedSpan`], [`FunctionContext::heuristic`].
//!
//! `definition/mod.rs` defines what a symbol is. Properties, subscripts, indexers, fields,
//! constants and anonymous closures belong to the symbol around them; only JavaScript and
//! TypeScript name a closure by its assignment. A package or namespace without braces does not
//! qualify names.
//!
//! # Grammars
//!
//! All grammars have the MIT licence and are compiled C code. `hazard.rs` rejects texts that would
//! make them kill the process, `work_budget.rs` stops endless work, and other errors are listed
//! here.
//!
//! | crate | version | known errors |
//! |---|---|---|
//! | tree-sitter | 0.27.1 | |
//! | tree-sitter-python | 0.25.0 | accepts `a +* b`; aborts at 510 open indentations (`hazard.rs`); comments after the last statement belong to the function if they are indented like it |
//! | tree-sitter-javascript | 0.25.0 | `[` at the start of the line after an arrow function without a semicolon |
//! | tree-sitter-typescript | 0.23.2 | `async` before a method without a body; `in?` as the name of a second property; `import('x').T[]` |
//! | tree-sitter-rust | 0.24.2 | items inside a macro call are tokens; `type A;` in an `extern` block; `A<-1, 2>`; `where (): T`; `$` alone in a macro |
//! | tree-sitter-go | 0.25.0 | |
//! | tree-sitter-java | 0.23.5 | |
//! | tree-sitter-ruby | 0.23.1 | aborts at a heredoc word of 256 letters (`hazard.rs`); its state check is two bytes short, which an estimate guards against |
//! | tree-sitter-c | 0.24.2 | macros that are not expressions; functions without a result type; `\` and a carriage return in a string |
//! | tree-sitter-cpp | 0.23.4 | as C; `= {}` as a default argument is an error without consequences |
//! | tree-sitter-c-sharp | 0.23.5 | |
//! | tree-sitter-php | 0.25.1 | |
//! | tree-sitter-kotlin-ng | 1.1.0 | members without a body on one line with the closing brace; Chinese letters in expressions; `$$"…"` and context parameters; loops forever at an annotation at the end (`hazard.rs`) |
//! | tree-sitter-swift | 0.7.4 | `..<` as the name of a function |
//!
//! `tree-sitter-kotlin-sg` 0.4.1 is more widespread, but calls `abort` at 512 nested strings and
//! fails on more one-line classes. Both crates define the C symbol `tree_sitter_kotlin`, so a
//! program must not link both (`ast-grep-language` links the other one unless its Kotlin feature is
//! off).

mod callbacks;
mod comments;
mod context;
mod definition;
mod guess;
mod hazard;
mod imports;
mod language;
mod members;
mod mentions;
mod outline;
mod parse;
mod problem;
mod statements;
mod surface;
mod symbols;
mod uses;
mod work_budget;

pub use context::{FunctionContext, function_context};
pub use guess::{GuessedSpan, fallback_spans};
pub use imports::{IMPORT_BYTES_MAX, IMPORTS_MAX, ImportList, ImportStatement, imports};
pub use language::{Language, interpreter};
pub use members::ClassMembers;
pub use mentions::{MENTIONS_MAX, MentionRole, NameMention, mentions};
pub use parse::{ErrorAllowance, Hazard, ParseError, SyntaxTree, TEXT_MAX, refusal};
pub use problem::{PROBLEMS_MAX, SyntaxProblem, SyntaxProblemKind, SyntaxProblems, problems};
pub use statements::{inner_statements, outermost_statements};
pub use surface::{
    ArgumentStyle, Arguments, CallSignature, Declaration, DeclarationKind, ImportedItem,
    ModuleImport, Parameter, Surface,
};
pub use symbols::{Symbol, SymbolKind, Symbols, symbols};
pub use uses::{NameUse, USES_MAX, UseRole};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
