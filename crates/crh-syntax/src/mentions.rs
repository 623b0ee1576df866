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
    /// The property that a pattern of JavaScript reads and binds: `const { name } = value`.
    Destructured,
    /// Imported.
    Imported,
    /// Called: `name()`.
    Called,
    /// A member: `owner.name`, `owner->name`, `owner::name`.
    Member {
        /// The word before the separator; empty if there is none.
        owner: String,
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

fn find_mentions(syntax_tree: &SyntaxTree<'_>, names: &BTreeSet<&str>) -> Vec<NameMention> {
    let (language, text) = (syntax_tree.language(), syntax_tree.text());
    let mut cursor = syntax_tree.tree().walk();
    let mut ancestors = Vec::new();
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
                    role: role(language, &cursor, &ancestors, text),
                });
            }
        }
        if mentions.len() == MENTIONS_MAX {
            return mentions;
        }
        let frame = EnclosingNode { kind: node.kind(), field: cursor.field_name() };
        if cursor.goto_first_child() {
            ancestors.push(frame);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return mentions;
            }
            ancestors.pop();
        }
    }
}

struct EnclosingNode<'t> {
    kind: &'t str,
    /// Field of the parent that holds the node.
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
    ancestors: &[EnclosingNode<'_>],
    text: &str,
) -> MentionRole {
    let node = cursor.node();
    if ancestors.iter().any(|it| is_import(it.kind)) {
        return MentionRole::Imported;
    }
    let text_before = text.get(..node.start_byte()).unwrap_or_default().trim_end();
    let text_after = text.get(node.end_byte()..).unwrap_or_default().trim_start();
    if let Some(owner) = owner(language, text_before) {
        return MentionRole::Member { owner: last_word(owner.trim_end()).to_owned() };
    }
    let parent = ancestors.last().map_or("", |it| it.kind);
    let is_call = parent.contains("call") || parent.contains("invocation");
    // In PHP a name after a dollar sign is a variable.
    let is_variable = language == Language::Php && text_before.ends_with('$');
    let is_key = parent == "pair_pattern" && cursor.field_name() == Some("key");
    if node.kind() == "shorthand_property_identifier_pattern" || is_key {
        return MentionRole::Destructured;
    }
    if is_variable || !is_call && binds_name(&node, cursor.field_name(), ancestors) {
        return MentionRole::Named;
    }
    if text_after.starts_with('(') || text_after.starts_with("!(") {
        return MentionRole::Called;
    }
    MentionRole::Read
}

/// The text up to the owner of a name, if a separator precedes the name.
fn owner(language: Language, text_before: &str) -> Option<&str> {
    let separators: &[&str] = match language {
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
    let owner = separators.iter().find_map(|separator| text_before.strip_suffix(separator))?;
    // `..` is a range, and `...` a spread; `?.` and `!!.` act like `.`.
    let owner = owner.trim_end_matches(['?', '!']);
    (!owner.ends_with('.')).then_some(owner)
}

fn is_import(kind: &str) -> bool {
    kind.starts_with("import")
        || kind.starts_with("preproc_include")
        || matches!(kind, "use_declaration" | "using_directive" | "namespace_use_declaration")
}

/// Whether the node binds its name: declares, defines or assigns the name.
fn binds_name(node: &Node<'_>, field: Option<&str>, ancestors: &[EnclosingNode<'_>]) -> bool {
    const FIELDS: [&str; 9] =
        ["name", "declarator", "left", "pattern", "alias", "key", "parameter", "label", "names"];
    let parent = ancestors.last();
    let kind = parent.map_or("", |it| it.kind);
    let is_value_or_type =
        matches!(field, Some("type" | "value" | "return_type" | "default_value" | "superclass"));
    let is_binding_kind = |kind: &str| kind.contains("parameter") || kind.contains("pattern");
    field.is_some_and(|field| FIELDS.contains(&field))
        || is_binding_kind(node.kind())
        || !is_value_or_type && (is_binding_kind(kind) || kind.contains("declarat"))
        // One of several names on the left: `a, b := …`.
        || kind.ends_with("list") && parent.and_then(|it| it.field) == Some("left")
}

fn last_word(text: &str) -> &str {
    let word_chars =
        text.char_indices().rev().take_while(|(_, char)| char.is_alphanumeric() || *char == '_');
    word_chars.last().map_or("", |(at, _)| &text[at..])
}
