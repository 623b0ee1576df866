//! Go: a package is a folder, all its files share their names, and others reach them by the package's name.

use std::collections::BTreeSet;

use super::lost::{Lost, What};
use super::modules::Met;
use super::uses::{Break, User};
use super::world::{World, below, folder};
use crh_review::finding::Side;
use crh_syntax::{Surface, Take, Taken, Use, UseRole};

/// The places in a file that go by what its package, or one that it imports, has lost.
pub(super) fn breaks(world: &World<'_>, lost: &Lost<'_>, user: &User<'_>) -> BTreeSet<Break> {
    let none = BTreeSet::new();
    let home = folder(lost.path);
    if is_deserted(world, home) {
        return match lost.what {
            What::Module => imports(world, home, user),
            What::Name | What::Shape { .. } => none,
        };
    }
    if matches!(lost.what, What::Module)
        || is_built_apart(&user.unit.text)
        || is_predeclared(&lost.name)
    {
        return none;
    }
    let Some(before) = world.unit(Side::Old, lost.path) else { return none };
    if is_built_apart(&before.text) || is_test(lost.path) && !is_test(user.path) {
        return none;
    }
    let surface = &user.unit.surface;
    let places = if folder(user.path) == home && surface.package == before.surface.package {
        let is_dotted = surface.takes.iter().any(|it| it.what == Taken::All);
        let defined = surface.offers.iter().filter(|it| it.name == lost.name).count();
        let uses: Vec<&Use> = named(user, &lost.name, "");
        let bound =
            uses.iter().filter(|it| matches!(it.role, UseRole::Bound | UseRole::Taken)).count();
        if is_dotted || bound > defined {
            return none;
        }
        broken(lost, user, &uses)
    } else {
        let Some(local) = local(world, home, before.surface.package.as_deref(), surface) else {
            return none;
        };
        if !user.is_unbound(&local) {
            return none;
        }
        broken(lost, user, &named(user, &lost.name, &local))
    };
    if places.is_empty() || !is_gone(world, home, lost) {
        return none;
    }
    places
}

/// Whether no file of a package is left.
fn is_deserted(world: &World<'_>, home: &str) -> bool {
    world.index(Side::New).is_ok_and(|it| !it.in_folder(home).any(|path| path.ends_with(".go")))
}

/// The imports of a package that is gone.
fn imports(world: &World<'_>, home: &str, user: &User<'_>) -> BTreeSet<Break> {
    let Some(path) = import_path(world, home) else { return BTreeSet::new() };
    let takes = user.unit.surface.takes.iter();
    let old = takes.filter(|it| it.module == path && !user.adds(it.line));
    old.map(|it| user.breaks(it.line)).collect()
}

fn named<'u>(user: &'u User<'_>, name: &str, of: &str) -> Vec<&'u Use> {
    user.unit.uses.iter().filter(|it| it.name == name && it.of == of).collect()
}

fn broken(lost: &Lost<'_>, user: &User<'_>, uses: &[&Use]) -> BTreeSet<Break> {
    let is_broken = |it: &&&Use| match (&lost.what, &it.role) {
        (What::Name, UseRole::Read | UseRole::Called(_)) => true,
        (What::Shape { before, after, .. }, UseRole::Called(given)) => {
            !after.takes(given) && (before.takes(given) || user.adds(it.line))
        }
        _ => false,
    };
    uses.iter().filter(is_broken).map(|it| user.breaks(it.line)).collect()
}

/// Whether no file of the package has the name any more; for parameters, whether no other file has it, too.
fn is_gone(world: &World<'_>, home: &str, lost: &Lost<'_>) -> bool {
    let Ok(index) = world.index(Side::New) else { return false };
    index.in_folder(home).filter(|it| it.ends_with(".go")).all(|path| {
        let is_own = matches!(lost.what, What::Shape { .. }) && path == lost.file.path;
        is_own
            || world.unit(Side::New, path).is_some_and(|unit| {
                !unit.surface.has_errors
                    && !unit.surface.is_open
                    && !unit.surface.offers.iter().any(|it| it.name == lost.name)
            })
    })
}

/// The name by which a file knows a package.
fn local(
    world: &World<'_>,
    home: &str,
    package: Option<&str>,
    surface: &Surface,
) -> Option<String> {
    let path = import_path(world, home)?;
    let take = surface.takes.iter().find(|it| it.module == path)?;
    let local = take.local.clone().or_else(|| package.map(str::to_owned))?;
    (!matches!(local.as_str(), "_" | ".")).then_some(local)
}

/// How others import a folder: by the module around it.
fn import_path(world: &World<'_>, home: &str) -> Option<String> {
    let (root, module) = module_around(world, home)?;
    let rest = home.strip_prefix(root.as_str())?.trim_start_matches('/');
    Some(below(&module, rest).trim_end_matches('/').to_owned())
}

/// The folder of the module around a folder, and the module's name.
fn module_around(world: &World<'_>, home: &str) -> Option<(String, String)> {
    let index = world.index(Side::New).ok()?;
    let mut root = home;
    loop {
        let path = below(root, "go.mod");
        if index.has(&path) {
            let text = crate::source::text(world.project.file(Side::New, &path).ok()??)?;
            let name = text.lines().find_map(|it| it.trim().strip_prefix("module "))?;
            return Some((root.to_owned(), name.trim().trim_matches('"').to_owned()));
        }
        if root.is_empty() {
            return None;
        }
        root = folder(root);
    }
}

/// Whether the package that a file imports is there.
pub(super) fn met(world: &World<'_>, from: &str, take: &Take) -> Met {
    let Some((root, module)) = module_around(world, folder(from)) else { return Met::Unknown };
    let Ok(index) = world.index(Side::New) else { return Met::Unknown };
    let Some(rest) = take.module.strip_prefix(&format!("{module}/")) else { return Met::Unknown };
    let home = below(&root, rest);
    // Programs write such packages, and not everybody keeps what they wrote.
    let is_made = rest
        .split('/')
        .any(|part| part.ends_with("pb") || matches!(part, "gen" | "generated" | "mock" | "mocks"));
    match index.folders.contains(&home) || is_made {
        true => Met::Unknown,
        false => Met::NoModule,
    }
}

fn is_test(path: &str) -> bool {
    path.ends_with("_test.go")
}

/// Whether a file is built only sometimes.
fn is_built_apart(text: &str) -> bool {
    text.lines()
        .take_while(|it| !it.starts_with("package "))
        .any(|it| it.starts_with("//go:build") || it.starts_with("// +build"))
}

fn is_predeclared(name: &str) -> bool {
    matches!(
        name,
        "any"
            | "append"
            | "cap"
            | "clear"
            | "close"
            | "complex"
            | "copy"
            | "delete"
            | "error"
            | "imag"
            | "len"
            | "make"
            | "max"
            | "min"
            | "new"
            | "panic"
            | "print"
            | "println"
            | "real"
            | "recover"
            | "string"
            | "int"
            | "bool"
            | "byte"
            | "rune"
            | "true"
            | "false"
            | "nil"
            | "iota"
    )
}
