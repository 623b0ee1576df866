//! Renderings of an evaluation. Each is a pure function of the sheet, and all show the same
//! sections.

mod brief;
mod comparison;
mod figures;
mod html;
mod markdown;
mod reviewer_table;
mod run_problems;
mod sections;
mod text;

pub use comparison::{comparison_markdown, comparison_text};
pub use html::html;
pub use markdown::markdown;
pub use text::text;

#[cfg(test)]
mod tests;
