//! Rules that derive facts from inputs, one per fact.

use std::collections::BTreeMap;

use super::inputs::{FactInputs, InputFile, InputLine, rails_root};
use super::{ChangeFact, Extent, lines, paths};
use crate::scope::{FileRole, LineCounts, instructs_agents, role_of_path};
use crh_review::diff::FileChange;

/// Number of added executable lines from which a change counts as structural.
const STRUCTURE_LINES: u64 = 100;

const BROWSER_EXTENSIONS: &[&str] = &["astro", "jsx", "svelte", "tsx", "vue"];

/// Derives all facts with their evidence.
pub(super) fn derive_facts(
    files: &[InputFile],
    inputs: &FactInputs<'_>,
) -> BTreeMap<ChangeFact, String> {
    let facts = [
        (ChangeFact::Code, code(files)),
        (ChangeFact::CodeWithoutTests, code_without_tests(files, inputs)),
        (ChangeFact::Tests, tests(files, inputs)),
        (ChangeFact::Migrations, first_file_that(files, paths::is_migration, "is a migration")),
        (ChangeFact::Schema, first_file_that(files, paths::is_schema, "describes stored data")),
        (ChangeFact::PublicApi, public_api(files, inputs)),
        (ChangeFact::Guard, guard(files, inputs)),
        (ChangeFact::InjectionRisk, injection_risk(inputs)),
        (ChangeFact::Comments, comments(inputs)),
        (ChangeFact::Standards, standards(inputs)),
        (ChangeFact::Solutions, solutions(inputs)),
        (ChangeFact::AgentSurface, agent_surface(files, inputs)),
        (ChangeFact::Cli, cli(files, inputs)),
        (ChangeFact::Docs, docs(files)),
        (ChangeFact::Frontend, frontend(files, inputs)),
        (ChangeFact::Rails, rails(files, inputs)),
        (ChangeFact::Structure, structure(files)),
        (ChangeFact::Deletions, deletions(files)),
    ];
    facts.into_iter().filter_map(|(fact, witness)| Some((fact, witness?))).collect()
}

/// Size of a change. A file that crh does not fully know makes the result [`Extent::More`].
pub(super) fn extent(files: &[InputFile]) -> Extent {
    let files: Vec<&InputFile> = files.iter().filter(|file| file.is_in_scope).collect();
    if !files.iter().all(|file| file.is_fully_known) {
        return Extent::More;
    }
    let read_by_programs =
        |lines: &LineCounts| lines.executable + lines.test + lines.config + lines.other;
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

/// Evidence for a fact: the path of the first file that matches, followed by `predicate`.
fn first_file_that(
    files: &[InputFile],
    matches: impl Fn(&InputFile) -> bool,
    predicate: &str,
) -> Option<String> {
    files.iter().find(|file| matches(file)).map(|file| format!("`{}` {predicate}", file.path))
}

/// Files in scope with changed executable lines.
fn executable_files(files: &[InputFile]) -> impl Iterator<Item = &InputFile> {
    files.iter().filter(|file| file.is_in_scope && file.executable() > 0)
}

fn code(files: &[InputFile]) -> Option<String> {
    executable_files(files).next().map(|file| format!("lines that run changed in `{}`", file.path))
}

fn code_without_tests(files: &[InputFile], inputs: &FactInputs<'_>) -> Option<String> {
    let first = executable_files(files).next()?;
    if files.iter().any(|file| file.role == FileRole::Test) || inline_test(inputs).is_some() {
        return None;
    }
    let is_test_path = |path: &&String| role_of_path(path) == FileRole::Test;
    let test_path = inputs.tree.iter().find(is_test_path)?;
    Some(format!(
        "`{}` changed, and no test did, of which there are some (`{test_path}`)",
        first.path
    ))
}

fn tests(files: &[InputFile], inputs: &FactInputs<'_>) -> Option<String> {
    let is_test_file = |file: &InputFile| file.is_in_scope && file.role == FileRole::Test;
    let inline = || inline_test(inputs).map(|line| format!("{} is that of a test", line.place()));
    first_file_that(files, is_test_file, "is a test").or_else(inline)
}

/// A line of an inline test.
fn inline_test<'a>(inputs: &'a FactInputs<'_>) -> Option<&'a InputLine<'a>> {
    let is_test = |line: &&InputLine<'_>| {
        let text = line.text.trim();
        line.language == Some("rust")
            && text.starts_with("#[")
            && (text.ends_with("test]") || text.contains("test("))
            || text == "#[cfg(test)]"
    };
    inputs.lines.iter().find(is_test)
}

fn public_api(files: &[InputFile], inputs: &FactInputs<'_>) -> Option<String> {
    first_file_that(files, paths::is_contract, "is what others call")
        .or_else(|| lines::route(inputs).map(|line| format!("{} is a route", line.place())))
        .or_else(|| {
            let line = lines::lost_signature(inputs)?;
            Some(format!(
                "the public signature in {} before the change is another one",
                line.place()
            ))
        })
}

fn guard(files: &[InputFile], inputs: &FactInputs<'_>) -> Option<String> {
    let by_path = |file: &InputFile| Some(format!("`{}` {}", file.path, paths::guard(file)?));
    let by_line = || {
        let (line, name) = lines::permission_check(inputs)?;
        Some(format!("{} says `{name}`, which decides who may do what", line.place()))
    };
    let moved_guard = |file: &InputFile| {
        let old = file.old_path.as_ref().filter(|old| **old != file.path)?;
        let predicate = paths::guard_at(old)?;
        Some(format!("`{old}`, which {predicate}, is moved to `{}`", file.path))
    };
    let by_path = files.iter().filter(|file| file.is_in_scope).find_map(by_path);
    by_path.or_else(|| files.iter().find_map(moved_guard)).or_else(by_line)
}

fn injection_risk(inputs: &FactInputs<'_>) -> Option<String> {
    let (line, what) = lines::injection_risk(inputs)?;
    Some(format!("{} {what}", line.place()))
}

fn comments(inputs: &FactInputs<'_>) -> Option<String> {
    match inputs.comments {
        0 => None,
        1 => Some("there is a comment on the change".to_owned()),
        count => Some(format!("there are {count} comments on the change")),
    }
}

fn standards(inputs: &FactInputs<'_>) -> Option<String> {
    inputs.standards.first().map(|path| format!("`{path}` holds for changed files"))
}

fn solutions(inputs: &FactInputs<'_>) -> Option<String> {
    match inputs.solutions {
        0 => None,
        1 => Some("`docs/solutions` has a file".to_owned()),
        count => Some(format!("`docs/solutions` has {count} files")),
    }
}

/// Evidence that users get a feature that the project's agents may not have.
fn agent_surface(files: &[InputFile], inputs: &FactInputs<'_>) -> Option<String> {
    let tools = inputs.tree.iter().find(|path| paths::is_for_agents(path))?;
    let new_view = || {
        let is_new = |file: &&InputFile| file.change == FileChange::Added && is_view(file);
        executable_files(files).find(is_new).map(|file| format!("`{}` is new", file.path))
    };
    let feature = lines::added_route(inputs)
        .or_else(|| lines::added_cli_argument(inputs))
        .map(|line| format!("{} offers something new", line.place()))
        .or_else(new_view)?;
    Some(format!("{feature}, and agents work with `{tools}`"))
}

fn cli(files: &[InputFile], inputs: &FactInputs<'_>) -> Option<String> {
    let line = lines::cli_argument(inputs);
    let is_cli_file = |file: &&InputFile| {
        let name = file.name();
        let stem = name.split('.').next().unwrap_or(&name);
        stem == "cli" || file.path.split('/').rev().skip(1).any(|folder| folder == "cli")
    };
    line.map(|line| format!("{} is about arguments of a program", line.place())).or_else(|| {
        executable_files(files)
            .find(is_cli_file)
            .map(|file| format!("`{}` is a command line", file.path))
    })
}

fn docs(files: &[InputFile]) -> Option<String> {
    let is_for_agents = |file: &InputFile| file.is_in_scope && instructs_agents(&file.path);
    let is_prose = |file: &InputFile| file.is_in_scope && file.role == FileRole::Prose;
    let is_commented =
        |file: &InputFile| file.is_in_scope && file.added.prose + file.removed.prose > 0;
    first_file_that(files, is_prose, "is read by people")
        .or_else(|| first_file_that(files, is_for_agents, "is read by agents"))
        .or_else(|| first_file_that(files, is_commented, "has comments that changed"))
}

/// Whether a file is browser code, by its name and path.
fn is_view(file: &InputFile) -> bool {
    let name = file.name();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_script = matches!(extension, "js" | "ts" | "mjs");
    BROWSER_EXTENSIONS.contains(&extension)
        || is_script && (file.path.contains("app/javascript/") || name.contains("_controller."))
}

fn frontend(files: &[InputFile], inputs: &FactInputs<'_>) -> Option<String> {
    let by_path = executable_files(files).find(|file| is_view(file));
    by_path.map(|file| format!("`{}` runs in a browser", file.path)).or_else(|| {
        let (line, name) = lines::browser_api(inputs)?;
        Some(format!("{} says `{name}`, which browsers know", line.place()))
    })
}

fn rails(files: &[InputFile], inputs: &FactInputs<'_>) -> Option<String> {
    let is_rails = |folder: &str| {
        let settings = format!("{folder}config/application.rb");
        inputs.tree.binary_search(&settings).is_ok() || inputs.rails_gemfiles.contains(folder)
    };
    let is_rails_file = |file: &&InputFile| {
        file.language == Some("ruby") && rails_root(&file.path).is_some_and(is_rails)
    };
    let file = executable_files(files).find(is_rails_file)?;
    Some(format!("`{}` belongs to a Rails application", file.path))
}

fn structure(files: &[InputFile]) -> Option<String> {
    let is_new = |file: &InputFile| {
        file.is_in_scope && file.role == FileRole::Executable && file.change == FileChange::Added
    };
    let is_moved =
        |file: &InputFile| file.role == FileRole::Executable && file.change == FileChange::Renamed;
    let added: u64 = executable_files(files).map(|file| file.added.executable).sum();
    let size_witness =
        (added >= STRUCTURE_LINES).then(|| format!("{added} lines that run are new"));
    size_witness
        .or_else(|| first_file_that(files, is_new, "is new"))
        .or_else(|| first_file_that(files, is_moved, "moved"))
}

fn deletions(files: &[InputFile]) -> Option<String> {
    let is_deleted = |file: &InputFile| {
        file.is_in_scope && file.role == FileRole::Executable && file.change == FileChange::Deleted
    };
    first_file_that(files, is_deleted, "is gone")
}
