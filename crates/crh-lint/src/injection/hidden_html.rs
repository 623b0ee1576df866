//! HTML that nobody sees: comments, and elements that are told not to show.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::phrases::Setting;

/// Comments, and definitions of links that nothing uses, which is how Markdown is made to have comments.
static COMMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let comment = r"<!--(.*?)(?:-->|\z)";
    let link = r#"(?m:^)[ \t]*\[[^\]\n]*\]:[ \t]*(?:#|<>)[ \t]*[("'](.*?)[)"'][ \t]*(?m:$)"#;
    let pattern = format!("{comment}|{link}");
    RegexBuilder::new(&pattern).unicode(false).dot_matches_new_line(true).build().ok()
});
/// An element: its attributes, and its text up to the next tag.
static ELEMENT: LazyLock<Option<Regex>> =
    LazyLock::new(|| RegexBuilder::new("<[a-z]([^<>]*)>([^<]*)").unicode(false).build().ok());
/// Attributes that keep an element from being shown.
static UNSHOWN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let style = r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0|color\s*:\s*(?:white|#fff|transparent)";
    RegexBuilder::new(&format!(r"\shidden(?:[\s=]|\z)|{style}")).unicode(false).build().ok()
});

/// Marks of our own: around data in a prompt, and in comments that we post.
static FENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    RegexBuilder::new(r"<\s*/?\s*data-(?P<tag>[0-9a-f]{4,64})(?:[^0-9a-z_-]|\z)")
        .unicode(false)
        .build()
        .ok()
});
static MARKER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    RegexBuilder::new(r"<!--\s*(?:code-review-agent|crh)\s*:\s*[a-z0-9_.=-]")
        .unicode(false)
        .build()
        .ok()
});
/// A marker that could be taken for one of ours, to the last sign.
static WHOLE_MARKER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"<!--\s*(?:code-review-agent:review_id=[0-9a-f]{16}|crh:[a-z0-9_.-]+:(?:summary|[0-9a-f]{16}))\s*-->";
    RegexBuilder::new(pattern).unicode(false).build().ok()
});

/// Where text stands that is not shown.
pub(super) fn ranges(text: &str) -> Vec<Range<usize>> {
    let text = text.as_bytes();
    // Most texts are code without any of it, and need none of the expressions.
    let (has_tag, has_link) = (has(text, b"<"), has(text, b"]:"));
    if !has_tag && !has_link {
        return Vec::new();
    }
    let comments = COMMENT.iter().flat_map(|comment| comment.captures_iter(text));
    let comments =
        comments.filter_map(|found| found.iter().skip(1).flatten().next().map(|part| part.range()));
    let is_unshown =
        |attributes: &[u8]| UNSHOWN.as_ref().is_some_and(|unshown| unshown.is_match(attributes));
    let elements = ELEMENT.iter().filter(|_| has_tag);
    let elements = elements.flat_map(|element| element.captures_iter(text));
    let elements = elements
        .filter(|found| found.get(1).is_some_and(|attributes| is_unshown(attributes.as_bytes())))
        .filter_map(|found| found.get(2).map(|inner| inner.range()));
    comments.chain(elements).collect()
}

fn has(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Where somebody closes or opens the fence that we put around data. No custom element has a hash for its name.
pub(super) fn fences(text: &str) -> Vec<usize> {
    if !has(text.as_bytes(), b"data-") {
        return Vec::new();
    }
    let found = FENCE.iter().flat_map(|fence| fence.captures_iter(text.as_bytes()));
    let is_hash = |tag: &[u8]| tag.iter().any(u8::is_ascii_digit);
    found
        .filter(|captures| captures.name("tag").is_some_and(|tag| is_hash(tag.as_bytes())))
        .filter_map(|captures| captures.get(0).map(|whole| whole.start()))
        .collect()
}

/// Where somebody forges the marker of our own comments. What people write about a change has no business with the
/// beginning of one; files may be about them.
pub(super) fn markers(text: &str, setting: Setting) -> Vec<usize> {
    if !has(text.as_bytes(), b"<!--") {
        return Vec::new();
    }
    let marker = match setting {
        Setting::File | Setting::Instructions => &WHOLE_MARKER,
        Setting::Message | Setting::Name | Setting::Hidden => &MARKER,
    };
    let found = marker.iter().flat_map(|marker| marker.find_iter(text.as_bytes()));
    found.map(|found| found.start()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_can_be_read() {
        assert!(COMMENT.is_some() && ELEMENT.is_some() && UNSHOWN.is_some());
        assert!(FENCE.is_some() && MARKER.is_some() && WHOLE_MARKER.is_some());
    }
}
