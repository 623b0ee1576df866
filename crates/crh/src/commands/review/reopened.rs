//! Opens a finished review again, to act on its findings.

use super::super::forge::PullRequestLookup;
use super::super::github::{Audience, SkipRules};
use super::begin::{Beginning, Begun, GoesOn, Kept, Posts, StaleApprovals};
use super::recovery::Tree;
use super::since::Wish;
use crate::cli::{PanelArgs, PromptArgs, SarifFlags, TrustArgs, WorkspaceArgs};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::Failure;
use crh_pipeline::resolve::UntrackedPolicy;
use crh_pipeline::run_folder::RunFolder;
use crh_pipeline::target_args;
use crh_pipeline::target_args::Target;
use crh_review::report::ReviewMode;
use crh_review::verdict::CommandKind;

/// The run to open, with flags.
pub(in crate::commands) struct Reopening<'r> {
    pub(in crate::commands) run: &'r RunFolder,
    pub(in crate::commands) trust: TrustArgs,
    pub(in crate::commands) flags: RawSettings,
}

/// Opens the run and locks it.
pub(in crate::commands) fn reopened(
    reopening: Reopening<'_>,
    environment: &Environment,
) -> Result<Begun, Failure> {
    let Reopening { run, trust, flags } = reopening;
    let resume = Some(run.path().display().to_string());
    let beginning = Beginning {
        asked: CommandKind::Review,
        typed: target_args::ParsedTarget { target: Target::CurrentBranch, mode: None, plan: None },
        description: None,
        looked_for: PullRequestLookup::from_no_pr_flag(true),
        posts: Posts::Nothing,
        stale_approvals: StaleApprovals::Kept,
        rules: SkipRules::from_no_skip_flag(true, Audience::OnePerson),
        wish: Wish::Everything,
        head: None,
        untracked: UntrackedPolicy::Listed,
        // Replaced by the stored mode of the run.
        mode: ReviewMode::Interactive,
        prepared: WorkspaceArgs { resume, ..WorkspaceArgs::default() },
        panel: PanelArgs::default(),
        prompts: PromptArgs::default(),
        trust,
        sarif: SarifFlags::default(),
        flags,
        kept: Kept::Run,
        goes_on: GoesOn::Fixing,
        // The caller has rolled back already.
        tree: Tree::Stays,
        run_dir: None,
    };
    beginning.begin(environment)
}
