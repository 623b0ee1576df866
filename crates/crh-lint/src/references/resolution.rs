//! Result of resolving an import.

/// The file or name that an import refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Resolution {
    /// Resolved: the path of the file that defines the name or is the module.
    DefinedIn(String),
    /// The module belongs to this repository but does not exist.
    MissingModule,
    /// The module does not exist here and may come from another package.
    MaybeExternal,
    /// The module exists and does not define the name; the path of its file.
    MissingName(String),
    /// The rules cannot decide.
    Unknown,
}
