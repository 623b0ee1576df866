//! Splits a result's text into pieces that match the query and pieces that do not.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    pub text: &'a str,
    pub hit: bool,
}

/// The pieces of `text` in order. Joined together they are `text` again.
/// Upper and lower case count as equal. An empty `needle` matches nothing.
pub fn pieces<'a>(text: &'a str, needle: &str) -> Vec<Piece<'a>> {
    let mut out = Vec::new();
    let mut rest = 0;
    if !needle.is_empty() {
        let folded = text.to_lowercase();
        let needle = needle.to_lowercase();
        for (at, found) in folded.match_indices(&needle) {
            let end = at + found.len();
            push(&mut out, &text[rest..at], false);
            push(&mut out, &text[at..end], true);
            rest = end;
        }
    }
    push(&mut out, &text[rest..], false);
    out
}

fn push<'a>(out: &mut Vec<Piece<'a>>, text: &'a str, hit: bool) {
    if !text.is_empty() {
        out.push(Piece { text, hit });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, needle: &str) -> String {
        pieces(text, needle)
            .iter()
            .map(|p| {
                if p.hit {
                    format!("[{}]", p.text)
                } else {
                    p.text.to_string()
                }
            })
            .collect()
    }

    #[test]
    fn marks_every_match() {
        assert_eq!(marked("port, airport", "port"), "[port], air[port]");
    }

    #[test]
    fn ignores_case() {
        assert_eq!(marked("Port Louis", "pORT"), "[Port] Louis");
        assert_eq!(marked("Århus, ÅRHUS", "århus"), "[Århus], [ÅRHUS]");
    }

    #[test]
    fn empty_needle_marks_nothing() {
        assert_eq!(marked("harbour", ""), "harbour");
    }
}
