//! Lines without what does not matter for telling them apart.

/// A line with its white space folded: one blank between words and none around them.
pub fn folded(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
