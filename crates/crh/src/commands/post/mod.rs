//! `crh post`: posts the review of a stored run. The target comes from flags or CI, never from the
//! run: the job that made it has read untrusted text.

mod event;
mod launchpad;

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;

use self::event::CiEvent;
use super::forge::posting_messages::{DryRunWrite, check_sinks};
use super::forge::{ExpectedHead, posting_messages};
use super::github::{GitHubPostRequest, GitHubPostResult, GitHubSession, HeadFiles};
use super::models::ModelResolver;
use super::review::BASIS;
use super::review::since::{GROUND, Ground};
use super::{github, interrupts, run_lookup, store};
use crate::cli::PostArgs;
use crate::config::environment::{Environment, GITHUB_VARIABLES};
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, input, ui};
use crh_forge::github::post::{GitHubPostingOutcome, PullRequestRefusal, ReviewBasis};
use crh_forge::github::{GitHubHost, PullRequestRef, Repo};
use crh_git::{BareRepository, FetchAddress, HostedRepository, PinnedCommit};
use crh_pipeline::incremental::IncrementalReview;
use crh_pipeline::sinks::{ForgeSink, GitHubPostKind};
use crh_review::diff::Diff;
use crh_review::report::{Report, SCHEMA_VERSION};
use crh_review::stable_json;
use crh_review::verdict::{CommandKind, Verdict, verdict};

/// Largest report, in bytes: tens of thousands of findings.
const REPORT_MAX: u64 = 64 << 20;
/// Largest file with the review's inputs, in bytes.
const BASIS_MAX: u64 = 1 << 20;
/// Largest file with the incremental base, in bytes: paths of a hundred thousand files.
const GROUND_MAX: u64 = 16 << 20;
/// Largest event that GitHub sends, in bytes.
const EVENT_MAX: u64 = 10 << 20;
/// Variables of Actions.
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
    since: Option<IncrementalReview>,
}

pub(crate) fn run(args: PostArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    ui::set_verbosity(args.verbosity.verbosity());
    let mut flags = RawSettings::default();
    args.display.clone().set(&mut flags);
    let _passing = args.cache.temporary_store(&mut flags)?;
    let settings = config::load(environment, None, flags)?;
    let places: Vec<ForgeSink> = args.sink.iter().map(|sink| sink.destination()).collect();
    check_sinks(&places)?;
    if places.contains(&ForgeSink::Launchpad) {
        let run = load_run(&args, environment)?;
        return launchpad::post_to_launchpad(&args, &run, environment, &settings);
    }
    if args.proposal.is_some() {
        return Err(
            Failure::usage("`--proposal` works only with Launchpad").hint("add `--sink launchpad`")
        );
    }
    let wanted = resolve_target(&args, environment)?;
    let run = load_run(&args, environment)?;
    check_run_matches(&run.report, &wanted)?;
    let name = PullRequestRef { host: wanted.host, repo: wanted.repo, number: wanted.number };
    let session = GitHubSession::open(&name.host, &name.repo, environment, &settings)?;
    let token = session.token().map_err(github::to_failure)?;
    let models = ModelResolver::new(&settings, environment)?;
    let redactor = models.redactor_with(&[token]);
    interrupts::watch_ctrl_c()?;
    let files = fetch_head_files(&run.report, &name, &session, &settings);
    let mut done = GitHubPostingOutcome::default();
    let mut writes = Vec::new();
    for form in forms(&places) {
        let to_post = GitHubPostRequest {
            report: &run.report,
            diff: &run.diff,
            files: HeadFiles::open(files.as_ref()),
            redactor: &redactor,
            instance: settings.instance.value.as_str(),
            basis: &run.basis,
            since: run.since.as_ref(),
            form,
            flags: args.post,
        };
        match github::post(&session, &name, &to_post)? {
            GitHubPostResult::DryRun(requests) => {
                writes.extend(requests.into_iter().map(DryRunWrite::GitHub));
            }
            GitHubPostResult::Done(outcome) => {
                done.receipts.extend(outcome.receipts);
                done.notes.extend(outcome.notes);
                done.refusal = done.refusal.or(outcome.refusal);
            }
        }
    }
    match args.post.dry_run && done.refusal.is_none() {
        true => posting_messages::print_dry_run(&writes).map(|()| ExitCode::SUCCESS),
        false => report_outcome(&done),
    }
}

/// Distinct GitHub sinks.
fn forms(places: &[ForgeSink]) -> BTreeSet<GitHubPostKind> {
    let form = |place: &ForgeSink| match place {
        ForgeSink::GitHub(form) => Some(*form),
        ForgeSink::Launchpad => None,
    };
    places.iter().filter_map(form).collect()
}

/// Prints the result, or fails with the refusal.
fn report_outcome(outcome: &GitHubPostingOutcome) -> Result<ExitCode, Failure> {
    if let Some(refusal) = &outcome.refusal {
        let (kind, hint) = match refusal {
            PullRequestRefusal::HeadMoved { .. } => {
                (FailureKind::External, "nothing was posted; review the new head and post that")
            }
            PullRequestRefusal::OtherPull { .. } => {
                (FailureKind::Usage, "nothing was posted; name the right run")
            }
            PullRequestRefusal::Closed => (FailureKind::External, "nothing was posted"),
            PullRequestRefusal::NotAllRead { .. } => {
                (FailureKind::External, "nothing was posted, to avoid duplicates")
            }
            PullRequestRefusal::Unsubmitted => {
                (FailureKind::External, "nothing was posted; submit or discard that review first")
            }
            PullRequestRefusal::Hidden => {
                (FailureKind::Usage, posting_messages::HINT_SECRET_IN_SCHEMA)
            }
        };
        return Err(Failure::new(kind, anyhow::anyhow!("{refusal}")).hint(hint));
    }
    print_outcome(outcome)
}

/// Prints the result of a posting that was not refused.
fn print_outcome<Refusal: Serialize>(
    outcome: &crh_forge::posting::PostingOutcome<Refusal>,
) -> Result<ExitCode, Failure> {
    for note in &outcome.notes {
        ui::note(note);
    }
    ui::result_text(&stable_json(outcome).or_fail(FailureKind::Bug)?)?;
    if outcome.is_complete() {
        return Ok(ExitCode::SUCCESS);
    }
    ui::warn(&posting_messages::failure_message(outcome));
    ui::note("post again to retry; nothing is posted twice");
    Ok(FailureKind::External.exit_code())
}

/// The target, from the flags or the CI event. Never from the run.
fn resolve_target(args: &PostArgs, environment: &Environment) -> Result<PostTarget, Failure> {
    let event = load_event(environment)?;
    let repository =
        environment.variable(REPOSITORY).map(|value| value.to_string_lossy().into_owned());
    let open = |what: &str, flag: &str| {
        Failure::usage(format!("no {what} given"))
            .hint(format!("use `{flag}`; in CI the pull request event provides it"))
    };
    let repo = args.repo.clone().or(event.repo).or(repository);
    let repo = repo.ok_or_else(|| open("repository", "--repo OWNER/NAME"))?;
    let (host, repo) = parse_repo_flag(&repo, github::default_host(environment)?)?;
    let number = args.pr.or(event.number);
    let number = number.ok_or_else(|| open("pull request", "--pr N"))?;
    let head = args.head.clone().or(event.head);
    let head = head.ok_or_else(|| open("commit", "--head SHA"))?;
    Ok(PostTarget { host, repo, number, head: ExpectedHead::parse(&head)? })
}

/// Parses `[HOST/]OWNER/NAME`.
fn parse_repo_flag(named: &str, default: GitHubHost) -> Result<(GitHubHost, Repo), Failure> {
    let refused = || Failure::usage("invalid `--repo`").hint("use `[HOST/]OWNER/NAME`");
    let (host, repo) = match named.split('/').count() {
        3 => named.split_once('/').map_or((None, named), |(host, repo)| (Some(host), repo)),
        _ => (None, named),
    };
    let repo = Repo::parse(repo).ok_or_else(refused)?;
    let host = match host.filter(|host| !host.eq_ignore_ascii_case(default.name())) {
        None => default,
        Some("") => return Err(refused()),
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
        input::json_from_variable(EVENT_PATH, &path, "an event of Actions", EVENT_MAX)?;
    Ok(event::parse(&event))
}

/// Loads a run folder, or a report file with its diff.
fn load_run(args: &PostArgs, environment: &Environment) -> Result<StoredRun, Failure> {
    let run_dir = args.runs.run_dir.as_deref();
    let file = args.run.as_ref().map(|run| environment.folder.join(run));
    let run = if let Some(file) = file.filter(|file| file.is_file()) {
        let Some(diff) = &args.diff else {
            return Err(Failure::usage("a report file needs its diff to place the comments")
                .hint("add `--diff FILE`, or pass the run folder"));
        };
        let report = input::json_within(&file, "a report of crh", REPORT_MAX)?;
        let diff = input::diff(&environment.folder.join(diff))?;
        StoredRun { report, diff, basis: ReviewBasis::default(), since: None }
    } else {
        let folder = run_lookup::run_folder(environment, run_dir, args.run.as_deref())?;
        let diff = folder
            .diff()
            .ok_or_else(|| Failure::usage("the run has no diff").hint("review the change again"))?;
        // Optional: without it, no later review builds on this one.
        let basis = folder.read_within(BASIS, BASIS_MAX).unwrap_or_default();
        let since = folder.read_within(GROUND, GROUND_MAX).ok().and_then(Ground::since);
        let report = folder.report_within(REPORT_MAX).map_err(run_lookup::folder_failure)?;
        StoredRun { report, diff, basis, since }
    };
    check_report(&run.report)?;
    Ok(run)
}

/// Rejects reports that this version of crh cannot have written.
fn check_report(report: &Report) -> Result<(), Failure> {
    let written_by_crh = "pass a run that this version of crh stored";
    if report.schema_version != SCHEMA_VERSION {
        let version = report.schema_version;
        let message =
            format!("the report has schema_version {version}; this crh reads {SCHEMA_VERSION}");
        return Err(Failure::usage(message).hint(written_by_crh));
    }
    if let Some(problem) = report.location_problem().or_else(|| report.id_problem()) {
        return Err(Failure::usage(problem).hint(written_by_crh));
    }
    let claimed = report.verdict;
    let found = expected_verdict(report);
    if greenness(claimed) > greenness(found) {
        let message = format!("the report claims `{claimed}`, but its content gives `{found}`");
        return Err(Failure::usage(message).hint(written_by_crh));
    }
    Ok(())
}

/// The verdict that the report's content gives. The claimed one may be worse, because it counts
/// hidden issues.
fn expected_verdict(report: &Report) -> Verdict {
    // The report does not say whether a full review was requested. Only checks give this verdict,
    // and it never approves.
    let asked = match report.verdict {
        Verdict::ChecksPassed => CommandKind::Checks,
        Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ReadyToMerge => CommandKind::Review,
    };
    verdict(report, asked).0
}

/// Orders verdicts from worst to best.
fn greenness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::NotReady => 0,
        Verdict::ReadyWithFixes => 1,
        Verdict::Incomplete => 2,
        Verdict::ChecksPassed | Verdict::ReadyToMerge => 3,
    }
}

/// Fails if the run is for another pull request.
fn check_run_matches(report: &Report, wanted: &PostTarget) -> Result<(), Failure> {
    let (change, host) = (&report.change, &wanted.host);
    // A mirror has the same name, number and commits.
    let is_here = change.url.strip_prefix(host.server()).is_some_and(|path| path.starts_with('/'));
    if !change.url.is_empty() && !is_here {
        let message = format!("the run is for `{}`, which is not on `{}`", change.url, host.name());
        return Err(Failure::usage(ui::one_line(&message))
            .hint("nothing was posted; name the run of this pull request"));
    }
    let claimed = match change.pr_number.as_str() {
        "" => "no pull request".to_owned(),
        number => format!("`{}#{number}`", change.repo),
    };
    let here = format!("{}#{}", wanted.repo, wanted.number);
    if !claimed.eq_ignore_ascii_case(&format!("`{here}`")) {
        return Err(Failure::usage(format!("the run is for {claimed}, not for `{here}`"))
            .hint("nothing was posted; name the run of this pull request"));
    }
    check_head(report, &wanted.head)
}

/// Fails if the run is for another commit.
fn check_head(report: &Report, wanted: &ExpectedHead) -> Result<(), Failure> {
    let (reviewed, wanted) = (&report.change.head_sha, wanted.as_str());
    if !reviewed.eq_ignore_ascii_case(wanted) {
        let message = anyhow::anyhow!("the run is for commit `{reviewed}`, not for `{wanted}`");
        // Most likely the branch moved between CI jobs, so this is not a usage error.
        return Err(Failure::new(FailureKind::External, message).hint(
            "nothing was posted; if the branch was pushed to, review this commit and post that; otherwise name the run of this commit",
        ));
    }
    Ok(())
}

/// Files at the head, if an issue has a replacement text. Without them fixes are posted as code
/// instead of suggestions.
fn fetch_head_files(
    report: &Report,
    pull_ref: &PullRequestRef,
    session: &GitHubSession,
    settings: &Settings,
) -> Option<(BareRepository, String)> {
    report.issues.iter().find(|issue| issue.replacement.is_some())?;
    let head = report.change.head_sha.as_str();
    let fetched = || -> Result<BareRepository, anyhow::Error> {
        let place = HostedRepository {
            host: pull_ref.host.name().to_owned(),
            name: pull_ref.repo.to_string(),
        };
        let store = store::open_without_clone(settings, &place).map_err(|failure| failure.error)?;
        let address =
            FetchAddress::new(&pull_ref.host.git_url(&pull_ref.repo), Some(session.token()?))?;
        let by = format!("refs/pull/{}/head", pull_ref.number);
        store.fetch_pinned(&address, &[PinnedCommit { commit: head, via_ref: Some(&by) }])?;
        Ok(store.bare().clone())
    };
    match fetched() {
        Ok(bare) => Some((bare, head.to_owned())),
        Err(error) => {
            ui::note(&format!(
                "posting fixes as code instead of suggestions, because the files are missing: {error:#}"
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

    fn wanted() -> PostTarget {
        let (host, repo) = (GitHubHost::default(), Repo::parse("o/r").unwrap());
        PostTarget { host, repo, number: 7, head: ExpectedHead::parse(&"a".repeat(40)).unwrap() }
    }

    fn refused(repo: &str, number: &str, head: &str) -> Option<String> {
        check_run_matches(&report(repo, number, head), &wanted())
            .err()
            .map(|failure| failure.error.to_string())
    }

    #[test]
    fn run_for_another_pull_request_is_rejected() {
        let head = "a".repeat(40);
        assert_eq!(refused("o/r", "7", &head), None);
        assert_eq!(refused("O/R", "7", &head), None);
        let other = |claimed: &str| Some(format!("the run is for {claimed}, not for `o/r#7`"));
        assert_eq!(refused("o/r", "8", &head), other("`o/r#8`"));
        assert_eq!(refused("x/r", "7", &head), other("`x/r#7`"));
        assert_eq!(refused("o/r", "", &head), other("no pull request"));
        let moved = refused("o/r", "7", "bbb").unwrap();
        assert!(moved.starts_with("the run is for commit `bbb`"), "{moved}");
    }

    #[test]
    fn run_of_a_mirror_is_rejected() {
        let head = "a".repeat(40);
        for (url, fits) in [
            ("", true),
            ("https://github.com/o/r/pull/7", true),
            ("https://github.com.example/o/r/pull/7", false),
            ("https://ghe.corp/o/r/pull/7", false),
        ] {
            let mut report = report("o/r", "7", &head);
            report.change.url = url.to_owned();
            assert_eq!(check_run_matches(&report, &wanted()).is_ok(), fits, "{url}");
        }
    }

    #[test]
    fn repo_flag_accepts_a_host() {
        let corp = GitHubHost::from_server_url("https://ghe.corp:8443").unwrap();
        let shown = |named: &str, default: &GitHubHost| {
            let found = parse_repo_flag(named, default.clone());
            found.map(|(host, repo)| format!("{} {repo}", host.server())).ok()
        };
        let here = GitHubHost::default();
        for (named, default, expected) in [
            ("o/r", &here, Some("https://github.com o/r")),
            ("o/r", &corp, Some("https://ghe.corp:8443 o/r")),
            ("GHE.corp:8443/o/r", &corp, Some("https://ghe.corp:8443 o/r")),
            ("ghe.corp/o/r", &here, Some("https://ghe.corp o/r")),
            ("github.com/o/r", &corp, Some("https://github.com o/r")),
            ("r", &here, None),
            ("/o/r", &here, None),
            ("https://ghe.corp/o/r", &here, None),
            ("me@ghe.corp/o/r", &here, None),
            ("ghe.corp/o/..", &here, None),
        ] {
            assert_eq!(shown(named, default).as_deref(), expected, "{named}");
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
        let claims = |severity: Option<&str>, verdict: Verdict, status: Status| {
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
        let refused = |claimed: &str, found: &str| {
            Some(format!("the report claims `{claimed}`, but its content gives `{found}`"))
        };
        use Verdict::*;
        assert_eq!(claims(None, ReadyToMerge, Status::Ok), None);
        assert_eq!(claims(Some("P0"), NotReady, Status::Ok), None);
        assert_eq!(claims(Some("P3"), ReadyToMerge, Status::Ok), None);
        // The verdict counts hidden issues.
        assert_eq!(claims(Some("P1"), NotReady, Status::Ok), None);
        let green = claims(Some("P0"), ReadyToMerge, Status::Ok);
        assert_eq!(green, refused("Ready to merge", "Not ready"));
        let fixes = claims(Some("P0"), ReadyWithFixes, Status::Ok);
        assert_eq!(fixes, refused("Ready with fixes", "Not ready"));
        let checks = claims(Some("P1"), ChecksPassed, Status::Ok);
        assert_eq!(checks, refused("Checks passed", "Ready with fixes"));
        let whole = claims(None, ReadyToMerge, Status::Truncated);
        assert_eq!(whole, refused("Ready to merge", "Incomplete"));
    }
}
