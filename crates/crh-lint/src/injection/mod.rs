//! Attempts to instruct the reviewer: in what people write about the change, in the names of its files, and in the lines
//! that it adds.
//!
//! It knows no model and cannot be talked round. What it finds is a finding by code, so that a model that obeyed cannot
//! turn the change green. It looks for the plain attempts and the usual ways to hide them; what no reviewer would
//! take for an instruction is not one, and what only speaks of such attempts is passed over as far as words tell.

#[path = "base64_text.rs"]
mod encoded;
#[path = "normalized_text.rs"]
mod folded;
#[path = "hidden_html.rs"]
mod hidden;
#[path = "phrase_prefilter.rs"]
mod needed;
mod phrases;
mod unicode;

use std::collections::BTreeMap;

use folded::{Folded, Underscore};
use phrases::Setting;
use unicode::{Script, Trick};

use crate::found::Found;
use crate::{ChangedFile, Reported, Returned, Rule};
use crh_review::finding::{Category, Confidence, Owner, Severity};

/// Whoever tries this often at one place is found out by the first ones.
const PER_PLACE_MAX: usize = 5;
/// The same for all places together.
const FINDINGS_MAX: usize = 60;

/// An id is a number or a word; what is longer is none that a forge gave.
const PLACE_CHARS: usize = 60;

const FIX: &str = "Take it out. If the text is there for a reason, such as a test or a page about these attacks, a person has to say \
     so: no reviewer that is a model should.";

/// What is looked for.
pub(crate) const RULES: &[Rule] = &[Rule {
    id: "injection/instruction",
    severity: Severity::P1,
    category: Category::Security,
    confidence: Confidence::ONE,
    finds: "text that addresses the reviewer, or hides something from people",
    also: &[],
}];

/// Something that people wrote about the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    kind: Kind,
    /// Stands for a path in findings: `(title)`.
    place: String,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Title,
    Description,
    Commit,
    Comment,
    Other,
}

impl Text {
    /// The title of the change.
    pub fn title(text: impl Into<String>) -> Self {
        Self { kind: Kind::Title, place: place("title", ""), text: text.into() }
    }

    /// The description of the change.
    pub fn description(text: impl Into<String>) -> Self {
        Self { kind: Kind::Description, place: place("description", ""), text: text.into() }
    }

    /// The whole message of a commit.
    pub fn commit(id: &str, text: impl Into<String>) -> Self {
        let short = id.get(..7).unwrap_or(id);
        Self { kind: Kind::Commit, place: place("commit", short), text: text.into() }
    }

    /// A comment on the change, by the forge's id.
    pub fn comment(id: &str, text: impl Into<String>) -> Self {
        Self { kind: Kind::Comment, place: place("comment", id), text: text.into() }
    }

    /// Anything else that comes with the change, such as the name of its branch.
    pub fn other(name: &str, text: impl Into<String>) -> Self {
        Self { kind: Kind::Other, place: place(name, ""), text: text.into() }
    }
}

impl Kind {
    /// What it is, at the start of a sentence.
    fn words(self) -> &'static str {
        match self {
            Self::Title => "The title",
            Self::Description => "The description",
            Self::Commit => "A commit message",
            Self::Comment => "A comment",
            Self::Other => "A text of the change",
        }
    }

    fn markers(self) -> Markers {
        match self {
            Self::Comment => Markers::Ordinary,
            Self::Title | Self::Description | Self::Commit | Self::Other => Markers::Forged,
        }
    }
}

/// What markers of the reviewer's comments are where they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Markers {
    /// Nobody has a reason to write one there.
    Forged,
    /// Reviews are posted there, by other accounts too, and people quote them. Who wrote a comment makes its markers count, so
    /// that one of anybody else means nothing.
    Ordinary,
}

/// A place that is no file. It must look like a path to whoever checks paths, and like none to people.
fn place(kind: &str, id: &str) -> String {
    let plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, ' ' | '_' | '-' | '.');
    let name: String = format!("{kind} {id}").chars().filter(plain).take(PLACE_CHARS).collect();
    format!("({})", name.trim())
}

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Attempt {
    Fence,
    Marker,
    HiddenText,
    Instruction,
    Encoded,
    Invisible,
    Reordered,
}

/// Looks for attempts in texts about the change, in the names of its files and in the lines that they gain.
pub fn review(texts: &[Text], files: &[ChangedFile]) -> Returned {
    let mut report = Report::default();
    for text in texts {
        let lines: Vec<(u32, String)> = (1..).zip(text.text.lines().map(str::to_owned)).collect();
        let attempts = attempts(&lines, Setting::Message, text.kind.markers(), Script::Prose);
        report.add(&text.place, text.kind.words(), &lines, attempts);
    }
    for file in files {
        let name = [(1, file.path.clone())];
        let mut in_name = attempts(&name, Setting::Name, Markers::Forged, Script::Name);
        let words = [(1, split_name(&file.path))];
        in_name.extend(attempts(&words, Setting::Name, Markers::Forged, Script::Name));
        report.add(&file.path, "The name of a file", &name, in_name);
        let (setting, script) = (setting(&file.path), Script::of_file(&file.path));
        let lines = lines(file);
        let blocks = lines.chunk_by(|one, next| one.0.checked_add(1) == Some(next.0));
        let attempts = blocks.flat_map(|block| attempts(block, setting, Markers::Forged, script));
        let attempts = attempts.collect();
        report.add(&file.path, "An added line", &lines, attempts);
    }
    report.returned()
}

fn lines(file: &ChangedFile) -> Vec<(u32, String)> {
    let lines = file.added.iter().map(|line| {
        // A byte order mark at the start of a file is one.
        let text = String::from_utf8_lossy(&line.text);
        let text = text.strip_prefix('\u{FEFF}').filter(|_| line.number == 1).unwrap_or(&text);
        (line.number, text.to_owned())
    });
    lines.collect()
}

/// Files that agents are told to obey.
fn setting(path: &str) -> Setting {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_named = matches!(
        name.as_str(),
        "agents.md"
            | "claude.md"
            | "gemini.md"
            | "review.md"
            | "skill.md"
            | ".cursorrules"
            | ".clinerules"
            | ".windsurfrules"
            | "copilot-instructions.md"
    );
    let is_below =
        [".cursor/rules/", ".clinerules/", ".crh/skills/", ".claude/", ".github/instructions/"];
    let is_below = is_below
        .into_iter()
        .any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")));
    if is_named || is_below { Setting::Instructions } else { Setting::File }
}

/// A name as words: `docs/ApproveThis-change.md` has four and an ending.
fn split_name(path: &str) -> String {
    let mut split = String::with_capacity(path.len());
    let mut before = ' ';
    for char in path.chars() {
        if before.is_lowercase() && char.is_uppercase() {
            split.push(' ');
        }
        // A name has no sentences.
        split.push(if matches!(char, '.' | '/' | '_' | '-') { ' ' } else { char });
        before = char;
    }
    split
}

/// The attempts in lines that follow each other, by line; of several on one line, the plainest.
fn attempts(
    lines: &[(u32, String)],
    setting: Setting,
    markers: Markers,
    script: Script,
) -> BTreeMap<u32, Attempt> {
    let mut attempts = BTreeMap::new();
    let mut add = |line: u32, attempt: Attempt| {
        let known = attempts.entry(line).or_insert(attempt);
        *known = attempt.min(*known);
    };
    let folded = Folded::of(lines.iter().map(|(number, text)| (*number, text.as_str())));
    for offset in hidden::fences(&folded.text) {
        add(folded.line(offset), Attempt::Fence);
    }
    match markers {
        Markers::Forged => {
            for offset in hidden::markers(&folded.text, setting) {
                add(folded.line(offset), Attempt::Marker);
            }
        }
        Markers::Ordinary => {}
    }
    for range in hidden::ranges(&folded.text) {
        let words = folded.words(range.start, range.end, Underscore::Separates);
        for offset in phrases::instructions(&words, Setting::Hidden) {
            add(words.line(offset), Attempt::HiddenText);
        }
    }
    let underscore = match setting {
        Setting::File => Underscore::Joins,
        Setting::Instructions | Setting::Message | Setting::Name | Setting::Hidden => {
            Underscore::Separates
        }
    };
    let words = folded.all_words(underscore);
    for offset in phrases::instructions(&words, setting) {
        add(words.line(offset), Attempt::Instruction);
    }
    for (number, line) in lines {
        for text in encoded::texts(line) {
            let words = Folded::of([(*number, text.as_str())]).all_words(Underscore::Separates);
            if !phrases::instructions(&words, Setting::Hidden).is_empty() {
                add(*number, Attempt::Encoded);
            }
        }
        match unicode::trick(line, script) {
            Some(Trick::Invisible) => add(*number, Attempt::Invisible),
            Some(Trick::Reordered) => add(*number, Attempt::Reordered),
            None => {}
        }
    }
    attempts
}

#[derive(Debug, Default)]
struct Report {
    findings: Vec<Reported>,
    left_out: BTreeMap<String, usize>,
}

impl Report {
    fn add(
        &mut self,
        place: &str,
        what: &str,
        lines: &[(u32, String)],
        attempts: BTreeMap<u32, Attempt>,
    ) {
        for (at, (line, attempt)) in attempts.into_iter().enumerate() {
            if at >= PER_PLACE_MAX || self.findings.len() >= FINDINGS_MAX {
                *self.left_out.entry(place.to_owned()).or_default() += 1;
                continue;
            }
            let text = lines.binary_search_by_key(&line, |(number, _)| *number);
            let text = text.map_or("", |at| lines[at].1.as_str());
            self.findings.push(attempt.finding(place, what, line, text));
        }
    }

    fn returned(self) -> Returned {
        let note = |(place, count): (String, usize)| {
            format!("{count} more attempts to instruct the reviewer in `{place}` are not listed")
        };
        Returned { findings: self.findings, notes: self.left_out.into_iter().map(note).collect() }
    }
}

impl Attempt {
    fn finding(self, place: &str, what: &str, line: u32, text: &str) -> Reported {
        let (title, why) = self.words();
        let found = Found::new(&RULES[0], place, line, &unicode::visible(text.trim()));
        let found = found.saying(format!("{what} {title}"), why, FIX);
        Found { owner: Owner::Human, ..found }.reported()
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Fence => (
                "forges the fence around untrusted text",
                "What follows would look to a model as if the review itself said it. Nobody writes such a tag by accident.",
            ),
            Self::Marker => (
                "forges a marker of the reviewer's comments",
                "Such markers tell which comments are the reviewer's own. Forged, they can hide a comment or pass for a review.",
            ),
            Self::HiddenText => (
                "hides an instruction to the reviewer in HTML",
                "It is not shown where people read the text, and a model reads it. A review by a model that obeys says what the \
                 author wants it to say.",
            ),
            Self::Instruction => (
                "tries to instruct the reviewer",
                "A review by a model that obeys says what the author wants it to say. Do not rely on what models say about this \
                 change before a person has looked at it.",
            ),
            Self::Encoded => (
                "hides an instruction to the reviewer in base64",
                "People do not read base64, and models do. A review by a model that obeys says what the author wants it to say.",
            ),
            Self::Invisible => (
                "hides text in characters that are not shown",
                "People see nothing there, and programs and models read it. It can carry instructions, or make two names look \
                 like one.",
            ),
            Self::Reordered => (
                "is shown in another order than it is read",
                "Characters that turn the direction of writing make it look different from what a compiler or a model reads, so that \
                 people approve code that is not there.",
            ),
        }
    }
}

#[cfg(test)]
mod tests;
