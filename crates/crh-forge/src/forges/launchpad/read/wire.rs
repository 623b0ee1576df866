//! Launchpad's replies, as far as crh reads them.

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Merge {
    pub(super) commit_message: Option<String>,
    pub(super) description: Option<String>,
    pub(super) prerequisite_git_path: Option<String>,
    pub(super) private: bool,
    pub(super) queue_status: String,
    pub(super) registrant_link: Option<String>,
    pub(super) self_link: String,
    pub(super) source_git_path: Option<String>,
    pub(super) source_git_repository_link: Option<String>,
    pub(super) target_git_path: Option<String>,
    pub(super) target_git_repository_link: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PreviewDiff {
    pub(super) id: Option<u64>,
    pub(super) self_link: String,
    pub(super) date_created: Option<String>,
    pub(super) source_revision_id: String,
    pub(super) target_revision_id: String,
    /// Merge conflicts, as text lines.
    pub(super) conflicts: Option<String>,
    pub(super) diff_text_link: Option<String>,
}

impl PreviewDiff {
    /// The id, or else the number at the end of the address: older replies have no id.
    pub(super) fn number(&self) -> Option<u64> {
        self.id.or_else(|| self.self_link.rsplit('/').next()?.parse().ok())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Comment {
    pub(super) id: Option<u64>,
    pub(super) self_link: String,
    pub(super) web_link: Option<String>,
    pub(super) author_link: Option<String>,
    pub(super) owner_link: Option<String>,
    pub(super) date_created: Option<String>,
    pub(super) date_deleted: Option<String>,
    pub(super) vote: Option<String>,
    pub(super) content: Option<String>,
    pub(super) message_body: Option<String>,
}

impl Comment {
    pub(super) fn number(&self) -> u64 {
        let number_in_link =
            || self.self_link.rsplit('/').next().and_then(|number| number.parse().ok());
        self.id.or_else(number_in_link).unwrap_or_default()
    }

    pub(super) fn author(&self) -> Option<String> {
        person_in_link(self.author_link.as_deref().or(self.owner_link.as_deref()))
    }

    pub(super) fn text(&self) -> &str {
        self.content.as_deref().or(self.message_body.as_deref()).unwrap_or_default()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InlineComment {
    pub(super) line_number: LineKey,
    pub(super) person: Option<PersonOrLink>,
    pub(super) text: String,
    pub(super) date: String,
}

impl InlineComment {
    /// Approximate memory size in bytes.
    pub(super) fn size(&self) -> usize {
        let key = match &self.line_number {
            LineKey::Number(_) => 0,
            LineKey::Text(key) => key.len(),
        };
        size_of::<Self>() + self.text.len() + self.date.len() + key
    }
}

/// Key of the position of an inline comment: a row number, or any text that the client of its
/// author sent.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum LineKey {
    Number(u32),
    Text(String),
}

impl Default for LineKey {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl LineKey {
    /// The number, if the key is one.
    pub(super) fn number(&self) -> Option<u32> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        }
    }

    /// The key as text.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.trim().to_owned(),
        }
    }
}

/// A person: the account itself, or its address.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum PersonOrLink {
    Entry(Person),
    Link(String),
}

impl PersonOrLink {
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Entry(person) => Some(person.name.clone()),
            Self::Link(link) => person_in_link(Some(link)),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Person {
    pub(super) name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Vote {
    pub(super) reviewer_link: Option<String>,
    pub(super) comment_link: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Bug {
    pub(super) id: u64,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) web_link: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Report {
    pub(super) title: String,
    pub(super) result: Option<String>,
    pub(super) result_summary: Option<String>,
    pub(super) url: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GitRef {
    pub(super) commit_sha1: String,
}

/// Account name in an address.
pub(super) fn person_in_link(link: Option<&str>) -> Option<String> {
    let name = link?.rsplit('/').next()?.strip_prefix('~')?;
    (!name.is_empty()).then(|| name.to_owned())
}
