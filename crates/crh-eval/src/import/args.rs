//! `crh eval import`.

use std::path::PathBuf;

use clap::Args;

use crh_review::finding::{Category, Severity};

/// Arguments for sources other than a fix.
const OTHER_SOURCES: [&str; 4] = ["file", "range", "commit", "trees"];

#[derive(Debug, Args)]
#[expect(missing_docs, reason = "clap shows comments as help")]
pub struct ImportArgs {
    #[command(flatten)]
    pub source: ImportFromArgs,
    /// Folder of the suite; crh does not change existing cases
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Path of the repository (default: the current one). With FILE.jsonl, the path of one
    /// repository, or of a folder with clones `owner/name`
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// Also copy unchanged files that match this glob; crh always copies changed files
    #[arg(long, value_name = "GLOB")]
    pub with: Vec<String>,
    /// The change has no bugs. Without this flag, the case is a draft until you add the issues that
    /// a review should find
    #[arg(long, conflicts_with_all = ["file", "fix"])]
    pub clean: bool,
    /// Licence of the code, such as `MIT`
    #[arg(long, value_name = "LICENCE", conflicts_with = "file")]
    pub licence: Option<String>,
    #[command(flatten)]
    pub text: ImportTextArgs,
    #[command(flatten)]
    pub issue: ImportIssueArgs,
}

/// Source of a case.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct ImportFromArgs {
    /// JSON Lines file with one case per line
    #[arg(value_name = "FILE.jsonl")]
    pub file: Option<PathBuf>,
    /// The changes of a commit range
    #[arg(long, value_name = "A..B")]
    pub range: Option<String>,
    /// One commit
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,
    /// A commit that fixes a bug: crh reverses it, so that the case reintroduces the bug; a second
    /// case, `ID~twin`, is the fix itself
    #[arg(long, value_name = "SHA")]
    pub fix: Option<String>,
    /// Two folders, before and after the change
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    pub trees: Option<Vec<PathBuf>>,
}

/// Name and description of a case.
#[derive(Debug, Args)]
pub struct ImportTextArgs {
    /// Id of the case (default: language and title)
    #[arg(long, value_name = "ID", conflicts_with = "file")]
    pub id: Option<String>,
    /// Title of the change (default: the commit's subject)
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub title: Option<String>,
    /// Description of the change (default: the rest of the commit message)
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub body: Option<String>,
    /// Programming language (default: guessed from the changed files)
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub language: Option<String>,
}

/// The expected issue of a reversed bug fix.
#[derive(Debug, Args)]
pub struct ImportIssueArgs {
    /// Category of the bug
    #[arg(long, value_name = "WORD", conflicts_with_all = OTHER_SOURCES, value_parser = parse_json_word::<Category>)]
    pub category: Option<Category>,
    /// Severity of the bug, `P0` to `P3`
    #[arg(long, value_name = "WORD", conflicts_with_all = OTHER_SOURCES, value_parser = parse_json_word::<Severity>)]
    pub severity: Option<Severity>,
    /// What is wrong (default: a draft for you to edit)
    #[arg(long, value_name = "TEXT", conflicts_with_all = OTHER_SOURCES)]
    pub description: Option<String>,
}

/// Parses a word as JSON spells it. The error lists all valid words.
fn parse_json_word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_value(text.into())
}
