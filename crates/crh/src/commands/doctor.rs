//! `crh doctor`: what works here, and what to do about the rest.

use std::process::ExitCode;

use serde::Serialize;

use super::models::Models;
use super::repository_file::repository_file;
use super::{github, launchpad, store};
use crate::cli::{DoctorArgs, ListingArg};
use crate::config::analysers::AnalysersChoice;
use crate::config::environment::{Environment, GITHUB_APP, PATH};
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, ui};
use crh_git::{Git, OpenError, Repository};
use crh_lint::analysers::Analysers;
use crh_lint::sandbox::Sandbox;
use crh_llm::Provider;
use crh_review::stable_json;

/// The oldest git that has what is used here.
const OLDEST_GIT: (u32, u32) = (2, 31);

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It works.
    Works,
    /// It does not, and a review can do without.
    Lacks,
    /// It does not, and no review can be made.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Examined {
    what: &'static str,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    remedy: String,
    /// Whose fault it is, of what is broken.
    #[serde(skip)]
    fault: Option<Kind>,
}

impl Examined {
    fn works(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, state: State::Works, found: found.into(), remedy: String::new(), fault: None }
    }

    fn lacks(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what, state: State::Lacks, found: found.into(), remedy: remedy.into(), fault: None }
    }

    fn broken(what: &'static str, failure: &Failure) -> Self {
        let found = format!("{:#}", failure.error);
        let remedy = failure.hint.clone().unwrap_or_default();
        Self { what, state: State::Broken, found, remedy, fault: Some(failure.kind) }
    }
}

pub(crate) fn run(args: &DoctorArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let mut examined = vec![git(environment)];
    let repository = Repository::discover(&environment.folder);
    let file = match &repository {
        Ok(repository) => repository_file(repository),
        Err(_) => Ok(None),
    };
    let settings =
        file.and_then(|file| config::load(environment, file.as_ref(), RawSettings::default()));
    match &settings {
        Ok(settings) => {
            let shown = "the files and variables that were found can be read".to_owned();
            examined.push(Examined::works("settings", shown));
            examined.push(in_repository(repository, settings));
            examined.extend(models(settings, environment));
            examined.push(github(environment));
            examined.push(launchpad(settings, environment));
        }
        Err(failure) => examined.push(Examined::broken("settings", failure)),
    }
    examined.extend(external(environment, settings.as_ref().ok()));
    ui::result_text(&match args.format {
        ListingArg::Text => examined.iter().map(shown).collect(),
        ListingArg::Json => stable_json(&examined).or_fail(Kind::Bug)?,
    })?;
    let fault = examined.iter().find_map(|thing| thing.fault);
    Ok(fault.map_or(ExitCode::SUCCESS, Kind::exit_code))
}

fn shown(thing: &Examined) -> String {
    let mark = match thing.state {
        State::Works => "works ",
        State::Lacks => "lacks ",
        State::Broken => "BROKEN",
    };
    let line = format!("{mark}  {:<10}  {}\n", thing.what, ui::on_one_line(&thing.found));
    if thing.remedy.is_empty() {
        return line;
    }
    format!("{line}{:20}-> {}\n", "", ui::on_one_line(&thing.remedy))
}

fn git(environment: &Environment) -> Examined {
    let git = Git::in_folder(&environment.folder);
    match git.version(OLDEST_GIT).and_then(|()| git.text(["--version"])) {
        Ok(version) => Examined::works("git", version),
        Err(error) => {
            let failure = Failure::new(Kind::Outside, error);
            Examined::broken("git", &failure.hint("install git 2.31 or newer"))
        }
    }
}

fn in_repository(repository: Result<Repository, OpenError>, settings: &Settings) -> Examined {
    let what = "repository";
    let repository = match repository {
        Ok(repository) => repository,
        Err(OpenError::NotARepository(_)) => {
            let remedy = "go into one, or hand in a diff with `--diff FILE`";
            return Examined::lacks(what, "you are not in one", remedy);
        }
        Err(error) => {
            let failure = Failure::new(Kind::Usage, error);
            let remedy =
                "`git status` says more; `--diff FILE` reviews a diff without a repository";
            return Examined::broken(what, &failure.hint(remedy));
        }
    };
    match store::open(settings, &repository) {
        Ok(_) => {
            let root = repository.work_tree.as_deref().unwrap_or(&repository.git_dir);
            Examined::works(what, format!("`{}`, and its private store", root.display()))
        }
        Err(failure) => Examined::broken(what, &failure),
    }
}

/// The model that would review, and the providers whose keys are there.
fn models(settings: &Settings, environment: &Environment) -> Vec<Examined> {
    let models = match Models::new(settings, environment) {
        Ok(models) => models,
        Err(failure) => return vec![Examined::broken("model", &failure)],
    };
    let with_key = Provider::ALL
        .iter()
        .filter(|provider| models.surroundings.has_key(&models.catalogue, **provider))
        .filter_map(|provider| models.catalogue.provider(*provider).key.as_deref());
    let keys = keys(with_key.collect());
    if models.are_none(settings) {
        let model = Examined::lacks(
            "model",
            "none: `crh review` runs only the checks that need no model",
            "set a provider's key, or name a model with `--model` or `model.reviewer`",
        );
        return vec![keys, model];
    }
    let model = match models.crew(settings, None) {
        Ok(crew) => Examined::works(
            "model",
            format!("{} reviews; `crh model check` asks it", crew.reviewer.name()),
        ),
        Err(failure) => Examined::broken("model", &failure),
    };
    vec![keys, model]
}

/// The variables that hold the keys of providers. One may serve two providers, which stand side by side.
fn keys(mut variables: Vec<&str>) -> Examined {
    variables.dedup();
    if variables.is_empty() {
        return Examined::lacks(
            "keys",
            "no provider's key is set",
            "`crh model list` shows the variables; a model on this machine needs none",
        );
    }
    Examined::works("keys", format!("`{}` set", variables.join("`, `")))
}

/// Whether pull requests can be read: where from, and with which token. GitHub is not asked.
fn github(environment: &Environment) -> Examined {
    let host = match github::default_host(environment) {
        Ok(host) => host,
        Err(failure) => return Examined::broken("github", &failure),
    };
    if environment.variable(GITHUB_APP[0]).is_some() {
        let found = format!("`{}` is asked as the App of `{}`", host.name(), GITHUB_APP[0]);
        return Examined::works("github", found);
    }
    match github::token(&host, &host, environment) {
        Some(found) => {
            Examined::works("github", format!("`{}` is asked with {}", host.name(), found.from))
        }
        None => Examined::lacks(
            "github",
            format!("no token for `{}`: pull requests cannot be read", host.name()),
            format!(
                "set {}, or log in with `gh auth login`",
                github::variables(&host, &host, environment)
            ),
        ),
    }
}

/// As whom merge proposals are read and commented on. Launchpad is not asked.
fn launchpad(settings: &Settings, environment: &Environment) -> Examined {
    let service = settings.launchpad_service_root.value.service();
    let name = service.name();
    match launchpad::found(service, environment, settings) {
        Ok(found) => match found.from {
            Some(from) => Examined::works("launchpad", format!("`{name}` is asked with {from}")),
            None => Examined::lacks(
                "launchpad",
                format!(
                    "`{name}` is asked as nobody: what is public can be read, and nothing posted"
                ),
                launchpad::TO_LOG_IN,
            ),
        },
        Err(failure) => Examined::broken("launchpad", &failure),
    }
}

/// Whether analysers of others can be shut in here, tried; and which there are.
fn external(environment: &Environment, settings: Option<&Settings>) -> Vec<Examined> {
    let Some(program) = &environment.program else {
        return vec![Examined::lacks("sandbox", "not tried: the program of crh is not found", "")];
    };
    let tried = Sandbox::probe(program);
    let sandbox = sandbox(tried.as_ref().map(|_| ()).map_err(ToString::to_string));
    // Without settings it is not known whether they are to be run.
    let Some(settings) = settings else { return vec![sandbox] };
    let is_off = settings.checks_analysers.value == AnalysersChoice::Never;
    let found = match (is_off, environment.variable(PATH)) {
        (true, _) => Examined::works("analysers", "none is run: `checks.analysers` is `never`"),
        (false, Some(path)) => {
            let checkout = Repository::discover(&environment.folder).ok();
            let checkout = checkout.and_then(|repository| repository.work_tree);
            let found = Analysers::find(program, path, checkout.as_deref(), None);
            let versions = found.installed().map(|(name, _)| {
                let version = tried.as_ref().ok().map(|_| found.version(name));
                (name, version)
            });
            analysers(&versions.collect::<Vec<_>>())
        }
        (false, None) => analysers(&[]),
    };
    vec![sandbox, found]
}

fn sandbox(tried: Result<(), String>) -> Examined {
    match tried {
        Ok(()) => Examined::works(
            "sandbox",
            "analysers are shut in: Landlock, namespaces of users, networks and processes, seccomp",
        ),
        Err(why) => Examined::lacks(
            "sandbox",
            why,
            "without it no analyser is run; it takes Linux 6.2 with Landlock, and user namespaces for ordinary users",
        ),
    }
}

/// The analysers that are installed, each with its version, or with what is wrong with it; none of those is asked without a sandbox.
fn analysers(found: &[(&str, Option<Result<String, String>>)]) -> Examined {
    if found.is_empty() {
        let names = crh_lint::analysers::NAMES.join(", ");
        return Examined::lacks(
            "analysers",
            "none is installed",
            format!("crh makes use of {names}"),
        );
    }
    let said = |(name, version): &(&str, Option<Result<String, String>>)| match version {
        None => format!("{name} (not run)"),
        Some(Ok(version)) if version.contains(name) => version.clone(),
        Some(Ok(version)) => format!("{name} {version}"),
        Some(Err(why)) => format!("{name} (of no use: {why})"),
    };
    let said: Vec<String> = found.iter().map(said).collect();
    Examined::works("analysers", said.join(", "))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(examined: &[Examined], expected: Expect) {
        expected.assert_eq(&examined.iter().map(shown).collect::<String>());
    }

    #[test]
    fn what_is_missing_comes_with_what_to_do_about_it() {
        let settings = Failure::usage("`~/crh.toml` has\na \u{1b}[31mred line").hint("look\nat it");
        check(
            &[
                Examined::works("git", "git version 2.47.3"),
                Examined::lacks("repository", "you are not in one", "go into one"),
                Examined::broken("settings", &settings),
            ],
            expect![[r#"
                works   git         git version 2.47.3
                lacks   repository  you are not in one
                                    -> go into one
                BROKEN  settings    `~/crh.toml` has a \u{1b}[31mred line
                                    -> look at it
            "#]],
        );
    }

    #[test]
    fn keys_are_named_once_and_never_shown() {
        check(
            &[keys(vec![]), keys(vec!["OPENAI_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"])],
            expect![[r#"
                lacks   keys        no provider's key is set
                                    -> `crh model list` shows the variables; a model on this machine needs none
                works   keys        `OPENAI_API_KEY`, `GEMINI_API_KEY` set
            "#]],
        );
    }

    #[test]
    fn the_sandbox_works_or_it_is_said_what_that_means() {
        check(
            &[sandbox(Ok(())), sandbox(Err("this kernel offers no Landlock".to_owned()))],
            expect![[r#"
                works   sandbox     analysers are shut in: Landlock, namespaces of users, networks and processes, seccomp
                lacks   sandbox     this kernel offers no Landlock
                                    -> without it no analyser is run; it takes Linux 6.2 with Landlock, and user namespaces for ordinary users
            "#]],
        );
    }

    #[test]
    fn analysers_are_listed_with_what_they_say_of_themselves() {
        check(
            &[
                analysers(&[]),
                analysers(&[
                    ("ruff", Some(Ok("ruff 0.14.1".to_owned()))),
                    ("eslint", Some(Ok("v9.39.1".to_owned()))),
                    ("semgrep", Some(Err("it failed: no Python".to_owned()))),
                ]),
                analysers(&[("ruff", None)]),
            ],
            expect![[r#"
                lacks   analysers   none is installed
                                    -> crh makes use of ruff, eslint, shellcheck, semgrep, tsc
                works   analysers   ruff 0.14.1, eslint v9.39.1, semgrep (of no use: it failed: no Python)
                works   analysers   ruff (not run)
            "#]],
        );
    }

    #[test]
    fn what_is_broken_is_somebodys_fault_and_what_is_lacking_nobodys() {
        let failure = Failure::new(Kind::Outside, anyhow::anyhow!("git is not there"));
        assert_eq!(Examined::broken("git", &failure).fault, Some(Kind::Outside));
        assert_eq!(Examined::lacks("model", "none", "set a key").fault, None);
    }
}
