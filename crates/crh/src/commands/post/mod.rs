//! `crh post`: posts the review of a stored run. The target comes from flags or CI, never from the
//! run: the job that made the run has read untrusted text.

mod event;
mod launchpad;

use std::collections::BTreeSet;
use std::process::ExitCode;

use secrecy::SecretString;
use serde_json::Value;

use self::event::CiEvent;
use super::forge::posting::{HeadFiles, PostRequest, PostResult, refusal_failure};
use super::forge::posting_messages::{check_sinks, sink_hint};
use super::forge::{ExpectedHead, Forge, PullRequestLookup, posting_messages};
use super::github::GitHubSession;
use super::models::ModelResolver;
use super::rest_session::RestSession;
use super::review::session::BASIS;
use super::review::since::{INCREMENTAL_BASE, IncrementalBase};
use super::{dismiss, forge, github, interrupts, rest_forge, run_lookup, store};
use crate::cli::PostArgs;
use crate::config::environment::{Environment, GITHUB_VARIABLES};
use crate::config::keys::{RawSettings, Settings};
use crate::failure;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, fix, input, ui};
use crh_forge::github::{GitHubHost, PullRequestRef, Repo};
use crh_forge::posting::{PostingOutcome, ReviewBasis};
use crh_git::{BareRepository, FetchAddress, HostedRepository, PinnedCommit};
use crh_pipeline::incremental::IncrementalReview;
use crh_pipeline::run_folder::RunFolder;
use crh_pipeline::sinks::{ForgeName, PostKind};
use crh_pipeline::target_args::Target;
use crh_review::diff::Diff;
use crh_review::report::{Report, SCHEMA_VERSION};
use crh_review::stable_json;
use crh_review::verdict::{CommandKind, Verdict, verdict};

/// Largest report, in bytes: tens of thousands of findings.
const REPORT_MAX: u64 = 64 << 20;
/// Largest file with the inputs of a review ([`ReviewBasis`]), in bytes.
const BASIS_MAX: u64 = 1 << 20;
/// Largest file with the incremental base, in bytes: paths of a hundred thousand files.
const INCREMENTAL_BASE_MAX: u64 = 16 << 20;
/// Largest event that GitHub sends, in bytes.
const EVENT_MAX: u64 = 10 << 20;
/// Variables that GitHub Actions sets.
const EVENT_PATH: &str = GITHUB_VARIABLES[3];
const REPOSITORY: &str = GITHUB_VARIABLES[4];

/// Target of a posting with the expected head.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PostTarget {
    host: GitHubHost,
    repo: Repo,
    number: u64,
    head: ExpectedHead,
}

/// A stored run. Its claims are untrusted.
struct StoredRun {
    report: Report,
    diff: Diff,
    basis: ReviewBasis,
    incremental: Option<IncrementalReview>,
}

pub(crate) fn run(args: PostArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    ui::set_verbosity(args.verbosity.verbosity());
    let mut flags = RawSettings::default();
    args.display.clone().set(&mut flags);
    let _temporary_store = args.cache.temporary_store(&mut flags)?;
    let settings = config::load(environment, None, flags)?;
    check_sinks(&args.sink)?;
    let forge_name = args.sink.first().map_or(ForgeName::GitHub, |sink| sink.forge);
    interrupts::watch_ctrl_c()?;
    let posted = post_stored_run(&args, forge_name, environment, &settings);
    if posted.is_err() && args.post.allow_approve && !args.post.dry_run {
        withdraw_stale_approvals(&args, forge_name, environment, &settings);
    }
    posted
}

/// Withdraws crh's approvals of older heads, because the run of the newest head was not posted.
/// Does nothing if crh cannot read the proposal: the caller reports why posting failed.
fn withdraw_stale_approvals(
    args: &PostArgs,
    forge: ForgeName,
    environment: &Environment,
    settings: &Settings,
) {
    let url = match forge {
        ForgeName::GitHub => resolve_target(args, environment).ok().map(|target| {
            let PostTarget { host, repo, number, .. } = target;
            PullRequestRef { host, repo, number }.url()
        }),
        _ => args.proposal.clone(),
    };
    let Some(target) = url.map(Target::PullRequest) else { return };
    let mut flags = RawSettings::default();
    args.display.clone().set(&mut flags);
    let found = forge::find_proposal(&target, PullRequestLookup::Never, environment, &flags);
    if let Ok(Some(proposal)) = found {
        proposal.withdraw_stale_approvals(environment, settings);
    }
}

fn post_stored_run(
    args: &PostArgs,
    forge_name: ForgeName,
    environment: &Environment,
    settings: &Settings,
) -> Result<ExitCode, Failure> {
    match forge_name {
        ForgeName::GitHub => {
            if args.proposal.is_some() {
                return Err(Failure::usage("`--proposal` does not work with GitHub")
                    .hint(sink_hint(|forge| forge != ForgeName::GitHub)));
            }
            let target = resolve_target(args, environment)?;
            let run = load_run(args, environment)?;
            check_run_matches(&run.report, &target)?;
            let PostTarget { host, repo, number, .. } = target;
            let pull_ref = PullRequestRef { host, repo, number };
            let session =
                GitHubSession::open(&pull_ref.host, &pull_ref.repo, environment, settings)?;
            let token = session.token().map_err(github::to_failure)?;
            let head_files = fetch_head_files(&run.report, &pull_ref, &session, settings);
            let forge = Forge::GitHub(pull_ref);
            post_run(args, &run, &forge, &[token], head_files.as_ref(), environment, settings)
        }
        ForgeName::Launchpad => {
            let run = load_run(args, environment)?;
            launchpad::post_to_launchpad(args, &run, environment, settings)
        }
        name => {
            let rest = name.rules().rest();
            let forge =
                rest.ok_or_else(|| Failure::usage("`crh post` does not support this forge"))?;
            let (url, head) = launchpad::required_flags(args, name.word())?;
            let change = rest_forge::parse(forge, url, environment)?;
            let run = load_run(args, environment)?;
            check_proposal(&run.report, change.host.web(), change.number, &head)?;
            let secrets = RestSession::open(forge, &change.host, environment)?.secrets();
            let forge = Forge::Rest(change);
            post_run(args, &run, &forge, &secrets, None, environment, settings)
        }
    }
}

/// Posts a stored run with each sink once.
fn post_run(
    args: &PostArgs,
    run: &StoredRun,
    forge: &Forge,
    secrets: &[SecretString],
    head_files: Option<&(BareRepository, String)>,
    environment: &Environment,
    settings: &Settings,
) -> Result<ExitCode, Failure> {
    let redactor = ModelResolver::new(settings, environment)?.redactor_with(secrets);
    let mut total = PostingOutcome::default();
    let mut writes = Vec::new();
    let kinds: BTreeSet<PostKind> = args.sink.iter().map(|sink| sink.kind).collect();
    let is_single = kinds.len() == 1;
    for kind in kinds {
        let request = PostRequest {
            report: &run.report,
            diff: &run.diff,
            files: HeadFiles::open(head_files),
            redactor: &redactor,
            instance: settings.instance.value.as_str(),
            basis: &run.basis,
            since: run.incremental.as_ref(),
            kind,
            flags: args.post,
        };
        let result = match forge.post(&request, environment, settings) {
            Ok(result) => result,
            Err(failure) => {
                // What earlier sinks posted is on the forge, so the user must see it.
                if !total.receipts.is_empty() {
                    print_outcome(&total)?;
                }
                return Err(failure);
            }
        };
        match result {
            PostResult::DryRun(requests) => writes.extend(requests),
            PostResult::Done(outcome) => {
                total.receipts.extend(outcome.receipts);
                total.notes.extend(outcome.notes);
                total.refusal = total.refusal.or(outcome.refusal);
                total.url = total.url.or(outcome.url.filter(|_| is_single));
            }
        }
    }
    match (&total.refusal, args.post.dry_run) {
        (Some(refusal), _) => Err(refusal_failure(refusal)),
        (None, true) => posting_messages::print_dry_run(&writes).map(|()| ExitCode::SUCCESS),
        (None, false) => print_outcome(&total),
    }
}

/// Prints the result of a posting that was not refused.
fn print_outcome(outcome: &PostingOutcome) -> Result<ExitCode, Failure> {
    for note in &outcome.notes {
        ui::note(note);
    }
    ui::result_text(&stable_json(outcome).or_fail(FailureKind::Bug)?)?;
    if outcome.is_complete() {
        return Ok(ExitCode::SUCCESS);
    }
    ui::warn(&posting_messages::failure_message(outcome));
    ui::note("post again to retry; nothing is posted twice");
    Ok(failure::exit_code(FailureKind::External))
}

/// The target, from the flags or the CI event. Never from the run.
fn resolve_target(args: &PostArgs, environment: &Environment) -> Result<PostTarget, Failure> {
    let event = load_event(environment)?;
    let repository =
        environment.variable(REPOSITORY).map(|value| value.to_string_lossy().into_owned());
    let missing_flag = |value_name: &str, flag: &str| {
        Failure::usage(format!("no {value_name} given"))
            .hint(format!("use `{flag}`; in CI the pull request event provides it"))
    };
    let repo = args.repo.clone().or(event.repo).or(repository);
    let repo = repo.ok_or_else(|| missing_flag("repository", "--repo OWNER/NAME"))?;
    let (host, repo) = parse_repo_flag(&repo, github::default_host(environment)?)?;
    let number = args.pr.or(event.number);
    let number = number.ok_or_else(|| missing_flag("pull request", "--pr N"))?;
    let head = args.head.clone().or(event.head);
    let head = head.ok_or_else(|| missing_flag("head commit", "--head SHA"))?;
    Ok(PostTarget { host, repo, number, head: ExpectedHead::parse(&head)? })
}

/// Parses `[HOST/]OWNER/NAME`.
fn parse_repo_flag(flag: &str, default_host: GitHubHost) -> Result<(GitHubHost, Repo), Failure> {
    let invalid_flag = || Failure::usage("invalid `--repo`").hint("use `[HOST/]OWNER/NAME`");
    let (host, repo) = match flag.split('/').count() {
        3 => flag.split_once('/').map_or((None, flag), |(host, repo)| (Some(host), repo)),
        _ => (None, flag),
    };
    let repo = Repo::parse(repo).ok_or_else(invalid_flag)?;
    let host = match host.filter(|host| !host.eq_ignore_ascii_case(default_host.name())) {
        None => default_host,
        Some("") => return Err(invalid_flag()),
        Some(host) => GitHubHost::from_server_url(&format!("https://{host}"))
            .or_fail(FailureKind::Usage)
            .map_err(|failure| failure.hint("`--repo` is `[HOST/]OWNER/NAME`"))?,
    };
    Ok((host, repo))
}

fn load_event(environment: &Environment) -> Result<CiEvent, Failure> {
    let Some(path) = environment.variable(EVENT_PATH) else { return Ok(CiEvent::default()) };
    let path = environment.folder.join(path);
    let event: Value =
        input::json_from_variable(EVENT_PATH, &path, "a GitHub Actions event", EVENT_MAX)?;
    Ok(event::parse(&event))
}

/// Loads a run folder, or a report file with its diff.
fn load_run(args: &PostArgs, environment: &Environment) -> Result<StoredRun, Failure> {
    let run_dir = args.runs.run_dir.as_deref();
    let file = args.run.as_ref().map(|run| environment.folder.join(run));
    let mut run = if let Some(file) = file.filter(|file| file.is_file()) {
        let Some(diff) = &args.diff else {
            return Err(Failure::usage("a report file needs its diff to place the comments")
                .hint("add `--diff FILE`, or pass the run folder"));
        };
        let report = input::json_within(&file, "a report of crh", REPORT_MAX)?;
        let diff = input::diff(&environment.folder.join(diff))?;
        let report = as_reviewed(report, None);
        StoredRun { report, diff, basis: ReviewBasis::default(), incremental: None }
    } else {
        let folder = run_lookup::run_folder(environment, run_dir, args.run.as_deref())?;
        let diff = folder
            .diff()
            .ok_or_else(|| Failure::usage("the run has no diff").hint("review the change again"))?;
        // Runs without this file can be posted, but later reviews do not build on them.
        let basis = folder.read_within(BASIS, BASIS_MAX).unwrap_or_default();
        let incremental = folder
            .read_within(INCREMENTAL_BASE, INCREMENTAL_BASE_MAX)
            .ok()
            .and_then(IncrementalBase::since);
        let report = folder.report_within(REPORT_MAX).map_err(run_lookup::folder_failure)?;
        StoredRun { report: as_reviewed(report, Some(&folder)), diff, basis, incremental }
    };
    check_report(&run.report)?;
    dismiss::hide_dismissed(&mut run.report, environment)?;
    Ok(run)
}

/// The report without its fixes. They are in a checkout. The proposal has the reviewed commit, so its
/// issues are open.
fn as_reviewed(report: Report, folder: Option<&RunFolder>) -> Report {
    let command = report.command;
    match report.applied_fixes.is_empty() {
        true => report,
        false => fix::report_before_fixes(folder, report, command),
    }
}

/// Rejects reports that this version of crh cannot have written.
fn check_report(report: &Report) -> Result<(), Failure> {
    let hint = "pass a run that this version of crh stored";
    if report.schema_version != SCHEMA_VERSION {
        let version = report.schema_version;
        let message =
            format!("the report has schema_version {version}; this crh reads {SCHEMA_VERSION}");
        return Err(Failure::usage(message).hint(hint));
    }
    if let Some(problem) = report.location_problem().or_else(|| report.id_problem()) {
        return Err(Failure::usage(problem).hint(hint));
    }
    let claimed_verdict = report.verdict;
    let actual_verdict = expected_verdict(report);
    if verdict_rank(claimed_verdict) > verdict_rank(actual_verdict) {
        let message = format!(
            "the report claims `{claimed_verdict}`, but its content gives `{actual_verdict}`"
        );
        return Err(Failure::usage(message).hint(hint));
    }
    Ok(())
}

/// The verdict that the report's content gives. The verdict in the report may be worse, because it
/// counts hidden issues, too.
fn expected_verdict(report: &Report) -> Verdict {
    // Older reports have no field `command`, which says whether a full review was requested. Only
    // static checks give `ChecksPassed`, and crh never approves a pull request with that verdict.
    let command = match report.verdict {
        Verdict::ChecksPassed => CommandKind::Checks,
        Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ReadyToMerge => CommandKind::Review,
    };
    verdict(report, command).0
}

/// Orders verdicts from worst to best.
fn verdict_rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::NotReady => 0,
        Verdict::ReadyWithFixes => 1,
        Verdict::Incomplete => 2,
        Verdict::ChecksPassed | Verdict::ReadyToMerge => 3,
    }
}

/// Fails if the run is for another pull request.
fn check_run_matches(report: &Report, target: &PostTarget) -> Result<(), Failure> {
    let (change, host) = (&report.change, &target.host);
    // Compares hosts, too: a mirror has the same names, numbers and commits.
    let is_on_host =
        change.url.strip_prefix(host.server()).is_some_and(|path| path.starts_with('/'));
    if !change.url.is_empty() && !is_on_host {
        let message = format!("the run is for `{}`, which is not on `{}`", change.url, host.name());
        return Err(Failure::usage(crh_review::one_line(&message))
            .hint("nothing was posted; name the run of this pull request"));
    }
    let target_name = format!("{}#{}", target.repo, target.number);
    if change.pr_number.is_empty() {
        let message =
            format!("this run did not review a pull request, so it cannot go to `{target_name}`");
        return Err(
            Failure::usage(message).hint("nothing was posted; name the run of this pull request")
        );
    }
    let reviewed = format!("`{}#{}`", change.repo, change.pr_number);
    if !reviewed.eq_ignore_ascii_case(&format!("`{target_name}`")) {
        return Err(Failure::usage(format!("the run is for {reviewed}, not for `{target_name}`"))
            .hint("nothing was posted; name the run of this pull request"));
    }
    check_head(report, &target.head)
}

/// Fails if the run is for another server, number or commit. The posting engine compares
/// repositories.
fn check_proposal(
    report: &Report,
    web: &str,
    number: u64,
    head: &ExpectedHead,
) -> Result<(), Failure> {
    let change = &report.change;
    let hint = "nothing was posted; name the run of this change";
    let is_on_server = change.url.strip_prefix(web).is_some_and(|path| path.starts_with('/'));
    if !change.url.is_empty() && !is_on_server {
        let message = format!("the run is for `{}`, which is not on `{web}`", change.url);
        return Err(Failure::usage(crh_review::one_line(&message)).hint(hint));
    }
    if change.pr_number != number.to_string() {
        let message = match change.pr_number.as_str() {
            "" => format!(
                "this run did not review a pull request, so it cannot be posted to number {number}"
            ),
            reviewed => {
                format!(
                    "the run is for number {}, not for {number}",
                    crh_review::one_line(reviewed)
                )
            }
        };
        return Err(Failure::usage(message).hint(hint));
    }
    check_head(report, head)
}

/// Fails if the run is for another commit.
fn check_head(report: &Report, expected: &ExpectedHead) -> Result<(), Failure> {
    let (reviewed, expected) = (&report.change.head_sha, expected.as_str());
    if !reviewed.eq_ignore_ascii_case(expected) {
        let message = anyhow::anyhow!("the run is for commit `{reviewed}`, not for `{expected}`");
        // Most likely the branch moved between CI jobs, so this is not a usage error.
        return Err(Failure::new(FailureKind::External, message).hint(format!(
            "nothing was posted; name a run of `{expected}`, or review that commit first"
        )));
    }
    Ok(())
}

/// Files at the head, if an issue has a replacement text. Without these files, crh posts
/// replacements as code instead of suggestions.
fn fetch_head_files(
    report: &Report,
    pull_ref: &PullRequestRef,
    session: &GitHubSession,
    settings: &Settings,
) -> Option<(BareRepository, String)> {
    report.issues.iter().find(|issue| issue.replacement.is_some())?;
    let head = report.change.head_sha.as_str();
    let fetch = || -> Result<BareRepository, anyhow::Error> {
        let repository = HostedRepository {
            host: pull_ref.host.name().to_owned(),
            name: pull_ref.repo.to_string(),
        };
        let store =
            store::open_without_clone(settings, &repository).map_err(|failure| failure.error)?;
        let address =
            FetchAddress::new(&pull_ref.host.git_url(&pull_ref.repo), Some(session.token()?))?;
        let head_ref = format!("refs/pull/{}/head", pull_ref.number);
        store.fetch_pinned(&address, &[PinnedCommit { commit: head, via_ref: Some(&head_ref) }])?;
        Ok(store.bare().clone())
    };
    match fetch() {
        Ok(bare) => Some((bare, head.to_owned())),
        Err(error) => {
            ui::note(&format!(
                "comments show fixes as code, without the button that commits them, because crh cannot read the files: {error:#}"
            ));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crh_review::report::{Issue, Status, Strategy};

    fn report(repo: &str, number: &str, head: &str) -> Report {
        let mut report = Report::default();
        report.change.repo = repo.to_owned();
        report.change.pr_number = number.to_owned();
        report.change.head_sha = head.to_owned();
        report
    }

    fn target() -> PostTarget {
        let (host, repo) = (GitHubHost::default(), Repo::parse("o/r").unwrap());
        PostTarget { host, repo, number: 7, head: ExpectedHead::parse(&"a".repeat(40)).unwrap() }
    }

    fn refusal(repo: &str, number: &str, head: &str) -> Option<String> {
        check_run_matches(&report(repo, number, head), &target())
            .err()
            .map(|failure| failure.error.to_string())
    }

    #[test]
    fn run_for_another_pull_request_is_rejected() {
        let head = "a".repeat(40);
        assert_eq!(refusal("o/r", "7", &head), None);
        assert_eq!(refusal("O/R", "7", &head), None);
        let other = |claimed: &str| Some(format!("the run is for {claimed}, not for `o/r#7`"));
        assert_eq!(refusal("o/r", "8", &head), other("`o/r#8`"));
        assert_eq!(refusal("x/r", "7", &head), other("`x/r#7`"));
        let unrelated = "this run did not review a pull request, so it cannot go to `o/r#7`";
        assert_eq!(refusal("o/r", "", &head).as_deref(), Some(unrelated));
        let moved = refusal("o/r", "7", "bbb").unwrap();
        assert!(moved.starts_with("the run is for commit `bbb`"), "{moved}");
    }

    #[test]
    fn run_of_a_mirror_is_rejected() {
        let head = "a".repeat(40);
        for (url, expected) in [
            ("", true),
            ("https://github.com/o/r/pull/7", true),
            ("https://github.com.example/o/r/pull/7", false),
            ("https://ghe.corp/o/r/pull/7", false),
        ] {
            let mut report = report("o/r", "7", &head);
            report.change.url = url.to_owned();
            assert_eq!(check_run_matches(&report, &target()).is_ok(), expected, "{url}");
        }
    }

    #[test]
    fn repo_flag_accepts_a_host() {
        let corp = GitHubHost::from_server_url("https://ghe.corp:8443").unwrap();
        let parse = |flag: &str, default: &GitHubHost| {
            let parsed = parse_repo_flag(flag, default.clone());
            parsed.map(|(host, repo)| format!("{} {repo}", host.server())).ok()
        };
        let github_com = GitHubHost::default();
        for (flag, default, expected) in [
            ("o/r", &github_com, Some("https://github.com o/r")),
            ("o/r", &corp, Some("https://ghe.corp:8443 o/r")),
            ("GHE.corp:8443/o/r", &corp, Some("https://ghe.corp:8443 o/r")),
            ("ghe.corp/o/r", &github_com, Some("https://ghe.corp o/r")),
            ("github.com/o/r", &corp, Some("https://github.com o/r")),
            ("r", &github_com, None),
            ("/o/r", &github_com, None),
            ("https://ghe.corp/o/r", &github_com, None),
            ("me@ghe.corp/o/r", &github_com, None),
            ("ghe.corp/o/..", &github_com, None),
        ] {
            assert_eq!(parse(flag, default).as_deref(), expected, "{flag}");
        }
    }

    fn issue(severity: &str) -> Issue {
        let issue = json!({
            "number": 1, "dedupe_key": "0123456789abcdef", "title": "t", "severity": severity,
            "category": "bug", "file": "a.rs", "side": "new", "line_start": 1, "line_end": 1,
            "confidence": 0.8, "why_it_matters": "", "description": "", "suggestion": "",
            "evidence_snippet": "", "reviewers": [], "language": "rust", "evidence": [],
            "tier": "primary", "validation": "not_run", "autofix_class": "manual",
            "owner": "downstream-resolver", "queue": "residual", "action": "defer",
            "requires_verification": false, "pre_existing": false, "members": [],
        });
        serde_json::from_value(issue).unwrap()
    }

    #[test]
    fn verdict_better_than_content_is_rejected() {
        let check = |severity: Option<&str>, verdict: Verdict, status: Status| {
            let issues = severity.iter().map(|severity| issue(severity));
            let report = Report {
                schema_version: SCHEMA_VERSION,
                strategy: Strategy::Single,
                review_id: "0123456789abcdef".to_owned(),
                issues: issues.collect(),
                verdict,
                status,
                ..Report::default()
            };
            check_report(&report).err().map(|failure| failure.error.to_string())
        };
        let refusal = |claimed: &str, actual: &str| {
            Some(format!("the report claims `{claimed}`, but its content gives `{actual}`"))
        };
        use Verdict::*;
        assert_eq!(check(None, ReadyToMerge, Status::Ok), None);
        assert_eq!(check(Some("P0"), NotReady, Status::Ok), None);
        assert_eq!(check(Some("P3"), ReadyToMerge, Status::Ok), None);
        // The verdict counts hidden issues.
        assert_eq!(check(Some("P1"), NotReady, Status::Ok), None);
        let green = check(Some("P0"), ReadyToMerge, Status::Ok);
        assert_eq!(green, refusal("Ready to merge", "Not ready"));
        let fixes = check(Some("P0"), ReadyWithFixes, Status::Ok);
        assert_eq!(fixes, refusal("Ready with fixes", "Not ready"));
        let checks = check(Some("P1"), ChecksPassed, Status::Ok);
        assert_eq!(checks, refusal("Checks passed", "Ready with fixes"));
        let truncated = check(None, ReadyToMerge, Status::Truncated);
        assert_eq!(truncated, refusal("Ready to merge", "Incomplete"));
    }
}
