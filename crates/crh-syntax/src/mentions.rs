//! Finds names in code, outside of comments and strings, with their role.

use std::collections::BTreeSet;

use tree_sitter::{Node, TreeCursor};

use crate::parse::one_based;
use crate::{Language, ParseError, SyntaxTree, parse};

/// Maximum number of mentions per text.
pub const MENTIONS_MAX: usize = 10_000;

/// A name in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameMention {
    /// The name without qualifiers.
    pub name: String,
    /// Line, 1-based.
    pub line: u32,
    /// Role of the name. Doubtful cases are [`Named`](MentionRole::Named).
    pub role: MentionRole,
}

/// Role of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MentionRole {
    /// Defined or bound: a definition, parameter, variable, argument or key.
    Named,
    /// Imported.
    Imported,
    /// Called: `name()`.
    Called,
    /// A member: `of.name`, `of->name`, `of::name`.
    Member {
        /// The word before it; empty if there is none.
        of: String,
    },
    /// Any other use of its value or type.
    Read,
}

/// Mentions of these names in code, in source order; at most [`MENTIONS_MAX`].
pub fn mentions(
    language: Language,
    text: &str,
    names: &BTreeSet<&str>,
) -> Result<Vec<NameMention>, ParseError> {
    Ok(SyntaxTree::new(language, text)?.mentions(names))
}

impl SyntaxTree<'_> {
    /// Mentions of these names in code, in source order; at most [`MENTIONS_MAX`].
    pub fn mentions(&self, names: &BTreeSet<&str>) -> Vec<NameMention> {
        find_mentions(self, names)
    }
}

fn find_mentions(parsed: &SyntaxTree<'_>, names: &BTreeSet<&str>) -> Vec<NameMention> {
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
                mentions.push(NameMention {
                    name,
                    line,
                    role: role(language, &cursor, &around, text),
                });
            }
        }
        if mentions.len() == MENTIONS_MAX {
            return mentions;
        }
        let frame = EnclosingNode { kind: node.kind(), field: cursor.field_name() };
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

struct EnclosingNode<'t> {
    kind: &'t str,
    /// Field of the parent that it is in.
    field: Option<&'t str>,
}

/// Names are leaf nodes: identifiers, or in PHP names and in Ruby constants.
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
    around: &[EnclosingNode<'_>],
    text: &str,
) -> MentionRole {
    let node = cursor.node();
    if around.iter().any(|it| is_import(it.kind)) {
        return MentionRole::Imported;
    }
    let before = text.get(..node.start_byte()).unwrap_or_default().trim_end();
    let after = text.get(node.end_byte()..).unwrap_or_default().trim_start();
    if let Some(owner) = owner(language, before) {
        return MentionRole::Member { of: last_word(owner.trim_end()).to_owned() };
    }
    let parent = around.last().map_or("", |it| it.kind);
    let is_call = parent.contains("call") || parent.contains("invocation");
    // A dollar sign makes it a variable.
    let is_variable = language == Language::Php && before.ends_with('$');
    if is_variable || !is_call && binds_name(&node, cursor.field_name(), around) {
        return MentionRole::Named;
    }
    if after.starts_with('(') || after.starts_with("!(") {
        return MentionRole::Called;
    }
    MentionRole::Read
}

/// The owner of a name, if there is one before it.
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
    // `..` is a range, and `...` a spread; `?.` and `!!.` act like `.`.
    let owner = owner.trim_end_matches(['?', '!']);
    (!owner.ends_with('.')).then_some(owner)
}

fn is_import(kind: &str) -> bool {
    kind.starts_with("import")
        || kind.starts_with("preproc_include")
        || matches!(kind, "use_declaration" | "using_directive" | "namespace_use_declaration")
}

/// Whether the name is bound here.
fn binds_name(node: &Node<'_>, field: Option<&str>, around: &[EnclosingNode<'_>]) -> bool {
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
