//! Ranks names by similarity to a misspelt one.

use strsim::levenshtein;

/// Maximum characters of a name to compare. crh compares only the end of a longer name, since
/// computing the edit distance takes quadratic time.
const COMPARED_MAX: usize = 64;

/// Candidates, most similar first. Equally similar ones keep their order. A match of the
/// unqualified name (`run` of `Cart.run`, `a.rs` of `src/a.rs`) is nearly as good as a match of the
/// whole name.
pub(super) fn rank_by_similarity<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let (whole_name, last_part_of_name) = (comparable(name), comparable(last_part(name)));
    let mut ranked: Vec<_> = candidates
        .into_iter()
        .map(|candidate| {
            // Distances are doubled, and a match of the last part costs 1 more. So a match of the
            // whole name wins if both are equally close.
            let last_part_distance =
                2 * levenshtein(&last_part_of_name, &comparable(last_part(candidate))) + 1;
            (
                last_part_distance.min(2 * levenshtein(&whole_name, &comparable(candidate))),
                candidate,
            )
        })
        .collect();
    ranked.sort_by_key(|(distance, _)| *distance);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

fn last_part(name: &str) -> &str {
    // In a path, a dot belongs to the file name.
    let separators: &[char] = if name.contains('/') { &['/'] } else { &['.', ':', '\\', '#'] };
    name.rsplit(separators).next().unwrap_or(name)
}

fn comparable(name: &str) -> String {
    let lower = name.to_lowercase();
    let skip_count = lower.chars().count().saturating_sub(COMPARED_MAX);
    lower.chars().skip(skip_count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_similar_name_comes_first() {
        let names = ["grep", "read", "repo_read", "ls"];
        assert_eq!(rank_by_similarity("raed", names), ["read", "grep", "ls", "repo_read"]);
        assert_eq!(rank_by_similarity("Repo_Read", names)[0], "repo_read");
        assert_eq!(rank_by_similarity("", ["b", "a"]), ["b", "a"]);
        assert_eq!(rank_by_similarity("rnu", ["A", "B", "A.run"])[0], "A.run");
        assert_eq!(rank_by_similarity("crate/a.rs", ["b.rs", "src/of/a.rs"])[0], "src/of/a.rs");
    }
}
