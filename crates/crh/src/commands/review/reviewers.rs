//! `crh reviewers`: shows which reviewers a change gets, and why. Uses no model.

use serde::Serialize;

use super::super::forge::PullRequestLookup;
use super::super::{change_source, forge};
use super::resolved_change::ResolvedChange;
use super::terms;
use crate::cli::{ListFormatArg, PanelArgs, ReviewersArgs};
use crate::config::environment::Environment;
use crate::config::key::SourcedValue;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_pipeline::context::Panel;
use crh_pipeline::resolve::PinnedChange;
use crh_pipeline::reviewers::{ModelTier, Reviewer, ReviewerOrigin};
use crh_pipeline::{context, run_folder};
use crh_review::render::reviewer_reason;
use crh_review::report::Strategy;
use crh_review::stable_json;

/// A reviewer and whether it runs.
#[derive(Debug, Serialize)]
struct ReviewerEntry<'a> {
    name: &'a str,
    lens: &'a str,
    runs: bool,
    why: &'a str,
    /// Condition in words, which a model evaluates.
    #[serde(skip_serializing_if = "str::is_empty")]
    or_if: &'a str,
    tier: ModelTier,
    aliases: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
}

pub(in crate::commands) fn run(
    args: ReviewersArgs,
    environment: &Environment,
) -> Result<(), Failure> {
    let mut flags = RawSettings {
        review_depth: args.depth.map(|value| SourcedValue::from_flag("--depth", value)),
        ..RawSettings::default()
    };
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    args.display.set(&mut flags);
    let include_untracked = args.target.include_untracked;
    let pull_lookup = PullRequestLookup::from_no_pr_flag(args.target.no_pr);
    let parsed = change_source::parse_target(args.target, &mut flags, environment)?;
    let untracked = change_source::untracked_policy(include_untracked, &parsed.target)?;
    let mut pull = forge::find_proposal(&parsed.target, pull_lookup, environment, &flags)?;
    let print_notes = |change: &mut PinnedChange| change.notes.iter().for_each(|it| ui::note(it));
    let resolved = ResolvedChange::target(
        &parsed,
        &mut pull,
        untracked,
        environment,
        flags,
        None,
        print_notes,
    )?;
    let folder = tempfile::tempdir().or_fail(FailureKind::External)?;
    let subject = resolved.subject(&folder.path().join(run_folder::WORKSPACE))?;
    let options = terms::panel_options(&resolved.settings, &PanelArgs::default());
    let chosen = context::panel(&subject, &options, resolved.work());
    for note in chosen.notes.iter().chain(&chosen.team.notes) {
        ui::warn(note);
    }
    let rows = rows(&chosen, |reviewer| options.tier(reviewer));
    match terms::strategy(&resolved.settings) {
        Strategy::Panel => {}
        strategy @ (Strategy::Single | Strategy::Delegate | Strategy::Static) => {
            let setting = terms::strategy_setting(&resolved.settings);
            ui::note(&format!(
                "your reviews use the strategy `{strategy}` ({setting}), not these reviewers; they run with `crh review --strategy panel`"
            ));
        }
    }
    match args.format {
        ListFormatArg::Json => ui::result_text(&stable_json(&rows).or_fail(FailureKind::Bug)?),
        ListFormatArg::Text => ui::result_text(&crh_review::escape_invisible(&text(&rows))),
    }
}

/// The selected reviewers first, each group in catalogue order.
fn rows<'a>(chosen: &'a Panel, tier: impl Fn(&Reviewer) -> ModelTier) -> Vec<ReviewerEntry<'a>> {
    let row = |reviewer: &'a Reviewer, runs: bool, why: &'a str| ReviewerEntry {
        name: &reviewer.name,
        lens: &reviewer.lens,
        runs,
        why,
        or_if: if chosen.scout_candidates.contains(&reviewer.name) { &reviewer.soft } else { "" },
        tier: tier(reviewer),
        aliases: &reviewer.aliases,
        file: match &reviewer.origin {
            ReviewerOrigin::BuiltIn => None,
            ReviewerOrigin::Repository(path) => Some(path),
        },
    };
    let running = chosen.team.chosen.iter().map(|it| row(&it.reviewer, true, &it.why));
    let others = chosen.team.left_out.iter().filter_map(|it| {
        let reviewer = chosen.catalogue.get(&it.name)?;
        Some(row(reviewer, false, &it.why))
    });
    running.chain(others).collect()
}

fn text(rows: &[ReviewerEntry<'_>]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let line = |row: &ReviewerEntry<'_>| {
        let own =
            row.file.map(|file| format!(" [{}]", crh_review::one_line(file))).unwrap_or_default();
        let reason = match row.or_if {
            "" if row.runs => reviewer_reason(row.name, row.why),
            "" => row.why.to_owned(),
            condition => condition.to_owned(),
        };
        // A reason may contain a file name with any characters.
        format!("  {:<width$}  {}{own}\n", row.name, crh_review::one_line(&reason))
    };
    let list = |heading: &str, belongs: &dyn Fn(&ReviewerEntry<'_>) -> bool| {
        let lines: String = rows.iter().filter(|row| belongs(row)).map(line).collect();
        if lines.is_empty() { String::new() } else { format!("{heading}\n{lines}") }
    };
    let is_on_call = |row: &ReviewerEntry<'_>| !row.or_if.is_empty();
    let running = list("These reviewers run, because:", &|row| row.runs);
    let on_call =
        list("A model reads the change before the review. It adds one of these if:", &is_on_call);
    let others = list("These do not run, because:", &|row| !row.runs && !is_on_call(row));
    let parts = [running, on_call, others];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
