//! Facts about a change that crh derives without a model, each with its evidence (`witness`).

mod inputs;
mod lines;
mod paths;
mod rules;
mod word_index;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use self::inputs::{FactInputs, InputFile};
use self::word_index::WordIndex;
use crate::change_under_review::ChangeUnderReview;

/// A fact about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeFact {
    /// An executable line changed.
    Code,
    /// Executable lines changed in a repository with tests, but no test did.
    CodeWithoutTests,
    /// A test changed.
    Tests,
    /// The change contains a data migration.
    Migrations,
    /// A database schema changed.
    Schema,
    /// A public interface changed: a signature, a route, a serializer, a message.
    PublicApi,
    /// A guard changed: CI, test setup, lint configuration, a permission check.
    Guard,
    /// A new line runs a shell, evaluates code or builds a database query from text.
    InjectionRisk,
    /// The change has comments of people.
    Comments,
    /// A standards file applies to a changed file.
    Standards,
    /// The project has documents about solved problems, in `docs/solutions`.
    Solutions,
    /// The project has tools or prompts for agents, and the change adds a feature for users.
    AgentSurface,
    /// Command-line arguments or commands changed.
    Cli,
    /// Documentation or comments changed.
    Docs,
    /// Browser code changed.
    Frontend,
    /// Ruby code of a Rails application changed.
    Rails,
    /// Many lines were added, a code file is new, or a file moved.
    Structure,
    /// A code file was deleted.
    Deletions,
}

impl ChangeFact {
    /// Why a reviewer that needs this fact has nothing to review: a clause. The caller may join
    /// several with "and".
    pub(crate) fn absence(self) -> &'static str {
        match self {
            Self::Code => "no executable line changed",
            Self::CodeWithoutTests => {
                "no executable line changed, a test changed too, or the project has no tests"
            }
            Self::Tests => "no test changed",
            Self::Migrations => "no migration was added",
            Self::Schema => "no database schema changed",
            Self::PublicApi => "no public interface changed",
            Self::Guard => "no guard changed (CI, test setup, permission checks)",
            Self::InjectionRisk => "no new line runs a shell or builds a query from text",
            Self::Comments => "the change has no review comments",
            Self::Standards => {
                "no file with the project's rules, such as `AGENTS.md`, applies to the changed files"
            }
            Self::Solutions => "there are no notes on past problems in `docs/solutions`",
            Self::AgentSurface => "no feature was added that agents may lack",
            Self::Cli => "no command-line argument or command changed",
            Self::Docs => "no documentation or comment changed",
            Self::Frontend => "no browser code changed",
            Self::Rails => "no Rails code changed",
            Self::Structure => "few lines were added, and no code file is new or moved",
            Self::Deletions => "no code file was deleted",
        }
    }
}

/// Facts about a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangeFacts {
    /// Facts with their evidence: a sentence without a period.
    #[serde(rename = "known")]
    evidence_by_fact: BTreeMap<ChangeFact, String>,
    /// Files in scope.
    files: Vec<FactFile>,
    /// Paths of migrations and schema files.
    migrations: Vec<String>,
    /// Size of the change.
    extent: Extent,
    /// Words of added executable lines.
    #[serde(skip)]
    words: WordIndex,
}

/// A file in scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactFile {
    /// Its path after the change.
    pub path: String,
    /// Language, if crh can parse it.
    pub language: Option<&'static str>,
    /// Number of added and removed executable lines.
    pub lines: u64,
}

/// Size of a change. Small changes need fewer reviewers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Only documentation or comments changed.
    Prose,
    /// One line of code or configuration was added, removed or replaced.
    OneLine,
    /// Anything else.
    #[default]
    More,
}

impl ChangeFacts {
    /// Derives the facts of a change.
    pub fn from_change(change: &ChangeUnderReview) -> Self {
        let files = inputs::input_files(change);
        Self::from_inputs(&files, &inputs::collect_inputs(change, &files))
    }

    fn from_inputs(files: &[InputFile], inputs: &FactInputs<'_>) -> Self {
        let in_scope = files.iter().filter(|file| file.is_in_scope);
        let is_about_storage =
            |file: &&InputFile| paths::is_migration(file) || paths::is_schema(file);
        let fact_file = |file: &InputFile| FactFile {
            path: file.path.clone(),
            language: file.language,
            lines: file.executable(),
        };
        Self {
            evidence_by_fact: rules::derive_facts(files, inputs),
            extent: rules::extent(files),
            words: WordIndex::from_lines(inputs.lines.iter().filter(|line| line.is_added)),
            migrations: files
                .iter()
                .filter(is_about_storage)
                .map(|file| file.path.clone())
                .collect(),
            files: in_scope.map(fact_file).collect(),
        }
    }

    /// Evidence for a fact. None if the fact does not hold.
    pub fn witness(&self, fact: ChangeFact) -> Option<&str> {
        self.evidence_by_fact.get(&fact).map(String::as_str)
    }

    /// Whether a fact holds.
    pub fn has(&self, fact: ChangeFact) -> bool {
        self.evidence_by_fact.contains_key(&fact)
    }

    /// All facts with their evidence.
    pub fn with_evidence(&self) -> impl Iterator<Item = (ChangeFact, &str)> {
        self.evidence_by_fact.iter().map(|(fact, witness)| (*fact, witness.as_str()))
    }

    /// Size of the change.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Paths of the files in scope, in diff order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }

    /// Migrations and schema files, in diff order.
    pub fn migrations(&self) -> impl Iterator<Item = &str> {
        self.migrations.iter().map(String::as_str)
    }

    /// Number of added and removed executable lines.
    pub fn lines(&self) -> u64 {
        self.files.iter().map(|file| file.lines).sum()
    }

    /// Number of added and removed executable lines in files in these languages.
    pub fn lines_in(&self, languages: &[&str]) -> u64 {
        let has_language =
            |file: &&FactFile| file.language.is_some_and(|language| languages.contains(&language));
        self.files.iter().filter(has_language).map(|file| file.lines).sum()
    }

    /// The place of the first added executable line that contains a word, such as
    /// ``line 3 of `a.py` ``. `word` is in lower case. If `languages` is not empty, only files in
    /// these languages count.
    pub fn place_of(&self, word: &str, languages: &[&str]) -> Option<&str> {
        self.words.place_of(word, languages)
    }
}

/// Setters for tests.
#[cfg(test)]
impl ChangeFacts {
    pub(crate) fn add_fact(&mut self, name: &str) {
        let fact: ChangeFact = serde_json::from_value(name.into()).unwrap();
        self.evidence_by_fact.insert(fact, format!("<{fact}>"));
    }

    pub(crate) fn add_file(&mut self, file: FactFile) {
        self.files.push(file);
    }

    pub(crate) fn set_extent(&mut self, extent: Extent) {
        self.extent = extent;
    }

    pub(crate) fn add_words(&mut self, language: &str, text: &str) {
        use crh_syntax::Language;
        let language = Language::from_name(language).map(Language::name);
        self.files.push(FactFile { path: "said".to_owned(), language, lines: 1 });
        let text = text.to_owned();
        let line = inputs::InputLine { path: "said", language, is_added: true, number: 1, text };
        self.words = WordIndex::from_lines(std::iter::once(&line));
    }
}

impl fmt::Display for ChangeFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests;
