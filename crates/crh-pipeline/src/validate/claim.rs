//! Claims that a search can settle: that a name is unused, undefined, not imported, or there twice.
//!
//! Only plain statements about one name count. Whatever is said besides makes it a claim about something else, which a
//! search cannot settle: `x is never called` can be looked up, `x is never called on shutdown` cannot.

use crh_review::finding::Finding;

/// Something that a search can settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) what: What,
    /// The name as it was written, without `()`: `total`, `Cart.total`.
    pub(super) name: String,
}

/// What is claimed of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Nothing calls it.
    Uncalled,
    /// Nothing uses it.
    Unused,
    /// It is imported and nothing uses it.
    UnusedImport,
    /// It is used and there is no such thing.
    Undefined,
    /// It is used and nobody imports it.
    NotImported,
    /// It is defined more than once.
    DefinedTwice,
    /// It is imported more than once.
    ImportedTwice,
}

/// Words that change nothing about a claim.
const FILL: &[&str] = &[
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

/// Words for the same thing.
const SAME: &[(&str, &str)] = &[
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

/// What may stand behind a claim without making it another one.
const TAILS: &[&str] = &[
    " anywhere",
    " at all",
    " any more",
    " anymore",
    " in codebase",
    " in repository",
    " in project",
];

/// Words that make whatever stands beside them depend on something.
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

/// The claims, with `N` for the name.
const CLAIMS: &[(&str, What)] = &[
    ("N has no callers", What::Uncalled),
    ("N is never called", What::Uncalled),
    ("N is not called", What::Uncalled),
    ("N is uncalled", What::Uncalled),
    ("no callers of N", What::Uncalled),
    ("nothing calls N", What::Uncalled),
    ("uncalled N", What::Uncalled),
    ("N has no uses", What::Unused),
    ("N is dead code", What::Unused),
    ("N is never used", What::Unused),
    ("N is not used", What::Unused),
    ("N is unused", What::Unused),
    ("N unused", What::Unused),
    ("dead code N", What::Unused),
    ("nothing uses N", What::Unused),
    ("unused N", What::Unused),
    ("N import is never used", What::UnusedImport),
    ("N import is not used", What::UnusedImport),
    ("N import is unused", What::UnusedImport),
    ("N imported but never used", What::UnusedImport),
    ("N imported but not used", What::UnusedImport),
    ("N imported but unused", What::UnusedImport),
    ("N is imported but never used", What::UnusedImport),
    ("N is imported but not used", What::UnusedImport),
    ("N is imported but unused", What::UnusedImport),
    ("import N is never used", What::UnusedImport),
    ("import N is not used", What::UnusedImport),
    ("import N is unused", What::UnusedImport),
    ("import of N is unused", What::UnusedImport),
    ("unused import N", What::UnusedImport),
    ("unused import of N", What::UnusedImport),
    ("N is never defined", What::Undefined),
    ("N is not defined", What::Undefined),
    ("N is undefined", What::Undefined),
    ("N is used but never defined", What::Undefined),
    ("N is used but not defined", What::Undefined),
    ("missing definition for N", What::Undefined),
    ("missing definition of N", What::Undefined),
    ("undefined N", What::Undefined),
    ("undefined reference to N", What::Undefined),
    ("undefined variable N", What::Undefined),
    ("N import is missing", What::NotImported),
    ("N is not imported", What::NotImported),
    ("N is used but never imported", What::NotImported),
    ("N is used but not imported", What::NotImported),
    ("import for N is missing", What::NotImported),
    ("import of N is missing", What::NotImported),
    ("missing N import", What::NotImported),
    ("missing import N", What::NotImported),
    ("missing import for N", What::NotImported),
    ("missing import of N", What::NotImported),
    ("N is declared twice", What::DefinedTwice),
    ("N is defined more than once", What::DefinedTwice),
    ("N is defined multiple times", What::DefinedTwice),
    ("N is defined twice", What::DefinedTwice),
    ("duplicate declaration of N", What::DefinedTwice),
    ("duplicate definition N", What::DefinedTwice),
    ("duplicate definition of N", What::DefinedTwice),
    ("redefinition of N", What::DefinedTwice),
    ("N is imported more than once", What::ImportedTwice),
    ("N is imported twice", What::ImportedTwice),
    ("duplicate import N", What::ImportedTwice),
    ("duplicate import of N", What::ImportedTwice),
];

/// Titles that state a claim and leave the name to the first sentence.
const NAMELESS: &[&str] = &[
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

/// The claim that a finding makes, if that is all it says: in its title, or in the first sentence of its effect where the
/// title names nothing. That something is missing is also believed from the first sentence alone.
pub(super) fn claim(finding: &Finding) -> Option<Claim> {
    let in_title = in_sentence(&finding.title);
    if in_title.is_some() {
        return in_title;
    }
    let first = first_sentence(&finding.why_it_matters);
    let in_effect = in_sentence(first)?;
    let is_nameless = || {
        let clause = Clause::of(&finding.title);
        NAMELESS.contains(&clause.text.as_str())
    };
    match in_effect.what {
        What::Undefined | What::NotImported => Some(in_effect),
        What::Uncalled
        | What::Unused
        | What::UnusedImport
        | What::DefinedTwice
        | What::ImportedTwice => is_nameless().then_some(in_effect),
    }
}

/// The one claim of a sentence, if nothing in it makes it depend on something.
fn in_sentence(sentence: &str) -> Option<Claim> {
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
            let clause = Clause::of(&piece);
            let text = TAILS
                .iter()
                .find_map(|tail| clause.text.strip_suffix(tail))
                .unwrap_or(&clause.text);
            let (_, what) = CLAIMS.iter().find(|(claim, _)| *claim == text)?;
            let [name] = clause.names.as_slice() else { return None };
            Some(Claim { what: *what, name: name.clone() })
        });
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// The pieces of a sentence between commas, colons, dashes and the like.
fn clauses(sentence: &str) -> Vec<&str> {
    let mut pieces = vec![sentence];
    for sign in [", ", "; ", ": ", " - ", " — ", " – "] {
        pieces = pieces.into_iter().flat_map(|piece| piece.split(sign)).collect();
    }
    pieces
}

/// A piece of a sentence with its names taken out and its words made alike.
struct Clause {
    text: String,
    names: Vec<String>,
}

impl Clause {
    fn of(piece: &str) -> Self {
        let (mut words, mut names) = (Vec::new(), Vec::new());
        for word in piece.split_whitespace() {
            let word = word.trim_matches(['.', ',', ':', ';', '!', '"', '(', '—']);
            match name(word) {
                Some(name) => {
                    names.push(name);
                    words.push("N".to_owned());
                }
                None => words.push(word.trim_matches(')').to_lowercase()),
            }
        }
        words.retain(|word| !word.is_empty() && FILL.binary_search(&word.as_str()).is_err());
        for word in &mut words {
            if let Ok(at) = SAME.binary_search_by_key(&word.as_str(), |(from, _)| from) {
                SAME[at].1.clone_into(word);
            }
        }
        Self { text: words.join(" "), names }
    }
}

/// The name that a word is, if it is plainly one: in backticks or quotes, with `()`, with an underscore or a capital inside.
fn name(word: &str) -> Option<String> {
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
