//! Git for a review: pinned commits, objects without a checkout, the base of a change, search.
//!
//! Invariants: the user's repository is never written, not even its index; what is printed does not depend on
//! the user's or the repository's configuration; nothing waits for a prompt.

mod attributes;
mod bare;
mod base;
mod bundle;
mod database;
mod glob;
mod history;
mod identity;
mod objects;
mod packs;
mod process;
mod remote;
mod repository;
mod search;
mod store;
mod throw_away;

pub use attributes::AttributeState;
pub use attributes::Attributes;
pub use attributes::attributes;
pub use bare::Bare;
pub use bare::DIFF_OPTIONS;
pub use bare::EMPTY_TREE;
pub use base::Base;
pub use base::BaseError;
pub use base::Wanted;
pub use base::base;
pub use base::refreshed;
pub use bundle::BundleError;
pub use bundle::bundle;
pub use bundle::unbundle;
pub use glob::GlobError;
pub use glob::Globs;
pub use history::Blamed;
pub use history::Commit;
pub use history::HISTORY_BEFORE_BASE;
pub use history::History;
pub use history::LogError;
pub use identity::identity;
pub use objects::Entry;
pub use objects::Kind;
pub use objects::Objects;
pub use objects::ReadError;
pub use objects::check_path;
pub use process::Git;
pub use process::GitError;
pub use remote::MissingError;
pub use remote::Network;
pub use repository::OpenError;
pub use repository::Remote;
pub use repository::Repository;
pub use search::Found;
pub use search::LINE_BYTES_MAX;
pub use search::Match;
pub use search::Pattern;
pub use search::Query;
pub use search::SearchError;
pub use search::search;
pub use store::SNAPSHOT_SUBJECT;
pub use store::Snapshot;
pub use store::Store;
pub use store::StoreError;
pub use throw_away::Written;
pub use throw_away::throw_away;
