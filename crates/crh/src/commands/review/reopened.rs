//! A review that has ended, opened once more: for whoever does something about what it has found.

use super::super::forge::LookedFor;
use super::super::github::{Audience, Rules};
use super::begin::{Beginning, Begun, GoesOn, Kept, Posts};
use super::recovery::Tree;
use super::since::Wish;
use crate::cli::{PanelArgs, PreparedArgs, PromptArgs, SarifFlags, TrustArgs};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::Failure;
use crh_pipeline::asked;
use crh_pipeline::asked::Target;
use crh_pipeline::run_folder::RunFolder;
use crh_pipeline::target::Untracked;
use crh_review::report::Mode;
use crh_review::verdict::Asked;

/// Which review is opened, and what the user says about it.
pub(in crate::commands) struct Reopening<'r> {
    pub(in crate::commands) run: &'r RunFolder,
    pub(in crate::commands) trust: TrustArgs,
    pub(in crate::commands) flags: RawSettings,
}

/// Everything that was known when the review began. Nobody else can go on with it meanwhile.
pub(in crate::commands) fn reopened(
    reopening: Reopening<'_>,
    environment: &Environment,
) -> Result<Begun, Failure> {
    let Reopening { run, trust, flags } = reopening;
    let resume = Some(run.path().display().to_string());
    let beginning = Beginning {
        asked: Asked::Review,
        typed: asked::Asked { target: Target::CurrentBranch, mode: None, plan: None },
        looked_for: LookedFor::unless(true),
        posts: Posts::Nothing,
        rules: Rules::unless(true, Audience::OnePerson),
        wish: Wish::Everything,
        head: None,
        untracked: Untracked::Named,
        // The run knows its own.
        mode: Mode::Interactive,
        prepared: PreparedArgs { resume, ..PreparedArgs::default() },
        panel: PanelArgs::default(),
        prompts: PromptArgs::default(),
        trust,
        sarif: SarifFlags::default(),
        flags,
        kept: Kept::Run,
        goes_on: GoesOn::Fixing,
        // Whoever fixes has rolled back before what had to be.
        tree: Tree::Stays,
        run_dir: None,
    };
    beginning.begin(environment)
}
