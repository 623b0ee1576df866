//! Merge: findings become issues, held against the files they quote.

mod pairs;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::code::Code;
use crate::office::Office;
use crate::runs::RunRecord;
use crate::subject::Subject;
use crate::text::count;
use crh_review::finding::{Member, Side};
use crh_review::report::Strategy;
use crh_review::{Merged, Remembered, Sources, SymbolSpan};
use crh_syntax::SymbolKind;

/// Merges findings. Quotes are looked up in the diff and in the files of base and head.
pub fn consolidate(members: Vec<Member>, subject: &Subject, remembered: &Remembered) -> Merged {
    let sources = sources(&members, subject);
    // Pairs that may be one issue stay apart until somebody decides about them.
    crh_review::consolidate(members, &sources, remembered, &BTreeSet::new())
}

/// Findings that were merged, and what it took to decide about pairs.
#[derive(Debug, Clone, Serialize)]
pub struct Consolidated {
    /// The issues.
    #[serde(flatten)]
    pub merged: Merged,
    /// The run that was asked which of them are one, if one was.
    #[serde(skip)]
    pub run: Option<RunRecord>,
    /// What the reader should know.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Merges the findings of a review. Where reviewers with different lenses may have said the same in other words, one small call
/// decides; what it does not decide stays apart.
pub async fn consolidated(
    members: Vec<Member>,
    subject: &Subject,
    remembered: &Remembered,
    office: Option<&Office>,
) -> Consolidated {
    let merged = consolidate(members.clone(), subject, remembered);
    let panel = office.filter(|office| office.terms.strategy == Strategy::Panel);
    let Some(office) = panel.filter(|_| !merged.candidate_pairs.is_empty()) else {
        return Consolidated { merged, run: None, notes: Vec::new() };
    };
    let asked_about = pairs::asked_about(&merged.candidate_pairs);
    let (answer, run) = pairs::ask(office, asked_about).await;
    let Some(same) = answer else {
        let why = run.ended.failure().unwrap_or("no answer");
        let notes = vec![format!("issues that may be one stay apart, since nobody decided: {why}")];
        return Consolidated { merged, run: Some(run), notes };
    };
    let asked: BTreeSet<String> = asked_about.iter().map(|it| it.id.clone()).collect();
    let mut merged = match same.is_empty() {
        true => merged,
        false => {
            let sources = sources(&members, subject);
            crh_review::consolidate(members, &sources, remembered, &same)
        }
    };
    // What was decided need not be looked at by anyone else.
    merged.candidate_pairs.retain(|pair| !asked.contains(&pair.id));
    let left = merged.candidate_pairs.len();
    let notes = (left > 0).then(|| {
        format!(
            "{} that may be one were too many to decide about, and stay apart",
            count(left, "more pair")
        )
    });
    Consolidated { merged, run: Some(run), notes: notes.into_iter().collect() }
}

/// The diff, the text of every file that a finding cites, and the functions and types of those that the change has to
/// do with. Other files are read for nothing but their quotes.
fn sources(members: &[Member], subject: &Subject) -> Sources {
    let mut sources = Sources::new(subject.diff.as_ref().clone());
    let code = Code::of(subject);
    for path in cited(members, &sources) {
        for side in [Side::Old, Side::New] {
            let bytes = code.bytes(side, &path).or_else(|| instructions(subject, side, &path));
            let Some(bytes) = bytes else { continue };
            if code.is_changed(&path) {
                sources = sources.with_symbols(side, &path, spans(&code, side, &path));
            }
            sources = sources.with_file(side, &path, bytes);
        }
    }
    sources
}

/// A file of the project's instructions by its place in the workspace, where reviewers read it.
fn instructions(subject: &Subject, side: Side, path: &str) -> Option<Vec<u8>> {
    let is_there = side == Side::New && path.starts_with("agent/");
    subject.workspace().ok().filter(|_| is_there)?.bytes(path).ok()
}

/// The files that findings cite, each once, by the path it has after the change.
fn cited(members: &[Member], sources: &Sources) -> BTreeSet<String> {
    let mut written = BTreeSet::new();
    for Member { finding, .. } in members {
        let quoted = finding.evidence.iter().filter_map(|piece| piece.file.as_deref());
        written.extend(quoted.chain([finding.file.as_str()]));
    }
    written.into_iter().map(|path| sources.current_path(path)).collect()
}

/// The functions and types of a file; none if it has no grammar or cannot be parsed. A module is no place: everything
/// in the file may be in it.
fn spans(code: &Code<'_>, side: Side, path: &str) -> Vec<SymbolSpan> {
    let Some(symbols) = code.symbols(side, path) else { return Vec::new() };
    let is_place = |kind: SymbolKind| match kind {
        SymbolKind::Function | SymbolKind::Method | SymbolKind::Type => true,
        SymbolKind::Module => false,
    };
    let places = symbols.all().iter().filter(|symbol| is_place(symbol.kind));
    places
        .map(|symbol| SymbolSpan {
            name: symbol.name.clone(),
            start: symbol.start,
            end: symbol.end,
        })
        .collect()
}
