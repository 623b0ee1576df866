//! Builds one issue from a cluster of findings.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroU32;

use crate::cluster::is_near;
use crate::finding::{
    AutofixClass, Confidence, Evidence, Family, Finding, Member, Origin, Owner, Severity, Side,
};
use crate::grade::{downgrade_reason, effective_severity};
use crate::identity::{IssueKey, dedupe_key, numbered_key};
use crate::place::{Location, PlacedFinding, Placer, Quote, Tier};
use crate::report::{Issue, Validation};
use crate::route::{IssueRoute, issue_action, replacements_conflict, route_voters};
use crate::words::collapse_whitespace;

/// Added once to the confidence if at least two voices agree. A voice is one reviewer, or several
/// reviewers whose findings count as one opinion (`Member::voice`).
pub const AGREEMENT_BONUS: Confidence = Confidence::thousandths(100);

/// Sorts a cluster so that the member with the highest confidence leads. Ties go to the highest
/// severity.
pub(crate) fn sort_by_confidence(mut cluster: Vec<PlacedFinding>) -> Vec<PlacedFinding> {
    cluster.sort_by(|a, b| {
        let rank = |placed: &PlacedFinding| {
            (std::cmp::Reverse(placed.confidence), effective_severity(&placed.member))
        };
        rank(a).cmp(&rank(b)).then_with(|| (&a.member, &a.location).cmp(&(&b.member, &b.location)))
    });
    cluster
}

/// Builds an issue from a non-empty cluster. The first member leads: it provides text and place. A
/// static finding leads before findings of models, so that no model can rewrite it. The caller
/// assigns the number later.
///
/// `separated` are findings that the rules in `cluster.rs` group with this cluster, but that the
/// editor, a model, put into other issues. They do not become members. They only make the route
/// (who fixes the issue, and whether crh asks first) more cautious.
pub(crate) fn build_issue(
    mut cluster: Vec<PlacedFinding>,
    separated: &[Member],
    placer: &mut Placer<'_>,
) -> Issue {
    cluster.sort_by_key(|placed| placed.member.origin != Origin::Code);
    let members: Vec<&Member> = cluster.iter().map(|placed| &placed.member).collect();
    let route = IssueRoute::from_members(&members).restricted_by(&members, separated);
    let severity =
        members.iter().map(|member| effective_severity(member)).min().unwrap_or(Severity::P3);
    let lead = &cluster[0];
    let finding = &lead.member.finding;
    let fix = best_fix(&cluster, placer);
    let mut issue = Issue {
        number: 0,
        dedupe_key: cluster_key(&cluster, placer),
        title: finding.title.clone(),
        severity,
        category: finding.category,
        location: lead.location.clone(),
        relocated_from: lead.relocated_from,
        other_places: other_places(&cluster),
        confidence: confidence(&cluster),
        probability: None,
        why_it_matters: finding.why_it_matters.clone(),
        description: finding.why_it_matters.clone(),
        suggestion: fix.words.clone().unwrap_or_default(),
        suggested_fix: fix.words,
        replacement: fix.replacement.clone(),
        evidence_snippet: own_quote(lead),
        evidence: lead.evidence.clone(),
        proof: None,
        reviewers: reviewers(&members),
        rule: rule(lead, &members),
        disagreement: disagreement(&members, separated, severity, &route),
        language: language(&lead.location.file).to_owned(),
        tier: cluster.iter().map(|placed| placed.tier).min().unwrap_or(lead.tier),
        validation: validation(&members),
        autofix_class: route.class,
        owner: route.owner,
        queue: route.queue,
        action: issue_action(&route, fix.replacement.as_deref()),
        requires_verification: route.requires_verification,
        pre_existing: cluster.iter().all(is_pre_existing),
        members: Vec::new(),
    };
    issue.members = cluster.into_iter().map(|placed| placed.member).collect();
    issue
}

/// Whether a finding is about code from before the change. A model cannot say so about a changed
/// line. The place alone does not show it for a P0 or P1: the change may break an unchanged caller.
fn is_pre_existing(placed: &PlacedFinding) -> bool {
    let member = &placed.member;
    let is_changed_line = placed.tier == Tier::Primary && member.origin == Origin::Model;
    let is_elsewhere =
        placed.tier == Tier::PreExisting && effective_severity(member) > Severity::P1;
    is_elsewhere || member.finding.pre_existing && !is_changed_line
}

/// Adds the places of a P0 or P1 near the lead that the rules hold for another problem.
pub(crate) fn add_near_places(issue: &mut Issue, others: &[PlacedFinding]) {
    for PlacedFinding { member, location, .. } in others {
        let is_urgent = effective_severity(member) <= Severity::P1;
        if is_urgent && !has_place(issue, location) {
            issue.other_places.push(location.clone());
        }
    }
    issue.other_places.sort();
}

/// Whether an issue has a place with some of these lines.
fn has_place(issue: &Issue, place: &Location) -> bool {
    std::iter::once(&issue.location).chain(&issue.other_places).any(|it| it.overlaps(place))
}

/// Adds the places that an issue does not have yet, and names them in its text.
pub fn add_places(issue: &mut Issue, places: &[Location]) {
    let old_sentence = places_sentence(&issue.other_places);
    for place in places {
        if !has_place(issue, place) {
            issue.other_places.push(place.clone());
        }
    }
    issue.other_places.sort();
    replace_places_sentence(issue, &old_sentence);
}

/// Replaces the other places of an issue, and names them in its text.
pub fn set_other_places(issue: &mut Issue, places: Vec<Location>) {
    let old_sentence = places_sentence(&issue.other_places);
    issue.other_places = places;
    replace_places_sentence(issue, &old_sentence);
}

/// Names the other places of an issue at the end of its text, instead of those of `old_sentence`.
fn replace_places_sentence(issue: &mut Issue, old_sentence: &str) {
    let text = &issue.why_it_matters;
    let text = text.strip_suffix(old_sentence).unwrap_or(text);
    issue.why_it_matters = format!("{text}{}", places_sentence(&issue.other_places));
    issue.description.clone_from(&issue.why_it_matters);
}

/// Places of the other members, if they are not near the lead.
fn other_places(cluster: &[PlacedFinding]) -> Vec<Location> {
    let mut places: Vec<Location> = Vec::new();
    for placed in cluster {
        let location = &placed.location;
        let is_known = |known: &Location| is_near(known, location);
        if !is_known(&cluster[0].location) && !places.iter().any(is_known) {
            places.push(location.clone());
        }
    }
    places.sort();
    places
}

/// Narrows an issue to the places that a fix did not change. The first place becomes the location
/// of the issue, with the texts and the quotes of its finding there.
pub fn narrow_to_places(issue: &mut Issue, places: &[Location]) {
    let Some((first, others)) = places.split_first() else { return };
    if issue.location != *first {
        move_to_place(issue, first);
    }
    issue.replacement = None;
    set_other_places(issue, others.to_vec());
}

/// Moves an issue to a place, with the texts and the quotes of its finding there. Without such a
/// finding, the issue keeps its texts, and its quotes from the file.
fn move_to_place(issue: &mut Issue, place: &Location) {
    (issue.location, issue.relocated_from) = (place.clone(), None);
    issue.language = language(&place.file).to_owned();
    issue.evidence.retain(|quote| quote.file == place.file);
    // The test proves the problem at the earlier location.
    issue.proof = None;
    if let Some(Member { finding, rule, .. }) = member_at(&issue.members, place).cloned() {
        let quotes = quotes_at(&finding, place);
        if !quotes.is_empty() {
            issue.evidence = quotes;
        }
        (issue.title, issue.why_it_matters) = (finding.title, finding.why_it_matters);
        (issue.category, issue.rule) = (finding.category, rule);
        issue.suggestion = finding.suggested_fix.clone().unwrap_or_default();
        issue.suggested_fix = finding.suggested_fix;
    }
    let first_quote = issue.evidence.first();
    issue.evidence_snippet = first_quote.map(|quote| quote.snippet.clone()).unwrap_or_default();
}

/// The finding in the file of a place whose cited line is the nearest.
fn member_at<'m>(members: &'m [Member], place: &Location) -> Option<&'m Member> {
    let is_in_file = |member: &&Member| {
        member.finding.file == place.file && member.finding.side.unwrap_or(Side::New) == place.side
    };
    let distance = |member: &&Member| {
        let line = member.finding.line_start;
        line.map_or(u32::MAX, |line| line.get().abs_diff(place.line_start))
    };
    members.iter().filter(is_in_file).min_by_key(distance)
}

/// The quotes of a finding from the file of its place.
fn quotes_at(finding: &Finding, place: &Location) -> Vec<Quote> {
    let is_cited = finding.line_start.is_some_and(|line| line.get() == place.line_start);
    let is_in_file =
        |evidence: &&Evidence| evidence.file.as_ref().is_none_or(|file| *file == place.file);
    let quote = |evidence: &Evidence| Quote {
        file: place.file.clone(),
        side: evidence.side.unwrap_or(place.side),
        // If the quoted code was on another line than the cited one, the place has its line.
        line: evidence.line.filter(|_| is_cited).map_or(place.line_start, NonZeroU32::get),
        snippet: evidence.snippet.clone(),
    };
    finding.evidence.iter().filter(is_in_file).map(quote).collect()
}

/// Names the further places of an issue, as an addition to its text. Empty without any.
pub(crate) fn places_sentence(places: &[Location]) -> String {
    if places.is_empty() {
        return String::new();
    }
    let places: Vec<String> = places.iter().map(ToString::to_string).collect();
    format!(" Also at {}.", places.join(", "))
}

/// Keys that the issue would have on nearby lines that `accept` allows, nearest first.
pub(crate) fn nearby_keys(
    issue: &Issue,
    max_distance: u32,
    accept: impl Fn(u32) -> bool,
    placer: &mut Placer<'_>,
) -> Vec<String> {
    let line = issue.location.line_start;
    let nearby_lines = (1..=max_distance)
        .flat_map(|distance| [line.saturating_sub(distance), line.saturating_add(distance)]);
    nearby_lines
        .filter(|line| *line > 0 && accept(*line))
        .filter_map(|line| key_at(line, &issue.location, issue.category.family(), placer))
        .collect()
}

/// Gives every issue its own key. The first issue with a shared key keeps it.
pub(crate) fn make_keys_unique<'a>(issues: impl Iterator<Item = &'a mut Issue>) {
    let mut key_counts: HashMap<String, usize> = HashMap::new();
    for issue in issues {
        let count = key_counts.entry(issue.dedupe_key.clone()).or_default();
        if *count > 0 {
            issue.dedupe_key = numbered_key(&issue.dedupe_key, *count);
        }
        *count += 1;
    }
}

/// The key follows the first member by location, because confidences vary between runs.
fn cluster_key(cluster: &[PlacedFinding], placer: &mut Placer<'_>) -> String {
    let family = |placed: &PlacedFinding| placed.member.finding.category.family();
    let first_member = cluster.iter().min_by_key(|placed| (&placed.location, family(placed)));
    let first_member = first_member.unwrap_or(&cluster[0]);
    let (location, family) = (&first_member.location, family(first_member));
    key_at(location.line_start, location, family, placer)
        .unwrap_or_else(|| key_without_text(first_member, family))
}

/// Key of an issue on a line; `None` if the text of the line is unknown.
fn key_at(
    line: u32,
    location: &Location,
    family: Family,
    placer: &mut Placer<'_>,
) -> Option<String> {
    let sources = placer.sources();
    let symbol = sources.symbol(location.side, &location.file, line);
    let quotable = &placer.file(&location.file).quotable_text;
    let text = quotable.line(location.side, line)?;
    Some(dedupe_key(&IssueKey {
        file: &location.file,
        symbol: symbol.map_or("", |span| span.name.as_str()),
        text,
        ordinal: quotable.ordinal(location.side, symbol.map_or(1, |span| span.start), line),
        family,
    }))
}

/// Key if the text of the line is unknown: for a static finding in a file whose text the caller did
/// not pass, or in a text that is not a file, such as the description of the pull request. The key
/// uses the quote, which is stable when lines move, or else the line number.
fn key_without_text(placed: &PlacedFinding, family: Family) -> String {
    let file = &placed.location.file;
    let quote = collapse_whitespace(&own_quote(placed));
    let ordinal = match quote.as_str() {
        "" => usize::try_from(placed.location.line_start).unwrap_or(usize::MAX),
        _ => 0,
    };
    dedupe_key(&IssueKey { file, symbol: "", text: &quote, ordinal, family })
}

/// The best fix of a cluster.
struct BestFix {
    /// Exact new text for the lines of the issue.
    replacement: Option<String>,
    /// What to do, in words.
    words: Option<String>,
}

/// The best fix of a cluster whose first member leads: an exact replacement for the lines of the
/// issue, if a member has one, and words. If the author of the replacement wrote no words, they
/// come from the first member that did.
///
/// An issue has room for one replacement. If members have other ones, or one for another place, the
/// issue has none: the replacement would fix a part of the issue.
fn best_fix(cluster: &[PlacedFinding], placer: &mut Placer<'_>) -> BestFix {
    let lead = &cluster[0];
    // If static checks found the issue, only they may provide its fix. Their findings come first.
    let static_count = cluster.partition_point(|placed| placed.member.origin == Origin::Code);
    let cluster = if static_count > 0 { &cluster[..static_count] } else { cluster };
    let is_like = |placed: &PlacedFinding, author: &PlacedFinding| {
        let is_here =
            placed.location.overlaps(&lead.location) || is_near(&placed.location, &lead.location);
        let text = &placed.member.finding.replacement;
        text.is_none() || is_here && *text == author.member.finding.replacement
    };
    let author = cluster
        .iter()
        .find(|placed| placed.location == lead.location && has_exact_fix(placed, placer))
        .filter(|author| cluster.iter().all(|placed| is_like(placed, author)));
    let words = |placed: &PlacedFinding| placed.member.finding.suggested_fix.clone();
    BestFix {
        replacement: author.and_then(|author| author.member.finding.replacement.clone()),
        words: author.and_then(words).or_else(|| cluster.iter().find_map(words)),
    }
}

/// Whether a finding has new text that is safe to apply to its location: the reviewer wrote the
/// text for these lines, and all of them exist.
fn has_exact_fix(placed: &PlacedFinding, placer: &mut Placer<'_>) -> bool {
    let PlacedFinding { member, location, relocated_from, .. } = placed;
    let finding = &member.finding;
    // A line that the finding omits agrees with every line. With a `diff_line`, a finding may also
    // cite other lines.
    let agrees = |stated: Option<NonZeroU32>, line: u32| stated.is_none_or(|it| it.get() == line);
    let is_for_cited_lines = relocated_from.is_none()
        && location.side == Side::New
        && agrees(finding.line_start, location.line_start)
        && agrees(finding.line_end, location.line_end);
    let quotable = &placer.file(&location.file).quotable_text;
    finding.replacement.is_some()
        && is_for_cited_lines
        && quotable.line(location.side, location.line_end).is_some()
}

/// First quote from the finding's own file, or else its first quote. Empty without quotes.
fn own_quote(placed: &PlacedFinding) -> String {
    let own_file_quote = placed.evidence.iter().find(|quote| quote.file == placed.location.file);
    own_file_quote
        .or(placed.evidence.first())
        .map(|quote| quote.snippet.clone())
        .unwrap_or_default()
}

/// Highest confidence of the members, raised if different voices agree.
fn confidence(cluster: &[PlacedFinding]) -> Confidence {
    let voices: BTreeSet<&str> = cluster.iter().map(|placed| placed.member.voice()).collect();
    let highest = cluster.iter().map(|placed| placed.confidence).max().unwrap_or(Confidence::ZERO);
    if voices.len() > 1 { highest.raised(AGREEMENT_BONUS) } else { highest }
}

fn reviewers(members: &[&Member]) -> Vec<String> {
    let names: BTreeSet<&str> = members.iter().map(|member| member.reviewer.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Rule of the lead, or else of the first static finding in the cluster.
fn rule(lead: &PlacedFinding, members: &[&Member]) -> Option<String> {
    let lead_rule = lead.member.rule.as_ref();
    lead_rule.or_else(|| members.iter().find_map(|member| member.rule.as_ref())).cloned()
}

fn validation(members: &[&Member]) -> Validation {
    let has_static_finding = members.iter().any(|member| member.origin == Origin::Code);
    if has_static_finding { Validation::ByCode } else { Validation::NotRun }
}

/// How crh chooses between classes, and between owners.
const CAUTIOUS: &str = "the more cautious";

/// Disagreement between reviewers, or with the result: `security (P0), correctness (P1) -- kept P0,
/// the more severe`.
fn disagreement(
    members: &[&Member],
    separated: &[Member],
    severity: Severity,
    route: &IssueRoute,
) -> Option<String> {
    let voters = route_voters(members, separated);
    let notes = [
        severity_disagreement(members, severity),
        disagreement_over(&voters, |m| m.finding.autofix_class, route.class, class_words, CAUTIOUS),
        disagreement_over(&voters, |m| m.finding.owner, route.owner, owner_words, CAUTIOUS),
    ];
    let mut notes: Vec<String> = notes.into_iter().flatten().collect();
    let names = || reviewers(&voters).join(", ");
    if replacements_conflict(members) {
        notes.push(format!("{} (different replacements) -- kept none", names()));
    } else if replacements_conflict(&voters) {
        notes.push(format!(
            "{} (different replacements) -- kept {}",
            names(),
            class_words(route.class)
        ));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Claimed severities, if they differ or were capped.
fn severity_disagreement(members: &[&Member], final_severity: Severity) -> Option<String> {
    let claimed_severity = |member: &Member| member.finding.severity;
    match downgrade_reason(members, final_severity) {
        None => disagreement_over(
            members,
            claimed_severity,
            final_severity,
            severity_words,
            "the more severe",
        ),
        Some(reason) => Some(format!(
            "{} -- lowered to {final_severity}: {reason}",
            format_votes(&reviewers_by_value(members, claimed_severity), severity_words)
        )),
    }
}

fn severity_words(severity: Severity) -> &'static str {
    match severity {
        Severity::P0 => "P0",
        Severity::P1 => "P1",
        Severity::P2 => "P2",
        Severity::P3 => "P3",
    }
}

fn class_words(class: AutofixClass) -> &'static str {
    match class {
        AutofixClass::SafeAuto => "safe fix",
        AutofixClass::GatedAuto => "fix that changes behaviour",
        AutofixClass::Manual => "manual fix",
        AutofixClass::Advisory => "no fix",
    }
}

/// For whom the fix is.
fn owner_words(owner: Owner) -> &'static str {
    match owner {
        Owner::ReviewFixer => "for `crh fix`",
        Owner::DownstreamResolver => "for a developer or a coding agent",
        Owner::Human => "for a person to decide",
        Owner::Release => "for the release",
    }
}

/// Changes the severity of an issue after merging, and adds who did it and why to its disagreement:
/// `single (P3), validation (P1) -- raised to P1: REASON`.
pub(crate) fn regrade(issue: &mut Issue, severity: Severity, judge: &str, reason: &str) {
    let verb = match severity.cmp(&issue.severity) {
        Ordering::Equal => return,
        Ordering::Less => "raised",
        Ordering::Greater => "lowered",
    };
    let claims = match issue.disagreement.take() {
        Some(disagreement) => format!("{disagreement}; "),
        None => {
            let members: Vec<&Member> = issue.members.iter().collect();
            let votes = reviewers_by_value(&members, |m| m.finding.severity);
            format!("{}, ", format_votes(&votes, severity_words))
        }
    };
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    issue.disagreement =
        Some(format!("{claims}{judge} ({severity}) -- {verb} to {severity}{reason}"));
    issue.severity = severity;
}

fn disagreement_over<T: Copy + Ord>(
    members: &[&Member],
    value_of: impl Fn(&Member) -> T,
    final_value: T,
    words: fn(T) -> &'static str,
    choice: &str,
) -> Option<String> {
    let votes = reviewers_by_value(members, value_of);
    (votes.len() > 1).then(|| {
        format!("{} -- kept {}, {choice}", format_votes(&votes, words), words(final_value))
    })
}

fn reviewers_by_value<'a, T: Ord>(
    members: &[&'a Member],
    value_of: impl Fn(&Member) -> T,
) -> BTreeMap<T, BTreeSet<&'a str>> {
    let mut by_value: BTreeMap<T, BTreeSet<&str>> = BTreeMap::new();
    for member in members {
        by_value.entry(value_of(member)).or_default().insert(&member.reviewer);
    }
    by_value
}

/// Formats votes as `security (P0), correctness (P1)`.
fn format_votes<T: Copy>(
    votes: &BTreeMap<T, BTreeSet<&str>>,
    words: fn(T) -> &'static str,
) -> String {
    let parts = votes.iter().flat_map(|(value, names)| {
        names.iter().map(move |name| format!("{name} ({})", words(*value)))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Language of a file by its extension.
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
