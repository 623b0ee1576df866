//! Menus on the terminal: one question at a time on standard error, answered by a key or a line.

mod drawn_menu;
#[cfg_attr(windows, path = "console_input.rs")]
mod input;
mod keys;
mod numbered_menu;
#[cfg_attr(windows, path = "no_raw_mode.rs")]
mod raw_mode;

use std::io;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use self::input::poll_input;
pub(super) use self::input::{discard_input, read_line};
use self::keys::{KeyDecoder, MenuKey};
use self::raw_mode::RawMode;
pub(super) use self::raw_mode::try_restore;
use super::screen;
use super::style::OutputKind;
use crate::config::environment;
use crate::config::environment::Environment;
use crate::config::value::Color;
use crh_review::render::Colour;

/// How often to check for a resized terminal or a signal. Longer than a terminal needs to send the
/// rest of a key sequence.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum bytes of an answer line. Longer lines are discarded.
const LINE_MAX: usize = 1_024;

/// A question with options, one of which the user chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MenuQuestion {
    /// Paragraphs of the question, already escaped.
    pub(crate) paragraphs: Vec<String>,
    /// At least one option.
    pub(crate) options: Vec<MenuOption>,
    /// Index of the preselected option.
    pub(crate) preselected: usize,
    pub(crate) on_leave: LeaveEffect,
}

/// What happens to applied fixes if the user leaves a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaveEffect {
    /// They are undone.
    Undo,
    /// They stay.
    Keep,
}

/// An option of a menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MenuOption {
    /// Letter that chooses the option. Without a letter, the number of the option does.
    pub(crate) key: Option<char>,
    /// Label, already escaped.
    pub(crate) label: String,
}

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MenuAnswer {
    /// Index of the chosen option.
    Chosen(usize),
    /// The user cancelled, or the terminal is gone.
    Cancelled,
}

/// Asks questions on the terminal.
pub(crate) struct TerminalPrompt {
    output: OutputKind,
    colour: Colour,
    cancel_flag: Arc<AtomicBool>,
}

impl MenuQuestion {
    /// Index of the option with this letter.
    fn option_for_letter(&self, letter: char) -> Option<usize> {
        let has_letter =
            |option: &MenuOption| option.key.is_some_and(|key| key.eq_ignore_ascii_case(&letter));
        self.options.iter().position(has_letter)
    }

    /// Index of the option with this letter or number.
    fn option_for_char(&self, char: char) -> Option<usize> {
        let number = char.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
        let by_number = number.and_then(|number| number.checked_sub(1));
        self.option_for_letter(char).or(by_number).filter(|index| *index < self.options.len())
    }
}

impl MenuOption {
    /// The key hint in front of the label.
    fn key_hint(&self, index: usize) -> String {
        match self.key {
            Some(key) => format!("({key}) "),
            None => format!("{}. ", index + 1),
        }
    }
}

impl TerminalPrompt {
    /// A prompt if standard input and standard error are an interactive terminal. In CI there is
    /// none, because a question would never be answered.
    pub(crate) fn detect(environment: &Environment, color: Color) -> Option<Self> {
        let variable = |name| environment.variable(name).map(|value| value.to_string_lossy());
        let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        let ci = variable(environment::CI);
        if !is_terminal
            || OutputKind::detect(is_terminal, ci.as_deref(), None) == OutputKind::Stream
        {
            return None;
        }
        let term = variable(environment::TERM);
        let output = OutputKind::detect(is_terminal, ci.as_deref(), term.as_deref());
        let colour = match (color, output) {
            (Color::Always, _) | (Color::Auto, OutputKind::Terminal) => Colour::On,
            (Color::Never, _) | (Color::Auto, OutputKind::Stream) => Colour::Off,
        };
        Some(Self { output, colour, cancel_flag: Arc::default() })
    }

    /// Flag that a signal handler sets to cancel the current question.
    pub(crate) fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.cancel_flag.clone()
    }

    /// Whether the user has cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel_flag.load(Ordering::SeqCst)
    }

    /// Maximum width for printed text.
    pub(crate) fn columns(&self) -> usize {
        screen::size().columns.saturating_sub(1).max(1)
    }

    /// Rows left above a question, so that text and question are visible together.
    pub(crate) fn rows_above(&self, question: &MenuQuestion) -> usize {
        let size = screen::size();
        let question_rows = match self.output {
            OutputKind::Terminal => {
                drawn_menu::lines(question, question.preselected, size, Colour::Off).len()
            }
            OutputKind::Stream => numbered_menu::text(question, self.columns()).lines().count(),
        };
        // The last row is for the cursor.
        size.rows.saturating_sub(question_rows + 1)
    }

    /// Prints permanent text, already escaped.
    pub(crate) fn print(&self, text: &str) {
        screen::print_line(text.trim_end_matches('\n'));
    }

    /// Asks a question and waits for the answer. A terminal error counts as cancelled.
    pub(crate) fn ask(&self, question: &MenuQuestion) -> MenuAnswer {
        let answer = match self.output {
            OutputKind::Terminal => match RawMode::enable() {
                Ok(raw_mode) => {
                    let answer = self.ask_drawn(question);
                    drop(raw_mode);
                    self.print_answered(question, answer);
                    answer
                }
                Err(_) => self.ask_numbered(question),
            },
            OutputKind::Stream => self.ask_numbered(question),
        };
        if answer == MenuAnswer::Cancelled {
            self.cancel_flag.store(true, Ordering::SeqCst);
        }
        answer
    }

    /// Replaces the menu by the question and the chosen answer.
    fn print_answered(&self, question: &MenuQuestion, answer: MenuAnswer) {
        screen::clear();
        let mut lines = drawn_menu::question_lines(question, self.columns());
        if let MenuAnswer::Chosen(index) = answer {
            lines.extend(drawn_menu::chosen_option_lines(question, index, self.columns()));
        }
        screen::print_line(&lines.join("\n"));
    }

    fn ask_drawn(&self, question: &MenuQuestion) -> MenuAnswer {
        let mut decoder = KeyDecoder::default();
        let mut selected = question.preselected;
        let mut last_drawn = None;
        loop {
            let size = screen::size();
            if last_drawn != Some((selected, size)) {
                screen::draw(drawn_menu::lines(question, selected, size, self.colour));
                last_drawn = Some((selected, size));
            }
            let keys = match self.read_input() {
                TerminalInput::Bytes(bytes) => decoder.read(&bytes),
                TerminalInput::Nothing => decoder.pause().into_iter().collect(),
                TerminalInput::End => return MenuAnswer::Cancelled,
            };
            for key in keys {
                match apply_key(question, selected, key) {
                    KeyEffect::Select(index) => selected = index,
                    KeyEffect::Answer(answer) => return answer,
                }
            }
        }
    }

    fn ask_numbered(&self, question: &MenuQuestion) -> MenuAnswer {
        discard_input();
        screen::print_line(numbered_menu::text(question, self.columns()).trim_end());
        let mut input = Vec::new();
        screen::prompt(&numbered_menu::prompt(question));
        loop {
            match self.read_input() {
                TerminalInput::Bytes(bytes) => input.extend(bytes),
                TerminalInput::Nothing => {}
                TerminalInput::End => {
                    screen::print_line("");
                    return MenuAnswer::Cancelled;
                }
            }
            while let Some(end) = input.iter().position(|byte| *byte == b'\n') {
                let rest = input.split_off(end + 1);
                let line =
                    String::from_utf8_lossy(&std::mem::replace(&mut input, rest)).into_owned();
                if let Some(index) = numbered_menu::parse_answer(question, &line) {
                    return MenuAnswer::Chosen(index);
                }
                screen::print_line("Not a valid choice.");
                screen::prompt(&numbered_menu::prompt(question));
            }
            if input.len() > LINE_MAX {
                input.clear();
            }
        }
    }

    /// Input since the last poll.
    fn read_input(&self) -> TerminalInput {
        if self.is_cancelled() {
            return TerminalInput::End;
        }
        poll_input(POLL_INTERVAL)
    }
}

/// Input from the terminal.
enum TerminalInput {
    Bytes(Vec<u8>),
    Nothing,
    /// End of input, or the user cancelled.
    End,
}

/// Effect of a key on a menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyEffect {
    Select(usize),
    Answer(MenuAnswer),
}

fn apply_key(question: &MenuQuestion, selected: usize, key: MenuKey) -> KeyEffect {
    let last = question.options.len().saturating_sub(1);
    match key {
        MenuKey::Up => KeyEffect::Select(selected.checked_sub(1).unwrap_or(last)),
        MenuKey::Down => KeyEffect::Select(if selected == last { 0 } else { selected + 1 }),
        MenuKey::First => KeyEffect::Select(0),
        MenuKey::Last => KeyEffect::Select(last),
        MenuKey::Enter => KeyEffect::Answer(MenuAnswer::Chosen(selected)),
        MenuKey::Cancel => KeyEffect::Answer(MenuAnswer::Cancelled),
        MenuKey::Char(char) => match question.option_for_char(char) {
            Some(index) => KeyEffect::Answer(MenuAnswer::Chosen(index)),
            None => KeyEffect::Select(selected),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crh_testkit::Program;

    /// Set in the child process of the test that panics at a question.
    const AT_TERMINAL: &str = "CRH_TEST_AT_TERMINAL";

    #[test]
    fn panics_during_question() {
        if std::env::var_os(AT_TERMINAL).is_none() {
            // Only runs inside the terminal that the next test starts.
            return;
        }
        std::panic::set_hook(Box::new(crate::ui::print_panic));
        let _raw_mode = RawMode::enable().unwrap();
        screen::draw(drawn_menu::lines(&question(), 0, screen::size(), Colour::On));
        panic!("it broke down");
    }

    #[test]
    fn panic_during_question_restores_terminal() {
        let name = "ui::questions::tests::panics_during_question";
        let this = Program::new(std::env::current_exe().unwrap(), Path::new("."));
        let this = this.args(["--exact", "--nocapture", name]).env(AT_TERMINAL, "1");
        let ended = this.at_terminal(80, 24).end();
        assert!(
            ended.full_output.contains("error: this is a bug in crh: it broke down"),
            "{}",
            ended.full_output
        );
        assert!(ended.is_restored && ended.code != 0, "{}", ended.full_output);
    }

    fn question() -> MenuQuestion {
        let choice = |key| MenuOption { key, label: String::new() };
        MenuQuestion {
            paragraphs: Vec::new(),
            options: vec![choice(Some('A')), choice(Some('D')), choice(None)],
            preselected: 0,
            on_leave: LeaveEffect::Undo,
        }
    }

    fn check(selected: usize, key: MenuKey, expected: KeyEffect) {
        assert_eq!(apply_key(&question(), selected, key), expected, "{key:?} at {selected}");
    }

    #[test]
    fn arrows_wrap_around_and_letters_choose() {
        use KeyEffect::*;
        use MenuAnswer::*;
        check(0, MenuKey::Down, Select(1));
        check(2, MenuKey::Down, Select(0));
        check(0, MenuKey::Up, Select(2));
        check(1, MenuKey::First, Select(0));
        check(1, MenuKey::Last, Select(2));
        check(1, MenuKey::Enter, Answer(Chosen(1)));
        check(1, MenuKey::Cancel, Answer(Cancelled));
        check(0, MenuKey::Char('d'), Answer(Chosen(1)));
        check(0, MenuKey::Char('3'), Answer(Chosen(2)));
        check(0, MenuKey::Char('4'), Select(0));
        check(0, MenuKey::Char('0'), Select(0));
        check(2, MenuKey::Char('x'), Select(2));
    }
}
