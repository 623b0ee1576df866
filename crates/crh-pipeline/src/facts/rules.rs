//! From what was seen to what is known: one rule for each fact, each with its witness.

use std::collections::BTreeMap;

use super::seen::{Seen, SeenFile, SeenLine, application};
use super::{Extent, Fact, lines, paths};
use crate::scope::{Lines, Role, role_of};
use crh_review::diff::FileChange;

/// So many added lines that run are worth a look at how they are built.
const STRUCTURE_LINES: u64 = 100;

/// Files that are made for browsers, whatever stands in them.
const BROWSER_EXTENSIONS: &[&str] = &["astro", "jsx", "svelte", "tsx", "vue"];

/// All facts, each with its witness.
pub(super) fn known(files: &[SeenFile], seen: &Seen<'_>) -> BTreeMap<Fact, String> {
    let told = [
        (Fact::Code, code(files)),
        (Fact::CodeWithoutTests, code_without_tests(files, seen)),
        (Fact::Tests, tests(files, seen)),
        (Fact::Migrations, is(files, paths::is_migration, "is a migration")),
        (Fact::Schema, is(files, paths::is_schema, "describes stored data")),
        (Fact::PublicApi, public_api(files, seen)),
        (Fact::Guard, guard(files, seen)),
        (Fact::Comments, comments(seen)),
        (Fact::Standards, standards(seen)),
        (Fact::Solutions, solutions(seen)),
        (Fact::AgentSurface, agent_surface(files, seen)),
        (Fact::Cli, cli(files, seen)),
        (Fact::Docs, docs(files)),
        (Fact::Frontend, frontend(files, seen)),
        (Fact::Rails, rails(files, seen)),
        (Fact::Structure, structure(files)),
        (Fact::Deletions, deletions(files)),
    ];
    told.into_iter().filter_map(|(fact, witness)| Some((fact, witness?))).collect()
}

/// How large a change is. Where something is not known, it is not small.
pub(super) fn extent(files: &[SeenFile]) -> Extent {
    let files: Vec<&SeenFile> = files.iter().filter(|file| file.is_in).collect();
    if !files.iter().all(|file| file.is_plain) {
        return Extent::More;
    }
    let read_by_programs =
        |lines: &Lines| lines.executable + lines.test + lines.config + lines.other;
    let added: u64 = files.iter().map(|file| read_by_programs(&file.added)).sum();
    let removed: u64 = files.iter().map(|file| read_by_programs(&file.removed)).sum();
    let prose: u64 = files.iter().map(|file| file.added.prose + file.removed.prose).sum();
    match (added, removed) {
        (0, 0) if prose > 0 => Extent::Prose,
        (0, 0) => Extent::More,
        (0..=1, 0..=1) => Extent::OneLine,
        _ => Extent::More,
    }
}

/// The first file of a kind.
fn is(files: &[SeenFile], is_one: impl Fn(&SeenFile) -> bool, what: &str) -> Option<String> {
    files.iter().find(|file| is_one(file)).map(|file| format!("`{}` {what}", file.path))
}

/// The files that run, of which lines that run changed.
fn running(files: &[SeenFile]) -> impl Iterator<Item = &SeenFile> {
    files.iter().filter(|file| file.is_in && file.executable() > 0)
}

fn code(files: &[SeenFile]) -> Option<String> {
    running(files).next().map(|file| format!("lines that run changed in `{}`", file.path))
}

fn code_without_tests(files: &[SeenFile], seen: &Seen<'_>) -> Option<String> {
    let first = running(files).next()?;
    if files.iter().any(|file| file.role == Role::Test) || inline_test(seen).is_some() {
        return None;
    }
    let is_test = |path: &&String| role_of(path) == Role::Test;
    let known = seen.tree.iter().find(is_test)?;
    Some(format!("`{}` changed, and no test did, of which there are some (`{known}`)", first.path))
}

fn tests(files: &[SeenFile], seen: &Seen<'_>) -> Option<String> {
    let is_test = |file: &SeenFile| file.is_in && file.role == Role::Test;
    let inline = || inline_test(seen).map(|line| format!("{} is that of a test", line.place()));
    is(files, is_test, "is a test").or_else(inline)
}

/// A line of a test that stands beside what it tests.
fn inline_test<'a>(seen: &'a Seen<'_>) -> Option<&'a SeenLine<'a>> {
    let is_test = |line: &&SeenLine<'_>| {
        let text = line.text.trim();
        line.language == Some("rust")
            && text.starts_with("#[")
            && (text.ends_with("test]") || text.contains("test("))
            || text == "#[cfg(test)]"
    };
    seen.lines.iter().find(is_test)
}

fn public_api(files: &[SeenFile], seen: &Seen<'_>) -> Option<String> {
    is(files, paths::is_contract, "is what others call")
        .or_else(|| lines::route(seen).map(|line| format!("{} is a route", line.place())))
        .or_else(|| {
            let line = lines::lost_signature(seen)?;
            Some(format!(
                "the public signature in {} before the change is another one",
                line.place()
            ))
        })
}

fn guard(files: &[SeenFile], seen: &Seen<'_>) -> Option<String> {
    let by_path = |file: &SeenFile| Some(format!("`{}` {}", file.path, paths::guard(file)?));
    let by_line = || {
        let (line, name) = lines::check(seen)?;
        Some(format!("{} says `{name}`, which decides who may do what", line.place()))
    };
    let moved_away = |file: &SeenFile| {
        let old = file.old_path.as_ref().filter(|old| **old != file.path)?;
        let what = paths::guard_at(old)?;
        Some(format!("`{old}`, which {what}, is moved to `{}`", file.path))
    };
    let by_path = files.iter().filter(|file| file.is_in).find_map(by_path);
    by_path.or_else(|| files.iter().find_map(moved_away)).or_else(by_line)
}

fn comments(seen: &Seen<'_>) -> Option<String> {
    match seen.comments {
        0 => None,
        1 => Some("there is a comment on the change".to_owned()),
        more => Some(format!("there are {more} comments on the change")),
    }
}

fn standards(seen: &Seen<'_>) -> Option<String> {
    seen.standards.first().map(|place| format!("`{place}` holds for changed files"))
}

fn solutions(seen: &Seen<'_>) -> Option<String> {
    match seen.solutions {
        0 => None,
        1 => Some("`docs/solutions` has a file".to_owned()),
        more => Some(format!("`docs/solutions` has {more} files")),
    }
}

/// Agents can do what users can only if both are told of what is new.
fn agent_surface(files: &[SeenFile], seen: &Seen<'_>) -> Option<String> {
    let tools = seen.tree.iter().find(|path| paths::is_for_agents(path))?;
    let added_argument = || lines::argument(seen).filter(|line| line.is_added);
    let new_view = || {
        let is_new = |file: &&SeenFile| file.change == FileChange::Added && is_view(file);
        running(files).find(is_new).map(|file| format!("`{}` is new", file.path))
    };
    let offered = lines::added_route(seen)
        .or_else(added_argument)
        .map(|line| format!("{} offers something new", line.place()))
        .or_else(new_view)?;
    Some(format!("{offered}, and agents work with `{tools}`"))
}

fn cli(files: &[SeenFile], seen: &Seen<'_>) -> Option<String> {
    let line = lines::argument(seen);
    let is_one = |file: &&SeenFile| {
        let name = file.name();
        let stem = name.split('.').next().unwrap_or(&name);
        stem == "cli" || file.path.split('/').rev().skip(1).any(|folder| folder == "cli")
    };
    line.map(|line| format!("{} is about arguments of a program", line.place())).or_else(|| {
        running(files).find(is_one).map(|file| format!("`{}` is a command line", file.path))
    })
}

fn docs(files: &[SeenFile]) -> Option<String> {
    let is_prose = |file: &SeenFile| file.is_in && file.role == Role::Prose;
    let is_commented = |file: &SeenFile| file.is_in && file.added.prose + file.removed.prose > 0;
    is(files, is_prose, "is read by people")
        .or_else(|| is(files, is_commented, "has comments that changed"))
}

/// Whether a file is made for browsers, by its name and place.
fn is_view(file: &SeenFile) -> bool {
    let name = file.name();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_script = matches!(extension, "js" | "ts" | "mjs");
    BROWSER_EXTENSIONS.contains(&extension)
        || is_script && (file.path.contains("app/javascript/") || name.contains("_controller."))
}

fn frontend(files: &[SeenFile], seen: &Seen<'_>) -> Option<String> {
    let by_path = running(files).find(|file| is_view(file));
    by_path.map(|file| format!("`{}` runs in a browser", file.path)).or_else(|| {
        let (line, name) = lines::browser(seen)?;
        Some(format!("{} says `{name}`, which browsers know", line.place()))
    })
}

fn rails(files: &[SeenFile], seen: &Seen<'_>) -> Option<String> {
    let is_rails = |folder: &str| {
        let settings = format!("{folder}config/application.rb");
        seen.tree.binary_search(&settings).is_ok() || seen.rails_gemfiles.contains(folder)
    };
    let is_one = |file: &&SeenFile| {
        file.language == Some("ruby") && application(&file.path).is_some_and(is_rails)
    };
    let file = running(files).find(is_one)?;
    Some(format!("`{}` belongs to a Rails application", file.path))
}

fn structure(files: &[SeenFile]) -> Option<String> {
    let is_new = |file: &SeenFile| {
        file.is_in && file.role == Role::Executable && file.change == FileChange::Added
    };
    let is_moved =
        |file: &SeenFile| file.role == Role::Executable && file.change == FileChange::Renamed;
    let added: u64 = running(files).map(|file| file.added.executable).sum();
    let much = (added >= STRUCTURE_LINES).then(|| format!("{added} lines that run are new"));
    much.or_else(|| is(files, is_new, "is new")).or_else(|| is(files, is_moved, "moved"))
}

fn deletions(files: &[SeenFile]) -> Option<String> {
    let is_gone = |file: &SeenFile| {
        file.is_in && file.role == Role::Executable && file.change == FileChange::Deleted
    };
    is(files, is_gone, "is gone")
}
