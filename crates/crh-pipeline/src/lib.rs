//! One review from end to end: what the user typed becomes a pinned change, a scope, and a workspace that is
//! the same bytes every time; agents look at it through tools.

pub mod agent_files;
pub mod asked;
pub mod pack;
pub mod prepare;
pub mod revisions;
pub mod scope;
pub mod target;
pub mod tools;
pub mod workspace;
