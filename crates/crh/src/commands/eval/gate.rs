//! `crh eval gate`: fails if reviews have become worse than a baseline.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;

use super::host::CommandHost;
use super::{exit_code, review_batch, stored, suite_choice};
use crate::cli::{ArmChoice, EvalGateArgs, EvalReviewArgs, SuiteArgs};
use crate::config::environment::Environment;
use crate::config::review::BudgetChoice;
use crate::failure::Failure;
use crate::ui;
use crh_eval::{EvalEnding, GateResult, OpenedSuite, ReviewBatch, endings, rule, write_baseline};
use crh_review::eval::{About, Evaluation, Rule};

/// Folders of baselines, recordings and case lists, relative to the current folder. Each file is
/// named after its strategy.
const BASELINES: &str = "eval/baselines";
const RECORDINGS: &str = "eval/recordings";
const CASE_LISTS: &str = "eval/cases";

/// Placeholder in a command if the model of the baseline is unknown.
const ANY_MODEL: &str = "MODEL";

/// One comparison with a baseline.
struct BaselineCheck {
    suite: SuiteArgs,
    review: EvalReviewArgs,
    baseline: PathBuf,
    rule: Option<Rule>,
    result: Option<PathBuf>,
    write_baseline: bool,
    /// Arguments that select the baseline. Empty if `--strategy` selects it.
    baseline_args: Vec<String>,
    /// Model and budget of the baseline; empty if there is none.
    about: About,
    /// Where the recording of the strategy should be, if there is none.
    missing_recording: Option<PathBuf>,
}

pub(super) fn run(args: &EvalGateArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    ui::set_verbosity(args.review.verbosity.verbosity());
    match (&args.baseline, args.review.strategy) {
        (Some(baseline), _) => BaselineCheck::new(args, baseline, environment).run(environment),
        (None, Some(arm)) => BaselineCheck::for_arm(args, arm, environment).run(environment),
        (None, None) => run_all(args, environment),
    }
}

/// Checks every strategy that has a baseline.
fn run_all(args: &EvalGateArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let has_baseline =
        |arm: &ArmChoice| environment.folder.join(arm_file(BASELINES, *arm, "json")).is_file();
    let arms: Vec<ArmChoice> = ArmChoice::ALL.into_iter().filter(has_baseline).collect();
    if args.write_baseline {
        return Err(Failure::usage("`--write-baseline` needs a strategy")
            .hint("pass `--strategy`, or `--baseline FILE` for a baseline elsewhere"));
    }
    if arms.is_empty() {
        return Err(Failure::usage(format!("no baseline in `{BASELINES}`")).hint(
            "write one with `crh eval gate --strategy static --write-baseline`, or pass `--baseline FILE` for a baseline elsewhere",
        ));
    }
    let mut worst = ExitCode::SUCCESS;
    for arm in arms {
        ui::result_text(&format!("strategy {}\n", arm.name()))?;
        let code = BaselineCheck::for_arm(args, arm, environment).run(environment)?;
        // A regression counts more than a missing case.
        if worst == ExitCode::SUCCESS || code == ExitCode::from(1) {
            worst = code;
        }
    }
    Ok(worst)
}

/// A file of a strategy, relative to the current folder.
fn arm_file(folder: &str, arm: ArmChoice, extension: &str) -> PathBuf {
    Path::new(folder).join(format!("{}.{extension}", arm.name()))
}

impl BaselineCheck {
    fn new(args: &EvalGateArgs, baseline: &Path, environment: &Environment) -> Self {
        let stored = stored(baseline, None, environment).ok();
        Self {
            suite: args.suite.clone(),
            review: args.review.clone(),
            baseline: baseline.to_owned(),
            rule: args.match_args.rule(),
            result: args.result.clone(),
            write_baseline: args.write_baseline,
            baseline_args: vec!["--baseline".to_owned(), ui::shell_path(baseline)],
            about: stored.map(|evaluation| evaluation.about).unwrap_or_default(),
            missing_recording: None,
        }
    }

    /// Uses the baseline, the recording and the case list of a strategy, and the baseline's budget.
    fn for_arm(args: &EvalGateArgs, arm: ArmChoice, environment: &Environment) -> Self {
        let mut gate = Self::new(args, &arm_file(BASELINES, arm, "json"), environment);
        gate.baseline_args.clear();
        gate.review.strategy = Some(arm);
        let existing = |folder: &str, extension: &str| {
            let file = arm_file(folder, arm, extension);
            environment.folder.join(&file).is_file().then_some(file)
        };
        if arm != ArmChoice::Static {
            match existing(RECORDINGS, "jsonl") {
                Some(recording) => {
                    let model = format!("replay:{}", recording.display());
                    gate.review.model.set_default_model(model);
                }
                None => gate.missing_recording = Some(arm_file(RECORDINGS, arm, "jsonl")),
            }
        }
        if gate.suite.cases.is_empty() && gate.suite.case_list.is_none() {
            gate.suite.case_list = existing(CASE_LISTS, "txt");
        }
        let budget = <BudgetChoice as ValueEnum>::from_str(&gate.about.budget, false);
        if let Ok(budget) = budget {
            gate.review.effort.set_default_budget(budget);
        }
        gate
    }

    fn run(&self, environment: &Environment) -> Result<ExitCode, Failure> {
        let before = match self.write_baseline {
            true => None,
            // Read the baseline before any model is paid.
            false => Some(self.stored_baseline(environment)?),
        };
        let mut host = CommandHost::new(environment, self.review.verbosity.verbosity());
        let after = match &self.result {
            Some(result) => stored(result, self.rule, environment)?,
            None => {
                let evaluated = review_batch::reviewers(&self.review)?;
                let choice = suite_choice(&self.suite, environment)?;
                let opened = OpenedSuite::new(&choice, &evaluated, &host)?;
                host = host.inside(opened.folders());
                let no_model = || self.no_model_failure();
                let reviews =
                    review_batch::open(&self.review, &evaluated, environment, &host, no_model)?;
                if let Some(prompts) = reviews.outdated_prompts() {
                    let now = &reviews.prompt_version;
                    let why = format!("it was made with the prompts `{prompts}`, now `{now}`");
                    return self.report_outdated_recording(&reviews, &why);
                }
                let repeats = self.review.repeat.get();
                let rule = rule(self.rule, &opened, reviews.arm, &host)?;
                let (evaluation, end) = opened.review(&reviews, repeats, rule, None, &host)?;
                if end == EvalEnding::Interrupted {
                    return Ok(ui::interrupted());
                }
                match reviews.unrecorded_count() {
                    0 => {}
                    1 => {
                        return self.report_outdated_recording(&reviews, "1 question is not in it");
                    }
                    count => {
                        let why = format!("{count} questions are not in it");
                        return self.report_outdated_recording(&reviews, &why);
                    }
                }
                evaluation
            }
        };
        let Some(before) = before else {
            let path = environment.folder.join(&self.baseline);
            write_baseline(&path, after)?;
            ui::note(&format!("wrote {}", environment.display_path(&path)));
            return Ok(ExitCode::SUCCESS);
        };
        let result = GateResult::new(&before, &after, &host)?;
        ui::result_text(&crh_review::escape_invisible(&result.text))?;
        Ok(match result.has_regression {
            true => ExitCode::from(1),
            false => exit_code(endings(&after)),
        })
    }

    /// The baseline. If its file does not exist, the hint is the command that writes it.
    fn stored_baseline(&self, environment: &Environment) -> Result<Evaluation, Failure> {
        let is_missing = !environment.folder.join(&self.baseline).exists();
        stored(&self.baseline, self.rule, environment).map_err(|failure| match self.review.strategy {
            Some(arm) if is_missing => failure.hint(format!(
                "write it with `crh eval gate --strategy {} --write-baseline`, or pass `--baseline FILE` for a baseline elsewhere",
                arm.name()
            )),
            None if is_missing => failure.hint(format!(
                "pass the `eval.json` of `crh eval run`, or write it with `crh eval gate --baseline {} --strategy static --write-baseline`",
                ui::shell_path(&self.baseline)
            )),
            Some(_) | None => failure,
        })
    }

    /// The failure if no model is configured.
    fn no_model_failure(&self) -> Failure {
        let (Some(recording), Some(arm)) = (&self.missing_recording, self.review.strategy) else {
            return review_batch::no_model_failure();
        };
        let recording = ui::shell_path(recording);
        let message = format!("no recording {recording}, and no model is configured");
        Failure::usage(message).hint(format!(
            "make the recording with `crh eval run --strategy {} --model MODEL --record {recording}`, or pass `--model MODEL`",
            arm.name()
        ))
    }

    /// Prints that a recording is out of date, and how to renew it.
    fn report_outdated_recording(
        &self,
        reviews: &ReviewBatch,
        why: &str,
    ) -> Result<ExitCode, Failure> {
        let recording = reviews.recording.as_deref().map(ui::shell_path).unwrap_or_default();
        let command = self.renewing_command(reviews, &recording);
        ui::result_text(&crh_review::escape_invisible(&format!(
            "worse: the recording {recording} is out of date: {why}\n  renew it with: {command}\n"
        )))?;
        Ok(ExitCode::from(1))
    }

    /// The commands that record the reviews again and write the baseline.
    fn renewing_command(&self, reviews: &ReviewBatch, recording: &str) -> String {
        let mut common: Vec<String> =
            self.suite.suite.iter().map(|suite| ui::shell_path(suite)).collect();
        common.extend(["--strategy".to_owned(), reviews.arm.name()]);
        if let Some(file) = &self.suite.case_list {
            common.extend(["--case-list".to_owned(), ui::shell_path(file)]);
        }
        for glob in &self.suite.cases {
            common.extend(["--case".to_owned(), ui::shell_path(Path::new(glob))]);
        }
        if !self.review.reviewers.is_empty() {
            common.extend([
                "--reviewers".to_owned(),
                ui::shell_word(&self.review.reviewers.join(",")),
            ]);
        }
        let budget = reviews.budget().split('+').next().unwrap_or_default();
        common.extend(["--budget".to_owned(), budget.to_owned()]);
        let common = common.join(" ");
        // A baseline of several models does not say which role each of them had.
        let model = match self.about.model.as_str() {
            "" => ANY_MODEL,
            several if several.contains('+') => ANY_MODEL,
            model => model,
        };
        let model = ui::shell_word(model);
        let mut gate = self.baseline_args.join(" ");
        if !gate.is_empty() {
            gate = format!(" --model replay:{recording} {gate}");
        }
        format!(
            "crh eval run {common} --model {model} --record {recording} && crh eval gate {common}{gate} --write-baseline"
        )
    }
}
