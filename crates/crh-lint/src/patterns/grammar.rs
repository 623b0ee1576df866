//! crh's languages in the form that the ast-grep engine needs.

use std::borrow::Cow;
use std::num::NonZero;

use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::{Pattern, PatternError};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::document::Document;
use crh_syntax::{Language, SyntaxTree};

/// Replaces the `$` of pattern variables in languages whose identifiers cannot start with `$`. It
/// is a letter that code hardly uses.
const PLACEHOLDER: char = 'µ';

/// Maximum nesting levels of a pattern, because the engine walks patterns recursively. A normal
/// pattern has only a line or two.
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
        let placeholder = self.expando_char();
        if placeholder == self.meta_var_char() || !query.contains('$') {
            return Cow::Borrowed(query);
        }
        let mut output = String::with_capacity(query.len());
        let mut rest = query;
        while let Some(at) = rest.find('$') {
            output.push_str(&rest[..at]);
            let after_dollars = rest[at..].trim_start_matches('$');
            let dollars = rest.len() - at - after_dollars.len();
            let is_variable = dollars == 3
                || after_dollars.starts_with(|it: char| it.is_ascii_uppercase() || it == '_');
            let sign = if is_variable { placeholder } else { '$' };
            output.extend(std::iter::repeat_n(sign, dollars));
            rest = after_dollars;
        }
        output.push_str(rest);
        Cow::Owned(output)
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
            | Language::Swift => PLACEHOLDER,
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
            let tree = SyntaxTree::new(self.0, text).map_err(|why| why.to_string())?;
            let document = Document::new(&tree);
            match document.depth() > PATTERN_DEPTH_MAX {
                true => Err("the pattern is nested too deeply".to_owned()),
                false => Ok(document),
            }
        })
    }
}
