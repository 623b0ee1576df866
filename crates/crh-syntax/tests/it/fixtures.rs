//! Compares `tests/fixtures/<language>/NN-name.<ext>` with the hand-written `NN-name.spans`.
//!
//! A `.spans` file starts with the line `errors` if the parser must report errors. Then follow a
//! line `first-last import` per import and a line `first-last kind name` per symbol, in source
//! order.

use std::fmt::Write;
use std::path::Path;
use std::path::PathBuf;

use crh_syntax::Language;
use crh_syntax::imports;
use crh_syntax::symbols;

/// A fixture with its language, path and text.
pub(crate) struct Fixture {
    pub(crate) language: Language,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Fixtures of all languages, in order.
pub(crate) fn all() -> Vec<Fixture> {
    Language::ALL.into_iter().flat_map(of_language).collect()
}

fn of_language(language: Language) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(language.name());
    let mut fixtures: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "spans"))
        .map(|path| Fixture { language, text: std::fs::read_to_string(&path).unwrap(), path })
        .collect();
    fixtures.sort_by(|a, b| a.path.cmp(&b.path));
    fixtures
}

fn spans(fixture: &Fixture) -> String {
    let symbols = symbols(fixture.language, &fixture.text).unwrap();
    let mut spans = String::new();
    if symbols.has_errors() {
        spans.push_str("errors\n");
    }
    for import in imports(fixture.language, &fixture.text).unwrap().all() {
        writeln!(spans, "{}-{} import", import.start, import.end).unwrap();
    }
    for symbol in symbols.all() {
        let (start, end, kind) = (symbol.start, symbol.end, symbol.kind.name());
        writeln!(spans, "{start}-{end} {kind} {}", symbol.name).unwrap();
    }
    spans
}

#[test]
fn fixtures_match_their_spans() {
    let mut wrong = String::new();
    for fixture in all() {
        let expected = std::fs::read_to_string(fixture.path.with_extension("spans")).unwrap();
        let found_spans = spans(&fixture);
        if found_spans != expected {
            let path = fixture.path.display();
            writeln!(wrong, "{path}\n--- by hand\n{expected}--- found\n{found_spans}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_language_has_at_least_ten_fixtures() {
    for language in Language::ALL {
        assert!(of_language(language).len() >= 10, "{language}");
    }
}

#[test]
fn fixtures_have_the_language_of_their_folder() {
    for fixture in all() {
        let language = Language::from_path(fixture.path.to_str().unwrap());
        assert_eq!(language, Some(fixture.language), "{}", fixture.path.display());
    }
}
