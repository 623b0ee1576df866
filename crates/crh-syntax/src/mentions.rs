//! Where names stand in a text as code: never in a comment or a string, and with what is done there.

use std::collections::BTreeSet;

use tree_sitter::{Node, TreeCursor};

use crate::parse::one_based;
use crate::{Language, NotParsed, Parsed, parse};

/// The most mentions kept of one text. Whoever asks whether a name is used needs a few.
pub const MENTIONS_MAX: usize = 10_000;

/// A name in the code of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The name, without what is around it.
    pub name: String,
    /// The line, 1-based.
    pub line: u32,
    /// What is done with it. In doubt it is [`Named`](MentionRole::Named): a use is only what is surely one.
    pub role: MentionRole,
}

/// What is done with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MentionRole {
    /// It is given to something: a definition, a parameter, a variable, an argument or a key.
    Named,
    /// It is taken in from elsewhere.
    Imported,
    /// It is called: `name()`.
    Called,
    /// It belongs to what stands before it: `of.name`, `of->name`, `of::name`.
    Reached {
        /// The word before it; empty if that is no word.
        of: String,
    },
    /// Anything else: its value or type is used.
    Read,
}

/// The places in a text where one of these names stands as code, in source order; at most [`MENTIONS_MAX`].
pub fn mentions(
    language: Language,
    text: &str,
    names: &BTreeSet<&str>,
) -> Result<Vec<Mention>, NotParsed> {
    Ok(Parsed::new(language, text)?.mentions(names))
}

impl Parsed<'_> {
    /// The places where one of these names stands as code, in source order; at most [`MENTIONS_MAX`].
    pub fn mentions(&self, names: &BTreeSet<&str>) -> Vec<Mention> {
        of_parsed(self, names)
    }
}

fn of_parsed(parsed: &Parsed<'_>, names: &BTreeSet<&str>) -> Vec<Mention> {
    let (language, text) = (parsed.language(), parsed.text());
    let mut cursor = parsed.tree().walk();
    let mut around = Vec::new();
    let mut mentions = Vec::new();
    loop {
        let node = cursor.node();
        if node.child_count() == 0 && is_name(&node) {
            let name = parse::source(&node, text);
            if names.contains(name) {
                let (name, line) = (name.to_owned(), one_based(node.start_position().row));
                mentions.push(Mention { name, line, role: role(language, &cursor, &around, text) });
            }
        }
        if mentions.len() == MENTIONS_MAX {
            return mentions;
        }
        let frame = Around { kind: node.kind(), field: cursor.field_name() };
        if cursor.goto_first_child() {
            around.push(frame);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return mentions;
            }
            around.pop();
        }
    }
}

/// A node around the one that is looked at.
struct Around<'t> {
    kind: &'t str,
    /// The field that it is in.
    field: Option<&'t str>,
}

/// Names are leaves that grammars call identifiers; PHP calls them names, and Ruby those with a capital constants.
fn is_name(node: &Node<'_>) -> bool {
    let kind = node.kind();
    node.is_named()
        && (kind.ends_with("identifier")
            || kind.ends_with("identifier_pattern")
            || matches!(kind, "constant" | "name"))
}

fn role(
    language: Language,
    cursor: &TreeCursor<'_>,
    around: &[Around<'_>],
    text: &str,
) -> MentionRole {
    let node = cursor.node();
    if around.iter().any(|it| is_import(it.kind)) {
        return MentionRole::Imported;
    }
    let before = text.get(..node.start_byte()).unwrap_or_default().trim_end();
    let after = text.get(node.end_byte()..).unwrap_or_default().trim_start();
    if let Some(owner) = owner(language, before) {
        return MentionRole::Reached { of: last_word(owner.trim_end()).to_owned() };
    }
    let parent = around.last().map_or("", |it| it.kind);
    let is_call = parent.contains("call") || parent.contains("invocation");
    // The dollar sign makes it a variable, whatever else has the name.
    let is_variable = language == Language::Php && before.ends_with('$');
    if is_variable || !is_call && names_something(&node, cursor.field_name(), around) {
        return MentionRole::Named;
    }
    if after.starts_with('(') || after.starts_with("!(") {
        return MentionRole::Called;
    }
    MentionRole::Read
}

/// What a name belongs to, if the text before it says that it belongs to something.
fn owner(language: Language, before: &str) -> Option<&str> {
    let signs: &[&str] = match language {
        Language::C | Language::Cpp => &["->", "::", "."],
        Language::Php => &["->", "::", "\\"],
        Language::Python
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Rust
        | Language::Go
        | Language::Java
        | Language::Ruby
        | Language::CSharp
        | Language::Kotlin
        | Language::Swift => &["::", "."],
    };
    let owner = signs.iter().find_map(|sign| before.strip_suffix(sign))?;
    // `..` is a range, and `...` spreads; `?.` and `!!.` reach like `.` does.
    let owner = owner.trim_end_matches(['?', '!']);
    (!owner.ends_with('.')).then_some(owner)
}

fn is_import(kind: &str) -> bool {
    kind.starts_with("import")
        || kind.starts_with("preproc_include")
        || matches!(kind, "use_declaration" | "using_directive" | "namespace_use_declaration")
}

/// Whether a name is given to something here.
fn names_something(node: &Node<'_>, field: Option<&str>, around: &[Around<'_>]) -> bool {
    const FIELDS: [&str; 9] =
        ["name", "declarator", "left", "pattern", "alias", "key", "parameter", "label", "names"];
    let parent = around.last();
    let kind = parent.map_or("", |it| it.kind);
    let is_used =
        matches!(field, Some("type" | "value" | "return_type" | "default_value" | "superclass"));
    let is_bound = |kind: &str| kind.contains("parameter") || kind.contains("pattern");
    field.is_some_and(|field| FIELDS.contains(&field))
        || is_bound(node.kind())
        || !is_used && (is_bound(kind) || kind.contains("declarat"))
        // One of several on the left: `a, b := …`.
        || kind.ends_with("list") && parent.and_then(|it| it.field) == Some("left")
}

fn last_word(text: &str) -> &str {
    let start =
        text.char_indices().rev().take_while(|(_, char)| char.is_alphanumeric() || *char == '_');
    start.last().map_or("", |(at, _)| &text[at..])
}
