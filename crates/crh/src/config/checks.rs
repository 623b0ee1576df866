//! Settings for static checks.

use std::collections::BTreeMap;

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::value::{ConfigValue, GlobList, PathContext, ValueError, quoted, type_mismatch};

/// Reviewer whose findings no setting can ignore. A user can only dismiss them.
const NEVER_IGNORED: &str = "injection";

/// Files in which rules are ignored, by rule pattern: `*`, `CHECK/*`, `CHECK` or a rule name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RulePaths(pub(crate) BTreeMap<String, GlobList>);

impl ConfigValue for RulePaths {
    type TomlType = BTreeMap<String, Vec<String>>;
    const EXPECTED: &'static str = "a table from rules to lists of globs";

    fn from_toml(value: &Spanned<DeValue<'_>>, paths: PathContext<'_>) -> Result<Self, ValueError> {
        let table = value.get_ref().as_table().ok_or_else(|| type_mismatch::<Self>(value))?;
        let entries = table.iter().map(|(rules, globs)| {
            let name = rules.get_ref().as_ref();
            if let Some(problem) = rule_name_problem(name) {
                let message = format!("has an invalid rule {}: {problem}", quoted(name));
                return Err(ValueError { span: rules.span(), message });
            }
            if !globs.get_ref().is_array() {
                return Err(type_mismatch::<Self>(globs));
            }
            Ok((name.to_owned(), GlobList::from_toml(globs, paths)?))
        });
        entries.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        let entries = self.0.iter().map(|(rules, globs)| (rules.clone(), globs.json()));
        json!(entries.collect::<BTreeMap<_, _>>())
    }
}

/// Why a rule pattern is invalid.
fn rule_name_problem(name: &str) -> Option<&'static str> {
    let reviewer = name.split('/').next().unwrap_or(name);
    let stars = name.matches('*').count();
    if name.trim().is_empty() {
        Some("the name is empty")
    } else if reviewer == NEVER_IGNORED {
        Some("findings of `injection` cannot be ignored")
    } else if stars > 1 || stars == 1 && name != "*" && !name.ends_with("/*") {
        Some("use `*`, `CHECK/*` or a full rule name")
    } else {
        None
    }
}
