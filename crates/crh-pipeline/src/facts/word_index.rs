//! The words of added lines that run, and where each stands first.

use std::collections::BTreeMap;

use super::seen::SeenLine;
use crh_lint::words_of;

/// Names that people write are shorter; what is longer is data.
const WORD_CHARS_MAX: usize = 60;
/// A change with more different words than this was written by a program; the first ones tell.
const WORDS_MAX: usize = 100_000;

/// Words in lower case. A name is a word, and so are its parts: `currentUser` and `current_user` say `user`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Words {
    places: BTreeMap<String, Vec<Place>>,
}

/// The first line of a language that has a word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    language: Option<&'static str>,
    /// Its file and its number, as text.
    place: String,
}

impl Words {
    /// The words of some lines.
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a SeenLine<'a>>) -> Self {
        let mut words = Self::default();
        for line in lines {
            let mut add = |word: &str| {
                if words.places.len() < WORDS_MAX || words.places.contains_key(word) {
                    words.add(word, line);
                }
            };
            for name in names(&line.text) {
                let parts: Vec<String> = words_of(name).collect();
                add(&name.to_lowercase());
                parts.iter().filter(|_| parts.len() > 1).for_each(|part| add(part));
            }
        }
        words
    }

    fn add(&mut self, word: &str, line: &SeenLine<'_>) {
        if !self.places.contains_key(word) {
            self.places.insert(word.to_owned(), Vec::new());
        }
        let Some(places) = self.places.get_mut(word) else { return };
        if places.iter().all(|place| place.language != line.language) {
            places.push(Place { language: line.language, place: line.place() });
        }
    }

    /// Where a word stands first, in files in some languages; in any file if there are none.
    pub(super) fn place_of(&self, word: &str, languages: &[&str]) -> Option<&str> {
        let is_in = |place: &&Place| {
            languages.is_empty() || place.language.is_some_and(|it| languages.contains(&it))
        };
        self.places.get(word)?.iter().find(is_in).map(|it| it.place.as_str())
    }
}

/// The names and numbers in a line.
pub(super) fn names(line: &str) -> impl Iterator<Item = &str> {
    let names = line.split(|it: char| !it.is_alphanumeric() && it != '_');
    names.filter(|name| !name.is_empty() && name.len() <= WORD_CHARS_MAX)
}
