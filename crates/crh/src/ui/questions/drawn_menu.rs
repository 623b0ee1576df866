//! A menu that is redrawn as the user moves the selection.

use super::{LeaveEffect, MenuQuestion};
use crate::ui::screen::TerminalSize;
use crh_review::render::Colour;
use crh_review::{truncate, wrap};

/// Key help; the first part to be left out on small terminals.
const KEYS: &str = "Up/Down: move · Enter: choose · Esc or Ctrl-C: leave, and";
/// Prefixes of the selected option and of the others.
const MARKED: &str = "> ";
const UNMARKED: &str = "  ";
/// From this number of lines on, the start of the question always stays.
const LINES_WITH_QUESTION: usize = 3;

/// The lines of a menu. No line is wider than the terminal, and there are fewer lines than rows,
/// because the last row is for the cursor. On small terminals, first the key help and the end of
/// the question are left out, then all but the first row of each option, then options other than
/// the selected one. The start of the question stays if there is room for three lines.
pub(super) fn lines(
    question: &MenuQuestion,
    selected: usize,
    size: TerminalSize,
    colour: Colour,
) -> Vec<String> {
    // The last column stays free, because some terminals wrap when it is written.
    let width = size.columns.saturating_sub(1).max(1);
    let max_lines = size.rows.saturating_sub(1).max(1);
    let question_lines = question_lines(question, width);
    let options: Vec<Vec<String>> =
        (0..question.options.len()).map(|index| option(question, index, selected, width)).collect();
    let is_selected = |index: usize| index == selected;
    let full_options: Vec<String> = options
        .iter()
        .enumerate()
        .flat_map(|(index, option_lines)| bold(option_lines, is_selected(index), colour))
        .collect();
    let effect = match question.on_leave {
        LeaveEffect::Undo => "nothing stays changed",
        LeaveEffect::Keep => "the fixes stay",
    };
    let key_help = wrap_lines("", "", &format!("{KEYS} {effect}"), width);
    if question_lines.len() + full_options.len() + key_help.len() + 2 <= max_lines {
        let blank = || std::iter::once(String::new());
        return question_lines
            .into_iter()
            .chain(blank())
            .chain(full_options)
            .chain(blank())
            .chain(key_help)
            .collect();
    }
    if full_options.len() < max_lines {
        let question_rows = max_lines - full_options.len();
        return question_lines.into_iter().take(question_rows).chain(full_options).collect();
    }
    let short_option = |(index, lines): (usize, &Vec<String>)| {
        let line = match lines.as_slice() {
            [only] => only.clone(),
            [first, ..] => truncate(&format!("{first} …"), width),
            [] => String::new(),
        };
        bold(&[line], is_selected(index), colour)
    };
    let short_options: Vec<String> = options.iter().enumerate().flat_map(short_option).collect();
    let least_rows = usize::from(max_lines >= LINES_WITH_QUESTION);
    let question_rows = max_lines.saturating_sub(short_options.len()).max(least_rows);
    let option_rows = max_lines - question_rows;
    let first_option = (selected + 1).saturating_sub(option_rows);
    question_lines
        .into_iter()
        .take(question_rows)
        .chain(short_options.into_iter().skip(first_option).take(option_rows))
        .collect()
}

/// The question without its options.
pub(super) fn question_lines(question: &MenuQuestion, width: usize) -> Vec<String> {
    question.paragraphs.iter().flat_map(|line| wrap_lines("", "", line, width)).collect()
}

/// The chosen option, as it stays on the screen.
pub(super) fn chosen_option_lines(
    question: &MenuQuestion,
    index: usize,
    width: usize,
) -> Vec<String> {
    option(question, index, index, width)
}

fn option(question: &MenuQuestion, index: usize, selected: usize, width: usize) -> Vec<String> {
    let key = question.options[index].key_hint(index);
    let mark = if index == selected { MARKED } else { UNMARKED };
    let first_prefix = format!("{mark}{key}");
    let indent = " ".repeat(first_prefix.len());
    wrap_lines(&first_prefix, &indent, &question.options[index].label, width)
}

fn bold(lines: &[String], is_selected: bool, colour: Colour) -> Vec<String> {
    match (colour, is_selected) {
        (Colour::On, true) => {
            lines.iter().map(|line| format!("\u{1b}[1m{line}\u{1b}[0m")).collect()
        }
        (Colour::On, false) | (Colour::Off, _) => lines.to_vec(),
    }
}

/// Wraps text; words that are too long are cut.
fn wrap_lines(first_prefix: &str, indent: &str, text: &str, width: usize) -> Vec<String> {
    wrap(first_prefix, indent, text, width).lines().map(|line| truncate(line, width)).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::MenuOption;
    use super::*;
    use crh_review::columns;

    fn question() -> MenuQuestion {
        let choice = |key, label: &str| MenuOption { key: Some(key), label: label.to_owned() };
        MenuQuestion {
            paragraphs: vec!["What should the agent do with the remaining 3 findings?".to_owned()],
            options: vec![
                choice(
                    'A',
                    "Review each finding one by one — accept the recommendation or choose another action",
                ),
                choice('B', "LFG. Apply the agent's best-judgment action per finding"),
                choice('D', "Report only — take no further action"),
            ],
            preselected: 0,
            on_leave: LeaveEffect::Undo,
        }
    }

    fn check(marked: usize, columns: usize, rows: usize, expected: Expect) {
        let size = TerminalSize { columns, rows };
        let shown: String = lines(&question(), marked, size, Colour::Off)
            .iter()
            .map(|line| format!("{line}\n"))
            .collect();
        expected.assert_eq(&shown);
    }

    #[test]
    fn menu_shows_question_options_and_keys() {
        check(
            1,
            80,
            24,
            expect![[r#"
                What should the agent do with the remaining 3 findings?

                  (A) Review each finding one by one — accept the recommendation or choose
                      another action
                > (B) LFG. Apply the agent's best-judgment action per finding
                  (D) Report only — take no further action

                Up/Down: move · Enter: choose · Esc or Ctrl-C: leave, and nothing stays changed
            "#]],
        );
    }

    #[test]
    fn small_terminal_shows_selected_option_first() {
        check(
            0,
            40,
            8,
            expect![[r#"
                What should the agent do with the
                remaining 3 findings?
                > (A) Review each finding one by one —…
                  (B) LFG. Apply the agent's …
                  (D) Report only — take no further …
            "#]],
        );
        check(
            2,
            40,
            4,
            expect![[r#"
                What should the agent do with the
                  (B) LFG. Apply the agent's …
                > (D) Report only — take no further …
            "#]],
        );
        check(
            0,
            40,
            4,
            expect![[r#"
                What should the agent do with the
                > (A) Review each finding one by one —…
                  (B) LFG. Apply the agent's …
            "#]],
        );
        check(
            1,
            20,
            2,
            expect![[r#"
                > (B) LFG. Apply …
            "#]],
        );
    }

    #[test]
    fn menu_fits_any_terminal_size() {
        for wide in 0..100 {
            for rows in 0..30 {
                for marked in 0..3 {
                    let size = TerminalSize { columns: wide, rows };
                    let drawn = lines(&question(), marked, size, Colour::Off);
                    assert!(drawn.len() < rows.max(2), "{wide}x{rows}");
                    assert!(drawn.iter().all(|line| columns(line) < wide.max(2)), "{wide}x{rows}");
                    assert!(
                        wide < 3 || drawn.iter().any(|line| line.starts_with('>')),
                        "{wide}x{rows}"
                    );
                }
            }
        }
    }

    #[test]
    fn selected_option_is_bold_with_colours() {
        let drawn = lines(&question(), 2, TerminalSize { columns: 80, rows: 24 }, Colour::On);
        let bold: Vec<&String> = drawn.iter().filter(|line| line.contains('\u{1b}')).collect();
        assert_eq!(bold, ["\u{1b}[1m> (D) Report only — take no further action\u{1b}[0m"]);
    }
}
