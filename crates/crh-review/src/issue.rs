//! Makes one issue of a cluster of findings: what is shown, who agrees, where they differ, what names it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;

use crate::finding::{Confidence, Family, Member, Origin, Severity, Side};
use crate::grade::{graded, why_milder};
use crate::identity::{IssueKey, dedupe_key, twin_key};
use crate::place::{Location, Placed, Placer, Tier};
use crate::report::{Issue, Validation};
use crate::route::{Route, contradict};
use crate::words::folded;

/// What agreement of two or more voices adds, once.
pub const AGREEMENT: Confidence = Confidence::thousandths(100);

/// Makes an issue of a cluster, which is never empty. It has no number yet.
pub(crate) fn issue(mut cluster: Vec<Placed>, placer: &mut Placer<'_>) -> Issue {
    // The surest member speaks for all; then the one that takes it most seriously.
    cluster.sort_by(|a, b| {
        let rank = |p: &Placed| (std::cmp::Reverse(p.confidence), graded(&p.member));
        rank(a).cmp(&rank(b)).then_with(|| (&a.member, &a.location).cmp(&(&b.member, &b.location)))
    });
    let members: Vec<&Member> = cluster.iter().map(|placed| &placed.member).collect();
    let route = Route::of(&members);
    let severity = members.iter().map(|member| graded(member)).min().unwrap_or(Severity::P3);
    let was_there = |p: &Placed| p.tier == Tier::PreExisting || p.member.finding.pre_existing;
    let shown = &cluster[0];
    let finding = &shown.member.finding;
    let mut issue = Issue {
        number: 0,
        dedupe_key: key(&cluster, placer),
        title: finding.title.clone(),
        severity,
        category: finding.category,
        location: shown.location.clone(),
        relocated_from: shown.relocated_from,
        confidence: confidence(shown, &members),
        why_it_matters: finding.why_it_matters.clone(),
        description: finding.why_it_matters.clone(),
        suggested_fix: finding.suggested_fix.clone(),
        suggestion: finding.suggested_fix.clone().unwrap_or_default(),
        replacement: replacement(shown, &members, placer),
        evidence_snippet: own_quote(shown),
        evidence: shown.evidence.clone(),
        reviewers: reviewers(&members),
        rule: rule(shown, &members),
        disagreement: disagreement(&members, severity, &route),
        language: language(&shown.location.file).to_owned(),
        tier: cluster.iter().map(|placed| placed.tier).min().unwrap_or(shown.tier),
        validation: validation(&members),
        autofix_class: route.class,
        owner: route.owner,
        queue: route.queue,
        action: route.action,
        requires_verification: route.requires_verification,
        pre_existing: cluster.iter().all(was_there),
        members: Vec::new(),
    };
    issue.members = cluster.into_iter().map(|placed| placed.member).collect();
    issue
}

/// The keys an issue would have on the lines around it, nearest first.
pub(crate) fn near_keys(issue: &Issue, reach: u32, placer: &mut Placer<'_>) -> Vec<String> {
    let line = issue.location.line_start;
    let near = (1..=reach).flat_map(|away| [line.saturating_sub(away), line.saturating_add(away)]);
    near.filter(|line| *line > 0)
        .filter_map(|line| key_at(line, &issue.location, issue.category.family(), placer))
        .collect()
}

/// Gives issues that share a key numbers of their own, so that each is posted and none twice. The first keeps it.
pub(crate) fn tell_twins_apart<'a>(issues: impl Iterator<Item = &'a mut Issue>) {
    let mut given: HashMap<String, usize> = HashMap::new();
    for issue in issues {
        let count = given.entry(issue.dedupe_key.clone()).or_default();
        if *count > 0 {
            issue.dedupe_key = twin_key(&issue.dedupe_key, *count);
        }
        *count += 1;
    }
}

/// The key of a cluster. It follows the first member by place, not the surest: confidences vary from run to run.
fn key(cluster: &[Placed], placer: &mut Placer<'_>) -> String {
    let family = |placed: &Placed| placed.member.finding.category.family();
    let first = cluster.iter().min_by_key(|placed| (&placed.location, family(placed)));
    let first = first.unwrap_or(&cluster[0]);
    let (location, family) = (&first.location, family(first));
    key_at(location.line_start, location, family, placer)
        .unwrap_or_else(|| key_without_text(first, family))
}

/// The key of an issue on a line of a location's file; `None` if the line's text is not known.
fn key_at(
    line: u32,
    location: &Location,
    family: Family,
    placer: &mut Placer<'_>,
) -> Option<String> {
    let sources = placer.sources();
    let symbol = sources.symbol(location.side, &location.file, line);
    let quotable = &placer.file(&location.file).quotable;
    let text = quotable.line(location.side, line)?;
    Some(dedupe_key(&IssueKey {
        file: &location.file,
        symbol: symbol.map_or("", |span| span.name.as_str()),
        text,
        ordinal: quotable.ordinal(location.side, symbol.map_or(1, |span| span.start), line),
        family,
    }))
}

/// A line that nobody has read (a program's finding in a file that was not given, or in what is no file, such as the
/// description) goes by what the program quotes, which is stable when lines move; or else by its number.
fn key_without_text(placed: &Placed, family: Family) -> String {
    let file = &placed.location.file;
    let quote = folded(&own_quote(placed));
    let ordinal = match quote.as_str() {
        "" => usize::try_from(placed.location.line_start).unwrap_or(usize::MAX),
        _ => 0,
    };
    dedupe_key(&IssueKey { file, symbol: "", text: &quote, ordinal, family })
}

/// The exact new text, if it can be trusted: it was written for the cited lines, all of which are there, and
/// nobody wants another one.
fn replacement(shown: &Placed, members: &[&Member], placer: &mut Placer<'_>) -> Option<String> {
    let text = shown.member.finding.replacement.as_ref()?;
    let location = &shown.location;
    let quotable = &placer.file(&location.file).quotable;
    let is_there = quotable.line(location.side, location.line_end).is_some();
    let fits = shown.relocated_from.is_none() && location.side == Side::New;
    (is_there && fits && !contradict(members)).then(|| text.clone())
}

/// The first quote from the issue's own file.
fn own_quote(shown: &Placed) -> String {
    let own = shown.evidence.iter().find(|quote| quote.file == shown.location.file);
    own.or(shown.evidence.first()).map(|quote| quote.snippet.clone()).unwrap_or_default()
}

/// The surest member's confidence, raised if different voices agree.
fn confidence(shown: &Placed, members: &[&Member]) -> Confidence {
    let voices: BTreeSet<&str> = members.iter().map(|member| member.voice()).collect();
    if voices.len() > 1 { shown.confidence.raised(AGREEMENT) } else { shown.confidence }
}

fn reviewers(members: &[&Member]) -> Vec<String> {
    let names: BTreeSet<&str> = members.iter().map(|member| member.reviewer.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// The rule of the member that is shown; if a model's words are shown, that of the program which agrees with it.
fn rule(shown: &Placed, members: &[&Member]) -> Option<String> {
    let own = shown.member.rule.as_ref();
    own.or_else(|| members.iter().find_map(|member| member.rule.as_ref())).cloned()
}

fn validation(members: &[&Member]) -> Validation {
    let by_code = members.iter().any(|member| member.origin == Origin::Code);
    if by_code { Validation::ByCode } else { Validation::NotRun }
}

/// Where reviewers differ from each other or from what is kept: `security (P0), correctness (P1) -- kept P0`.
fn disagreement(members: &[&Member], severity: Severity, route: &Route) -> Option<String> {
    let notes = [
        difference_in_severity(members, severity),
        difference(members, |m| m.finding.autofix_class, route.class),
        difference(members, |m| m.finding.owner, route.owner),
    ];
    let mut notes: Vec<String> = notes.into_iter().flatten().collect();
    if contradict(members) {
        let names = reviewers(members).join(", ");
        notes.push(format!("{names} (different replacements) -- kept none"));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// What reviewers say of the severity, if they differ or it was graded down.
fn difference_in_severity(members: &[&Member], kept: Severity) -> Option<String> {
    let said = |member: &Member| member.finding.severity;
    match why_milder(members, kept) {
        None => difference(members, said, kept),
        Some(why) => Some(format!("{} -- kept {kept}: {why}", who_says(&by_value(members, said)))),
    }
}

fn difference<T: Ord + Display>(
    members: &[&Member],
    said: impl Fn(&Member) -> T,
    kept: T,
) -> Option<String> {
    let said = by_value(members, said);
    (said.len() > 1).then(|| format!("{} -- kept {kept}", who_says(&said)))
}

fn by_value<'a, T: Ord>(
    members: &[&'a Member],
    said: impl Fn(&Member) -> T,
) -> BTreeMap<T, BTreeSet<&'a str>> {
    let mut by_value: BTreeMap<T, BTreeSet<&str>> = BTreeMap::new();
    for member in members {
        by_value.entry(said(member)).or_default().insert(&member.reviewer);
    }
    by_value
}

/// `security (P0), correctness (P1)`.
fn who_says<T: Display>(said: &BTreeMap<T, BTreeSet<&str>>) -> String {
    let said = said
        .iter()
        .flat_map(|(value, names)| names.iter().map(move |name| format!("{name} ({value})")));
    said.collect::<Vec<_>>().join(", ")
}

/// The language of a file by its name.
fn language(file: &str) -> &'static str {
    let name = file.rsplit('/').next().unwrap_or(file);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "py" | "pyi" => "python",
        "js" | "jsx" | "mjs" | "cjs" => "javascript",
        "ts" | "tsx" | "mts" | "cts" => "typescript",
        "rs" => "rust",
        "go" => "go",
        "java" => "java",
        "rb" | "rake" => "ruby",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hh" | "hpp" => "cpp",
        "cs" => "csharp",
        "php" => "php",
        "kt" | "kts" => "kotlin",
        "swift" => "swift",
        "sh" | "bash" => "shell",
        "sql" => "sql",
        _ => "",
    }
}
