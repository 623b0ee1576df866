//! Questions to the person at the terminal: one at a time, on standard error, answered by a key or by a line.

#[path = "drawn_menu.rs"]
mod drawn;
mod keys;
#[path = "numbered_menu.rs"]
mod numbered;
mod raw_mode;

use std::io;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};

use self::keys::{Decoder, Key};
use self::raw_mode::RawMode;
pub(super) use self::raw_mode::restore_at_once;
use super::face::Channel;
use super::screen;
use crate::config::environment;
use crate::config::environment::Environment;
use crate::config::value::Color;
use crh_review::render::Colour;

/// How often it is looked whether the terminal has another size, or the question is to be left: ten times a second is at once
/// to a person, and longer than a terminal takes to send the rest of a key.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Keys come in by threes and a line has a few characters. More of either is read in turn.
const READ: usize = 256;
/// A line that is longer than this is no answer.
const LINE_MAX: usize = 1_024;

/// A question with its options, of which exactly one is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// What is asked, one paragraph an item. It is harmless to show.
    pub(crate) stem: Vec<String>,
    /// What can be chosen. There is at least one.
    pub(crate) options: Vec<Choice>,
    /// The option that is marked at first.
    pub(crate) marked: usize,
}

/// One thing that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The letter that chooses it; none if only its number does.
    pub(crate) key: Option<char>,
    /// What it says, harmless to show.
    pub(crate) label: String,
}

/// What the person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The option at this place.
    Chosen(usize),
    /// Nothing: they want to leave.
    Left,
}

/// The person at the terminal.
pub(crate) struct Person {
    way: Channel,
    colour: Colour,
    wants_to_leave: Arc<AtomicBool>,
}

impl Question {
    /// The option that a letter chooses.
    fn at_key(&self, letter: char) -> Option<usize> {
        let is_it =
            |option: &Choice| option.key.is_some_and(|key| key.eq_ignore_ascii_case(&letter));
        self.options.iter().position(is_it)
    }

    /// The option that a key chooses at once: its letter, or its number.
    fn at_char(&self, char: char) -> Option<usize> {
        let number = char.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
        let by_number = number.and_then(|number| number.checked_sub(1));
        self.at_key(char).or(by_number).filter(|at| *at < self.options.len())
    }
}

impl Choice {
    /// How the key that chooses it stands before it.
    fn shown_key(&self, at: usize) -> String {
        match self.key {
            Some(key) => format!("({key}) "),
            None => format!("{}. ", at + 1),
        }
    }
}

impl Person {
    /// Whoever sits at the terminal, if there is one and somebody can sit there: a service that runs things unattended may
    /// pretend to be a terminal, and would wait for ever.
    pub(crate) fn at_terminal(environment: &Environment, color: Color) -> Option<Self> {
        let variable = |name| environment.variable(name).map(|value| value.to_string_lossy());
        let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        let ci = variable(environment::CI);
        if !is_terminal || Channel::of(is_terminal, ci.as_deref(), None) == Channel::Stream {
            return None;
        }
        let term = variable(environment::TERM);
        let way = Channel::of(is_terminal, ci.as_deref(), term.as_deref());
        let colour = match (color, way) {
            (Color::Always, _) | (Color::Auto, Channel::Terminal) => Colour::On,
            (Color::Never, _) | (Color::Auto, Channel::Stream) => Colour::Off,
        };
        Some(Self { way, colour, wants_to_leave: Arc::default() })
    }

    /// Set from elsewhere when the person wants to leave, as by a signal.
    pub(crate) fn wants_to_leave(&self) -> Arc<AtomicBool> {
        self.wants_to_leave.clone()
    }

    /// Whether the person has said so.
    pub(crate) fn is_leaving(&self) -> bool {
        self.wants_to_leave.load(Ordering::SeqCst)
    }

    /// How wide a text may be that is told.
    pub(crate) fn columns(&self) -> usize {
        screen::size().columns.saturating_sub(1).max(1)
    }

    /// How many rows are left for a text that is told before a question, so that both can be seen at once.
    pub(crate) fn rows_above(&self, question: &Question) -> usize {
        let size = screen::size();
        let taken = match self.way {
            Channel::Terminal => drawn::lines(question, question.marked, size, Colour::Off).len(),
            Channel::Stream => numbered::text(question, self.columns()).lines().count(),
        };
        // The cursor has the last row.
        size.rows.saturating_sub(taken + 1)
    }

    /// Tells something that stays on the screen. It is harmless to show.
    pub(crate) fn tell(&self, text: &str) {
        screen::say(text.trim_end_matches('\n'));
    }

    /// Asks, and waits for the answer. A terminal that cannot be asked is one that the person has left.
    pub(crate) fn ask(&self, question: &Question) -> Answer {
        let answer = match self.way {
            Channel::Terminal => match RawMode::on() {
                Ok(raw_mode) => {
                    let answer = self.ask_drawn(question);
                    drop(raw_mode);
                    self.keep(question, answer);
                    answer
                }
                Err(_) => self.ask_numbered(question),
            },
            Channel::Stream => self.ask_numbered(question),
        };
        if answer == Answer::Left {
            self.wants_to_leave.store(true, Ordering::SeqCst);
        }
        answer
    }

    /// Leaves the question on the screen with its answer, in place of what was drawn.
    fn keep(&self, question: &Question, answer: Answer) {
        screen::clear();
        let mut lines = drawn::stem(question, self.columns());
        if let Answer::Chosen(at) = answer {
            lines.extend(drawn::chosen(question, at, self.columns()));
        }
        screen::say(&lines.join("\n"));
    }

    fn ask_drawn(&self, question: &Question) -> Answer {
        let mut decoder = Decoder::default();
        let mut marked = question.marked;
        let mut drawn = None;
        loop {
            let size = screen::size();
            if drawn != Some((marked, size)) {
                screen::draw(drawn::lines(question, marked, size, self.colour));
                drawn = Some((marked, size));
            }
            let keys = match self.heard() {
                Heard::Bytes(bytes) => decoder.read(&bytes),
                Heard::Nothing => decoder.pause().into_iter().collect(),
                Heard::End => return Answer::Left,
            };
            for key in keys {
                match pressed(question, marked, key) {
                    Pressed::Marks(at) => marked = at,
                    Pressed::Answers(answer) => return answer,
                }
            }
        }
    }

    fn ask_numbered(&self, question: &Question) -> Answer {
        forget_typed();
        screen::say(numbered::text(question, self.columns()).trim_end());
        let mut line = Vec::new();
        screen::prompt(&numbered::prompt(question));
        loop {
            match self.heard() {
                Heard::Bytes(bytes) => line.extend(bytes),
                Heard::Nothing => {}
                Heard::End => {
                    screen::say("");
                    return Answer::Left;
                }
            }
            while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                let rest = line.split_off(end + 1);
                let said =
                    String::from_utf8_lossy(&std::mem::replace(&mut line, rest)).into_owned();
                if let Some(at) = numbered::named(question, &said) {
                    return Answer::Chosen(at);
                }
                screen::say("That is none of them.");
                screen::prompt(&numbered::prompt(question));
            }
            if line.len() > LINE_MAX {
                line.clear();
            }
        }
    }

    /// What came in since the last look.
    fn heard(&self) -> Heard {
        if self.is_leaving() {
            return Heard::End;
        }
        let stdin = io::stdin();
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&LOOK)) {
            // A signal came in between; what it means is seen at the next look.
            Ok(0) | Err(rustix::io::Errno::INTR) => return Heard::Nothing,
            Ok(_) => {}
            Err(_) => return Heard::End,
        }
        let mut bytes = [0; READ];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => Heard::End,
            Ok(count) => Heard::Bytes(bytes[..count].to_vec()),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Heard::Nothing,
            Err(_) => Heard::End,
        }
    }
}

/// What was typed before is no answer to what is asked now. What cannot be forgotten is heard.
pub(super) fn forget_typed() {
    tcflush(io::stdin(), QueueSelector::IFlush).ok();
}

/// What came in from the terminal.
enum Heard {
    Bytes(Vec<u8>),
    Nothing,
    /// Nobody is there any more, or they want to leave.
    End,
}

/// What a key does to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressed {
    Marks(usize),
    Answers(Answer),
}

fn pressed(question: &Question, marked: usize, key: Key) -> Pressed {
    let last = question.options.len().saturating_sub(1);
    match key {
        Key::Up => Pressed::Marks(marked.checked_sub(1).unwrap_or(last)),
        Key::Down => Pressed::Marks(if marked == last { 0 } else { marked + 1 }),
        Key::First => Pressed::Marks(0),
        Key::Last => Pressed::Marks(last),
        Key::Enter => Pressed::Answers(Answer::Chosen(marked)),
        Key::Leave => Pressed::Answers(Answer::Left),
        Key::Char(char) => match question.at_char(char) {
            Some(at) => Pressed::Answers(Answer::Chosen(at)),
            None => Pressed::Marks(marked),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crh_testkit::Program;

    /// Set where the test runs that breaks down at a question.
    const AT_TERMINAL: &str = "CRH_TEST_AT_TERMINAL";

    #[test]
    fn breaks_down_while_a_question_stands_there() {
        if std::env::var_os(AT_TERMINAL).is_none() {
            // It has no terminal of its own: the test below gives it one.
            return;
        }
        std::panic::set_hook(Box::new(crate::ui::say_bug));
        let _raw_mode = RawMode::on().unwrap();
        screen::draw(drawn::lines(&question(), 0, screen::size(), Colour::On));
        panic!("it broke down");
    }

    #[test]
    fn a_bug_while_a_question_stands_there_leaves_the_terminal_as_it_was() {
        let name = "ui::questions::tests::breaks_down_while_a_question_stands_there";
        let this = Program::new(std::env::current_exe().unwrap(), Path::new("."));
        let this = this.args(["--exact", "--nocapture", name]).env(AT_TERMINAL, "1");
        let ended = this.at_terminal(80, 24).end();
        assert!(
            ended.paper.contains("error: this is a bug in crh: it broke down"),
            "{}",
            ended.paper
        );
        assert!(ended.is_as_usual && ended.code != 0, "{}", ended.paper);
    }

    fn question() -> Question {
        let choice = |key| Choice { key, label: String::new() };
        Question {
            stem: Vec::new(),
            options: vec![choice(Some('A')), choice(Some('D')), choice(None)],
            marked: 0,
        }
    }

    fn check(marked: usize, key: Key, expected: Pressed) {
        assert_eq!(pressed(&question(), marked, key), expected, "{key:?} at {marked}");
    }

    #[test]
    fn arrows_go_round_and_keys_choose() {
        use Answer::*;
        use Pressed::*;
        check(0, Key::Down, Marks(1));
        check(2, Key::Down, Marks(0));
        check(0, Key::Up, Marks(2));
        check(1, Key::First, Marks(0));
        check(1, Key::Last, Marks(2));
        check(1, Key::Enter, Answers(Chosen(1)));
        check(1, Key::Leave, Answers(Left));
        check(0, Key::Char('d'), Answers(Chosen(1)));
        check(0, Key::Char('3'), Answers(Chosen(2)));
        check(0, Key::Char('4'), Marks(0));
        check(0, Key::Char('0'), Marks(0));
        check(2, Key::Char('x'), Marks(2));
    }
}
