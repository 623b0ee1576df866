//! One agent run: the loop as a value, its limits, the shared ledger, tool calls, the transcript.
//!
//! Does not know what a finding is: an answer is whatever type the caller submits.

mod drive;
mod extract;
mod ledger;
mod limits;
mod repeat;
mod run;
mod step;
mod tools;
mod transcript;
mod trim;
mod ways;
mod words;

pub use drive::Cancel;
pub use drive::Driven;
pub use drive::Means;
pub use drive::Unanswered;
pub use drive::Watch;
pub use drive::drive;
pub use drive::question;
pub use ledger::Basis;
pub use ledger::Budget;
pub use ledger::Call;
pub use ledger::Cost;
pub use ledger::Ledger;
pub use ledger::Reservation;
pub use ledger::Settled;
pub use ledger::Totals;
pub use limits::Limit;
pub use limits::Limits;
pub use limits::Purpose;
pub use run::Run;
pub use step::Ask;
pub use step::Ended;
pub use step::Outcome;
pub use step::Step;
pub use step::Submit;
pub use step::Task;
pub use step::ToolOutcome;
pub use tools::NoTools;
pub use tools::Order;
pub use tools::Patience;
pub use tools::TOOL_TIME;
pub use tools::Toolbox;
pub use tools::on_thread;
pub use transcript::Contents;
pub use transcript::Transcript;
