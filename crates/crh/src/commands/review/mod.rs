//! `crh review` and `crh check`: from what was typed to a report, where it was asked for, and an exit code.

mod again;
mod begin;
pub(super) mod checks;
mod desk;
mod fixing;
mod naming;
mod outcome;
pub(super) mod panel;
mod pinned;
mod place;
mod posting;
mod progress;
pub(crate) mod quiet;
mod recovery;
mod remains;
mod reopened;
mod resumed;
pub(super) mod reviewers;
pub(super) mod since;
pub(crate) mod terms;

use std::process::ExitCode;

pub(super) use self::begin::BASIS;
pub(crate) use self::begin::Begun;
use self::begin::{Beginning, GoesOn, Kept, Posts};
pub(crate) use self::fixing::{chosen_fixes, safe_fixes};
use self::outcome::{Bar, End, Incomplete, Outcome};
use self::progress::Progress;
use self::recovery::Tree;
use self::remains::Remains;
pub(super) use self::reopened::{Reopening, reopened};
use self::since::Wish;
use super::forge::posted::go_together;
use super::forge::{Forge, Head, LookedFor, posted};
use super::github::{Audience, Rules};
use super::render::Beside;
use super::{launchpad, opened, render};
use crate::cli::{
    CacheFlags, CheckArgs, FormatArg, ModeArg, OutputArgs, PanelArgs, PostFlags, PreparedArgs,
    PromptArgs, ReviewArgs, SarifFlags, TargetArgs, TrustArgs,
};
use crate::config::environment::{CI, Environment};
use crate::config::keys::RawSettings;
use crate::failure::{Failure, Kind, OrFail};
use crate::fix::Authority;
use crate::interactive::{Table, Talked};
use crate::ui::questions::Person;
use crate::{interactive, ui};
use crh_pipeline::run_folder::RunFolder;
use crh_pipeline::sinks::{Delivery, PostTo, Sink};
use crh_pipeline::{asked, context, plan, sinks};
use crh_review::report::{Mode, Report, Status};
use crh_review::verdict::Asked;

/// Why a review that was stopped is not posted.
const STOPPED: &str = "the review was stopped; `crh post RUN` posts what was found so far";

/// What `crh review`, `crh check` and `crh demo` have in common.
pub(super) struct Wanted {
    pub(super) asked: Asked,
    pub(super) target: TargetArgs,
    pub(super) prepared: PreparedArgs,
    pub(super) estimate: bool,
    pub(super) output: OutputArgs,
    pub(super) panel: PanelArgs,
    pub(super) prompts: PromptArgs,
    pub(super) trust: TrustArgs,
    pub(super) sarif: SarifFlags,
    pub(super) cache: CacheFlags,
    pub(super) flags: RawSettings,
    pub(super) questions: Questions,
}

/// Whether a person may be asked what to do about the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Questions {
    /// If there is one, and the mode says so.
    ToPerson,
    /// Whatever the mode says.
    ToNobody,
}

pub(super) fn review(args: ReviewArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let mut flags = RawSettings::default();
    args.review.set(&mut flags);
    args.panel.set(&mut flags);
    args.model.set(&mut flags)?;
    args.budget.set(&mut flags);
    args.analysers.set(&mut flags);
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    args.fix.set(&mut flags);
    args.look.set(&mut flags);
    let wanted = Wanted {
        asked: Asked::Review,
        target: args.target,
        prepared: args.prepared,
        estimate: args.estimate,
        output: args.output,
        panel: args.panel,
        prompts: args.prompts,
        trust: args.trust,
        sarif: args.sarif,
        cache: args.cache,
        flags,
        questions: Questions::ToPerson,
    };
    run(wanted, environment)
}

pub(super) fn check(args: CheckArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let mut flags = RawSettings::default();
    args.verdict.set(&mut flags);
    args.shown.set(&mut flags);
    args.analysers.set(&mut flags);
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    args.look.set(&mut flags);
    let wanted = Wanted {
        asked: Asked::Checks,
        target: args.target,
        prepared: args.prepared,
        estimate: false,
        output: args.output,
        panel: PanelArgs::default(),
        prompts: PromptArgs::default(),
        trust: args.trust,
        sarif: args.sarif,
        cache: args.cache,
        flags,
        questions: Questions::ToNobody,
    };
    run(wanted, environment)
}

pub(super) fn run(wanted: Wanted, environment: &Environment) -> Result<ExitCode, Failure> {
    let is_answered_to_program = is_answered_to_program(&wanted, environment);
    let outcome = begin_and_carry_out(wanted, environment);
    if let (Err(failure), true) = (&outcome, is_answered_to_program) {
        ui::result_text(&headless_failure(failure))?;
    }
    outcome
}

/// Whether a program reads what is printed, which wants to be told on standard output why there is no review.
fn is_answered_to_program(wanted: &Wanted, environment: &Environment) -> bool {
    let Wanted { target, prepared, output, .. } = wanted;
    let is_typed = target.mode.contains(&ModeArg::Headless)
        || target.words.iter().any(|word| word == "mode:headless");
    let is_any = !target.mode.is_empty() || target.words.iter().any(|it| it.starts_with("mode:"));
    let went_on = prepared.resume.as_deref().filter(|_| !is_any);
    let went_on =
        went_on.and_then(|run| resumed::mode(run, output.run_dir.as_deref(), environment));
    let is_envelope = output.format.is_none_or(|format| format == FormatArg::Envelope);
    is_envelope && (is_typed || went_on == Some(Mode::Headless))
}

/// Why there is no review, as one line for programs. Some reasons have that form already, by the contract.
fn headless_failure(failure: &Failure) -> String {
    let reason = format!("{:#}", failure.error);
    let reason = reason.strip_prefix("Review failed (headless mode). Reason: ").unwrap_or(&reason);
    let end = if reason.ends_with('.') { "" } else { "." };
    crh_review::render::failure(&format!("{reason}{end}"))
}

fn begin_and_carry_out(wanted: Wanted, environment: &Environment) -> Result<ExitCode, Failure> {
    let Wanted { asked, target, prepared, estimate, output, .. } = wanted;
    let Wanted { panel, prompts, trust, sarif, questions, .. } = wanted;
    let mut flags = wanted.flags;
    ui::speak(output.talk.verbosity());
    belongs_together(&prepared)?;
    let sinks = output.sink.iter().map(|sink| sink.parse::<Sink>());
    let sinks: Vec<Sink> = sinks.collect::<Result<_, _>>().or_fail(Kind::Usage)?;
    let posts = posts(&sinks, output.post)?;
    let _passing = wanted.cache.passing(&mut flags)?;
    let include_untracked = target.include_untracked;
    let wish = Wish::by(target.since_last);
    let head = target.head.as_deref().map(Head::parse).transpose()?;
    let looked_for = LookedFor::unless(target.no_pr);
    let audience = match (posts, environment.variable(CI)) {
        (Posts::Nothing, None) => Audience::OnePerson,
        (Posts::Nothing, Some(_)) | (Posts::ToPullRequest | Posts::ToMergeProposal, _) => {
            Audience::Others
        }
    };
    let rules = Rules::unless(target.no_skip, audience);
    let typed = opened::asked(target)?;
    let untracked = opened::untracked(include_untracked, &typed.target)?;
    let known = prepared
        .resume
        .as_deref()
        .filter(|_| typed.mode.is_none())
        .and_then(|run| resumed::mode(run, output.run_dir.as_deref(), environment));
    let mode = known.unwrap_or_else(|| mode(typed.mode));
    let authority = fixing::authority(mode, posts, questions);
    let beginning = Beginning {
        asked,
        typed,
        looked_for,
        posts,
        rules,
        wish,
        head,
        untracked,
        mode,
        prepared,
        panel,
        prompts,
        trust,
        sarif,
        flags,
        goes_on: GoesOn::Reviewing,
        tree: if estimate { Tree::Stays } else { Tree::by(&authority) },
        kept: if estimate || mode == Mode::ReportOnly { Kept::Nothing } else { Kept::Run },
        run_dir: output.run_dir.clone(),
    };
    let begun = match beginning.begin(environment) {
        Err(failure) if failure.kind == Kind::Skipped && output.allow_incomplete => {
            ui::warn(&format!("{:#}", failure.error));
            return Ok(ExitCode::SUCCESS);
        }
        begun => begun?,
    };
    if estimate {
        return say_estimate(&begun).map(|()| ExitCode::SUCCESS);
    }
    let authority = fixing::unless_half_done(authority, &begun);
    let person = match &authority {
        Authority::AsAsked => interactive::person(&begun, environment),
        Authority::Unasked | Authority::Nobody(_) | Authority::SafeFixes { .. } => None,
    };
    carry_out(&begun, &output, &sinks, (&authority, person.as_ref()), environment)
}

/// Whether anything is to be posted. What only says how is refused where nothing is.
fn posts(sinks: &[Sink], flags: PostFlags) -> Result<Posts, Failure> {
    let given = [
        ("--request-changes", flags.request_changes),
        ("--allow-approve", flags.allow_approve),
        ("--resolve-outdated", flags.resolve_outdated),
        ("--dry-run", flags.dry_run),
    ];
    let places = sinks.iter().filter_map(|sink| match sink {
        Sink::Forge(place) => Some(*place),
        Sink::Stdout | Sink::File(_) => None,
    });
    let places: Vec<PostTo> = places.collect();
    go_together(&places)?;
    if places.contains(&PostTo::Launchpad) {
        launchpad::fits(flags)?;
        return Ok(Posts::ToMergeProposal);
    }
    match (places.is_empty(), given.iter().find(|(_, is_given)| *is_given)) {
        (false, _) => Ok(Posts::ToPullRequest),
        (true, None) => Ok(Posts::Nothing),
        (true, Some((flag, _))) => {
            Err(Failure::usage(format!("`{flag}` says how something is posted, and nothing is"))
                .hint("`--sink github` or `--sink launchpad` posts the review"))
        }
    }
}

/// Refuses what would be left unread.
fn belongs_together(prepared: &PreparedArgs) -> Result<(), Failure> {
    match prepared {
        PreparedArgs { repo: Some(_), workspace: None, resume: None, .. } => {
            Err(Failure::usage("`--repo` is the repository of a workspace or of a run")
                .hint("go into the repository to review it"))
        }
        PreparedArgs { .. } => Ok(()),
    }
}

fn mode(given: Option<asked::Mode>) -> Mode {
    match given {
        None | Some(asked::Mode::Interactive) => Mode::Interactive,
        Some(asked::Mode::ReportOnly) => Mode::ReportOnly,
        Some(asked::Mode::Headless) => Mode::Headless,
        Some(asked::Mode::Autofix) => Mode::Autofix,
    }
}

/// Prints who would look at what, and what it can cost at worst.
fn say_estimate(begun: &Begun) -> Result<(), Failure> {
    let Begun { subject, terms, checks, crew, .. } = begun;
    let Some(crew) = crew else {
        return ui::result_text("No model is asked: this costs nothing.\n");
    };
    let known = context::by_code(subject, terms, checks.work, crew.context());
    let plan = plan::plan(subject, terms.strategy, checks, &known);
    let estimate = plan::estimate(&plan, subject, crew, terms, &known).to_string();
    ui::result_text(&crh_review::visible(&estimate))
}

/// A review, and what the person at the terminal said about it.
struct Carried {
    report: Report,
    end: End,
    /// Whether the report was shown before the questions about it.
    is_shown: bool,
    /// Whether what the person wanted to be published was.
    is_published: bool,
    /// Why the run folder does not know what was fixed; none if it does.
    unkept: Option<String>,
    /// Why todos that were to be written were not; none if they were.
    no_todos: Option<Failure>,
}

/// Reviews, fixes what may be fixed, and asks the person at the terminal what to do about the rest, if there is one to ask. What was
/// done before is not done again.
fn carried(
    begun: &Begun,
    output: &OutputArgs,
    sinks: &[Sink],
    (authority, person): (&Authority, Option<&Person>),
    environment: &Environment,
) -> Result<Carried, Failure> {
    let verbosity = output.talk.verbosity();
    let (mut report, mut end) = match Remains::of(begun, person)? {
        Remains::Nothing(report) => {
            return Ok(Carried {
                report,
                end: End::Finished,
                is_shown: false,
                is_published: true,
                unkept: None,
                no_todos: None,
            });
        }
        Remains::Rest(report) => (report, End::Finished),
        Remains::Review => {
            Progress::begin_anew(begun);
            desk::review(begun, person, verbosity, environment)?
        }
    };
    let (mut unkept, mut no_todos) = (None, None);
    if end == End::Finished {
        let ended = fixing::fix(begun, &mut report, authority, verbosity, environment);
        (end, unkept, no_todos) = (ended.end, ended.unkept, ended.no_todos);
    }
    let (mut is_shown, mut is_published) = (false, true);
    if let (Some(person), End::Finished) = (person, end) {
        // To whoever asks for what is written elsewhere, the report is the last word.
        let is_early = ui::shows_to_person() && !output.post.dry_run;
        let mut show_early = |report: &Report| {
            if is_early {
                show(report, begun, output, sinks, End::Finished, environment)?;
                is_shown = true;
            }
            Ok(())
        };
        let table = Table { begun, environment, person, verbosity };
        match table.after_review(&mut report, &mut show_early)? {
            Talked::Ended => {}
            Talked::NotPublished => is_published = false,
            Talked::Left => end = End::Interrupted,
        }
    }
    Ok(Carried { report, end, is_shown, is_published, unkept, no_todos })
}

/// Reviews, shows the report, and says how that ended.
fn carry_out(
    begun: &Begun,
    output: &OutputArgs,
    sinks: &[Sink],
    by: (&Authority, Option<&Person>),
    environment: &Environment,
) -> Result<ExitCode, Failure> {
    let Carried { report, end, is_shown, is_published, unkept, no_todos } =
        carried(begun, output, sinks, by, environment)?;
    let (mut writes, mut deliveries) = (Vec::new(), Vec::new());
    let mut post = |place| {
        let delivery = match end {
            // Whoever stops a review does not want others to read it.
            End::Interrupted => Delivery::Failed(STOPPED.to_owned()),
            End::Finished => {
                posting::of_review(&report, begun, place, output.post, environment, &mut writes)
                    .unwrap_or_else(|failure| Delivery::Failed(format!("{:#}", failure.error)))
            }
        };
        deliveries.push(delivery.clone());
        delivery
    };
    let receipts = sinks::emit(&report, sinks, &mut |text| ui::result_line(text), &mut post);
    match output.post.dry_run {
        true => posted::show(&writes)?,
        false if is_shown => {}
        false => show(&report, begun, output, sinks, end, environment)?,
    }
    warn_of_silence(&report, begun, &deliveries, environment);
    for receipt in &receipts {
        if let Delivery::Failed(why) = &receipt.delivery {
            ui::warn(&format!("the report did not go to `{}`: {why}", receipt.sink));
        }
    }
    if let Some(folder) = begun.place.folder()
        && let Err(problem) = folder.store("stages/sinks.json", &receipts)
    {
        ui::warn(&problem.to_string());
    }
    if let Some(why) = &unkept {
        ui::warn(&format!("the report of the run does not say what was fixed: {why}"));
    }
    if let (Some(failure), Some(folder)) = (&no_todos, begun.place.folder()) {
        ui::warn(&format!("{}: {:#}", fixing::NO_TODOS, failure.error));
        failure.hint.iter().for_each(|hint| ui::note(hint));
        ui::note(&format!("{} writes them then", resume_command(folder, output)));
    }
    if report.status == Status::Error {
        ui::note(
            "nothing was reviewed: the report says why; `crh doctor` and `crh model check MODEL` say what works",
        );
    }
    ui::say_closing(&report);
    if let (End::Interrupted, Some(folder)) = (end, begun.place.folder()) {
        ui::note(&format!("{} goes on with it", resume_command(folder, output)));
    }
    let bar = Bar {
        fail_on: begun.settings.review_fail_on.value.mildest(),
        incomplete: match output.allow_incomplete {
            true => Incomplete::Passes,
            false => Incomplete::Fails,
        },
        asked: begun.terms.asked,
    };
    let outcome = Outcome::of(&report, outcome::worst_open(&report), bar, end);
    let is_undelivered =
        receipts.iter().any(|receipt| matches!(receipt.delivery, Delivery::Failed(_)));
    // Whoever waits for the report elsewhere must not take this for a good end.
    Ok(match outcome {
        Outcome::Passed
            if is_undelivered || !is_published || unkept.is_some() || no_todos.is_some() =>
        {
            Kind::Outside.exit_code()
        }
        outcome => outcome.exit_code(),
    })
}

/// In CI nobody looks at a terminal: what was found and posted nowhere is as good as not found.
fn warn_of_silence(report: &Report, begun: &Begun, posted: &[Delivery], environment: &Environment) {
    let is_posted = posted.iter().any(|delivery| match delivery {
        Delivery::Written | Delivery::Shown => true,
        Delivery::Failed(_) => false,
    });
    let is_pull = !report.change.pr_number.is_empty();
    if environment.variable(CI).is_some() && is_pull && !is_posted && !report.issues.is_empty() {
        let count = report.issues.len();
        let issues =
            if count == 1 { "1 issue was".to_owned() } else { format!("{count} issues were") };
        let (sink, place) = match begun.pull.as_ref().map(|pull| &pull.at) {
            Some(Forge::Launchpad { .. }) => ("launchpad", "merge proposal"),
            Some(Forge::GitHub { .. }) | None => ("github", "pull request"),
        };
        ui::warn(&format!(
            "{issues} found and posted nowhere; `--sink {sink}` posts them to the {place}, `crh post` does later"
        ));
    }
}

/// What goes on with a review that was stopped.
fn resume_command(folder: &RunFolder, output: &OutputArgs) -> String {
    match &output.run_dir {
        None => format!("`crh review --resume {}`", folder.run_id()),
        Some(_) => format!("`crh review --resume {}`", folder.path().display()),
    }
}

/// Prints the report as the user wants to see it. The sink `stdout` has printed it already.
fn show(
    report: &Report,
    begun: &Begun,
    output: &OutputArgs,
    sinks: &[Sink],
    end: End,
    environment: &Environment,
) -> Result<(), Failure> {
    if sinks.contains(&Sink::Stdout) {
        return Ok(());
    }
    let format = output.format.unwrap_or(match begun.terms.mode {
        Mode::Headless => FormatArg::Envelope,
        Mode::Interactive | Mode::Autofix | Mode::ReportOnly => FormatArg::Text,
    });
    if (format, end) == (FormatArg::Envelope, End::Interrupted) {
        return ui::result_text(&crh_review::render::stopped_envelope(report));
    }
    let beside = Beside { diff: Some(&begun.subject.diff), checkout: begun.checkout.as_deref() };
    ui::result_text(&render::rendered(report, beside, format, &begun.settings, environment)?)
}
