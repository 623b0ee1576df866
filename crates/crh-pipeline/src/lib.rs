//! One review from end to end: what the user typed becomes a pinned change, a scope, and a workspace that is
//! the same bytes every time; agents look at it through tools.

pub mod agent_files;
pub mod asked;
pub mod assemble;
mod carried;
pub mod checks;
mod code;
pub mod collect;
pub mod consolidate;
pub mod credentials;
pub mod dismissed;
pub mod dispatch;
pub mod events;
pub mod found_by_code;
pub mod journal;
pub mod judge;
pub mod office;
pub mod pack;
pub mod pipeline;
pub mod plan;
pub mod prepare;
pub mod prompts;
pub mod revisions;
pub mod run_folder;
pub mod runs;
pub mod scope;
pub mod since;
pub mod sinks;
pub mod strategies;
pub mod subject;
pub mod target;
pub mod terms;
mod text;
pub mod tools;
pub mod validate;
pub mod workspace;
