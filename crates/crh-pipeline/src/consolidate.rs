//! Merge: findings become issues, held against the files they quote.

use std::collections::BTreeSet;

use crh_review::Merged;
use crh_review::Remembered;
use crh_review::Sources;
use crh_review::SymbolSpan;
use crh_review::finding::Member;
use crh_review::finding::Side;
use crh_syntax::SymbolKind;

use crate::code::Code;
use crate::subject::Subject;

/// Merges findings. Quotes are looked up in the diff and in the files of base and head.
pub fn consolidate(members: Vec<Member>, subject: &Subject, remembered: &Remembered) -> Merged {
    let sources = sources(&members, subject);
    // Pairs that may be one issue stay apart until somebody decides about them.
    crh_review::consolidate(members, &sources, remembered, &BTreeSet::new())
}

/// The diff, the text of every file that a finding cites, and the functions and types of those that the change has to
/// do with. Other files are read for nothing but their quotes.
fn sources(members: &[Member], subject: &Subject) -> Sources {
    let mut sources = Sources::new(subject.diff.as_ref().clone());
    let code = Code::of(subject);
    for path in cited(members, &sources) {
        for side in [Side::Old, Side::New] {
            let Some(bytes) = code.bytes(side, &path) else { continue };
            if code.is_changed(&path) {
                sources = sources.with_symbols(side, &path, spans(&code, side, &path));
            }
            sources = sources.with_file(side, &path, bytes);
        }
    }
    sources
}

/// The files that findings cite, each once, by the path it has after the change.
fn cited(members: &[Member], sources: &Sources) -> BTreeSet<String> {
    let mut written = BTreeSet::new();
    for Member { finding, .. } in members {
        let quoted = finding.evidence.iter().filter_map(|piece| piece.file.as_deref());
        written.extend(quoted.chain([finding.file.as_str()]));
    }
    written.into_iter().map(|path| sources.current_path(path)).collect()
}

/// The functions and types of a file; none if it has no grammar or cannot be parsed. A module is no place: everything
/// in the file may be in it.
fn spans(code: &Code<'_>, side: Side, path: &str) -> Vec<SymbolSpan> {
    let Some(symbols) = code.symbols(side, path) else { return Vec::new() };
    let is_place = |kind: SymbolKind| match kind {
        SymbolKind::Function | SymbolKind::Method | SymbolKind::Type => true,
        SymbolKind::Module => false,
    };
    let places = symbols.all().iter().filter(|symbol| is_place(symbol.kind));
    places
        .map(|symbol| SymbolSpan {
            name: symbol.name.clone(),
            start: symbol.start,
            end: symbol.end,
        })
        .collect()
}
