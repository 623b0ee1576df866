//! Drops suspect files whose removed names no code uses. Only the changed statements are parsed,
//! because parsing whole files is slow.
//!
//! Invariant: a dropped file would have had no finding. Every removed name of the changed
//! statements is searched, and a line counts as a use unless it only defines the name.

use std::collections::{BTreeSet, HashSet};

use super::broken_uses::HITS_MAX;
use super::methods;
use super::suspects::{LanguageFamily, SuspectFile, is_excluded_path};
use crate::changed_statements::{StatementCache, StatementPart};
use crate::{ChangedFile, Project, SearchHit, paths, source};
use crh_review::finding::Side;
use crh_syntax::{DeclarationKind, Language, Surface, SyntaxTree};

/// Maximum bytes of a line that may be a plain definition. A longer line counts as a use.
const DEFINITION_BYTES_MAX: usize = 1_000;

/// Clears `may_remove_names` of files whose possibly removed names no code uses. Then drops the
/// files that have no reason left to be checked.
pub(super) fn drop_files_without_uses<'a>(
    project: &dyn Project,
    cache: &StatementCache,
    suspects: Vec<SuspectFile<'a>>,
) -> Vec<SuspectFile<'a>> {
    let names: Vec<Option<BTreeSet<String>>> =
        suspects.iter().map(|suspect| possibly_removed_names(project, cache, suspect)).collect();
    let all_names: BTreeSet<&str> = names.iter().flatten().flatten().map(String::as_str).collect();
    let Some(used) = used_names(project, &all_names) else { return suspects };
    let is_used = |names: BTreeSet<String>| names.iter().any(|name| used.contains(name.as_str()));
    let followed_flags: Vec<bool> =
        names.iter().map(|names| names.clone().is_none_or(is_used)).collect();
    let suspects = suspects.into_iter().zip(followed_flags);
    let suspects = suspects.map(|(suspect, is_followed)| SuspectFile {
        may_remove_names: suspect.may_remove_names && is_followed,
        ..suspect
    });
    suspects.filter(|it| it.may_remove_names || it.may_miss_imports).collect()
}

/// Names that a file may have removed or whose parameters may have changed; `None` if the changed
/// statements do not suffice to tell.
fn possibly_removed_names(
    project: &dyn Project,
    cache: &StatementCache,
    suspect: &SuspectFile<'_>,
) -> Option<BTreeSet<String>> {
    let file = suspect.file;
    let keeps_path = !file.is_deleted && file.old_path.as_deref() == Some(file.path.as_str());
    // In other languages a statement elsewhere in the file can hide a name.
    if !suspect.may_remove_names
        || !keeps_path
        || suspect.family != LanguageFamily::Python
        || methods::may_remove_method(suspect)
    {
        return None;
    }
    let texts = [Side::Old, Side::New].map(|side| text(project, side, file));
    let [Some(old), Some(new)] = texts else { return None };
    let [old_statements, new_statements] =
        cache.changed_statements(Language::Python, [&old, &new])?;
    let headers: [HashSet<&str>; 2] = [&old_statements, &new_statements]
        .map(|it| it.statements().filter_map(function_header).collect());
    let has_same_header = |statement: &str, others: &HashSet<&str>| {
        // A function can define module names with `global`.
        function_header(statement).is_some_and(|it| others.contains(it))
            && !statement.contains("global")
    };
    let part = |statement: &str, others: &HashSet<&str>| match has_same_header(statement, others) {
        true => StatementPart::Nothing,
        false => relevant_part(statement),
    };
    let old_part = old_statements.render(|statement| part(statement, &headers[1]));
    if old_part.trim().is_empty() {
        return Some(BTreeSet::new());
    }
    let new_part = new_statements.render(|statement| part(statement, &headers[0]));
    let (old_surface, new_surface) = (surface(&old_part)?, surface(&new_part)?);
    let removed = old_surface.declarations.into_iter().filter(|declaration| {
        !new_surface.declarations.iter().any(|remaining| {
            remaining.name == declaration.name
                && remaining.container == declaration.container
                && remaining.is_exported >= declaration.is_exported
                && remaining.signature == declaration.signature
                && (declaration.signature.is_some() || !may_have_signature(declaration.kind))
        })
    });
    Some(removed.map(|it| it.name).collect())
}

/// Whether a declaration of this kind may get parameters from a statement elsewhere, such as the
/// import of a decorator.
fn may_have_signature(kind: DeclarationKind) -> bool {
    match kind {
        DeclarationKind::Function | DeclarationKind::Type => true,
        DeclarationKind::Implementer
        | DeclarationKind::Enumeration
        | DeclarationKind::OpenType
        | DeclarationKind::Module
        | DeclarationKind::Value
        | DeclarationKind::Reexport => false,
    }
}

fn text(project: &dyn Project, side: Side, file: &ChangedFile) -> Option<String> {
    source::text(project.file(side, &file.path).ok()??)
}

fn surface(text: &str) -> Option<Surface> {
    let tree = SyntaxTree::new(Language::Python, text).ok()?;
    tree.surface().filter(|surface| !surface.has_errors)
}

/// The part of a statement that can define names of the module. For most functions this is the
/// header.
fn relevant_part(statement: &str) -> StatementPart {
    let may_define_names = ["global", "__getattr__"].iter().any(|it| statement.contains(it));
    let header = function_header(statement).filter(|_| !may_define_names);
    // A comment above the function may contain the same text as the header.
    let starts_line = |at: usize| at == 0 || statement.as_bytes()[at - 1] == b'\n';
    let end = header.and_then(|header| {
        let mut matches = statement.match_indices(header);
        matches.find(|(at, _)| starts_line(*at)).map(|(at, it)| at + it.len())
    });
    end.map_or(StatementPart::All, |end| StatementPart::Header { end })
}

/// The first line of a function, if the line contains all parameters. If it is unchanged, the
/// module still exports the same function signature.
fn function_header(statement: &str) -> Option<&str> {
    let line = statement.lines().find(|it| !it.is_empty() && !it.starts_with('#'))?.trim_end();
    let is_function = line.starts_with("def ") || line.starts_with("async def ");
    let count = |sign: char| line.matches(sign).count();
    let is_closed = count('(') == count(')') && count('[') == count(']');
    let is_plain = !line.contains(['"', '\'', '{', '#', '\\']) || has_plain_strings(line);
    (is_function && is_closed && is_plain && line.ends_with(':')).then_some(line)
}

/// Whether the quotes of a line are balanced and contain only plain characters.
fn has_plain_strings(line: &str) -> bool {
    let mut parts = line.split('"');
    let is_plain = |code: &str| !code.contains(['\'', '{', '#', '\\']);
    let mut count = 0;
    let all_plain = parts.all(|part| {
        count += 1;
        match count % 2 {
            1 => is_plain(part),
            _ => part.chars().all(|it| it.is_alphanumeric() || "_-. ".contains(it)),
        }
    });
    all_plain && count % 2 == 1
}

/// The names that code uses; `None` if the search was incomplete or split words differently.
fn used_names<'n>(project: &dyn Project, names: &BTreeSet<&'n str>) -> Option<HashSet<&'n str>> {
    let words: Vec<&str> = names.iter().copied().filter(|it| !it.is_empty()).collect();
    if words.is_empty() {
        return Some(HashSet::new());
    }
    let hits = project.search(Side::New, &words, HITS_MAX).ok().filter(|it| it.is_complete)?;
    let mut used = HashSet::new();
    let in_code = |hit: &&SearchHit| {
        let is_python = LanguageFamily::from_path(&hit.path) == Some(LanguageFamily::Python);
        // A file without an extension may be a script.
        (is_python || paths::extension(&hit.path).is_empty()) && !is_excluded_path(&hit.path)
    };
    for hit in hits.lines.iter().filter(in_code) {
        let mut names_in_line = hit
            .text
            .split(|it: char| !(it.is_alphanumeric() || it == '_'))
            .filter_map(|it| names.get(it))
            .peekable();
        // The line contains none of the names, so the search splits words differently. Then its
        // result is not reliable.
        names_in_line.peek()?;
        used.extend(names_in_line.filter(|it| !is_plain_definition(&hit.text, it)));
    }
    Some(used)
}

/// Whether a line only defines a name.
fn is_plain_definition(line: &str, name: &str) -> bool {
    let code = line.trim_start();
    let rest = ["def ", "async def ", "class "].iter().find_map(|it| code.strip_prefix(it));
    let rest = rest.and_then(|it| it.trim_start().strip_prefix(name));
    line.len() <= DEFINITION_BYTES_MAX
        && rest.is_some_and(|it| it.starts_with(['(', ':', ' ']) && !it.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_header_has_all_parameters_on_one_line() {
        let known = ["def f():", "async def f(a, *, b=(1, 2)) -> list[int]:", "def f(a=\"b\"):"];
        for line in known {
            let statement = format!("# why\n\n{line}\n    return 1\n");
            assert_eq!(function_header(&statement), Some(line));
        }
        #[rustfmt::skip]
        let others = [
            "def f(", "def f(a=[", "@d\ndef f():", "class A:", "def f(): return 1", "def f(a='('):", "def f(a=\")\"):",
            "def f():  # a:", "x = 1",
        ];
        for line in others {
            assert_eq!(function_header(&format!("{line}\n    return 1\n")), None, "{line}");
        }
    }

    #[test]
    fn most_functions_are_reduced_to_their_header() {
        let header = "# def f(a):\ndef f(a):";
        let statement = format!("{header}\n    return a\n");
        assert_eq!(relevant_part(&statement), StatementPart::Header { end: header.len() });
        for statement in [
            "def f(a):\n    global b\n    b = a\n",
            "def __getattr__(name):\n    raise AttributeError\n",
            "@d\ndef f(a):\n    return a\n",
            "x = 1\n",
        ] {
            assert_eq!(relevant_part(statement), StatementPart::All, "{statement}");
        }
    }

    #[test]
    fn definition_line_is_not_a_use() {
        assert!(is_plain_definition("    def load(self):", "load"));
        assert!(is_plain_definition("class Load:", "Load"));
        for line in ["def load(load):", "def save(load):", "def loads():", "load()", "classload()"]
        {
            assert!(!is_plain_definition(line, "load"), "{line}");
        }
    }
}
