//! The front matter of a reviewer's file: a text becomes a reviewer, or half a sentence that says what to write instead.

use serde::Deserialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

use super::{Given, Returns, Reviewer, ReviewerOrigin, Route, Section, Tier, Trigger};
use crate::facts::Fact;
use crh_git::Globs;
use crh_review::finding::{AutofixClass, Category, Owner, Severity};
use crh_syntax::Language;

/// A prompt of ours has three to six thousand characters; what is longer crowds the change out of the conversation.
pub(super) const FILE_MAX: u64 = 64 << 10;
/// Front matter has some thirty values; the list of words is the longest.
const VALUES_MAX: usize = 2_000;
/// The deepest is a word in a list in a trigger in the list of triggers.
const DEPTH_MAX: usize = 8;
/// What stands in a column of a table.
const LENS_MAX: usize = 200;
/// Whoever is asked before the review reads this of every reviewer.
const SOFT_MAX: usize = 500;
/// A longer name breaks the table of reviewers, and the names of files.
const NAME_MAX: usize = 40;
/// What a file without `cap` has. A lens that finds more than this in one change has lost its measure.
const CAP: usize = 8;
/// Nobody reads more from one reviewer.
const CAP_MAX: usize = 50;

/// What stands between the two lines of hyphens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Front {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    lens: String,
    #[serde(default)]
    always: Option<Always>,
    #[serde(default)]
    when: Vec<When>,
    #[serde(default)]
    soft: String,
    #[serde(default)]
    tier: Tier,
    category: Category,
    #[serde(default)]
    route: Option<String>,
    #[serde(default)]
    max_severity: Option<Severity>,
    #[serde(default)]
    cap: Option<usize>,
    #[serde(default)]
    returns: Back,
    #[serde(default)]
    given: Vec<Given>,
    #[serde(default)]
    needs: Vec<Fact>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Always {
    Full,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Back {
    #[default]
    Findings,
    Learnings,
    AgentNative,
    SchemaDrift,
    Deployment,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    #[serde(default)]
    fact: Option<Fact>,
    #[serde(default)]
    lines: Option<u64>,
    #[serde(default)]
    paths: Option<Vec<String>>,
    #[serde(default)]
    words: Option<Vec<String>>,
    #[serde(default)]
    languages: Option<Vec<String>>,
}

/// Reads a file. The error is half a sentence that says what to do.
pub(super) fn reviewer(bytes: &[u8], origin: ReviewerOrigin) -> Result<Reviewer, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| "it is not UTF-8: save it in that encoding".to_owned())?;
    let (front, prompt) = split(text)?;
    let front: Front = yaml(front)?;
    let name = front.name.trim().to_owned();
    if !is_name(&name) {
        return Err(format!(
            "`name: {name}` is no name: use small letters, digits and hyphens, a letter first, at most {NAME_MAX}, and no number at the end, such as `query-plans`"
        ));
    }
    let lens = front.lens.trim().to_owned();
    if lens.is_empty() || lens.contains('\n') || lens.chars().count() > LENS_MAX {
        return Err(format!(
            "`lens` has to say in one line of at most {LENS_MAX} characters what it looks at"
        ));
    }
    if front.soft.chars().count() > SOFT_MAX {
        return Err(format!(
            "`soft` has to say in at most {SOFT_MAX} characters when it is needed"
        ));
    }
    let cap = front.cap.unwrap_or(CAP);
    if !(1..=CAP_MAX).contains(&cap) {
        return Err(format!("`cap: {cap}` is out of range: write a number from 1 to {CAP_MAX}"));
    }
    if prompt.trim().is_empty() {
        return Err("nothing follows the front matter: write there what to look for".to_owned());
    }
    let when =
        front.when.into_iter().enumerate().map(|(at, when)| {
            trigger(when).map_err(|why| format!("entry {} of `when` {why}", at + 1))
        });
    Ok(Reviewer {
        name,
        aliases: front.aliases,
        lens,
        in_full: matches!(front.always, Some(Always::Full)),
        when: when.collect::<Result<_, _>>()?,
        soft: front.soft.trim().to_owned(),
        tier: front.tier,
        category: front.category,
        route: front.route.map_or(Ok(ROUTE), |route| read_route(&route))?,
        max_severity: front.max_severity.unwrap_or(Severity::P0),
        cap,
        returns: returns(&front.returns),
        given: front.given,
        needs: front.needs,
        prompt: prompt.trim().to_owned(),
        origin,
    })
}

/// What a file without `route` has: somebody has to think about it.
const ROUTE: Route = Route { class: AutofixClass::Manual, owner: Owner::DownstreamResolver };

/// The front matter, with the line that opens it, so that a reader's line numbers are those of the file; and what follows it.
pub(crate) fn split(text: &str) -> Result<(&str, &str), String> {
    let missing = || {
        "it does not begin with front matter: write its keys between two lines `---` at the top"
            .to_owned()
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---").ok_or_else(missing)?;
    let mut at = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Ok((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    Err("its front matter does not end: write a line `---` behind its keys".to_owned())
}

/// Reads YAML that a stranger may have written, within bounds. The error is half a sentence.
pub(crate) fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let budget = serde_saphyr::budget! { max_nodes: VALUES_MAX, max_depth: DEPTH_MAX };
    let options = serde_saphyr::options! { budget: budget };
    serde_saphyr::from_str_with_options(text, options).map_err(|why| {
        let why = why.without_snippet().to_string();
        format!("its front matter cannot be read: {}", why.lines().next().unwrap_or_default())
    })
}

/// Whether a text can name a reviewer. With a number at the end it would be taken for a part of another one's work.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let last = name.rsplit('-').next().unwrap_or(name);
    name.len() <= NAME_MAX
        && name.bytes().all(is_plain)
        && name.starts_with(|it: char| it.is_ascii_lowercase())
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

fn returns(back: &Back) -> Returns {
    match back {
        Back::Findings => Returns::Findings,
        Back::Learnings => Returns::Notes(Section::Learnings),
        Back::AgentNative => Returns::Notes(Section::AgentNative),
        Back::SchemaDrift => Returns::Notes(Section::SchemaDrift),
        Back::Deployment => Returns::Notes(Section::Deployment),
    }
}

/// Reads `manual -> human`.
fn read_route(text: &str) -> Result<Route, String> {
    let wrong = || {
        format!(
            "`route: {text}` is no route: write a class and an owner, such as `manual -> downstream-resolver`"
        )
    };
    let (class, owner) = text.split_once("->").ok_or_else(wrong)?;
    let class = word(class).ok_or_else(wrong)?;
    let owner = word(owner).ok_or_else(wrong)?;
    Ok(Route { class, owner })
}

/// The variant that JSON spells so.
fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    let text: StrDeserializer<'_, WordError> = text.trim().into_deserializer();
    T::deserialize(text).ok()
}

/// Reads a trigger. The error goes on after its place.
fn trigger(when: When) -> Result<Trigger, String> {
    let When { fact, lines, paths, words, languages } = when;
    if fact.is_none()
        && lines.is_none()
        && paths.is_none()
        && words.is_none()
        && languages.is_none()
    {
        return Err(
            "is empty: write `fact`, `lines`, `paths`, `words` or `languages` into it".to_owned()
        );
    }
    let lists = [("paths", &paths), ("words", &words), ("languages", &languages)];
    if let Some((name, _)) = lists.iter().find(|(_, it)| it.as_ref().is_some_and(Vec::is_empty)) {
        return Err(format!(
            "has an empty list `{name}`: write something into it, or leave it out"
        ));
    }
    if lines == Some(0) {
        return Err("has `lines: 0`, which every change has: write at least 1".to_owned());
    }
    let words = words.unwrap_or_default();
    let is_word = |word: &&String| word.chars().all(|it| it.is_alphanumeric() || it == '_');
    if let Some(word) = words.iter().find(|word| word.is_empty() || !is_word(word)) {
        return Err(format!(
            "has `{word}` among its words: only letters, digits and `_` make a word"
        ));
    }
    let named = |name: &String| {
        Language::from_name(name).map(Language::name).ok_or_else(|| {
            let known: Vec<&str> = Language::ALL.into_iter().map(Language::name).collect();
            format!("has the language `{name}`: there are {}", known.join(", "))
        })
    };
    let languages = languages.unwrap_or_default();
    Ok(Trigger {
        fact,
        lines,
        paths: paths.map(Globs::new).transpose().map_err(|why| format!("cannot be used: {why}"))?,
        words: words.iter().map(|word| word.to_lowercase()).collect(),
        languages: languages.iter().map(named).collect::<Result<_, _>>()?,
    })
}
