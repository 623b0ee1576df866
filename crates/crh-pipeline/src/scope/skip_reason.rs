//! Why a file is left out, and what else is to be said about one: closed lists, each entry with its witness.

use serde::Serialize;

/// Why a file is not reviewed, with the witness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "why")]
pub enum Reason {
    /// The user does not want it.
    Excluded {
        /// The pattern that says so.
        glob: String,
    },
    /// Another repository's commit.
    Submodule,
    /// Not text.
    Binary,
    /// Only the mode changed.
    ModeOnly {
        /// The mode before, as git prints it.
        old: String,
        /// The mode after.
        new: String,
    },
    /// It was renamed or copied, and no line changed.
    MoveOnly,
    /// It has no line, before or after.
    Empty,
    /// The user says that it is generated.
    GeneratedRule {
        /// The pattern that says so.
        glob: String,
    },
    /// An attribute says that it is generated.
    GeneratedAttribute {
        /// The attribute as it is written.
        attribute: String,
    },
    /// Its header says that it is generated.
    GeneratedHeader {
        /// The line, 1-based.
        line: u32,
        /// What the line says.
        text: String,
    },
    /// Its name is one that only generated files have.
    GeneratedName {
        /// The end of the name.
        ending: &'static str,
    },
    /// Its lines are longer than people write them.
    Minified {
        /// The mean length of its lines, in bytes.
        mean_line_bytes: u64,
    },
    /// An attribute says that it comes from elsewhere.
    VendoredAttribute {
        /// The attribute as it is written.
        attribute: String,
    },
    /// It lies where code from elsewhere is kept.
    VendoredFolder {
        /// The folder's name.
        folder: &'static str,
    },
    /// A package manager wrote it.
    LockFile {
        /// The file's name.
        name: &'static str,
    },
    /// It is too large.
    TooLarge {
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        limit: u64,
    },
    /// An earlier review has looked at it, and it has not changed since.
    ReviewedBefore {
        /// The head of that review.
        commit: String,
    },
}

/// Something about a file that its reader should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "note")]
pub enum Note {
    /// It is gone; its lines can be read in the diff only.
    Deleted,
    /// It is a symbolic link; its one line is where it points.
    Link,
    /// It is in, and nothing tells what kind of file it is, so it counts as executable.
    UnknownKind,
    /// The diff does not show its lines (a merge's combined diff, or cut off), so they are not counted.
    LinesNotShown,
    /// The user wants it reviewed.
    Included {
        /// The pattern that says so.
        glob: String,
    },
    /// The change itself would leave the file out; that is not for the change to say.
    NotBelieved {
        /// What the change says.
        reason: Reason,
    },
    /// Its content could not be read, so nothing in it can leave it out.
    Unread {
        /// Why not.
        message: String,
    },
}

impl Reason {
    /// The one word for it, for machines; the same as in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Excluded { .. } => "excluded",
            Self::Submodule => "submodule",
            Self::Binary => "binary",
            Self::ModeOnly { .. } => "modeOnly",
            Self::MoveOnly => "moveOnly",
            Self::Empty => "empty",
            Self::GeneratedRule { .. } => "generatedRule",
            Self::GeneratedAttribute { .. } => "generatedAttribute",
            Self::GeneratedHeader { .. } => "generatedHeader",
            Self::GeneratedName { .. } => "generatedName",
            Self::Minified { .. } => "minified",
            Self::VendoredAttribute { .. } => "vendoredAttribute",
            Self::VendoredFolder { .. } => "vendoredFolder",
            Self::LockFile { .. } => "lockFile",
            Self::TooLarge { .. } => "tooLarge",
            Self::ReviewedBefore { .. } => "reviewedBefore",
        }
    }

    /// Whether it is left out for having been written by programs or by others, and not because somebody wants that or
    /// there is nothing to read.
    pub(crate) fn is_written_by_others(&self) -> bool {
        match self {
            Self::GeneratedRule { .. }
            | Self::GeneratedAttribute { .. }
            | Self::GeneratedHeader { .. }
            | Self::GeneratedName { .. }
            | Self::Minified { .. }
            | Self::VendoredAttribute { .. }
            | Self::VendoredFolder { .. }
            | Self::LockFile { .. } => true,
            Self::Excluded { .. }
            | Self::Submodule
            | Self::Binary
            | Self::ModeOnly { .. }
            | Self::MoveOnly
            | Self::Empty
            | Self::TooLarge { .. }
            | Self::ReviewedBefore { .. } => false,
        }
    }

    /// The reason as people read it.
    pub fn sentence(&self) -> String {
        match self {
            Self::Excluded { glob } => format!("excluded by `{glob}`"),
            Self::Submodule => "a submodule: its code is in another repository".to_owned(),
            Self::Binary => "binary: it has no lines".to_owned(),
            Self::ModeOnly { old, new } => format!("only its mode changed, from {old} to {new}"),
            Self::MoveOnly => "only its path changed, and no line".to_owned(),
            Self::Empty => "empty: it has no lines".to_owned(),
            Self::GeneratedRule { glob } => format!("generated, by the pattern `{glob}`"),
            Self::GeneratedAttribute { attribute } => {
                format!("generated, by the attribute `{attribute}`")
            }
            Self::GeneratedHeader { line, text } => {
                format!("generated: its line {line} says `{text}`")
            }
            Self::GeneratedName { ending } => format!("generated: its name ends in `{ending}`"),
            Self::Minified { mean_line_bytes } => {
                format!("minified: its lines have {mean_line_bytes} bytes in the mean")
            }
            Self::VendoredAttribute { attribute } => {
                format!("from elsewhere, by the attribute `{attribute}`")
            }
            Self::VendoredFolder { folder } => format!("from elsewhere: it lies in `{folder}`"),
            Self::LockFile { name } => format!("a lock file: package managers write `{name}`"),
            Self::TooLarge { bytes, limit } => {
                format!("too large: it has {bytes} bytes, more than {limit}")
            }
            Self::ReviewedBefore { commit } => {
                format!("reviewed before, unchanged since {}", short(commit))
            }
        }
    }
}

/// A commit as people read it.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
