//! Text compared as people compare it: white space folded, punctuation out, small words out.

/// Words that two unrelated titles may well share. `not`, `no` and `without` are not among them.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "for", "from", "has",
    "have", "if", "in", "into", "is", "it", "its", "may", "might", "of", "on", "or", "so", "than",
    "that", "the", "then", "there", "this", "to", "was", "when", "where", "which", "while", "will",
    "with", "would",
];

/// A line with its white space folded: none at the ends, one blank between words.
pub(crate) fn folded(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// A title for comparison: lower case, punctuation out, spaces folded.
pub fn normal_title(title: &str) -> String {
    let spaced: String = title
        .chars()
        .map(|char| if char.is_alphanumeric() || char == '_' { char } else { ' ' })
        .flat_map(char::to_lowercase)
        .collect();
    folded(&spaced)
}

/// A title for comparison, the same whether or not it was cleaned for a comment in between.
pub fn normal_posted_title(title: &str) -> String {
    let plain = title.replace("&amp;", "&").replace("&lt;", " ").replace("&gt;", " ");
    normal_title(&plain)
}

/// The words of a normalised title that carry its meaning.
pub(crate) fn content_words(normal_title: &str) -> impl Iterator<Item = &str> {
    normal_title
        .split(' ')
        .filter(|word| !word.is_empty() && STOP_WORDS.binary_search(word).is_err())
}

/// How much two sorted sets overlap (Jaccard): 0.0 nothing, 1.0 all. Two empty sets do not overlap.
pub(crate) fn overlap<T: Ord>(left: &[T], right: &[T]) -> f64 {
    let (mut at_left, mut at_right, mut common) = (0, 0, 0_usize);
    while let (Some(l), Some(r)) = (left.get(at_left), right.get(at_right)) {
        common += usize::from(l == r);
        at_left += usize::from(l <= r);
        at_right += usize::from(r <= l);
    }
    let all = left.len() + right.len() - common;
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_so_that_they_can_be_searched() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn punctuation_and_case_do_not_make_two_titles() {
        let left = normal_title("Off-by-one in `Pager.next()`!");
        assert_eq!(left, normal_title("off by one  in pager next"));
    }

    #[test]
    fn overlap_counts_only_words_that_mean_something() {
        let words = |title| {
            let title = normal_title(title);
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
