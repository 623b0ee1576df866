//! Where one agent of a delegated review sits: its tools behind its rules, with everything that happens told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::conduct::{Conduct, Rule};
use super::files::Files;
use crate::events::Event;
use crate::office::Office;
use crate::plan::Part;
use crate::tools::BenchTools;
use crh_agent::{ToolOutcome, Toolbox};
use crh_llm::{Arguments, ToolCall};

/// One agent's desk.
#[derive(Debug)]
pub(super) struct Desk {
    office: Office,
    name: String,
    bench: BenchTools,
    conduct: Mutex<Conduct>,
    /// How many calls of models there had been when what was spent was last told.
    told_at: AtomicU32,
}

/// Which parts of which files nobody has marked yet, over all sub-agents.
#[derive(Debug)]
pub(super) struct Marks {
    open: Mutex<BTreeMap<String, BTreeSet<Part>>>,
}

impl Desk {
    /// The desk of the agent of this name.
    pub(super) fn new(office: &Office, name: &str, conduct: Conduct) -> Self {
        Self {
            bench: BenchTools::new(office.subject.bench.clone()),
            office: office.clone(),
            name: name.to_owned(),
            conduct: Mutex::new(conduct),
            told_at: AtomicU32::new(0),
        }
    }

    /// How the agent behaves. Never kept across a wait.
    pub(super) fn conduct(&self) -> MutexGuard<'_, Conduct> {
        // Each of its methods leaves it whole.
        self.conduct.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of a call that the agent makes.
    pub(super) fn hear(&self, call: &ToolCall) {
        self.office.journal.tell(Event::tool_called(&self.name, call));
        // The calls of one turn come together: what was spent is told once for them.
        let totals = self.office.ledger.spent();
        if self.told_at.swap(totals.llm_calls, Ordering::Relaxed) != totals.llm_calls {
            self.office.journal.tell(Event::Spent { totals });
        }
    }

    /// Refuses something: counted, told, and a sentence for the model.
    pub(super) fn refuse(&self, rule: Rule, told: String) -> String {
        let told = self.conduct().refuse(rule, told).told;
        self.tell_refused(&told);
        told
    }

    /// Calls a tool of the bench, if the rules allow it; `path` is the file that it is to mark.
    pub(super) async fn call(&self, call: &ToolCall, path: Option<&str>) -> ToolOutcome {
        let allowed = self.conduct().allows(&call.name, path);
        if let Err(refusal) = allowed {
            self.tell_refused(&refusal.told);
            return ToolOutcome::Failed(refusal.told);
        }
        let outcome = self.bench.call(call).await;
        match &outcome {
            ToolOutcome::Answered(_) | ToolOutcome::Changed(_) => {}
            ToolOutcome::Failed(_) | ToolOutcome::Abort(_) => self.conduct().failed(&call.name),
        }
        outcome
    }

    fn tell_refused(&self, told: &str) {
        let (run, told) = (self.name.clone(), told.to_owned());
        self.office.journal.tell(Event::Refused { run, told });
    }
}

/// A sentence with its period: more is said to the model behind it.
pub(super) fn ended_sentence(told: String) -> String {
    format!("{}.", told.trim_end_matches('.'))
}

/// The argument that a tool is to mark or read.
pub(super) fn path_of(call: &ToolCall) -> Option<&str> {
    match &call.arguments {
        Arguments::Json(arguments) => arguments.get("path")?.as_str(),
        Arguments::Malformed(_) => None,
    }
}

impl Marks {
    /// All parts of all files but those that are done.
    pub(super) fn new(files: &Files, done: &BTreeSet<Part>) -> Self {
        let open = files.iter().map(|file| {
            let parts = file.pieces.iter().map(|piece| piece.part.clone());
            (file.path.clone(), parts.filter(|part| !done.contains(part)).collect())
        });
        Self { open: Mutex::new(open.collect()) }
    }

    /// A sub-agent with these parts has marked a file. Whether the file is done with that: true once for each.
    pub(super) fn mark(&self, path: &str, parts: &[Part]) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left) = open.get_mut(path) else { return false };
        for part in parts {
            left.remove(part);
        }
        let is_done = left.is_empty();
        if is_done {
            open.remove(path);
        }
        is_done
    }

    /// The files that were done from the start, each once.
    pub(super) fn done(&self) -> Vec<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let done: Vec<String> =
            open.iter().filter(|(_, left)| left.is_empty()).map(|(path, _)| path.clone()).collect();
        open.retain(|_, left| !left.is_empty());
        done
    }
}
