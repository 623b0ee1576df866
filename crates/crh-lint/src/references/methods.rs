//! Methods that a class has lost and still calls on itself, in Python, JavaScript and TypeScript.

use super::repo_index::RepoIndex;
use super::suspects::{LanguageFamily, SuspectFile, is_method};
use super::{REMOVED, messages};
use crate::findings::FindingDraft;
use crh_review::finding::Side;
use crh_syntax::{ClassMembers, Language, SyntaxTree};

/// A method name on more lines is an ordinary word.
const HITS_MAX: usize = 500;

/// Reports calls of methods that their class no longer has.
pub(super) fn find_removed_methods(
    repo: &RepoIndex<'_>,
    suspects: &[SuspectFile<'_>],
    found: &mut Vec<FindingDraft>,
) {
    for suspect in suspects.iter().filter(|it| it.may_remove_names && may_remove_method(it)) {
        let file = suspect.file;
        let Some(before) = file.old_path.as_deref() else { continue };
        let texts = [(Side::Old, before), (Side::New, file.path.as_str())]
            .map(|(side, path)| repo.source(side, path).filter(|it| !it.surface.has_errors));
        let [Some(old), Some(new)] = texts else { continue };
        let Some(language) = Language::from_path(&file.path) else { continue };
        let [Ok(was), Ok(is)] = [&old.text, &new.text].map(|text| SyntaxTree::new(language, text))
        else {
            continue;
        };
        let was = was.classes();
        for class in is.classes().iter().filter(|it| !it.has_hidden_members) {
            let mut same = was.iter().filter(|it| it.name == class.name && !it.has_hidden_members);
            let (Some(was), None) = (same.next(), same.next()) else { continue };
            for gone in removed_methods(was, class) {
                let name = gone.name;
                if is_defined_nowhere(repo, suspect.family, name) {
                    let call = (file.path.clone(), gone.call, new.line(gone.call).to_owned());
                    let found_at =
                        messages::draft_in_place_of(repo, &REMOVED, file, gone.definition);
                    found.push(FindingDraft { witnesses: vec![call], ..found_at }.with_text(
                        format!("`{}` still calls its removed method `{name}`", class.name),
                        format!("The change removes `{name}` from `{}`, which has no superclass and still calls it at `{}:{}`. That call fails.", class.name, file.path, gone.call),
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
    /// Old line of the definition.
    definition: u32,
    /// The first line that calls it.
    call: u32,
}

fn removed_methods<'c>(was: &ClassMembers, class: &'c ClassMembers) -> Vec<RemovedMethod<'c>> {
    let mut removed: Vec<RemovedMethod<'c>> = Vec::new();
    for (name, call) in &class.calls {
        let definition_before = was.methods.iter().find(|it| it.0 == *name);
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

/// Whether no other code defines the name or writes it as a string: a subclass may define it.
fn is_defined_nowhere(repo: &RepoIndex<'_>, family: LanguageFamily, name: &str) -> bool {
    let Ok(hits) = repo.project.search(Side::New, &[name], HITS_MAX) else { return false };
    let may_define = |text: &str| {
        text.match_indices(name).any(|(at, _)| {
            let (before, behind) = (&text[..at], text[at + name.len()..].trim_start());
            let is_reached = before.ends_with('.');
            let is_quoted = before.ends_with(['"', '\'', '`']);
            is_quoted || !is_reached && (behind.starts_with(['(', '=', ':', '<', '?']))
        })
    };
    let code = hits.lines.iter().filter(|it| LanguageFamily::from_path(&it.path) == Some(family));
    hits.is_complete && !code.into_iter().any(|it| may_define(&it.text))
}
