//! Converts line numbers of analysers to those of git. Some analysers end a line at more characters
//! than git does. Without the conversion, a change that contains such characters could move the
//! findings about it to lines that do not exist.

use std::collections::BTreeMap;

use crate::Project;
use crh_review::finding::Side;

/// Converts line numbers of one side of a change.
pub(super) struct GitLines<'a> {
    pub(super) project: &'a dyn Project,
    pub(super) side: Side,
    /// Characters besides a line feed that end a line for the analyser.
    pub(super) ends: &'static [char],
    /// Texts of the files, by path. `None` if the file has no such characters or cannot be read.
    pub(super) texts: BTreeMap<String, Option<String>>,
}

impl GitLines<'_> {
    /// Converts a line number of the analyser to that of git.
    pub(super) fn line(&mut self, path: &str, line: u32) -> u32 {
        let Self { project, side, ends, texts } = self;
        if ends.is_empty() {
            return line;
        }
        let text = texts.entry(path.to_owned()).or_insert_with(|| {
            let bytes = project.file(*side, path).ok().flatten()?;
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            text.contains(*ends).then_some(text)
        });
        text.as_ref().map_or(line, |text| git_line(text, ends, line))
    }
}

fn git_line(text: &str, ends: &[char], line: u32) -> u32 {
    let mut git_line = 1;
    let breaks = text.chars().filter(|char| *char == '\n' || ends.contains(char));
    for char in breaks.take(line.saturating_sub(1) as usize) {
        git_line += u32::from(char == '\n');
    }
    git_line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_git_does() {
        let lines = |text: &str, ends: &[char]| -> Vec<u32> {
            (1..=4).map(|line| git_line(text, ends, line)).collect()
        };
        assert_eq!(lines("a\nb\nc\nd\n", &['\r']), [1, 2, 3, 4]);
        assert_eq!(lines("a\rb\rc\rd\r", &['\r']), [1, 1, 1, 1]);
        assert_eq!(lines("a\rb\nc\rd", &['\r']), [1, 1, 2, 2]);
        assert_eq!(lines("a\u{2028}b\nc", &['\u{2028}']), [1, 1, 2, 2]);
    }
}
