//! `tests/fixtures/<language>/NN-name.<ext>` against `NN-name.spans` beside it, which a person wrote.
//!
//! A `.spans` file has the line `errors` first if the parser must complain, then a line `first-last import`
//! for each import and a line `first-last kind name` for each symbol, both in source order.

use std::fmt::Write;
use std::path::Path;
use std::path::PathBuf;

use crh_syntax::Language;
use crh_syntax::imports;
use crh_syntax::symbols;

/// A fixture: its language, its place and its text.
pub(crate) struct Fixture {
    pub(crate) language: Language,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The fixtures of all languages, in order.
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
fn every_fixture_has_the_spans_beside_it() {
    let mut wrong = String::new();
    for fixture in all() {
        let expected = std::fs::read_to_string(fixture.path.with_extension("spans")).unwrap();
        let found = spans(&fixture);
        if found != expected {
            let path = fixture.path.display();
            writeln!(wrong, "{path}\n--- by hand\n{expected}--- found\n{found}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_language_has_ten_fixtures_or_more() {
    for language in Language::ALL {
        assert!(of_language(language).len() >= 10, "{language}");
    }
}

#[test]
fn every_fixture_is_of_the_language_of_its_folder() {
    for fixture in all() {
        let found = Language::of_path(fixture.path.to_str().unwrap());
        assert_eq!(found, Some(fixture.language), "{}", fixture.path.display());
    }
}
