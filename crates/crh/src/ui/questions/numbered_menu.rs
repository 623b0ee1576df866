//! A menu for dumb terminals: numbered options, answered by a line.

use super::MenuQuestion;
use crh_review::wrap;

/// Question and numbered options, wrapped.
pub(super) fn text(question: &MenuQuestion, width: usize) -> String {
    let mut out: String =
        question.paragraphs.iter().map(|line| wrap("", "", line, width)).collect();
    for (index, option) in question.options.iter().enumerate() {
        let key = option.key.map(|key| format!("({key}) ")).unwrap_or_default();
        let first_prefix = format!("  {}. ", index + 1);
        let indent = " ".repeat(first_prefix.len());
        out.push_str(&wrap(&first_prefix, &indent, &format!("{key}{}", option.label), width));
    }
    out
}

/// The input prompt.
pub(super) fn prompt(question: &MenuQuestion) -> String {
    format!("Choose 1-{} [{}]: ", question.options.len(), question.preselected + 1)
}

/// The option that a line names, if any. An empty line chooses the preselected option.
pub(super) fn parse_answer(question: &MenuQuestion, line: &str) -> Option<usize> {
    let line = line.trim();
    if line.is_empty() {
        return Some(question.preselected);
    }
    let by_number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_letter = || {
        let mut chars = line.chars();
        let (letter, rest) = (chars.next()?, chars.next());
        question.option_for_letter(letter).filter(|_| rest.is_none())
    };
    match by_number {
        Some(index) => (index < question.options.len()).then_some(index),
        None => by_letter(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::{LeaveEffect, MenuOption};
    use super::*;

    fn question() -> MenuQuestion {
        let choice = |key, label: &str| MenuOption { key, label: label.to_owned() };
        MenuQuestion {
            paragraphs: vec!["What now?".to_owned()],
            options: vec![choice(Some('A'), "Go on"), choice(None, "Stop (recommended)")],
            preselected: 1,
            on_leave: LeaveEffect::Undo,
        }
    }

    #[test]
    fn numbered_menu_lists_options() {
        expect![[r#"
            What now?
              1. (A) Go on
              2. Stop
                 (recommended)
            Choose 1-2 [2]: "#]]
        .assert_eq(&format!("{}{}", text(&question(), 16), prompt(&question())));
    }

    #[test]
    fn line_names_option_by_number_or_letter() {
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
            assert_eq!(parse_answer(&question(), line), expected, "{line:?}");
        }
    }
}
