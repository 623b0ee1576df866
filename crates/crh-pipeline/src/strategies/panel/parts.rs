//! Signatures of the other parts of a large change. They show the reviewer of one part which code
//! exists in the others.

use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::plan::DiffPart;
use crate::text::cut;
use crh_review::finding::Side;
use crh_syntax::SymbolKind;

/// Maximum characters of signatures: an eighth of the diff of a part.
const SIGNATURES_CHARS: usize = 15_000;
/// Maximum characters of a signature.
const LINE_CHARS: usize = 200;

/// Functions and types of the changed files outside this part, one per line, as declared at head.
pub(crate) fn signatures(change: &ChangeUnderReview, own_parts: &[DiffPart]) -> String {
    let code = CodeReader::new(change);
    let (mut text, mut left_out_count) = (String::new(), 0_usize);
    for (scope, _) in change.files() {
        let path = scope.path.shown();
        if own_parts.iter().any(|part| part.path == path) {
            continue;
        }
        for line in declarations(&code, &path) {
            let entry = format!("{path}: {line}\n");
            if left_out_count == 0 && text.len() + entry.len() <= SIGNATURES_CHARS {
                text.push_str(&entry);
            } else {
                left_out_count += 1;
            }
        }
    }
    if left_out_count > 0 {
        text.push_str(&format!("[{left_out_count} more]\n"));
    }
    text
}

/// First lines of the functions and types of a file.
fn declarations(code: &CodeReader<'_>, path: &str) -> Vec<String> {
    let Some(symbols) = code.symbols(Side::New, path) else { return Vec::new() };
    let Some(bytes) = code.bytes(Side::New, path) else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let is_declared = |kind: SymbolKind| match kind {
        SymbolKind::Function | SymbolKind::Method | SymbolKind::Type => true,
        SymbolKind::Module => false,
    };
    let declared_symbols = symbols.all().iter().filter(|symbol| is_declared(symbol.kind));
    declared_symbols
        .filter_map(|symbol| {
            let index = usize::try_from(symbol.start).ok()?.checked_sub(1)?;
            Some(cut(lines.get(index)?.trim(), LINE_CHARS))
        })
        .collect()
}
