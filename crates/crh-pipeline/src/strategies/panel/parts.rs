//! What the other parts of a large change declare, so that a reviewer of one part knows what it is used with.

use crate::code::Code;
use crate::plan::Part;
use crate::subject::Subject;
use crate::text::cut;
use crh_review::finding::Side;
use crh_syntax::SymbolKind;

/// The most characters of signatures: an eighth of what a part's diff may have.
const SIGNATURES_CHARS: usize = 15_000;
/// The longest line of a signature that is shown, in characters.
const LINE_CHARS: usize = 200;

/// The functions and types of the changed files that are not in a part, as they are declared after the change; a line each.
pub(crate) fn signatures(subject: &Subject, own: &[Part]) -> String {
    let code = Code::of(subject);
    let (mut text, mut more) = (String::new(), 0_usize);
    for (scope, _) in subject.files() {
        let path = scope.path.shown();
        if own.iter().any(|part| part.path == path) {
            continue;
        }
        for line in declared(&code, &path) {
            let row = format!("{path}: {line}\n");
            if more == 0 && text.len() + row.len() <= SIGNATURES_CHARS {
                text.push_str(&row);
            } else {
                more += 1;
            }
        }
    }
    if more > 0 {
        text.push_str(&format!("[{more} more]\n"));
    }
    text
}

/// The first lines of a file's functions and types.
fn declared(code: &Code<'_>, path: &str) -> Vec<String> {
    let Some(symbols) = code.symbols(Side::New, path) else { return Vec::new() };
    let Some(bytes) = code.bytes(Side::New, path) else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let is_offered = |kind: SymbolKind| match kind {
        SymbolKind::Function | SymbolKind::Method | SymbolKind::Type => true,
        SymbolKind::Module => false,
    };
    let offered = symbols.all().iter().filter(|symbol| is_offered(symbol.kind));
    offered
        .filter_map(|symbol| {
            let at = usize::try_from(symbol.start).ok()?.checked_sub(1)?;
            Some(cut(lines.get(at)?.trim(), LINE_CHARS))
        })
        .collect()
}
