//! What static reviewers work with besides the change: from the settings, the repository and the command line.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crh_git::Bare;
use crh_git::ReadError;
use crh_lint::sarif::Sarif;
use crh_pipeline::checks::BASELINE;
use crh_pipeline::checks::Baseline;
use crh_pipeline::checks::CheckTerms;
use crh_pipeline::checks::IgnoredPaths;
use crh_pipeline::checks::Work;

use crate::cli::SarifFlags;
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::config::value::Glob;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::input;

/// A baseline of a large old repository has a few thousand rows of a hundred bytes.
const BASELINE_MAX: u64 = 64 << 20;

/// Where the baseline of a change is looked for.
pub(in crate::commands) enum BaselineAt<'a> {
    /// In the checkout, as the settings are.
    Checkout(&'a Path),
    /// In a commit.
    Commit(&'a Bare, &'a str),
    /// Nowhere: only a diff is known.
    Nowhere,
}

/// All of it.
pub(in crate::commands) fn terms(
    settings: &Settings,
    sarif: &SarifFlags,
    baseline: &BaselineAt<'_>,
    environment: &Environment,
) -> Result<CheckTerms, Failure> {
    let ignore = settings.checks_ignore.value.0.iter().map(|(rules, globs)| {
        let paths = crh_git::Globs::new(globs.0.iter().map(Glob::as_str)).or_fail(Kind::Usage)?;
        Ok(IgnoredPaths { rules: rules.clone(), paths })
    });
    let read = |files: &[std::path::PathBuf]| {
        files.iter().map(|file| sarif_file(file, environment)).collect::<Result<Vec<_>, _>>()
    };
    Ok(CheckTerms {
        work: Work::default(),
        analysers: None,
        ignore: ignore.collect::<Result<_, Failure>>()?,
        baseline: baseline.read()?,
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
    fn read(&self) -> Result<Option<Baseline>, Failure> {
        let bytes = match self {
            Self::Checkout(root) => in_checkout(&root.join(BASELINE))?,
            Self::Commit(bare, commit) => in_commit(bare, commit)?,
            Self::Nowhere => None,
        };
        let read = bytes.map(|bytes| Baseline::read(&bytes)).transpose();
        read.map_err(|why| {
            Failure::usage(format!("`{BASELINE}` cannot be used: {why}"))
                .hint("`crh baseline` writes it anew; without the file nothing is left out")
        })
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
