//! `crh dismiss`: issues that are never raised again in a repository.

use std::path::Path;

use serde_json::{Value, json};

use super::run_place;
use crate::cli::{DismissArgs, ListingArg};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::config::value::quoted;
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, ui};
use crh_pipeline::dismissed;
use crh_pipeline::dismissed::{Dismissal, Dismissals, DismissalsError};
use crh_pipeline::run_folder::Stamp;
use crh_review::identity::is_key;
use crh_review::report::{Issue, Report};
use crh_review::{Remembered, stable_json};

/// More digits than an issue's number has are the beginning of a run's name.
const DIGITS_MAX: usize = 5;
const LISTED: &str =
    "`crh dismiss --list` lists what was dismissed, with the keys that `--undo` takes";

/// What the user calls an issue.
#[derive(Debug, PartialEq, Eq)]
enum Named<'a> {
    /// By its number in a run; the newest if none is named.
    Number { run: Option<&'a str>, number: u32 },
    /// By its key.
    Key(&'a str),
}

/// An issue that was found in a run.
struct Found {
    run_id: String,
    report: Report,
    issue: Issue,
}

pub(crate) fn run(args: DismissArgs, environment: &Environment) -> Result<(), Failure> {
    // What a repository says about the state folder does not count, so none is looked for.
    let settings = config::load(environment, None, RawSettings::default())?;
    let state = settings.state_folder.value.path()?;
    let Some(text) = &args.issue else { return list(state, args.format) };
    let named = named(text)?;
    let run_dir = args.place.run_dir.as_deref();
    match (args.undo, named) {
        (true, Named::Key(key)) => undo_key(state, key),
        (true, Named::Number { run, number }) => {
            // In a run after it, what was dismissed has no number.
            let found = found(environment, run_dir, run, number);
            undo(state, &found.map_err(|failure| failure.hint(LISTED))?)
        }
        (false, Named::Number { run, number }) => {
            let found = found(environment, run_dir, run, number)?;
            dismiss(state, &found, &args.reason.join(" "), Stamp::of(environment.now()))
        }
        (false, Named::Key(_)) => Err(unnamed(text)),
    }
}

/// What was dismissed in a repository, for a review of it.
pub(super) fn remembered(settings: &Settings, repo: &str) -> Result<Remembered, Failure> {
    // Nothing was ever dismissed by someone who has no home.
    let Ok(state) = settings.state_folder.value.path() else { return Ok(Remembered::default()) };
    let dismissals = Dismissals::read(&dismissed::place(state, repo)).map_err(failed)?;
    Ok(Remembered { dismissed: dismissals.into_remembered(), ..Remembered::default() })
}

fn named(text: &str) -> Result<Named<'_>, Failure> {
    let is_number = |text: &str| {
        !text.is_empty() && text.len() <= DIGITS_MAX && text.bytes().all(|b| b.is_ascii_digit())
    };
    let (run, number) = match text.rsplit_once('#') {
        Some((run, number)) => (Some(run).filter(|run| !run.is_empty()), number),
        None if is_key(text) => return Ok(Named::Key(text)),
        None => (None, text),
    };
    let number = Some(number).filter(|number| is_number(number)).and_then(|it| it.parse().ok());
    number.map(|number| Named::Number { run, number }).ok_or_else(|| unnamed(text))
}

fn unnamed(text: &str) -> Failure {
    Failure::usage(format!("{} does not name an issue of a run", quoted(text)))
        .hint("give `RUN#3`, or `3` for an issue of the newest run")
}

fn found(
    environment: &Environment,
    run_dir: Option<&Path>,
    run: Option<&str>,
    number: u32,
) -> Result<Found, Failure> {
    let folder = run_place::run_folder(environment, run_dir, run)?;
    let report = folder.report().map_err(run_place::failed)?;
    let run_id = folder.run_id();
    let mut issues = report.issues.iter().chain(&report.pre_existing);
    let Some(issue) = issues.find(|issue| issue.number == number).cloned() else {
        return Err(Failure::usage(format!("the run `{run_id}` has no issue #{number}"))
            .hint(format!("`crh show {run_id}` shows its issues")));
    };
    if report.change.repo.is_empty() {
        let message = format!("the change of `{run_id}` belongs to no repository");
        return Err(Failure::usage(message)
            .hint("a dismissal is remembered for a repository; review inside of one"));
    }
    Ok(Found { run_id, report, issue })
}

fn dismiss(state: &Path, found: &Found, reason: &str, now: Stamp) -> Result<(), Failure> {
    let Found { run_id, report, issue } = found;
    let dismissal = Dismissal {
        reason: reason.trim().to_owned(),
        title: issue.title.clone(),
        place: format!("{}:{}", issue.location.file, issue.location.line_start),
        run: format!("{run_id}#{}", issue.number),
        at: now.iso(),
    };
    let key = &issue.dedupe_key;
    let add = |dismissals: &mut Dismissals| {
        // Whoever says nothing has not taken back what was said.
        let before = dismissals.entries().get(key).map(|before| before.reason.clone());
        let reason = Some(dismissal.reason.clone()).filter(|reason| !reason.is_empty());
        let reason = reason.or(before).unwrap_or_default();
        dismissals.add(key, Dismissal { reason, ..dismissal.clone() })
    };
    let before = Dismissals::change(state, &report.change.repo, add).map_err(failed)?;
    let is = if before.is_none() { "is dismissed" } else { "stays dismissed" };
    ui::note(&format!(
        "#{} {is}: {} ({}); `crh dismiss --undo {key}` takes it back",
        issue.number,
        ui::on_one_line(&issue.title),
        ui::on_one_line(&dismissal.place)
    ));
    Ok(())
}

fn undo(state: &Path, found: &Found) -> Result<(), Failure> {
    let Found { run_id, report, issue } = found;
    let remove = |dismissals: &mut Dismissals| dismissals.remove(&issue.dedupe_key);
    match Dismissals::change(state, &report.change.repo, remove).map_err(failed)? {
        Some(dismissal) => say_undone(&dismissal),
        None => {
            let message = format!("#{} of `{run_id}` is not dismissed", issue.number);
            return Err(Failure::usage(message).hint(LISTED));
        }
    }
    Ok(())
}

fn undo_key(state: &Path, key: &str) -> Result<(), Failure> {
    let lists = dismissed::all(state).map_err(failed)?;
    let with_key = lists.iter().filter(|(_, list)| list.entries().contains_key(key));
    let repos: Vec<&str> = with_key.map(|(repo, _)| repo.as_str()).collect();
    let repo = match repos.as_slice() {
        [] => {
            return Err(
                Failure::usage(format!("nothing with the key `{key}` is dismissed")).hint(LISTED)
            );
        }
        [repo] => repo,
        several => {
            let names = several.join("`, `");
            return Err(Failure::usage(format!("`{key}` is dismissed in several: `{names}`"))
                .hint("name the issue by a run of its repository: `--undo RUN#3`"));
        }
    };
    let remove = |dismissals: &mut Dismissals| dismissals.remove(key);
    if let Some(dismissal) = Dismissals::change(state, repo, remove).map_err(failed)? {
        say_undone(&dismissal);
    }
    Ok(())
}

fn say_undone(dismissal: &Dismissal) {
    let Dismissal { title, place, .. } = dismissal;
    ui::note(&format!(
        "no longer dismissed: {} ({})",
        ui::on_one_line(title),
        ui::on_one_line(place)
    ));
}

fn list(state: &Path, format: ListingArg) -> Result<(), Failure> {
    let lists = dismissed::all(state).map_err(failed)?;
    let rows = lists.iter().flat_map(|(repo, list)| {
        list.entries().iter().map(move |(key, dismissal)| (repo, key, dismissal))
    });
    match format {
        ListingArg::Text => {
            let text: String = rows
                .map(|(repo, key, Dismissal { reason, title, place, .. })| {
                    let why =
                        if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                    [key, repo, place, &format!("{title}{why}")]
                        .map(|cell| ui::on_one_line(cell))
                        .join("  ")
                        + "\n"
                })
                .collect();
            if text.is_empty() {
                ui::note("nothing is dismissed");
            }
            ui::result_text(&text)
        }
        ListingArg::Json => {
            let rows: Vec<Value> = rows
                .map(|(repo, key, dismissal)| {
                    let Dismissal { reason, title, place, run, at } = dismissal;
                    json!({
                        "dedupe_key": key, "repo": repo, "reason": reason, "title": title,
                        "place": place, "run": run, "at": at,
                    })
                })
                .collect();
            ui::result_text(&stable_json(&rows).or_fail(Kind::Bug)?)
        }
    }
}

fn failed(error: DismissalsError) -> Failure {
    let kind = match &error {
        DismissalsError::Damaged { .. } => Kind::Usage,
        DismissalsError::Disk { .. } => Kind::Outside,
    };
    Failure::new(kind, error)
        .hint("`state.folder` in your config or `CRH_STATE` names another folder")
}
