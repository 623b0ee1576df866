//! Drops files whose removed names are not used anywhere, judged by the changed statements alone,
//! so that no whole file has to be parsed.
//!
//! Invariant: a dropped file would have had no finding. Of the changed statements' names, at least
//! all removed ones are followed, and a line counts as a use unless it only defines the name.

use std::collections::{BTreeSet, HashSet};

use super::broken_uses::HITS_MAX;
use super::methods;
use super::suspects::{LanguageFamily, SuspectFile, is_foreign};
use crate::changed_statements::{StatementPart, changed_statements};
use crate::{ChangedFile, Project, SearchHit, source};
use crh_review::finding::Side;
use crh_syntax::{DeclarationKind, Language, Surface, SyntaxTree};

/// Longer lines are not plain definitions.
const DEFINITION_BYTES_MAX: usize = 1_000;

/// Clears `may_remove_names` of files whose possibly removed names no file uses, and drops files
/// without any reason left.
pub(super) fn drop_unused<'a>(
    project: &dyn Project,
    suspects: Vec<SuspectFile<'a>>,
) -> Vec<SuspectFile<'a>> {
    let names: Vec<Option<BTreeSet<String>>> =
        suspects.iter().map(|reason| possibly_removed_names(project, reason)).collect();
    let all: BTreeSet<&str> = names.iter().flatten().flatten().map(String::as_str).collect();
    let Some(used) = used_names(project, &all) else { return suspects };
    let is_used = |names: BTreeSet<String>| names.iter().any(|name| used.contains(name.as_str()));
    let followed: Vec<bool> = names.iter().map(|names| names.clone().is_none_or(is_used)).collect();
    let suspects = suspects.into_iter().zip(followed);
    let suspects = suspects.map(|(reason, is_followed)| SuspectFile {
        may_remove_names: reason.may_remove_names && is_followed,
        ..reason
    });
    suspects.filter(|it| it.may_remove_names || it.may_miss_imports).collect()
}

/// Names that a file may have removed or whose parameters may have changed; `None` if only the
/// whole file can tell.
fn possibly_removed_names(
    project: &dyn Project,
    suspect: &SuspectFile<'_>,
) -> Option<BTreeSet<String>> {
    let file = suspect.file;
    let stays = !file.is_deleted && file.old_path.as_deref() == Some(file.path.as_str());
    // In other languages a distant statement can hide a name.
    if !suspect.may_remove_names
        || !stays
        || suspect.family != LanguageFamily::Python
        || methods::may_remove_method(suspect)
    {
        return None;
    }
    let texts = [Side::Old, Side::New].map(|side| text(project, side, file));
    let [Some(old), Some(new)] = texts else { return None };
    let [before, after] = changed_statements(Language::Python, [&old, &new])?;
    let headers: [HashSet<&str>; 2] =
        [&before, &after].map(|it| it.statements().filter_map(function_header).collect());
    let is_same = |statement: &str, others: &HashSet<&str>| {
        // A function can define module names with `global`.
        function_header(statement).is_some_and(|it| others.contains(it))
            && !statement.contains("global")
    };
    let before = before.render(|it| {
        if is_same(it, &headers[1]) { StatementPart::Nothing } else { relevant_part(it) }
    });
    if before.trim().is_empty() {
        return Some(BTreeSet::new());
    }
    let after = after.render(|it| {
        if is_same(it, &headers[0]) { StatementPart::Nothing } else { relevant_part(it) }
    });
    let (before, after) = (surface(&before)?, surface(&after)?);
    let gone = before.declarations.into_iter().filter(|it| {
        !after.declarations.iter().any(|kept| {
            kept.name == it.name
                && kept.within == it.within
                && kept.is_exported >= it.is_exported
                && kept.signature == it.signature
                && (it.signature.is_some() || !may_have_signature(it.kind))
        })
    });
    Some(gone.map(|it| it.name).collect())
}

/// Whether parameters may depend on a statement elsewhere, such as the import of a decorator.
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
    let parsed = SyntaxTree::new(Language::Python, text).ok()?;
    parsed.surface().filter(|surface| !surface.has_errors)
}

/// The part of a statement that defines module names: for most functions the header.
fn relevant_part(statement: &str) -> StatementPart {
    let is_told_inside = ["global", "__getattr__"].iter().any(|it| statement.contains(it));
    let header = function_header(statement).filter(|_| !is_told_inside);
    // A comment above may contain the same text.
    let starts_line = |at: usize| at == 0 || statement.as_bytes()[at - 1] == b'\n';
    let end = header.and_then(|header| {
        let mut places = statement.match_indices(header);
        places.find(|(at, _)| starts_line(*at)).map(|(at, it)| at + it.len())
    });
    end.map_or(StatementPart::All, |end| StatementPart::Header { end })
}

/// The first line of a function if it contains all parameters. It fixes what the module exports by
/// that name.
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
    let all = parts.all(|part| {
        count += 1;
        match count % 2 {
            1 => is_plain(part),
            _ => part.chars().all(|it| it.is_alphanumeric() || "_-. ".contains(it)),
        }
    });
    all && count % 2 == 1
}

/// The names that code uses; `None` if that cannot be determined.
fn used_names<'n>(project: &dyn Project, names: &BTreeSet<&'n str>) -> Option<HashSet<&'n str>> {
    let words: Vec<&str> = names.iter().copied().filter(|it| !it.is_empty()).collect();
    if words.is_empty() {
        return Some(HashSet::new());
    }
    let hits = project.search(Side::New, &words, HITS_MAX).ok().filter(|it| it.is_complete)?;
    let mut used = HashSet::new();
    let in_code = |it: &&SearchHit| {
        LanguageFamily::from_path(&it.path) == Some(LanguageFamily::Python) && !is_foreign(&it.path)
    };
    for line in hits.lines.iter().filter(in_code) {
        let mut found = line
            .text
            .split(|it: char| !(it.is_alphanumeric() || it == '_'))
            .filter_map(|it| names.get(it))
            .peekable();
        // The search has another definition of a word.
        found.peek()?;
        used.extend(found.filter(|it| !only_defines(&line.text, it)));
    }
    Some(used)
}

/// Whether a line only defines a name.
fn only_defines(line: &str, name: &str) -> bool {
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
        for line in [
            "def f(",
            "def f(a=[",
            "@d\ndef f():",
            "class A:",
            "def f(): return 1",
            "def f(a='('):",
            "def f(a=\")\"):",
            "def f():  # a:",
            "x = 1",
        ] {
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
        assert!(only_defines("    def load(self):", "load"));
        assert!(only_defines("class Load:", "Load"));
        for line in ["def load(load):", "def save(load):", "def loads():", "load()", "classload()"]
        {
            assert!(!only_defines(line, "load"), "{line}");
        }
    }
}
