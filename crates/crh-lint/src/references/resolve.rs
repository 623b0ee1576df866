//! Resolves imports of Python, JavaScript and TypeScript to a file and a name in it.

use std::collections::BTreeSet;

use super::path_index::{PathIndex, join_path, normalize_path, parent_folder};
use super::repo_index::RepoIndex;
use super::resolution::Resolution;
use super::suspects::LanguageFamily;
use super::{java, ruby, rust};
use crh_review::finding::Side;
use crh_syntax::{ImportedItem, ModuleImport};

/// Maximum files followed through re-exports for one name. Longer chains are rare and count as
/// unknown.
const HOPS_MAX: usize = 6;

/// Extensions that an import of a script may omit, the likely ones first.
const SCRIPT_ENDINGS: [&str; 9] =
    [".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts"];

/// What the module of an import refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModuleTarget {
    /// A file of this repository.
    File(String),
    /// A module that belongs to this repository but does not exist.
    Missing,
    /// A module that does not exist here and may come from another package.
    MaybeExternal,
    /// A folder that is a package without a file of its own.
    Folder,
    /// An external module, or one that the rules here cannot decide.
    Unknown,
}

/// Resolves an import that is written in the file `from`.
pub(super) fn resolve(
    repo: &RepoIndex<'_>,
    side: Side,
    family: LanguageFamily,
    from: &str,
    import: &ModuleImport,
) -> Resolution {
    match family {
        LanguageFamily::Java => return java::resolve(repo, side, import),
        LanguageFamily::Ruby => return ruby::resolve(repo, side, from, import),
        LanguageFamily::Rust => {
            let ImportedItem::Name(name) = &import.item else { return Resolution::Unknown };
            let path = format!("{}::{name}", import.module);
            return rust::resolve(repo, side, rust::MacroPolicy::CannotDefine, from, &path);
        }
        LanguageFamily::Python | LanguageFamily::Script | LanguageFamily::Go => {}
    }
    let Ok(index) = repo.paths(side) else { return Resolution::Unknown };
    let module = module_target(index, family, from, &import.module);
    match (&import.item, module) {
        (_, ModuleTarget::Unknown) => Resolution::Unknown,
        (ImportedItem::Name(name), ModuleTarget::Folder) => {
            match module_target(index, family, from, &join_module(&import.module, name)) {
                ModuleTarget::File(path) => Resolution::DefinedIn(path),
                ModuleTarget::Missing => Resolution::MissingModule,
                ModuleTarget::MaybeExternal => Resolution::MaybeExternal,
                ModuleTarget::Unknown | ModuleTarget::Folder => Resolution::Unknown,
            }
        }
        (ImportedItem::Module | ImportedItem::All, ModuleTarget::Folder) => Resolution::Unknown,
        (_, ModuleTarget::Missing) => Resolution::MissingModule,
        (_, ModuleTarget::MaybeExternal) => Resolution::MaybeExternal,
        (ImportedItem::Module | ImportedItem::All, ModuleTarget::File(path)) => {
            Resolution::DefinedIn(path)
        }
        // Python gives every module names such as `__file__` and `__name__`.
        (ImportedItem::Name(name), ModuleTarget::File(_))
            if family == LanguageFamily::Python && name.starts_with("__") =>
        {
            Resolution::Unknown
        }
        (ImportedItem::Name(name), ModuleTarget::File(path)) => {
            let resolved = resolve_export(repo, side, family, &path, name);
            if family == LanguageFamily::Python && matches!(resolved, Resolution::MissingName(_)) {
                let submodule =
                    module_target(index, family, from, &join_module(&import.module, name));
                if let ModuleTarget::File(path) = submodule {
                    return Resolution::DefinedIn(path);
                }
                if has_entry(index, parent_folder(&path), name) && path.ends_with("__init__.py") {
                    return Resolution::Unknown;
                }
            }
            resolved
        }
    }
}

pub(super) fn join_module(module: &str, name: &str) -> String {
    if module.ends_with('.') { format!("{module}{name}") } else { format!("{module}.{name}") }
}

/// Resolves an exported name of a file, following re-exports.
pub(super) fn resolve_export(
    repo: &RepoIndex<'_>,
    side: Side,
    family: LanguageFamily,
    path: &str,
    name: &str,
) -> Resolution {
    let Ok(index) = repo.paths(side) else { return Resolution::Unknown };
    let (mut seen, mut queue) = (BTreeSet::new(), vec![path.to_owned()]);
    let mut exports_are_known = true;
    while let Some(file) = queue.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        if seen.len() > HOPS_MAX {
            return Resolution::Unknown;
        }
        let Some(source) = repo.source(side, &file) else { return Resolution::Unknown };
        let surface = &source.surface;
        if surface.declarations.iter().any(|it| it.is_exported && it.name == name) {
            return Resolution::DefinedIn(file);
        }
        exports_are_known &= !surface.has_errors && !surface.has_hidden_names;
        if family == LanguageFamily::Script
            && !surface.declarations.iter().any(|it| it.is_exported)
            && surface.imports.is_empty()
        {
            // This is a classic script: its names are global, not exported.
            exports_are_known = false;
        }
        for import in
            surface.imports.iter().filter(|it| it.item == ImportedItem::All && it.is_reexported)
        {
            match module_target(index, family, &file, &import.module) {
                ModuleTarget::File(next) => queue.push(next),
                ModuleTarget::Missing
                | ModuleTarget::MaybeExternal
                | ModuleTarget::Unknown
                | ModuleTarget::Folder => {
                    exports_are_known = false;
                }
            }
        }
    }
    if exports_are_known { Resolution::MissingName(path.to_owned()) } else { Resolution::Unknown }
}

pub(super) fn module_target(
    index: &PathIndex,
    family: LanguageFamily,
    from: &str,
    module: &str,
) -> ModuleTarget {
    match family {
        LanguageFamily::Python => python_target(index, from, module),
        LanguageFamily::Script => script_target(index, from, module),
        LanguageFamily::Go | LanguageFamily::Rust | LanguageFamily::Java | LanguageFamily::Ruby => {
            ModuleTarget::Unknown
        }
    }
}

fn script_target(index: &PathIndex, from: &str, module: &str) -> ModuleTarget {
    if !module.starts_with('.') || module.contains(['?', '!', '*', '#']) {
        return ModuleTarget::Unknown;
    }
    let Some(path) = normalize_path(parent_folder(from), module) else {
        return ModuleTarget::Unknown;
    };
    if path.is_empty() {
        return ModuleTarget::Unknown;
    }
    let exact = Some(path.clone()).filter(|path| index.has_file(path));
    let with_ending = |stem: &str| {
        let files = SCRIPT_ENDINGS.iter().map(|ending| format!("{stem}{ending}"));
        files.into_iter().find(|path| index.has_file(path))
    };
    // `./x.js` may refer to `x.ts`, because `x.ts` compiles to `x.js`.
    let compiled_stem = [".js", ".jsx", ".mjs", ".cjs"].iter().find_map(|it| path.strip_suffix(it));
    let file = exact
        .or_else(|| with_ending(&path))
        .or_else(|| compiled_stem.and_then(with_ending))
        .or_else(|| with_ending(&join_path(&path, "index")));
    match file {
        Some(file) if LanguageFamily::from_path(&file) == Some(LanguageFamily::Script) => {
            ModuleTarget::File(file)
        }
        Some(_) => ModuleTarget::Unknown,
        None => {
            let stem = SCRIPT_ENDINGS.iter().find_map(|it| path.strip_suffix(it)).unwrap_or(&path);
            let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
            // Bundlers also resolve files such as `./x.css` and `./x.vue`, but `./user.service` is
            // code.
            let is_code = name.rsplit_once('.').is_none_or(|(_, end)| SCRIPT_KINDS.contains(&end));
            let has_folder = folder.is_empty() || index.folders.contains(folder);
            match !is_code || has_similar_file(index, stem) {
                true => ModuleTarget::Unknown,
                false if is_build_output(index, &path) || !has_folder => {
                    ModuleTarget::MaybeExternal
                }
                false => ModuleTarget::Missing,
            }
        }
    }
}

/// Words that Angular and similar projects put before the extension: an import says `user.service`
/// for `user.service.ts`.
#[rustfmt::skip]
const SCRIPT_KINDS: [&str; 24] = [
    "service", "component", "module", "controller", "model", "util", "utils", "config", "types", "helper", "helpers", "store",
    "schema", "entity", "dto", "interface", "guard", "pipe", "directive", "routes", "router", "constants", "resolver", "mock",
];

/// Suffixes of files that accompany a script: `x.test.ts`, `x.stories.tsx`.
const COMPANION_SUFFIXES: [&str; 9] =
    ["test", "spec", "stories", "story", "bench", "e2e", "module", "md", "snap"];

/// Whether the import may refer to another file, such as `x.vue` or `x.native.ts`.
fn has_similar_file(index: &PathIndex, stem: &str) -> bool {
    let dot = format!("{stem}.");
    let files = index.files.range(dot.clone()..).take_while(|it| it.starts_with(&dot));
    let mut suffixes = files.map(|it| it[dot.len()..].split('.').next().unwrap_or_default());
    index.has_file(stem)
        || index.folders.contains(stem)
        || suffixes.any(|it| !COMPANION_SUFFIXES.contains(&it))
}

#[rustfmt::skip]
const OUTPUT_FOLDERS: [&str; 10] = [
    "dist", "build", "out", "generated", "gen", "node_modules", ".next", ".nuxt", "__generated__", ".svelte-kit",
];

/// Whether a path is in a folder for build output. Such folders are usually not committed.
fn is_build_output(index: &PathIndex, path: &str) -> bool {
    let folders: Vec<&str> = parent_folder(path).split('/').collect();
    let is_output_folder = path.split('/').any(|part| OUTPUT_FOLDERS.contains(&part));
    // Hand-written code uses `lib` and `types` as well, so these count only if the folder does not
    // exist.
    let mut ambiguous_folders =
        (1..=folders.len()).filter(|end| matches!(folders[end - 1], "lib" | "types"));
    is_output_folder
        || ambiguous_folders.any(|end| !index.folders.contains(&folders[..end].join("/")))
}

/// Whether a folder has a file (with any extension) or a folder of this name.
fn has_entry(index: &PathIndex, folder: &str, stem: &str) -> bool {
    let path = join_path(folder, stem);
    let dot = format!("{path}.");
    index.has_file(&path)
        || index.folders.contains(&path)
        || index.files.range(dot.clone()..).next().is_some_and(|it| it.starts_with(&dot))
}

fn python_target(index: &PathIndex, from: &str, module: &str) -> ModuleTarget {
    let dots = module.len() - module.trim_start_matches('.').len();
    let parts: Vec<&str> = module[dots..].split('.').filter(|it| !it.is_empty()).collect();
    if dots > 0 {
        let mut base = parent_folder(from);
        for _ in 1..dots {
            if base.is_empty() {
                return ModuleTarget::Unknown;
            }
            base = parent_folder(base);
        }
        return python_target_below(index, base, &parts);
    }
    let [first, ..] = parts.as_slice() else { return ModuleTarget::Unknown };
    let mut roots: BTreeSet<&str> = BTreeSet::new();
    // A package with `__init__.py` hides modules and folders of the same name.
    for path in index.stems.get("__init__").into_iter().flatten() {
        let package = parent_folder(path);
        if path.ends_with("/__init__.py") && package.rsplit('/').next() == Some(first) {
            roots.insert(parent_folder(package));
        }
    }
    for path in index.stems.get(*first).into_iter().flatten().filter(|it| it.ends_with(".py")) {
        roots.insert(parent_folder(path));
    }
    // A folder without `__init__.py` is a namespace package, and other folders may hold parts of
    // it.
    let at_top = index.folders.contains(*first).then_some("");
    let in_src = index.folders.contains(&join_path("src", first)).then_some("src");
    roots.extend(at_top.into_iter().chain(in_src));
    roots.retain(|root| is_import_root(index, from, root));
    let mut resolved = BTreeSet::new();
    let (mut is_missing, mut is_folder) = (false, false);
    for root in &roots {
        match python_target_below(index, root, &parts) {
            ModuleTarget::File(path) => {
                resolved.insert(path);
            }
            ModuleTarget::Missing => is_missing = true,
            ModuleTarget::MaybeExternal => {}
            ModuleTarget::Folder => is_folder = true,
            ModuleTarget::Unknown => return ModuleTarget::Unknown,
        }
    }
    match (resolved.len(), roots.len()) {
        (1, _) => resolved.pop_first().map_or(ModuleTarget::Unknown, ModuleTarget::File),
        (0, _) if is_folder => ModuleTarget::Folder,
        (0, 1) if is_missing => ModuleTarget::Missing,
        (0, _) => ModuleTarget::MaybeExternal,
        _ => ModuleTarget::Unknown,
    }
}

/// Whether Python may resolve absolute imports from this folder.
fn is_import_root(index: &PathIndex, from: &str, root: &str) -> bool {
    let is_package = index.has_file(&join_path(root, "__init__.py"));
    let is_above = root.is_empty() || from.starts_with(&format!("{root}/"));
    let is_project = ["pyproject.toml", "setup.py", "setup.cfg"]
        .iter()
        .any(|it| index.has_file(&join_path(root, it)));
    !is_package && (is_above || is_project || root == "src" || root.ends_with("/src"))
}

fn python_target_below(index: &PathIndex, root: &str, parts: &[&str]) -> ModuleTarget {
    let path = join_path(root, &parts.join("/"));
    let path = path.trim_end_matches('/');
    for file in [format!("{path}/__init__.py"), format!("{path}.py")] {
        if index.has_file(file.trim_start_matches('/')) {
            return ModuleTarget::File(file.trim_start_matches('/').to_owned());
        }
    }
    if index.folders.contains(path) || path.is_empty() {
        return ModuleTarget::Folder;
    }
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_generated = name.contains("version") || name.contains("_pb2") || name.starts_with('_');
    // A missing module is certain only if its parent package has `__init__.py`.
    let has_package = index.has_file(&join_path(parent, "__init__.py")) || parts.len() == 1;
    if has_entry(index, parent, name) {
        return ModuleTarget::Unknown;
    }
    if is_generated || !has_package { ModuleTarget::MaybeExternal } else { ModuleTarget::Missing }
}
