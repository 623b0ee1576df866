//! Checks the evidence of met requirements: it must name a line or quote code.

use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::text::one_line;
use crh_review::finding::Side;

/// Minimum visible characters of a quote, as for findings.
const QUOTE_CHARS: usize = 8;

/// Whether the evidence names an existing line as `FILE:LINE`, or quotes code of a changed file in
/// backticks or as a whole.
pub(crate) fn is_real(evidence: &str, change: &ChangeUnderReview) -> bool {
    let code = CodeReader::new(change);
    names_line(evidence, change, &code) || quotes_code(evidence, change, &code)
}

fn names_line(evidence: &str, change: &ChangeUnderReview, code: &CodeReader<'_>) -> bool {
    let words = evidence.split(|char: char| char.is_whitespace() || "()[]`'\",;".contains(char));
    let mut places = words.filter_map(|word| {
        let (path, rest) = word.rsplit_once(':')?;
        let digits = rest.split(|char: char| !char.is_ascii_digit()).next()?;
        Some((path, digits.parse::<usize>().ok()?))
    });
    places.any(|(path, line)| {
        let in_file = [Side::New, Side::Old].into_iter().any(|side| {
            let text = code.text(side, path);
            text.is_some_and(|text| (1..=text.lines().count()).contains(&line))
        });
        // Without a repository, only the diff is known.
        in_file || code.repository().is_none() && has_file(change, path)
    })
}

fn has_file(change: &ChangeUnderReview, path: &str) -> bool {
    change.diff.files().iter().any(|file| file.path.shown() == path)
}

fn quotes_code(evidence: &str, change: &ChangeUnderReview, code: &CodeReader<'_>) -> bool {
    let quotes: Vec<String> = evidence
        .split('`')
        .skip(1)
        .step_by(2)
        .chain([evidence])
        .map(one_line)
        .filter(|quote| quote.chars().filter(|char| !char.is_whitespace()).count() >= QUOTE_CHARS)
        .collect();
    let is_in = |text: &str| {
        let text = one_line(text);
        quotes.iter().any(|quote| text.contains(quote.as_str()))
    };
    !quotes.is_empty()
        && change.diff.files().iter().any(|file| {
            let patch = String::from_utf8_lossy(change.diff.patch(file)).into_owned();
            is_in(&patch)
                || code.text(Side::New, &file.path.shown()).is_some_and(|text| is_in(&text))
        })
}
