//! Rust: resolves paths by the folders of a crate.

use std::collections::BTreeSet;

use super::path_index::{PathIndex, join_path, parent_folder};
use super::removed::{RemovalKind, RemovedSymbol, module_stem};
use super::repo_index::{RepoIndex, SourceFile};
use super::resolution::Resolution;
use crh_review::finding::Side;
use crh_syntax::{DeclarationKind, ImportedItem};

/// Maximum modules followed through glob re-exports for one name. Longer chains are rare and count
/// as unknown.
const HOPS_MAX: usize = 6;

/// A module: its file, and the path of the inline module inside the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RustModule {
    file: String,
    inline_path: String,
    /// The folder with the files of the child modules.
    folder: String,
}

/// Whether a macro call that the file contains before and after the change may define the searched
/// name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MacroPolicy {
    /// The macro may define the name, so the name counts as unknown.
    MayDefine,
    /// The old file defined the name in plain code, or no macro can define such a name.
    CannotDefine,
}

/// Resolves a Rust path that is written in the file `from`.
pub(super) fn resolve(
    repo: &RepoIndex<'_>,
    side: Side,
    macro_policy: MacroPolicy,
    from: &str,
    path: &str,
) -> Resolution {
    let Ok(index) = repo.paths(side) else { return Resolution::Unknown };
    let segments: Vec<&str> = path.split("::").filter(|it| !it.is_empty()).collect();
    let src_folder = source_folder(index, from);
    let (start, rest) = match (segments.split_first(), src_folder) {
        (Some((&"crate", rest)), Some(src_folder)) => {
            (crate_root(repo, side, &src_folder, from), rest)
        }
        (Some((&("self" | "super"), _)), Some(src_folder)) => {
            let levels_up = segments.iter().take_while(|it| **it == "super").count();
            let skip = if segments[0] == "self" { 1 } else { levels_up };
            (module_above(repo, side, &src_folder, from, levels_up), &segments[skip..])
        }
        (None, _) | (Some((&("crate" | "self" | "super"), _)), None) => return Resolution::Unknown,
        (Some((first, rest)), src_folder) => {
            // A module or name of the same file takes precedence over a crate.
            let is_in_file = repo.source(side, from).is_none_or(|source| {
                let mut declarations = source.surface.declarations.iter();
                declared_modules(&source).any(|it| it == *first)
                    || declarations.any(|declaration| {
                        declaration.name == *first
                            && declaration.kind != DeclarationKind::Reexport
                            && !declaration.is_associated()
                    })
            });
            match (is_in_file, src_folder) {
                (true, Some(src_folder)) => {
                    (module_above(repo, side, &src_folder, from, 0), segments.as_slice())
                }
                (true, None) => return Resolution::Unknown,
                (false, _) => (library_root(repo, side, first), rest),
            }
        }
    };
    let Some(start) = start else { return Resolution::Unknown };
    resolve_segments(repo, side, macro_policy, start, rest)
}

/// Modules that a file declares with `mod name;`. The parser records them as imports from `self`.
fn declared_modules(source: &SourceFile) -> impl Iterator<Item = &str> {
    let imports = source.surface.imports.iter().filter(|it| it.module == "self");
    imports.filter_map(|it| it.local_name.as_deref())
}

/// The library root of a crate of this repository.
fn library_root(repo: &RepoIndex<'_>, side: Side, name: &str) -> Option<RustModule> {
    let src_folder = join_path(repo.crates(side).get(name)?, "src");
    let file = join_path(&src_folder, "lib.rs");
    let exists = repo.paths(side).is_ok_and(|it| it.has_file(&file));
    exists.then(|| RustModule { file, inline_path: String::new(), folder: src_folder })
}

fn resolve_segments(
    repo: &RepoIndex<'_>,
    side: Side,
    macro_policy: MacroPolicy,
    start: RustModule,
    segments: &[&str],
) -> Resolution {
    let Ok(index) = repo.paths(side) else { return Resolution::Unknown };
    let mut module = start;
    for (at, segment) in segments.iter().enumerate() {
        if *segment == "super" || *segment == "self" {
            return Resolution::Unknown;
        }
        let is_last = at + 1 == segments.len();
        let Some(source) = repo.source(side, &module.file) else { return Resolution::Unknown };
        let declaration = source
            .surface
            .declarations
            .iter()
            .find(|it| it.name == *segment && it.container == module.inline_path);
        if let Some(declaration) = declaration
            && (is_last || declaration.kind != DeclarationKind::Module)
        {
            return Resolution::DefinedIn(module.file);
        }
        if let Some(next) = child_module(index, &module, segment) {
            if is_last {
                return Resolution::DefinedIn(next.file);
            }
            module = next;
            continue;
        }
        // The declaration is an inline module.
        if declaration.is_some() {
            let inline_path = if module.inline_path.is_empty() {
                (*segment).to_owned()
            } else {
                format!("{}::{segment}", module.inline_path)
            };
            module = RustModule { inline_path, ..module };
            continue;
        }
        return resolve_globs(repo, side, macro_policy, &module, segment);
    }
    Resolution::DefinedIn(module.file)
}

/// Resolves a name through glob re-exports.
fn resolve_globs(
    repo: &RepoIndex<'_>,
    side: Side,
    macro_policy: MacroPolicy,
    module: &RustModule,
    name: &str,
) -> Resolution {
    let (mut seen, mut queue) = (BTreeSet::new(), vec![module.file.clone()]);
    while let Some(file) = queue.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let Some(source) = repo.source(side, &file) else { return Resolution::Unknown };
        let surface = &source.surface;
        if surface
            .declarations
            .iter()
            .filter(|it| it.name == name && !it.is_associated())
            .any(|it| file != module.file || it.container == module.inline_path)
        {
            return Resolution::DefinedIn(file);
        }
        let may_have_more_names = surface.has_hidden_names
            && (macro_policy == MacroPolicy::MayDefine || !has_same_macros(repo, &file));
        if may_have_more_names
            || surface.has_errors
            || seen.len() > HOPS_MAX
            || !module.inline_path.is_empty()
        {
            return Resolution::Unknown;
        }
        for import in surface.imports.iter().filter(|it| it.item == ImportedItem::All) {
            let Resolution::DefinedIn(next) =
                resolve(repo, side, macro_policy, &file, &import.module)
            else {
                return Resolution::Unknown;
            };
            queue.push(next);
        }
    }
    // `#[macro_export]` puts a macro at the root of its crate, and any file of the crate may define
    // it. So a name at the root that is spelled like a macro may exist.
    let is_root = module.file.ends_with("lib.rs") || module.file.ends_with("main.rs");
    if is_root && name.chars().all(|it| it.is_lowercase() || it == '_' || it.is_ascii_digit()) {
        return Resolution::MaybeExternal;
    }
    Resolution::MissingName(module.file.clone())
}

/// Whether `Type::name` can refer only to the removed symbol: no trait or macro defines that name
/// for the type, and the type itself is unchanged.
pub(super) fn is_only_definition(
    repo: &RepoIndex<'_>,
    symbol: &RemovedSymbol<'_>,
    owner: &str,
    paths_with_name: &BTreeSet<String>,
) -> bool {
    let [old, new] = [(Side::Old, symbol.path), (Side::New, symbol.file.path.as_str())]
        .map(|(side, path)| repo.source(side, path));
    let (Some(old), Some(new)) = (old, new) else { return false };
    let kind = |source: &SourceFile| {
        let mut declarations = source.surface.declarations.iter();
        declarations.find(|it| it.name == owner && it.container.is_empty()).map(|it| it.kind)
    };
    // A derive may add functions, so a changed number of derives makes the type uncertain.
    let derive_count = |text: &str| text.lines().filter(|it| it.contains("derive(")).count();
    let type_is_unchanged = kind(&old) == Some(DeclarationKind::Type)
        && kind(&new) == Some(DeclarationKind::Type)
        && derive_count(&old.text) == derive_count(&new.text)
        && old.surface.macro_texts == new.surface.macro_texts;
    // If only the parameters changed, the symbol's own file still defines the name.
    let is_searched =
        |it: &String| *it != symbol.file.path || matches!(symbol.kind, RemovalKind::Name);
    let name = symbol.name.as_str();
    let defines = |line: &str| {
        ["fn ", "const ", "type "].iter().any(|word| {
            let rest = line.split(word).nth(1).and_then(|it| it.strip_prefix(name));
            rest.is_some_and(|it| !it.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
        })
    };
    let may_define = |path: &&String| {
        repo.source(Side::New, path).is_none_or(|source| source.text.lines().any(defines))
    };
    let mut files = paths_with_name.iter().filter(|it| it.ends_with(".rs") && is_searched(it));
    type_is_unchanged && !files.any(|it| may_define(&it))
}

/// Whether a file contains the same macro calls before and after the change.
pub(super) fn has_same_macros(repo: &RepoIndex<'_>, file: &str) -> bool {
    let [old, new] = [Side::Old, Side::New].map(|side| repo.source(side, file));
    matches!((old, new), (Some(old), Some(new)) if old.surface.macro_texts == new.surface.macro_texts)
}

/// Whether a removed re-export may still resolve, because a crate, macro or primitive has the same
/// name.
pub(super) fn may_be_external(repo: &RepoIndex<'_>, symbol: &RemovedSymbol<'_>) -> bool {
    let was_reexported = repo.source(Side::Old, symbol.path).is_some_and(|source| {
        let mut declarations = source.surface.declarations.iter();
        declarations.any(|it| it.name == symbol.name && it.kind == DeclarationKind::Reexport)
    });
    was_reexported && symbol.name.starts_with(char::is_lowercase)
}

/// Whether the parent module declares the file. Otherwise the file is not compiled. Returns `true`
/// if that is unknown.
pub(super) fn is_compiled(repo: &RepoIndex<'_>, path: &str) -> bool {
    let Ok(index) = repo.paths(Side::New) else { return true };
    let name = module_stem(path);
    let is_root = matches!(path.rsplit('/').next(), Some("lib.rs" | "main.rs"));
    let parent = source_folder(index, path)
        .filter(|_| !is_root)
        .and_then(|src_folder| module_above(repo, Side::New, &src_folder, path, 1))
        .and_then(|parent| repo.source(Side::New, &parent.file));
    parent.is_none_or(|parent| {
        parent.surface.has_hidden_names
            || parent
                .surface
                .imports
                .iter()
                .any(|it| it.local_name.as_deref() == Some(name.as_str()))
    })
}

/// The `src` folder of a file's crate, or the folder of a multi-file binary.
fn source_folder(index: &PathIndex, from: &str) -> Option<String> {
    let mut root = parent_folder(from);
    while !index.has_file(&join_path(root, "Cargo.toml")) {
        if root.is_empty() {
            return None;
        }
        root = parent_folder(root);
    }
    let src_folder = join_path(root, "src");
    let rest = from.strip_prefix(&src_folder)?.strip_prefix('/')?;
    let Some(program) = rest.strip_prefix("bin/") else { return Some(src_folder) };
    let (program, _) = program.split_once('/')?;
    let src_folder = join_path(&src_folder, &format!("bin/{program}"));
    index.has_file(&join_path(&src_folder, "main.rs")).then_some(src_folder)
}

/// The root module of a file's crate. If the crate has a library and a binary, it is the root that
/// declares the file's module.
fn crate_root(
    repo: &RepoIndex<'_>,
    side: Side,
    src_folder: &str,
    from: &str,
) -> Option<RustModule> {
    let index = repo.paths(side).ok()?;
    let [library, program] = ["lib.rs", "main.rs"].map(|it| join_path(src_folder, it));
    let file = match (index.has_file(&library), index.has_file(&program)) {
        (true, true) if from == program => program,
        (true, true) if from != library => {
            let rest = from.strip_prefix(src_folder)?.trim_start_matches('/');
            let first = rest.split('/').next()?.trim_end_matches(".rs");
            let declares_module = |root: &str| {
                let source = repo.source(side, root);
                source.is_some_and(|source| declared_modules(&source).any(|it| it == first))
            };
            match (declares_module(&library), declares_module(&program)) {
                (true, false) => library,
                (false, true) => program,
                (true, true) | (false, false) => return None,
            }
        }
        (true, _) => library,
        (false, true) => program,
        (false, false) => return None,
    };
    Some(RustModule { file, inline_path: String::new(), folder: src_folder.to_owned() })
}

/// The module of a file, or the module `levels_up` levels above it.
fn module_above(
    repo: &RepoIndex<'_>,
    side: Side,
    src_folder: &str,
    from: &str,
    levels_up: usize,
) -> Option<RustModule> {
    let index = repo.paths(side).ok()?;
    let rest = from.strip_prefix(src_folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let mut parts: Vec<&str> = rest.split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    for _ in 0..levels_up {
        parts.pop()?;
    }
    let folder = parts.iter().fold(src_folder.to_owned(), |folder, part| join_path(&folder, part));
    if parts.is_empty() {
        return crate_root(repo, side, src_folder, from);
    }
    let files = [format!("{folder}.rs"), join_path(&folder, "mod.rs")];
    let file = files.into_iter().find(|it| index.has_file(it))?;
    Some(RustModule { file, inline_path: String::new(), folder })
}

fn child_module(index: &PathIndex, module: &RustModule, name: &str) -> Option<RustModule> {
    let inline_parts = module.inline_path.split("::").filter(|it| !it.is_empty());
    let folder = inline_parts.fold(module.folder.clone(), |folder, part| join_path(&folder, part));
    let folder = join_path(&folder, name);
    let files = [format!("{folder}.rs"), join_path(&folder, "mod.rs")];
    let file = files.into_iter().find(|it| index.has_file(it))?;
    Some(RustModule { file, inline_path: String::new(), folder })
}
