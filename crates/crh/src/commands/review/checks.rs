//! What static reviewers work with besides the change: from the settings, the repository and the command line.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cli::SarifFlags;
use crate::config::checks::RulePaths;
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crate::input;
use crh_git::{Bare, ReadError};
use crh_lint::sarif::Sarif;
use crh_pipeline::checks::{BASELINE, Baseline, CheckTerms, IgnoredPaths, Since, Work};

/// A baseline of a large old repository has a few thousand rows of a hundred bytes.
const BASELINE_MAX: u64 = 64 << 20;

/// Where the baseline of a change is looked for.
pub(in crate::commands) enum BaselineAt<'a> {
    /// In the checkout, as the settings are.
    Checkout(&'a Path),
    /// In a commit.
    Commit(&'a Bare, &'a str),
    /// It is this, or there is none.
    Given(Option<&'a [u8]>),
    /// Nowhere: only a diff is known.
    Nowhere,
}

/// What silences findings about a change, comments in it aside. A run keeps it, since it has to come to the same when it goes on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in crate::commands) struct Silencing {
    ignore: Vec<Ignored>,
    /// The text of the baseline.
    baseline: Option<String>,
}

/// A row of `checks.ignore`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ignored {
    rules: String,
    globs: Vec<String>,
    is_brought_along: bool,
}

impl Silencing {
    /// By the settings and the baseline. What stands in the settings and not in those `before` the change comes with it.
    pub(in crate::commands) fn of(
        ignore: &RulePaths,
        before: &RulePaths,
        baseline: &BaselineAt<'_>,
    ) -> Result<Self, Failure> {
        let ignore = ignore.0.iter().map(|(rules, globs)| Ignored {
            rules: rules.clone(),
            globs: globs.0.iter().map(|glob| glob.as_str().to_owned()).collect(),
            is_brought_along: before.0.get(rules) != Some(globs),
        });
        let baseline = baseline.bytes()?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Self { ignore: ignore.collect(), baseline })
    }
}

/// All of it.
pub(in crate::commands) fn terms(
    silencing: &Silencing,
    sarif: &SarifFlags,
    environment: &Environment,
) -> Result<CheckTerms, Failure> {
    let ignore = silencing.ignore.iter().map(|row| {
        let paths = crh_git::Globs::new(row.globs.iter().map(String::as_str));
        let since = if row.is_brought_along { Since::ThisChange } else { Since::Before };
        Ok(IgnoredPaths { rules: row.rules.clone(), paths: paths.or_fail(Kind::Usage)?, since })
    });
    let baseline = silencing.baseline.as_ref().map(|text| Baseline::read(text.as_bytes()));
    let baseline = baseline.transpose().map_err(|why| {
        Failure::usage(format!("`{BASELINE}` cannot be used: {why}"))
            .hint("`crh baseline` writes it anew; without the file nothing is left out")
    })?;
    let read = |files: &[std::path::PathBuf]| {
        files.iter().map(|file| sarif_file(file, environment)).collect::<Result<Vec<_>, _>>()
    };
    Ok(CheckTerms {
        work: Work::default(),
        analysers: None,
        ignore: ignore.collect::<Result<_, Failure>>()?,
        baseline,
        sarif: read(&sarif.sarif)?,
        sarif_base: read(&sarif.sarif_base)?,
    })
}

fn sarif_file(file: &Path, environment: &Environment) -> Result<Sarif, Failure> {
    let path = if file == Path::new("-") { file.to_owned() } else { environment.folder.join(file) };
    let bytes = input::bytes(&path)?;
    Sarif::read(&bytes).map_err(|why| {
        Failure::usage(format!("{} cannot be used: {why}", input::name(file)))
            .hint("give a SARIF 2.1.0 log, as CodeQL, semgrep, eslint and clippy-sarif write it")
    })
}

impl BaselineAt<'_> {
    pub(in crate::commands) fn bytes(&self) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Checkout(root) => in_checkout(&root.join(BASELINE)),
            Self::Commit(bare, commit) => in_commit(bare, commit),
            Self::Given(bytes) => Ok(bytes.map(<[u8]>::to_vec)),
            Self::Nowhere => Ok(None),
        }
    }
}

fn in_checkout(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let facts = match fs::symlink_metadata(path) {
        Ok(facts) => facts,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(Failure::new(Kind::Outside, error)),
    };
    // A link could lead anywhere, and a fifo would never end.
    if !facts.is_file() || facts.len() > BASELINE_MAX {
        return Err(Failure::usage(format!("`{BASELINE}` is no file of at most 64 MiB"))
            .hint("`crh baseline` writes it anew"));
    }
    input::bytes(path).map(Some)
}

fn in_commit(bare: &Bare, commit: &str) -> Result<Option<Vec<u8>>, Failure> {
    let objects = bare.objects().or_fail(Kind::Outside)?;
    match objects.stat(commit, BASELINE) {
        Ok((entry, _)) if entry.kind.is_file() => {
            objects.file(commit, BASELINE).map(Some).or_fail(Kind::Outside)
        }
        Ok(_) | Err(ReadError::NoEntry(_) | ReadError::OtherKind { .. }) => Ok(None),
        Err(error) => Err(Failure::new(Kind::Outside, error)),
    }
}
