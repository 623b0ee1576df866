//! What a run makes of one turn of the model: an answer, calls to make, or something to tell it.

use super::{Question, Reminder, Run, State};
use crate::extract::Ending;
use crate::repeat::{Place, Repeat, Standing};
use crate::words::Reason;
use crate::{Limit, Outcome, ToolOutcome, words};
use crh_llm::{Arguments, Cache, Message, Part, Reply, Stop, ToolCall, ToolResult, Turn};

/// So often a model may try again after an answer or a turn that could not be read: the number of the agent's
/// specification.
const REPAIRS: u32 = 2;

/// After so many turns in a row with nothing but refused repeats the run comes to its end. One may be forgetfulness and a
/// second stubbornness; a model that has been told twice will not hear it the third time.
const STUCK_TURNS: u32 = 3;

/// The calls of a turn, in order.
#[derive(Debug)]
pub(super) struct Asked {
    calls: Vec<(ToolCall, Fate)>,
}

/// What is wrong with a turn or an answer.
struct Wrong {
    /// For the report.
    what: String,
    /// For the model, with what it should do.
    told: String,
}

/// What becomes of a call.
#[derive(Debug)]
enum Fate {
    /// It is made.
    Made,
    /// It is not, and the model is told so.
    Told(String),
}

impl Asked {
    /// The calls to make.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.calls.iter().filter_map(|(call, fate)| match fate {
            Fate::Made => Some(call),
            Fate::Told(_) => None,
        })
    }
}

impl<A: Clone> Run<A> {
    /// Goes on from what the model said.
    pub(super) fn hear(&mut self, reply: &Reply, question: Question) {
        let submit = self.task.submit.spec.name.clone();
        let said = match self.way.read(reply, &submit, self.calls_seen + 1) {
            Ok(said) => said,
            Err(why) => {
                let told = words::unreadable(&why);
                let wrong =
                    if reply.stop == Stop::Length { self.cut() } else { Wrong { what: why, told } };
                self.push(Turn::text(reply.turn.said()));
                if self.repair(question, &wrong) {
                    self.say(wrong.told);
                }
                return;
            }
        };
        let calls: Vec<ToolCall> = said.turn.calls().cloned().collect();
        self.calls_seen += calls.len();
        self.push(said.turn);
        if calls.iter().any(|call| call.name == submit) {
            self.read_answer(calls, said.ending, question);
        } else if calls.is_empty() {
            self.hear_no_calls(said.ending, question);
        } else {
            self.plan(calls, said.ending, question);
        }
    }

    /// Says something to the model.
    pub(super) fn say(&mut self, text: String) {
        self.task.conversation.say(text, Cache::Unmarked);
    }

    /// Adds a turn, unless it says nothing that can be sent back: vendors refuse a turn without text or calls.
    fn push(&mut self, turn: Turn) {
        let says_something = turn.parts.iter().any(|part| match part {
            Part::Text(text) => !text.trim().is_empty(),
            Part::Call(_) => true,
            Part::Thinking(_) => false,
        });
        if says_something {
            self.task.conversation.messages.push(Message::Assistant(turn));
        }
    }

    fn cut(&self) -> Wrong {
        let tokens = self.max_output_tokens;
        Wrong { what: format!("it was cut off at {tokens} tokens"), told: words::cut(tokens) }
    }

    /// Whether the model may try again; if not, the run ends with what was wrong.
    fn repair(&mut self, question: Question, wrong: &Wrong) -> bool {
        if question.is_last() || self.repairs == REPAIRS {
            self.limit_if_only(question);
            self.end(Outcome::BadAnswer(wrong.what.clone()));
            return false;
        }
        self.repairs += 1;
        true
    }

    /// The only turn of a run brought no answer, and there is no other.
    fn limit_if_only(&mut self, question: Question) {
        if question == Question::Only {
            self.limited = Some(Limit::Turns);
        }
    }

    /// Takes the first answer that can be read. Other calls beside it are not made any more.
    fn read_answer(&mut self, calls: Vec<ToolCall>, ending: Ending, question: Question) {
        let may_try_again = !question.is_last() && self.repairs < REPAIRS;
        let mut last_wrong = None;
        let mut told = Vec::new();
        for call in calls {
            let mut sentence = words::BESIDE_AN_ANSWER.to_owned();
            if call.name == self.task.submit.spec.name {
                match self.answer(&call, ending, may_try_again) {
                    Ok(answer) => return self.end(Outcome::Answered(answer)),
                    Err(wrong) => {
                        sentence.clone_from(&wrong.told);
                        last_wrong = Some(wrong);
                    }
                }
            }
            told.push((call, Fate::Told(sentence)));
        }
        if last_wrong.is_none_or(|wrong| self.repair(question, &wrong)) {
            self.settle(Asked { calls: told }, Vec::new());
        }
    }

    /// Reads an answer. One that was cut off and closed by us may lack something: it is good enough only when there is
    /// no other chance.
    fn answer(&self, call: &ToolCall, ending: Ending, may_try_again: bool) -> Result<A, Wrong> {
        match &call.arguments {
            Arguments::Json(_) if ending == Ending::Cut && may_try_again => Err(self.cut()),
            Arguments::Json(value) => self.task.submit.read(value.clone()).map_err(|what| {
                let told = words::wrong_answer(&what);
                Wrong { what, told }
            }),
            Arguments::Malformed(_) if ending == Ending::Cut => Err(self.cut()),
            Arguments::Malformed(_) => Err(Wrong {
                what: "it is not valid JSON".to_owned(),
                told: words::malformed(&call.name),
            }),
        }
    }

    fn hear_no_calls(&mut self, ending: Ending, question: Question) {
        let cut = self.cut();
        match (ending, self.reminder) {
            (Ending::Cut, _) => {
                if self.repair(question, &cut) {
                    self.say(cut.told);
                }
            }
            (Ending::Whole, Reminder::Unsaid) if !question.is_last() => {
                self.reminder = Reminder::Fresh;
                self.say(words::reminder(&self.task.submit.spec.name));
            }
            (Ending::Whole, Reminder::Unsaid | Reminder::Fresh | Reminder::Said) => {
                self.give_up(question);
            }
        }
    }

    /// The end of a run whose model had its last chance and did not answer.
    fn give_up(&mut self, question: Question) {
        self.limit_if_only(question);
        self.end(match self.last_turn {
            Some(Reason::Stuck) => Outcome::Stuck,
            Some(Reason::Limit(_)) | None => Outcome::NoAnswer,
        });
    }

    /// Decides about each call.
    fn plan(&mut self, calls: Vec<ToolCall>, ending: Ending, question: Question) {
        let cut = self.cut();
        if ending == Ending::Cut && !self.repair(question, &cut) {
            return;
        }
        if question.is_last() {
            return self.give_up(question);
        }
        let results = self.task.conversation.messages.len();
        let half = (ending == Ending::Cut).then(|| calls.len() - 1);
        let mut only_repeats = true;
        let mut asked = Asked { calls: Vec::new() };
        for (index, call) in calls.into_iter().enumerate() {
            let repeat = if half == Some(index) { None } else { self.repeats.of(&call) };
            only_repeats &= repeat.is_some();
            let fate = if half == Some(index) {
                Fate::Told(cut.told.clone())
            } else {
                self.fate(&call, repeat)
            };
            let standing = match fate {
                Fate::Made => Standing::Answered,
                Fate::Told(_) => Standing::Failed,
            };
            self.repeats.note(&call, Place { message: results, result: index }, standing);
            asked.calls.push((call, fate));
        }
        self.stuck_turns = if only_repeats { self.stuck_turns + 1 } else { 0 };
        if self.stuck_turns == STUCK_TURNS {
            self.last_turn = Some(Reason::Stuck);
        }
        if asked.calls().next().is_some() {
            self.state = State::Calling(asked);
        } else {
            self.settle(asked, Vec::new());
        }
    }

    fn fate(&mut self, call: &ToolCall, repeat: Option<Repeat>) -> Fate {
        let submit = &self.task.submit.spec.name;
        if let Some(repeat) = repeat {
            return Fate::Told(match repeat {
                Repeat::Answered(id) => words::repeated(&id),
                Repeat::Circle => words::CIRCLE.to_owned(),
            });
        }
        if !self.task.tools.iter().any(|tool| tool.name == call.name) {
            return Fate::Told(words::unknown(&call.name, &self.task.tools, submit));
        }
        if matches!(call.arguments, Arguments::Malformed(_)) {
            return Fate::Told(words::malformed(&call.name));
        }
        if self.spent.tool_calls >= self.limits.tool_calls {
            self.spent.calls_turned_away = true;
            return Fate::Told(words::TOO_MANY_CALLS.to_owned());
        }
        self.spent.tool_calls += 1;
        Fate::Made
    }

    /// Every call gets its result, in order, in one message.
    pub(super) fn settle(&mut self, asked: Asked, outcomes: Vec<ToolOutcome>) {
        let message = self.task.conversation.messages.len();
        let mut outcomes = outcomes.into_iter();
        let mut results = Vec::new();
        for (index, (call, fate)) in asked.calls.into_iter().enumerate() {
            let text = match fate {
                Fate::Told(text) => text,
                Fate::Made => {
                    let no_room = || {
                        self.last_turn.get_or_insert(Reason::Limit(Limit::ToolCalls));
                        ToolOutcome::Failed(words::TOO_MANY_CALLS.to_owned())
                    };
                    match outcomes.next().unwrap_or_else(no_room) {
                        ToolOutcome::Answered(text) => text,
                        ToolOutcome::Changed(text) => {
                            self.repeats.forget_all();
                            text
                        }
                        ToolOutcome::Failed(text) => {
                            self.repeats.failed(Place { message, result: index });
                            text
                        }
                        ToolOutcome::Abort(why) => return self.end(Outcome::Aborted(why)),
                    }
                }
            };
            results.push(ToolResult { call_id: call.id, name: call.name, text });
        }
        let tokens = results.iter().map(|result| crh_llm::text_tokens(&result.text)).sum();
        self.largest_results = self.largest_results.max(tokens);
        self.task.conversation.messages.push(Message::Results(results));
    }
}
