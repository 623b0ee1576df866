//! Import statements of a text: `import`, `include`, `use` and `require`.

use crate::{Language, ParseError, SyntaxTree, outline};

/// Maximum number of imports. A text with more is generated.
pub const IMPORTS_MAX: usize = 512;

/// Maximum bytes of imports, so that they take only a part of a prompt.
pub const IMPORT_BYTES_MAX: usize = 64 * 1024;

/// An import statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportStatement {
    /// First line, 1-based.
    pub start: u32,
    /// Last line, inclusive.
    pub end: u32,
    /// Text of the statement.
    pub text: String,
}

/// Imports of a text, in source order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportList {
    list: Vec<ImportStatement>,
    bytes: usize,
    omitted: u32,
}

/// Import statements of a text, except those inside functions.
pub fn imports(language: Language, text: &str) -> Result<ImportList, ParseError> {
    Ok(outline::parse_outline(language, text)?.imports)
}

impl SyntaxTree<'_> {
    /// Import statements of the text, except those inside functions.
    pub fn imports(&self) -> ImportList {
        outline::tree_outline(self).imports
    }
}

impl ImportList {
    pub(crate) fn push(&mut self, import: ImportStatement) {
        let bytes = self.bytes.saturating_add(import.text.len());
        if self.list.len() == IMPORTS_MAX || bytes > IMPORT_BYTES_MAX {
            self.omitted = self.omitted.saturating_add(1);
            return;
        }
        self.bytes = bytes;
        self.list.push(import);
    }

    /// The imports within the limits.
    pub fn all(&self) -> &[ImportStatement] {
        &self.list
    }

    /// Number of imports omitted because of [`IMPORTS_MAX`] or [`IMPORT_BYTES_MAX`].
    pub fn omitted(&self) -> u32 {
        self.omitted
    }
}
