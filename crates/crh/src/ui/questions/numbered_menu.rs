//! A question for a terminal that can only go on: numbered options, and a line for the answer.

use super::Question;
use crh_review::wrapped;

/// The question and its options with their numbers, on lines of so many columns.
pub(super) fn text(question: &Question, width: usize) -> String {
    let mut out: String = question.stem.iter().map(|line| wrapped("", "", line, width)).collect();
    for (at, option) in question.options.iter().enumerate() {
        let key = option.key.map(|key| format!("({key}) ")).unwrap_or_default();
        let first = format!("  {}. ", at + 1);
        let others = " ".repeat(first.len());
        out.push_str(&wrapped(&first, &others, &format!("{key}{}", option.label), width));
    }
    out
}

/// Asks for the line.
pub(super) fn prompt(question: &Question) -> String {
    format!("Choose 1-{} [{}]: ", question.options.len(), question.marked + 1)
}

/// Which option a line names; none if it names none. An empty line takes the marked one.
pub(super) fn named(question: &Question, line: &str) -> Option<usize> {
    let line = line.trim();
    if line.is_empty() {
        return Some(question.marked);
    }
    let by_number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_letter = || {
        let mut chars = line.chars();
        let (letter, rest) = (chars.next()?, chars.next());
        question.at_key(letter).filter(|_| rest.is_none())
    };
    match by_number {
        Some(at) => (at < question.options.len()).then_some(at),
        None => by_letter(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::Choice;
    use super::*;

    fn question() -> Question {
        let choice = |key, label: &str| Choice { key, label: label.to_owned() };
        Question {
            stem: vec!["What now?".to_owned()],
            options: vec![choice(Some('A'), "Go on"), choice(None, "Stop (recommended)")],
            marked: 1,
        }
    }

    #[test]
    fn options_have_numbers() {
        expect![[r#"
            What now?
              1. (A) Go on
              2. Stop
                 (recommended)
            Choose 1-2 [2]: "#]]
        .assert_eq(&format!("{}{}", text(&question(), 16), prompt(&question())));
    }

    #[test]
    fn a_line_names_an_option_by_its_number_or_its_letter() {
        for (line, expected) in [
            ("1\n", Some(0)),
            (" 2 \n", Some(1)),
            ("a\n", Some(0)),
            ("A", Some(0)),
            ("\n", Some(1)),
            ("0", None),
            ("3", None),
            ("ab", None),
            ("b", None),
            ("-1", None),
        ] {
            assert_eq!(named(&question(), line), expected, "{line:?}");
        }
    }
}
