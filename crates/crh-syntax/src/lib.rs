//! Functions, methods and types of source text: where they are, what they are called, what their file
//! imports, and where the text does not parse.
//!
//! Invariants:
//! - nothing here does I/O or waits, and the same text always gives the same answer: a clock only decides when the quick way to it is given up (`parse.rs`);
//! - no text makes it panic, abort, run without end or overflow the stack; what is too large or costs too
//!   much is a [`NotParsed`], never silence;
//! - lines are 1-based, inclusive, and counted by `\n`, whatever the encoding of the line ends;
//! - a guess is never mixed with what was parsed: [`GuessedSpan`], [`FunctionContext::heuristic`].
//!
//! What counts as a symbol is said in `definition/mod.rs`. Properties, subscripts, indexers, fields, constants
//! and closures without a name are part of what is around them; only JavaScript and TypeScript name a
//! closure by what it is assigned to. A package or a namespace without braces qualifies no name.
//!
//! # Grammars
//!
//! All are under the MIT licence. They are compiled C: what they get wrong is caught in `hazard.rs` where it
//! would end the process, in `work.rs` where it would not end, and listed here where it is only wrong.
//!
//! | crate | version | found wrong |
//! |---|---|---|
//! | tree-sitter | 0.27.1 | |
//! | tree-sitter-python | 0.25.0 | takes `a +* b`; aborts at 510 open indentations (`hazard.rs`); comments behind the last statement are part of a function if they are indented like it |
//! | tree-sitter-javascript | 0.25.0 | `[` at the start of the line after an arrow function without a semicolon |
//! | tree-sitter-typescript | 0.23.2 | `async` before a method without a body; `in?` as the name of a second property; `import('x').T[]` |
//! | tree-sitter-rust | 0.24.2 | items inside a macro call are tokens; `type A;` in an `extern` block; `A<-1, 2>`; `where (): T`; `$` alone in a macro |
//! | tree-sitter-go | 0.25.0 | |
//! | tree-sitter-java | 0.23.5 | |
//! | tree-sitter-ruby | 0.23.1 | aborts at a heredoc word of 256 letters (`hazard.rs`); its state check is two bytes short, which an estimate guards |
//! | tree-sitter-c | 0.24.2 | macros that are not expressions; functions without a result type; `\` and a carriage return in a string |
//! | tree-sitter-cpp | 0.23.4 | as C; `= {}` as a default argument is an error that loses nothing |
//! | tree-sitter-c-sharp | 0.23.5 | |
//! | tree-sitter-php | 0.25.1 | |
//! | tree-sitter-kotlin-ng | 1.1.0 | members without a body on one line with the closing brace; Chinese letters in expressions; `$$"…"` and context parameters; runs for ever at an annotation at the end (`hazard.rs`) |
//! | tree-sitter-swift | 0.7.4 | `..<` as the name of a function |
//!
//! `tree-sitter-kotlin-sg` 0.4.1 is more widespread but calls `abort` at 512 nested strings and fails on more
//! code with a class on one line. Both define the C symbol `tree_sitter_kotlin`, so a program must not link
//! the two (`ast-grep-language` brings the other one unless its Kotlin is switched off).

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
#[path = "work_budget.rs"]
mod work;

pub use context::{FunctionContext, function_context};
pub use guess::{GuessedSpan, fallback_spans};
pub use imports::{IMPORT_BYTES_MAX, IMPORTS_MAX, Import, Imports, imports};
pub use language::Language;
pub use members::Class;
pub use mentions::{MENTIONS_MAX, Mention, MentionRole, mentions};
pub use parse::{Allowance, Hazard, NotParsed, Parsed, TEXT_MAX, refusal};
pub use problem::{PROBLEMS_MAX, Problem, ProblemKind, Problems, problems};
pub use statements::{inner_statements, outermost_statements};
pub use surface::{Arguments, Given, Offer, OfferKind, Parameter, Shape, Surface, Take, Taken};
pub use symbols::{Symbol, SymbolKind, Symbols, symbols};
pub use uses::{USES_MAX, Use, UseRole};
