//! Stage "merge": turns findings into issues and checks their quotes.

mod pairs;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::review_context::ReviewContext;
use crate::runs::RunRecord;
use crate::text::plural;
use crh_review::finding::{Member, Side};
use crh_review::report::Strategy;
use crh_review::{FindingCheck, MergeResult, PastDecisions, Sources, SymbolSpan};
use crh_syntax::SymbolKind;

/// Merges findings. Quotes are looked up in the diff and in the files of base and head.
pub fn consolidate(
    members: Vec<Member>,
    change: &ChangeUnderReview,
    remembered: &PastDecisions,
) -> MergeResult {
    let sources = sources(&members, change);
    // Without an answer about possible duplicates, they stay separate issues.
    crh_review::consolidate(members, &sources, remembered, &BTreeSet::new())
}

/// Checks findings as the merge will.
pub(crate) fn check_findings(members: &[Member], change: &ChangeUnderReview) -> Vec<FindingCheck> {
    crh_review::check_findings(members, &sources(members, change))
}

/// Merged findings, with the run that decided about duplicates.
#[derive(Debug, Clone, Serialize)]
pub struct Consolidation {
    /// The issues.
    #[serde(flatten)]
    pub merged: MergeResult,
    /// The run that was asked about duplicates, if there was one.
    #[serde(skip)]
    pub run: Option<RunRecord>,
    /// Notes for the reader.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Merges the findings of a review. In a panel, one small model call decides about possible
/// duplicates; undecided pairs stay separate.
pub async fn consolidate_with_model(
    members: Vec<Member>,
    change: &ChangeUnderReview,
    remembered: &PastDecisions,
    ctx: Option<&ReviewContext>,
) -> Consolidation {
    let merged = consolidate(members.clone(), change, remembered);
    let panel_ctx = ctx.filter(|ctx| ctx.options.strategy == Strategy::Panel);
    let Some(ctx) = panel_ctx.filter(|_| !merged.candidate_pairs.is_empty()) else {
        return Consolidation { merged, run: None, notes: Vec::new() };
    };
    let asked_pairs = pairs::pairs_to_ask(&merged.candidate_pairs);
    let (answer, run) = pairs::ask_about_pairs(ctx, asked_pairs).await;
    let Some(duplicate_ids) = answer else {
        let why = run.ended.failure().unwrap_or("no answer");
        let notes = vec![format!("possible duplicates were not merged: {why}")];
        return Consolidation { merged, run: Some(run), notes };
    };
    let asked_ids: BTreeSet<String> = asked_pairs.iter().map(|pair| pair.id.clone()).collect();
    let mut merged = match duplicate_ids.is_empty() {
        true => merged,
        false => {
            let sources = sources(&members, change);
            crh_review::consolidate(members, &sources, remembered, &duplicate_ids)
        }
    };
    // Decided pairs are no longer candidates.
    merged.candidate_pairs.retain(|pair| !asked_ids.contains(&pair.id));
    let unchecked_count = merged.candidate_pairs.len();
    let notes = (unchecked_count > 0).then(|| {
        format!(
            "{} of possible duplicates were not checked; they are listed separately",
            plural(unchecked_count, "more pair")
        )
    });
    Consolidation { merged, run: Some(run), notes: notes.into_iter().collect() }
}

/// The diff, the text of every cited file, and the symbols of changed files.
fn sources(members: &[Member], change: &ChangeUnderReview) -> Sources {
    let mut sources = Sources::new(change.diff.as_ref().clone());
    let code = CodeReader::new(change);
    for path in cited_paths(members, &sources) {
        for side in [Side::Old, Side::New] {
            let bytes = code.bytes(side, &path).or_else(|| instruction_file(change, side, &path));
            let Some(bytes) = bytes else { continue };
            if code.is_changed(&path) {
                sources = sources.with_symbols(side, &path, symbol_spans(&code, side, &path));
            }
            sources = sources.with_file(side, &path, bytes);
        }
    }
    sources
}

/// A file of the project's agent instructions, by its workspace path.
fn instruction_file(change: &ChangeUnderReview, side: Side, path: &str) -> Option<Vec<u8>> {
    let is_in_workspace = side == Side::New && path.starts_with("agent/");
    change.workspace().ok().filter(|_| is_in_workspace)?.bytes(path).ok()
}

/// Cited files by their new path, deduplicated.
fn cited_paths(members: &[Member], sources: &Sources) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for Member { finding, .. } in members {
        let quoted_paths = finding.evidence.iter().filter_map(|piece| piece.file.as_deref());
        paths.extend(quoted_paths.chain([finding.file.as_str()]));
    }
    paths.into_iter().map(|path| sources.current_path(path)).collect()
}

/// Functions and types of a file. Empty if the file does not parse. Modules are skipped: they may
/// span the whole file.
fn symbol_spans(code: &CodeReader<'_>, side: Side, path: &str) -> Vec<SymbolSpan> {
    let Some(symbols) = code.symbols(side, path) else { return Vec::new() };
    let is_code_symbol = |kind: SymbolKind| match kind {
        SymbolKind::Function | SymbolKind::Method | SymbolKind::Type => true,
        SymbolKind::Module => false,
    };
    let code_symbols = symbols.all().iter().filter(|symbol| is_code_symbol(symbol.kind));
    code_symbols
        .map(|symbol| SymbolSpan {
            name: symbol.name.clone(),
            start: symbol.start,
            end: symbol.end,
        })
        .collect()
}
