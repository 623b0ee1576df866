//! The tools of a fixer: those that read, and those that change the files of its errand.

use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::desk::{Desk, Turned};
use super::report::ReportRepairs;
use crate::events::Event;
use crate::office::Office;
use crate::tools::session::{MARK, SessionTool};
use crate::tools::{BenchTools, ReadingTools, session};
use crh_agent::{Order, ToolOutcome, Toolbox, on_thread};
use crh_llm::{Arguments, ToolCall, ToolSpec};

/// Replaces one piece of text in one of your files. `old` has to stand in the file exactly once: take in as many lines around it
/// as that needs, copied to the letter, without line numbers. Answers with the changed lines and some around them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    /// One of your files, from the root of the repository.
    pub(super) path: String,
    /// What stands there now.
    pub(super) old: String,
    /// What is to stand there instead. Empty takes `old` out.
    pub(super) new: String,
}

/// Writes one of your files whole, also one that is not there yet. For anything but a new or a very small file take `edit_file`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    /// One of your files, from the root of the repository.
    pub(super) path: String,
    /// All that it is to hold.
    pub(super) content: String,
}

/// Reads lines of a file as it is now, with your edits. The other reading tools show the tree as it was reviewed, without them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadWorktree {
    /// The file, from the root of the repository.
    pub(super) path: String,
    /// The first line, from 1; the first of the file if left out.
    #[serde(default)]
    pub(super) start: Option<u32>,
    /// The last line; the last of the file if left out.
    #[serde(default)]
    pub(super) end: Option<u32>,
}

impl SessionTool for EditFile {
    const NAME: &'static str = "edit_file";
}

impl SessionTool for WriteFile {
    const NAME: &'static str = "write_file";
}

impl SessionTool for ReadWorktree {
    const NAME: &'static str = "read_worktree";
}

/// The tools of every fixer, in an order that never changes.
pub(super) fn fixer_tools() -> Vec<ToolSpec> {
    static ALL: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
        let readers = BenchTools::specs().into_iter().filter(|tool| tool.name != MARK);
        readers.chain(own()).collect()
    });
    ALL.clone()
}

/// Those that nobody else has.
fn own() -> [ToolSpec; 4] {
    [
        session::spec::<EditFile>(),
        session::spec::<WriteFile>(),
        session::spec::<ReadWorktree>(),
        session::spec::<ReportRepairs>(),
    ]
}

/// The tools of one run.
#[derive(Debug)]
pub(super) struct FixerTools {
    reading: ReadingTools,
    desk: Arc<Desk>,
    office: Office,
    run: String,
}

impl FixerTools {
    /// The tools of the run of this name.
    pub(super) fn new(office: &Office, run: &str, desk: Arc<Desk>) -> Self {
        let reading = ReadingTools::new(office, run, "for a fixer", ReportRepairs::NAME);
        Self { reading, desk, office: office.clone(), run: run.to_owned() }
    }
}

impl Toolbox for FixerTools {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        let Some(own) = Own::named(&call.name) else { return self.reading.call(call).await };
        self.office.journal.tell(Event::tool_called(&self.run, call));
        let arguments = match &call.arguments {
            Arguments::Json(arguments) => arguments.clone(),
            Arguments::Malformed(text) => Value::from(text.as_str()),
        };
        let (desk, office, run) = (self.desk.clone(), self.office.clone(), self.run.clone());
        on_thread(&call.name, move || match own.done(arguments, &desk) {
            Ok(text) => own.answered(text),
            Err(Turned::Failed(told)) => ToolOutcome::Failed(told),
            Err(Turned::Refused(told)) => {
                office.journal.tell(Event::Refused { run, told: told.clone() });
                ToolOutcome::Failed(told)
            }
        })
        .await
    }

    fn order(&self, name: &str) -> Order {
        // Two edits of one turn are made in the order in which the model thought of them.
        if Own::named(name).is_some() { Order::OneByOne } else { Order::SideBySide }
    }
}

/// A tool that nobody else has and that does not end the run.
#[derive(Debug, Clone, Copy)]
enum Own {
    Edit,
    Write,
    Read,
}

impl Own {
    fn named(name: &str) -> Option<Self> {
        match name {
            EditFile::NAME => Some(Self::Edit),
            WriteFile::NAME => Some(Self::Write),
            ReadWorktree::NAME => Some(Self::Read),
            _ => None,
        }
    }

    fn done(self, arguments: Value, desk: &Desk) -> Result<String, Turned> {
        match self {
            Self::Edit => desk.edit(&session::read(arguments).map_err(Turned::Failed)?),
            Self::Write => desk.write(&session::read(arguments).map_err(Turned::Failed)?),
            Self::Read => desk.read(&session::read(arguments).map_err(Turned::Failed)?),
        }
    }

    fn answered(self, text: String) -> ToolOutcome {
        match self {
            Self::Edit | Self::Write => ToolOutcome::Changed(text),
            Self::Read => ToolOutcome::Answered(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    #[test]
    fn a_fixer_is_told_of_the_tools_that_read_and_of_its_own() {
        let tools = fixer_tools();
        let mark = tools.iter().any(|tool| tool.name == MARK);
        assert!(!mark && tools.len() == BenchTools::specs().len() - 1 + own().len());
        expect_file!["../../tests/data/tools/fixer.json"]
            .assert_eq(&crh_review::stable_json(&own()).unwrap());
        for tool in own() {
            assert_eq!(tool.schema["additionalProperties"], false, "{}", tool.name);
            for (argument, schema) in tool.schema["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{} {argument}", tool.name);
            }
        }
    }
}
