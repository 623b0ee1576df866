//! Code that parsed before the change, or is new, and does not parse after it.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::{DOES_NOT_PARSE, blame};
use crate::found::Found;
use crate::look::Look;
use crate::paths;
use crate::source::Source;
use crh_syntax::{Allowance, Language, NotParsed, Parsed, Problem, ProblemKind, Problems};

/// What a look at the code of a file came to.
pub(super) enum Broken {
    No,
    Unknown(String),
    Yes(Found),
}

/// How far an error of the grammar is an error of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Of thousands of files that run (hundreds in Go, Java and Ruby) none has an error.
    Full,
    /// Of a thousand files that run, one to six have errors; in all of them brackets come in pairs. An error in a file that
    /// had none is the change's, unless it writes something that the grammar does not know.
    InOldFiles,
    /// Only a bracket without its partner says something, in a file that had no error, and where no condition for a
    /// preprocessor stands around lines.
    InBrackets,
}

fn trust(language: Language) -> Trust {
    match language {
        Language::Python | Language::Go | Language::Java | Language::Ruby => Trust::Full,
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Rust => {
            Trust::InOldFiles
        }
        Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift => Trust::InBrackets,
    }
}

/// What the change broke in a file of code.
pub(super) fn broken(look: &Look<'_>) -> Broken {
    let Some(new) = &look.new else { return Broken::No };
    // What is wrong with the rest was as wrong before.
    if let Some(Ok(part)) = look.part.as_ref().and_then(Source::parsed)
        && is_whole(&part.problems())
    {
        return Broken::No;
    }
    let after = match new.parsed() {
        None => return Broken::No,
        Some(Err(why)) => return Broken::Unknown(why.to_string()),
        Some(Ok(after)) => after,
    };
    let language = after.language();
    let problems = after.problems();
    let Some(first) = problems.places.first() else { return Broken::No };
    let Some(before) = problems_before(look) else { return Broken::No };
    if !is_told(look, &before, &problems, language) || is_other_language(look, language) {
        return Broken::No;
    }
    if new.text.contains(char::REPLACEMENT_CHARACTER) {
        // In some encodings half a letter is a backslash or a bracket.
        return Broken::Unknown("it is not UTF-8".to_owned());
    }
    // What was not understood before says nothing about the change, but for brackets that came in pairs.
    let sound = if is_whole(&before) { is_whole } else { is_paired };
    // All texts on the way together may cost what one may.
    let mut allowance = Allowance::default();
    let line = blame::line(look, first.start, |text| {
        match Parsed::within(language, text, &mut allowance) {
            Ok(parsed) => Some(sound(&parsed.problems())),
            Err(NotParsed::TooMuchWork) => None,
            Err(NotParsed::TooLarge { .. } | NotParsed::Hazard(_) | NotParsed::Grammar) => {
                Some(false)
            }
        }
    });
    let what = match problems.unpaired {
        Some(bracket) => format!("a `{bracket}` has no partner"),
        None => words(first),
    };
    Broken::Yes(found(look, new, line, &what, language))
}

/// What was wrong with the text before the change; nothing with that of a new file, and unknown if it could not be parsed.
fn problems_before(look: &Look<'_>) -> Option<Problems> {
    match &look.old {
        Some(old) => old.parsed()?.ok().map(Parsed::problems),
        None => look.file.before.is_none().then(Problems::default),
    }
}

fn is_whole(problems: &Problems) -> bool {
    problems.places.is_empty()
}

fn is_paired(problems: &Problems) -> bool {
    problems.unpaired.is_none()
}

/// Whether the problems are the text's and not the grammar's, and the change's and not older.
fn is_told(look: &Look<'_>, before: &Problems, problems: &Problems, language: Language) -> bool {
    let Some(new) = &look.new else { return false };
    let is_new = look.old.is_none();
    if is_new && paths::is_sample(new.path) {
        return false;
    }
    let is_unpaired = problems.unpaired.is_some() && before.unpaired.is_none();
    let was_whole = is_whole(before);
    let is_known = || problems.places.iter().any(|it| !is_gap(new, it, language));
    match trust(language) {
        Trust::Full => is_unpaired || was_whole && is_known(),
        Trust::InOldFiles => is_unpaired || was_whole && !is_new && is_known(),
        Trust::InBrackets => {
            is_unpaired
                && was_whole
                && !is_new
                && !has_conditions(look)
                && is_uneven(look, problems)
        }
    }
}

/// Whether the change has another number of a bracket than of its partner, strings and comments included: what a grammar loses in
/// despair is still there.
fn is_uneven(look: &Look<'_>, problems: &Problems) -> bool {
    let partner = match problems.unpaired {
        Some("(" | ")") => ('(', ')'),
        Some("[" | "]") => ('[', ']'),
        Some(_) => ('{', '}'),
        None => return false,
    };
    let balance = |text: &str| {
        text.matches(partner.0).count() as i64 - text.matches(partner.1).count() as i64
    };
    let [old, new] = [&look.old, &look.new].map(|it| it.as_ref().map(|it| balance(it.text)));
    old != new
}

/// Whether the change adds or takes away a condition for a preprocessor.
fn has_conditions(look: &Look<'_>) -> bool {
    let added = look.file.added.iter().map(|line| &line.text);
    added.chain(&look.file.removed).any(|line| line.trim_ascii_start().starts_with(b"#"))
}

/// What the grammars do not know yet, though compilers do.
static GAPS: LazyLock<[Option<Regex>; 6]> = LazyLock::new(|| {
    let script = [
        r"\busing\s*[\w=(.\[]",
        r"\bimport\s+(?:defer|source|type)\b|\bimport\.(?:defer|source)\b",
        r"\bexport\s+type\s+\*|\bexport\b.*\bwith\s*\{|\bexport\s+default\s+abstract\b",
        // Keywords as names.
        r"\bas\s+(?:class|if|for|in|new|this|delete|function|return|var|with)\b|[{,]\s*(?:if|for|in|class|new|delete|function)\s+as\b",
        r"\babstract\s*[?:=;(]|\basserts\s*[?:;(]|\btype\s+(?:as|satisfies)\b",
        r"\bimport\([^)]*\)\.|\bin\?|\basync\s+\w+\s*\([^{}]*$|\baccessor\b|\bassert\s*\{|^\s*\[|\babstract\s+new\b|\benum\s*:",
        r"[<,]\s*(?:in|out)\s+\w|\bstatic\s+(?:declare\b|(?:readonly\s+)?\[)|>\?\.\(|\binfer\s+\w+\s+extends\b|\bglobal\s*\{",
        // What stands in JSX as text or as a name.
        r"=\x22[^\x22]*&|='[^']*&|>[^<>{}]*&|^[^(){};=]*\s&(?:\s|$)|<\w[^>]*\s(?:class|for|if|default|in|as|is)(?:=|\s|/|>)|</?this\.",
        r"`[^`]*\\[ux`]",
    ];
    [
        script.join("|").as_str(),
        r"\bwhere\s+\(|<\s*-|\btype\s+\w+\s*;|\$|\bgen\s*[{(]|\bunsafe\s+(?:extern|mod)\b|\bsafe\s+(?:fn|static)\b|\basync\s+(?:move\s+)?\||&raw\b|&pin\b|\bdyn\s*\*|\bauto\s+trait\b|\bimpl\s+const\b|~|\bconst\s+trait\b|\bmacro\s+\w+|\bbuiltin\s*#|\byield\b|\byeet\b|\bbecome\b|\.match\b|\.\.\s*\}|[|{,=(]\s*#\[|\breturn\s+#\[|\{\s*\d+\s*:|\bfor<[^>]*>\s*\||!\s*\)|!\s*=>|^---",
        r"\b(?:class|def|type)\s+\w+\s*\[[^\]]*=|^\s*[%!]{1,2}[A-Za-z]|\{[^{}]*:=|^\s*\\$",
        r"^\s*import\s+module\b|\bcase\b.*\b_\b|\bcase\b.*\bwhen\b|(?:^|[;}])\s*(?:super|this)\(|@\w+\s*\.\.\.|\\u",
        r"\bnew\(|;\s*;|:\s*;",
        r"\bdef\s+[^=]*=\s*\S+\s+\S|->\s*\([^)]*;|[^\x00-\x7F]|\s/\S|\s\?\d|^\s*(?:\|\||&&)|<<~",
    ]
    .map(|pattern| RegexBuilder::new(pattern).unicode(false).build().ok())
});

/// Whether something that the grammar does not know stands where a problem is.
fn is_gap(new: &Source<'_>, problem: &Problem, language: Language) -> bool {
    /// A statement is rarely longer.
    const LINES: u32 = 3;
    let [script, rust, python, java, go, ruby] = &*GAPS;
    let gaps = match language {
        Language::Rust => rust,
        Language::JavaScript | Language::TypeScript | Language::Tsx => script,
        Language::Python => python,
        Language::Java => java,
        Language::Go => go,
        Language::Ruby => ruby,
        Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift => return false,
    };
    let last = problem.end.min(problem.start.saturating_add(LINES));
    let mut lines = (problem.start.saturating_sub(1)..=last).map(|line| new.line(line));
    gaps.as_ref().is_some_and(|gaps| lines.any(|line| gaps.is_match(line.as_bytes())))
}

/// Whether a text is in another language than its name says: a template of code, HTML, JavaScript with types, or the XML
/// that also goes by `.ts`. What parsed before is in its language, unless the change makes something else of it.
fn is_other_language(look: &Look<'_>, language: Language) -> bool {
    let Some(new) = &look.new else { return false };
    let signs: [&[u8]; 2] = [b"{%", b"<%"];
    let has_sign = |line: &[u8]| match look.old {
        Some(_) => signs.iter().any(|sign| line.trim_ascii_start().starts_with(sign)),
        None => signs.iter().any(|sign| memchr::memmem::find(line, sign).is_some()),
    };
    is_of_template(look)
        || new.path.contains("{{")
        || new.text.contains('\0')
        || new.text.trim_start().starts_with('<') && language != Language::Php
        || look.file.added.iter().any(|line| has_sign(&line.text))
        || language == Language::JavaScript && new.text.contains("@flow")
}

/// What only a template has: a name that is filled in where code names what it declares, and the statements of a language for
/// templates.
static TEMPLATES: LazyLock<[Option<Regex>; 2]> = LazyLock::new(|| {
    [
        r"^\s*(?:(?:public|abstract|final|export)\s+)*(?:package|import|from|class|module|namespace|interface|type|func|def)\s+[\w./\x22]*(?:\{\{|\$\{|#\{)",
        r"\{\{-?\s*(?:[.$][A-Za-z]|[#/][a-z]|(?:if|range|end|else|with|define|template|block|for|unless|each)\b)",
    ]
    .map(|pattern| RegexBuilder::new(pattern).unicode(false).build().ok())
});

/// Whether a file is a template of code. Its statements stand in strings of good code as well, so that they count only where
/// nothing is known of the file.
fn is_of_template(look: &Look<'_>) -> bool {
    const WORDS: [&str; 6] =
        ["template", "archetype", "skeleton", "scaffold", "cookiecutter", "boilerplate"];
    let [headers, statements] = &*TEMPLATES;
    let is_new = look.old.is_none();
    let has = |pattern: &Option<Regex>| {
        let pattern = pattern.as_ref();
        let mut lines = look.file.added.iter();
        pattern.is_some_and(|pattern| lines.any(|line| pattern.is_match(&line.text)))
    };
    let is_named = || {
        let mut words = paths::words_of(&look.file.path);
        words.any(|word| WORDS.contains(&word.trim_end_matches('s')))
    };
    has(headers) || is_new && (is_named() || has(statements))
}

fn words(problem: &Problem) -> String {
    match &problem.kind {
        ProblemKind::Missing(what) => format!("`{what}` is missing"),
        ProblemKind::Refused(why) => (*why).to_owned(),
        ProblemKind::Unexpected if problem.start == problem.end => {
            format!("something at line {} has no place in the grammar", problem.start)
        }
        ProblemKind::Unexpected => {
            format!("lines {} to {} do not fit the grammar", problem.start, problem.end)
        }
    }
}

fn found(look: &Look<'_>, new: &Source<'_>, line: u32, what: &str, language: Language) -> Found {
    let state = if look.old.is_some() { "parsed before this change" } else { "is new" };
    let language = language.name();
    Found::new(&DOES_NOT_PARSE, new.path, line, new.line(line)).saying(
        "The file does not parse",
        format!(
            "The file {state}, and as {language} it does not parse: {what}. Whatever loads or builds it fails."
        ),
        "Correct the syntax at or just before this line.",
    )
}
