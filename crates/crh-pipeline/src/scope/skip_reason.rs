//! Reasons to skip a file, and notes about files.

use serde::Serialize;

/// Why a file is not reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "why")]
pub enum SkipReason {
    /// Not one of the paths that the user asked for.
    OutsidePaths,
    /// Excluded by the settings.
    Excluded {
        /// Matching pattern.
        glob: String,
    },
    /// A submodule.
    Submodule,
    /// A binary file.
    Binary,
    /// A pointer to a file that Git LFS stores elsewhere.
    LfsPointer,
    /// Only the mode changed.
    ModeOnly {
        /// Old mode, as git prints it.
        old: String,
        /// New mode.
        new: String,
    },
    /// Renamed or copied without changes.
    MoveOnly,
    /// An empty file.
    Empty,
    /// Generated, according to the settings.
    GeneratedRule {
        /// Matching pattern.
        glob: String,
    },
    /// Generated, according to an attribute.
    GeneratedAttribute {
        /// Attribute as written.
        attribute: String,
    },
    /// Generated, according to its header.
    GeneratedHeader {
        /// Line, 1-based.
        line: u32,
        /// Text of the line.
        text: String,
    },
    /// Generated, according to its name.
    GeneratedName {
        /// Suffix of the name.
        ending: &'static str,
    },
    /// Minified: its lines are too long to be written by hand.
    Minified {
        /// Mean line length in bytes.
        mean_line_bytes: u64,
    },
    /// Vendored, according to an attribute.
    VendoredAttribute {
        /// Attribute as written.
        attribute: String,
    },
    /// In a folder of vendored code.
    VendoredFolder {
        /// Name of the folder.
        folder: &'static str,
    },
    /// A lock file of a package manager.
    LockFile {
        /// Name of the file.
        name: &'static str,
    },
    /// Too large.
    TooLarge {
        /// Size of the file.
        bytes: u64,
        /// Size limit.
        limit: u64,
    },
    /// Unchanged since an earlier review.
    ReviewedBefore {
        /// Head commit of that review.
        commit: String,
    },
}

/// A remark about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "note")]
pub enum ScopeNote {
    /// Deleted; its lines are only in the diff.
    Deleted,
    /// A symlink; its only line is the target.
    Link,
    /// A symlink that leads back to itself, or through too many other symlinks.
    LinkLoop,
    /// Moved or made executable, so that it runs: all of its lines count as new.
    ComesIntoUse,
    /// Reviewed, but of unknown kind; counts as code.
    UnknownKind,
    /// The diff does not show its lines (combined or truncated diff), so they are not counted.
    LinesNotShown,
    /// Included by the settings.
    Included {
        /// Matching pattern.
        glob: String,
    },
    /// The change claims a skip reason that crh ignores.
    #[serde(rename = "notBelieved")]
    IgnoredClaim {
        /// Claimed reason.
        reason: SkipReason,
    },
    /// Unreadable, so its text cannot exclude it.
    Unread {
        /// Error.
        message: String,
    },
}

impl SkipReason {
    /// Name of the reason, as in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::OutsidePaths => "outsidePaths",
            Self::Excluded { .. } => "excluded",
            Self::Submodule => "submodule",
            Self::Binary => "binary",
            Self::LfsPointer => "lfsPointer",
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

    /// Whether the file is generated or vendored, as opposed to excluded or empty.
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
            Self::OutsidePaths
            | Self::Excluded { .. }
            | Self::Submodule
            | Self::Binary
            | Self::LfsPointer
            | Self::ModeOnly { .. }
            | Self::MoveOnly
            | Self::Empty
            | Self::TooLarge { .. }
            | Self::ReviewedBefore { .. } => false,
        }
    }

    /// Whether the file has content, but reviewers see no line of it: it is not text, too large, or
    /// has no changed line.
    pub(super) fn is_without_lines(&self) -> bool {
        matches!(
            self,
            Self::Binary
                | Self::LfsPointer
                | Self::ModeOnly { .. }
                | Self::MoveOnly
                | Self::TooLarge { .. }
        )
    }

    /// The words after a number of files with this reason, such as `lock files` in `2 lock files`.
    pub(crate) fn counted(&self, count: usize) -> &'static str {
        let word = |one: &'static str, more: &'static str| if count == 1 { one } else { more };
        match self {
            Self::OutsidePaths => "outside the paths under review",
            Self::Excluded { .. } => "excluded",
            Self::Submodule => word("submodule", "submodules"),
            Self::Binary => "binary",
            Self::LfsPointer => word("Git LFS pointer", "Git LFS pointers"),
            Self::ModeOnly { .. } => "with only a new mode",
            Self::MoveOnly => "only moved",
            Self::Empty => "empty",
            Self::GeneratedRule { .. }
            | Self::GeneratedAttribute { .. }
            | Self::GeneratedHeader { .. }
            | Self::GeneratedName { .. } => "generated",
            Self::Minified { .. } => "minified",
            Self::VendoredAttribute { .. } => "vendored",
            Self::VendoredFolder { .. } => word("in a vendored folder", "in vendored folders"),
            Self::LockFile { .. } => word("lock file", "lock files"),
            Self::TooLarge { .. } => "too large",
            Self::ReviewedBefore { .. } => "reviewed before",
        }
    }

    /// The reason in words.
    pub fn sentence(&self) -> String {
        match self {
            Self::OutsidePaths => "outside the paths under review".to_owned(),
            Self::Excluded { glob } => format!("excluded by `{glob}`"),
            Self::Submodule => "a submodule: its code is in another repository".to_owned(),
            Self::Binary => "binary: it has no lines".to_owned(),
            Self::LfsPointer => "a Git LFS pointer: its content is stored elsewhere".to_owned(),
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
                format!("minified: its lines have {mean_line_bytes} bytes on average")
            }
            Self::VendoredAttribute { attribute } => {
                format!("third-party code, by the attribute `{attribute}`")
            }
            Self::VendoredFolder { folder } => format!("third-party code: it is in `{folder}`"),
            Self::LockFile { name } => format!("a lock file: package managers write `{name}`"),
            Self::TooLarge { bytes, limit } => {
                format!("too large: it has {bytes} bytes, more than {limit}")
            }
            Self::ReviewedBefore { commit } => {
                format!("reviewed before, unchanged since {}", short_commit(commit))
            }
        }
    }
}

/// Abbreviated commit hash.
pub(crate) fn short_commit(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
