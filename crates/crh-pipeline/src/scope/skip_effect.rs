//! Decides whether a review is complete without a file that is left out.
//!
//! New, moved or re-encoded content that can run must be read. The base accepts the rest: vendored
//! folders that it has, files that its attributes or settings mark, lock files, and submodules that
//! stay at their address.

use std::collections::BTreeMap;

use serde::Serialize;

use super::runnable::{self, Runnable};
use super::{
    AttributeMark, FileCase, FileSource, MODE_EXECUTABLE, MODE_LINK, MODE_SUBMODULE, ScopeDecision,
    SkipReason, known_names, skip_reason_by_name,
};
use crh_review::diff::{FileChange, LineKind, RepoPath};
use crh_review::finding::Side;

/// Maximum size of a file of unknown kind that crh reads to see whether it can run.
const READ_BYTES_MAX: u64 = 4_000_000;

/// Effect of unread content on the review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SkipEffect {
    /// Nothing: the file is read, or cannot run.
    #[default]
    Harmless,
    /// The base accepts it. The report names the file; `--strict` makes the review incomplete.
    Accepted,
    /// The review is incomplete.
    Incomplete,
}

impl SkipEffect {
    /// Whether there is an effect to serialise.
    pub(super) fn is_harmless(&self) -> bool {
        *self == Self::Harmless
    }
}

impl<F: FileSource> FileCase<'_, F> {
    /// Effect of the decision about this file.
    pub(super) fn effect(&self, name: &str, decision: &ScopeDecision) -> SkipEffect {
        if self.file.change == FileChange::Deleted {
            return SkipEffect::Harmless;
        }
        let effect = match decision {
            ScopeDecision::In if self.moves_into_use(name) => SkipEffect::Incomplete,
            ScopeDecision::In => SkipEffect::Harmless,
            ScopeDecision::Out(reason) => self.skip_effect(name, reason),
        };
        match effect {
            SkipEffect::Incomplete if !decision.is_in() && self.base_accepts(name) => {
                SkipEffect::Accepted
            }
            effect => effect,
        }
    }

    fn skip_effect(&self, name: &str, reason: &SkipReason) -> SkipEffect {
        match reason {
            // The user chose the paths.
            SkipReason::Excluded { .. }
            | SkipReason::OutsidePaths
            | SkipReason::Empty
            | SkipReason::ReviewedBefore { .. } => SkipEffect::Harmless,
            // A checkout replaces the pointer by the content, which crh does not have.
            SkipReason::LfsPointer => match runnable::by_path(name) {
                Runnable::Code | Runnable::Program => SkipEffect::Incomplete,
                Runnable::No | Runnable::Unknown => SkipEffect::Harmless,
            },
            SkipReason::Submodule => self.submodule_effect(),
            SkipReason::Binary => self.binary_effect(name),
            SkipReason::ModeOnly { .. } if self.becomes_executable() && self.is_script(name) => {
                SkipEffect::Incomplete
            }
            SkipReason::MoveOnly if self.moves_into_use(name) => SkipEffect::Incomplete,
            SkipReason::MoveOnly => SkipEffect::Harmless,
            SkipReason::GeneratedHeader { .. }
            | SkipReason::GeneratedName { .. }
            | SkipReason::Minified { .. }
            | SkipReason::VendoredFolder { .. }
                if self.is_new() && self.is_script(name) =>
            {
                SkipEffect::Incomplete
            }
            SkipReason::TooLarge { .. } if self.is_script(name) => SkipEffect::Incomplete,
            SkipReason::ModeOnly { .. }
            | SkipReason::GeneratedHeader { .. }
            | SkipReason::GeneratedName { .. }
            | SkipReason::Minified { .. }
            | SkipReason::VendoredFolder { .. }
            | SkipReason::TooLarge { .. }
            | SkipReason::GeneratedRule { .. }
            | SkipReason::GeneratedAttribute { .. }
            | SkipReason::VendoredAttribute { .. }
            | SkipReason::LockFile { .. } => SkipEffect::Accepted,
        }
    }

    /// A submodule may move to another commit of the same repository.
    fn submodule_effect(&self) -> SkipEffect {
        let was_submodule = match (self.file.change, self.file.old_mode) {
            (FileChange::Added | FileChange::Copied, _) => false,
            (_, Some(mode)) => mode == MODE_SUBMODULE,
            (_, None) => true,
        };
        let addresses_changed = || {
            let is_list = |path: &RepoPath| path.as_bytes() == b".gitmodules";
            let list = self.diff.files().iter().find(|file| is_list(&file.path))?;
            let [old, new] = [Side::Old, Side::New].map(|side| {
                let content = self.files.content(side, &list.path).ok().flatten()?;
                let addresses = submodule_addresses(&String::from_utf8_lossy(&content));
                addresses.get(&*String::from_utf8_lossy(self.file.path.as_bytes())).cloned()
            });
            Some(old.is_none() || old != new)
        };
        if was_submodule && !addresses_changed().unwrap_or(false) {
            SkipEffect::Accepted
        } else {
            SkipEffect::Incomplete
        }
    }

    /// Git calls a file binary if it has a zero byte or an attribute says so. Scripts in UTF-16
    /// have zero bytes, too.
    fn binary_effect(&self, name: &str) -> SkipEffect {
        match self.runnable(name) {
            Runnable::Code => SkipEffect::Incomplete,
            // Tests may need programs as data.
            Runnable::Program if super::role_of_path(name) == super::FileRole::Test => {
                SkipEffect::Accepted
            }
            Runnable::Program => SkipEffect::Incomplete,
            Runnable::No | Runnable::Unknown => SkipEffect::Harmless,
        }
    }

    fn runnable(&self, name: &str) -> Runnable {
        match runnable::by_path(name) {
            Runnable::Unknown if self.file.new_mode == Some(MODE_EXECUTABLE) => Runnable::Program,
            Runnable::Unknown => {
                let is_small = self
                    .files
                    .size(Side::New, &self.file.path)
                    .is_some_and(|bytes| bytes <= READ_BYTES_MAX);
                let content = || self.files.content(Side::New, &self.file.path).ok().flatten();
                match is_small.then(content).flatten() {
                    Some(content) => runnable::by_content(name, &content),
                    None => Runnable::Unknown,
                }
            }
            known @ (Runnable::Code | Runnable::Program | Runnable::No) => known,
        }
    }

    fn is_script(&self, name: &str) -> bool {
        match self.runnable(name) {
            Runnable::Code | Runnable::Program => true,
            Runnable::No | Runnable::Unknown => false,
        }
    }

    fn becomes_executable(&self) -> bool {
        let modes = (self.file.old_mode, self.file.new_mode);
        matches!(modes, (Some(old), Some(MODE_EXECUTABLE)) if old != MODE_EXECUTABLE)
    }

    /// Whether the file is new at its path. A file that moves between skipped paths is not.
    fn is_new(&self) -> bool {
        match self.file.change {
            FileChange::Added | FileChange::Copied => true,
            FileChange::Renamed | FileChange::Modified | FileChange::Deleted => false,
        }
    }

    /// Whether the change moves, copies or links a file that did not run to a name that runs. The
    /// diff does not show its unchanged lines.
    fn moves_into_use(&self, name: &str) -> bool {
        match (self.file.change, &self.file.old_path) {
            _ if self.file.new_mode == Some(MODE_LINK) => self.links_into_use(name),
            (FileChange::Renamed | FileChange::Copied, Some(old_path)) => {
                self.brings_into_use(name, old_path)
            }
            _ => false,
        }
    }

    /// Whether a symlink gives a file that did not run, or that is outside of the repository, a
    /// name that runs.
    fn links_into_use(&self, name: &str) -> bool {
        let lines = self.file.hunks.iter().flat_map(|hunk| self.diff.lines(hunk));
        let Some(line) = lines.filter(|line| line.kind == LineKind::Added).last() else {
            return false;
        };
        let Some(target) = link_target(name, &String::from_utf8_lossy(line.text())) else {
            return runs(name);
        };
        // The target may be a folder.
        [target.clone(), format!("{target}/x")]
            .iter()
            .any(|target| self.brings_into_use(name, &RepoPath::new(target.as_bytes())))
    }

    /// Whether content that did not run at its old path runs at its new one.
    fn brings_into_use(&self, name: &str, old_path: &RepoPath) -> bool {
        let old_name = String::from_utf8_lossy(old_path.as_bytes());
        if !runs(name) {
            return false;
        }
        let was_skipped = || {
            let reason = |name: &str, path| skip_reason_by_name(name, &self.files.attributes(path));
            reason(&old_name, old_path).is_some() && reason(name, &self.file.path).is_none()
        };
        !runs(&old_name)
            || self.becomes_executable() && self.is_script(name)
            || runnable::is_auto_run(name) && !runnable::is_auto_run(&old_name)
            || runnable::is_fixture(&old_name) && !runnable::is_fixture(name)
            || was_skipped()
    }

    /// Whether the base declares that such files come from elsewhere, or has their vendored folder.
    fn base_accepts(&self, name: &str) -> bool {
        let attributes = self.files.attributes(&self.file.path);
        let is_marked = |mark: &AttributeMark| matches!(mark, AttributeMark::Marked(_));
        is_marked(&attributes.generated)
            || is_marked(&attributes.vendored)
            || known_names::vendored_packages(name)
                .any(|folder| self.files.had_folder(folder.as_bytes()) == Some(true))
    }
}

/// Whether a file with this name can run. A name without an extension may be a script.
fn runs(name: &str) -> bool {
    match runnable::by_path(name) {
        Runnable::Code | Runnable::Program => true,
        Runnable::Unknown => runnable::has_no_extension(name),
        Runnable::No => false,
    }
}

/// The path that a symlink points to. None if it is outside of the repository.
fn link_target(link: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        return None;
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Addresses of submodules by path.
fn submodule_addresses(text: &str) -> BTreeMap<String, String> {
    let mut addresses = BTreeMap::new();
    let (mut path, mut url) = (None, None);
    for line in text.lines().map(str::trim).chain(["["]) {
        if line.starts_with('[') {
            if let (Some(path), Some(url)) = (path.take(), url.take()) {
                addresses.insert(path, url);
            }
            (path, url) = (None, None);
        } else if let Some((key, value)) = line.split_once('=') {
            let value = Some(value.trim().trim_matches('"').to_owned());
            match key.trim() {
                "path" => path = value,
                "url" => url = value,
                _ => {}
            }
        }
    }
    addresses
}
