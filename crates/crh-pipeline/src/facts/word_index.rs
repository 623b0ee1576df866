//! Index of the words of added executable lines.

use std::collections::BTreeMap;

use super::inputs::InputLine;
use crh_lint::name_words;

/// Maximum length of a name. Longer ones are data, such as encoded files.
const WORD_CHARS_MAX: usize = 60;
/// Maximum number of words in the index. Changes with more words are mostly generated.
const WORDS_MAX: usize = 100_000;

/// Words in lower case. Names are split too: `currentUser` and `current_user` contain `user`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WordIndex {
    places: BTreeMap<String, Vec<WordPlace>>,
}

/// The first line with a word in files of one language.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WordPlace {
    language: Option<&'static str>,
    /// Line number and path, as text.
    place: String,
}

impl WordIndex {
    pub(super) fn from_lines<'a>(lines: impl Iterator<Item = &'a InputLine<'a>>) -> Self {
        let mut index = Self::default();
        for line in lines {
            let mut add = |word: &str| {
                if index.places.len() < WORDS_MAX || index.places.contains_key(word) {
                    index.add(word, line);
                }
            };
            for name in names(&line.text) {
                let parts: Vec<String> = name_words(name).collect();
                add(&name.to_lowercase());
                parts.iter().filter(|_| parts.len() > 1).for_each(|part| add(part));
            }
        }
        index
    }

    fn add(&mut self, word: &str, line: &InputLine<'_>) {
        if !self.places.contains_key(word) {
            self.places.insert(word.to_owned(), Vec::new());
        }
        let Some(places) = self.places.get_mut(word) else { return };
        if places.iter().all(|place| place.language != line.language) {
            places.push(WordPlace { language: line.language, place: line.place() });
        }
    }

    /// The first place of a word in files in these languages, or in any file if the list is empty.
    pub(super) fn place_of(&self, word: &str, languages: &[&str]) -> Option<&str> {
        let has_language = |place: &&WordPlace| {
            languages.is_empty()
                || place.language.is_some_and(|language| languages.contains(&language))
        };
        self.places.get(word)?.iter().find(has_language).map(|place| place.place.as_str())
    }
}

/// Names and numbers in a line.
pub(super) fn names(line: &str) -> impl Iterator<Item = &str> {
    let names = line.split(|char: char| !char.is_alphanumeric() && char != '_');
    names.filter(|name| !name.is_empty() && name.len() <= WORD_CHARS_MAX)
}
