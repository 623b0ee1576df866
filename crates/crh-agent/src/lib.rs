//! One agent run: the loop as a value, its limits, the shared ledger, tool calls, the transcript.
//!
//! Does not know what a finding is: an answer is whatever type the caller submits.

mod drive;
mod extract;
mod ledger;
mod limits;
#[path = "call_history.rs"]
mod repeat;
mod run;
mod step;
mod tools;
mod transcript;
mod trim;
#[path = "protocol.rs"]
mod ways;
#[path = "model_texts.rs"]
mod words;

pub use drive::{Cancel, Driven, Means, Unanswered, Watch, drive, question};
pub use ledger::{Basis, Budget, Call, Cost, Ledger, Reservation, Settled, Totals};
pub use limits::{Limit, Limits, Purpose};
pub use run::Run;
pub use step::{Ask, Ended, Outcome, Step, Submit, Task, ToolOutcome};
pub use tools::{NoTools, Order, Patience, TOOL_TIME, Toolbox, on_thread};
pub use transcript::{Contents, Transcript};
