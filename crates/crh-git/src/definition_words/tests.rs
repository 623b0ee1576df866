use grep_matcher::Matcher as _;
use grep_regex::RegexMatcherBuilder;
use proptest::prelude::*;

use super::*;

/// Pattern for lines that may define one of `names`, which are joined by `|`.
fn definition_pattern(names: &str) -> String {
    let words = DEFINITION_WORDS.join("|");
    let with_word = format!(r"\b(?:{words})\b[^\n=;]{{0,60}}?\b(?:{names})\b");
    let method = format!(r"^\s*[\w@<>\[\],.?*&:\s]*\b(?:{names})\s*(?:<[^>\n]*>)?\([^;\n]*$");
    let signature = format!(r"^\s*[\w\s]*\b(?:{names})\??(?:<[^>\n]*>)?\([^\n]*\)\s*:[^\n]*;\s*$");
    let value = format!(r"^(?: {{0,4}}|\t)(?:export\s+)?(?:{names})\s*(?::[^=\n]*)?=[^=>]");
    format!("{with_word}|{method}|{signature}|{value}")
}

fn check(line: &str) {
    let words = definition_words(line);
    let mut names: Vec<&str> =
        line.split(|char| !is_word(char)).filter(|it| !it.is_empty()).collect();
    names.dedup();
    for name in names {
        let mut builder = RegexMatcherBuilder::new();
        let pattern =
            builder.line_terminator(Some(b'\n')).build(&definition_pattern(name)).unwrap();
        let is_defined = words.iter().any(|word| word.text == name && word.is_defined);
        let expected = pattern.is_match(line.as_bytes()).unwrap();
        assert_eq!(is_defined, expected, "`{name}` in `{line}`");
        if let Some(word) = words.iter().find(|word| word.text == name) {
            assert_eq!(word.is_value, defined_value(line) == Some(name), "`{name}` in `{line}`");
        }
    }
}

#[test]
fn lines_define_what_the_pattern_says() {
    for line in [
        "    public Map<String, List<T>> load(Id id) throws Error {",
        "  async name<T>(",
        "    name?(first: A): Result;",
        "    name(a): B; // (c):",
        "export  limit : number = 5",
        "    limit =\r",
        "\tlimit = 1",
        "     limit = 1",
        "limit => 1",
        "limit == 1",
        "   return call(other(x));",
        "pub(crate) static LIMIT: usize = 1;",
        "let größe = maß(ß);",
        "a<a<a>(",
        "type = name",
        "class \u{3000}名前、x(",
    ] {
        check(line);
    }
}

proptest! {
    #[test]
    fn generated_lines_define_what_the_pattern_says(parts in proptest::collection::vec(
        proptest::sample::select(vec![
            "class", "let", "export", "name", "ünd", "x1", "_", " ", "    ", "\t", "(", ")", "<", ">",
            "=", ":", ";", "?", ",", ".", "{", "\"", "@", "、", "\r",
            "a long text of more than sixty characters without any of the signs ",
        ]),
        0..14,
    )) {
        check(&parts.concat());
    }
}
