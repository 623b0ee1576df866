//! Decides whether a review is complete without a file that is left out.
//!
//! New, moved or re-encoded content that can run must be read. The base accepts the rest: vendored
//! folders that it has, files that its attributes or settings mark, lock files, and submodules that
//! stay at their address.

use serde::Serialize;

use super::runnable::{self, Runnable};
use super::{
    AttributeMark, FileCase, FileRole, FileSource, LinkTarget, MODE_EXECUTABLE, MODE_LINK,
    MODE_SUBMODULE, ScopeDecision, ScopeRules, SkipReason, known_names, role, role_of_path,
    skip_reason_by_name,
};
use crh_review::diff::{FileChange, FileDiff, RepoPath};
use crh_review::finding::Side;

/// Maximum size of a file whose content crh reads to see whether it can run.
const READ_BYTES_MAX: u64 = 4_000_000;

/// Effect of unread content on the review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
    /// Whether there is no effect. Then the field is not serialised.
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
        let effect = |name: &str| match decision {
            ScopeDecision::In if self.moves_into_use(name) => SkipEffect::Incomplete,
            ScopeDecision::In => SkipEffect::Harmless,
            ScopeDecision::Out(reason) => self.skip_effect(name, reason),
        };
        let aliases = match decision {
            ScopeDecision::Out(reason) if reason.is_without_lines() => {
                self.links.aliases(self.file.path.as_bytes())
            }
            ScopeDecision::In | ScopeDecision::Out(_) => Vec::new(),
        };
        let aliases = aliases.iter().map(|alias| String::from_utf8_lossy(alias));
        let effect = aliases.map(|alias| effect(&alias)).fold(effect(name), SkipEffect::max);
        match effect {
            SkipEffect::Incomplete if self.can_accept(decision) && self.base_accepts(name) => {
                SkipEffect::Accepted
            }
            effect => effect,
        }
    }

    /// Whether the base can accept this decision: only for a skipped file, and not for a submodule,
    /// which is a repository of its own.
    fn can_accept(&self, decision: &ScopeDecision) -> bool {
        matches!(decision, ScopeDecision::Out(reason) if *reason != SkipReason::Submodule)
    }

    fn skip_effect(&self, name: &str, reason: &SkipReason) -> SkipEffect {
        match reason {
            // The user chose the paths.
            SkipReason::Excluded { .. }
            | SkipReason::OutsidePaths
            | SkipReason::Empty
            | SkipReason::ReviewedBefore { .. } => SkipEffect::Harmless,
            SkipReason::LfsPointer => self.lfs_effect(name),
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
                if self.is_new(reason) && self.is_script(name) || self.moves_into_use(name) =>
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

    /// Effect of a Git LFS pointer. A checkout replaces the pointer by content that crh does not
    /// have.
    fn lfs_effect(&self, name: &str) -> SkipEffect {
        match runnable::by_path(name) {
            _ if self.is_executable() => SkipEffect::Incomplete,
            Runnable::No => SkipEffect::Harmless,
            Runnable::Unknown if !may_run(name) => SkipEffect::Accepted,
            Runnable::Config | Runnable::Unknown if is_test(name) => SkipEffect::Accepted,
            Runnable::Code | Runnable::Program | Runnable::Config | Runnable::Unknown => {
                SkipEffect::Incomplete
            }
        }
    }

    /// Effect of a submodule. The base accepts that a submodule moves to another commit of the same
    /// repository.
    fn submodule_effect(&self) -> SkipEffect {
        let was_submodule = match (self.file.change, self.file.old_mode) {
            (FileChange::Added | FileChange::Copied | FileChange::Renamed, _) => false,
            // A diff that shows a submodule as a log does not show whether the submodule is new.
            (_, mode) => mode == Some(MODE_SUBMODULE),
        };
        let is_list = |file: &FileDiff| file.path.as_bytes() == b".gitmodules";
        let addresses_changed = || self.diff.files().iter().any(is_list);
        match was_submodule && !addresses_changed() {
            true => SkipEffect::Accepted,
            false => SkipEffect::Incomplete,
        }
    }

    /// Effect of a binary file. Git calls a file binary if it has a zero byte or an attribute says
    /// so. Scripts in UTF-16 have zero bytes, too. So a file is harmless only if both its name and
    /// its content are those of data.
    fn binary_effect(&self, name: &str) -> SkipEffect {
        let content = self.small_content();
        let is_data = match &content {
            Some(content) => runnable::has_data_content(content, self.is_executable()),
            None => !self.is_executable(),
        };
        let is_text = || content.as_deref().is_some_and(runnable::is_text);
        let has_zero_byte = || content.as_ref().is_none_or(|content| content.contains(&0));
        match self.runnable(name) {
            Runnable::No if is_data => SkipEffect::Harmless,
            Runnable::Code => SkipEffect::Incomplete,
            // Tests may need programs as data.
            _ if is_test(name) => SkipEffect::Accepted,
            Runnable::Program => SkipEffect::Incomplete,
            // An attribute of the base says that this text is binary.
            Runnable::Config | Runnable::Unknown if !has_zero_byte() => SkipEffect::Accepted,
            Runnable::Unknown if !may_run(name) && !is_text() => SkipEffect::Accepted,
            Runnable::Config | Runnable::Unknown | Runnable::No => SkipEffect::Incomplete,
        }
    }

    /// Content of the new file, unless it is large.
    fn small_content(&self) -> Option<Vec<u8>> {
        let size = self.files.size(Side::New, &self.file.path)?;
        let content = || self.files.content(Side::New, &self.file.path).ok().flatten();
        (size <= READ_BYTES_MAX).then(content).flatten()
    }

    fn is_executable(&self) -> bool {
        self.file.new_mode == Some(MODE_EXECUTABLE)
    }

    /// Whether the file can run, by its name. If the name does not show it, the mode and the
    /// content decide. For executable configuration and data, the content decides, too.
    fn runnable(&self, name: &str) -> Runnable {
        let by_content = || runnable::by_content(&self.small_content()?);
        match runnable::by_path(name) {
            known @ (Runnable::Code | Runnable::Program) => known,
            Runnable::Unknown if self.is_executable() => Runnable::Program,
            Runnable::Unknown => by_content().unwrap_or(Runnable::Unknown),
            known @ (Runnable::Config | Runnable::No) if self.is_executable() => {
                by_content().unwrap_or(known)
            }
            known @ (Runnable::Config | Runnable::No) => known,
        }
    }

    fn is_script(&self, name: &str) -> bool {
        match self.runnable(name) {
            Runnable::Code | Runnable::Program => true,
            Runnable::Config => runnable::is_hidden(name),
            Runnable::Unknown => may_run(name),
            Runnable::No => false,
        }
    }

    fn becomes_executable(&self) -> bool {
        let modes = (self.file.old_mode, self.file.new_mode);
        matches!(modes, (Some(old), Some(MODE_EXECUTABLE)) if old != MODE_EXECUTABLE)
    }

    /// Whether the file is new at its path. A generated file that moves is not. A vendored file
    /// that moves may belong to a new package.
    fn is_new(&self, reason: &SkipReason) -> bool {
        match self.file.change {
            FileChange::Added | FileChange::Copied => true,
            FileChange::Renamed => matches!(reason, SkipReason::VendoredFolder { .. }),
            FileChange::Modified | FileChange::Deleted => false,
        }
    }

    /// Whether the change lets unchanged lines run, by a move, a copy, a link or a mode. Reviewers
    /// read the changed lines only.
    fn moves_into_use(&self, name: &str) -> bool {
        match self.is_link() {
            true => self.links_into_use(name),
            false => self.comes_into_use(name),
        }
    }

    /// Whether a file did not run before the change and may run after it, because of a new name or
    /// because it becomes executable. Then its unchanged lines count as new. False for a link.
    pub(super) fn comes_into_use(&self, name: &str) -> bool {
        match (self.file.change, &self.file.old_path) {
            _ if self.is_link() => false,
            (FileChange::Renamed | FileChange::Copied, Some(old_path)) => {
                self.brings_into_use(name, old_path)
            }
            (FileChange::Modified, _) => self.becomes_executable() && self.is_script(name),
            _ => false,
        }
    }

    /// Whether the new file is a symlink. The diff of a moved file may not show its mode.
    fn is_link(&self) -> bool {
        match (self.file.change, self.file.new_mode) {
            (_, Some(mode)) => mode == MODE_LINK,
            (FileChange::Renamed | FileChange::Copied, None) => {
                self.links.is_link(self.file.path.as_bytes())
            }
            (_, None) => false,
        }
    }

    /// Whether a symlink gives a name that runs to a file that did not run, or to a file outside of
    /// the repository. Unchanged links that lead through this link give the file more names.
    fn links_into_use(&self, name: &str) -> bool {
        let path = self.file.path.as_bytes();
        let is_used = self.target_gets_used(name, &self.links.target(path));
        is_used
            || match self.links.links_through(path) {
                Some(names) => names.iter().any(|link| {
                    self.target_gets_used(&String::from_utf8_lossy(&link.path), &link.target)
                }),
                None => self.links.has_tree(),
            }
    }

    /// Whether a link with this name and target brings unread content into use.
    fn target_gets_used(&self, name: &str, target: &LinkTarget) -> bool {
        let LinkTarget::Inside(target) = target else {
            // The change does not show the content. The link counts as unused only if it is in a
            // folder of documentation or test data and has a name that does not run.
            return !runnable::is_out_of_use(name) || runs(name);
        };
        let is_brought_into_use = |end: &[u8]| {
            let old_path = match (target.as_slice(), end) {
                (target, []) => target.to_vec(),
                ([], end) => end.to_vec(),
                (target, end) => [target, b"/", end].concat(),
            };
            let name = match end {
                [] => name.to_owned(),
                end => format!("{name}/{}", String::from_utf8_lossy(end)),
            };
            self.brings_into_use(&name, &RepoPath::new(old_path))
        };
        if is_brought_into_use(b"") || self.links.is_file(target) {
            return is_brought_into_use(b"");
        }
        // The target may be a folder. `x` is an example of a file that the folder gets later.
        is_brought_into_use(b"x")
            || match self.links.files_below(target) {
                Some(files) => files.into_iter().any(is_brought_into_use),
                None => self.links.has_tree(),
            }
    }

    /// Whether content that did not run at its old path may run at its new one.
    fn brings_into_use(&self, name: &str, old_path: &RepoPath) -> bool {
        let old_name = &*String::from_utf8_lossy(old_path.as_bytes());
        let new_path = RepoPath::new(name.as_bytes());
        let kind = runnable::by_path(name);
        if kind == Runnable::No {
            return self.becomes_executable() && self.is_script(name);
        }
        let is_skipped = |name: &str, path: &RepoPath| {
            let ScopeRules { exclude, generated, .. } = self.rules;
            exclude.is_match(path.as_bytes())
                || generated.is_match(path.as_bytes())
                || skip_reason_by_name(name, &self.files.attributes(path)).is_some()
        };
        let is_large = || {
            let size = self.files.size(Side::Old, old_path);
            let size = size.or_else(|| self.files.size(Side::New, old_path));
            size.is_some_and(|bytes| bytes > self.rules.max_file_bytes)
        };
        let was_skipped =
            || !is_skipped(name, &new_path) && (is_skipped(old_name, old_path) || is_large());
        let becomes = |is: fn(&str) -> bool| is(name) && !is(old_name);
        becomes(runs)
            || becomes(is_setting_or_runs)
            || becomes(runnable::is_auto_run)
            || becomes(runnable::is_found_in_root)
            || becomes(runnable::is_hidden) && !role::instructs_agents(old_name)
            || becomes(crh_lint::is_in_use)
            || becomes(|name| !runnable::is_out_of_use(name))
            || becomes(|name| !runnable::is_template(name))
            || self.becomes_executable() && self.is_script(name)
            || was_skipped()
    }

    /// Whether the base marks the file as generated or vendored, or already has the folder of its
    /// vendored package.
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
        Runnable::Unknown => may_run(name),
        Runnable::Config | Runnable::No => false,
    }
}

fn is_setting_or_runs(name: &str) -> bool {
    runnable::by_path(name) == Runnable::Config || runs(name)
}

/// Whether a file of unknown kind may be a script or the settings of a tool.
fn may_run(name: &str) -> bool {
    runnable::has_no_extension(name) || runnable::is_hidden(name)
}

fn is_test(name: &str) -> bool {
    role_of_path(name) == FileRole::Test || runnable::is_fixture(name)
}
