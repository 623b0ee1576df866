//! Measures how good reviews are: reads a suite of cases with known bugs, imports cases, reviews
//! them and stores the scores. `crh_review::eval` computes the scores.
//!
//! The program implements [`EvalHost`]: this crate knows neither settings nor the terminal.

mod case;
mod case_error;
mod checked;
mod eval_budget;
mod evaluated_reviewers;
mod evaluation_files;
mod external;
mod gate;
mod host;
pub mod import;
mod judge;
mod noise;
mod parallel;
mod quiet_reviewer;
mod ready_case;
mod review_cache;
mod reviews;
mod ruff;
mod suite;
mod suite_reviews;
mod tree;

pub use eval_budget::EvalBudget;
pub use evaluated_reviewers::EvaluatedReviewers;
pub use evaluation_files::{
    create_folder, endings, is_missing, load_evaluation, rule, score_with_baselines, write_files,
};
pub use external::{Twins, fill};
pub use gate::{GateResult, write_baseline};
pub use host::{AlreadyDone, EvalHost, TaskDisplay};
pub use judge::JudgeModel;
pub use noise::{CommitReviews, last_commits, review_commits};
pub use quiet_reviewer::QuietReviewer;
pub use review_cache::{CachePolicy, ReviewCache};
pub use reviews::{EvalArm, EvalEnding, ReviewBatch, ReviewTask};
pub use suite_reviews::{OpenedSuite, SuiteChoice};

/// Maximum number of repeats per case. More do not make the numbers more precise.
pub const REPEATS_MAX: u32 = 100;
