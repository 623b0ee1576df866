//! `action.yml` and its script as a runner uses them: variables in, files and log out, exit code as
//! gate.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{GitHubScenario, NAME};
use crate::root;
use crh_testkit::fake_github::TOKEN;
use crh_testkit::{Program, Repo};

/// Lines that the runner would take for commands.
const HOSTILE: [&str; 2] = ["::set-output name=exit_code::0", "::add-mask::crh"];

/// A workflow step with its results.
struct Step {
    code: i32,
    /// Combined standard output and standard error.
    log: String,
    /// `GITHUB_OUTPUT`.
    output: String,
    /// `GITHUB_STEP_SUMMARY`.
    summary: String,
    /// Environment of the first start of crh.
    environment: String,
}

/// Runs a step with the real program, preceded by two hostile lines and a dump of its environment.
fn step(hub: &GitHubScenario, mode: &str, more: &[(&str, &str)]) -> Step {
    let file = |name: &str| hub.user.path(&format!("{mode}-{name}")).to_str().unwrap().to_owned();
    let (output, summary, environment) = (file("output"), file("summary"), file("environment"));
    for path in [&output, &summary] {
        fs::write(path, "").unwrap();
    }
    let [stdout, stderr] = HOSTILE;
    let program = format!(
        "#!/bin/sh\nif [ \"$1\" != show ]; then env >'{environment}'; echo '{stdout}'; echo '{stderr}' >&2; fi\nexec '{}' \"$@\"\n",
        env!("CARGO_BIN_EXE_crh")
    );
    hub.user.write("crh", &program);
    fs::set_permissions(hub.user.path("crh"), fs::Permissions::from_mode(0o755)).unwrap();
    let script = root().join("scripts/action");
    let head = hub.github.head(&hub.pull);
    let number = hub.pull.number.to_string();
    let home = hub.user.path("");
    let usual = [
        ("CI", "true"),
        ("HOME", home.to_str().unwrap()),
        ("CRH_STORE", &file("store")),
        ("CRH_ANALYSERS", "never"),
        ("CRH_PROGRAM", hub.user.path("crh").to_str().unwrap()),
        ("CRH_MODE", mode),
        ("CRH_PULL_REQUEST", &number),
        ("CRH_REPOSITORY", NAME),
        ("CRH_HEAD", &head),
        ("CRH_SINK", "github"),
        ("CRH_PACK", "change.tar"),
        ("CRH_RUN_DIR", ""),
        ("RUNNER_TEMP", hub.elsewhere.path().to_str().unwrap()),
        ("CRH_ARGUMENTS", ""),
        ("CRH_TOKEN", TOKEN),
        ("GITHUB_OUTPUT", &output),
        ("GITHUB_STEP_SUMMARY", &summary),
    ]
    .map(|(name, value)| (name, value.to_owned()));
    let shell = Program::new("bash", hub.elsewhere.path());
    let shell = shell.args(["-c", "exec 2>&1; exec \"$0\"", script.to_str().unwrap()]);
    let shell = hub
        .github
        .environment_without()
        .into_iter()
        .chain(usual)
        .fold(shell, |shell, (name, value)| shell.env(name, &value));
    let shell = more.iter().fold(shell, |shell, (name, value)| shell.env(name, value));
    let ended = shell.run();
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let step = Step {
        code: ended.code,
        log: ended.stdout,
        output: read(&output),
        summary: read(&summary),
        environment: read(&environment),
    };
    for text in [&step.log, &step.output, &step.summary] {
        assert!(!text.contains(TOKEN), "{text}");
    }
    step.says_nothing_hostile();
    let runs = hub.elsewhere.path().join("crh-runs");
    let expected = format!("run_dir={}\nexit_code={}\n", runs.display(), step.code);
    assert_eq!(step.output, expected, "{}", step.log);
    step
}

impl Step {
    /// Lines that a runner takes for commands.
    fn commands(&self) -> Vec<&str> {
        let mut stopped: Option<String> = None;
        let mut commands = Vec::new();
        for line in self.log.lines() {
            match &stopped {
                Some(word) if line == format!("::{word}::") => stopped = None,
                Some(_) => {}
                None => match line.strip_prefix("::stop-commands::") {
                    Some(word) => stopped = Some(word.to_owned()),
                    None if line.starts_with("::") => commands.push(line),
                    None => {}
                },
            }
        }
        assert_eq!(stopped, None, "commands are heard again at the end: {}", self.log);
        commands
    }

    fn says_nothing_hostile(&self) {
        for hostile in HOSTILE {
            assert!(self.log.contains(hostile), "it was said: {}", self.log);
            assert!(!self.commands().contains(&hostile), "{}", self.log);
        }
        let ours = ["::error ", "::warning ", "::notice "];
        for command in self.commands() {
            assert!(ours.iter().any(|word| command.starts_with(word)), "{command}");
        }
    }
}

#[test]
fn mode_all_reviews_posts_and_fails_the_step() {
    let hub = GitHubScenario::new();
    let step = step(&hub, "all", &[("CRH_ARGUMENTS", "--strategy\n\nstatic\n--lang=German\n")]);
    assert_eq!(step.code, 1, "{}", step.log);
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
    assert!(!hub.github.threads(&hub.pull).is_empty());
    let beside_a_line = |command: &&str| command.contains("file=shop/orders.py");
    assert!(step.commands().iter().any(beside_a_line), "{:?}", step.commands());
    assert!(step.summary.contains("Code Review Results"), "{}", step.summary);
}

#[test]
fn three_jobs_post_the_same_as_one() {
    let hub = GitHubScenario::new();
    let prepared = step(&hub, "prepare", &[]);
    assert_eq!(prepared.code, 0, "{}", prepared.log);
    assert!(prepared.environment.contains(TOKEN));
    hub.github.forget_requests();
    let keys = [("GITHUB_TOKEN", TOKEN), ("GH_TOKEN", TOKEN), ("GH_ENTERPRISE_TOKEN", TOKEN)];
    let reviewed = step(&hub, "review", &keys);
    assert_eq!(reviewed.code, 1, "{}", reviewed.log);
    assert!(reviewed.environment.contains("CRH_MODE") && !reviewed.environment.contains(TOKEN));
    assert_eq!(hub.github.requests().len(), 0, "it asks GitHub nothing");
    assert!(reviewed.summary.contains("Code Review Results"), "{}", reviewed.summary);
    let posted = step(&hub, "post", &[("CRH_SINK", "github-comment github-sarif")]);
    assert_eq!(posted.code, 0, "{}", posted.log);
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
    assert_eq!(hub.github.sarifs(NAME).len(), 1);
    assert_eq!(hub.github.threads(&hub.pull).len(), 0);
    let again = step(&hub, "post", &[("CRH_SINK", "")]);
    assert_eq!(again.code, 0, "{}", again.log);
    assert!(!hub.github.threads(&hub.pull).is_empty(), "a review, if nothing else is said");
}

#[test]
fn incomplete_review_fails_and_shows_only_its_own_run() {
    let repo = Repo::from_fixture("\n    //- a.py\n    x = 1\n    ");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("a.py", "x = 2\n");
    repo.commit("a change");
    let hub = GitHubScenario::with(repo);
    let limited = step(&hub, "all", &[]);
    assert_eq!(limited.code, 4, "no model was asked: {}", limited.log);
    assert!(
        limited.commands().iter().any(|line| line.contains("is incomplete")),
        "{}",
        limited.log
    );
    let refused = step(&hub, "all", &[("CRH_PULL_REQUEST", "")]);
    assert_eq!(refused.code, 2, "{}", refused.log);
    assert!(refused.summary.starts_with("Nothing was reviewed"), "{}", refused.summary);
}

#[test]
fn moved_head_is_neither_prepared_nor_reviewed() {
    let hub = GitHubScenario::new();
    let of_event = [("CRH_HEAD", hub.repo.id("main"))];
    let of_event = of_event.each_ref().map(|(name, head)| (*name, head.as_str()));
    for mode in ["prepare", "all"] {
        let refused = step(&hub, mode, &of_event);
        assert_eq!(refused.code, 3, "{}", refused.log);
        assert!(refused.log.contains("the head of the pull request is"), "{}", refused.log);
    }
    assert!(!hub.elsewhere.path().join("change.tar").exists());
    assert_eq!(hub.github.writes_received(), 0);
    let prepared = step(&hub, "prepare", &[("CRH_HEAD", "")]);
    assert_eq!(prepared.code, 0, "an event without a head takes the one that is there");
}

#[test]
fn post_without_head_uses_the_event() {
    let hub = GitHubScenario::new();
    let reviewed = step(&hub, "all", &[("CRH_SINK", ""), ("CRH_ARGUMENTS", "--strategy=static")]);
    assert_eq!(reviewed.code, 1, "{}", reviewed.log);
    let nowhere = step(&hub, "post", &[("CRH_HEAD", "")]);
    assert_eq!(nowhere.code, 2, "{}", nowhere.log);
    assert!(nowhere.log.contains("no head commit given"), "{}", nowhere.log);
    let post = |head: &str| {
        let event =
            json!({ "pull_request": { "number": hub.pull.number, "head": { "sha": head } } });
        hub.user.write("event.json", &event.to_string());
        let path = hub.user.path("event.json");
        step(&hub, "post", &[("CRH_HEAD", ""), ("GITHUB_EVENT_PATH", path.to_str().unwrap())])
    };
    let other = post(&hub.repo.id("main"));
    assert_eq!(other.code, 3, "{}", other.log);
    assert_eq!(hub.github.writes_received(), 0);
    let posted = post(&hub.github.head(&hub.pull));
    assert_eq!(posted.code, 0, "{}", posted.log);
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
}

#[test]
fn unknown_mode_is_refused() {
    let hub = GitHubScenario::new();
    let script = root().join("scripts/action");
    let program = Program::new("bash", hub.elsewhere.path()).args([script.to_str().unwrap()]);
    let ended = program.env("CRH_MODE", "everything").run();
    assert_eq!(ended.code, 2, "{}", ended.shown());
    assert!(ended.stderr.contains("unknown mode `everything`"), "{}", ended.stderr);
}

fn action() -> Value {
    yaml("action.yml")
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(root().join(path)).unwrap()).unwrap()
}

/// Fails unless actions are pinned to a commit and no expression becomes part of a script.
fn assert_safe_steps(steps: &Value) {
    let is_pinned = |uses: &str| {
        let commit = uses.split_once('@').map_or("", |(_, commit)| commit);
        commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    for step in steps.as_array().unwrap() {
        match (step["uses"].as_str(), step["run"].as_str()) {
            (Some(uses), None) => assert!(is_pinned(uses), "{uses}"),
            (None, Some(run)) => assert!(!run.contains("${{"), "{run}"),
            (_, _) => panic!("a step uses or runs: {step}"),
        }
    }
}

#[test]
fn actions_are_pinned_and_scripts_have_no_expressions() {
    for (path, steps) in [("action.yml", 4), ("packaging/gitea/action.yml", 1)] {
        let action = yaml(path);
        assert_eq!(action["runs"]["using"], "composite");
        assert_eq!(action["runs"]["steps"].as_array().unwrap().len(), steps, "{path}");
        let steps = &action["runs"]["steps"];
        assert_safe_steps(steps);
        for step in steps.as_array().unwrap().iter().filter(|step| step["run"].is_string()) {
            assert_eq!(step["shell"], "bash", "{step}");
        }
        for (name, input) in action["inputs"].as_object().unwrap() {
            assert!(input["description"].is_string() && input["default"].is_string(), "{name}");
        }
    }
}

#[test]
fn gitlab_component_keeps_token_and_model_key_apart() {
    let text = fs::read_to_string(root().join("templates/review.yml")).unwrap();
    let (spec, jobs) = text.split_once("\n---\n").unwrap();
    let spec: Value = serde_saphyr::from_str(spec).unwrap();
    let jobs: Value = serde_saphyr::from_str(jobs).unwrap();
    for (at, _) in jobs.to_string().match_indices("$[[") {
        let input = jobs.to_string()[at..].split(' ').nth(1).unwrap().to_owned();
        let name = input.strip_prefix("inputs.").unwrap();
        assert!(spec["spec"]["inputs"][name].is_object(), "{name}");
    }
    let environment = |job: &str| jobs[job]["environment"]["name"].as_str().unwrap_or("none");
    let environments = ["crh-install", "crh-prepare", "crh-review", "crh-post"].map(environment);
    assert_eq!(environments, ["none", "crh-gitlab", "crh-model", "crh-gitlab"]);
    for (name, job) in jobs.as_object().unwrap() {
        // An input becomes part of a script only as the value of a variable.
        assert!(!job["script"].to_string().contains("$[["), "{name}");
        assert!(name == ".crh" || job["extends"] == ".crh", "{name}");
    }
}

#[test]
fn release_workflow_is_pinned_and_each_job_names_its_permissions() {
    let path = ".github/workflows/release.yml";
    let text = fs::read_to_string(root().join(path)).unwrap();
    let workflow = yaml(path);
    assert_eq!(workflow["permissions"], json!({}));
    for (name, job) in workflow["jobs"].as_object().unwrap() {
        assert!(job["permissions"].is_object(), "{name}");
        assert_safe_steps(&job["steps"]);
        // Only the jobs that publish may write.
        let has_approval = job["environment"].is_string();
        assert!(has_approval || job["permissions"]["contents"] == "read", "{name}");
    }
    let script = fs::read_to_string(root().join("scripts/release")).unwrap();
    let commands =
        text.split("scripts/release ").skip(1).filter_map(|it| it.split([' ', '\n']).next());
    for command in commands.filter(|it| !it.starts_with('`')) {
        assert!(script.contains(&format!("\n{command}) ")), "{command}");
    }
}

#[test]
fn action_sets_every_variable_of_the_script() {
    let action = action();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let given: BTreeSet<String> =
        steps.last().unwrap()["env"].as_object().unwrap().keys().cloned().collect();
    let script = fs::read_to_string(root().join("scripts/action")).unwrap();
    let is_name = |char: char| char.is_ascii_uppercase() || char == '_';
    let read = script.split('$').map(|after| after.trim_start_matches('{'));
    let read = read
        .map(|after| after[..after.find(|char| !is_name(char)).unwrap_or(after.len())].to_owned());
    let read: BTreeSet<String> = read.filter(|name| name.starts_with("CRH_")).collect();
    assert_eq!(read, given);
    let token = steps.last().unwrap()["env"]["CRH_TOKEN"].as_str().unwrap();
    assert!(token.contains("inputs.mode != 'review'"), "{token}");
}

/// A `gh` that serves the release in `$RELEASE` and knows one attested commit.
const GH: &str = r#"#!/bin/sh
case "$1 $2" in
"api "*) echo "$COMMIT" ;;
"release download")
    while [ $# -gt 0 ]; do
        case $1 in --dir) dir=$2 ;; --pattern) files="$files $2" ;; esac
        shift
    done
    for file in $files; do cp "$RELEASE/$file" "$dir/" || exit 1; done ;;
"attestation verify") [ "$6 $7" = "--source-digest $ATTESTED" ] ;;
*) exit 9 ;;
esac
"#;

/// A `curl` that downloads from `$RELEASE`.
const CURL: &str = r#"#!/bin/sh
while [ $# -gt 1 ]; do
    case $1 in --output) output=$2 ;; esac
    shift
done
[ "${1%/*}" = https://github.com/o/crh/releases/download/v$VERSION ] && cp "$RELEASE/${1##*/}" "$output"
"#;

const UNAME: &str = r#"#!/bin/sh
case $1 in -s) echo Linux ;; -m) echo x86_64 ;; esac
"#;

/// A `cargo` that "builds" a program that says so.
const CARGO: &str = r#"#!/bin/sh
mkdir -p "$RUNNER_TEMP/crh-target/release"
printf '#!/bin/sh\necho built\n' > "$RUNNER_TEMP/crh-target/release/crh"
chmod +x "$RUNNER_TEMP/crh-target/release/crh"
"#;

#[test]
fn action_installs_only_the_attested_release_of_its_commit() {
    let pin = "export CRH_ARCHIVE_SHA256=$(sha256sum $NAME.tar.gz | cut -c1-64)";
    let gitlab = format!("{pin}; unset RUNNER_OS RUNNER_ARCH RUNNER_TEMP");
    let replaced = format!("{pin}; echo x >>$NAME.tar.gz");
    let missing = format!("{pin}; rm $NAME.tar.gz");
    // The attested commit, a change of the release, which program is installed, and why.
    let cases = [
        ("aaa", "true", "downloaded", "was downloaded and verified"),
        ("bbb", "true", "built", "it has no attestation for the action's commit"),
        ("aaa", "echo x >>$NAME.tar.gz", "built", "its checksum is wrong"),
        ("aaa", "sed -i s/crh-cli/other/ SHA256SUMS", "built", "its checksum is wrong"),
        ("aaa", "rm $NAME.tar.gz", "built", "there is no release"),
        ("bbb", pin, "downloaded", "was downloaded and verified"),
        ("bbb", &gitlab, "downloaded", "was downloaded and verified"),
        ("aaa", &replaced, "built", "its checksum is not the pinned one"),
        ("aaa", &missing, "built", "there is no release"),
    ];
    for (attested, change, program, reason) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let name = format!("crh-cli-{}-x86_64-unknown-linux-musl", env!("CARGO_PKG_VERSION"));
        for (tool, text) in [("gh", GH), ("curl", CURL), ("uname", UNAME), ("cargo", CARGO)] {
            fs::create_dir_all(path("bin")).unwrap();
            fs::write(path(&format!("bin/{tool}")), text).unwrap();
        }
        let prepare = format!(
            "set -e; chmod +x bin/*; mkdir -p release temp program $NAME; \
             printf '#!/bin/sh\\necho downloaded\\n' >$NAME/crh; chmod +x $NAME/crh; \
             tar -czf release/$NAME.tar.gz $NAME; cd release; sha256sum $NAME.tar.gz >SHA256SUMS; {change}; cd .."
        );
        let script = root().join("scripts/action-install");
        let run =
            format!("{prepare}; export PATH=$PWD/bin:$PATH; {}; program/crh", script.display());
        let ended = Program::new("bash", folder.path())
            .args(["-c", &run])
            .env("NAME", &name)
            .env("VERSION", env!("CARGO_PKG_VERSION"))
            .env("RELEASE", &path("release"))
            .env("RUNNER_TEMP", &path("temp"))
            .env("RUNNER_OS", "Linux")
            .env("RUNNER_ARCH", "X64")
            .env("CRH_FOLDER", &path("program"))
            .env("CRH_ACTION_REPOSITORY", "o/crh")
            .env("CRH_ACTION_REF", "v1")
            .env("COMMIT", "aaa")
            .env("ATTESTED", attested)
            .run();
        assert!(ended.stdout.contains(reason), "{}", ended.shown());
        assert!(ended.stdout.ends_with(&format!("{program}\n")), "{}", ended.shown());
    }
}
