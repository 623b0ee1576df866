//! What a text takes in from elsewhere: its `import`, `include`, `use` and `require` statements.

use crate::{Language, NotParsed, Parsed, outline};

/// The most imports kept of one text. More than that is generated code.
pub const IMPORTS_MAX: usize = 512;

/// The most bytes of imports kept of one text: a dozen screens, and a fraction of a prompt.
pub const IMPORT_BYTES_MAX: usize = 64 * 1024;

/// One statement that takes something in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Its first line, 1-based.
    pub start: u32,
    /// Its last line, inclusive.
    pub end: u32,
    /// The statement as it stands in the text.
    pub text: String,
}

/// The imports of a text, in source order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imports {
    list: Vec<Import>,
    bytes: usize,
    left_out: u32,
}

/// The import statements of a text, those inside functions left out: they are part of the function's text.
pub fn imports(language: Language, text: &str) -> Result<Imports, NotParsed> {
    Ok(outline::of(language, text)?.imports)
}

impl Parsed<'_> {
    /// The import statements of the text, those inside functions left out.
    pub fn imports(&self) -> Imports {
        outline::of_parsed(self).imports
    }
}

impl Imports {
    pub(crate) fn push(&mut self, import: Import) {
        let bytes = self.bytes.saturating_add(import.text.len());
        if self.list.len() == IMPORTS_MAX || bytes > IMPORT_BYTES_MAX {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.bytes = bytes;
        self.list.push(import);
    }

    /// The imports that were kept.
    pub fn all(&self) -> &[Import] {
        &self.list
    }

    /// How many were left out because of [`IMPORTS_MAX`] or [`IMPORT_BYTES_MAX`].
    pub fn left_out(&self) -> u32 {
        self.left_out
    }
}
