//! Parses the file of a reviewer. Errors complete a sentence and say what to write instead.

use serde::Deserialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

use super::{
    ExtraMaterial, ModelTier, NotesSection, PanelRole, Returns, Reviewer, ReviewerOrigin, Route,
    Trigger,
};
use crate::facts::ChangeFact;
use crate::front_matter::{parse_yaml, split};
use crh_git::PathGlobs;
use crh_review::finding::{AutofixClass, Category, Owner, Severity};
use crh_syntax::Language;

/// Maximum size of a reviewer file. Built-in prompts have three to six thousand characters. A
/// longer prompt leaves less of the model's context for the change.
pub(super) const FILE_MAX: u64 = 64 << 10;
/// Maximum characters of `lens`, which is shown in a table column.
const LENS_MAX: usize = 200;
/// Maximum characters of `soft`, which the scout reads for every reviewer.
const SOFT_MAX: usize = 500;
/// Maximum length of a name, which is shown in tables and used in file names.
const NAME_MAX: usize = 40;
/// Default of `cap`, the maximum number of findings per run.
const DEFAULT_CAP: usize = 8;
/// Largest allowed value of `cap`.
const CAP_MAX: usize = 50;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    lens: String,
    #[serde(default)]
    role: PanelRole,
    #[serde(default)]
    always: Option<Always>,
    #[serde(default)]
    when: Vec<TriggerFields>,
    #[serde(default)]
    soft: String,
    #[serde(default)]
    tier: ModelTier,
    category: Category,
    #[serde(default)]
    route: Option<String>,
    #[serde(default)]
    max_severity: Option<Severity>,
    #[serde(default)]
    cap: Option<usize>,
    #[serde(default)]
    returns: ReturnsKeyword,
    #[serde(default)]
    given: Vec<ExtraMaterial>,
    #[serde(default)]
    needs: Vec<ChangeFact>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Always {
    Full,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReturnsKeyword {
    #[default]
    Findings,
    Learnings,
    AgentNative,
    SchemaDrift,
    Deployment,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerFields {
    #[serde(default)]
    fact: Option<ChangeFact>,
    #[serde(default)]
    lines: Option<u64>,
    #[serde(default)]
    paths: Option<Vec<String>>,
    #[serde(default)]
    words: Option<Vec<String>>,
    #[serde(default)]
    languages: Option<Vec<String>>,
}

/// Parses a file. The error completes the sentence "the reviewer `FILE` is not used: …" and says
/// what to do.
pub(super) fn parse_reviewer(bytes: &[u8], origin: ReviewerOrigin) -> Result<Reviewer, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| "it is not UTF-8: save it in that encoding".to_owned())?;
    let (front, prompt) = split(text)?;
    let front: FrontMatter = parse_yaml(front)?;
    let name = front.name.trim().to_owned();
    if !is_name(&name) {
        return Err(format!(
            "`name: {name}` is not a valid name: use at most {NAME_MAX} lower-case letters, digits and hyphens, a letter first and no number at the end, such as `query-plans`"
        ));
    }
    let lens = front.lens.trim().to_owned();
    if lens.is_empty() || lens.contains('\n') || lens.chars().count() > LENS_MAX {
        return Err(format!(
            "`lens` must say in one line of at most {LENS_MAX} characters what it looks at"
        ));
    }
    if front.soft.chars().count() > SOFT_MAX {
        return Err(format!("`soft` must say in at most {SOFT_MAX} characters when it is needed"));
    }
    let cap = front.cap.unwrap_or(DEFAULT_CAP);
    if !(1..=CAP_MAX).contains(&cap) {
        return Err(format!("`cap: {cap}` is out of range: write a number from 1 to {CAP_MAX}"));
    }
    if prompt.trim().is_empty() {
        return Err("the prompt is empty: write it after the front matter".to_owned());
    }
    let when = front.when.into_iter().enumerate().map(|(index, when)| {
        parse_trigger(when).map_err(|why| format!("entry {} of `when` {why}", index + 1))
    });
    Ok(Reviewer {
        name,
        aliases: front.aliases,
        lens,
        role: front.role,
        in_full: matches!(front.always, Some(Always::Full)),
        when: when.collect::<Result<_, _>>()?,
        soft: front.soft.trim().to_owned(),
        tier: front.tier,
        category: front.category,
        route: front.route.map_or(Ok(DEFAULT_ROUTE), |route| parse_route(&route))?,
        max_severity: front.max_severity.unwrap_or(Severity::P0),
        cap,
        returns: returns(&front.returns),
        given: front.given,
        needs: front.needs,
        prompt: prompt.trim().to_owned(),
        origin,
    })
}

const DEFAULT_ROUTE: Route =
    Route { class: AutofixClass::Manual, owner: Owner::DownstreamResolver };

/// Whether a text is a valid name. Names that end with a number are not: `security-2` is the name
/// of the second run of `security` on a large change.
pub(super) fn is_name(name: &str) -> bool {
    let is_name_byte =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let last_word = name.rsplit('-').next().unwrap_or(name);
    name.len() <= NAME_MAX
        && name.bytes().all(is_name_byte)
        && name.starts_with(|char: char| char.is_ascii_lowercase())
        && !last_word.bytes().all(|byte| byte.is_ascii_digit())
}

fn returns(keyword: &ReturnsKeyword) -> Returns {
    match keyword {
        ReturnsKeyword::Findings => Returns::Findings,
        ReturnsKeyword::Learnings => Returns::Notes(NotesSection::Learnings),
        ReturnsKeyword::AgentNative => Returns::Notes(NotesSection::AgentNative),
        ReturnsKeyword::SchemaDrift => Returns::Notes(NotesSection::SchemaDrift),
        ReturnsKeyword::Deployment => Returns::Notes(NotesSection::Deployment),
    }
}

/// Parses `manual -> human`.
fn parse_route(text: &str) -> Result<Route, String> {
    let invalid_route = || {
        format!(
            "`route: {text}` is not a valid route: write a class and an owner, such as `manual -> downstream-resolver`"
        )
    };
    let (class, owner) = text.split_once("->").ok_or_else(invalid_route)?;
    let class = parse_word(class).ok_or_else(invalid_route)?;
    let owner = parse_word(owner).ok_or_else(invalid_route)?;
    Ok(Route { class, owner })
}

/// Parses an enum variant by its JSON name.
fn parse_word<T: DeserializeOwned>(text: &str) -> Option<T> {
    let text: StrDeserializer<'_, WordError> = text.trim().into_deserializer();
    T::deserialize(text).ok()
}

/// Parses a trigger. The error continues the sentence `entry N of when …`.
fn parse_trigger(when: TriggerFields) -> Result<Trigger, String> {
    let TriggerFields { fact, lines, paths, words, languages } = when;
    if fact.is_none()
        && lines.is_none()
        && paths.is_none()
        && words.is_none()
        && languages.is_none()
    {
        return Err("is empty: set `fact`, `lines`, `paths`, `words` or `languages`".to_owned());
    }
    let lists = [("paths", &paths), ("words", &words), ("languages", &languages)];
    if let Some((name, _)) = lists.iter().find(|(_, it)| it.as_ref().is_some_and(Vec::is_empty)) {
        return Err(format!("has an empty list `{name}`: fill it or remove it"));
    }
    if lines == Some(0) {
        return Err("has `lines: 0`: write at least 1".to_owned());
    }
    let words = words.unwrap_or_default();
    let is_word = |word: &&String| word.chars().all(|char| char.is_alphanumeric() || char == '_');
    if let Some(word) = words.iter().find(|word| word.is_empty() || !is_word(word)) {
        return Err(format!("has the invalid word `{word}`: use only letters, digits and `_`"));
    }
    let language_name = |name: &String| {
        Language::from_name(name).map(Language::name).ok_or_else(|| {
            let languages: Vec<&str> = Language::ALL.into_iter().map(Language::name).collect();
            format!("has the unknown language `{name}`: use one of {}", languages.join(", "))
        })
    };
    let languages = languages.unwrap_or_default();
    Ok(Trigger {
        fact,
        lines,
        paths: paths
            .map(PathGlobs::new)
            .transpose()
            .map_err(|why| format!("cannot be used: {why}"))?,
        words: words.iter().map(|word| word.to_lowercase()).collect(),
        languages: languages.iter().map(language_name).collect::<Result<_, _>>()?,
    })
}
