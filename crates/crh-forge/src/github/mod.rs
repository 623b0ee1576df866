//! GitHub, and GitHub Enterprise: pull requests.

mod standing;

pub use standing::Account;
pub use standing::Association;
pub use standing::FilePatch;
pub use standing::InlineComment;
pub use standing::InlineThread;
pub use standing::PullState;
pub use standing::Standing;
pub use standing::StandingReview;
pub use standing::TopComment;
