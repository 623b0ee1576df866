//! Prompt injection: text that tries to instruct the reviewer, in titles, descriptions and
//! comments, in file names, and in added lines.
//!
//! This check uses no model, so it cannot be persuaded. Its findings come from code, so a model
//! that obeyed an injection cannot approve the change. It finds plain attempts and the usual ways
//! to hide them. An attacker can always find other words, so crh does not rely on this check alone.
//! Text that only describes such attempts is skipped if its wording shows that.

mod chat_template;
mod encoded_text;
mod hidden_html;
mod normalized_text;
mod phrase_prefilter;
mod phrases;
mod spaced_letters;
mod unicode;
mod vocabulary;

use std::collections::BTreeMap;

use normalized_text::{NormalizedText, Underscore};
use phrases::TextOrigin;
use unicode::{LineContext, UnicodeTrick};

use crate::findings::FindingDraft;
use crate::{ChangedFile, LintRule, StaticFinding, StaticOutput};
use crh_review::finding::{Category, Confidence, Owner, Severity};

/// Maximum findings per place: a file, a file name, or a text about the change.
const PER_PLACE_MAX: usize = 5;
/// Maximum findings in total.
const FINDINGS_MAX: usize = 60;

/// Maximum length of a pseudo path. Forge ids are short numbers or words.
const PSEUDO_PATH_CHARS_MAX: usize = 60;

const FIX: &str = "Remove it. If the text is there for a reason, such as a test or a page about these attacks, a person has to confirm that, not a model.";

pub(crate) const RULES: &[LintRule] = &[LintRule {
    id: "injection/instruction",
    severity: Severity::P1,
    category: Category::Security,
    confidence: Confidence::ONE,
    summary: "text that tries to instruct the reviewer, or that is hidden from people",
    aliases: &[],
}];

/// A text about the change, such as its title or a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeText {
    kind: ChangeTextKind,
    /// Stands for the path in findings: `(title)`.
    place: String,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeTextKind {
    Title,
    Description,
    Commit,
    Comment,
    Other,
}

impl ChangeText {
    fn new(kind: ChangeTextKind, name: &str, id: &str, text: impl Into<String>) -> Self {
        Self { kind, place: pseudo_path(name, id), text: text.into() }
    }

    /// The title of the change.
    pub fn title(text: impl Into<String>) -> Self {
        Self::new(ChangeTextKind::Title, "title", "", text)
    }

    /// The description of the change.
    pub fn description(text: impl Into<String>) -> Self {
        Self::new(ChangeTextKind::Description, "description", "", text)
    }

    /// The full message of a commit.
    pub fn commit(id: &str, text: impl Into<String>) -> Self {
        Self::new(ChangeTextKind::Commit, "commit", id.get(..7).unwrap_or(id), text)
    }

    /// A comment on the change, with the forge's id.
    pub fn comment(id: &str, text: impl Into<String>) -> Self {
        Self::new(ChangeTextKind::Comment, "comment", id, text)
    }

    /// Any other text that comes with the change, such as its branch name.
    pub fn other(name: &str, text: impl Into<String>) -> Self {
        Self::new(ChangeTextKind::Other, name, "", text)
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl ChangeTextKind {
    /// Description for the start of a sentence.
    fn describe(self) -> &'static str {
        match self {
            Self::Title => "The title",
            Self::Description => "The description",
            Self::Commit => "A commit message",
            Self::Comment => "A comment",
            Self::Other => "A text of the change",
        }
    }

    fn marker_policy(self) -> MarkerPolicy {
        match self {
            Self::Comment => MarkerPolicy::Ordinary,
            Self::Title | Self::Description | Self::Commit | Self::Other => MarkerPolicy::Forged,
        }
    }
}

/// How markers of crh's own comments are treated in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkerPolicy {
    /// Every marker is forged: nothing legitimate puts one into this text.
    Forged,
    /// A comment, which may be one of crh's reviews or quote one. crh trusts a marker only from its
    /// own account, so other markers are harmless.
    Ordinary,
}

/// A pseudo path for a text that is not a file. It must pass path checks and not look like a real
/// path to people.
fn pseudo_path(kind: &str, id: &str) -> String {
    let is_allowed =
        |char: &char| char.is_ascii_alphanumeric() || matches!(char, ' ' | '_' | '-' | '.');
    let name: String =
        format!("{kind} {id}").chars().filter(is_allowed).take(PSEUDO_PATH_CHARS_MAX).collect();
    format!("({})", name.trim())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum InjectionKind {
    Fence,
    Marker,
    HiddenText,
    Instruction,
    ChatTurn,
    SpacedLetters,
    Encoded,
    Invisible,
    Reordered,
}

/// Finds injection attempts in texts about the change, in file names and in added lines.
pub fn review(texts: &[ChangeText], files: &[ChangedFile]) -> StaticOutput {
    review_until(texts, files, &|| false)
}

/// Like [`review`], but ends before the next file when `is_stopped` returns true.
pub fn review_until(
    texts: &[ChangeText],
    files: &[ChangedFile],
    is_stopped: &dyn Fn() -> bool,
) -> StaticOutput {
    let mut report = InjectionReport::default();
    for text in texts {
        let lines: Vec<(u32, String)> = (1..).zip(text.text.lines().map(str::to_owned)).collect();
        let attempts = find_injections(
            &lines,
            TextOrigin::Message,
            text.kind.marker_policy(),
            LineContext::Prose,
        );
        report.add(&text.place, text.kind.describe(), &lines, attempts);
    }
    let find_in_name = |name: &[(u32, String)]| {
        find_injections(name, TextOrigin::Name, MarkerPolicy::Forged, LineContext::Name)
    };
    for file in files.iter().take_while(|_| !is_stopped()) {
        let name = [(1, file.path.clone())];
        let mut in_name = find_in_name(&name);
        in_name.extend(find_in_name(&[(1, split_name(&file.path))]));
        report.add(&file.path, "The name of a file", &name, in_name);
        let old_path = file.in_diff().old_path.as_ref();
        if let Some(old_path) = old_path.filter(|old_path| **old_path != file.path) {
            let old_name = [(1, old_path.clone())];
            report.add(&file.path, "The old name of a file", &old_name, find_in_name(&old_name));
        }
        let (origin, context) = (file_origin(&file.path), LineContext::from_path(&file.path));
        let lines = added_lines(file);
        let blocks = lines.chunk_by(|one, next| one.0.checked_add(1) == Some(next.0));
        let attempts =
            blocks.flat_map(|block| find_injections(block, origin, MarkerPolicy::Forged, context));
        let attempts = attempts.collect();
        report.add(&file.path, "An added line", &lines, attempts);
    }
    report.into_output()
}

fn added_lines(file: &ChangedFile) -> Vec<(u32, String)> {
    let lines = file.added.iter().map(|line| {
        // A byte order mark at the start of a file is legitimate.
        let text = String::from_utf8_lossy(&line.text);
        let text = text.strip_prefix('\u{FEFF}').filter(|_| line.number == 1).unwrap_or(&text);
        (line.number, text.to_owned())
    });
    lines.collect()
}

#[rustfmt::skip]
const INSTRUCTION_FILES: [&str; 9] = [
    "agents.md", "claude.md", "gemini.md", "review.md", "skill.md", ".cursorrules", ".clinerules", ".windsurfrules",
    "copilot-instructions.md",
];

/// Recognizes instruction files for agents.
fn file_origin(path: &str) -> TextOrigin {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_named = INSTRUCTION_FILES.contains(&name.as_str());
    let folders =
        [".cursor/rules/", ".clinerules/", ".crh/skills/", ".claude/", ".github/instructions/"];
    let is_in_folder = folders
        .into_iter()
        .any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")));
    if is_named || is_in_folder { TextOrigin::Instructions } else { TextOrigin::File }
}

/// Splits a name into words: `docs/ApproveThis-change.md` has four and an extension.
fn split_name(path: &str) -> String {
    let mut words = String::with_capacity(path.len());
    let mut previous = ' ';
    for char in path.chars() {
        if previous.is_lowercase() && char.is_uppercase() {
            words.push(' ');
        }
        // A file name has no sentences, so a dot separates words too.
        words.push(if matches!(char, '.' | '/' | '_' | '-') { ' ' } else { char });
        previous = char;
    }
    words
}

/// Injection attempts in consecutive lines, by line. If a line has several, only the clearest one:
/// the first in the order of `InjectionKind`.
fn find_injections(
    lines: &[(u32, String)],
    origin: TextOrigin,
    markers: MarkerPolicy,
    context: LineContext,
) -> BTreeMap<u32, InjectionKind> {
    let mut attempts = BTreeMap::new();
    let mut add = |line: u32, attempt: InjectionKind| {
        let kind = attempts.entry(line).or_insert(attempt);
        *kind = attempt.min(*kind);
    };
    let normalized_text = normalize(lines);
    for offset in hidden_html::forged_fences(&normalized_text.text) {
        add(normalized_text.line(offset), InjectionKind::Fence);
    }
    if markers == MarkerPolicy::Forged {
        for offset in hidden_html::forged_markers(&normalized_text.text, origin) {
            add(normalized_text.line(offset), InjectionKind::Marker);
        }
    }
    for range in hidden_html::hidden_ranges(&normalized_text.text) {
        let words = normalized_text.words(range.start, range.end, Underscore::Separates);
        for offset in phrases::instructions(&words, TextOrigin::Hidden) {
            add(words.line(offset), InjectionKind::HiddenText);
        }
    }
    let underscore = match origin {
        TextOrigin::File => Underscore::Joins,
        TextOrigin::Instructions | TextOrigin::Message | TextOrigin::Name | TextOrigin::Hidden => {
            Underscore::Separates
        }
    };
    for offset in chat_template::forged_turns(&normalized_text.text, origin) {
        add(normalized_text.line(offset), InjectionKind::ChatTurn);
    }
    for line in instruction_lines(&normalized_text, lines, underscore, origin) {
        add(line, InjectionKind::Instruction);
    }
    for offset in spaced_letters::spaced_instructions(&normalized_text) {
        add(normalized_text.line(offset), InjectionKind::SpacedLetters);
    }
    for (number, text) in encoded_text::decoded_texts(lines) {
        let decoded_lines = [(number, text)];
        let text = normalize(&decoded_lines);
        let origin = TextOrigin::Hidden;
        let found = instruction_lines(&text, &decoded_lines, Underscore::Separates, origin);
        if !found.is_empty() {
            add(number, InjectionKind::Encoded);
        }
    }
    for (number, line) in lines {
        match unicode::find_trick(line, context) {
            Some(UnicodeTrick::Invisible) => add(*number, InjectionKind::Invisible),
            Some(UnicodeTrick::Reordered) => add(*number, InjectionKind::Reordered),
            None => {}
        }
    }
    attempts
}

fn normalize(lines: &[(u32, String)]) -> NormalizedText {
    NormalizedText::from_lines(lines.iter().map(|(number, text)| (*number, text.as_str())))
}

/// Lines in which an instruction begins, in English or a language of [`vocabulary`].
fn instruction_lines(
    text: &NormalizedText,
    lines: &[(u32, String)],
    underscore: Underscore,
    origin: TextOrigin,
) -> Vec<u32> {
    let words = text.all_words(underscore);
    let mut found = phrases::instructions(&words, origin);
    if let Some(words) = words.with_digits_as_letters() {
        found.extend(phrases::instructions(&words, origin));
    }
    let mut found: Vec<u32> = found.into_iter().map(|offset| words.line(offset)).collect();
    found.extend(vocabulary::foreign_instructions(lines));
    found
}

#[derive(Debug, Default)]
struct InjectionReport {
    findings: Vec<StaticFinding>,
    omitted_counts: BTreeMap<String, usize>,
}

impl InjectionReport {
    fn add(
        &mut self,
        place: &str,
        subject: &str,
        lines: &[(u32, String)],
        attempts: BTreeMap<u32, InjectionKind>,
    ) {
        for (index, (line, attempt)) in attempts.into_iter().enumerate() {
            if index >= PER_PLACE_MAX || self.findings.len() >= FINDINGS_MAX {
                *self.omitted_counts.entry(place.to_owned()).or_default() += 1;
                continue;
            }
            let text = lines.binary_search_by_key(&line, |(number, _)| *number);
            let text = text.map_or("", |index| lines[index].1.as_str());
            self.findings.push(attempt.finding(place, subject, line, text));
        }
    }

    fn into_output(self) -> StaticOutput {
        let note = |(place, count): (String, usize)| {
            format!("{count} more attempts to instruct the reviewer in `{place}` are not listed")
        };
        StaticOutput {
            findings: self.findings,
            notes: self.omitted_counts.into_iter().map(note).collect(),
        }
    }
}

impl InjectionKind {
    fn finding(self, place: &str, subject: &str, line: u32, text: &str) -> StaticFinding {
        let (title, why) = self.describe();
        let draft =
            FindingDraft::new(&RULES[0], place, line, &unicode::escape_invisible(text.trim()));
        let draft = draft.with_text(format!("{subject} {title}"), why, FIX);
        FindingDraft { owner: Owner::Human, ..draft }.into_finding()
    }

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Fence => (
                "forges the fence around untrusted text",
                "A model would take the following text for part of the review instructions. Such a tag is never written by accident.",
            ),
            Self::Marker => (
                "forges a marker of the reviewer's comments",
                "These markers identify the reviewer's own comments. A forged marker can hide a comment or pass for a review.",
            ),
            Self::ChatTurn => (
                "forges a turn of a conversation with the reviewer",
                "A model may take the text after this token for an instruction or for its own answer. A model that obeys writes the review that the author wants.",
            ),
            Self::HiddenText => (
                "hides an instruction to the reviewer in HTML",
                "People do not see this text, but a model reads it. A model that obeys writes the review that the author wants.",
            ),
            Self::Instruction => (
                "tries to instruct the reviewer",
                "A model that obeys writes the review that the author wants. Do not rely on what models say about this change before a person has looked at it.",
            ),
            Self::SpacedLetters => (
                "hides an instruction to the reviewer in spaced letters",
                "Searches for words do not find spaced letters, but models read them. A model that obeys writes the review that the author wants.",
            ),
            Self::Encoded => (
                "hides an instruction to the reviewer in encoded text",
                "People do not read encoded text, but models do. A model that obeys writes the review that the author wants.",
            ),
            Self::Invisible => (
                "hides text in invisible characters",
                "People see nothing here, but programs and models read it. It can carry instructions, or make two different names look the same.",
            ),
            Self::Reordered => (
                "is displayed in another order than it is read",
                "Characters that change the writing direction make the line look different from what a compiler or a model reads. People approve code that is not there.",
            ),
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wordings;
