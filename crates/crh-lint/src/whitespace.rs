//! White space normalization, for comparing lines.

/// Collapses white space: one blank between words, none around them.
pub fn fold_whitespace(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
