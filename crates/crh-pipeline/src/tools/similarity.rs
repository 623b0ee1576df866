//! The names that somebody who misspelt one may have meant.

use strsim::levenshtein;

/// Longer names are compared by their ends: a distance takes time in the square of their length.
const COMPARED_MAX: usize = 64;

/// The candidates, nearest first; those equally near keep their order. A name without what is around it (`run` for
/// `Cart.run`, `a.rs` for `src/a.rs`) is nearly as good as the whole.
pub(super) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let (whole, last) = (compared(name), compared(last_part(name)));
    let mut ranked: Vec<_> = candidates
        .into_iter()
        .map(|candidate| {
            // Half a letter worse than the whole.
            let by_last = 2 * levenshtein(&last, &compared(last_part(candidate))) + 1;
            (by_last.min(2 * levenshtein(&whole, &compared(candidate))), candidate)
        })
        .collect();
    ranked.sort_by_key(|(distance, _)| *distance);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

fn last_part(name: &str) -> &str {
    // A dot in a path belongs to the name of the file.
    let separators: &[char] = if name.contains('/') { &['/'] } else { &['.', ':', '\\', '#'] };
    name.rsplit(separators).next().unwrap_or(name)
}

fn compared(name: &str) -> String {
    let lower = name.to_lowercase();
    let skipped = lower.chars().count().saturating_sub(COMPARED_MAX);
    lower.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_change_comes_first() {
        let names = ["grep", "read", "repo_read", "ls"];
        assert_eq!(nearest("raed", names), ["read", "grep", "ls", "repo_read"]);
        assert_eq!(nearest("Repo_Read", names)[0], "repo_read");
        assert_eq!(nearest("", ["b", "a"]), ["b", "a"]);
        assert_eq!(nearest("rnu", ["A", "B", "A.run"])[0], "A.run");
        assert_eq!(nearest("crate/a.rs", ["b.rs", "src/of/a.rs"])[0], "src/of/a.rs");
    }
}
