//! Lessons: what maintainers told crh about their repository. A lesson is a row of
//! `.crh/lessons.toml`, read from the base branch only, or of a file in the user's state folder.
//!
//! Invariant: a lesson hides a finding only if rule or title match exactly, and never a P0, a
//! credential or an attempt to instruct the reviewer.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crh_git::PathGlobs;
use crh_review::finding::{Category, Member, Severity};
use crh_review::report::{DroppedFinding, Fate};
use crh_review::{escape_invisible, normalise_posted_title};

/// Path of a repository's lessons.
pub const LESSONS_FILE: &str = ".crh/lessons.toml";
/// Maximum size of the file: 200 lessons with provenance.
pub const LESSONS_MAX_BYTES: u64 = 256 << 10;

/// Format version. Increased when older readers would misread the file.
const VERSION: u32 = 1;
/// Maximum number of lessons in a file: a person can still review them.
const LESSONS_MAX: usize = 200;
/// Maximum characters of a lesson: one sentence.
pub const TEXT_MAX: usize = 300;
/// Maximum characters of an id.
const ID_MAX: usize = 60;
/// Maximum path patterns of a lesson.
const PATHS_MAX: usize = 20;
/// Maximum lessons in a prompt.
const PROMPT_LESSONS_MAX: usize = 20;
/// Maximum characters that the lessons of one lessons file have in a prompt: less than one percent
/// of a small context.
const PROMPT_CHARS_MAX: usize = 4_000;
/// Number of different proposals, commits or documents that confirm a lesson without a person.
const CONFIRMING_OCCURRENCES: usize = 2;

/// First lines of a new file.
const HEADER: &str = "# Lessons for crh, see `crh learn --help`. crh reads this file from the base branch only.\nversion = 1\n";

/// One lesson.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// Name, unique in the file: lower-case words with dashes.
    pub id: String,
    /// The lesson in one sentence.
    pub text: String,
    /// Path patterns of the files that it is about.
    pub paths: Vec<String>,
    /// Category of the findings that it is about; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// Rule of a static check. crh holds back (does not show) findings of this rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Title of a finding of a model. crh holds back findings with this title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it was learned.
    #[serde(default)]
    pub learned_from: Vec<Provenance>,
    /// The person who confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<String>,
    /// Last day on which it holds, `YYYY-MM-DD`.
    pub expires: String,
}

/// Where a lesson was learned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Login or name of the person.
    pub by: String,
    /// Web address, commit or file.
    pub at: String,
    /// Day, `YYYY-MM-DD`.
    pub on: String,
}

/// Whether a lesson is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LessonState {
    /// Confirmed and not expired.
    Active,
    /// Learned from fewer than two sources, and no person confirmed it. Not used.
    Unconfirmed,
    /// Past its last day. Not used.
    Expired,
}

impl fmt::Display for LessonState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Active => "active",
            Self::Unconfirmed => "unconfirmed",
            Self::Expired => "expired",
        })
    }
}

/// Why a file of lessons cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LessonsError {
    /// The file is not TOML, or has missing or unknown fields.
    #[error("{0}")]
    Format(String),
    /// The file has another format version.
    #[error("it has version {0}, but this crh reads {VERSION}")]
    OtherVersion(u32),
    /// The file is too large.
    #[error("it has more than {} KiB", LESSONS_MAX_BYTES >> 10)]
    TooLarge,
    /// Too many lessons.
    #[error("it has more than {LESSONS_MAX} lessons")]
    TooMany,
    /// A lesson breaks a rule.
    #[error("lesson `{id}`: {why}")]
    Invalid {
        /// Id of the lesson.
        id: String,
        /// What is wrong.
        why: String,
    },
}

/// The lessons of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lessons {
    /// Where the lessons are from, for messages.
    source: String,
    lessons: Vec<ParsedLesson>,
}

/// A lesson with its compiled patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ParsedLesson {
    lesson: Lesson,
    globs: PathGlobs,
    /// Normalised title, for comparison.
    title: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LessonsFile {
    version: u32,
    #[serde(default)]
    lesson: Vec<Lesson>,
}

impl Lessons {
    /// Parses a file. `source` names the file in messages. A blank file has no lessons.
    pub fn parse(source: &str, text: &str) -> Result<Self, LessonsError> {
        if text.len() as u64 > LESSONS_MAX_BYTES {
            return Err(LessonsError::TooLarge);
        }
        if text.trim().is_empty() {
            return Self::new(source, Vec::new());
        }
        let file: LessonsFile =
            toml::from_str(text).map_err(|error| LessonsError::Format(toml_error(text, &error)))?;
        if file.version != VERSION {
            return Err(LessonsError::OtherVersion(file.version));
        }
        Self::new(source, file.lesson)
    }

    /// Checks lessons and compiles their path patterns.
    pub fn new(source: &str, lessons: Vec<Lesson>) -> Result<Self, LessonsError> {
        if lessons.len() > LESSONS_MAX {
            return Err(LessonsError::TooMany);
        }
        let mut ids = BTreeSet::new();
        let mut parsed_lessons = Vec::with_capacity(lessons.len());
        for lesson in lessons {
            let invalid = |why: String| LessonsError::Invalid { id: lesson.id.clone(), why };
            if let Some(why) = lesson.problem() {
                return Err(invalid(why));
            }
            if !ids.insert(lesson.id.clone()) {
                return Err(invalid("the id is used twice".to_owned()));
            }
            let globs =
                PathGlobs::new(&lesson.paths).map_err(|error| invalid(error.to_string()))?;
            let title = lesson.title.as_deref().map(normalise_posted_title);
            parsed_lessons.push(ParsedLesson { lesson, globs, title });
        }
        Ok(Self { source: source.to_owned(), lessons: parsed_lessons })
    }

    /// The lessons, as written.
    pub fn iter(&self) -> impl Iterator<Item = &Lesson> {
        self.lessons.iter().map(|parsed| &parsed.lesson)
    }

    /// Whether there are no lessons.
    pub fn is_empty(&self) -> bool {
        self.lessons.is_empty()
    }

    /// The reason for holding back a finding. `None` if no active lesson matches, or no lesson may
    /// hide it.
    pub fn reason_to_hold_back(&self, member: &Member, today: &str) -> Option<String> {
        if is_protected(member) {
            return None;
        }
        let is_active = |parsed: &&ParsedLesson| parsed.lesson.state(today) == LessonState::Active;
        let lesson = self.lessons.iter().filter(is_active).find(|parsed| parsed.matches(member))?;
        let Lesson { id, text, .. } = &lesson.lesson;
        Some(format!("lesson `{id}` of {}: {}", self.source, escape_invisible(text)))
    }

    /// Active lessons about some files, as lines of a prompt, up to the limits.
    pub fn prompt_lines(&self, files: &[&str], today: &str) -> Vec<String> {
        let is_relevant = |parsed: &&ParsedLesson| {
            parsed.lesson.state(today) == LessonState::Active
                && files.iter().any(|file| parsed.globs.is_match(file.as_bytes()))
        };
        let mut chars = 0;
        let lines = self.lessons.iter().filter(is_relevant).map(|parsed| {
            let Lesson { text, paths, category, .. } = &parsed.lesson;
            let about = category.map(|category| format!(" ({category})")).unwrap_or_default();
            escape_invisible(&format!("{}{about}: {text}", paths.join(", ")))
        });
        lines
            .take(PROMPT_LESSONS_MAX)
            .take_while(|line| {
                chars += line.chars().count();
                chars <= PROMPT_CHARS_MAX
            })
            .collect()
    }
}

/// The lessons of a review, and its day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewLessons {
    lists: Vec<Lessons>,
    today: String,
}

impl ReviewLessons {
    /// Lessons of several files. `today` is `YYYY-MM-DD`.
    pub fn new(lists: Vec<Lessons>, today: &str) -> Self {
        let lists = lists.into_iter().filter(|lessons| !lessons.is_empty()).collect();
        Self { lists, today: today.to_owned() }
    }

    /// Whether there are no lessons.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Active lessons about some files, as lines of a prompt, up to the limits.
    pub fn prompt_lines(&self, files: &[&str]) -> Vec<String> {
        let lines = self.lists.iter().flat_map(|lessons| lessons.prompt_lines(files, &self.today));
        lines.take(PROMPT_LESSONS_MAX).collect()
    }

    /// Splits findings into those to show and those that a lesson holds back. The first matching
    /// lesson gives the reason.
    pub fn hold_back(&self, members: Vec<Member>) -> (Vec<Member>, Vec<DroppedFinding>) {
        let (mut kept, mut dropped) = (Vec::with_capacity(members.len()), Vec::new());
        for member in members {
            let mut reasons =
                self.lists.iter().filter_map(|it| it.reason_to_hold_back(&member, &self.today));
            match reasons.next() {
                Some(reason) => dropped.push(DroppedFinding::new(member, Fate::Lesson, reason)),
                None => kept.push(member),
            }
        }
        (kept, dropped)
    }
}

/// Whether no lesson may hide a finding.
fn is_protected(member: &Member) -> bool {
    let is_p0 = member.finding.severity == Severity::P0;
    is_p0 || is_protected_kind(member.rule.as_deref(), member.finding.category)
}

/// Whether no lesson may hide findings of a kind: credentials, attempts to instruct the reviewer,
/// and security findings of models, which may report either in their own words.
pub(crate) fn is_protected_kind(rule: Option<&str>, category: Category) -> bool {
    let rule = rule.unwrap_or_default().to_lowercase();
    if rule.is_empty() {
        return category == Category::Security;
    }
    let secrets = ["secret", "credential", "gitleaks", "trufflehog"];
    secrets.iter().any(|word| rule.contains(word)) || rule.starts_with("injection/")
}

impl ParsedLesson {
    /// Whether rule or title, category and path of a finding match the lesson.
    fn matches(&self, member: &Member) -> bool {
        let Lesson { category, rule, .. } = &self.lesson;
        let finding = &member.finding;
        let is_same = match (rule, &self.title) {
            (Some(rule), None) => member.rule.as_ref() == Some(rule),
            (None, Some(title)) => {
                member.rule.is_none() && normalise_posted_title(&finding.title) == *title
            }
            // A lesson without rule and title only informs the reviewers. A lesson with both is
            // invalid.
            (None, None) | (Some(_), Some(_)) => false,
        };
        is_same
            && category.is_none_or(|category| category == finding.category)
            && self.globs.is_match(finding.file.as_bytes())
    }
}

impl Lesson {
    /// Whether the lesson is used on a day.
    pub fn state(&self, today: &str) -> LessonState {
        let places: BTreeSet<&str> = self.learned_from.iter().map(Provenance::proposal).collect();
        let is_confirmed = self.confirmed_by.is_some() || places.len() >= CONFIRMING_OCCURRENCES;
        if self.expires.as_str() < today {
            LessonState::Expired
        } else if is_confirmed {
            LessonState::Active
        } else {
            LessonState::Unconfirmed
        }
    }

    /// What is wrong with the lesson. [`Lessons::new`] checks the path patterns.
    fn problem(&self) -> Option<String> {
        let is_id = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        let is_line = |text: &str| !text.trim().is_empty() && !text.contains(char::is_control);
        if self.id.is_empty() || self.id.len() > ID_MAX || !self.id.chars().all(is_id) {
            return Some(format!("`id` needs 1 to {ID_MAX} lower-case letters, digits or dashes"));
        }
        if !is_line(&self.text) || self.text.chars().count() > TEXT_MAX {
            return Some(format!("`text` needs one line of at most {TEXT_MAX} characters"));
        }
        if self.paths.is_empty() || self.paths.len() > PATHS_MAX {
            return Some(format!("`paths` needs 1 to {PATHS_MAX} patterns"));
        }
        if self.rule.is_some() && self.title.is_some() {
            return Some("give `rule` or `title`, not both".to_owned());
        }
        let is_rule = |rule: &str| rule.contains(char::is_alphanumeric) && !rule.contains('*');
        if self.rule.as_deref().is_some_and(|rule| !is_rule(rule)) {
            return Some("`rule` needs the exact name of one rule, without `*`".to_owned());
        }
        let title = self.title.as_deref().map(normalise_posted_title);
        if title.is_some_and(|title| title.is_empty()) {
            return Some("`title` needs a letter or a digit".to_owned());
        }
        if self.confirmed_by.as_deref().is_some_and(|by| !is_line(by)) {
            return Some("`confirmed_by` must name a person".to_owned());
        }
        (!is_day(&self.expires)).then(|| "`expires` needs a day such as 2027-01-31".to_owned())
    }

    /// The lesson as a TOML table.
    pub fn to_toml(&self) -> String {
        let mut toml = format!(
            "\n[[lesson]]\nid = {}\ntext = {}\npaths = [{}]\n",
            toml_string(&self.id),
            toml_string(&self.text),
            self.paths.iter().map(|path| toml_string(path)).collect::<Vec<_>>().join(", "),
        );
        let category = self.category.map(|category| category.to_string());
        let optional = [
            ("category", category.as_ref()),
            ("rule", self.rule.as_ref()),
            ("title", self.title.as_ref()),
            ("confirmed_by", self.confirmed_by.as_ref()),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                toml.push_str(&format!("{key} = {}\n", toml_string(value)));
            }
        }
        toml.push_str(&format!("expires = {}\nlearned_from = [\n", toml_string(&self.expires)));
        for Provenance { by, at, on } in &self.learned_from {
            toml.push_str(&format!(
                "  {{ by = {}, at = {}, on = {} }},\n",
                toml_string(by),
                toml_string(at),
                toml_string(on)
            ));
        }
        toml.push_str("]\n");
        toml
    }
}

impl Provenance {
    /// Web address of the proposal of a comment: `at` without the part after `#`.
    fn proposal(&self) -> &str {
        self.at.split('#').next().unwrap_or(&self.at)
    }
}

/// Text of a file with these lessons.
pub fn lessons_file(lessons: &[Lesson]) -> String {
    let tables: String = lessons.iter().map(Lesson::to_toml).collect();
    format!("{HEADER}{tables}")
}

/// Adds lessons to the text of a file, whose comments and order stay.
pub fn append_lessons(text: Option<&str>, lessons: &[Lesson]) -> String {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return lessons_file(lessons);
    };
    let tables: String = lessons.iter().map(Lesson::to_toml).collect();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}{tables}")
}

/// Removes a lesson from the text of a file, whose other lines stay. `None` if the file has no such
/// lesson, or if the layout of the file is not the one that crh writes.
pub fn remove_lesson(text: &str, id: &str) -> Option<String> {
    let before = Lessons::parse("", text).ok()?;
    let starts = text.match_indices("[[lesson]]").map(|(index, _)| index);
    let starts: Vec<usize> = starts.filter(|at| *at == 0 || text[..*at].ends_with('\n')).collect();
    let position = before.iter().position(|lesson| lesson.id == id)?;
    let start = *starts.get(position)?;
    let end = starts.get(position + 1).copied().unwrap_or(text.len());
    let shorter = format!("{}{}", &text[..start], &text[end..]);
    let after = Lessons::parse("", &shorter).ok()?;
    let kept: Vec<&Lesson> = before.iter().filter(|lesson| lesson.id != id).collect();
    (after.iter().collect::<Vec<_>>() == kept).then(|| format!("{}\n", shorter.trim_end()))
}

/// An id from words, with a suffix that tells lessons with the same words apart.
pub fn lesson_id(words: &str, suffix: &str) -> String {
    let slug: String = words
        .to_lowercase()
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() { char } else { ' ' })
        .collect();
    let words: Vec<&str> = slug.split_whitespace().take(6).collect();
    let start: String = words.join("-").chars().take(ID_MAX - 9).collect();
    let suffix: String = suffix.chars().filter(char::is_ascii_alphanumeric).take(6).collect();
    [start.trim_matches('-'), &suffix.to_lowercase()].join("-").trim_matches('-').to_owned()
}

/// Words of a person as the text of a lesson: one line of at most [`TEXT_MAX`] characters.
pub fn lesson_text(words: &str) -> String {
    let line: Vec<&str> = words.split_whitespace().collect();
    let line = line.join(" ").replace(char::is_control, " ");
    match line.chars().count() > TEXT_MAX {
        true => line.chars().take(TEXT_MAX - 1).chain(['…']).collect(),
        false => line,
    }
}

/// The day one year after a day, on which a new lesson expires.
pub fn one_year_after(day: &str) -> String {
    let (year, rest) = day.split_at_checked(4).unwrap_or((day, ""));
    let next = year.parse::<u32>().map_or(9999, |year| year.saturating_add(1).min(9999));
    // The 29th of February exists only every fourth year.
    let rest = if rest == "-02-29" { "-02-28" } else { rest };
    format!("{next:04}{rest}")
}

fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |text: &str, length: usize| {
        Some(text).filter(|text| text.len() == length)?.parse::<u32>().ok()
    };
    number(year, 4).is_some()
        && number(month, 2).is_some_and(|month| (1..=12).contains(&month))
        && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
}

/// Message and line number of a TOML error, without the text of the line.
fn toml_error(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

/// A basic string of TOML. TOML knows all escapes of JSON. It also requires an escape of U+007F,
/// which JSON does not escape.
fn toml_string(text: &str) -> String {
    let json = serde_json::Value::String(text.to_owned()).to_string();
    json.replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests;
