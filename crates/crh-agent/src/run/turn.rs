//! Handles one turn of the model: an answer, tool calls, or a correction for the model.

use super::{AgentRun, Reminder, RunState, TurnKind};
use crate::answer_form::{AnswerForm, SubmitRequest};
use crate::call_history::{PastCallStatus, RepeatedCall, ResultPosition};
use crate::extract::Completeness;
use crate::model_texts::LastTurnReason;
use crate::{AgentOutcome, LimitKind, ToolOutcome, model_texts, trim};
use crh_llm::{
    CacheMark, CallArguments, Message, ModelReply, StopCause, ToolCall, ToolResult, Turn, TurnPart,
};

/// How often a model may correct an invalid answer or turn.
const MAX_CORRECTIONS: u32 = 2;

/// After this many consecutive turns of repeated calls, the run enters its last turn. Before the
/// last of them, the model was told twice that it repeats calls.
const MAX_STUCK_TURNS: u32 = 3;

#[derive(Debug)]
pub(super) struct TurnCalls {
    calls: Vec<(ToolCall, CallDecision)>,
    completeness: Completeness,
    turn_kind: TurnKind,
}

/// What is wrong with a turn or an answer.
struct TurnError {
    /// Reason for the report.
    reason: String,
    /// Text for the model, with instructions.
    model_text: String,
}

#[derive(Debug)]
enum CallDecision {
    Execute,
    /// Not executed by the driver; the model gets this text as the result.
    Reply(String),
    /// A call that was answered before. The model gets this text as the result.
    Repeat(String),
    /// A part of the answer, which is parsed after all other calls of the turn.
    Answer,
}

/// Whether all other calls in the turn of an answer succeeded. A repeated call counts as a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherCallsResult {
    Succeeded,
    Failed,
}

impl TurnCalls {
    /// The calls to execute.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.calls.iter().filter_map(|(call, decision)| match decision {
            CallDecision::Execute => Some(call),
            CallDecision::Reply(_) | CallDecision::Repeat(_) | CallDecision::Answer => None,
        })
    }
}

impl<A: Clone> AgentRun<A> {
    pub(super) fn handle_reply(&mut self, reply: &ModelReply, turn_kind: TurnKind) {
        let spec = &self.task.submit.spec;
        let request = match (self.reminder, turn_kind) {
            (Reminder::NotSent, TurnKind::Work | TurnKind::Reminded | TurnKind::Only) => {
                SubmitRequest::InPrompt
            }
            (Reminder::JustSent | Reminder::Sent, _) | (_, TurnKind::Last) => {
                SubmitRequest::Repeated
            }
        };
        let first_id = self.call_count + 1;
        let parsed = self.protocol.parse_reply(reply, &self.task.tools, spec, request, first_id);
        let mut parsed_turn = match parsed {
            Ok(parsed_turn) => parsed_turn,
            Err(reason) => {
                let model_text = model_texts::unreadable_turn(&reason);
                let error = if reply.stop == StopCause::Length {
                    self.truncation_error()
                } else {
                    TurnError { reason, model_text }
                };
                self.push_turn(Turn::text(reply.turn.full_text()));
                if self.allow_correction(turn_kind, &error) {
                    self.send_text(error.model_text);
                }
                return;
            }
        };
        self.rename_answers(&mut parsed_turn.turn);
        let calls: Vec<ToolCall> = parsed_turn.turn.calls().cloned().collect();
        self.call_count += calls.len();
        self.push_turn(parsed_turn.turn);
        if calls.is_empty() {
            self.handle_no_calls(parsed_turn.completeness, turn_kind);
        } else {
            self.plan_calls(calls, parsed_turn.completeness, turn_kind);
        }
    }

    /// If a call of an unknown tool has the arguments of an answer, makes it a call of the submit
    /// tool.
    fn rename_answers(&self, turn: &mut Turn) {
        let submit = &self.task.submit.spec;
        let form = AnswerForm::new(submit);
        let is_known = |name: &str| {
            name == submit.name || self.task.tools.iter().any(|tool| tool.name == name)
        };
        for part in &mut turn.parts {
            match part {
                TurnPart::Call(call) if !is_known(&call.name) && form.fits(&call.arguments) => {
                    call.name.clone_from(&submit.name);
                }
                TurnPart::Call(_) | TurnPart::Text(_) | TurnPart::Thinking(_) => {}
            }
        }
    }

    pub(super) fn send_text(&mut self, text: String) {
        self.task.conversation.push_user(text, CacheMark::Unmarked);
    }

    /// Appends a turn, unless it is empty: vendors reject a turn without text or calls.
    fn push_turn(&mut self, turn: Turn) {
        let has_content = turn.parts.iter().any(|part| match part {
            TurnPart::Text(text) => !text.trim().is_empty(),
            TurnPart::Call(_) => true,
            TurnPart::Thinking(_) => false,
        });
        if has_content {
            self.task.conversation.messages.push(Message::Assistant(turn));
        }
    }

    fn truncation_error(&self) -> TurnError {
        let tokens = self.last_output.unwrap_or(self.max_output_tokens.into());
        TurnError {
            reason: format!("it was cut off at {tokens} tokens"),
            model_text: model_texts::truncated_turn(tokens),
        }
    }

    /// Returns whether the model may try again. If not, the run ends with the error.
    fn allow_correction(&mut self, turn_kind: TurnKind, error: &TurnError) -> bool {
        if turn_kind.is_last() || self.corrections == MAX_CORRECTIONS {
            self.report_turn_limit(turn_kind);
            self.end(AgentOutcome::BadAnswer(error.reason.clone()));
            return false;
        }
        self.corrections += 1;
        true
    }

    /// Reports the turn limit if the only turn of a run brought no answer.
    fn report_turn_limit(&mut self, turn_kind: TurnKind) {
        if turn_kind == TurnKind::Only {
            self.limit_reached = Some(LimitKind::Turns);
        }
    }

    /// Parses an answer, which may be split over several calls. A truncated answer may be
    /// incomplete, so it is accepted only if the model cannot try again.
    fn parse_answer(
        &self,
        calls: &[ToolCall],
        completeness: Completeness,
        turn_kind: TurnKind,
        other_calls: OtherCallsResult,
    ) -> Result<A, TurnError> {
        let may_try_again = !turn_kind.is_last() && self.corrections < MAX_CORRECTIONS;
        let form = AnswerForm::new(&self.task.submit.spec);
        let mut parts = Vec::new();
        for call in calls {
            match &call.arguments {
                CallArguments::Json(value) => parts.push(form.decode_strings(value.clone())),
                CallArguments::Malformed(_) if completeness == Completeness::Truncated => {
                    return Err(self.truncation_error());
                }
                CallArguments::Malformed(_) => {
                    return Err(TurnError {
                        reason: "it is not valid JSON".to_owned(),
                        model_text: model_texts::malformed_arguments(&call.name),
                    });
                }
            }
        }
        if completeness == Completeness::Truncated && may_try_again {
            return Err(self.truncation_error());
        }
        let answer = match other_calls {
            OtherCallsResult::Failed if self.task.submit.requires_calls() => {
                Err(model_texts::FAILED_CALL_BESIDE_ANSWER.to_owned())
            }
            OtherCallsResult::Failed | OtherCallsResult::Succeeded => {
                form.join(parts).and_then(|answer| self.task.submit.parse(answer))
            }
        };
        answer.map_err(|reason| {
            let model_text = model_texts::rejected_answer(&reason);
            TurnError { reason, model_text }
        })
    }

    fn handle_no_calls(&mut self, completeness: Completeness, turn_kind: TurnKind) {
        let truncation = self.truncation_error();
        match (completeness, self.reminder) {
            (Completeness::Truncated, _) => {
                if self.allow_correction(turn_kind, &truncation) {
                    self.send_text(truncation.model_text);
                }
            }
            (Completeness::Complete, Reminder::NotSent) if !turn_kind.is_last() => {
                self.reminder = Reminder::JustSent;
                self.send_text(model_texts::reminder(&self.task.submit.spec.name));
            }
            (Completeness::Complete, Reminder::NotSent | Reminder::JustSent | Reminder::Sent) => {
                self.give_up(turn_kind);
            }
        }
    }

    /// Ends a run whose model did not answer, despite a reminder or a last turn.
    fn give_up(&mut self, turn_kind: TurnKind) {
        self.report_turn_limit(turn_kind);
        self.end(match self.last_turn {
            Some(LastTurnReason::Stuck) => AgentOutcome::Stuck,
            Some(LastTurnReason::Limit(_)) | None => AgentOutcome::NoAnswer,
        });
    }

    /// Decides what to do with each call of a turn. Calls of the submit tool wait for the others.
    fn plan_calls(
        &mut self,
        calls: Vec<ToolCall>,
        completeness: Completeness,
        turn_kind: TurnKind,
    ) {
        let truncation = self.truncation_error();
        let submit = self.task.submit.spec.name.clone();
        let has_answer = calls.iter().any(|call| call.name == submit);
        if !has_answer {
            let is_truncated = completeness == Completeness::Truncated;
            if is_truncated && !self.allow_correction(turn_kind, &truncation) {
                return;
            }
            if turn_kind.is_last() {
                return self.give_up(turn_kind);
            }
        }
        let results_message = self.task.conversation.messages.len();
        let truncated_index = (completeness == Completeness::Truncated).then(|| calls.len() - 1);
        let brings_nothing_new = self.has_enough_results();
        let mut only_repeats = !has_answer;
        let mut turn_calls = TurnCalls { calls: Vec::new(), completeness, turn_kind };
        for (index, call) in calls.into_iter().enumerate() {
            if call.name == submit {
                turn_calls.calls.push((call, CallDecision::Answer));
                continue;
            }
            let repeat =
                if truncated_index == Some(index) { None } else { self.history.find_repeat(&call) };
            only_repeats &= repeat.is_some() || brings_nothing_new;
            let decision = if truncated_index == Some(index) {
                CallDecision::Reply(truncation.model_text.clone())
            } else {
                let is_of_answer = has_answer && self.task.submit.has_companion(&call.name);
                self.decide_call(&call, repeat, is_of_answer)
            };
            let status = match decision {
                CallDecision::Execute => PastCallStatus::Answered,
                CallDecision::Reply(_) | CallDecision::Repeat(_) | CallDecision::Answer => {
                    PastCallStatus::Failed
                }
            };
            self.history.record(
                &call,
                ResultPosition { message: results_message, result: index },
                status,
            );
            turn_calls.calls.push((call, decision));
        }
        self.stuck_turns = if only_repeats { self.stuck_turns + 1 } else { 0 };
        if self.stuck_turns == MAX_STUCK_TURNS {
            self.last_turn = Some(LastTurnReason::Stuck);
        }
        if turn_calls.calls().next().is_some() {
            self.state = RunState::Calling(turn_calls);
        } else {
            self.add_results(turn_calls, Vec::new());
        }
    }

    /// Whether the earlier turns brought so many results that no more calls are executed.
    fn has_enough_results(&self) -> bool {
        self.enough_results.is_some_and(|enough| self.usage.answered_calls >= enough)
    }

    /// `is_of_answer`: whether the call belongs to the answer of its turn.
    fn decide_call(
        &mut self,
        call: &ToolCall,
        repeat: Option<RepeatedCall>,
        is_of_answer: bool,
    ) -> CallDecision {
        let submit = &self.task.submit.spec.name;
        if let Some(repeat) = repeat {
            return CallDecision::Repeat(match repeat {
                RepeatedCall::Answered(id) => model_texts::repeated_call(&id),
                RepeatedCall::Cycle => model_texts::CALL_CYCLE.to_owned(),
            });
        }
        if !self.task.tools.iter().any(|tool| tool.name == call.name) {
            return CallDecision::Reply(model_texts::unknown_tool(
                &call.name,
                &self.task.tools,
                submit,
            ));
        }
        if matches!(call.arguments, CallArguments::Malformed(_)) {
            return CallDecision::Reply(model_texts::malformed_arguments(&call.name));
        }
        if self.has_enough_results() && !is_of_answer {
            return CallDecision::Reply(model_texts::ENOUGH_RESULTS.to_owned());
        }
        if self.usage.tool_calls >= self.limits.tool_calls && !is_of_answer {
            self.usage.tool_call_refused = true;
            return CallDecision::Reply(model_texts::TOO_MANY_CALLS.to_owned());
        }
        self.usage.tool_calls += 1;
        CallDecision::Execute
    }

    /// Ends the run with the answer of the turn, if it has a valid one. Otherwise adds one message
    /// with the results of all calls, in order.
    pub(super) fn add_results(&mut self, turn_calls: TurnCalls, outcomes: Vec<ToolOutcome>) {
        let message = self.task.conversation.messages.len();
        let TurnCalls { calls, completeness, turn_kind } = turn_calls;
        let mut outcomes = outcomes.into_iter();
        let mut results = Vec::new();
        let mut answers: Vec<ToolCall> = Vec::new();
        let mut other_calls = OtherCallsResult::Succeeded;
        for (index, (call, decision)) in calls.into_iter().enumerate() {
            let text = match decision {
                CallDecision::Answer => {
                    answers.push(call.clone());
                    model_texts::JOINED_ANSWER.to_owned()
                }
                CallDecision::Reply(text) => {
                    other_calls = OtherCallsResult::Failed;
                    text
                }
                CallDecision::Repeat(text) => text,
                CallDecision::Execute => {
                    let limit_failure = || {
                        self.last_turn.get_or_insert(LastTurnReason::Limit(LimitKind::ToolCalls));
                        ToolOutcome::Failed(model_texts::TOO_MANY_CALLS.to_owned())
                    };
                    match outcomes.next().unwrap_or_else(limit_failure) {
                        ToolOutcome::Answered(text) => {
                            self.usage.answered_calls += 1;
                            text
                        }
                        ToolOutcome::Changed(text) => {
                            self.usage.answered_calls += 1;
                            self.history.forget_all();
                            text
                        }
                        ToolOutcome::Failed(text) => {
                            self.history.mark_failed(ResultPosition { message, result: index });
                            other_calls = OtherCallsResult::Failed;
                            text
                        }
                        ToolOutcome::Abort(reason) => {
                            return self.end(AgentOutcome::Aborted(reason));
                        }
                    }
                }
            };
            results.push(ToolResult { call_id: call.id, name: call.name, text });
        }
        if let Some(last_answer) = answers.last() {
            let error = match self.parse_answer(&answers, completeness, turn_kind, other_calls) {
                Ok(answer) => return self.end(AgentOutcome::Answered(answer)),
                Err(error) => error,
            };
            if !self.allow_correction(turn_kind, &error) {
                return;
            }
            if let Some(result) = results.iter_mut().find(|it| it.call_id == last_answer.id) {
                result.text = error.model_text;
            }
        }
        trim::cut_results(&mut results, self.result_chars());
        self.largest_result_tokens = self.largest_result_tokens.max(trim::result_tokens(&results));
        self.task.conversation.messages.push(Message::Results(results));
    }
}
