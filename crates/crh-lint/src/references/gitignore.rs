//! `.gitignore` lists: an ignored file may exist on the machine that builds the code.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::repo_index::{RepoIndex, join, parent_folder};
use crh_review::finding::Side;

/// Only the start of a longer list counts. The longest common lists have half of it.
const LIST_BYTES_MAX: usize = 16_384;

/// Longer patterns are skipped.
const PATTERN_BYTES_MAX: usize = 200;

/// Longer paths are not files.
const PATH_BYTES_MAX: usize = 1_000;

/// Paths looked up per review: enough for some hundred missing imports.
const LOOKUPS_MAX: usize = 2_000;

/// The ignore lists of a repository, each read at most once, with cached answers.
#[derive(Debug, Default)]
pub(super) struct GitIgnore {
    /// By side (`true` is the new one) and folder.
    lists: RefCell<HashMap<(bool, String), Option<IgnoreList>>>,
    answers: RefCell<HashMap<String, bool>>,
    limit_reached: Cell<bool>,
    /// Paths that the change starts to ignore.
    newly_ignored: RefCell<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct IgnoreList {
    set: GlobSet,
    /// The verdict of each pattern of the set.
    says: Vec<IgnoreVerdict>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IgnoreVerdict {
    Ignored,
    Kept,
}

impl GitIgnore {
    /// Notes for the report.
    pub(super) fn notes(&self) -> Vec<String> {
        let newly = self.newly_ignored.borrow();
        let newly = newly.iter().map(|path| {
            format!("`{path}` is not checked: the change adds it to a .gitignore file")
        });
        let over = self.limit_reached.get().then(|| {
            format!("imports of files that git may ignore: only {LOOKUPS_MAX} paths were checked")
        });
        newly.chain(over).collect()
    }
}

/// Whether git ignores a missing file or a folder above it.
pub(super) fn is_ignored(repo: &RepoIndex<'_>, path: &str) -> bool {
    let gitignore = &repo.ignored;
    if let Some(known) = gitignore.answers.borrow().get(path) {
        return *known;
    }
    if gitignore.answers.borrow().len() >= LOOKUPS_MAX {
        gitignore.limit_reached.set(true);
        return true;
    }
    let is_ignored = path.len() <= PATH_BYTES_MAX && is_listed(repo, Side::New, path);
    if is_ignored && !is_listed(repo, Side::Old, path) {
        gitignore.newly_ignored.borrow_mut().insert(path.to_owned());
    }
    gitignore.answers.borrow_mut().insert(path.to_owned(), is_ignored);
    is_ignored
}

/// The nearest list with a verdict decides.
fn is_listed(repo: &RepoIndex<'_>, side: Side, path: &str) -> bool {
    let mut home = parent_folder(path);
    loop {
        let rest = path.strip_prefix(home).unwrap_or(path).trim_start_matches('/');
        let mut lists = repo.ignored.lists.borrow_mut();
        let list = lists
            .entry((side == Side::New, home.to_owned()))
            .or_insert_with(|| read(repo, side, &join(home, ".gitignore")));
        if let Some(says) = list.as_ref().and_then(|it| it.verdict(rest)) {
            return says == IgnoreVerdict::Ignored;
        }
        if home.is_empty() {
            return false;
        }
        home = parent_folder(home);
    }
}

fn read(repo: &RepoIndex<'_>, side: Side, path: &str) -> Option<IgnoreList> {
    repo.paths(side).ok().filter(|it| it.has(path))?;
    let list = repo.project.file(side, path).ok().flatten()?;
    Some(IgnoreList::parse(&String::from_utf8_lossy(list.get(..LIST_BYTES_MAX).unwrap_or(&list))))
}

impl IgnoreList {
    /// Parses a list. Invalid patterns are skipped.
    fn parse(list: &str) -> Self {
        let (mut set, mut kept) = (GlobSetBuilder::new(), Vec::new());
        for line in list.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') || line.len() > PATTERN_BYTES_MAX {
                continue;
            }
            let (says, line) = match line.strip_prefix('!') {
                Some(line) => (IgnoreVerdict::Kept, line),
                None => (IgnoreVerdict::Ignored, line),
            };
            let body = line.trim_end_matches('/');
            let start = if body.contains('/') { "" } else { "**/" };
            // git does not treat braces specially.
            let body = body.trim_start_matches('/').replace('{', r"\{").replace('}', r"\}");
            let inside = format!("{start}{body}/**");
            let itself = (!line.ends_with('/')).then(|| format!("{start}{body}"));
            for pattern in itself.iter().chain([&inside]) {
                if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
                    set.add(glob);
                    kept.push(says);
                }
            }
        }
        // Each pattern was parsed, so building the set should not fail.
        set.build().map(|set| Self { set, says: kept }).unwrap_or_default()
    }

    /// The verdict of the last pattern that matches a path or a folder above it. The path is
    /// relative to the list's folder.
    fn verdict(&self, path: &str) -> Option<IgnoreVerdict> {
        let last = self.set.matches(path).into_iter().max()?;
        self.says.get(last).copied()
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
            let says = IgnoreList::parse(list).verdict(path);
            assert_eq!(says == Some(IgnoreVerdict::Ignored), expected, "{list} {path}");
        }
    }
}
