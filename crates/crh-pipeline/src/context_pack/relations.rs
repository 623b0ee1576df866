//! Finds calls between changed functions. When crh divides a large change into parts, files that
//! call each other belong together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::changed::{enclosing_symbol, is_searchable, own_name, touched_lines_within};
use super::lookup::is_same_family;
use crate::assignment::DiffPart;
use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crh_review::finding::Side;
use crh_syntax::{Language, MentionRole, mentions};

/// Maximum number of parts with code; a part is a changed file or a piece of one. crh divides a
/// larger change by folders alone.
const FILES_MAX: usize = 1_000;
/// Maximum changed functions with the same name. crh ignores calls to a more common name, since the
/// callee is unclear.
const SAME_NAMES_MAX: usize = 4;

/// A changed function, with the index of its part.
struct PartFunction {
    part: usize,
    language: Language,
    name: String,
    lines: RangeInclusive<u32>,
}

/// Uses of changed functions in other changed functions (calls and `owner.name`), as indices of the
/// parts of user and used function. One entry per pair of functions.
pub(crate) fn related_functions(
    change: &ChangeUnderReview,
    parts: &[DiffPart],
) -> Vec<(usize, usize)> {
    let code_reader = CodeReader::new(change);
    let functions = changed_functions(change, parts, &code_reader);
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, function) in functions.iter().enumerate() {
        by_name.entry(own_name(&function.name)).or_default().push(index);
    }
    by_name.retain(|name, functions| is_searchable(name) && functions.len() <= SAME_NAMES_MAX);
    let names: BTreeSet<&str> = by_name.keys().copied().collect();
    let mut pairs = BTreeSet::new();
    for path in parts.iter().map(|part| part.path.as_str()).collect::<BTreeSet<_>>() {
        let own_functions: Vec<usize> = (0..functions.len())
            .filter(|index| parts[functions[*index].part].path == path)
            .collect();
        let text = code_reader.text(Side::New, path).filter(|_| !own_functions.is_empty());
        let Some((text, language)) = text.zip(Language::from_path(path)) else { continue };
        for mention in mentions(language, &text, &names).unwrap_or_default() {
            match mention.role {
                MentionRole::Called | MentionRole::Member { .. } => {}
                MentionRole::Named
                | MentionRole::Destructured
                | MentionRole::Imported
                | MentionRole::Read => continue,
            }
            let contains_line = |index: &&usize| functions[**index].lines.contains(&mention.line);
            let Some(caller) = own_functions.iter().rfind(contains_line) else { continue };
            let callees = by_name.get(mention.name.as_str());
            pairs.extend(callees.into_iter().flatten().map(|callee| (*caller, *callee)));
        }
    }
    let is_related = |(caller, callee): &(usize, usize)| {
        let (caller, callee) = (&functions[*caller], &functions[*callee]);
        is_same_family(Some(caller.language), Some(callee.language))
    };
    let pairs = pairs.into_iter().filter(|(caller, callee)| caller != callee).filter(is_related);
    pairs.map(|(caller, callee)| (functions[caller].part, functions[callee].part)).collect()
}

/// Functions and small types (see `enclosing_symbol`) with changed lines in these parts. Empty if
/// there are too many files.
fn changed_functions(
    change: &ChangeUnderReview,
    parts: &[DiffPart],
    code_reader: &CodeReader<'_>,
) -> Vec<PartFunction> {
    let mut functions: Vec<PartFunction> = Vec::new();
    let is_code = |part: &&DiffPart| Language::from_path(&part.path).is_some();
    if parts.iter().filter(is_code).count() > FILES_MAX {
        return functions;
    }
    for (part, DiffPart { path, diff_lines }) in parts.iter().enumerate() {
        let Some(language) = Language::from_path(path) else { continue };
        let Some((_, file)) = change.file(path) else { continue };
        let Some(symbols) = code_reader.symbols(Side::New, path) else { continue };
        let diff_lines = diff_lines.map_or(0..=u32::MAX, |(first, last)| first..=last);
        let mut starts = BTreeSet::new();
        for line in touched_lines_within(&change.diff, file, &diff_lines) {
            let Some(symbol) = enclosing_symbol(&symbols, line) else { continue };
            if starts.insert(symbol.start) {
                let (name, lines) = (symbol.name.clone(), symbol.start..=symbol.end);
                functions.push(PartFunction { part, language, name, lines });
            }
        }
    }
    functions
}
