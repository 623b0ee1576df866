//! Git access for reviews: exact commits, objects without a checkout, the base of a change, and
//! search.
//!
//! Invariants: the user's repository and its index are never written, except by `publish.rs`.
//! Output does not depend on the user's or the repository's configuration. Git never prompts.

mod address;
mod amend;
mod attributes;
mod bare;
mod base;
mod bundle;
mod change_repository;
mod checkout_state;
mod child;
mod database;
mod definition_words;
mod definitions;
mod demo_repository;
mod fast_import;
mod glob;
mod history;
mod identity;
mod objects;
mod packs;
mod patch;
mod pinned_commit;
mod process;
mod publish;
mod read_error;
mod recent;
mod remote;
mod repository;
mod required_parts;
mod running_fetches;
mod search;
mod store;
mod store_files;
mod temp_checkout;
mod variables;
mod word_index;

pub use address::{AddressError, FetchAddress};
pub use amend::{AmendError, AmendedFile};
pub use attributes::{
    AttributeState, Attributes, attribute_files, attribute_objects, read_attributes,
};
pub use bare::{BareRepository, DIFF_BYTES_MAX, DIFF_OPTIONS};
pub use base::{Base, BaseError, BaseRequest, find_base, refresh_branch};
pub use bundle::{BundleError, create_bundle, unbundle};
pub use change_repository::{
    ChangeRepository, ChangeRepositoryError, ChangeSpec, CommitContents, CommittedChange,
};
pub use checkout_state::CheckoutState;
pub use definition_words::LINE_BYTES_MAX;
pub use definitions::{DefinitionLine, find_definitions};
pub use demo_repository::{DemoCommit, create_demo_repository};
pub use glob::{GlobError, PathGlobs};
pub use history::{BlameLine, ChangeHistory, CommitDetails, HISTORY_BEFORE_BASE, LogError};
pub use identity::{
    HostedRepository, PushTarget, hosted_paths, hosted_repositories, push_target,
    repository_identity,
};
pub use objects::{EMPTY_TREE, Objects, PathEntry, PathEntryKind, check_path};
pub use patch::{Patch, PatchDirection};
pub use pinned_commit::PinnedCommit;
pub use process::{Git, GitError, TimeLimit};
pub use publish::{BranchTip, RemoteBranch};
pub use read_error::ReadError;
pub use recent::RecentCommit;
pub use remote::{MissingError, NetworkMode};
pub use repository::{OpenError, Remote, Repository};
pub use running_fetches::stop_fetches;
pub use search::{
    LineMatch, SearchError, SearchPattern, SearchQuery, SearchResult, files_with_words, search,
};
pub use store::{SNAPSHOT_SUBJECT, SnapshotScope, Store, StoreError};
pub use temp_checkout::{
    CheckoutDifference, DifferenceKind, SkippedEntry, TempCheckout, TempCheckoutError,
};
pub use variables::{HiddenVariables, trusted_path};
