//! One review from end to end: what the user typed becomes a pinned change, a scope, and a workspace that is
//! the same bytes every time; agents look at it through tools.

pub mod agent_files;
#[path = "target_args.rs"]
pub mod asked;
pub mod assemble;
#[path = "carry_over.rs"]
mod carried;
pub mod checks;
#[path = "code_reader.rs"]
mod code;
pub mod collect;
pub mod consolidate;
pub mod context;
#[path = "change_secrets.rs"]
pub mod credentials;
#[path = "dismissals.rs"]
pub mod dismissed;
pub mod dispatch;
pub mod events;
pub mod facts;
pub mod fixer;
#[path = "static_findings.rs"]
pub mod found_by_code;
pub mod journal;
pub mod judge;
#[path = "review_context.rs"]
pub mod office;
#[path = "repo_config.rs"]
mod own_files;
pub mod pack;
pub mod pipeline;
pub mod plan;
pub mod prepare;
pub mod prompts;
#[path = "model_question.rs"]
mod question;
pub mod requirements;
pub mod reviewers;
pub mod revisions;
pub mod run_folder;
pub mod runs;
pub mod scope;
#[path = "incremental.rs"]
pub mod since;
pub mod sinks;
pub mod strategies;
#[path = "change_under_review.rs"]
pub mod subject;
#[path = "resolve.rs"]
pub mod target;
pub mod team;
#[path = "review_options.rs"]
pub mod terms;
mod text;
pub mod tools;
pub mod validate;
pub mod workspace;
