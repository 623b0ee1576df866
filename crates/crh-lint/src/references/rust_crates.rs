//! The Rust crates of the repository, from their `Cargo.toml` files.

use std::collections::HashMap;

use super::path_index::{PathIndex, join_path, parent_folder};
use crate::Project;
use crh_review::finding::Side;

/// Maximum `Cargo.toml` files read per repository. Larger workspaces are rare; their other crates
/// count as unknown.
const MANIFESTS_MAX: usize = 1_000;

/// Folders of the crates of a side, by the name that code uses. If two crates have the same name,
/// neither is listed.
pub(super) fn crates(
    project: &dyn Project,
    side: Side,
    index: &PathIndex,
) -> HashMap<String, String> {
    let manifests = index.stems.get("Cargo").into_iter().flatten();
    // A crate without a library cannot be imported.
    let has_library = |it: &&String| index.has_file(&join_path(parent_folder(it), "src/lib.rs"));
    let manifests = manifests.filter(|it| it.ends_with("Cargo.toml")).filter(has_library);
    let manifests = manifests.take(MANIFESTS_MAX);
    let mut crates: HashMap<String, Option<String>> = HashMap::new();
    for path in manifests {
        let text =
            project.file(side, path).ok().flatten().and_then(|it| String::from_utf8(it).ok());
        let Some(name) = text.as_deref().and_then(crate_name) else { continue };
        let folder = Some(parent_folder(path).to_owned());
        crates.entry(name).and_modify(|it| *it = None).or_insert(folder);
    }
    crates.into_iter().filter_map(|(name, folder)| Some((name, folder?))).collect()
}

/// The name of a crate in code; `None` if its library is not at the default path.
fn crate_name(manifest: &str) -> Option<String> {
    let table: toml::Table = manifest.parse().ok()?;
    let package = table.get("package")?.get("name")?.as_str()?;
    let library = table.get("lib");
    if library.and_then(|it| it.get("path")).is_some_and(|it| it.as_str() != Some("src/lib.rs")) {
        return None;
    }
    let name = library.and_then(|it| it.get("name")).and_then(toml::Value::as_str);
    Some(name.unwrap_or(package).replace('-', "_"))
}
