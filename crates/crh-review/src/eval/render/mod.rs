//! Renderings of an evaluation. Each is a pure function of the sheet, and all show the same
//! sections.

mod brief;
mod comparison;
mod figures;
mod html;
mod lenses;
mod markdown;
mod sections;
mod text;
mod trouble;

pub use comparison::{comparison_markdown, comparison_text};
pub use html::html;
pub use markdown::markdown;
pub use text::text;

#[cfg(test)]
mod tests;
