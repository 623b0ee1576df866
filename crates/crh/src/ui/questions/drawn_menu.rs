//! A question as lines of a terminal that can draw over what it has shown.

use super::Question;
use crate::ui::screen::Size;
use crh_review::render::Colour;
use crh_review::{cut, wrapped};

/// What the keys do; the last that is left out where there is little room.
const KEYS: &str =
    "Up/Down: move · Enter: choose · Esc or Ctrl-C: leave, and nothing stays changed";
/// Stands before the option that Enter takes, and before the others.
const MARKED: &str = "> ";
const UNMARKED: &str = "  ";
/// With fewer rows than these, there is one for the marked option and one for where the next key leads.
const ROWS_WITH_STEM: usize = 3;

/// The lines of a question of which an option is marked: none is wider than the terminal, and they are fewer than its
/// rows, of which the last is for the cursor. Where not everything fits, the keys go first, then what of an option does not fit one
/// row, then other options than the marked one; the beginning of what is asked stays as long as there are three rows.
pub(super) fn lines(question: &Question, marked: usize, size: Size, colour: Colour) -> Vec<String> {
    // The last column stays free: some terminals begin a new line when it is written.
    let width = size.columns.saturating_sub(1).max(1);
    let room = size.rows.saturating_sub(1).max(1);
    let stem = stem(question, width);
    let options: Vec<Vec<String>> =
        (0..question.options.len()).map(|at| option(question, at, marked, width)).collect();
    let is_marked = |at: usize| at == marked;
    let whole: Vec<String> =
        options.iter().enumerate().flat_map(|(at, it)| bold(it, is_marked(at), colour)).collect();
    let keys = pieces("", "", KEYS, width);
    if stem.len() + whole.len() + keys.len() + 2 <= room {
        let blank = || std::iter::once(String::new());
        return stem.into_iter().chain(blank()).chain(whole).chain(blank()).chain(keys).collect();
    }
    if whole.len() < room {
        let shown = room - whole.len();
        return stem.into_iter().take(shown).chain(whole).collect();
    }
    let short = |(at, lines): (usize, &Vec<String>)| {
        let line = match lines.as_slice() {
            [only] => only.clone(),
            [first, ..] => cut(&format!("{first} …"), width),
            [] => String::new(),
        };
        bold(&[line], is_marked(at), colour)
    };
    let short: Vec<String> = options.iter().enumerate().flat_map(short).collect();
    let asked = match room.checked_sub(short.len()) {
        Some(left) => left,
        None => usize::from(room >= ROWS_WITH_STEM),
    };
    let rows = room - asked;
    let start = (marked + 1).saturating_sub(rows);
    stem.into_iter().take(asked).chain(short.into_iter().skip(start).take(rows)).collect()
}

/// What is asked, without the options.
pub(super) fn stem(question: &Question, width: usize) -> Vec<String> {
    question.stem.iter().flat_map(|line| pieces("", "", line, width)).collect()
}

/// The option that was chosen, as it stays on the screen.
pub(super) fn chosen(question: &Question, at: usize, width: usize) -> Vec<String> {
    option(question, at, at, width)
}

fn option(question: &Question, at: usize, marked: usize, width: usize) -> Vec<String> {
    let key = question.options[at].shown_key(at);
    let mark = if at == marked { MARKED } else { UNMARKED };
    let first = format!("{mark}{key}");
    let others = " ".repeat(first.len());
    pieces(&first, &others, &question.options[at].label, width)
}

fn bold(lines: &[String], is_marked: bool, colour: Colour) -> Vec<String> {
    match (colour, is_marked) {
        (Colour::On, true) => {
            lines.iter().map(|line| format!("\u{1b}[1m{line}\u{1b}[0m")).collect()
        }
        (Colour::On, false) | (Colour::Off, _) => lines.to_vec(),
    }
}

/// Text on lines of which none is too wide, whatever its words are.
fn pieces(first: &str, others: &str, text: &str, width: usize) -> Vec<String> {
    wrapped(first, others, text, width).lines().map(|line| cut(line, width)).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::Choice;
    use super::*;
    use crh_review::columns;

    fn question() -> Question {
        let choice = |key, label: &str| Choice { key: Some(key), label: label.to_owned() };
        Question {
            stem: vec!["What should the agent do with the remaining 3 findings?".to_owned()],
            options: vec![
                choice(
                    'A',
                    "Review each finding one by one — accept the recommendation or choose another action",
                ),
                choice('B', "LFG. Apply the agent's best-judgment action per finding"),
                choice('D', "Report only — take no further action"),
            ],
            marked: 0,
        }
    }

    fn check(marked: usize, columns: usize, rows: usize, expected: Expect) {
        let size = Size { columns, rows };
        let shown: String = lines(&question(), marked, size, Colour::Off)
            .iter()
            .map(|line| format!("{line}\n"))
            .collect();
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_question_is_its_stem_its_options_and_its_keys() {
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
    fn a_small_terminal_shows_what_is_needed_first() {
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
                  (A) Review each finding one by one —…
                  (B) LFG. Apply the agent's …
                > (D) Report only — take no further …
            "#]],
        );
        check(
            0,
            40,
            4,
            expect![[r#"
                > (A) Review each finding one by one —…
                  (B) LFG. Apply the agent's …
                  (D) Report only — take no further …
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
    fn whatever_its_size_a_terminal_can_hold_what_is_drawn() {
        for wide in 0..100 {
            for rows in 0..30 {
                for marked in 0..3 {
                    let size = Size { columns: wide, rows };
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
    fn the_marked_option_stands_out_where_there_are_colours() {
        let drawn = lines(&question(), 2, Size { columns: 80, rows: 24 }, Colour::On);
        let bold: Vec<&String> = drawn.iter().filter(|line| line.contains('\u{1b}')).collect();
        assert_eq!(bold, ["\u{1b}[1m> (D) Report only — take no further action\u{1b}[0m"]);
    }
}
