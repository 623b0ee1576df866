//! Git for a review: pinned commits, objects without a checkout, the base of a change, search.
//!
//! Invariants: the user's repository is never written, not even its index; what is printed does not depend on
//! the user's or the repository's configuration; nothing waits for a prompt.

mod address;
#[path = "amend.rs"]
mod amended;
mod attributes;
mod bare;
mod base;
mod bundle;
mod child;
mod database;
mod fast_import;
mod glob;
mod history;
mod identity;
#[path = "change_repository.rs"]
mod laid_out;
mod objects;
mod packs;
mod process;
mod publish;
mod remote;
mod repository;
mod search;
mod store;
#[path = "demo_repository.rs"]
mod throw_away;
#[path = "running_fetches.rs"]
mod under_way;
mod variables;
#[path = "temp_checkout.rs"]
mod work_tree;

pub use address::{Address, AddressError, Pin};
pub use amended::{AmendError, ChangedFile};
pub use attributes::{AttributeState, Attributes, attribute_files, attribute_objects, attributes};
pub use bare::{Bare, DIFF_OPTIONS, EMPTY_TREE};
pub use base::{Base, BaseError, Wanted, base, refreshed};
pub use bundle::{BundleError, bundle, unbundle};
pub use glob::{GlobError, Globs};
pub use history::{Blamed, Commit, HISTORY_BEFORE_BASE, History, LogError};
pub use identity::{Place, Pushed, identity, places, pushed};
pub use laid_out::{Contents, Designed, LaidOut, LayOutError, Layout};
pub use objects::{Entry, Kind, Objects, ReadError, check_path};
pub use process::{Git, GitError};
pub use publish::{RemoteBranch, Tip};
pub use remote::{MissingError, Network};
pub use repository::{OpenError, Remote, Repository};
pub use search::{Found, LINE_BYTES_MAX, Match, Pattern, Query, SearchError, search};
pub use store::{SNAPSHOT_SUBJECT, Snapshot, Store, StoreError};
pub use throw_away::{Written, throw_away};
pub use under_way::end_fetches;
pub use variables::Withheld;
pub use work_tree::{Difference, Differs, LeftOut, WorkTree, WorkTreeError};
