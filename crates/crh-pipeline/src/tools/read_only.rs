//! The tools of a run that reads and leaves no mark: whoever checks a claim, or looks through a lens.

use std::collections::BTreeSet;

use super::BenchTools;
use super::session::MARK;
use crate::events::Event;
use crate::office::Office;
use crh_agent::{ToolOutcome, Toolbox};
use crh_llm::ToolCall;

/// The tools of one reading run. What it may not use is refused, and told.
#[derive(Debug)]
pub(crate) struct ReadingTools {
    tools: BenchTools,
    readers: BTreeSet<String>,
    office: Office,
    run: String,
    /// What the run is there for, as it follows "is not".
    purpose: &'static str,
    /// The tool that it ends with.
    ends_with: &'static str,
}

impl ReadingTools {
    /// The tools of the run of this name.
    pub(crate) fn new(
        office: &Office,
        run: &str,
        purpose: &'static str,
        ends_with: &'static str,
    ) -> Self {
        let names = BenchTools::specs().into_iter().map(|spec| spec.name);
        Self {
            tools: BenchTools::new(office.subject.bench.clone()),
            readers: names.filter(|name| name != MARK).collect(),
            office: office.clone(),
            run: run.to_owned(),
            purpose,
            ends_with,
        }
    }
}

impl Toolbox for ReadingTools {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        if !self.readers.contains(&call.name) {
            let told = format!(
                "`{}` is not {}: read what you need and call `{}`",
                call.name, self.purpose, self.ends_with
            );
            let run = self.run.clone();
            self.office.journal.tell(Event::Refused { run, told: told.clone() });
            return ToolOutcome::Failed(told);
        }
        self.office.journal.tell(Event::tool_called(&self.run, call));
        self.tools.call(call).await
    }
}
