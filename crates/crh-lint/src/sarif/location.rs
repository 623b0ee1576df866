//! Resolves SARIF locations to paths of the reviewed tree.

use std::collections::HashSet;

use super::log::{ArtifactLocation, SarifResult, ToolRun};

/// Maximum parts of a path. No real path is as deep. crh looks up every suffix of a path, so the cost
/// grows with the square of its parts.
const PARTS_MAX: usize = 200;
/// Maximum bases that are followed. A base can be relative to another base, and a longer chain is a
/// cycle.
const BASES_MAX: usize = 8;

/// Resolves the locations of a tool's run to paths of one tree.
pub(super) struct LocationResolver<'a> {
    run: &'a ToolRun,
    paths: HashSet<&'a str>,
}

impl<'a> LocationResolver<'a> {
    pub(super) fn new(run: &'a ToolRun, paths: &'a [String]) -> Self {
        Self { run, paths: paths.iter().map(String::as_str).collect() }
    }

    /// Path, first and last line of a result.
    pub(super) fn locate(&self, result: &SarifResult) -> Option<(String, u32, u32)> {
        let location = &result.locations.first()?.physical_location;
        let region = location.region?;
        let first = region.start_line.filter(|line| *line > 0)?;
        let mut last = region.end_line.unwrap_or(first).max(first);
        // A region that ends at column 1 contains nothing of its last line.
        if region.end_column == Some(1) && last > first {
            last -= 1;
        }
        self.path(&location.artifact_location).map(|path| (path, first, last))
    }

    /// The path in the tree that a URI refers to.
    pub(super) fn path(&self, location: &ArtifactLocation) -> Option<String> {
        let by_index = location.index.and_then(|at| usize::try_from(at).ok());
        let location = match by_index.and_then(|at| self.run.artifacts.get(at)) {
            Some(artifact) if location.uri.is_empty() => &artifact.location,
            Some(_) | None => location,
        };
        let uri = uri_parts(&location.uri)?;
        let mut parts = match uri.is_absolute {
            true => Vec::new(),
            false => self.base_parts(&location.uri_base_id),
        };
        parts.extend(uri.parts);
        let parts = resolve_parents(parts)?;
        // The folder of the tool's checkout is unknown, so take the longest suffix of the path that
        // is in the tree.
        let suffixes = (0..parts.len()).map(|from| parts[from..].join("/"));
        suffixes.into_iter().find(|path| self.paths.contains(path.as_str()))
    }

    /// The path parts of a base URI, after those of the bases to which it is relative.
    fn base_parts(&self, id: &str) -> Vec<String> {
        let mut parts = Vec::new();
        let mut id = id;
        for _ in 0..BASES_MAX {
            let Some(base) = self.run.bases.get(id) else { break };
            let Some(base_uri) = uri_parts(&base.uri) else { break };
            parts.splice(0..0, base_uri.parts);
            id = &base.uri_base_id;
        }
        parts
    }
}

struct UriParts {
    parts: Vec<String>,
    is_absolute: bool,
}

/// The decoded path parts of a URI, `..` included; `None` if the URI is not a file.
fn uri_parts(uri: &str) -> Option<UriParts> {
    let (uri, is_absolute) = match uri.split_once("://") {
        Some(("file", rest)) => (rest, true),
        Some(_) => return None,
        None => match uri.strip_prefix("file:") {
            Some(rest) => (rest, true),
            None => (uri, uri.starts_with('/')),
        },
    };
    let mut parts: Vec<String> = Vec::new();
    // Windows tools write backslashes.
    for part in uri.split(['/', '\\']) {
        match percent_decode(part)?.as_str() {
            "" | "." => {}
            part if part.contains('/') => return None,
            part => parts.push(part.to_owned()),
        }
    }
    (parts.len() <= PARTS_MAX).then_some(UriParts { parts, is_absolute })
}

/// Removes each `..` with the part before it; `None` if the path leaves its root.
fn resolve_parents(parts: Vec<String>) -> Option<Vec<String>> {
    let mut resolved = Vec::with_capacity(parts.len());
    for part in parts {
        match part.as_str() {
            ".." => drop(resolved.pop()?),
            _ => resolved.push(part),
        }
    }
    (resolved.len() <= PARTS_MAX).then_some(resolved)
}

fn percent_decode(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        // `from_str_radix` accepts a sign.
        let hex = hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
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
