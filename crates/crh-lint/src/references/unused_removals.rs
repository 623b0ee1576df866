//! Files that have lost nothing that anybody uses, as far as the touched statements tell: no tree of a whole file is needed to know.
//!
//! Invariant: what is set aside here would have come to nothing. Of the touched statements' names more than were lost are followed, never fewer, and
//! a line counts as a use unless it only defines.

use std::collections::{BTreeSet, HashSet};

use super::members;
use super::reason::{Family, Reason, is_foreign};
use super::uses::HITS_MAX;
use crate::touched::{Shown, touched};
use crate::{ChangedFile, HitLine, Project, source};
use crh_review::finding::Side;
use crh_syntax::{Language, OfferKind, Parsed, Surface};

/// A longer line is no plain definition.
const DEFINITION_BYTES_MAX: usize = 1_000;

/// The reasons, without those to look for lost names where no file uses any that may be lost.
pub(super) fn worth_following<'a>(
    project: &dyn Project,
    reasons: Vec<Reason<'a>>,
) -> Vec<Reason<'a>> {
    let names: Vec<Option<BTreeSet<String>>> =
        reasons.iter().map(|reason| may_be_lost(project, reason)).collect();
    let all: BTreeSet<&str> = names.iter().flatten().flatten().map(String::as_str).collect();
    let Some(used) = used(project, &all) else { return reasons };
    let is_used = |names: BTreeSet<String>| names.iter().any(|name| used.contains(name.as_str()));
    let followed: Vec<bool> = names.iter().map(|names| names.clone().is_none_or(is_used)).collect();
    let reasons = reasons.into_iter().zip(followed);
    let reasons = reasons
        .map(|(reason, is_followed)| Reason { may_lose: reason.may_lose && is_followed, ..reason });
    reasons.filter(|it| it.may_lose || it.may_miss).collect()
}

/// Every name that a file may have lost, or that may be called with other arguments; none if only the whole file tells.
fn may_be_lost(project: &dyn Project, reason: &Reason<'_>) -> Option<BTreeSet<String>> {
    let file = reason.file;
    let stays = !file.is_deleted && file.before.as_deref() == Some(file.path.as_str());
    // In other languages a name can be taken from others by what stands far away from it.
    if !reason.may_lose
        || !stays
        || reason.family != Family::Python
        || members::loses_a_method(reason)
    {
        return None;
    }
    let texts = [Side::Old, Side::New].map(|side| text(project, side, file));
    let [Some(old), Some(new)] = texts else { return None };
    let [before, after] = touched(Language::Python, [&old, &new])?;
    let headers: [HashSet<&str>; 2] =
        [&before, &after].map(|it| it.statements().filter_map(header).collect());
    let is_same = |statement: &str, others: &HashSet<&str>| {
        // What a function declares to be the module's is the module's.
        header(statement).is_some_and(|it| others.contains(it)) && !statement.contains("global")
    };
    let before =
        before.alone(|it| if is_same(it, &headers[1]) { Shown::Nothing } else { shown(it) });
    if before.trim().is_empty() {
        return Some(BTreeSet::new());
    }
    let after = after.alone(|it| if is_same(it, &headers[0]) { Shown::Nothing } else { shown(it) });
    let (before, after) = (surface(&before)?, surface(&after)?);
    let gone = before.offers.into_iter().filter(|it| {
        !after.offers.iter().any(|kept| {
            kept.name == it.name
                && kept.within == it.within
                && kept.is_exported >= it.is_exported
                && kept.shape == it.shape
                && (it.shape.is_some() || !may_have_shape(it.kind))
        })
    });
    Some(gone.map(|it| it.name).collect())
}

/// Whether something that is called may take what it takes by a statement elsewhere, such as the import of its decorator.
fn may_have_shape(kind: OfferKind) -> bool {
    match kind {
        OfferKind::Function | OfferKind::Type => true,
        OfferKind::Implementer
        | OfferKind::Enumeration
        | OfferKind::OpenType
        | OfferKind::Module
        | OfferKind::Value
        | OfferKind::PassedOn => false,
    }
}

fn text(project: &dyn Project, side: Side, file: &ChangedFile) -> Option<String> {
    source::text(project.file(side, &file.path).ok()??)
}

fn surface(text: &str) -> Option<Surface> {
    let parsed = Parsed::new(Language::Python, text).ok()?;
    parsed.surface().filter(|surface| !surface.has_errors)
}

/// What tells the names that a module has by a statement: of most functions their header.
fn shown(statement: &str) -> Shown {
    let is_told_inside = ["global", "__getattr__"].iter().any(|it| statement.contains(it));
    let header = header(statement).filter(|_| !is_told_inside);
    // A comment before it may say the same, behind its sign.
    let starts_line = |at: usize| at == 0 || statement.as_bytes()[at - 1] == b'\n';
    let end = header.and_then(|header| {
        let mut places = statement.match_indices(header);
        places.find(|(at, _)| starts_line(*at)).map(|(at, it)| at + it.len())
    });
    end.map_or(Shown::All, |end| Shown::Header { end })
}

/// The first line of a function that begins with its name and has all of its parameters there: whatever is below it, that is what the module has by
/// that name.
fn header(statement: &str) -> Option<&str> {
    let line = statement.lines().find(|it| !it.is_empty() && !it.starts_with('#'))?.trim_end();
    let is_function = line.starts_with("def ") || line.starts_with("async def ");
    let count = |sign: char| line.matches(sign).count();
    let is_closed = count('(') == count(')') && count('[') == count(']');
    let is_plain = !line.contains(['"', '\'', '{', '#', '\\']) || is_plainly_ended(line);
    (is_function && is_closed && is_plain && line.ends_with(':')).then_some(line)
}

/// Whether the quotes of a line come in pairs with nothing but letters in them.
fn is_plainly_ended(line: &str) -> bool {
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

/// Those of the names that code uses; none if that cannot be told.
fn used<'n>(project: &dyn Project, names: &BTreeSet<&'n str>) -> Option<HashSet<&'n str>> {
    let words: Vec<&str> = names.iter().copied().filter(|it| !it.is_empty()).collect();
    if words.is_empty() {
        return Some(HashSet::new());
    }
    let hits = project.search(Side::New, &words, HITS_MAX).ok().filter(|it| it.is_all)?;
    let mut used = HashSet::new();
    let in_code =
        |it: &&HitLine| Family::of(&it.path) == Some(Family::Python) && !is_foreign(&it.path);
    for line in hits.lines.iter().filter(in_code) {
        let mut found = line
            .text
            .split(|it: char| !(it.is_alphanumeric() || it == '_'))
            .filter_map(|it| names.get(it))
            .peekable();
        // The search has another idea of a word.
        found.peek()?;
        used.extend(found.filter(|it| !only_defines(&line.text, it)));
    }
    Some(used)
}

/// Whether a line does nothing with a name but define it.
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
    fn the_header_of_a_function_is_a_line_that_says_all_about_its_parameters() {
        let known = ["def f():", "async def f(a, *, b=(1, 2)) -> list[int]:", "def f(a=\"b\"):"];
        for line in known {
            let statement = format!("# why\n\n{line}\n    return 1\n");
            assert_eq!(header(&statement), Some(line));
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
            assert_eq!(header(&format!("{line}\n    return 1\n")), None, "{line}");
        }
    }

    #[test]
    fn of_most_functions_the_header_is_shown() {
        let header = "# def f(a):\ndef f(a):";
        let statement = format!("{header}\n    return a\n");
        assert_eq!(shown(&statement), Shown::Header { end: header.len() });
        for statement in [
            "def f(a):\n    global b\n    b = a\n",
            "def __getattr__(name):\n    raise AttributeError\n",
            "@d\ndef f(a):\n    return a\n",
            "x = 1\n",
        ] {
            assert_eq!(shown(statement), Shown::All, "{statement}");
        }
    }

    #[test]
    fn a_line_that_has_a_name_only_to_define_it_is_no_use() {
        assert!(only_defines("    def load(self):", "load"));
        assert!(only_defines("class Load:", "Load"));
        for line in ["def load(load):", "def save(load):", "def loads():", "load()", "classload()"]
        {
            assert!(!only_defines(line, "load"), "{line}");
        }
    }
}
