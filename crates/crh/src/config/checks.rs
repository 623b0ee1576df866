//! Settings of the reviewers that need no model.

use std::collections::BTreeMap;

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::value::{Globs, Place, Value, Wrong, mistyped, quoted};

/// The reviewer whose findings nothing but a person's own decision silences.
const NEVER: &str = "injection";

/// Files in which rules do not count, by rules: `*`, `REVIEWER/*`, `REVIEWER`, or the name of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RulePaths(pub(crate) BTreeMap<String, Globs>);

impl Value for RulePaths {
    type Written = BTreeMap<String, Vec<String>>;
    const WANTED: &'static str = "a list of globs for each rule";

    fn from_toml(value: &Spanned<DeValue<'_>>, place: Place<'_>) -> Result<Self, Wrong> {
        let table = value.get_ref().as_table().ok_or_else(|| mistyped::<Self>(value))?;
        let rows = table.iter().map(|(rules, paths)| {
            let name = rules.get_ref().as_ref();
            if let Some(why) = problem(name) {
                let message = format!("cannot take the rule {}: {why}", quoted(name));
                return Err(Wrong { at: rules.span(), message });
            }
            if !paths.get_ref().is_array() {
                return Err(mistyped::<Self>(paths));
            }
            Ok((name.to_owned(), Globs::from_toml(paths, place)?))
        });
        rows.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        let rows = self.0.iter().map(|(rules, paths)| (rules.clone(), paths.json()));
        json!(rows.collect::<BTreeMap<_, _>>())
    }
}

/// What is wrong with the name of a rule.
fn problem(name: &str) -> Option<&'static str> {
    let reviewer = name.split('/').next().unwrap_or(name);
    let stars = name.matches('*').count();
    if name.trim().is_empty() {
        Some("it is empty")
    } else if reviewer == NEVER {
        Some("findings of `injection` are never ignored")
    } else if stars > 1 || stars == 1 && name != "*" && !name.ends_with("/*") {
        Some("write `*`, `REVIEWER/*` or the whole name")
    } else {
        None
    }
}
