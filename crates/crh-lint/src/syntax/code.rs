//! Code that does not parse after the change, in a new file or in one that parsed before.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{DOES_NOT_PARSE, blame};
use crate::file_context::FileContext;
use crate::findings::FindingDraft;
use crate::lazy_option::bytes_regex;
use crate::paths;
use crate::source::SourceText;
use crh_review::finding::Side;
use crh_syntax::{
    ErrorAllowance, Language, ParseError, SyntaxProblem, SyntaxProblemKind, SyntaxProblems,
    SyntaxTree,
};

/// Result of checking a code file.
pub(super) enum ParseCheck {
    NoFinding,
    NotChecked(String),
    Broken(FindingDraft),
}

/// How reliable the errors of a grammar are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GrammarTrust {
    /// None of thousands of working files (hundreds in Go, Java and Ruby) has an error.
    Full,
    /// One to six of a thousand working files have errors, always with balanced brackets. If the
    /// old file had no error, a new error comes from the change, unless the change uses syntax that
    /// the grammar does not know.
    InOldFiles,
    /// Only an unbalanced bracket counts, in a file without errors before, and only if the change
    /// touches no preprocessor line.
    InBrackets,
}

fn grammar_trust(language: Language) -> GrammarTrust {
    match language {
        Language::Python | Language::Go | Language::Java | Language::Ruby => GrammarTrust::Full,
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Rust => {
            GrammarTrust::InOldFiles
        }
        Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift => GrammarTrust::InBrackets,
    }
}

/// Reports a code file that the change breaks.
pub(super) fn check(ctx: &FileContext<'_>) -> ParseCheck {
    let Some(new) = &ctx.new else { return ParseCheck::NoFinding };
    // If the touched statements parse, the change breaks nothing: the rest had the same errors
    // before.
    if let Some(Ok(touched)) = ctx.touched_text.as_ref().and_then(SourceText::syntax_tree)
        && has_no_problems(&touched.problems())
    {
        return ParseCheck::NoFinding;
    }
    let new_tree = match new.syntax_tree() {
        None => return ParseCheck::NoFinding,
        Some(Err(why)) => return ParseCheck::NotChecked(why.to_string()),
        Some(Ok(new_tree)) => new_tree,
    };
    let language = new_tree.language();
    let problems = new_tree.problems();
    let Some(first) = problems.list.first() else { return ParseCheck::NoFinding };
    let Some(old_problems) = problems_before(ctx) else { return ParseCheck::NoFinding };
    if !is_reportable(ctx, &old_problems, &problems, language) || is_other_language(ctx, language) {
        return ParseCheck::NoFinding;
    }
    if new.text.contains(char::REPLACEMENT_CHARACTER) && !is_utf8(ctx, new) {
        // In some encodings half a letter is a backslash or a bracket.
        return ParseCheck::NotChecked("it is not UTF-8".to_owned());
    }
    // If the old text had errors, only newly unbalanced brackets count.
    let is_valid =
        if has_no_problems(&old_problems) { has_no_problems } else { has_paired_brackets };
    // All texts of the bisection share the error budget of one text.
    let mut allowance = ErrorAllowance::default();
    let line = blame::blamed_line(ctx, first.start, |text| {
        match SyntaxTree::with_allowance(language, text, &mut allowance) {
            Ok(syntax_tree) => Some(is_valid(&syntax_tree.problems())),
            Err(ParseError::TooMuchWork) => None,
            Err(ParseError::TooLarge { .. } | ParseError::Hazard(_) | ParseError::Grammar) => {
                Some(false)
            }
        }
    });
    let description = match problems.unpaired_bracket {
        Some(bracket) => format!("unmatched `{bracket}`"),
        None => describe(first),
    };
    ParseCheck::Broken(finding(ctx, new, line, &description, language))
}

/// Whether the new file is UTF-8. A replacement character may be part of such a file.
fn is_utf8(ctx: &FileContext<'_>, new: &SourceText<'_>) -> bool {
    let bytes = ctx.change.project.map(|project| project.file(Side::New, new.path));
    matches!(bytes, Some(Ok(Some(bytes))) if std::str::from_utf8(&bytes).is_ok())
}

/// Problems of the old text; an empty list for a new file, `None` if the old text could not be
/// parsed.
fn problems_before(ctx: &FileContext<'_>) -> Option<SyntaxProblems> {
    match &ctx.old {
        Some(old) => old.syntax_tree()?.ok().map(SyntaxTree::problems),
        None => ctx.file.old_path.is_none().then(SyntaxProblems::default),
    }
}

fn has_no_problems(problems: &SyntaxProblems) -> bool {
    problems.list.is_empty()
}

fn has_paired_brackets(problems: &SyntaxProblems) -> bool {
    problems.unpaired_bracket.is_none()
}

/// Whether the problems are errors of the text, not of the grammar, and caused by the change.
fn is_reportable(
    ctx: &FileContext<'_>,
    old_problems: &SyntaxProblems,
    problems: &SyntaxProblems,
    language: Language,
) -> bool {
    let Some(new) = &ctx.new else { return false };
    let is_new = ctx.old.is_none();
    if is_new && paths::is_sample(new.path) {
        return false;
    }
    let has_new_unpaired_bracket =
        problems.unpaired_bracket.is_some() && old_problems.unpaired_bracket.is_none();
    let had_no_problems = has_no_problems(old_problems);
    let has_certain_problem = || problems.list.iter().any(|it| !is_grammar_gap(new, it, language));
    match grammar_trust(language) {
        GrammarTrust::Full => has_new_unpaired_bracket || had_no_problems && has_certain_problem(),
        GrammarTrust::InOldFiles => {
            has_new_unpaired_bracket || had_no_problems && !is_new && has_certain_problem()
        }
        GrammarTrust::InBrackets => {
            has_new_unpaired_bracket
                && had_no_problems
                && !is_new
                && !touches_preprocessor(ctx)
                && changes_bracket_balance(ctx, problems)
        }
    }
}

/// Whether the change alters the balance of the unpaired bracket, counting strings and comments: a
/// confused grammar may lose brackets.
fn changes_bracket_balance(ctx: &FileContext<'_>, problems: &SyntaxProblems) -> bool {
    let bracket_pair = match problems.unpaired_bracket {
        Some("(" | ")") => ('(', ')'),
        Some("[" | "]") => ('[', ']'),
        Some(_) => ('{', '}'),
        None => return false,
    };
    let balance = |text: &str| {
        text.matches(bracket_pair.0).count() as i64 - text.matches(bracket_pair.1).count() as i64
    };
    let [old, new] = [&ctx.old, &ctx.new].map(|it| it.as_ref().map(|it| balance(it.text)));
    old != new
}

/// Whether the change adds or removes a preprocessor line.
fn touches_preprocessor(ctx: &FileContext<'_>) -> bool {
    let added = ctx.file.added.iter().map(|line| &line.text);
    added.chain(&ctx.file.removed).any(|line| line.trim_ascii_start().starts_with(b"#"))
}

/// Regular expressions for valid syntax that the grammars do not know, one per language.
static GRAMMAR_GAPS: LazyLock<[Option<Regex>; 6]> = LazyLock::new(|| {
    let script = [
        r"\busing\s*[\w=(.\[]",
        r"\bimport\s+(?:defer|source|type)\b|\bimport\.(?:defer|source)\b",
        r"\bexport\s+type\s+\*|\bexport\b.*\bwith\s*\{|\bexport\s+default\s+abstract\b",
        // Keywords as names.
        r"\bas\s+(?:class|if|for|in|new|this|delete|function|return|var|with)\b|[{,]\s*(?:if|for|in|class|new|delete|function)\s+as\b",
        r"\babstract\s*[?:=;(]|\basserts\s*[?:;(]|\btype\s+(?:as|satisfies)\b",
        r"\bimport\([^)]*\)\.|\bin\?|\basync\s+\w+\s*\([^{}]*$|\baccessor\b|\bassert\s*\{|^\s*\[|\babstract\s+new\b|\benum\s*:",
        r"[<,]\s*(?:in|out)\s+\w|\bstatic\s+(?:declare\b|(?:readonly\s+)?\[)|>\?\.\(|\binfer\s+\w+\s+extends\b|\bglobal\s*\{",
        // JSX text and names.
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
    .map(bytes_regex)
});

/// Whether a problem is at syntax that the grammar does not know.
fn is_grammar_gap(new: &SourceText<'_>, problem: &SyntaxProblem, language: Language) -> bool {
    /// Lines to search after the start of a problem. Statements are rarely longer.
    const LINES: u32 = 3;
    let [script, rust, python, java, go, ruby] = &*GRAMMAR_GAPS;
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
    let last_line = problem.end.min(problem.start.saturating_add(LINES));
    let mut lines = (problem.start.saturating_sub(1)..=last_line).map(|line| new.line(line));
    gaps.as_ref().is_some_and(|gaps| lines.any(|line| gaps.is_match(line.as_bytes())))
}

/// Whether a text is in another language than its file name says: a code template, HTML, JavaScript
/// with types, or Qt's XML in `.ts`. A file that parsed before is in the language of its name,
/// unless the change replaces the whole text.
fn is_other_language(ctx: &FileContext<'_>, language: Language) -> bool {
    let Some(new) = &ctx.new else { return false };
    let template_signs: [&[u8]; 2] = [b"{%", b"<%"];
    let has_sign = |line: &[u8]| match ctx.old {
        Some(_) => template_signs.iter().any(|sign| line.trim_ascii_start().starts_with(sign)),
        None => template_signs.iter().any(|sign| memchr::memmem::find(line, sign).is_some()),
    };
    is_code_template(ctx)
        || new.path.contains("{{")
        || new.text.contains('\0')
        || new.text.trim_start().starts_with('<') && language != Language::Php
        || ctx.file.added.iter().any(|line| has_sign(&line.text))
        || language == Language::JavaScript && new.text.contains("@flow")
}

/// Syntax that only templates have: a placeholder in a declaration, and statements of template
/// languages.
static TEMPLATE_SYNTAX: LazyLock<[Option<Regex>; 2]> = LazyLock::new(|| {
    [
        r"^\s*(?:(?:public|abstract|final|export)\s+)*(?:package|import|from|class|module|namespace|interface|type|func|def)\s+[\w./\x22]*(?:\{\{|\$\{|#\{)",
        r"\{\{-?\s*(?:[.$][A-Za-z]|[#/][a-z]|(?:if|range|end|else|with|define|template|block|for|unless|each)\b)",
    ]
    .map(bytes_regex)
});

/// Whether a file is a code template. Template statements also occur in strings of normal code, so
/// they count only for new files.
fn is_code_template(ctx: &FileContext<'_>) -> bool {
    const WORDS: [&str; 6] =
        ["template", "archetype", "skeleton", "scaffold", "cookiecutter", "boilerplate"];
    let [headers, statements] = &*TEMPLATE_SYNTAX;
    let is_new = ctx.old.is_none();
    let adds_match = |pattern: &Option<Regex>| {
        let pattern = pattern.as_ref();
        let mut lines = ctx.file.added.iter();
        pattern.is_some_and(|pattern| lines.any(|line| pattern.is_match(&line.text)))
    };
    let is_named_like_template = || {
        let mut words = paths::name_words(&ctx.file.path);
        words.any(|word| WORDS.contains(&word.trim_end_matches('s')))
    };
    adds_match(headers) || is_new && (is_named_like_template() || adds_match(statements))
}

fn describe(problem: &SyntaxProblem) -> String {
    match &problem.kind {
        SyntaxProblemKind::Missing(token) => format!("`{token}` is missing"),
        SyntaxProblemKind::Rejected(why) => (*why).to_owned(),
        SyntaxProblemKind::Unexpected if problem.start == problem.end => {
            format!("something at line {} has no place in the grammar", problem.start)
        }
        SyntaxProblemKind::Unexpected => {
            format!("lines {} to {} do not fit the grammar", problem.start, problem.end)
        }
    }
}

fn finding(
    ctx: &FileContext<'_>,
    new: &SourceText<'_>,
    line: u32,
    description: &str,
    language: Language,
) -> FindingDraft {
    let language = language.name();
    let what = match ctx.old {
        Some(_) => format!("The file is no longer valid {language}"),
        None => format!("The new file is not valid {language}"),
    };
    FindingDraft::new(&DOES_NOT_PARSE, new.path, line, new.line(line)).with_text(
        "The file does not parse",
        format!("{what}: {description}. Loading or building it fails."),
        "Correct the syntax at or just before this line.",
    )
}
