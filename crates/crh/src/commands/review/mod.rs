//! `crh review` and `crh check`: parses the request, runs the review, delivers the report, and
//! returns the exit code.

#[cfg(all(feature = "server", unix))]
pub(super) mod answer;
pub(super) mod checks;
mod description;
mod estimate;
#[cfg(all(feature = "server", unix))]
pub(super) mod fix_check;
pub(crate) mod fixing;
mod naming;
mod outcome;
pub(super) mod panel;
mod posting;
mod progress;
mod recovery;
mod remaining_work;
mod reopened;
mod repeat;
pub(super) mod resolved_change;
mod resumed;
mod resumed_run;
pub(super) mod reviewers;
mod run_location;
mod runner;
pub(crate) mod session;
pub(super) mod since;
pub(crate) mod terms;
mod untracked;

use std::path::PathBuf;
use std::process::ExitCode;

use self::description::TitleAndBody;
use self::fixing::Questions;
use self::outcome::{ExitRules, IncompletePolicy, Outcome, ReviewEnding};
use self::progress::Progress;
use self::recovery::TreeAccess;
use self::remaining_work::RemainingWork;
pub(super) use self::reopened::{ReopenRequest, reopened};
use self::runner::EndedReview;
use self::session::{
    PostDestination, ReopenPurpose, ReviewRequest, ReviewSession, StaleApprovals, StoragePolicy,
};
use self::since::ReviewExtent;
use self::untracked::UntrackedAnswer;
use super::forge::posting_messages::{check_sinks, sink_hint};
use super::forge::{ExpectedHead, PullRequestLookup, posting_messages};
use super::github::{Audience, SkipRules};
use super::models::ModelLoading;
use super::render::RenderContext;
use super::{change_source, launchpad, render, watch};
use crate::cli::{
    CacheFlags, CheckArgs, FormatArg, ModeArg, OutputArgs, PanelArgs, PostFlags, PromptArgs,
    ReviewArgs, SarifFlags, TargetArgs, TrustArgs, WorkspaceArgs,
};
use crate::config::environment::{CI, Environment};
use crate::config::key::SettingOrigin;
use crate::config::keys::{RawSettings, Settings};
use crate::config::models::ModelChoice;
use crate::failure;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::fix::edit_authority::EditAuthority;
use crate::interactive::{ConversationEnd, QuestionContext};
use crate::ui::questions::TerminalPrompt;
use crate::{interactive, ui};
use crh_pipeline::resolve::UntrackedPolicy;
use crh_pipeline::run_folder::RunFolder;
use crh_pipeline::sinks::{ForgeName, ForgeSink, PostKind, ReportSink, SinkDelivery};
use crh_pipeline::{sinks, target_args};
use crh_review::report::{Report, ReviewMode, Status};
use crh_review::verdict::CommandKind;

/// Why a stopped review is not posted.
const STOPPED: &str = "the review was stopped; `crh post RUN` posts the findings so far";

/// Arguments that `crh review`, `crh check` and `crh demo` share.
pub(super) struct ReviewCommand {
    pub(super) kind: CommandKind,
    pub(super) target: TargetArgs,
    /// File with the title and body of the change.
    pub(super) description: Option<PathBuf>,
    pub(super) prepared: WorkspaceArgs,
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
    args.display.set(&mut flags);
    if args.watch {
        ui::set_verbosity(args.output.verbosity.verbosity());
        return watch::run(args.target, flags, environment);
    }
    let command = ReviewCommand {
        kind: CommandKind::Review,
        target: args.target,
        description: args.description,
        prepared: args.workspace,
        estimate: args.estimate,
        output: args.output,
        panel: args.panel,
        prompts: args.prompts,
        trust: args.trust,
        sarif: args.sarif,
        cache: args.cache,
        flags,
        questions: Questions::AtTerminal,
    };
    run(command, environment)
}

pub(super) fn check(args: CheckArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let mut flags = RawSettings::default();
    args.verdict.set(&mut flags);
    args.issue_limit.set(&mut flags);
    args.analysers.set(&mut flags);
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    args.display.set(&mut flags);
    let command = ReviewCommand {
        kind: CommandKind::Checks,
        target: args.target,
        description: None,
        prepared: args.workspace,
        estimate: false,
        output: args.output,
        panel: PanelArgs::default(),
        prompts: PromptArgs::default(),
        trust: args.trust,
        sarif: args.sarif,
        cache: args.cache,
        flags,
        questions: Questions::Never,
    };
    run(command, environment)
}

pub(super) fn run(command: ReviewCommand, environment: &Environment) -> Result<ExitCode, Failure> {
    let is_answered_to_program = is_answered_to_program(&command, environment);
    let outcome = prepare_and_run(command, environment);
    if let (Err(failure), true) = (&outcome, is_answered_to_program) {
        ui::result_text(&headless_failure(failure))?;
    }
    outcome
}

/// Whether the output is for a program, which expects errors on standard output.
fn is_answered_to_program(command: &ReviewCommand, environment: &Environment) -> bool {
    let ReviewCommand { target, prepared, output, .. } = command;
    let is_typed = target.mode.contains(&ModeArg::Headless)
        || target.words.iter().any(|word| word == "mode:headless");
    let has_mode = !target.mode.is_empty() || target.words.iter().any(|it| it.starts_with("mode:"));
    let resumed_run = prepared.resume.as_deref().filter(|_| !has_mode);
    let resumed_mode =
        resumed_run.and_then(|run| resumed::mode(run, output.run_dir.as_deref(), environment));
    let is_envelope = output.format.is_none_or(|format| format == FormatArg::Envelope);
    is_envelope && (is_typed || resumed_mode == Some(ReviewMode::Headless))
}

/// The error as one line for programs. Some errors have the required form already.
fn headless_failure(failure: &Failure) -> String {
    let reason = format!("{:#}", failure.error);
    let reason = reason.strip_prefix("Review failed (headless mode). Reason: ").unwrap_or(&reason);
    let end = if reason.ends_with('.') { "" } else { "." };
    crh_review::render::failure_line(&format!("{reason}{end}"))
}

fn parse_sinks(sinks: &[String]) -> Result<Vec<ReportSink>, Failure> {
    let sinks = sinks.iter().map(|sink| sink.parse::<ReportSink>());
    sinks.collect::<Result<_, _>>().or_fail(FailureKind::Usage)
}

fn prepare_and_run(command: ReviewCommand, environment: &Environment) -> Result<ExitCode, Failure> {
    let ReviewCommand { kind, target, prepared, estimate, output, .. } = command;
    let ReviewCommand { description, panel, prompts, trust, sarif, questions, .. } = command;
    let mut flags = command.flags;
    ui::set_verbosity(output.verbosity.verbosity());
    check_repo_flag(&prepared)?;
    let estimate_format = estimate.then(|| estimate::estimate_format(output.format)).transpose()?;
    let sinks = parse_sinks(&output.sink)?;
    let posts = posts(&sinks, output.post)?;
    let _temporary_store = command.cache.temporary_store(&mut flags)?;
    let include_untracked = target.include_untracked;
    let extent = ReviewExtent::from_flag(target.since_last);
    let head = target.head.as_deref().map(ExpectedHead::parse).transpose()?;
    let pull_lookup = PullRequestLookup::from_no_pr_flag(target.no_pr);
    let rules = SkipRules::from_no_skip_flag(target.no_skip, audience(posts, environment));
    let parsed = change_source::parse_target(target, &mut flags, environment)?;
    let untracked = change_source::untracked_policy(include_untracked, &parsed.target)?;
    let run = prepared.resume.as_deref().filter(|_| parsed.mode.is_none());
    let resumed_mode =
        run.and_then(|run| resumed::mode(run, output.run_dir.as_deref(), environment));
    let timing = fixing::safe_fix_timing(parsed.mode);
    let mode = resumed_mode.unwrap_or_else(|| mode(parsed.mode));
    let authority = fixing::authority(mode, timing, posts, questions);
    fixing::note_missing_terminal(timing, &authority, prepared.resume.as_deref(), questions);
    let may_ask =
        !estimate && resumed_mode.is_none() && matches!(authority, EditAuthority::AsAsked(_));
    let untracked = match untracked {
        UntrackedPolicy::Listed if may_ask => match untracked::ask(&parsed.target, environment)? {
            UntrackedAnswer::Review(policy) => policy,
            UntrackedAnswer::Stop => return Ok(ExitCode::from(ui::INTERRUPTED)),
        },
        untracked => untracked,
    };
    let request = ReviewRequest {
        command: kind,
        parsed_target: parsed,
        description: description.map(|file| TitleAndBody::load(&file, environment)).transpose()?,
        pull_lookup,
        posts,
        stale_approvals: stale_approvals(&sinks, output.post, estimate),
        rules,
        extent,
        head,
        untracked,
        mode,
        prepared,
        panel,
        prompts,
        trust,
        sarif,
        flags,
        reopen_purpose: ReopenPurpose::Reviewing,
        loading: ModelLoading::from_estimate_flag(estimate),
        tree: if estimate { TreeAccess::Stays } else { TreeAccess::from_authority(&authority) },
        kept: storage_policy(mode, estimate),
        run_dir: output.run_dir.clone(),
    };
    let session = match request.begin(environment) {
        Err(failure) if failure.kind == FailureKind::Skipped && output.allow_incomplete => {
            ui::warn(&format!("{:#}", failure.error));
            return Ok(ExitCode::SUCCESS);
        }
        session => session?,
    };
    if let Some(format) = estimate_format {
        return estimate::print_estimate(&session, format).map(|()| ExitCode::SUCCESS);
    }
    let authority = fixing::unless_half_done(authority, &session);
    let asks = matches!(authority, EditAuthority::AsAsked(_));
    let person = asks.then(|| interactive::person(&session, environment)).flatten();
    run_review(&session, &output, &sinks, (&authority, person.as_ref()), environment)
}

fn storage_policy(mode: ReviewMode, estimate: bool) -> StoragePolicy {
    match estimate || mode == ReviewMode::ReportOnly {
        true => StoragePolicy::Nothing,
        false => StoragePolicy::Run,
    }
}

/// Who reads the review.
fn audience(posts: PostDestination, environment: &Environment) -> Audience {
    match (posts, environment.variable(CI)) {
        (PostDestination::Nothing, None) => Audience::OnePerson,
        (PostDestination::Nothing, Some(_)) | (PostDestination::To(_), _) => Audience::Others,
    }
}

/// Where the review is posted. Fails if a posting option is given without a sink that posts.
fn posts(sinks: &[ReportSink], flags: PostFlags) -> Result<PostDestination, Failure> {
    let posting_flags = [
        ("--request-changes", flags.request_changes),
        ("--allow-approve", flags.allow_approve),
        ("--resolve-outdated", flags.resolve_outdated),
        ("--dry-run", flags.dry_run),
    ];
    let places = sinks.iter().filter_map(|sink| match sink {
        ReportSink::Forge(place) => Some(*place),
        ReportSink::Stdout | ReportSink::File(_) => None,
    });
    let places: Vec<ForgeSink> = places.collect();
    check_sinks(&places)?;
    let forge = places.first().map(|sink| sink.forge);
    if forge == Some(ForgeName::Launchpad) {
        launchpad::check_flags(flags)?;
    }
    match (forge, posting_flags.iter().find(|(_, is_given)| *is_given)) {
        (Some(forge), _) => Ok(PostDestination::To(forge)),
        (None, None) => Ok(PostDestination::Nothing),
        (None, Some((flag, _))) => {
            Err(Failure::usage(format!("`{flag}` needs a sink that posts"))
                .hint(sink_hint(|_| true)))
        }
    }
}

/// Whether to withdraw stale approvals. Only a sink that posts whole reviews may change votes.
fn stale_approvals(sinks: &[ReportSink], flags: PostFlags, estimate: bool) -> StaleApprovals {
    let is_vote = |sink: &ReportSink| match sink {
        ReportSink::Forge(place) => place.kind == PostKind::Review,
        ReportSink::Stdout | ReportSink::File(_) => false,
    };
    match sinks.iter().any(is_vote) && !flags.dry_run && !estimate {
        true => StaleApprovals::Withdrawn,
        false => StaleApprovals::Kept,
    }
}

/// Fails if `--repo` would be ignored.
fn check_repo_flag(prepared: &WorkspaceArgs) -> Result<(), Failure> {
    match prepared {
        WorkspaceArgs { repo: Some(_), workspace: None, resume: None, .. } => {
            Err(Failure::usage("`--repo` needs `--workspace` or `--resume`")
                .hint("to review another repository, run crh in it"))
        }
        WorkspaceArgs { .. } => Ok(()),
    }
}

fn mode(requested: Option<target_args::RequestedMode>) -> ReviewMode {
    match requested {
        None | Some(target_args::RequestedMode::Interactive) => ReviewMode::Interactive,
        Some(target_args::RequestedMode::ReportOnly) => ReviewMode::ReportOnly,
        Some(target_args::RequestedMode::Headless) => ReviewMode::Headless,
        Some(target_args::RequestedMode::Autofix) => ReviewMode::Autofix,
    }
}

/// A finished review with the user's decisions.
struct FinishedReview {
    report: Report,
    end: ReviewEnding,
    /// Whether the report was shown before the questions.
    is_shown: bool,
    /// False if publishing failed.
    is_published: bool,
    /// Errors while storing parts of the run.
    write_problems: Vec<String>,
    /// Why the run folder could not be updated.
    store_error: Option<String>,
    /// Why todo files could not be written.
    todo_error: Option<Failure>,
}

/// Reviews, fixes and asks. Skips steps that an earlier attempt has finished.
fn run_steps(
    session: &ReviewSession,
    output: &OutputArgs,
    sinks: &[ReportSink],
    (authority, person): (&EditAuthority, Option<&TerminalPrompt>),
    environment: &Environment,
) -> Result<FinishedReview, Failure> {
    let verbosity = output.verbosity.verbosity();
    let EndedReview { mut report, mut end, write_problems } =
        match RemainingWork::find(session, person)? {
            RemainingWork::Nothing(report) => {
                return Ok(FinishedReview {
                    report,
                    end: ReviewEnding::Finished,
                    is_shown: false,
                    is_published: true,
                    write_problems: Vec::new(),
                    store_error: None,
                    todo_error: None,
                });
            }
            RemainingWork::Rest(report) => {
                EndedReview { report, end: ReviewEnding::Finished, write_problems: Vec::new() }
            }
            RemainingWork::Review => {
                Progress::begin_anew(session);
                runner::review(session, person, verbosity, environment)?
            }
        };
    let (mut store_error, mut todo_error) = (None, None);
    if end == ReviewEnding::Finished {
        let ended = fixing::fix(session, &mut report, authority, verbosity, environment);
        (end, store_error, todo_error) = (ended.end, ended.store_error, ended.todo_error);
    }
    let (mut is_shown, mut is_published) = (false, true);
    if let (Some(person), EditAuthority::AsAsked(safe_fixes), ReviewEnding::Finished) =
        (person, authority, end)
    {
        // If the output is redirected, the report is written once, at the end.
        let is_early = ui::stdout_is_terminal() && !output.post.dry_run;
        let mut show_early = |report: &Report| {
            if is_early {
                show(report, session, output, sinks, ReviewEnding::Finished, environment)?;
                is_shown = true;
            }
            Ok(())
        };
        let questions =
            QuestionContext { session, environment, person, safe_fixes: *safe_fixes, verbosity };
        match questions.after_review(&mut report, &mut show_early)? {
            ConversationEnd::Ended => {}
            ConversationEnd::NotPublished => is_published = false,
            ConversationEnd::Left => end = ReviewEnding::Interrupted,
        }
    }
    Ok(FinishedReview {
        report,
        end,
        is_shown,
        is_published,
        write_problems,
        store_error,
        todo_error,
    })
}

/// Reviews, shows the report, and returns the exit code.
#[expect(clippy::too_many_lines, reason = "one step after the other")]
fn run_review(
    session: &ReviewSession,
    output: &OutputArgs,
    sinks: &[ReportSink],
    authority_and_person: (&EditAuthority, Option<&TerminalPrompt>),
    environment: &Environment,
) -> Result<ExitCode, Failure> {
    let FinishedReview {
        report,
        end,
        is_shown,
        is_published,
        mut write_problems,
        store_error,
        todo_error,
    } = run_steps(session, output, sinks, authority_and_person, environment)?;
    let has_ended = end == ReviewEnding::Finished && store_error.is_none() && todo_error.is_none();
    if let (true, Some(folder)) = (has_ended, session.place.folder())
        && let Err(problem) = runner::complete(folder, environment)
    {
        write_problems.push(problem.to_string());
    }
    let (mut writes, mut deliveries) = (Vec::new(), Vec::new());
    let mut post = |place| {
        let delivery = match end {
            // The user who stops a review does not want to publish it.
            ReviewEnding::Interrupted => SinkDelivery::Failed(STOPPED.to_owned()),
            ReviewEnding::Finished => {
                posting::of_review(&report, session, place, output.post, environment, &mut writes)
                    .unwrap_or_else(|failure| SinkDelivery::Failed(format!("{:#}", failure.error)))
            }
        };
        deliveries.push(delivery.clone());
        delivery
    };
    let receipts = sinks::emit(&report, sinks, &mut |text| ui::result_line(text), &mut post);
    match output.post.dry_run {
        true => posting_messages::print_dry_run(&writes)?,
        false if is_shown => {}
        false => show(&report, session, output, sinks, end, environment)?,
    }
    warn_if_not_posted(&report, session, &deliveries, environment);
    for receipt in &receipts {
        if let SinkDelivery::Failed(why) = &receipt.delivery {
            ui::error(&format!("cannot deliver the report to `{}`: {why}", receipt.sink));
        }
    }
    if let Some(folder) = session.place.folder()
        && let Err(problem) = folder.store("stages/sinks.json", &receipts)
    {
        ui::warn(&problem.to_string());
    }
    if let Some(problem) = write_problems.first() {
        ui::error(&format!("the run is not stored completely: {problem}"));
    }
    if let Some(why) = &store_error {
        ui::error(&format!("the stored report does not contain the fixes: {why}"));
    }
    if let (Some(failure), Some(folder)) = (&todo_error, session.place.folder()) {
        ui::error(&format!("{}: {:#}", fixing::NO_TODOS, failure.error));
        failure.hint.iter().for_each(|hint| ui::note(hint));
        ui::note(&format!("run {} to write them", resume_command(folder, output, session)));
    }
    if report.status == Status::Error {
        // A model may report findings and mark no file.
        let what = match report.has_model_findings() {
            true => "no file was marked as reviewed",
            false => "no model reviewed the change",
        };
        ui::note(&format!(
            "{what}, see the report; `crh doctor` and `crh model check MODEL` test your setup"
        ));
    }
    ui::print_summary(&report);
    if let (ReviewEnding::Interrupted, Some(folder)) = (end, session.place.folder()) {
        ui::note(&format!("resume with {}", resume_command(folder, output, session)));
    }
    let exit_rules = ExitRules {
        fail_on: session.settings.review_fail_on.value.threshold(),
        incomplete: match output.allow_incomplete {
            true => IncompletePolicy::Passes,
            false => IncompletePolicy::Fails,
        },
        command: session.terms.command,
    };
    let worst = outcome::worst_open(&report);
    let outcome = Outcome::decide(&report, worst, exit_rules, end);
    if let (Outcome::Failed, Some(worst)) = (outcome, worst)
        && let Some(reason) =
            outcome::exit_reason(report.verdict, worst, &session.settings.review_fail_on)
    {
        ui::note(&reason);
    }
    let is_undelivered =
        receipts.iter().any(|receipt| matches!(receipt.delivery, SinkDelivery::Failed(_)));
    // A missing delivery must not look like success.
    Ok(match outcome {
        Outcome::Passed
            if is_undelivered
                || !is_published
                || !write_problems.is_empty()
                || store_error.is_some()
                || todo_error.is_some() =>
        {
            failure::exit_code(FailureKind::External)
        }
        outcome => outcome.exit_code(),
    })
}

/// Warns in CI if the review found issues and did not post them, so that they do not go unnoticed.
fn warn_if_not_posted(
    report: &Report,
    session: &ReviewSession,
    posted: &[SinkDelivery],
    environment: &Environment,
) {
    let is_posted = posted.iter().any(|delivery| match delivery {
        SinkDelivery::Written | SinkDelivery::DryRun => true,
        SinkDelivery::Failed(_) => false,
    });
    let is_pull = !report.change.pr_number.is_empty();
    if environment.variable(CI).is_some() && is_pull && !is_posted && !report.issues.is_empty() {
        let count = report.issues.len();
        let issues =
            if count == 1 { "1 issue was".to_owned() } else { format!("{count} issues were") };
        let advice = match &session.pull {
            Some(pull) => {
                let (sink, place) = (pull.forge.name().name(), pull.word());
                format!("add `--sink {sink}` to post to the {place}, or run `crh post` later")
            }
            // The review of a packed change has no token.
            None => "run `crh post` later".to_owned(),
        };
        ui::warn(&format!("{issues} found but not posted; {advice}"));
    }
}

/// The command that resumes the run. It repeats the models from flags, because crh does not send
/// the code to other models than before.
fn resume_command(folder: &RunFolder, output: &OutputArgs, session: &ReviewSession) -> String {
    let run = match &output.run_dir {
        None => ui::shell_word(&folder.run_id()),
        Some(_) => ui::shell_path(folder.path()),
    };
    format!("`crh review --resume {run}{}`", model_flags(&session.settings))
}

/// The flags of the command line that name models: ` --model openai:gpt-5.4`.
fn model_flags(settings: &Settings) -> String {
    let models = [
        &settings.model_reviewer,
        &settings.model_cheap,
        &settings.model_escalation,
        &settings.model_editor,
    ];
    let flags = models.into_iter().filter_map(|model| match (&model.value, &model.origins[..]) {
        (ModelChoice::Named(name), [SettingOrigin::Flag(flag)]) => {
            Some(format!(" {flag} {}", ui::shell_word(&name.to_string())))
        }
        (ModelChoice::Named(_) | ModelChoice::Detected, _) => None,
    });
    // `--model` sets several roles, and crh accepts each flag once.
    let mut unique_flags: Vec<String> = Vec::new();
    for flag in flags {
        if !unique_flags.contains(&flag) {
            unique_flags.push(flag);
        }
    }
    unique_flags.concat()
}

/// Prints the report in the requested format. Does nothing if the sink `stdout` printed it.
fn show(
    report: &Report,
    session: &ReviewSession,
    output: &OutputArgs,
    sinks: &[ReportSink],
    end: ReviewEnding,
    environment: &Environment,
) -> Result<(), Failure> {
    if sinks.contains(&ReportSink::Stdout) {
        return Ok(());
    }
    let format = output.format.unwrap_or(match session.terms.mode {
        ReviewMode::Headless => FormatArg::Envelope,
        ReviewMode::Interactive | ReviewMode::Autofix | ReviewMode::ReportOnly => FormatArg::Text,
    });
    if (format, end) == (FormatArg::Envelope, ReviewEnding::Interrupted) {
        return ui::result_text(&crh_review::render::stopped_envelope(report));
    }
    let context = RenderContext {
        diff: Some(&session.subject.diff),
        checkout: session.checkout.as_deref(),
        listed: render::listed_findings(output.all),
    };
    let text = render::render_report(report, context, format, &session.settings, environment)?;
    render::print_rendered(&text, format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::config::key::SourcedValue;

    #[test]
    fn resume_command_repeats_the_models_of_flags() {
        let model = |name: &str| ModelChoice::parse(name).unwrap();
        let flags = RawSettings {
            model_reviewer: Some(SourcedValue::from_flag("--model", model("openai:gpt-5.4"))),
            model_editor: Some(SourcedValue::from_flag("--editor-model", model("openai:gpt-6"))),
            ..RawSettings::default()
        };
        let environment = Environment::new(PathBuf::new(), []);
        let settings = |flags| config::load(&environment, None, flags).unwrap();
        let one = || Some(SourcedValue::from_flag("--model", model("openai:gpt-5.4")));
        let all_roles = RawSettings {
            model_reviewer: one(),
            model_cheap: one(),
            model_escalation: one(),
            model_editor: one(),
            ..RawSettings::default()
        };
        assert_eq!(model_flags(&settings(all_roles)), " --model openai:gpt-5.4");
        let repeated = model_flags(&settings(flags));
        assert_eq!(repeated, " --model openai:gpt-5.4 --editor-model openai:gpt-6");
        assert_eq!(model_flags(&settings(RawSettings::default())), "");
    }
}
