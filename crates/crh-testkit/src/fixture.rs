//! The fixture language: a test repository in one string.
//!
//! `//- path` starts a file. After `//- head`, files belong to the change: new text for a path, or
//! `//- path (deleted)`. Other files stay unchanged.

/// A repository before and after a change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fixture {
    /// The files before the change.
    pub base: Vec<(String, String)>,
    /// Files of the change; `None` for a deleted one. Empty if there is no change.
    pub head: Vec<(String, Option<String>)>,
}

impl Fixture {
    /// Parses a fixture and removes common indentation.
    pub fn parse(text: &str) -> Self {
        let mut fixture = Self::default();
        let mut in_head = false;
        for line in dedented(text) {
            let Some(name) = line.strip_prefix("//- ") else {
                fixture.push_line(in_head, line);
                continue;
            };
            match name.strip_suffix(" (deleted)") {
                _ if name == "head" => in_head = true,
                Some(deleted) => fixture.head.push((deleted.to_owned(), None)),
                None if in_head => fixture.head.push((name.to_owned(), Some(String::new()))),
                None => fixture.base.push((name.to_owned(), String::new())),
            }
        }
        fixture
    }

    fn push_line(&mut self, in_head: bool, line: &str) {
        let text = if in_head {
            self.head.last_mut().and_then(|(_, text)| text.as_mut())
        } else {
            self.base.last_mut().map(|(_, text)| text)
        };
        let text = text.unwrap_or_else(|| panic!("`{line}` belongs to no file of the fixture"));
        text.push_str(line);
        text.push('\n');
    }
}

fn dedented(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let indent = lines.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let body = text.trim_end_matches(' ').lines();
    body.map(move |line| line.get(indent..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixture_text_describes_base_and_change() {
        let fixture = Fixture::parse(
            "
            //- a.rs
            fn a() {
                b();
            }
            //- gone.rs
            old
            //- head
            //- a.rs
            fn a() {}
            //- gone.rs (deleted)
            ",
        );
        let owned = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        assert_eq!(
            fixture.base,
            [owned("a.rs", "fn a() {\n    b();\n}\n"), owned("gone.rs", "old\n")]
        );
        let head =
            [("a.rs".to_owned(), Some("fn a() {}\n".to_owned())), ("gone.rs".to_owned(), None)];
        assert_eq!(fixture.head, head);
    }
}
