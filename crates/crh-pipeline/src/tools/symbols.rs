//! Tools that find code by symbol: definitions, users, implementers, and the function at a line.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Deserialize;

use super::repo::{read_text, resolve_path, resolve_revision};
use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crate::context_pack::lookup::{CodeLookup, DefinitionSite, UseSite};
use crate::text::{cut, numbered_line};
use crh_syntax::{Language, SymbolKind, symbols};

/// Maximum definitions per reply, and lines of each.
const DEFINITIONS_MAX: usize = 8;
const DEFINITION_LINES: u32 = 80;
/// Maximum listed uses.
const USES_MAX: usize = 60;
/// Maximum characters of a line.
const LINE_CHARS: usize = 300;
/// Lines around the requested one if no function contains it.
const LINES_AROUND: u32 = 30;

pub(super) struct FindDefinition;
pub(super) struct FindCallers;
pub(super) struct FindImplementations;
pub(super) struct GetFunction;

/// Shows the definitions of a name: function, method, type or constant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FindDefinitionInput {
    /// `total` or `Cart.total`.
    name: String,
}

/// Lists the lines of code that use a name, each with the function around it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FindCallersInput {
    /// `total` or `Cart.total`.
    name: String,
}

/// Lists types that extend or implement a type, and all definitions of a method.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FindImplementationsInput {
    /// The name of a type or method.
    name: String,
}

/// Shows the whole function around a line of a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetFunctionInput {
    /// The path from the root of the repository.
    path: String,
    /// A line of the function.
    line: NonZeroU32,
    /// `head` (the default) or `base`.
    #[serde(rename = "ref")]
    revision: Option<String>,
}

impl AgentTool for FindDefinition {
    const NAME: &'static str = "find_definition";
    type Input = FindDefinitionInput;

    fn answer(input: FindDefinitionInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let lookup = open_lookup(ctx)?;
        let name = searchable_name(&input.name)?;
        let mut sites = lookup.definitions(name);
        let qualified: Vec<DefinitionSite> =
            sites.iter().filter(|site| site.name.ends_with(&input.name)).cloned().collect();
        if !qualified.is_empty() {
            sites = qualified;
        }
        ctx.check_stopped()?;
        if sites.is_empty() {
            return Ok(ToolReply::text(format!(
                "[no definition of `{name}` in the code after the change; it may come from a \
                 dependency, or be built at run time]\n"
            )));
        }
        let mut text = String::new();
        for site in sites.iter().take(DEFINITIONS_MAX) {
            let DefinitionSite { path, name, lines } = site;
            let _ = writeln!(text, "{path}: {name}, lines {}-{}", lines.start(), lines.end());
            let last = (*lines.end()).min(lines.start().saturating_add(DEFINITION_LINES - 1));
            text.push_str(&numbered_lines(
                &lookup.text(path).unwrap_or_default(),
                &(*lines.start()..=last),
            ));
            text.push('\n');
        }
        add_rest(&mut text, sites.len(), DEFINITIONS_MAX, "definitions");
        Ok(ToolReply::text(text))
    }
}

impl AgentTool for FindCallers {
    const NAME: &'static str = "find_callers";
    type Input = FindCallersInput;

    fn answer(input: FindCallersInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let lookup = open_lookup(ctx)?;
        let name = searchable_name(&input.name)?;
        let sites = lookup.uses(&BTreeSet::from([name.to_owned()]));
        let mut sites = sites.into_values().next().unwrap_or_default();
        ctx.check_stopped()?;
        if sites.is_empty() {
            return Ok(ToolReply::text(format!("[no line of code uses `{name}`]\n")));
        }
        sites.sort_by_key(UseSite::is_test);
        let mut text = String::new();
        for site in sites.iter().take(USES_MAX) {
            ctx.check_stopped()?;
            let UseSite { path, line, .. } = site;
            let symbols = lookup.symbols(path);
            let symbol = symbols.as_ref().and_then(|symbols| symbols.symbol_at(*line));
            let within = symbol.map(|symbol| format!(" in {}", symbol.name)).unwrap_or_default();
            let code = cut(site.text.trim(), LINE_CHARS);
            let _ = writeln!(text, "{path}:{line}{within}: {code}");
        }
        add_rest(&mut text, sites.len(), USES_MAX, "lines");
        Ok(ToolReply::text(text))
    }
}

impl AgentTool for FindImplementations {
    const NAME: &'static str = "find_implementations";
    type Input = FindImplementationsInput;

    fn answer(input: FindImplementationsInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let lookup = open_lookup(ctx)?;
        let name = searchable_name(&input.name)?;
        let mut text = String::new();
        for site in lookup.implementations(name).iter().take(USES_MAX) {
            let _ = writeln!(
                text,
                "{}:{}: {}",
                site.path,
                site.line,
                cut(site.text.trim(), LINE_CHARS)
            );
        }
        let sites = lookup.definitions(name);
        ctx.check_stopped()?;
        for DefinitionSite { path, name, lines } in sites.iter().take(USES_MAX) {
            let _ = writeln!(text, "{path}:{}: definition of {name}", lines.start());
        }
        match text.as_str() {
            "" => {
                Ok(ToolReply::text(format!("[nothing extends, implements or defines `{name}`]\n")))
            }
            _ => Ok(ToolReply::text(text)),
        }
    }
}

impl AgentTool for GetFunction {
    const NAME: &'static str = "get_function";
    const IS_QUICK: bool = true;
    type Input = GetFunctionInput;

    fn answer(input: GetFunctionInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        let revision = resolve_revision(repository, input.revision.as_deref())?;
        let text = read_text(ctx, revision, &resolve_path(repository, revision, &input.path))?;
        let (path, line) = (&input.path, input.line.get());
        let total = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
        if line > total {
            let message = format!("`{path}` has {total} lines, so there is no line {line}");
            return Err(ToolError::TellModel(message));
        }
        let parsed = Language::from_path(path).and_then(|language| symbols(language, &text).ok());
        let function = parsed.as_ref().and_then(|symbols| {
            symbols.all().iter().rfind(|symbol| {
                matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method)
                    && (symbol.start..=symbol.end).contains(&line)
            })
        });
        let (title, range) = match function {
            Some(function) => (function.name.clone(), function.start..=function.end),
            None => {
                let first = line.saturating_sub(LINES_AROUND).max(1);
                let last = line.saturating_add(LINES_AROUND).min(total);
                ("no function contains the line; the lines around it".to_owned(), first..=last)
            }
        };
        let lines = numbered_lines(&text, &range);
        Ok(ToolReply::text(format!("{path}: {title}\n{lines}")))
    }
}

fn open_lookup(ctx: &ToolContext) -> Result<CodeLookup<'_>, ToolError> {
    ctx.repository()?;
    CodeLookup::new(ctx)
        .ok_or_else(|| ToolError::Abort("the head of the change cannot be read".to_owned()))
}

/// The name without qualifiers.
fn searchable_name(name: &str) -> Result<&str, ToolError> {
    let own_name = name.trim().trim_end_matches("()");
    let own_name = own_name.rsplit(['.', ':', '\\', '#', '>']).next().unwrap_or(own_name);
    let is_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '$' | '?' | '!');
    if own_name.is_empty() || !own_name.chars().all(is_name) {
        return Err(ToolError::TellModel(format!("`{name}` is not a name; use `repo_grep`")));
    }
    Ok(own_name.trim_end_matches(['?', '!']))
}

/// Numbered lines of a text.
pub(super) fn numbered_lines(text: &str, range: &RangeInclusive<u32>) -> String {
    let skipped = usize::try_from(range.start().saturating_sub(1)).unwrap_or(usize::MAX);
    let lines = (*range.start()..).zip(text.lines().skip(skipped));
    let lines = lines.take_while(|(number, _)| range.contains(number));
    lines.map(|(number, line)| numbered_line(number, line.trim_end_matches('\r'), 2_000)).collect()
}

fn add_rest(text: &mut String, total: usize, shown: usize, things: &str) {
    if total > shown {
        let _ = writeln!(text, "[{shown} of {total} {things} shown]");
    }
}
