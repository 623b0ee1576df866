//! The tools of one agent of a delegated review. Applies its rules and emits events for its calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::agent_rules::{AgentRules, DelegateRule};
use super::files::DelegateFiles;
use crate::assignment::DiffPart;
use crate::events::ReviewEvent;
use crate::review_context::ReviewContext;
use crate::tools::ReviewTools;
use crh_agent::{ToolOutcome, Toolbox};
use crh_llm::{CallArguments, ToolCall};

/// Tools of one agent.
#[derive(Debug)]
pub(super) struct AgentTools {
    ctx: ReviewContext,
    name: String,
    tools: ReviewTools,
    rules: Mutex<AgentRules>,
    /// Number of model calls at the last usage event.
    announced_calls: AtomicU32,
}

/// Parts of files that no sub-agent has marked yet.
#[derive(Debug)]
pub(super) struct UnmarkedParts {
    parts_by_path: Mutex<BTreeMap<String, BTreeSet<DiffPart>>>,
}

impl AgentTools {
    /// Tools for the agent with this name.
    pub(super) fn new(ctx: &ReviewContext, name: &str, rules: AgentRules) -> Self {
        Self {
            tools: ReviewTools::new(ctx.change.tool_context.clone()),
            ctx: ctx.clone(),
            name: name.to_owned(),
            rules: Mutex::new(rules),
            announced_calls: AtomicU32::new(0),
        }
    }

    /// The rules. Never hold the guard across an await.
    pub(super) fn rules(&self) -> MutexGuard<'_, AgentRules> {
        // Every method leaves the rules consistent, so a poisoned lock is usable.
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Emits an event for a tool call.
    pub(super) fn announce_call(&self, call: &ToolCall) {
        self.ctx.journal.emit(ReviewEvent::tool_called(&self.name, call));
        // The calls of one turn arrive together: emit the usage once for them.
        let totals = self.ctx.ledger.spent();
        if self.announced_calls.swap(totals.llm_calls, Ordering::Relaxed) != totals.llm_calls {
            self.ctx.journal.emit(ReviewEvent::Spent { totals });
        }
    }

    /// Counts a refusal, emits an event and returns the message for the model.
    pub(super) fn refuse(&self, rule: DelegateRule, message: String) -> String {
        let message = self.rules().refuse(rule, message).message;
        self.announce_refusal(&message);
        message
    }

    /// Calls a tool if the rules allow it. `path` is the file to mark.
    pub(super) async fn call(&self, call: &ToolCall, path: Option<&str>) -> ToolOutcome {
        let permission = self.rules().check_call(&call.name, path);
        if let Err(refusal) = permission {
            self.announce_refusal(&refusal.message);
            return ToolOutcome::Failed(refusal.message);
        }
        let outcome = self.tools.call(call).await;
        match &outcome {
            ToolOutcome::Answered(_) | ToolOutcome::Changed(_) => {}
            ToolOutcome::Failed(_) | ToolOutcome::Abort(_) => self.rules().call_failed(&call.name),
        }
        outcome
    }

    fn announce_refusal(&self, message: &str) {
        let (run, message) = (self.name.clone(), message.to_owned());
        self.ctx.journal.emit(ReviewEvent::Refused { run, message });
    }
}

/// Ends the text with a period, since more text follows for the model.
pub(super) fn with_period(sentence: String) -> String {
    format!("{}.", sentence.trim_end_matches('.'))
}

/// The `path` argument of a call.
pub(super) fn path_argument(call: &ToolCall) -> Option<&str> {
    match &call.arguments {
        CallArguments::Json(arguments) => arguments.get("path")?.as_str(),
        CallArguments::Malformed(_) => None,
    }
}

impl UnmarkedParts {
    /// All parts of all files, except those that are done.
    pub(super) fn new(files: &DelegateFiles, done_parts: &BTreeSet<DiffPart>) -> Self {
        let parts_by_path = files.iter().map(|file| {
            let parts = file.pieces.iter().map(|piece| piece.part.clone());
            (file.path.clone(), parts.filter(|part| !done_parts.contains(part)).collect())
        });
        Self { parts_by_path: Mutex::new(parts_by_path.collect()) }
    }

    /// Records that a sub-agent with these parts marked the file. Returns true once, when no part
    /// is left.
    pub(super) fn mark_file(&self, path: &str, parts: &[DiffPart]) -> bool {
        let mut parts_by_path = self.parts_by_path.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(parts_left) = parts_by_path.get_mut(path) else { return false };
        for part in parts {
            parts_left.remove(part);
        }
        let is_done = parts_left.is_empty();
        if is_done {
            parts_by_path.remove(path);
        }
        is_done
    }

    /// Removes and returns files without open parts.
    pub(super) fn take_finished_files(&self) -> Vec<String> {
        let mut parts_by_path = self.parts_by_path.lock().unwrap_or_else(PoisonError::into_inner);
        let finished_files: Vec<String> = parts_by_path
            .iter()
            .filter(|(_, parts_left)| parts_left.is_empty())
            .map(|(path, _)| path.clone())
            .collect();
        parts_by_path.retain(|_, parts_left| !parts_left.is_empty());
        finished_files
    }
}
