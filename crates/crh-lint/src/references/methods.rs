//! Methods that a class no longer has and still calls on itself, in Python, JavaScript and
//! TypeScript.

use super::messages::draft_in_place_of;
use super::repo_index::RepoIndex;
use super::rules::REMOVED;
use super::suspects::{LanguageFamily, SuspectFile, is_method};
use crate::findings::FindingDraft;
use crh_review::finding::Side;
use crh_syntax::{ClassMembers, SyntaxTree};

/// Maximum lines with the name of a method. A name on more lines is an ordinary word, and its
/// method is not reported.
const HITS_MAX: usize = 500;

/// Reports calls of methods that their class no longer has.
pub(super) fn find_removed_methods(
    repo: &RepoIndex<'_>,
    suspects: &[SuspectFile<'_>],
    findings: &mut Vec<FindingDraft>,
) {
    for suspect in suspects.iter().filter(|it| it.may_remove_names && may_remove_method(it)) {
        let file = suspect.file;
        let Some(old_path) = file.old_path.as_deref() else { continue };
        let texts = [(Side::Old, old_path), (Side::New, file.path.as_str())]
            .map(|(side, path)| repo.source(side, path).filter(|it| !it.surface.has_errors));
        let [Some(old), Some(new)] = texts else { continue };
        let Some(language) = repo.language(Side::New, &file.path) else { continue };
        let [Ok(old_tree), Ok(new_tree)] =
            [&old.text, &new.text].map(|text| SyntaxTree::new(language, text))
        else {
            continue;
        };
        let old_classes = old_tree.classes();
        for class in new_tree.classes().iter().filter(|it| !it.has_hidden_members) {
            let mut same_name =
                old_classes.iter().filter(|it| it.name == class.name && !it.has_hidden_members);
            let (Some(old_class), None) = (same_name.next(), same_name.next()) else { continue };
            for method in removed_methods(old_class, class) {
                let name = method.name;
                if is_defined_nowhere(repo, suspect.family, name) {
                    let call = (file.path.clone(), method.call, new.line(method.call).to_owned());
                    let draft = draft_in_place_of(repo, &REMOVED, file, method.definition);
                    findings.push(FindingDraft { witnesses: vec![call], ..draft }.with_text(
                        format!("`{}` still calls its removed method `{name}`", class.name),
                        format!("The change removes `{name}` from `{}`, which has no superclass and still calls it at `{}:{}`. That call fails.", class.name, file.path, method.call),
                        format!("Keep `{name}`, or change the call."),
                    ));
                }
            }
        }
    }
}

/// Whether the diff may remove a method.
pub(super) fn may_remove_method(suspect: &SuspectFile<'_>) -> bool {
    let mut removed = suspect.file.removed.iter().filter_map(|it| std::str::from_utf8(it).ok());
    !suspect.file.is_deleted && removed.any(|it| is_method(suspect.family, it))
}

/// A method that a class calls and no longer has.
struct RemovedMethod<'c> {
    name: &'c str,
    /// Line of the definition in the old text.
    definition: u32,
    /// Line of the first call in the new text.
    call: u32,
}

fn removed_methods<'c>(
    old_class: &ClassMembers,
    class: &'c ClassMembers,
) -> Vec<RemovedMethod<'c>> {
    let mut removed: Vec<RemovedMethod<'c>> = Vec::new();
    for (name, call) in &class.calls {
        let definition_before = old_class.methods.iter().find(|it| it.0 == *name);
        let Some((_, definition)) = definition_before.filter(|_| !class.names.contains(name))
        else {
            continue;
        };
        if !removed.iter().any(|it| it.name == name) {
            removed.push(RemovedMethod { name, definition: *definition, call: *call });
        }
    }
    removed
}

/// Whether no code defines the name or writes it as a string. A subclass may define a method, and a
/// string may be used for reflection.
fn is_defined_nowhere(repo: &RepoIndex<'_>, family: LanguageFamily, name: &str) -> bool {
    let Ok(hits) = repo.project.search(Side::New, &[name], HITS_MAX) else { return false };
    let may_define = |text: &str| {
        text.match_indices(name).any(|(at, _)| {
            let (before, after) = (&text[..at], text[at + name.len()..].trim_start());
            let is_member_access = before.ends_with('.');
            let is_quoted = before.ends_with(['"', '\'', '`']);
            is_quoted || !is_member_access && (after.starts_with(['(', '=', ':', '<', '?']))
        })
    };
    let code = hits.lines.iter().filter(|it| LanguageFamily::from_path(&it.path) == Some(family));
    hits.is_complete && !code.into_iter().any(|it| may_define(&it.text))
}
