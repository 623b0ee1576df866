//! Tools that find code by symbol: definitions, users, implementers, and the function at a line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Deserialize;

use super::repo::{read_text, resolve_path, resolve_revision};
use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crate::context_pack::lookup::{CodeLookup, DefinitionSite, UseSite};
use crate::text::{cut, numbered_line};
use crh_syntax::{Language, MENTIONS_MAX, MentionRole, NameMention, SymbolKind, mentions, symbols};

/// Maximum definitions per reply, and lines of each.
const DEFINITIONS_MAX: usize = 8;
const DEFINITION_LINES: u32 = 80;
/// Maximum listed uses.
const USES_MAX: usize = 60;
/// Maximum files in which the parser distinguishes uses from definitions, comments and strings.
const PARSED_FILES_MAX: usize = 60;
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
            sites.iter().filter(|site| is_qualified_by(&site.name, &input.name)).cloned().collect();
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
        let sites = sites.into_values().next().unwrap_or_default();
        let requested_name = AskedName::new(&lookup, &input.name, name);
        let sites = requested_name.rank_sites(ctx, &lookup, sites)?;
        if sites.is_empty() {
            return Ok(ToolReply::text(format!("[no line of code uses `{name}`]\n")));
        }
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

/// What a line does with the requested name, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineRank {
    Use,
    /// `Other::name` if the model asks for another type, or the name in a string.
    DoubtfulUse,
    Definition,
}

/// The name that a model asks for.
struct AskedName<'a> {
    name: &'a str,
    /// The type before the name.
    owner: Option<&'a str>,
    /// Whether the type has a method of this name. Then a use has a value or type before the name.
    is_method: bool,
}

impl<'a> AskedName<'a> {
    fn new(lookup: &CodeLookup<'_>, qualified_name: &'a str, name: &'a str) -> Self {
        let mut parts =
            qualified_name.rsplit(['.', ':', '\\', '#']).filter(|part| !part.is_empty());
        let owner = parts.nth(1).filter(|owner| owner.starts_with(char::is_uppercase));
        let is_method = |site: &DefinitionSite| {
            let symbols = lookup.symbols(&site.path);
            let symbols = symbols.iter().flat_map(|symbols| symbols.all());
            let mut own_symbols =
                symbols.filter(|it| it.name == site.name && it.start == *site.lines.start());
            is_qualified_by(&site.name, qualified_name)
                && own_symbols.any(|it| it.kind == SymbolKind::Method)
        };
        let is_method = owner.is_some() && lookup.definitions(name).iter().any(is_method);
        Self { name, owner, is_method }
    }

    /// Lines of a file whose code contains the name. None if the parser cannot find all uses, as in
    /// some languages or in a file with too many of them.
    fn rank_lines(&self, lookup: &CodeLookup<'_>, path: &str) -> Option<BTreeMap<u32, LineRank>> {
        let language = Language::from_path(path).filter(|language| {
            use Language::{Go, JavaScript, Python, Rust, Tsx, TypeScript};
            matches!(language, Go | JavaScript | Python | Rust | Tsx | TypeScript)
        })?;
        let name_mentions =
            mentions(language, &lookup.text(path)?, &BTreeSet::from([self.name])).ok()?;
        let symbols = lookup.symbols(path)?;
        let own_symbols = symbols.all().iter().filter(|symbol| {
            searchable_name(&symbol.name).is_ok_and(|own_name| own_name == self.name)
        });
        let definitions = own_symbols.filter_map(|symbol| {
            let is_definition = |it: &&NameMention| {
                it.role == MentionRole::Named && (symbol.start..=symbol.end).contains(&it.line)
            };
            name_mentions.iter().find(is_definition).map(|it| it.line)
        });
        let definitions: BTreeSet<u32> = definitions.collect();
        let mut ranks = BTreeMap::new();
        for NameMention { line, role, .. } in &name_mentions {
            let rank = match role {
                MentionRole::Named if definitions.contains(line) => LineRank::Definition,
                MentionRole::Member { owner } if self.is_other_type(owner) => LineRank::DoubtfulUse,
                MentionRole::Member { .. } | MentionRole::Imported | MentionRole::Destructured => {
                    LineRank::Use
                }
                _ if self.is_method => continue,
                MentionRole::Named | MentionRole::Called | MentionRole::Read => LineRank::Use,
            };
            let best = ranks.entry(*line).or_insert(rank);
            *best = rank.min(*best);
        }
        (name_mentions.len() < MENTIONS_MAX).then_some(ranks)
    }

    fn is_other_type(&self, owner: &str) -> bool {
        let is_type = owner.starts_with(char::is_uppercase) && owner != "Self";
        is_type && self.owner.is_some_and(|requested| requested != owner)
    }

    /// Removes lines that have the name only in a comment or inside a string. Sorts the others:
    /// lines outside of tests first, then by rank.
    fn rank_sites(
        &self,
        ctx: &ToolContext,
        lookup: &CodeLookup<'_>,
        sites: Vec<UseSite>,
    ) -> Result<Vec<UseSite>, ToolError> {
        let mut files = BTreeMap::new();
        let mut ranked = Vec::new();
        for site in sites {
            ctx.check_stopped()?;
            if files.len() < PARSED_FILES_MAX && !files.contains_key(&site.path) {
                files.insert(site.path.clone(), self.rank_lines(lookup, &site.path));
            }
            let rank = match files.get(&site.path) {
                Some(Some(ranks)) => ranks.get(&site.line).copied(),
                Some(None) | None => Some(LineRank::Use),
            };
            let is_quoted = || is_quoted(&site.text, self.name);
            let rank = rank.or_else(|| is_quoted().then_some(LineRank::DoubtfulUse));
            ranked.extend(rank.map(|rank| (rank, site)));
        }
        ranked.sort_by_cached_key(|(rank, site)| (site.is_test(), *rank));
        Ok(ranked.into_iter().map(|(_, site)| site).collect())
    }
}

/// Whether a string in the line ends with the name: `"list[Cart]"` as a type in Python,
/// `"shop.Cart"`.
fn is_quoted(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let after = line[at + name.len()..].trim_start_matches(']');
        line[..at].ends_with(['"', '\'', '.', ':', '[']) && after.starts_with(['"', '\''])
    })
}

/// Whether a qualified name ends with all parts of the other one, in the notation of any language.
fn is_qualified_by(qualified_name: &str, name: &str) -> bool {
    let common = |name: &str| name.replace("::", ".").replace(['\\', '#'], ".");
    let (qualified_name, name) = (common(qualified_name), common(name));
    let qualifiers = qualified_name.strip_suffix(&name);
    qualifiers.is_some_and(|it| it.is_empty() || it.ends_with('.'))
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
