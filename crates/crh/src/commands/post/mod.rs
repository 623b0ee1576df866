//! `crh post`: the review of a stored run goes to the pull request or the merge proposal that is named here. The run itself may come from a job that read
//! hostile text: it says nothing about where it goes.

mod event;
mod launchpad;

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;

use self::event::Event;
use super::forge::posted::{Shown, go_together};
use super::forge::{Head, posted};
use super::github::{Files, Hub, Posted, ToPost};
use super::models::Models;
use super::review::BASIS;
use super::review::since::{GROUND, Ground};
use super::{github, interrupts, run_place, store};
use crate::cli::PostArgs;
use crate::config::environment::{Environment, GITHUB};
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, input, ui};
use crh_forge::github::post::{Basis, Outcome, Refusal};
use crh_forge::github::{Host, Name, Repo};
use crh_git::{Address, Bare, Pin, Place};
use crh_pipeline::since::Since;
use crh_pipeline::sinks::{PostAs, PostTo};
use crh_review::diff::Diff;
use crh_review::report::{Report, SCHEMA_VERSION};
use crh_review::stable_json;
use crh_review::verdict::{Asked, Verdict, verdict};

/// The largest report that is posted, in bytes: tens of thousands of findings. How many of them are issues is no matter: what has no
/// comment of its own is in the summary.
const REPORT_MAX: u64 = 64 << 20;
/// The largest file about what the review was made with, in bytes: hashes, and the names of reviewers.
const BASIS_MAX: u64 = 1 << 20;
/// The largest file about what the review went on from, in bytes: the paths of a hundred thousand files.
const GROUND_MAX: u64 = 16 << 20;
/// The largest event, in bytes: GitHub sends none of more than this.
const EVENT_MAX: u64 = 10 << 20;
/// The names of these values in the environment of Actions.
const EVENT_PATH: &str = GITHUB[3];
const REPOSITORY: &str = GITHUB[4];

/// Where a review is to be posted, and what must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    host: Host,
    repo: Repo,
    number: u64,
    head: Head,
}

/// A run, as it claims to be.
struct Run {
    report: Report,
    diff: Diff,
    basis: Basis,
    since: Option<Since>,
}

pub(crate) fn run(args: PostArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    ui::speak(args.talk.verbosity());
    let mut flags = RawSettings::default();
    args.look.clone().set(&mut flags);
    let _passing = args.cache.passing(&mut flags)?;
    let settings = config::load(environment, None, flags)?;
    let places: Vec<PostTo> = args.sink.iter().map(|sink| sink.place()).collect();
    go_together(&places)?;
    if places.contains(&PostTo::Launchpad) {
        let run = read(&args, environment)?;
        return launchpad::posted_to(&args, &run, environment, &settings);
    }
    if args.proposal.is_some() {
        return Err(Failure::usage("`--proposal` is for Launchpad").hint("add `--sink launchpad`"));
    }
    let wanted = wanted(&args, environment)?;
    let run = read(&args, environment)?;
    is_meant(&run.report, &wanted)?;
    let name = Name { host: wanted.host, repo: wanted.repo, number: wanted.number };
    let hub = Hub::open(&name.host, &name.repo, environment, &settings)?;
    let token = hub.token().map_err(github::failed)?;
    let models = Models::new(&settings, environment)?;
    let redactor = models.redactor_with(&[token]);
    interrupts::watch_fetches()?;
    let files = files(&run.report, &name, &hub, &settings);
    let mut done = Outcome::default();
    let mut writes = Vec::new();
    for form in forms(&places) {
        let to_post = ToPost {
            report: &run.report,
            diff: &run.diff,
            files: Files::of(files.as_ref()),
            redactor: &redactor,
            instance: settings.instance.value.as_str(),
            basis: &run.basis,
            since: run.since.as_ref(),
            form,
            flags: args.post,
        };
        match github::posted(&hub, &name, &to_post)? {
            Posted::Shown(requests) => writes.extend(requests.into_iter().map(Shown::GitHub)),
            Posted::Done(outcome) => {
                done.receipts.extend(outcome.receipts);
                done.notes.extend(outcome.notes);
                done.refusal = done.refusal.or(outcome.refusal);
            }
        }
    }
    match args.post.dry_run && done.refusal.is_none() {
        true => posted::show(&writes).map(|()| ExitCode::SUCCESS),
        false => ended(&done),
    }
}

/// How it is posted, each once.
fn forms(places: &[PostTo]) -> BTreeSet<PostAs> {
    let form = |place: &PostTo| match place {
        PostTo::GitHub(form) => Some(*form),
        PostTo::Launchpad => None,
    };
    places.iter().filter_map(form).collect()
}

/// Says what became of a posting to a pull request.
fn ended(outcome: &Outcome) -> Result<ExitCode, Failure> {
    if let Some(refusal) = &outcome.refusal {
        let (kind, hint) = match refusal {
            Refusal::HeadMoved { .. } => {
                (Kind::Outside, "nothing was posted; review the new head, and post that")
            }
            Refusal::OtherPull { .. } => (Kind::Usage, "nothing was posted; name the right run"),
            Refusal::Closed => (Kind::Outside, "nothing was posted"),
            Refusal::NotAllRead { .. } => {
                (Kind::Outside, "nothing was posted, since it might stand there already")
            }
            Refusal::Unsubmitted => {
                (Kind::Outside, "nothing was posted; submit or discard that review first")
            }
            Refusal::Hidden => (Kind::Usage, posted::HIDDEN_FORM),
        };
        return Err(Failure::new(kind, anyhow::anyhow!("{refusal}")).hint(hint));
    }
    told(outcome)
}

/// Says what became of what was not refused as a whole.
fn told<Refusal: Serialize>(
    outcome: &crh_forge::posted::Outcome<Refusal>,
) -> Result<ExitCode, Failure> {
    for note in &outcome.notes {
        ui::note(note);
    }
    ui::result_text(&stable_json(outcome).or_fail(Kind::Bug)?)?;
    if outcome.is_complete() {
        return Ok(ExitCode::SUCCESS);
    }
    ui::warn(&posted::failures(outcome));
    ui::note("posting it again writes what is missing, and nothing twice");
    Ok(Kind::Outside.exit_code())
}

/// Where it goes: by the flags, or by the event that CI runs for; never by the run.
fn wanted(args: &PostArgs, environment: &Environment) -> Result<Wanted, Failure> {
    let event = event(environment)?;
    let repository =
        environment.variable(REPOSITORY).map(|value| value.to_string_lossy().into_owned());
    let open = |what: &str, flag: &str| {
        Failure::usage(format!("nothing says which {what} is meant"))
            .hint(format!("give `{flag}`; in CI, the event of a pull request says it"))
    };
    let repo = args.repo.clone().or(event.repo).or(repository);
    let repo = repo.ok_or_else(|| open("repository", "--repo OWNER/NAME"))?;
    let (host, repo) = place(&repo, github::default_host(environment)?)?;
    let number = args.pr.or(event.number);
    let number = number.ok_or_else(|| open("pull request", "--pr N"))?;
    let head = args.head.clone().or(event.head);
    let head = head.ok_or_else(|| open("commit", "--head SHA"))?;
    Ok(Wanted { host, repo, number, head: Head::parse(&head)? })
}

/// The GitHub and the repository that are named by `[HOST/]OWNER/NAME`.
fn place(named: &str, default: Host) -> Result<(Host, Repo), Failure> {
    let refused = || {
        Failure::usage("`--repo` is not the name of a repository").hint("it is `[HOST/]OWNER/NAME`")
    };
    let (host, repo) = match named.split('/').count() {
        3 => named.split_once('/').map_or((None, named), |(host, repo)| (Some(host), repo)),
        _ => (None, named),
    };
    let repo = Repo::parse(repo).ok_or_else(refused)?;
    let host = match host.filter(|host| !host.eq_ignore_ascii_case(default.name())) {
        None => default,
        Some("") => return Err(refused()),
        Some(host) => Host::of(&format!("https://{host}"))
            .or_fail(Kind::Usage)
            .map_err(|failure| failure.hint("`--repo` is `[HOST/]OWNER/NAME`"))?,
    };
    Ok((host, repo))
}

fn event(environment: &Environment) -> Result<Event, Failure> {
    let Some(path) = environment.variable(EVENT_PATH) else { return Ok(Event::default()) };
    let path = environment.folder.join(path);
    let event: Value = input::json_named_by(EVENT_PATH, &path, "an event of Actions", EVENT_MAX)?;
    Ok(event::read(&event))
}

/// Reads a run folder, or a report and its diff.
fn read(args: &PostArgs, environment: &Environment) -> Result<Run, Failure> {
    let run_dir = args.place.run_dir.as_deref();
    let file = args.run.as_ref().map(|run| environment.folder.join(run));
    let run = if let Some(file) = file.filter(|file| file.is_file()) {
        let Some(diff) = &args.diff else {
            return Err(Failure::usage(
                "a report alone does not say which lines can be commented on",
            )
            .hint("give its diff with `--diff FILE`, or the folder of the run"));
        };
        let report = input::json_within(&file, "a report of crh", REPORT_MAX)?;
        let diff = input::diff(&environment.folder.join(diff))?;
        Run { report, diff, basis: Basis::default(), since: None }
    } else {
        let folder = run_place::run_folder(environment, run_dir, args.run.as_deref())?;
        let diff = folder
            .diff()
            .ok_or_else(|| Failure::usage("the run has no diff").hint("review the change again"))?;
        // One that does not say what it was made with is posted all the same; nothing builds on it.
        let basis = folder.read_within(BASIS, BASIS_MAX).unwrap_or_default();
        let since = folder.read_within(GROUND, GROUND_MAX).ok().and_then(Ground::since);
        let report = folder.report_within(REPORT_MAX).map_err(run_place::failed)?;
        Run { report, diff, basis, since }
    };
    checked(&run.report)?;
    Ok(run)
}

/// Refuses what no crh of this version has written.
fn checked(report: &Report) -> Result<(), Failure> {
    let written_by_crh = "give it what `crh review` of this version has stored";
    if report.schema_version != SCHEMA_VERSION {
        let version = report.schema_version;
        let message =
            format!("the report has schema_version {version}, and this crh reads {SCHEMA_VERSION}");
        return Err(Failure::usage(message).hint(written_by_crh));
    }
    if let Some(problem) = report.problem().or_else(|| report.misnamed()) {
        return Err(Failure::usage(problem).hint(written_by_crh));
    }
    let claimed = report.verdict;
    let found = judged(report);
    if greenness(claimed) > greenness(found) {
        let message =
            format!("the report claims `{claimed}`, and what is in it comes to `{found}`");
        return Err(Failure::usage(message).hint(written_by_crh));
    }
    Ok(())
}

/// The verdict that follows from what is in a report. It may be greener than the one that it has, which counts issues that are
/// not in it.
fn judged(report: &Report) -> Verdict {
    // A report does not say what was asked for. Only checks come to this verdict, and it approves nothing.
    let asked = match report.verdict {
        Verdict::ChecksPassed => Asked::Checks,
        Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ReadyToMerge => Asked::Review,
    };
    verdict(report, asked).0
}

/// How far a verdict lets a change go.
fn greenness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::NotReady => 0,
        Verdict::ReadyWithFixes => 1,
        Verdict::Incomplete => 2,
        Verdict::ChecksPassed | Verdict::ReadyToMerge => 3,
    }
}

/// Refuses a run that is about something else than what is posted to.
fn is_meant(report: &Report, wanted: &Wanted) -> Result<(), Failure> {
    let (change, host) = (&report.change, &wanted.host);
    // A mirror has the same name, number and commits.
    let is_here = change.url.strip_prefix(host.server()).is_some_and(|path| path.starts_with('/'));
    if !change.url.is_empty() && !is_here {
        let message = format!("the run is about `{}`, and not at `{}`", change.url, host.name());
        return Err(Failure::usage(ui::on_one_line(&message))
            .hint("nothing was posted; name the run of this pull request"));
    }
    let claimed = match change.pr_number.as_str() {
        "" => "no pull request".to_owned(),
        number => format!("`{}#{number}`", change.repo),
    };
    let here = format!("{}#{}", wanted.repo, wanted.number);
    if !claimed.eq_ignore_ascii_case(&format!("`{here}`")) {
        return Err(Failure::usage(format!("the run is about {claimed}, and not about `{here}`"))
            .hint("nothing was posted; name the run of this pull request"));
    }
    head_is_meant(report, &wanted.head)
}

/// Refuses a run of another commit than the one that must be the head.
fn head_is_meant(report: &Report, wanted: &Head) -> Result<(), Failure> {
    let (reviewed, wanted) = (&report.change.head_sha, wanted.as_str());
    if !reviewed.eq_ignore_ascii_case(wanted) {
        let message =
            anyhow::anyhow!("the run is about the commit `{reviewed}`, and not about `{wanted}`");
        // Most likely the branch has moved between the jobs of CI, and nobody has named anything wrong.
        return Err(Failure::new(Kind::Outside, message).hint(
            "nothing was posted; if somebody has pushed, review this commit and post that; otherwise name the run of this commit",
        ));
    }
    Ok(())
}

/// The files of the head, if an issue has text that would replace some of theirs. Without them there is a comment without a
/// button.
fn files(report: &Report, name: &Name, hub: &Hub, settings: &Settings) -> Option<(Bare, String)> {
    report.issues.iter().find(|issue| issue.replacement.is_some())?;
    let head = report.change.head_sha.as_str();
    let fetched = || -> Result<Bare, anyhow::Error> {
        let place = Place { host: name.host.name().to_owned(), name: name.repo.to_string() };
        let store = store::alone(settings, &place).map_err(|failure| failure.error)?;
        let address = Address::new(&name.host.git_url(&name.repo), Some(hub.token()?))?;
        let by = format!("refs/pull/{}/head", name.number);
        store.fetch_pins(&address, &[Pin { commit: head, by: Some(&by) }])?;
        Ok(store.bare().clone())
    };
    match fetched() {
        Ok(bare) => Some((bare, head.to_owned())),
        Err(error) => {
            ui::note(&format!(
                "fixes are posted without a button, since the files are not here: {error:#}"
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

    fn wanted() -> Wanted {
        let (host, repo) = (Host::default(), Repo::parse("o/r").unwrap());
        Wanted { host, repo, number: 7, head: Head::parse(&"a".repeat(40)).unwrap() }
    }

    fn refused(repo: &str, number: &str, head: &str) -> Option<String> {
        is_meant(&report(repo, number, head), &wanted())
            .err()
            .map(|failure| failure.error.to_string())
    }

    #[test]
    fn a_run_is_posted_to_the_pull_request_that_it_is_about_and_to_no_other() {
        let head = "a".repeat(40);
        assert_eq!(refused("o/r", "7", &head), None);
        assert_eq!(refused("O/R", "7", &head), None);
        let other =
            |claimed: &str| Some(format!("the run is about {claimed}, and not about `o/r#7`"));
        assert_eq!(refused("o/r", "8", &head), other("`o/r#8`"));
        assert_eq!(refused("x/r", "7", &head), other("`x/r#7`"));
        assert_eq!(refused("o/r", "", &head), other("no pull request"));
        let moved = refused("o/r", "7", "bbb").unwrap();
        assert!(moved.starts_with("the run is about the commit `bbb`"), "{moved}");
    }

    #[test]
    fn a_run_of_a_mirror_is_not_posted_here() {
        let head = "a".repeat(40);
        for (url, fits) in [
            ("", true),
            ("https://github.com/o/r/pull/7", true),
            ("https://github.com.example/o/r/pull/7", false),
            ("https://ghe.corp/o/r/pull/7", false),
        ] {
            let mut report = report("o/r", "7", &head);
            report.change.url = url.to_owned();
            assert_eq!(is_meant(&report, &wanted()).is_ok(), fits, "{url}");
        }
    }

    #[test]
    fn a_repository_may_be_named_with_its_host() {
        let corp = Host::of("https://ghe.corp:8443").unwrap();
        let shown = |named: &str, default: &Host| {
            let found = place(named, default.clone());
            found.map(|(host, repo)| format!("{} {repo}", host.server())).ok()
        };
        let here = Host::default();
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
    fn a_report_that_is_greener_than_what_is_in_it_is_refused() {
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
            checked(&report).err().map(|failure| failure.error.to_string())
        };
        let refused = |claimed: &str, found: &str| {
            Some(format!("the report claims `{claimed}`, and what is in it comes to `{found}`"))
        };
        use Verdict::*;
        assert_eq!(claims(None, ReadyToMerge, Status::Ok), None);
        assert_eq!(claims(Some("P0"), NotReady, Status::Ok), None);
        assert_eq!(claims(Some("P3"), ReadyToMerge, Status::Ok), None);
        // It counts issues that were cut off.
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
