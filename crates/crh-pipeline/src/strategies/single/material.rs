//! Chooses what the `single` reviewer sees beyond the shared prompt: diffs that did not fit there,
//! then context code.

use std::cmp::Reverse;
use std::sync::Arc;

use super::context::{ContextFile, DiffShown, SelectedContext, select_context};
use super::question::question_tokens;
use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::plan::Assignment;
use crate::prompts::{Prompts, fence, numbered_diff};
use crate::review_context::ReviewContext;
use crh_llm::text_tokens;
use crh_review::diff::FileDiff;
use crh_review::finding::Side;
use crh_review::report::{CoverageState, FileCoverage};

/// Prompt material of the `single` reviewer.
#[derive(Debug)]
pub(super) struct Material {
    /// Shared prompt prefix.
    pub(super) prompts: Arc<Prompts>,
    /// Fenced pieces.
    pub(super) text: String,
    /// Notes for the reader.
    pub(super) notes: Vec<String>,
    /// Coverage if the run completes.
    pub(super) coverage: Vec<FileCoverage>,
}

/// Maximum size of the question, in tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct DraftTokenLimits {
    /// While diffs are added.
    pub(super) for_diffs: u64,
    /// While context code is added.
    pub(super) for_context: u64,
}

/// Chooses the material. If not all diffs fit, the diffs with the most changed lines are shown. The
/// shared prompt has its diffs in another order, so in that case it is rendered without diffs.
pub(super) fn choose_material(
    ctx: &ReviewContext,
    assignment: &Assignment,
    static_findings: &str,
    limits: DraftTokenLimits,
) -> Material {
    let with_shared_prompts =
        build_material(ctx, assignment, static_findings, Arc::clone(&ctx.prompts), limits);
    if with_shared_prompts.prefix_tokens <= limits.for_diffs && with_shared_prompts.shows_all_diffs
    {
        return with_shared_prompts.material;
    }
    let prompts_without_diffs = Prompts::new(&ctx.change, &ctx.options, 0);
    build_material(ctx, assignment, static_findings, Arc::new(prompts_without_diffs), limits)
        .material
}

/// Material for one prompt prefix.
struct MaterialOption {
    material: Material,
    /// Tokens of the prefix alone.
    prefix_tokens: u64,
    /// Whether all diffs fit.
    shows_all_diffs: bool,
}

fn build_material(
    ctx: &ReviewContext,
    assignment: &Assignment,
    static_findings: &str,
    prompts: Arc<Prompts>,
    limits: DraftTokenLimits,
) -> MaterialOption {
    let change = &ctx.change;
    let prefix_tokens =
        question_tokens(&prompts.conversation(&prompts.single("", static_findings)));
    let is_assigned = |path: &str| assignment.parts.iter().any(|part| part.path == path);
    let files = change.files().map(|(_, file)| (file.path.shown().into_owned(), file));
    let files: Vec<(String, &FileDiff)> = files.filter(|(path, _)| is_assigned(path)).collect();
    let files_without_diff =
        files.iter().filter(|(path, _)| !prompts.shows_diff_of(path)).cloned().collect();
    let FencedDiffs { mut pieces, omitted_paths: not_shown } =
        fence_diffs(change, files_without_diff, limits.for_diffs.saturating_sub(prefix_tokens));
    let diff_tokens: u64 = pieces.iter().map(|piece| text_tokens(piece) + 1).sum();
    let context_files = files.iter().filter_map(|(path, file)| {
        let is_shown = !not_shown.contains(path);
        let diff_shown = if is_shown { DiffShown::Whole } else { DiffShown::NotWhole };
        ContextFile::from_diff(&change.diff, file, diff_shown)
    });
    let code = CodeReader::new(change);
    let context_tokens =
        limits.for_context.saturating_sub(prefix_tokens).saturating_sub(diff_tokens);
    let SelectedContext { text, notes } =
        select_context(context_files.collect(), context_tokens, |path| code.text(Side::New, path));
    pieces.extend((!text.is_empty()).then_some(text));
    let coverage = coverage(assignment, &not_shown);
    let material = Material { prompts, text: pieces.join("\n"), notes, coverage };
    MaterialOption { material, prefix_tokens, shows_all_diffs: not_shown.is_empty() }
}

/// Fenced diffs, and the files that did not fit.
pub(super) struct FencedDiffs {
    pub(super) pieces: Vec<String>,
    omitted_paths: Vec<String>,
}

/// Fences numbered diffs within a token budget, the files with the most changed lines first.
pub(super) fn fence_diffs(
    change: &ChangeUnderReview,
    mut files: Vec<(String, &FileDiff)>,
    budget: u64,
) -> FencedDiffs {
    files.sort_by_key(|(_, file)| Reverse(u64::from(file.additions) + u64::from(file.deletions)));
    let mut diffs = FencedDiffs { pieces: Vec::new(), omitted_paths: Vec::new() };
    let mut tokens_left = budget;
    for (path, file) in files {
        // A byte counts at least half a token, so a longer diff cannot fit and is not copied.
        let could_fit = change.diff.patch(file).len() as u64 / 2 <= tokens_left;
        let piece = could_fit.then(|| fence("numbered-diff", &numbered_diff(&change.diff, file)));
        match piece.filter(|piece| text_tokens(piece) < tokens_left) {
            Some(piece) => {
                tokens_left -= text_tokens(&piece) + 1;
                diffs.pieces.push(piece);
            }
            None => diffs.omitted_paths.push(path),
        }
    }
    diffs
}

fn coverage(assignment: &Assignment, omitted_paths: &[String]) -> Vec<FileCoverage> {
    let file_coverage = |path: &String| {
        let (state, reason) = if omitted_paths.contains(path) {
            let reason = "its diff did not fit into the prompt";
            (CoverageState::Truncated, reason.to_owned())
        } else {
            (CoverageState::Reviewed, String::new())
        };
        FileCoverage { path: path.clone(), state, reason }
    };
    assignment.parts.iter().map(|part| file_coverage(&part.path)).collect()
}
