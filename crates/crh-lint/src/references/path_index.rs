//! The paths of the repository on one side of the change.

use std::collections::{BTreeSet, HashMap};

/// Paths of one side, indexed.
#[derive(Debug, Default)]
pub(super) struct PathIndex {
    pub(super) files: BTreeSet<String>,
    /// Files by their name up to the first dot.
    pub(super) stems: HashMap<String, Vec<String>>,
    pub(super) folders: BTreeSet<String>,
    /// Whether there are schema files from which classes are generated.
    pub(super) has_schemas: bool,
}

/// Extensions of schema files from which classes are generated.
const SCHEMAS: [&str; 7] = [".proto", ".thrift", ".avsc", ".avdl", ".g4", ".fbs", ".xsd"];

impl PathIndex {
    pub(super) fn from_paths(paths: &[String]) -> Self {
        let mut index = Self::default();
        for path in paths {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let stem = name.split('.').next().unwrap_or(name);
            index.stems.entry(stem.to_owned()).or_default().push(path.clone());
            index.has_schemas |= SCHEMAS.iter().any(|it| name.ends_with(it));
            index.files.insert(path.clone());
            let mut folder = folder;
            while !folder.is_empty() && !index.folders.contains(folder) {
                index.folders.insert(folder.to_owned());
                folder = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
            }
        }
        index
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// The files directly in a folder.
    pub(super) fn files_in_folder<'i>(&'i self, folder: &'i str) -> impl Iterator<Item = &'i str> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let start = prefix.clone();
        let length = prefix.len();
        self.files
            .range(start..)
            .take_while(move |it| it.starts_with(&prefix))
            .filter(move |it| !it[length..].contains('/'))
            .map(String::as_str)
    }
}

/// The folder of a path; empty for a file at the root of the repository.
pub(super) fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn join_path(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Joins and normalizes a path; `None` if it leaves the repository.
pub(super) fn normalize_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
