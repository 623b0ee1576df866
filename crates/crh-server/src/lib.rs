//! The team server of crh: durable jobs in a database, and workers that run `crh` as child
//! processes.
//!
//! [`store::Store`] holds everything that must survive a crash, in SQLite or PostgreSQL.
//! [`worker::Worker`] takes jobs and runs them. [`queue`] has the rules of the queue as pure
//! functions. [`webhook`] decides what webhook deliveries mean. [`http`] receives them and serves
//! the page. The crates that this one uses know neither the database nor the HTTP server.

mod agent_token;
pub mod clock;
pub mod comment_commands;
mod comment_fix;
pub mod comment_jobs;
mod comment_reply;
pub mod demo;
pub mod forge_access;
pub mod forge_time;
pub mod forges;
pub mod github_app;
pub mod github_code;
pub mod http;
pub mod job;
pub mod logs;
pub mod page;
pub mod queue;
pub mod run_store;
pub mod session;
pub mod store;
pub mod tasks;
#[cfg(feature = "otel")]
mod traces;
pub mod webhook;
pub mod worker;
