//! `crh reviewers`: who would look at a change and why, and who would not. No model is asked.

use serde::Serialize;

use super::super::forge::LookedFor;
use super::super::{forge, opened};
use super::panel;
use super::pinned::Pinned;
use crate::cli::{ListingArg, PanelArgs, ReviewersArgs};
use crate::config::environment::Environment;
use crate::config::key::Given;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_pipeline::context::Panel;
use crh_pipeline::reviewers::{Reviewer, ReviewerOrigin, Tier};
use crh_pipeline::{context, run_folder};
use crh_review::stable_json;

/// One reviewer, and what becomes of it.
#[derive(Debug, Serialize)]
struct Row<'a> {
    name: &'a str,
    lens: &'a str,
    runs: bool,
    why: &'a str,
    /// What else would ask for it, in words: a model that reads the change decides about that.
    #[serde(skip_serializing_if = "str::is_empty")]
    or_if: &'a str,
    tier: Tier,
    aliases: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
}

pub(in crate::commands) fn run(
    args: ReviewersArgs,
    environment: &Environment,
) -> Result<(), Failure> {
    let mut flags = RawSettings {
        review_depth: args.depth.map(|value| Given::by_flag("--depth", value)),
        ..RawSettings::default()
    };
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    args.look.set(&mut flags);
    let include_untracked = args.target.include_untracked;
    let looked_for = LookedFor::unless(args.target.no_pr);
    let asked = opened::asked(args.target)?;
    let untracked = opened::untracked(include_untracked, &asked.target)?;
    let mut pull = forge::of_target(&asked.target, looked_for, environment, &flags)?;
    let pinned = Pinned::target(&asked, &mut pull, untracked, environment, flags, None, |_| {})?;
    let folder = tempfile::tempdir().or_fail(Kind::Outside)?;
    let subject = pinned.subject(&folder.path().join(run_folder::WORKSPACE))?;
    let terms = panel::terms(&pinned.settings, &PanelArgs::default());
    let chosen = context::panel(&subject, &terms, pinned.work());
    for note in chosen.notes.iter().chain(&chosen.team.notes) {
        ui::warn(note);
    }
    let rows = rows(&chosen, |reviewer| terms.tier(reviewer));
    match args.format {
        ListingArg::Json => ui::result_text(&stable_json(&rows).or_fail(Kind::Bug)?),
        ListingArg::Text => ui::result_text(&crh_review::visible(&text(&rows))),
    }
}

/// Those that look at the change first, each in the order of the catalogue.
fn rows<'a>(chosen: &'a Panel, tier: impl Fn(&Reviewer) -> Tier) -> Vec<Row<'a>> {
    let row = |reviewer: &'a Reviewer, runs: bool, why: &'a str| Row {
        name: &reviewer.name,
        lens: &reviewer.lens,
        runs,
        why,
        or_if: if chosen.on_call.contains(&reviewer.name) { &reviewer.soft } else { "" },
        tier: tier(reviewer),
        aliases: &reviewer.aliases,
        file: match &reviewer.origin {
            ReviewerOrigin::BuiltIn => None,
            ReviewerOrigin::Repository(path) => Some(path),
        },
    };
    let looks = chosen.team.chosen.iter().map(|it| row(&it.reviewer, true, &it.why));
    let others = chosen.team.left_out.iter().filter_map(|it| {
        let reviewer = chosen.catalogue.get(&it.name)?;
        Some(row(reviewer, false, &it.why))
    });
    looks.chain(others).collect()
}

fn text(rows: &[Row<'_>]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let line = |row: &Row<'_>| {
        let own = row.file.map(|file| format!(" [{}]", ui::on_one_line(file))).unwrap_or_default();
        // It may name a file, and a file may be called anything.
        format!("  {:<width$}  {}{own}\n", row.name, ui::on_one_line(row.why))
    };
    let list = |heading: &str, belongs: &dyn Fn(&Row<'_>) -> bool| {
        let lines: String = rows.iter().filter(|row| belongs(row)).map(line).collect();
        if lines.is_empty() { String::new() } else { format!("{heading}\n{lines}") }
    };
    let is_on_call = |row: &Row<'_>| !row.or_if.is_empty();
    let looks = list("Would look at this change:", &|row| row.runs);
    let on_call = list("Would if whoever reads the change first asks for it:", &is_on_call);
    let others = list("Would not:", &|row| !row.runs && !is_on_call(row));
    let parts = [looks, on_call, others];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
