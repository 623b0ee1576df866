//! Inputs of static checks besides the change: settings, repository, command line.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cli::SarifFlags;
use crate::config::checks::RulePaths;
use crate::config::environment::Environment;
use crate::config::value::quoted;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_git::{BareRepository, ReadError};
use crh_lint::sarif::SarifFile;
use crh_memory::lesson::{LESSONS_FILE, LESSONS_MAX_BYTES};
use crh_pipeline::checks::{
    BASELINE, Baseline, ChangeAuthor, ChangeOrigin, CheckOptions, IgnoredPaths, SuppressionOrigin,
};

/// Maximum size of a baseline in the checkout, in bytes. A large repository has a few thousand rows
/// of a hundred bytes.
const BASELINE_MAX: u64 = 64 << 20;

/// crh suggests a name that is more similar than this to an unknown one.
const SIMILAR: f64 = 0.8;

/// Where the baseline is read from.
pub(in crate::commands) enum BaselineAt<'a> {
    /// The file in the checkout.
    Checkout(&'a Path),
    Commit(&'a BareRepository, &'a str),
    /// These bytes, if any.
    Given(Option<&'a [u8]>),
    /// There is no baseline: only a diff is known, or crh writes a new baseline.
    Nowhere,
}

/// Suppressions outside the code. A run stores them, so that a resumed run gives the same result.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in crate::commands) struct SuppressionSettings {
    ignore: Vec<Ignored>,
    baseline: Option<String>,
    /// Text of the lessons at the base of the change. Never from the change itself or the checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lessons: Option<String>,
}

/// A row of `checks.ignore`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ignored {
    rules: String,
    globs: Vec<String>,
    /// Whether the change itself adds or edits this row.
    is_brought_along: bool,
}

impl SuppressionSettings {
    /// Suppressions from the settings and the baseline. A row that is missing or different in the
    /// settings `before` the change belongs to the change.
    pub(in crate::commands) fn new(
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
        Ok(Self { ignore: ignore.collect(), baseline, lessons: None })
    }

    /// Adds the lessons of a commit, which must not be part of the change.
    pub(in crate::commands) fn with_lessons(
        self,
        base: Option<(&BareRepository, &str)>,
    ) -> Result<Self, Failure> {
        let lessons = base.map(|(bare, commit)| lessons_at(bare, commit)).transpose()?.flatten();
        Ok(Self { lessons, ..self })
    }

    /// Adds the lessons of a packed change.
    pub(in crate::commands) fn with_packed_lessons(self, lessons: Option<&[u8]>) -> Self {
        let lessons = lessons.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Self { lessons, ..self }
    }

    /// Text of the lessons at the base of the change.
    pub(in crate::commands) fn lessons(&self) -> Option<&str> {
        self.lessons.as_deref()
    }
}

pub(in crate::commands) fn terms(
    suppressions: &SuppressionSettings,
    sarif: &SarifFlags,
    environment: &Environment,
) -> Result<CheckOptions, Failure> {
    let ignore = suppressions.ignore.iter().map(|row| {
        let paths = crh_git::PathGlobs::new(row.globs.iter().map(String::as_str));
        let origin = if row.is_brought_along {
            SuppressionOrigin::ThisChange
        } else {
            SuppressionOrigin::Before
        };
        Ok(IgnoredPaths {
            rules: row.rules.clone(),
            paths: paths.or_fail(FailureKind::Usage)?,
            origin,
        })
    });
    let tools = if sarif.sarif.is_empty() { OtherTools::None } else { OtherTools::Sarif };
    for row in &suppressions.ignore {
        unknown_rule_note(&row.rules, tools).iter().for_each(|note| ui::warn(note));
    }
    let baseline = suppressions.baseline.as_ref().map(|text| Baseline::parse(text.as_bytes()));
    let baseline = baseline.transpose().map_err(|why| {
        Failure::usage(format!("`{BASELINE}` at the base of the change cannot be used: {why}"))
            .hint("correct or delete the file there; `crh baseline` writes a new one to merge")
    })?;
    let read = |files: &[std::path::PathBuf]| {
        files.iter().map(|file| sarif_file(file, environment)).collect::<Result<Vec<_>, _>>()
    };
    Ok(CheckOptions {
        change_origin: ChangeOrigin::default(),
        author: ChangeAuthor::default(),
        analysers: None,
        ignore: ignore.collect::<Result<_, Failure>>()?,
        baseline,
        sarif: read(&sarif.sarif)?,
        sarif_base: read(&sarif.sarif_base)?,
    })
}

/// Whether tools report findings whose rules crh does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherTools {
    None,
    /// The tools of imported SARIF files.
    Sarif,
}

/// A note if a row of `checks.ignore` matches no rule. crh knows the rules of its own checks,
/// except the repository's own patterns, and the names of the linters. A name without a slash may
/// be a rule of any linter. `REVIEWER/*` names all rules of a check or linter.
fn unknown_rule_note(name: &str, tools: OtherTools) -> Option<String> {
    let reviewer = name.split('/').next().unwrap_or(name);
    let is_own = crh_lint::REVIEWERS.contains(&reviewer);
    let is_known = !name.contains('/')
        || crh_lint::rules().any(|rule| crh_lint::name_matches_rule(name, rule.id))
        || is_own && (name.ends_with("/*") || reviewer == "patterns")
        || crh_lint::analysers::is_analyser(reviewer)
        || tools == OtherTools::Sarif && !is_own;
    if is_known {
        return None;
    }
    let similar = |known: &str| strsim::jaro_winkler(known, name.trim_end_matches("/*"));
    let is_similar = |known: &&str| similar(known) > SIMILAR;
    let nearest = |known: &mut dyn Iterator<Item = &'static str>| {
        known.max_by(|a, b| similar(a).total_cmp(&similar(b))).filter(is_similar)
    };
    let advice = if name.ends_with("/*") {
        match nearest(&mut crh_lint::REVIEWERS.into_iter()) {
            Some(reviewer) => format!("did you mean `{reviewer}/*`?"),
            None => format!("crh has no check or linter `{reviewer}`"),
        }
    } else {
        match nearest(&mut crh_lint::rules().map(|rule| rule.id)) {
            Some(rule) => format!("did you mean `{rule}`?"),
            None => "put the name of the linter before its rule, such as `ruff/E501`".to_owned(),
        }
    };
    Some(format!("`checks.ignore` names {}: there is no such rule; {advice}", quoted(name)))
}

fn sarif_file(file: &Path, environment: &Environment) -> Result<SarifFile, Failure> {
    let path = if file == Path::new("-") { file.to_owned() } else { environment.folder.join(file) };
    let bytes = input::bytes(&path)?;
    SarifFile::read(&bytes).map_err(|why| {
        Failure::usage(format!("{} cannot be used: {why}", input::display_name(file)))
            .hint("give a SARIF 2.1.0 log, as CodeQL, semgrep, eslint and clippy-sarif write it")
    })
}

impl BaselineAt<'_> {
    pub(in crate::commands) fn bytes(&self) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Checkout(root) => read_from_checkout(&root.join(BASELINE)),
            Self::Commit(bare, commit) => read_from_commit(bare, commit),
            Self::Given(bytes) => Ok(bytes.map(<[u8]>::to_vec)),
            Self::Nowhere => Ok(None),
        }
    }
}

fn read_from_checkout(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let facts = match fs::symlink_metadata(path) {
        Ok(facts) => facts,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(Failure::new(FailureKind::External, error)),
    };
    // Do not follow a symlink or block on a FIFO.
    if !facts.is_file() || facts.len() > BASELINE_MAX {
        return Err(Failure::usage(format!(
            "`{BASELINE}` is not a regular file of at most 64 MiB"
        ))
        .hint("run `crh baseline` to write a new one"));
    }
    input::bytes(path).map(Some)
}

fn read_from_commit(bare: &BareRepository, commit: &str) -> Result<Option<Vec<u8>>, Failure> {
    match file_at(bare, commit, BASELINE, BASELINE_MAX)? {
        CommitFile::Missing => Ok(None),
        CommitFile::Content(bytes) => Ok(Some(bytes)),
        CommitFile::TooLarge => {
            Err(Failure::usage(format!("`{BASELINE}` of the base has more than 64 MiB"))
                .hint("run `crh baseline` on the base branch to write a new one"))
        }
    }
}

/// The lessons of a commit. In place of a file that is too large, the result is blank and too
/// large, so that its parser refuses it.
pub(in crate::commands) fn lessons_at(
    bare: &BareRepository,
    commit: &str,
) -> Result<Option<String>, Failure> {
    Ok(match file_at(bare, commit, LESSONS_FILE, LESSONS_MAX_BYTES)? {
        CommitFile::Missing => None,
        CommitFile::Content(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        CommitFile::TooLarge => {
            Some(" ".repeat(usize::try_from(LESSONS_MAX_BYTES).unwrap_or(0).saturating_add(1)))
        }
    })
}

/// A file of a commit.
enum CommitFile {
    Missing,
    /// It has more bytes than allowed, and crh did not read it.
    TooLarge,
    Content(Vec<u8>),
}

fn file_at(
    bare: &BareRepository,
    commit: &str,
    path: &str,
    max: u64,
) -> Result<CommitFile, Failure> {
    let objects = bare.objects().or_fail(FailureKind::External)?;
    match objects.stat(commit, path) {
        Ok((entry, size)) if entry.kind.is_file() && size > max => Ok(CommitFile::TooLarge),
        Ok((entry, _)) if entry.kind.is_file() => {
            objects.file(commit, path).map(CommitFile::Content).or_fail(FailureKind::External)
        }
        Ok(_) | Err(ReadError::NoEntry(_) | ReadError::OtherKind { .. }) => Ok(CommitFile::Missing),
        Err(error) => Err(Failure::new(FailureKind::External, error)),
    }
}

#[cfg(test)]
mod tests {
    use crh_testkit::Repo;

    use super::*;

    #[test]
    fn large_file_of_a_commit_is_not_read() {
        let repo = Repo::new();
        repo.write("a.toml", "12345");
        let commit = repo.commit("a");
        let bare = BareRepository::new(&repo.path().join(".git"));
        let found = |path, max| match file_at(&bare, &commit, path, max).unwrap() {
            CommitFile::Missing => "missing".to_owned(),
            CommitFile::TooLarge => "too large".to_owned(),
            CommitFile::Content(bytes) => String::from_utf8(bytes).unwrap(),
        };
        let expected = ["12345", "too large", "missing"];
        assert_eq!([found("a.toml", 5), found("a.toml", 4), found("b.toml", 5)], expected);
    }

    #[test]
    fn ignored_rules_must_exist() {
        let unknown = |name: &str| unknown_rule_note(name, OtherTools::None).is_some();
        for name in ["*", "secrets", "secrets/*", "syntax/invalid-json", "ruff/E501", "ruff"] {
            assert!(!unknown(name), "{name}");
        }
        assert!(!unknown("patterns/our-own-rule") && !unknown("T100"));
        assert!(unknown("nope/rule") && unknown("codeql/sql-injection"));
        assert_eq!(unknown_rule_note("codeql/sql-injection", OtherTools::Sarif), None);
        let note = |name: &str| unknown_rule_note(name, OtherTools::None).unwrap();
        assert!(note("secret/*").ends_with("did you mean `secrets/*`?"), "{}", note("secret/*"));
        assert!(note("nosuch/*").ends_with("crh has no check or linter `nosuch`"));
        assert_eq!(
            unknown_rule_note("syntax/invalid-jso", OtherTools::Sarif).as_deref(),
            Some(
                "`checks.ignore` names `syntax/invalid-jso`: there is no such rule; did you mean `syntax/invalid-json`?"
            )
        );
    }
}
