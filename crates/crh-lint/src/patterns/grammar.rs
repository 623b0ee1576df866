//! crh's languages as the ast-grep engine needs them.

use std::borrow::Cow;
use std::num::NonZero;

use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::{Pattern, PatternError};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::document::Document;
use crh_syntax::{Language, SyntaxTree};

/// Replaces `$` inside patterns of languages whose identifiers cannot start with it: a letter that
/// code does not use.
const STAND_IN: char = 'µ';

/// Patterns have a line or two; the engine walks them recursively.
const PATTERN_DEPTH_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grammar(pub(crate) Language);

impl<'de> Deserialize<'de> for Grammar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let language = Language::from_name(&name);
        language.map(Self).ok_or_else(|| D::Error::custom(format!("unknown language `{name}`")))
    }
}

impl ast_grep_core::Language for Grammar {
    /// Replaces the `$` of pattern variables, so that the grammar sees an identifier.
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        let stand_in = self.expando_char();
        if stand_in == self.meta_var_char() || !query.contains('$') {
            return Cow::Borrowed(query);
        }
        let mut written = String::with_capacity(query.len());
        let mut rest = query;
        while let Some(at) = rest.find('$') {
            written.push_str(&rest[..at]);
            let behind = rest[at..].trim_start_matches('$');
            let dollars = rest.len() - at - behind.len();
            let is_name =
                dollars == 3 || behind.starts_with(|it: char| it.is_ascii_uppercase() || it == '_');
            let sign = if is_name { stand_in } else { '$' };
            written.extend(std::iter::repeat_n(sign, dollars));
            rest = behind;
        }
        written.push_str(rest);
        Cow::Owned(written)
    }

    fn expando_char(&self) -> char {
        match self.0 {
            Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Java => '$',
            Language::Python
            | Language::Rust
            | Language::Go
            | Language::Ruby
            | Language::C
            | Language::Cpp
            | Language::CSharp
            | Language::Php
            | Language::Kotlin
            | Language::Swift => STAND_IN,
        }
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.0.grammar().id_for_node_kind(kind, /* named */ true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.0.grammar().field_id_for_name(field).map(NonZero::get)
    }

    fn build_pattern(&self, builder: &PatternBuilder) -> Result<Pattern, PatternError> {
        builder.build(|text| {
            let parsed = SyntaxTree::new(self.0, text).map_err(|why| why.to_string())?;
            let document = Document::new(&parsed);
            match document.depth() > PATTERN_DEPTH_MAX {
                true => Err("the pattern is nested too deeply".to_owned()),
                false => Ok(document),
            }
        })
    }
}
