//! Invisible HTML: comments, and elements with attributes that hide them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::phrases::TextOrigin;
use crate::lazy_option::bytes_regex;

/// HTML comments, and unused link definitions, which serve as comments in Markdown.
static COMMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let comment = r"<!--(.*?)(?:-->|\z)";
    let link = r#"(?m:^)[ \t]*\[[^\]\n]*\]:[ \t]*(?:#|<>)[ \t]*[("'](.*?)[)"'][ \t]*(?m:$)"#;
    bytes_regex(&format!("(?s){comment}|{link}"))
});
/// An element: its attributes, and its text up to the next tag.
static ELEMENT: LazyLock<Option<Regex>> = LazyLock::new(|| bytes_regex("<[a-z]([^<>]*)>([^<]*)"));
/// Attributes that hide an element.
static HIDING_ATTRIBUTE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let style = r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0|color\s*:\s*(?:white|#fff|transparent)";
    bytes_regex(&format!(r"\shidden(?:[\s=]|\z)|{style}"))
});

/// The fence that crh puts around data in a prompt.
static FENCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| bytes_regex(r"<\s*/?\s*data-(?P<tag>[0-9a-f]{4,64})(?:[^0-9a-z_-]|\z)"));
/// The start of the marker in comments that crh posts.
static MARKER: LazyLock<Option<Regex>> =
    LazyLock::new(|| bytes_regex(r"<!--\s*(?:code-review-agent|crh)\s*:\s*[a-z0-9_.=-]"));
/// A complete marker that could be mistaken for one of crh's.
static WHOLE_MARKER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"<!--\s*(?:code-review-agent:review_id=[0-9a-f]{16}|crh:[a-z0-9_.-]+:(?:summary|[0-9a-f]{16}))\s*-->";
    bytes_regex(pattern)
});

/// Ranges of text that is not displayed.
pub(super) fn hidden_ranges(text: &str) -> Vec<Range<usize>> {
    let text = text.as_bytes();
    // Most code contains neither, so skip the regular expressions.
    let (has_tag, has_link) = (contains(text, b"<"), contains(text, b"]:"));
    if !has_tag && !has_link {
        return Vec::new();
    }
    let comments = COMMENT.iter().flat_map(|comment| comment.captures_iter(text));
    let comments = comments
        .filter_map(|captures| captures.iter().skip(1).flatten().next().map(|part| part.range()));
    let is_hidden = |attributes: &[u8]| {
        HIDING_ATTRIBUTE.as_ref().is_some_and(|regex| regex.is_match(attributes))
    };
    let elements = ELEMENT.iter().filter(|_| has_tag);
    let elements = elements.flat_map(|element| element.captures_iter(text));
    let elements = elements
        .filter(|captures| {
            captures.get(1).is_some_and(|attributes| is_hidden(attributes.as_bytes()))
        })
        .filter_map(|captures| captures.get(2).map(|inner_text| inner_text.range()));
    comments.chain(elements).collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Offsets of forged data fences. The tag must contain a digit, because `data-face` may be a custom
/// element.
pub(super) fn forged_fences(text: &str) -> Vec<usize> {
    if !contains(text.as_bytes(), b"data-") {
        return Vec::new();
    }
    let fences = FENCE.iter().flat_map(|fence| fence.captures_iter(text.as_bytes()));
    let is_hash = |tag: &[u8]| tag.iter().any(u8::is_ascii_digit);
    fences
        .filter(|captures| captures.name("tag").is_some_and(|tag| is_hash(tag.as_bytes())))
        .filter_map(|captures| captures.get(0).map(|whole| whole.start()))
        .collect()
}

/// Offsets of forged comment markers. In messages the start of a marker counts; in files only a
/// complete marker, since files may be about markers.
pub(super) fn forged_markers(text: &str, origin: TextOrigin) -> Vec<usize> {
    if !contains(text.as_bytes(), b"<!--") {
        return Vec::new();
    }
    let marker = match origin {
        TextOrigin::File | TextOrigin::Instructions => &WHOLE_MARKER,
        TextOrigin::Message | TextOrigin::Name | TextOrigin::Hidden => &MARKER,
    };
    let matches = marker.iter().flat_map(|marker| marker.find_iter(text.as_bytes()));
    matches.map(|range| range.start()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        assert!(COMMENT.is_some() && ELEMENT.is_some() && HIDING_ATTRIBUTE.is_some());
        assert!(FENCE.is_some() && MARKER.is_some() && WHOLE_MARKER.is_some());
    }
}
