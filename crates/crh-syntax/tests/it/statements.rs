//! Outermost statements, compared with the syntax tree.

use crate::fixtures;
use crh_syntax::{Language, outermost_statements, problems};

#[test]
fn text_has_a_problem_iff_a_statement_has() {
    let mut checked = 0;
    for fixture in fixtures::all() {
        let Some(parts) = outermost_statements(fixture.language, &fixture.text) else { continue };
        let path = fixture.path.display();
        let parts: Vec<&str> = parts.into_iter().map(|range| &fixture.text[range]).collect();
        assert_eq!(parts.concat(), fixture.text, "{path}");
        let is_valid = |text: &str| problems(fixture.language, text).unwrap().list.is_empty();
        assert_eq!(parts.iter().all(|part| is_valid(part)), is_valid(&fixture.text), "{path}");
        checked += 1;
    }
    assert!(checked >= 9, "{checked}");
}

#[test]
fn invalid_fragment_belongs_to_the_statement_above() {
    let text = "for x in y:\n    a\nelse:\n    b\n@c\nclass D:\n    pass\n";
    let parts = outermost_statements(Language::Python, text).unwrap();
    assert_eq!(parts, [0..30, 30..text.len()]);
}
