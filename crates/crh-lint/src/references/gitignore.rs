//! `.gitignore` files. An ignored file may exist on the machine that builds the code, so an import
//! of it is not reported.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::path_index::{join_path, parent_folder};
use crh_review::finding::Side;

/// Maximum bytes read of a `.gitignore` file. The longest common templates have half as many.
const LIST_BYTES_MAX: usize = 16_384;

/// Maximum bytes of a pattern. Hand-written patterns are shorter; longer ones are skipped.
const PATTERN_BYTES_MAX: usize = 200;

/// Maximum bytes of a path that is looked up. Longer paths are not real files and count as not
/// ignored.
const PATH_BYTES_MAX: usize = 1_000;

/// Maximum paths looked up per review; further paths count as ignored. A missing import needs about
/// ten lookups, so this is enough for some hundred imports.
const LOOKUPS_MAX: usize = 2_000;

/// The `.gitignore` files of a repository, each read at most once, with cached answers.
#[derive(Debug, Default)]
pub(super) struct GitIgnore {
    /// Parsed files by side (`true` is the new side) and folder; `None` if the folder has no
    /// `.gitignore`.
    lists: RefCell<HashMap<(bool, String), Option<IgnoreList>>>,
    answers: RefCell<HashMap<String, bool>>,
    limit_reached: Cell<bool>,
    /// Paths that the change starts to ignore.
    newly_ignored: RefCell<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct IgnoreList {
    set: GlobSet,
    /// The verdict of each pattern in `set`, at the same index.
    verdicts: Vec<IgnoreVerdict>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IgnoreVerdict {
    Ignored,
    NotIgnored,
}

impl GitIgnore {
    /// Notes for the report.
    pub(super) fn notes(&self) -> Vec<String> {
        let newly_ignored = self.newly_ignored.borrow();
        let newly_ignored = newly_ignored.iter().map(|path| {
            format!("`{path}` is not checked: the change adds it to a .gitignore file")
        });
        let limit_note = self.limit_reached.get().then(|| {
            format!("imports of files that git may ignore: only {LOOKUPS_MAX} paths were checked")
        });
        newly_ignored.chain(limit_note).collect()
    }

    /// Whether git ignores a missing file or a folder above it. `read_file` returns the bytes of a
    /// file on a side of the change.
    pub(super) fn is_ignored(
        &self,
        path: &str,
        read_file: impl Fn(Side, &str) -> Option<Vec<u8>>,
    ) -> bool {
        if let Some(answer) = self.answers.borrow().get(path) {
            return *answer;
        }
        if self.answers.borrow().len() >= LOOKUPS_MAX {
            self.limit_reached.set(true);
            return true;
        }
        let is_ignored_on = |side| self.is_ignored_on_side(side, path, &read_file);
        let is_ignored = path.len() <= PATH_BYTES_MAX && is_ignored_on(Side::New);
        if is_ignored && !is_ignored_on(Side::Old) {
            self.newly_ignored.borrow_mut().insert(path.to_owned());
        }
        self.answers.borrow_mut().insert(path.to_owned(), is_ignored);
        is_ignored
    }

    /// Whether the `.gitignore` files of a side ignore a path. Of the files with a matching
    /// pattern, the one nearest to the path decides.
    fn is_ignored_on_side(
        &self,
        side: Side,
        path: &str,
        read_file: impl Fn(Side, &str) -> Option<Vec<u8>>,
    ) -> bool {
        let mut folder = parent_folder(path);
        loop {
            let relative_path = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
            let mut lists = self.lists.borrow_mut();
            let list = lists.entry((side == Side::New, folder.to_owned())).or_insert_with(|| {
                let list = read_file(side, &join_path(folder, ".gitignore"))?;
                let list = list.get(..LIST_BYTES_MAX).unwrap_or(&list);
                Some(IgnoreList::parse(&String::from_utf8_lossy(list)))
            });
            if let Some(verdict) = list.as_ref().and_then(|it| it.verdict(relative_path)) {
                return verdict == IgnoreVerdict::Ignored;
            }
            if folder.is_empty() {
                return false;
            }
            folder = parent_folder(folder);
        }
    }
}

impl IgnoreList {
    /// Parses the text of a `.gitignore` file. Invalid patterns are skipped.
    fn parse(list: &str) -> Self {
        let (mut set, mut verdicts) = (GlobSetBuilder::new(), Vec::new());
        for line in list.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') || line.len() > PATTERN_BYTES_MAX {
                continue;
            }
            let (verdict, line) = match line.strip_prefix('!') {
                Some(line) => (IgnoreVerdict::NotIgnored, line),
                None => (IgnoreVerdict::Ignored, line),
            };
            let body = line.trim_end_matches('/');
            let start = if body.contains('/') { "" } else { "**/" };
            // git does not treat braces specially.
            let body = body.trim_start_matches('/').replace('{', r"\{").replace('}', r"\}");
            let contents_pattern = format!("{start}{body}/**");
            let file_pattern = (!line.ends_with('/')).then(|| format!("{start}{body}"));
            for pattern in file_pattern.iter().chain([&contents_pattern]) {
                if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
                    set.add(glob);
                    verdicts.push(verdict);
                }
            }
        }
        // Each pattern was parsed, so building the set should not fail.
        set.build().map(|set| Self { set, verdicts }).unwrap_or_default()
    }

    /// The verdict of the last pattern that matches the path or a folder above the path. The path
    /// is relative to the folder of the `.gitignore` file.
    fn verdict(&self, path: &str) -> Option<IgnoreVerdict> {
        let last = self.set.matches(path).into_iter().max()?;
        self.verdicts.get(last).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_anywhere_and_paths_from_folder() {
        let table = [
            ("dist", "a/dist/b.js", true),
            ("dist", "dist", true),
            ("dist/", "dist/b.js", true),
            ("dist/", "a/dist/b.js", true),
            ("dist/", "dist", false),
            ("/dist", "a/dist/b.js", false),
            ("/dist", "dist/b.js", true),
            ("src/*.gen.ts", "src/a.gen.ts", true),
            ("src/*.gen.ts", "src/b/a.gen.ts", false),
            ("src/**/gen", "src/a/b/gen/x.ts", true),
            ("src/**", "src/a/b.ts", true),
            ("*.js", "a/b.js", true),
            ("*.js", "a/b.jsx", false),
            ("*.py[co]", "a/b.pyc", true),
            ("{a,b}.js", "a.js", false),
            ("# dist", "dist/b.js", false),
            ("[\ndist", "dist/b.js", true),
            ("packages/*/*/\n!packages/*/src/", "packages/a/src/x/b.ts", false),
            ("packages/*/*/\n!packages/*/src/", "packages/a/lib/b.ts", true),
            ("!dist\ndist", "dist/b.js", true),
        ];
        for (list, path, expected) in table {
            let verdict = IgnoreList::parse(list).verdict(path);
            assert_eq!(verdict == Some(IgnoreVerdict::Ignored), expected, "{list} {path}");
        }
    }
}
