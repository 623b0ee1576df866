//! Files that git is told to leave alone: what is not in the repository may be on the machine where the code is built.

use crh_review::finding::Side;
use regex::Regex;

use super::world::World;
use super::world::below;
use super::world::folder;

/// More patterns than this are no list that people keep.
const PATTERNS_MAX: usize = 2_000;

/// A pattern that is longer names nothing.
const PATTERN_BYTES_MAX: usize = 200;

/// Whether a file, or a folder around it, is one that the repository leaves out on purpose. What a later line takes in again
/// counts as left out, too.
pub(super) fn is_ignored(world: &World<'_>, path: &str) -> bool {
    let mut home = folder(path);
    loop {
        let list = world.project.file(Side::New, &below(home, ".gitignore")).ok().flatten();
        let list = list.and_then(|it| String::from_utf8(it).ok()).unwrap_or_default();
        let rest = path.strip_prefix(home).unwrap_or(path).trim_start_matches('/');
        if list.lines().take(PATTERNS_MAX).any(|line| is_match(line, rest)) {
            return true;
        }
        if home.is_empty() {
            return false;
        }
        home = folder(home);
    }
}

/// Whether a line of a list is about a path, or a folder around it. Both are below the folder of the list.
fn is_match(line: &str, path: &str) -> bool {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', '!']) || line.len() > PATTERN_BYTES_MAX {
        return false;
    }
    let is_folder = line.ends_with('/');
    let pattern = line.trim_end_matches('/');
    let is_anchored = pattern.contains('/');
    let pattern = regex::escape(pattern.trim_start_matches('/'))
        .replace(r"\*\*/", "(?:.*/)?")
        .replace(r"\*\*", ".*")
        .replace(r"\*", "[^/]*")
        .replace(r"\?", "[^/]");
    let start = if is_anchored { "" } else { "(?:.*/)?" };
    let end = if is_folder { "/" } else { "(?:/|$)" };
    Regex::new(&format!("^{start}{pattern}{end}")).is_ok_and(|it| it.is_match(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_about_names_anywhere_and_paths_from_its_folder() {
        let table = [
            ("dist", "a/dist/b.js", true),
            ("dist/", "dist/b.js", true),
            ("dist/", "dist", false),
            ("/dist", "a/dist/b.js", false),
            ("src/*.gen.ts", "src/a.gen.ts", true),
            ("src/*.gen.ts", "src/b/a.gen.ts", false),
            ("src/**/gen", "src/a/b/gen/x.ts", true),
            ("*.js", "a/b.js", true),
            ("*.js", "a/b.jsx", false),
            ("# dist", "dist/b.js", false),
        ];
        for (line, path, expected) in table {
            assert_eq!(is_match(line, path), expected, "{line} {path}");
        }
    }
}
