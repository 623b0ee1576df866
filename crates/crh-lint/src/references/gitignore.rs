//! Files that git is told to leave alone: what is not in the repository may be on the machine where the code is built.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::world::{World, below, folder};
use crh_review::finding::Side;

/// A longer list is none that people keep; only its beginning counts. The longest that are handed around have half of it.
const LIST_BYTES_MAX: usize = 16_384;

/// A pattern that is longer names nothing.
const PATTERN_BYTES_MAX: usize = 200;

/// A path that is longer is no file.
const PATH_BYTES_MAX: usize = 1_000;

/// How many paths are held against the lists in one review: some hundred imports of nothing, of which nobody reads more.
const ASKED_MAX: usize = 2_000;

/// The lists of a repository, each read at most once, and what they said.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    /// By whether it is the side after the change, and the folder.
    lists: RefCell<HashMap<(bool, String), Option<List>>>,
    answers: RefCell<HashMap<String, bool>>,
    is_over: Cell<bool>,
    /// What is left out since this change.
    newly: RefCell<BTreeSet<String>>,
}

/// One list.
#[derive(Debug, Default)]
struct List {
    set: GlobSet,
    /// What each pattern of the set says about a path: that it is left out, or that it is not.
    says: Vec<Says>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Out,
    In,
}

impl Ignored {
    /// What the reader should know.
    pub(super) fn notes(&self) -> Vec<String> {
        let newly = self.newly.borrow();
        let newly = newly.iter().map(|path| {
            format!("`{path}` is not looked for: the change tells git to leave it alone")
        });
        let over = self.is_over.get().then(|| {
            format!("imports of what git may leave alone: only {ASKED_MAX} paths were looked up")
        });
        newly.chain(over).collect()
    }
}

/// Whether a file that is not there, or a folder around it, is one that the repository leaves out on purpose.
pub(super) fn is_ignored(world: &World<'_>, path: &str) -> bool {
    let kept = &world.ignored;
    if let Some(known) = kept.answers.borrow().get(path) {
        return *known;
    }
    if kept.answers.borrow().len() >= ASKED_MAX {
        kept.is_over.set(true);
        return true;
    }
    let is_ignored = path.len() <= PATH_BYTES_MAX && is_listed(world, Side::New, path);
    if is_ignored && !is_listed(world, Side::Old, path) {
        kept.newly.borrow_mut().insert(path.to_owned());
    }
    kept.answers.borrow_mut().insert(path.to_owned(), is_ignored);
    is_ignored
}

/// The list that is nearest to the path and says something about it decides.
fn is_listed(world: &World<'_>, side: Side, path: &str) -> bool {
    let mut home = folder(path);
    loop {
        let rest = path.strip_prefix(home).unwrap_or(path).trim_start_matches('/');
        let mut lists = world.ignored.lists.borrow_mut();
        let list = lists
            .entry((side == Side::New, home.to_owned()))
            .or_insert_with(|| read(world, side, &below(home, ".gitignore")));
        if let Some(says) = list.as_ref().and_then(|it| it.says(rest)) {
            return says == Says::Out;
        }
        if home.is_empty() {
            return false;
        }
        home = folder(home);
    }
}

fn read(world: &World<'_>, side: Side, path: &str) -> Option<List> {
    world.index(side).ok().filter(|it| it.has(path))?;
    let list = world.project.file(side, path).ok().flatten()?;
    Some(List::of(&String::from_utf8_lossy(list.get(..LIST_BYTES_MAX).unwrap_or(&list))))
}

impl List {
    /// Reads a list. A line that is no pattern says nothing.
    fn of(list: &str) -> Self {
        let (mut set, mut kept) = (GlobSetBuilder::new(), Vec::new());
        for line in list.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') || line.len() > PATTERN_BYTES_MAX {
                continue;
            }
            let (says, line) = match line.strip_prefix('!') {
                Some(line) => (Says::In, line),
                None => (Says::Out, line),
            };
            let body = line.trim_end_matches('/');
            let start = if body.contains('/') { "" } else { "**/" };
            // Braces are nothing special to git.
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
        // Each pattern was read, and together they are no larger than the list.
        set.build().map(|set| Self { set, says: kept }).unwrap_or_default()
    }

    /// What the last pattern that is about a path, or a folder around it, says. The path is below the folder of the list.
    fn says(&self, path: &str) -> Option<Says> {
        let last = self.set.matches(path).into_iter().max()?;
        self.says.get(last).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_about_names_anywhere_and_paths_from_its_folder() {
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
            let says = List::of(list).says(path);
            assert_eq!(says == Some(Says::Out), expected, "{list} {path}");
        }
    }
}
