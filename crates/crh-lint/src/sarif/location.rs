//! Where a result is: the address in a SARIF file becomes a path of the reviewed tree.

use std::collections::HashSet;

use super::log::{ArtifactLocation, SarifResult, ToolRun};

/// A path with more parts than this is none.
const PARTS_MAX: usize = 200;
/// A base can stand on a base; more of them are a circle.
const BASES_MAX: usize = 8;

/// The places of a run in one tree.
pub(super) struct Places<'a> {
    run: &'a ToolRun,
    paths: HashSet<&'a str>,
}

impl<'a> Places<'a> {
    pub(super) fn new(run: &'a ToolRun, paths: &'a [String]) -> Self {
        Self { run, paths: paths.iter().map(String::as_str).collect() }
    }

    /// The path, the first and the last line of a result.
    pub(super) fn of(&self, result: &SarifResult) -> Option<(String, u32, u32)> {
        let place = &result.locations.first()?.physical_location;
        let region = place.region?;
        let first = region.start_line.filter(|line| *line > 0)?;
        let mut last = region.end_line.unwrap_or(first).max(first);
        // A region that ends before the first column of a line does not touch it.
        if region.end_column == Some(1) && last > first {
            last -= 1;
        }
        self.path(&place.artifact_location).map(|path| (path, first, last))
    }

    /// The path of the tree that an address means.
    pub(super) fn path(&self, location: &ArtifactLocation) -> Option<String> {
        let by_index = location.index.and_then(|at| usize::try_from(at).ok());
        let location = match by_index.and_then(|at| self.run.artifacts.get(at)) {
            Some(artifact) if location.uri.is_empty() => &artifact.location,
            Some(_) | None => location,
        };
        let own = parts(&location.uri)?;
        let relative = (!own.is_absolute).then(|| own.parts.join("/"));
        if let Some(path) = relative.filter(|path| self.paths.contains(path.as_str())) {
            return Some(path);
        }
        let mut all = self.base(&location.uri_base_id);
        if own.is_absolute {
            all.clear();
        }
        all.extend(own.parts);
        // The checkout is somewhere: the longest end of the path that is in the tree.
        let ends = (0..all.len()).map(|from| all[from..].join("/"));
        ends.into_iter().find(|path| self.paths.contains(path.as_str()))
    }

    /// The parts of a base, with those of the bases it stands on.
    fn base(&self, id: &str) -> Vec<String> {
        let mut all = Vec::new();
        let mut id = id;
        for _ in 0..BASES_MAX {
            let Some(base) = self.run.bases.get(id) else { break };
            let Some(own) = parts(&base.uri) else { break };
            all.splice(0..0, own.parts);
            id = &base.uri_base_id;
        }
        all
    }
}

struct Parts {
    parts: Vec<String>,
    is_absolute: bool,
}

/// The parts of an address, decoded; none for one that is no file or leads out of where it starts.
fn parts(uri: &str) -> Option<Parts> {
    let (uri, is_absolute) = match uri.split_once("://") {
        Some(("file", rest)) => (rest, true),
        Some(_) => return None,
        None => match uri.strip_prefix("file:") {
            Some(rest) => (rest, true),
            None => (uri, uri.starts_with('/')),
        },
    };
    let mut parts: Vec<String> = Vec::new();
    // Windows' tools write its slashes, although an address has none.
    for part in uri.split(['/', '\\']) {
        match decoded(part)?.as_str() {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part if part.contains('/') => return None,
            part => parts.push(part.to_owned()),
        }
    }
    (parts.len() <= PARTS_MAX).then_some(Parts { parts, is_absolute })
}

fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (first, _) => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}
