//! Parses claims that a search can settle: a name is unused, undefined, not imported or duplicated.
//!
//! Only plain statements about one name count. `x is never called` can be looked up, `x is never
//! called on shutdown` cannot.

use crh_review::finding::Finding;

/// A claim that a search can settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) kind: ClaimKind,
    /// The name without `()`: `total`, `Cart.total`.
    pub(super) name: String,
}

/// What is claimed about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimKind {
    /// Nothing calls it.
    Uncalled,
    /// Nothing uses it.
    Unused,
    /// It is imported and nothing uses it.
    UnusedImport,
    /// It is used but does not exist.
    Undefined,
    /// It is used but not imported.
    NotImported,
    /// It is defined more than once.
    DefinedTwice,
    /// It is imported more than once.
    ImportedTwice,
}

/// Words that do not change the meaning of a claim, sorted.
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

/// Synonyms, sorted.
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

/// Titles that state a claim without the name, which is then in the first sentence.
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

/// The claim of a finding, if it says nothing else: in its title, or in the first sentence of its
/// explanation if the title names nothing. Missing definitions and imports are also accepted from
/// the first sentence alone.
pub(super) fn parse_claim(finding: &Finding) -> Option<Claim> {
    let in_title = parse_sentence(&finding.title);
    if in_title.is_some() {
        return in_title;
    }
    let first = first_sentence(&finding.why_it_matters);
    let in_effect = parse_sentence(first)?;
    let is_nameless = || {
        let clause = Clause::parse(&finding.title);
        NAMELESS_TITLES.contains(&clause.text.as_str())
    };
    match in_effect.kind {
        ClaimKind::Undefined | ClaimKind::NotImported => Some(in_effect),
        ClaimKind::Uncalled
        | ClaimKind::Unused
        | ClaimKind::UnusedImport
        | ClaimKind::DefinedTwice
        | ClaimKind::ImportedTwice => is_nameless().then_some(in_effect),
    }
}

/// The only claim of an unconditional sentence.
fn parse_sentence(sentence: &str) -> Option<Claim> {
    let words = sentence.to_lowercase();
    let mut words = words.split(|char: char| !char.is_alphanumeric() && char != '\'');
    if words.any(|word| CONDITIONS.contains(&word)) {
        return None;
    }
    let pieces = clauses(sentence);
    // `Unused import: x` is one claim in two pieces.
    let joined = pieces.windows(2).map(|two| two.join(" "));
    let mut found =
        pieces.iter().map(|piece| (*piece).to_owned()).chain(joined).filter_map(|piece| {
            let clause = Clause::parse(&piece);
            let text = TAILS
                .iter()
                .find_map(|tail| clause.text.strip_suffix(tail))
                .unwrap_or(&clause.text);
            let (_, what) = CLAIMS.iter().find(|(claim, _)| *claim == text)?;
            let [name] = clause.names.as_slice() else { return None };
            Some(Claim { kind: *what, name: name.clone() })
        });
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Splits a sentence at commas, colons and dashes.
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
            if let Ok(at) = SYNONYMS.binary_search_by_key(&word.as_str(), |(from, _)| from) {
                SYNONYMS[at].1.clone_into(word);
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
    let called = quoted.unwrap_or(word).strip_suffix("()");
    let bare = called.or(quoted).unwrap_or(word);
    let is_part = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|char| char.is_ascii_alphabetic() || char == '_')
            && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
    };
    let is_name = !bare.is_empty() && bare.replace("::", ".").split('.').all(is_part);
    let inside = || bare.trim_matches('_').chars().skip(1);
    let is_plain = || bare.contains('_') || inside().any(|char| char.is_ascii_uppercase());
    let has_lower = || bare.chars().any(|char| char.is_ascii_lowercase());
    (is_name && (quoted.is_some() || called.is_some() || is_plain() && has_lower()))
        .then(|| bare.to_owned())
}

fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let end = text.match_indices(['.', '!', '?', '\n']).find(|(at, sign)| {
        *sign == "\n" || text[at + sign.len()..].starts_with(char::is_whitespace)
    });
    end.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests;
