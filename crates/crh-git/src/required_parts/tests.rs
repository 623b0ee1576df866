use grep_matcher::Matcher as _;
use grep_regex::RegexMatcherBuilder;
use proptest::prelude::*;

use super::*;
use crate::word_index::IndexedFiles;

#[test]
fn parts_are_in_every_match() {
    for (pattern, expected) in [
        (r"\bSession\(", "Session"),
        ("(TODO|FIXME|XXX)", "TODO|FIXME|XXX"),
        (r"throw new \w+\(", "throw"),
        ("import .*Session", "import Session"),
        (r"^\s+return\b", "return"),
        ("(?i)id_", "ID_|Id_|iD_|id_"),
        ("(abc)*", ""),
        ("ab|cdef", ""),
        (r"\w+\(", ""),
        ("abc(", ""),
    ] {
        let parts = required_parts(pattern, false).join(" ").replace("(?:", "").replace(')', "");
        assert_eq!(parts, expected, "{pattern}");
    }
}

proptest! {
    /// Pieces of a pattern, each with a text that it matches, inside of a long word.
    #[test]
    fn index_never_rules_out_a_file_that_matches(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                ("Key", "Key"), ("(?i:sk)", "ſ\u{212a}"), ("(Key|ünder|K)", "ünder"), ("(Key)*", ""),
                (r"\b", ""), (" ", " "), (r"\w+", "größe"), (".", "、"), ("[a-c]", "b"), ("(abc){2}", "abcabc"),
                ("(?-u:\\xff)", "INVALID"), ("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
            ]),
            1..7,
        ),
        before in 0_usize..300,
        ignore_case: bool,
    ) {
        let pattern: String = pieces.iter().map(|(pattern, _)| *pattern).collect();
        let text: String = pieces.iter().map(|(_, text)| *text).collect();
        let text = format!("{}{text}_after", "x".repeat(before));
        let text = text.split("INVALID").map(str::as_bytes).collect::<Vec<_>>().join(&0xff);
        let build = |pattern: &str, ignore_case| {
            let mut builder = RegexMatcherBuilder::new();
            builder.line_terminator(Some(b'\n')).case_insensitive(ignore_case).build(pattern).unwrap()
        };
        if build(&pattern, ignore_case).is_match(&text).unwrap() {
            let (files, id) = IndexedFiles::with_file(&text);
            let sets = required_parts(&pattern, ignore_case);
            let sets = sets.iter().map(|part| {
                let part = build(part, false);
                files.words_where(|word| part.is_match(word).unwrap())
            });
            prop_assert!(!files.rules_out(&id, &sets.collect::<Vec<_>>()));
        }
    }
}
