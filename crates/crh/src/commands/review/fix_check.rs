//! `crh serve-check-fix`: runs the static checks on a packed change in which a fix replaces the
//! text of one file. `crh serve` runs this command without secrets before it commits or suggests a
//! fix.

use serde::Serialize;

use super::session::ReviewRequest;
use crate::cli::CheckFixArgs;
use crate::config::environment::Environment;
use crate::config::key::SourcedValue;
use crate::config::keys::RawSettings;
use crate::config::review::StrategyChoice;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_pipeline::checks;
use crh_review::finding::{Member, Severity};
use crh_review::stable_json;

/// What `crh serve-check-fix` prints.
#[derive(Debug, Serialize)]
struct FixCheck {
    /// The first finding of P0 or P1 that the fix introduces.
    objection: Option<FixProblem>,
}

#[derive(Debug, Serialize)]
struct FixProblem {
    title: String,
    file: String,
    line: Option<u32>,
    rule: String,
}

pub(in crate::commands) fn run(
    args: CheckFixArgs,
    environment: &Environment,
) -> Result<(), Failure> {
    let text = input::bytes(&environment.folder.join(&args.text))?;
    // Use no model, even if the settings name one.
    let strategy = SourcedValue::from_flag("--strategy", StrategyChoice::Static);
    let flags = RawSettings { review_strategy: Some(strategy), ..RawSettings::default() };
    let session = ReviewRequest::from_archive(args.packed, flags).begin(environment)?;
    let no_files = || Failure::usage("the archive has only a diff").hint("pack a pull request");
    let (bare, head) = session.files.as_ref().ok_or_else(no_files)?;
    let fixed = bare
        .commit_with_changes(head, &[(args.path.as_str(), Some(&text))])
        .or_fail(FailureKind::External)?;
    let found = checks::check_fix(&session.subject, &session.checks, bare, head, &fixed)
        .or_fail(FailureKind::External)?;
    let serious = found
        .into_iter()
        .find(|member| matches!(member.finding.severity, Severity::P0 | Severity::P1));
    let printed = FixCheck { objection: serious.map(objection) };
    ui::result_text(&session.redactor.redact(&stable_json(&printed).or_fail(FailureKind::Bug)?))
}

fn objection(member: Member) -> FixProblem {
    let Member { finding, rule, reviewer, .. } = member;
    FixProblem {
        title: finding.title,
        file: finding.file,
        line: finding.line_start.map(u32::from),
        rule: rule.unwrap_or(reviewer),
    }
}
