//! Text split into plain and code pieces.

use serde::Serialize;

use crate::sanitise::{escape_invisible, one_line};

/// Text in pieces.
pub(crate) type Prose = Vec<ProsePiece>;

#[derive(Debug, Serialize)]
pub(crate) struct ProsePiece {
    pub(crate) text: String,
    pub(crate) code: bool,
}

/// Text on one line; backtick spans become code.
pub(crate) fn prose(text: &str) -> Prose {
    pieces(&one_line(text))
}

pub(crate) fn prose_list<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<Prose> {
    texts.into_iter().map(|text| prose(text)).collect()
}

/// Text of several lines, one paragraph each.
pub(crate) fn paragraphs(text: &str) -> Vec<Prose> {
    let text = escape_invisible(text);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(prose).collect()
}

fn pieces(text: &str) -> Prose {
    let piece = |text: &str, code: bool| ProsePiece { text: text.to_owned(), code };
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('`') {
        let Some((code, after)) = after.split_once('`') else { break };
        pieces.extend([piece(plain, false), piece(code, true)]);
        rest = after;
    }
    pieces.push(piece(rest, false));
    pieces.retain(|piece| !piece.text.is_empty());
    pieces
}
