//! Checks the evidence of met requirements: it must name a line or quote code.

use std::cell::OnceCell;

use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::text::one_line;
use crh_review::finding::Side;

/// Minimum visible characters of a quote, as for findings.
const QUOTE_CHARS: usize = 8;

/// Checks the evidence of one answer. Quotes are searched in texts that it prepares once.
pub(crate) struct EvidenceChecker<'a> {
    change: &'a ChangeUnderReview,
    code: CodeReader<'a>,
    /// The patch and the new text of each changed file, each on one line.
    changed_texts: OnceCell<Vec<String>>,
}

impl<'a> EvidenceChecker<'a> {
    pub(crate) fn new(change: &'a ChangeUnderReview) -> Self {
        Self { change, code: CodeReader::new(change), changed_texts: OnceCell::new() }
    }

    /// Whether the evidence names an existing line as `FILE:LINE`, or quotes code of a changed file
    /// in backticks or as a whole.
    pub(crate) fn is_real(&self, evidence: &str) -> bool {
        self.names_line(evidence) || self.quotes_code(evidence)
    }

    fn names_line(&self, evidence: &str) -> bool {
        let words =
            evidence.split(|char: char| char.is_whitespace() || "()[]`'\",;".contains(char));
        let mut places = words.filter_map(|word| {
            let (path, rest) = word.rsplit_once(':')?;
            let digits = rest.split(|char: char| !char.is_ascii_digit()).next()?;
            Some((path, digits.parse::<usize>().ok()?))
        });
        places.any(|(path, line)| {
            let in_file = [Side::New, Side::Old].into_iter().any(|side| {
                let text = self.code.text(side, path);
                text.is_some_and(|text| (1..=text.lines().count()).contains(&line))
            });
            // Without a repository, only the diff is known.
            in_file || self.code.repository().is_none() && self.code.is_changed(path)
        })
    }

    fn quotes_code(&self, evidence: &str) -> bool {
        let quotes = evidence.split('`').skip(1).step_by(2).chain([evidence]).map(one_line);
        let has_length =
            |quote: &str| quote.chars().filter(|char| !char.is_whitespace()).count() >= QUOTE_CHARS;
        let mut quotes = quotes.filter(|quote| has_length(quote));
        quotes.any(|quote| self.changed_texts().iter().any(|text| text.contains(&quote)))
    }

    fn changed_texts(&self) -> &[String] {
        self.changed_texts.get_or_init(|| {
            let diff = &self.change.diff;
            let texts = diff.files().iter().flat_map(|file| {
                let patch = String::from_utf8_lossy(diff.patch(file)).into_owned();
                [Some(patch), self.code.text(Side::New, &file.path.shown())]
            });
            texts.flatten().map(|text| one_line(&text)).collect()
        })
    }
}
