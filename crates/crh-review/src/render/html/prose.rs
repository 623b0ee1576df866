//! Text of people and models in pieces, of which some are code.

use serde::Serialize;

use crate::clean::{one_line, visible};

/// A text in pieces.
pub(crate) type Prose = Vec<Piece>;

/// A piece of a text.
#[derive(Debug, Serialize)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) code: bool,
}

/// Text on one line; what stands between backticks is code.
pub(crate) fn prose(text: &str) -> Prose {
    pieces(&one_line(text))
}

/// Several texts.
pub(crate) fn proses(texts: &[String]) -> Vec<Prose> {
    texts.iter().map(|text| prose(text)).collect()
}

/// A text of several lines, each by itself.
pub(crate) fn paragraphs(text: &str) -> Vec<Prose> {
    let text = visible(text);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(prose).collect()
}

fn pieces(text: &str) -> Prose {
    let piece = |text: &str, code: bool| Piece { text: text.to_owned(), code };
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let Some((code, after)) = after.split_once('`') else { break };
        pieces.extend([piece(before, false), piece(code, true)]);
        rest = after;
    }
    pieces.push(piece(rest, false));
    pieces.retain(|piece| !piece.text.is_empty());
    pieces
}
