//! What code knows about a change before any model has seen it, each fact with its witness.

mod lines;
mod paths;
#[path = "inputs.rs"]
mod seen;
#[path = "rules.rs"]
mod told;
#[path = "word_index.rs"]
mod words;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use self::seen::{Seen, SeenFile};
use self::words::Words;
use crate::subject::Subject;

/// Something that is known about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// A line that runs changed.
    Code,
    /// Lines that run changed in a repository with tests, and no test did.
    CodeWithoutTests,
    /// A test changed.
    Tests,
    /// A migration of stored data is part of it.
    Migrations,
    /// The description of stored data changed.
    Schema,
    /// What others call changed: a public signature, a route, a serializer, a message.
    PublicApi,
    /// What keeps other changes in check changed: CI, a test harness, a gate, a check of permissions.
    Guard,
    /// People have commented on it.
    Comments,
    /// The project wrote down standards for the folder of a changed file.
    Standards,
    /// The project keeps solutions of earlier problems.
    Solutions,
    /// The project has tools or prompts for agents, and the change adds something that users can do.
    AgentSurface,
    /// Arguments or commands of a program changed.
    Cli,
    /// Something that people read changed, in a file of its own or in a comment.
    Docs,
    /// Code that runs in a browser changed.
    Frontend,
    /// Ruby code of a Rails application changed.
    Rails,
    /// Much was added, a file that runs is new, or a file moved.
    Structure,
    /// A file that runs is gone.
    Deletions,
}

impl Fact {
    /// What is said of a change of which it is not known, to somebody who needs it.
    pub(crate) fn absence(self) -> &'static str {
        match self {
            Self::Code => "no line that runs changed",
            Self::CodeWithoutTests => "no line that runs changed without a test",
            Self::Tests => "no test changed",
            Self::Migrations => "it has no migration",
            Self::Schema => "no description of stored data changed",
            Self::PublicApi => "nothing that others call changed",
            Self::Guard => "nothing that keeps other changes in check changed",
            Self::Comments => "nobody has commented on the change",
            Self::Standards => "no standards file is in a folder above a changed file",
            Self::Solutions => "there are no files in `docs/solutions`",
            Self::AgentSurface => "nothing for users of agents was added",
            Self::Cli => "no argument or command changed",
            Self::Docs => "nothing that people read changed",
            Self::Frontend => "no code of a browser changed",
            Self::Rails => "no code of a Rails application changed",
            Self::Structure => "little was added, and no file is new or moved",
            Self::Deletions => "no file that runs is gone",
        }
    }
}

/// What is known about a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The facts, each with a sentence that says by what it is known, without a period.
    known: BTreeMap<Fact, String>,
    /// The files under review.
    files: Vec<FactFile>,
    /// Those of them that are migrations, or describe stored data.
    stored: Vec<String>,
    /// How large the change is, for those who would make a review smaller.
    extent: Extent,
    /// Where the words of added lines that run stand first.
    #[serde(skip)]
    words: Words,
}

/// A file under review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactFile {
    /// Its path after the change.
    pub path: String,
    /// Its language, if it is one that is parsed.
    pub language: Option<&'static str>,
    /// How many lines that run it gained and lost.
    pub lines: u64,
}

/// How large a change is, as far as a small one can do with a smaller review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Only what people read changed.
    Prose,
    /// One line that a program reads was added, taken away, or replaced.
    OneLine,
    /// Anything else.
    #[default]
    More,
}

impl Facts {
    /// The facts of a change.
    pub fn of(subject: &Subject) -> Self {
        let files = seen::files(subject);
        Self::told(&files, &seen::seen(subject, &files))
    }

    /// The facts that some values tell.
    fn told(files: &[SeenFile], seen: &Seen<'_>) -> Self {
        let in_scope = files.iter().filter(|file| file.is_in);
        let is_about_storage =
            |file: &&SeenFile| paths::is_migration(file) || paths::is_schema(file);
        let fact_file = |file: &SeenFile| FactFile {
            path: file.path.clone(),
            language: file.language,
            lines: file.executable(),
        };
        Self {
            known: told::known(files, seen),
            extent: told::extent(files),
            words: Words::of(seen.lines.iter().filter(|line| line.is_added)),
            stored: files.iter().filter(is_about_storage).map(|file| file.path.clone()).collect(),
            files: in_scope.map(fact_file).collect(),
        }
    }

    /// By what a fact is known; none if it is not.
    pub fn witness(&self, fact: Fact) -> Option<&str> {
        self.known.get(&fact).map(String::as_str)
    }

    /// Whether a fact is known.
    pub fn has(&self, fact: Fact) -> bool {
        self.known.contains_key(&fact)
    }

    /// Every fact that is known, with its witness.
    pub fn known(&self) -> impl Iterator<Item = (Fact, &str)> {
        self.known.iter().map(|(fact, witness)| (*fact, witness.as_str()))
    }

    /// How large the change is.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// The paths of the files under review, in the order of the diff.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }

    /// The migrations of the change, and what describes stored data, in the order of the diff.
    pub fn migrations(&self) -> impl Iterator<Item = &str> {
        self.stored.iter().map(String::as_str)
    }

    /// How many lines that run changed, added and removed.
    pub fn lines(&self) -> u64 {
        self.files.iter().map(|file| file.lines).sum()
    }

    /// How many of them in files in some languages.
    pub fn lines_in(&self, languages: &[&str]) -> u64 {
        let is_in = |file: &&FactFile| file.language.is_some_and(|it| languages.contains(&it));
        self.files.iter().filter(is_in).map(|file| file.lines).sum()
    }

    /// The first added line that runs and has a word, which is given in lower case: its file and its number, as text. Only files in
    /// some languages count, where there are any.
    pub fn place_of(&self, word: &str, languages: &[&str]) -> Option<&str> {
        self.words.place_of(word, languages)
    }
}

/// Facts that tests make up.
#[cfg(test)]
impl Facts {
    pub(crate) fn know(&mut self, name: &str) {
        let fact: Fact = serde_json::from_value(name.into()).unwrap();
        self.known.insert(fact, format!("<{fact}>"));
    }

    pub(crate) fn touch(&mut self, file: FactFile) {
        self.files.push(file);
    }

    pub(crate) fn measure(&mut self, extent: Extent) {
        self.extent = extent;
    }

    pub(crate) fn say(&mut self, language: &str, text: &str) {
        use crh_syntax::Language;
        let language = Language::from_name(language).map(Language::name);
        self.files.push(FactFile { path: "said".to_owned(), language, lines: 1 });
        let text = text.to_owned();
        let line = seen::SeenLine { path: "said", language, is_added: true, number: 1, text };
        self.words = Words::of(std::iter::once(&line));
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests;
