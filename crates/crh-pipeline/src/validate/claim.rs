//! Parses claims that a search can decide: a name is unused, undefined, not imported or duplicated.
//!
//! Only plain statements about one name count. `x is never called` can be looked up, `x is never
//! called on shutdown` cannot.

use crh_review::finding::Finding;

/// A claim that a search can decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) kind: ClaimKind,
    /// The name without `()`: `total`, `Cart.total`.
    pub(super) name: String,
}

/// What a finding claims about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimKind {
    /// Nothing calls the name.
    Uncalled,
    /// Nothing uses the name.
    Unused,
    /// The name is imported, but nothing uses it.
    UnusedImport,
    /// The name is used, but it does not exist.
    Undefined,
    /// The name is used, but it is not imported.
    NotImported,
    /// The name is defined more than once.
    DefinedTwice,
    /// The name is imported more than once.
    ImportedTwice,
}

/// Words that do not change the meaning of a claim, sorted for binary search.
const FILLER_WORDS: &[&str] = &[
    "a",
    "actually",
    "added",
    "also",
    "an",
    "apparently",
    "async",
    "class",
    "completely",
    "component",
    "constructor",
    "currently",
    "decorator",
    "entirely",
    "enum",
    "exported",
    "function",
    "helper",
    "hook",
    "identifier",
    "interface",
    "macro",
    "method",
    "module",
    "name",
    "new",
    "newly",
    "now",
    "private",
    "public",
    "static",
    "still",
    "struct",
    "symbol",
    "that",
    "the",
    "this",
    "trait",
    "type",
];

/// Words and the words that replace them, sorted by the first for binary search.
const SYNONYMS: &[(&str, &str)] = &[
    ("are", "is"),
    ("aren't", "is not"),
    ("imports", "import"),
    ("invoked", "called"),
    ("invokes", "calls"),
    ("isn't", "is not"),
    ("nobody", "nothing"),
    ("referenced", "used"),
    ("references", "uses"),
    ("remains", "is"),
    ("unreferenced", "unused"),
    ("usages", "uses"),
    ("was", "is"),
];

/// Endings that do not change a claim.
const TAILS: &[&str] = &[
    " anywhere",
    " at all",
    " any more",
    " anymore",
    " in codebase",
    " in repository",
    " in project",
];

/// Words that make a statement conditional.
const CONDITIONS: &[&str] = &[
    "after",
    "before",
    "can",
    "could",
    "during",
    "except",
    "if",
    "may",
    "maybe",
    "might",
    "on",
    "only",
    "outside",
    "possibly",
    "sometimes",
    "unless",
    "until",
    "when",
    "whenever",
    "where",
    "while",
    "with",
    "without",
];

/// Claims, with `N` for the name.
const CLAIMS: &[(&str, ClaimKind)] = &[
    ("N has no callers", ClaimKind::Uncalled),
    ("N is never called", ClaimKind::Uncalled),
    ("N is not called", ClaimKind::Uncalled),
    ("N is uncalled", ClaimKind::Uncalled),
    ("no callers of N", ClaimKind::Uncalled),
    ("nothing calls N", ClaimKind::Uncalled),
    ("uncalled N", ClaimKind::Uncalled),
    ("N has no uses", ClaimKind::Unused),
    ("N is dead code", ClaimKind::Unused),
    ("N is never used", ClaimKind::Unused),
    ("N is not used", ClaimKind::Unused),
    ("N is unused", ClaimKind::Unused),
    ("N unused", ClaimKind::Unused),
    ("dead code N", ClaimKind::Unused),
    ("nothing uses N", ClaimKind::Unused),
    ("unused N", ClaimKind::Unused),
    ("N import is never used", ClaimKind::UnusedImport),
    ("N import is not used", ClaimKind::UnusedImport),
    ("N import is unused", ClaimKind::UnusedImport),
    ("N imported but never used", ClaimKind::UnusedImport),
    ("N imported but not used", ClaimKind::UnusedImport),
    ("N imported but unused", ClaimKind::UnusedImport),
    ("N is imported but never used", ClaimKind::UnusedImport),
    ("N is imported but not used", ClaimKind::UnusedImport),
    ("N is imported but unused", ClaimKind::UnusedImport),
    ("import N is never used", ClaimKind::UnusedImport),
    ("import N is not used", ClaimKind::UnusedImport),
    ("import N is unused", ClaimKind::UnusedImport),
    ("import of N is unused", ClaimKind::UnusedImport),
    ("unused import N", ClaimKind::UnusedImport),
    ("unused import of N", ClaimKind::UnusedImport),
    ("N is never defined", ClaimKind::Undefined),
    ("N is not defined", ClaimKind::Undefined),
    ("N is undefined", ClaimKind::Undefined),
    ("N is used but never defined", ClaimKind::Undefined),
    ("N is used but not defined", ClaimKind::Undefined),
    ("missing definition for N", ClaimKind::Undefined),
    ("missing definition of N", ClaimKind::Undefined),
    ("undefined N", ClaimKind::Undefined),
    ("undefined reference to N", ClaimKind::Undefined),
    ("undefined variable N", ClaimKind::Undefined),
    ("N import is missing", ClaimKind::NotImported),
    ("N is not imported", ClaimKind::NotImported),
    ("N is used but never imported", ClaimKind::NotImported),
    ("N is used but not imported", ClaimKind::NotImported),
    ("import for N is missing", ClaimKind::NotImported),
    ("import of N is missing", ClaimKind::NotImported),
    ("missing N import", ClaimKind::NotImported),
    ("missing import N", ClaimKind::NotImported),
    ("missing import for N", ClaimKind::NotImported),
    ("missing import of N", ClaimKind::NotImported),
    ("N is declared twice", ClaimKind::DefinedTwice),
    ("N is defined more than once", ClaimKind::DefinedTwice),
    ("N is defined multiple times", ClaimKind::DefinedTwice),
    ("N is defined twice", ClaimKind::DefinedTwice),
    ("duplicate declaration of N", ClaimKind::DefinedTwice),
    ("duplicate definition N", ClaimKind::DefinedTwice),
    ("duplicate definition of N", ClaimKind::DefinedTwice),
    ("redefinition of N", ClaimKind::DefinedTwice),
    ("N is imported more than once", ClaimKind::ImportedTwice),
    ("N is imported twice", ClaimKind::ImportedTwice),
    ("duplicate import N", ClaimKind::ImportedTwice),
    ("duplicate import of N", ClaimKind::ImportedTwice),
];

/// Titles that state a claim without the name. The first sentence then has the name.
const NAMELESS_TITLES: &[&str] = &[
    "dead code",
    "duplicate definition",
    "duplicate import",
    "missing import",
    "undefined",
    "undefined variable",
    "unused",
    "unused import",
    "unused code",
];

/// The claim of a finding: the title, or else the first sentence of the explanation. The first
/// sentence counts only if the title is one of [`NAMELESS_TITLES`], or if the claim is about a
/// missing definition or import. None if neither makes such a claim. Clauses that make no claim are
/// ignored.
pub(super) fn parse_claim(finding: &Finding) -> Option<Claim> {
    let title_claim = parse_sentence(&finding.title);
    if title_claim.is_some() {
        return title_claim;
    }
    let sentence = first_sentence(&finding.why_it_matters);
    let effect_claim = parse_sentence(sentence)?;
    let title_has_no_name = || {
        let clause = Clause::parse(&finding.title);
        NAMELESS_TITLES.contains(&clause.text.as_str())
    };
    match effect_claim.kind {
        ClaimKind::Undefined | ClaimKind::NotImported => Some(effect_claim),
        ClaimKind::Uncalled
        | ClaimKind::Unused
        | ClaimKind::UnusedImport
        | ClaimKind::DefinedTwice
        | ClaimKind::ImportedTwice => title_has_no_name().then_some(effect_claim),
    }
}

/// The claim of a sentence. None if the sentence has a condition or makes different claims.
fn parse_sentence(sentence: &str) -> Option<Claim> {
    let words = sentence.to_lowercase();
    let mut words = words.split(|char: char| !char.is_alphanumeric() && char != '\'');
    if words.any(|word| CONDITIONS.contains(&word)) {
        return None;
    }
    let pieces = clauses(sentence);
    // `Unused import: x` is one claim in two pieces.
    let joined_pieces = pieces.windows(2).map(|pair| pair.join(" "));
    let mut claims =
        pieces.iter().map(|piece| (*piece).to_owned()).chain(joined_pieces).filter_map(|piece| {
            let clause = Clause::parse(&piece);
            let text = TAILS
                .iter()
                .find_map(|tail| clause.text.strip_suffix(tail))
                .unwrap_or(&clause.text);
            let (_, kind) = CLAIMS.iter().find(|(claim, _)| *claim == text)?;
            let [name] = clause.names.as_slice() else { return None };
            Some(Claim { kind: *kind, name: name.clone() })
        });
    let first_claim = claims.next()?;
    claims.all(|other| other == first_claim).then_some(first_claim)
}

/// Splits a sentence at commas, semicolons, colons and dashes.
fn clauses(sentence: &str) -> Vec<&str> {
    let mut pieces = vec![sentence];
    for sign in [", ", "; ", ": ", " - ", " — ", " – "] {
        pieces = pieces.into_iter().flat_map(|piece| piece.split(sign)).collect();
    }
    pieces
}

/// A clause with names replaced by `N` and words normalised.
struct Clause {
    text: String,
    names: Vec<String>,
}

impl Clause {
    fn parse(piece: &str) -> Self {
        let (mut words, mut names) = (Vec::new(), Vec::new());
        for word in piece.split_whitespace() {
            let word = word.trim_matches(['.', ',', ':', ';', '!', '"', '(', '—']);
            match parse_name(word) {
                Some(name) => {
                    names.push(name);
                    words.push("N".to_owned());
                }
                None => words.push(word.trim_matches(')').to_lowercase()),
            }
        }
        words
            .retain(|word| !word.is_empty() && FILLER_WORDS.binary_search(&word.as_str()).is_err());
        for word in &mut words {
            if let Ok(index) = SYNONYMS.binary_search_by_key(&word.as_str(), |(synonym, _)| synonym)
            {
                SYNONYMS[index].1.clone_into(word);
            }
        }
        Self { text: words.join(" "), names }
    }
}

/// The identifier in a word: quoted, followed by `()`, or with an underscore or an inner capital.
fn parse_name(word: &str) -> Option<String> {
    let quoted = ['`', '\'']
        .iter()
        .find_map(|sign| word.strip_prefix(*sign).and_then(|rest| rest.strip_suffix(*sign)));
    let call = quoted.unwrap_or(word).strip_suffix("()");
    let identifier = call.or(quoted).unwrap_or(word);
    let is_segment = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|char| char.is_ascii_alphabetic() || char == '_')
            && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
    };
    let is_name =
        !identifier.is_empty() && identifier.replace("::", ".").split('.').all(is_segment);
    let inner_chars = || identifier.trim_matches('_').chars().skip(1);
    let looks_like_code =
        || identifier.contains('_') || inner_chars().any(|char| char.is_ascii_uppercase());
    let has_lower = || identifier.chars().any(|char| char.is_ascii_lowercase());
    (is_name && (quoted.is_some() || call.is_some() || looks_like_code() && has_lower()))
        .then(|| identifier.to_owned())
}

fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let end = text.match_indices(['.', '!', '?', '\n']).find(|(index, sign)| {
        *sign == "\n" || text[index + sign.len()..].starts_with(char::is_whitespace)
    });
    end.map_or(text, |(index, _)| &text[..index])
}

#[cfg(test)]
mod tests;
