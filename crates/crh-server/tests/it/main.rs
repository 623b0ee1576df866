//! Tests of the server's store and workers.
//!
//! They run on SQLite. If `CRH_TEST_POSTGRES` has the address of a PostgreSQL server, the tests of the store run there too.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod leases;
mod queue;
mod real_crh;
mod spending;
mod support;
mod upkeep;
mod worker;
