//! `crh eval import`.

use std::path::PathBuf;

use clap::Args;

use crh_review::finding::{Category, Severity};

/// What says where a case comes from, but for a fix.
const NOT_A_FIX: [&str; 4] = ["file", "range", "commit", "trees"];

#[derive(Debug, Args)]
pub(crate) struct EvalImportArgs {
    #[command(flatten)]
    pub(crate) from: ImportFromArgs,
    /// The folder of the suite; a case that is there already is not touched
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// The repository, instead of the one you are in; for a `.jsonl` file also a folder of clones by their `owner/name`
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Take these files of the base as well, for reviewers to look at; the changed ones are always taken
    #[arg(long, value_name = "GLOB")]
    pub(crate) with: Vec<String>,
    /// Nothing is wrong with the change: without this it is a draft until somebody says what is
    #[arg(long, conflicts_with_all = ["file", "fix"])]
    pub(crate) clean: bool,
    /// The licence of the code, such as `MIT`
    #[arg(long, value_name = "LICENCE", conflicts_with = "file")]
    pub(crate) licence: Option<String>,
    #[command(flatten)]
    pub(crate) words: ImportWordArgs,
    #[command(flatten)]
    pub(crate) issue: ImportIssueArgs,
}

/// What a case is made of.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ImportFromArgs {
    /// A file of JSON lines, one case on each
    #[arg(value_name = "FILE.jsonl")]
    pub(crate) file: Option<PathBuf>,
    /// The change from one commit to another
    #[arg(long, value_name = "A..B")]
    pub(crate) range: Option<String>,
    /// One commit
    #[arg(long, value_name = "SHA")]
    pub(crate) commit: Option<String>,
    /// A commit that fixes a bug, reversed: the change puts the bug back, and its twin is the fix
    #[arg(long, value_name = "SHA")]
    pub(crate) fix: Option<String>,
    /// Two folders, before and after
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    pub(crate) trees: Option<Vec<PathBuf>>,
}

/// What a case is called and says about itself.
#[derive(Debug, Args)]
pub(crate) struct ImportWordArgs {
    /// The id of the case; made of its language and title if left out
    #[arg(long, value_name = "ID", conflicts_with = "file")]
    pub(crate) id: Option<String>,
    /// What the author of the change would call it; the commit's subject if left out
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub(crate) title: Option<String>,
    /// What the author would say about it; the rest of the commit's message if left out
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub(crate) body: Option<String>,
    /// The language; guessed from the changed files if left out
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub(crate) language: Option<String>,
}

/// What is wrong with a fix that was reversed.
#[derive(Debug, Args)]
pub(crate) struct ImportIssueArgs {
    /// What kind of trouble the bug is
    #[arg(long, value_name = "WORD", conflicts_with_all = NOT_A_FIX, value_parser = word::<Category>)]
    pub(crate) category: Option<Category>,
    /// How bad the bug is, `P0` to `P3`
    #[arg(long, value_name = "WORD", conflicts_with_all = NOT_A_FIX, value_parser = word::<Severity>)]
    pub(crate) severity: Option<Severity>,
    /// What is wrong, in words; a draft to be edited if left out
    #[arg(long, value_name = "TEXT", conflicts_with_all = NOT_A_FIX)]
    pub(crate) description: Option<String>,
}

/// A word as JSON spells it; the error lists all of them.
fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_value(text.into())
}
