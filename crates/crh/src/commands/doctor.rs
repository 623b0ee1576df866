//! `crh doctor`: checks the setup and prints how to fix what is missing.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use super::models::{ModelLoading, ModelResolver, ModelRoles};
use super::repository_file::repository_file;
use super::rest_forge;
use super::{change_source, github, launchpad, run_lookup, store};
use crate::cli::{DoctorArgs, ListFormatArg};
use crate::config::analysers::AnalysersChoice;
use crate::config::environment::{Environment, GITHUB_APP_VARIABLES, PATH};
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind, OrFail, exit_code};
use crate::{config, ui};
use crh_forge::ForgeName;
use crh_forge::rest::RestForge;
use crh_git::{Git, OpenError, Repository, Store};
use crh_lint::analysers::Analysers;
use crh_lint::sandbox::Sandbox;
use crh_llm::{LiveName, Provider};
use crh_pipeline::resolve::TargetError;
use crh_review::stable_json;

/// Oldest supported git version.
const OLDEST_GIT: (u32, u32) = (2, 31);

/// Detail of the check of linters if none is installed.
const NO_LINTER: &str = "no linter is installed";

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckState {
    Works,
    /// Missing, but reviews work without it.
    #[serde(rename = "lacks")]
    Missing,
    /// Wrong or unusable; `crh doctor` fails.
    Broken,
}

/// A check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct DoctorCheck {
    #[serde(rename = "what")]
    name: &'static str,
    state: CheckState,
    #[serde(rename = "found")]
    detail: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    remedy: String,
    /// Kind of the failure, which determines the exit code. Set only if the state is `Broken`.
    #[serde(skip)]
    failure_kind: Option<FailureKind>,
}

impl DoctorCheck {
    fn works(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            name,
            state: CheckState::Works,
            detail: detail.into(),
            remedy: String::new(),
            failure_kind: None,
        }
    }

    fn missing(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            name,
            state: CheckState::Missing,
            detail: detail.into(),
            remedy: remedy.into(),
            failure_kind: None,
        }
    }

    fn broken(name: &'static str, failure: &Failure) -> Self {
        let detail = format!("{:#}", failure.error);
        let remedy = failure.hint.clone().unwrap_or_default();
        Self { name, state: CheckState::Broken, detail, remedy, failure_kind: Some(failure.kind) }
    }
}

pub(crate) fn run(args: &DoctorArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let mut checks = vec![git_check(environment)];
    let repository = Repository::discover(&environment.folder);
    let file = match &repository {
        Ok(repository) => repository_file(repository),
        Err(_) => Ok(None),
    };
    let settings =
        file.and_then(|file| config::load(environment, file.as_ref(), RawSettings::default()));
    match &settings {
        Ok(settings) => {
            let detail = "all config files and variables have valid values; names of rules and reviewers are checked only during a review".to_owned();
            checks.push(DoctorCheck::works("settings", detail));
            checks.extend(repository_checks(repository, settings, environment));
            checks.extend(model_checks(settings, environment));
            checks.push(github_check(environment));
            checks.push(launchpad_check(settings, environment));
            checks.extend(rest_checks(environment));
        }
        Err(failure) => checks.push(DoctorCheck::broken("settings", failure)),
    }
    checks.extend(sandbox_and_analysers(environment, settings.as_ref().ok()));
    ui::result_text(&match args.format {
        ListFormatArg::Text => checks.iter().map(check_text).collect(),
        ListFormatArg::Json => stable_json(&checks).or_fail(FailureKind::Bug)?,
    })?;
    let failure_kind = checks.iter().find_map(|check| check.failure_kind);
    Ok(failure_kind.map_or(ExitCode::SUCCESS, exit_code))
}

fn check_text(check: &DoctorCheck) -> String {
    let mark = match check.state {
        CheckState::Works => "ok     ",
        CheckState::Missing => "missing",
        CheckState::Broken => "BROKEN ",
    };
    let line = format!("{mark}  {:<10}  {}\n", check.name, crh_review::one_line(&check.detail));
    if check.remedy.is_empty() {
        return line;
    }
    format!("{line}{:21}-> {}\n", "", crh_review::one_line(&check.remedy))
}

fn git_check(environment: &Environment) -> DoctorCheck {
    let git = Git::in_folder(&environment.folder);
    match git.check_version(OLDEST_GIT).and_then(|()| git.text(["--version"])) {
        Ok(version) => DoctorCheck::works("git", version),
        Err(error) => {
            let failure = Failure::new(FailureKind::External, error);
            DoctorCheck::broken("git", &failure.hint("install git 2.31 or newer"))
        }
    }
}

/// Checks the repository, the base of its current branch, and the folder of runs.
fn repository_checks(
    repository: Result<Repository, OpenError>,
    settings: &Settings,
    environment: &Environment,
) -> Vec<DoctorCheck> {
    let (check, store) = repository_check(repository, settings);
    let Some(store) = store else { return vec![check] };
    let base = base_check(&store, settings, environment);
    let runs = store.repository().work_tree.is_some().then(|| runs_check(environment));
    [Some(check), base, runs].into_iter().flatten().collect()
}

/// Checks that crh finds the base of the current branch. Sends no request, so a base that only a
/// remote has is not an error. `None` before the first commit.
fn base_check(
    store: &Store,
    settings: &Settings,
    environment: &Environment,
) -> Option<DoctorCheck> {
    let name = "base";
    let repository = store.repository();
    let head = repository.head().ok()??;
    let user_settings = config::load(environment, None, RawSettings::default()).ok()?;
    let branch = user_settings.base_branch.value.name();
    let error = match change_source::find_configured_base(store, &head, branch, environment) {
        Ok(base) => return Some(DoctorCheck::works(name, format!("`{}`", base.branch))),
        Err(error) => error,
    };
    let asks_remote = !settings.git_offline.value
        && repository.remotes().is_ok_and(|remotes| !remotes.is_empty());
    let failure = change_source::target_failure(TargetError::Base(error), None, None);
    let remedy = failure.hint.clone().unwrap_or_default();
    Some(match branch {
        Some(branch) if asks_remote => DoctorCheck::missing(
            name,
            format!("this clone has no branch `{branch}`; a review asks the remote for it"),
            remedy,
        ),
        Some(_) => DoctorCheck::broken(name, &failure),
        None => DoctorCheck::missing(name, format!("{:#}", failure.error), remedy),
    })
}

/// Checks that crh can store runs. Writes nothing.
fn runs_check(environment: &Environment) -> DoctorCheck {
    let name = "runs";
    let folder = match run_lookup::runs_folder(environment, None) {
        Ok(folder) => folder,
        Err(failure) => return DoctorCheck::broken(name, &failure),
    };
    match run_lookup::write_problem(&folder) {
        None => DoctorCheck::works(name, format!("stored in `{}`", folder.display())),
        Some(problem) => {
            let failure = Failure::usage(problem);
            DoctorCheck::broken(name, &failure.hint("use `--run-dir DIR` for another location"))
        }
    }
}

fn repository_check(
    repository: Result<Repository, OpenError>,
    settings: &Settings,
) -> (DoctorCheck, Option<Store>) {
    let name = "repository";
    let repository = match repository {
        Ok(repository) => repository,
        Err(OpenError::NotARepository(_)) => {
            let remedy = "most commands need a repository; `crh review` and `crh check` can also read `--diff FILE`";
            return (DoctorCheck::missing(name, "not inside a git repository", remedy), None);
        }
        Err(error) => {
            let failure = Failure::new(FailureKind::Usage, error);
            let remedy =
                "run `git status` for details; `crh review --diff FILE` works without a repository";
            return (DoctorCheck::broken(name, &failure.hint(remedy)), None);
        }
    };
    match store::open(settings, &repository) {
        Ok(store) => {
            let root = repository.work_tree.as_deref().unwrap_or(&repository.git_dir);
            let summary = format!(
                "`{}`; the folder for crh's own git objects (`store.folder`) is usable",
                root.display()
            );
            (DoctorCheck::works(name, summary), Some(store))
        }
        Err(failure) => (DoctorCheck::broken(name, &failure), None),
    }
}

/// Checks the API keys and the reviewer model.
fn model_checks(settings: &Settings, environment: &Environment) -> Vec<DoctorCheck> {
    let models = match ModelResolver::new(settings, environment) {
        Ok(models) => models.with_loading(ModelLoading::OnFirstQuestion),
        Err(failure) => return vec![DoctorCheck::broken("model", &failure)],
    };
    let with_key = Provider::ALL
        .iter()
        .filter(|provider| models.model_environment.has_key(&models.catalogue, **provider))
        .filter_map(|provider| models.catalogue.provider(*provider).key.as_deref());
    let keys = keys_check(with_key.collect());
    if models.has_no_model(settings) {
        let model = DoctorCheck::missing(
            "model",
            "none configured: `crh review` runs only static checks",
            "set the API key of a provider, set `--model` or `model.reviewer`, or set up a local model with `crh init --local`",
        );
        return vec![keys, model];
    }
    let opened = models.open_all(settings, None).and_then(|_| models.roles(settings));
    match opened {
        Ok(roles) => {
            let reviewer = &roles.reviewer;
            let detail = format!("{reviewer} (no question asked; test it with `crh model check`)");
            let model = match models.local_server_problem(reviewer) {
                Some(failure) => DoctorCheck::broken("model", &failure),
                None => DoctorCheck::works("model", detail),
            };
            let editor = editor_check(&roles, models.independent_editor(&roles));
            vec![keys, model, editor]
        }
        Err(failure) => vec![keys, DoctorCheck::broken("model", &failure)],
    }
}

/// Shows the editor's model, and suggests one of another vendor.
fn editor_check(roles: &ModelRoles, independent: Option<LiveName>) -> DoctorCheck {
    let remedy = independent.map(|name| {
        format!("the reviewers use the same vendor; `model.editor = \"{name}\"` judges more independently")
    });
    DoctorCheck {
        remedy: remedy.unwrap_or_default(),
        ..DoctorCheck::works("editor", roles.editor.to_string())
    }
}

/// Checks API keys. Adjacent providers may share a variable, so `variables` may have duplicates.
fn keys_check(mut variables: Vec<&str>) -> DoctorCheck {
    variables.dedup();
    if variables.is_empty() {
        return DoctorCheck::missing(
            "keys",
            "no API key is set",
            "`crh model list` shows the variables; local models need no key",
        );
    }
    DoctorCheck::works("keys", format!("`{}` set", variables.join("`, `")))
}

/// Checks for a GitHub token. Sends no request.
fn github_check(environment: &Environment) -> DoctorCheck {
    let host = match github::default_host(environment) {
        Ok(host) => host,
        Err(failure) => return DoctorCheck::broken("github", &failure),
    };
    if environment.variable(GITHUB_APP_VARIABLES[0]).is_some() {
        let detail = format!(
            "authenticates to `{}` as the GitHub App of `{}`",
            host.name(),
            GITHUB_APP_VARIABLES[0]
        );
        return DoctorCheck::works("github", detail);
    }
    match github::find_token(&host, &host, environment) {
        Some(token) => DoctorCheck::works(
            "github",
            format!("authenticates to `{}` with {}", host.name(), token.from),
        ),
        None => DoctorCheck::missing(
            "github",
            format!("no token for `{}`: cannot read pull requests", host.name()),
            format!(
                "set {}, or run `gh auth login`",
                github::token_variables(&host, &host, environment)
            ),
        ),
    }
}

/// Checks for a Launchpad login. Sends no request.
fn launchpad_check(settings: &Settings, environment: &Environment) -> DoctorCheck {
    let service = settings.launchpad_service_root.value.service();
    let name = service.name();
    match launchpad::find_login(service, environment, settings) {
        Ok(login) => match login.from {
            Some(login_source) => DoctorCheck::works(
                "launchpad",
                format!("authenticates to `{name}` with {login_source}"),
            ),
            None => DoctorCheck::missing(
                "launchpad",
                format!("not logged in to `{name}`: can read public merge proposals, cannot post"),
                launchpad::HINT_LOG_IN,
            ),
        },
        Err(failure) => DoctorCheck::broken("launchpad", &failure),
    }
}

/// Checks for tokens of the forges that the user configured, or from which the current folder was
/// cloned. Sends no request.
fn rest_checks(environment: &Environment) -> Vec<DoctorCheck> {
    let check = |forge: &'static dyn RestForge| {
        let name = forge.name().name();
        let host = match rest_forge::relevant_host(forge, environment) {
            Ok(host) => host?,
            Err(failure) => return Some(DoctorCheck::broken(name, &failure)),
        };
        let server = host.name();
        Some(match forge.find_token(&host, environment) {
            Some(_) => DoctorCheck::works(name, format!("has a token for `{server}`")),
            None => DoctorCheck::missing(
                name,
                format!("no token for `{server}`: cannot read changes"),
                forge.token_hint(&host),
            ),
        })
    };
    ForgeName::all_rest().filter_map(check).collect()
}

/// Tests the sandbox and lists installed linters.
fn sandbox_and_analysers(
    environment: &Environment,
    settings: Option<&Settings>,
) -> Vec<DoctorCheck> {
    let Some(program) = &environment.program else {
        return vec![DoctorCheck::missing(
            "sandbox",
            "not tested: cannot find the crh executable",
            "",
        )];
    };
    let probe = Sandbox::probe(program);
    let sandbox = sandbox_check(probe.as_ref().map(|_| ()).map_err(ToString::to_string));
    // Whether linters are enabled is unknown without settings.
    let Some(settings) = settings else { return vec![sandbox] };
    let is_off = settings.checks_analysers.value == AnalysersChoice::Never;
    let analysers = match (is_off, environment.variable(PATH)) {
        (true, _) => DoctorCheck::works("analysers", "disabled: `checks.analysers` is `never`"),
        (false, Some(path)) => {
            let checkout = Repository::discover(&environment.folder).ok();
            let checkout = checkout.and_then(|repository| repository.work_tree);
            let linters = Analysers::find(program, path, checkout.as_deref(), None);
            let versions = linters.installed().map(|(name, _)| {
                let version = probe.as_ref().ok().map(|_| linters.version(name));
                (name, version)
            });
            let check = analysers_check(&versions.collect::<Vec<_>>());
            with_shims(check, &linters.shims().collect::<Vec<_>>())
        }
        (false, None) => analysers_check(&[]),
    };
    vec![sandbox, analysers]
}

fn sandbox_check(probe: Result<(), String>) -> DoctorCheck {
    match probe {
        Ok(()) => DoctorCheck::works(
            "sandbox",
            "linters run sandboxed (Landlock, user, network and PID namespaces, seccomp)",
        ),
        Err(reason) => DoctorCheck::missing(
            "sandbox",
            reason,
            "linters do not run without it; it needs Linux 6.2 with Landlock and unprivileged user namespaces",
        ),
    }
}

/// Lists linters with version or error. Without a sandbox crh does not run the linters, so their
/// versions are unknown.
fn analysers_check(linters: &[(&str, Option<Result<String, String>>)]) -> DoctorCheck {
    if linters.is_empty() {
        let names = crh_lint::analysers::LINTERS.join(", ");
        return DoctorCheck::missing("analysers", NO_LINTER, format!("crh can use {names}"));
    }
    let describe = |(name, version): &(&str, Option<Result<String, String>>)| match version {
        None => format!("{name} (not run)"),
        Some(Ok(version)) if version.contains(name) => version.clone(),
        Some(Ok(version)) => format!("{name} {version}"),
        Some(Err(reason)) => format!("{name} (broken: {reason})"),
    };
    let names: Vec<String> = linters.iter().map(describe).collect();
    let is_broken = |(_, version): &&(&str, Option<Result<String, String>>)| {
        version.as_ref().is_some_and(Result::is_err)
    };
    let broken: Vec<String> =
        linters.iter().filter(is_broken).map(|(name, _)| format!("`{name}`")).collect();
    match broken.is_empty() {
        true => DoctorCheck::works("analysers", names.join(", ")),
        false => DoctorCheck::missing(
            "analysers",
            names.join(", "),
            format!("reviews skip {}: repair or remove it", broken.join(", ")),
        ),
    }
}

/// Adds linters that crh does not use because only a shim is installed.
fn with_shims(check: DoctorCheck, shims: &[(&str, PathBuf)]) -> DoctorCheck {
    let [(name, path), ..] = shims else { return check };
    let names: Vec<String> = shims
        .iter()
        .map(|(name, path)| format!("{name} (unusable: `{}` is a shim)", path.display()))
        .collect();
    let detail = match check.detail.as_str() {
        NO_LINTER => names.join(", "),
        linters => format!("{linters}, {}", names.join(", ")),
    };
    let folder = path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let remedy = format!(
        "a version manager cannot start `{name}` in the sandbox: put the folder of the real program before `{folder}` in `PATH`"
    );
    DoctorCheck { detail, remedy, ..check }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crh_testkit::Repo;

    fn check(examined: &[DoctorCheck], expected: Expect) {
        expected.assert_eq(&examined.iter().map(check_text).collect::<String>());
    }

    #[test]
    fn missing_things_are_shown_with_remedy() {
        let settings = Failure::usage("`~/crh.toml` has\na \u{1b}[31mred line").hint("look\nat it");
        check(
            &[
                DoctorCheck::works("git", "git version 2.47.3"),
                DoctorCheck::missing(
                    "repository",
                    "not inside a git repository",
                    "change to a repository",
                ),
                DoctorCheck::broken("settings", &settings),
            ],
            expect![[r#"
                ok       git         git version 2.47.3
                missing  repository  not inside a git repository
                                     -> change to a repository
                BROKEN   settings    `~/crh.toml` has a \u{1b}[31mred line
                                     -> look at it
            "#]],
        );
    }

    /// The checks of a repository, with `REPO` for its path.
    fn check_repository(repo: &Repo, variables: &[(&'static str, &str)], expected: Expect) {
        let home = tempfile::tempdir().unwrap();
        let variables = variables.iter().map(|(name, value)| (*name, (*value).into()));
        let variables = variables.chain([("HOME", home.path().into())]);
        let environment = Environment::new(repo.path().to_owned(), variables);
        let settings = config::load(&environment, None, RawSettings::default()).unwrap();
        let found = Repository::discover(repo.path());
        let checks = repository_checks(found, &settings, &environment);
        let text: String = checks.iter().skip(1).map(check_text).collect();
        let root = repo.path().canonicalize().unwrap();
        expected.assert_eq(&text.replace(root.to_str().unwrap(), "REPO"));
    }

    #[test]
    fn unusable_base_and_run_folder_are_broken() {
        let repo = Repo::from_fixture("//- a.txt\na\n");
        check_repository(
            &repo,
            &[],
            expect![[r#"
                missing  base        there is nothing to compare `main` with: the repository has no remote and no other main branch
                                     -> review uncommitted and untracked files with `--uncommitted`, a commit with `--commit SHA`, or name a base with `--base REF`
                ok       runs        stored in `REPO/.crh/runs`
            "#]],
        );
        repo.write(".crh", "a file");
        check_repository(
            &repo,
            &[("CRH_BASE", "nope")],
            expect![[r#"
                BROKEN   base        Unable to resolve PR base branch nope locally. Fetch the base branch and rerun so the review scope stays aligned with the PR.
                                     -> name a base with `--base REF`, with `CRH_BASE`, or with `base.branch` in your own settings; `--uncommitted` needs no base
                BROKEN   runs        `REPO/.crh` is not a folder
                                     -> choose another folder with `--run-dir DIR`
            "#]],
        );
        let state = repo.path().join(".crh");
        std::fs::remove_file(&state).unwrap();
        std::os::unix::fs::symlink("elsewhere", &state).unwrap();
        check_repository(
            &repo,
            &[],
            expect![[r#"
                missing  base        there is nothing to compare `main` with: the repository has no remote and no other main branch
                                     -> review uncommitted and untracked files with `--uncommitted`, a commit with `--commit SHA`, or name a base with `--base REF`
                BROKEN   runs        `REPO/.crh` is a symbolic link
                                     -> replace the link with a folder; to read the runs in it, pass `--run-dir DIR`
            "#]],
        );
    }

    /// A review follows the config at the base, and not the one of the branch.
    #[test]
    fn config_at_the_base_chooses_the_base() {
        let repo = Repo::from_fixture("//- a.txt\na\n");
        repo.write("crh.toml", "[base]\nbranch = 'develop'\n");
        repo.commit("use develop");
        repo.git(&["branch", "develop"]);
        repo.git(&["switch", "--quiet", "--create", "feature"]);
        repo.write("crh.toml", "[base]\nbranch = 'other'\n");
        repo.commit("feature");
        check_repository(
            &repo,
            &[],
            expect![[r#"
                ok       base        `develop`
                ok       runs        stored in `REPO/.crh/runs`
            "#]],
        );
    }

    #[test]
    fn read_only_folder_is_not_writable() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join(".crh/runs");
        assert_eq!(run_lookup::write_problem(&runs), None);
        let read_only = std::os::unix::fs::PermissionsExt::from_mode(0o555);
        std::fs::set_permissions(folder.path(), read_only).unwrap();
        // Root may write everywhere.
        if std::fs::create_dir(folder.path().join("probe")).is_err() {
            let problem = run_lookup::write_problem(&runs).unwrap();
            assert!(problem.ends_with(": Permission denied (os error 13)"), "{problem}");
        }
    }

    #[test]
    fn key_variables_are_named_once() {
        check(
            &[
                keys_check(vec![]),
                keys_check(vec!["OPENAI_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"]),
            ],
            expect![[r#"
                missing  keys        no API key is set
                                     -> `crh model list` shows the variables; local models need no key
                ok       keys        `OPENAI_API_KEY`, `GEMINI_API_KEY` set
            "#]],
        );
    }

    #[test]
    fn editor_of_another_vendor_is_suggested() {
        let [reviewer, editor] =
            ["openai:a", "openai:b"].map(|name| name.parse::<crh_llm::ModelName>().unwrap());
        let (cheap, escalation) = (reviewer.clone(), reviewer.clone());
        let roles = ModelRoles { reviewer, cheap, escalation, editor };
        let other =
            LiveName { provider: Provider::Anthropic, model: "c".to_owned(), base_url: None };
        check(
            &[editor_check(&roles, None), editor_check(&roles, Some(other))],
            expect![[r#"
            ok       editor      openai:b
            ok       editor      openai:b
                                 -> the reviewers use the same vendor; `model.editor = "anthropic:c"` judges more independently
        "#]],
        );
    }

    #[test]
    fn sandbox_check_explains_failure() {
        check(
            &[
                sandbox_check(Ok(())),
                sandbox_check(Err("the kernel does not support Landlock".to_owned())),
            ],
            expect![[r#"
                ok       sandbox     linters run sandboxed (Landlock, user, network and PID namespaces, seccomp)
                missing  sandbox     the kernel does not support Landlock
                                     -> linters do not run without it; it needs Linux 6.2 with Landlock and unprivileged user namespaces
            "#]],
        );
    }

    #[test]
    fn linters_are_listed_with_versions() {
        check(
            &[
                analysers_check(&[]),
                analysers_check(&[
                    ("ruff", Some(Ok("ruff 0.14.1".to_owned()))),
                    ("eslint", Some(Ok("v9.39.1".to_owned()))),
                    ("semgrep", Some(Err("no Python".to_owned()))),
                ]),
                analysers_check(&[("ruff", None)]),
            ],
            expect![[r#"
                missing  analysers   no linter is installed
                                     -> crh can use ruff, eslint, shellcheck, semgrep, tsc
                missing  analysers   ruff 0.14.1, eslint v9.39.1, semgrep (broken: no Python)
                                     -> reviews skip `semgrep`: repair or remove it
                ok       analysers   ruff (not run)
            "#]],
        );
    }

    #[test]
    fn shims_are_listed_with_a_remedy() {
        let shims = [("ruff", PathBuf::from("/home/ann/.pyenv/shims/ruff"))];
        let eslint = analysers_check(&[("eslint", Some(Ok("v9.39.1".to_owned())))]);
        check(
            &[with_shims(analysers_check(&[]), &shims), with_shims(eslint, &shims)],
            expect![[r#"
                missing  analysers   ruff (unusable: `/home/ann/.pyenv/shims/ruff` is a shim)
                                     -> a version manager cannot start `ruff` in the sandbox: put the folder of the real program before `/home/ann/.pyenv/shims` in `PATH`
                ok       analysers   eslint v9.39.1, ruff (unusable: `/home/ann/.pyenv/shims/ruff` is a shim)
                                     -> a version manager cannot start `ruff` in the sandbox: put the folder of the real program before `/home/ann/.pyenv/shims` in `PATH`
            "#]],
        );
    }

    #[test]
    fn only_broken_checks_set_exit_code() {
        let failure = Failure::new(FailureKind::External, anyhow::anyhow!("git not found"));
        assert_eq!(DoctorCheck::broken("git", &failure).failure_kind, Some(FailureKind::External));
        assert_eq!(DoctorCheck::missing("model", "none", "set a key").failure_kind, None);
    }
}
