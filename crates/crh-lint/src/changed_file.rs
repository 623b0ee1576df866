//! A file of the change, as static reviewers see it.

/// A file of the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path after the change; for a deleted file, the path it had.
    pub path: String,
    /// Its text before the change, where there was one and it can be read.
    pub old: Option<Vec<u8>>,
    /// Its text after the change, where there is one and it can be read; none if only the diff is known.
    pub new: Option<Vec<u8>>,
    /// The lines that the change adds, in order.
    pub added: Vec<AddedLine>,
    /// The lines that the change takes away, in order, without their line ends.
    pub removed: Vec<Vec<u8>>,
}

/// A line that the change adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedLine {
    /// Its number in the file after the change.
    pub number: u32,
    /// Its text, without the line end.
    pub text: Vec<u8>,
}
