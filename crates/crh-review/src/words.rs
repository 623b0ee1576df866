//! Normalises text for comparison: white space collapsed, punctuation and stop words removed.

/// Words without meaning for comparison. `not`, `no` and `without` carry meaning and are not
/// listed.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "for", "from", "has",
    "have", "if", "in", "into", "is", "it", "its", "may", "might", "of", "on", "or", "so", "than",
    "that", "the", "then", "there", "this", "to", "was", "when", "where", "which", "while", "will",
    "with", "would",
];

/// Trims a line and collapses white space.
pub(crate) fn collapse_whitespace(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// A title for comparison: lower case, no punctuation, white space collapsed.
pub fn normalise_title(title: &str) -> String {
    let words: String = title
        .chars()
        .map(|char| if char.is_alphanumeric() || char == '_' { char } else { ' ' })
        .flat_map(char::to_lowercase)
        .collect();
    collapse_whitespace(&words)
}

/// A title for comparison that may have been escaped for a comment.
pub fn normalise_posted_title(title: &str) -> String {
    let unescaped = title.replace("&amp;", "&").replace("&lt;", " ").replace("&gt;", " ");
    normalise_title(&unescaped)
}

/// Words of a normalised title, without stop words.
pub(crate) fn content_words(normalised_title: &str) -> impl Iterator<Item = &str> {
    normalised_title
        .split(' ')
        .filter(|word| !word.is_empty() && STOP_WORDS.binary_search(word).is_err())
}

/// Jaccard overlap of two sorted sets, from 0.0 to 1.0. Two empty sets do not overlap.
pub(crate) fn overlap<T: Ord>(left: &[T], right: &[T]) -> f64 {
    let (mut left_index, mut right_index, mut common_count) = (0, 0, 0_usize);
    while let (Some(l), Some(r)) = (left.get(left_index), right.get(right_index)) {
        common_count += usize::from(l == r);
        left_index += usize::from(l <= r);
        right_index += usize::from(r <= l);
    }
    let union_count = left.len() + right.len() - common_count;
    if union_count == 0 { 0.0 } else { common_count as f64 / union_count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_for_binary_search() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn titles_ignore_punctuation_and_case() {
        let left = normalise_title("Off-by-one in `Pager.next()`!");
        assert_eq!(left, normalise_title("off by one  in pager next"));
    }

    #[test]
    fn overlap_ignores_stop_words() {
        let words = |title| {
            let title = normalise_title(title);
            let mut words: Vec<_> = content_words(&title).map(str::to_owned).collect();
            words.sort();
            words
        };
        let check = |left, right, expected: f64| {
            let overlap = overlap(&words(left), &words(right));
            assert!((overlap - expected).abs() < 1e-9, "{left} / {right}: {overlap}");
        };
        check("the loop is off by one", "loop off by one", 1.0);
        check("is it the", "is it the", 0.0);
        check("slow query", "slow loop", 1.0 / 3.0);
    }
}
