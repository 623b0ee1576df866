//! Child processes for a pull request: their environment and their end.

use std::collections::BTreeSet;
use std::fs;

use expect_test::expect;

use super::GitHubScenario;
use super::tokens::install;
use crh_testkit::Output;

/// Model keys, one with a configured name, and an App key.
const KEYS: [&str; 4] =
    ["ANTHROPIC_API_KEY", "CRH_GITHUB_APP_KEY", "GATEWAY_KEY", "OPENAI_API_KEY"];
/// Variables that a shell sets by itself.
const OF_THE_SHELL: [&str; 4] = ["_", "OLDPWD", "PWD", "SHLVL"];

/// A fetch that never ends.
#[cfg(target_os = "linux")]
mod leaving {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;

    /// How long a test waits for a child: several times what a slow machine needs.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// The lines of a file once it has this many.
    fn lines(file: &Path, count: usize) -> Vec<String> {
        let start = Instant::now();
        loop {
            let text = fs::read_to_string(file).unwrap_or_default();
            if text.ends_with('\n') && text.lines().count() >= count {
                return text.lines().map(str::to_owned).collect();
            }
            assert!(start.elapsed() < PATIENCE, "{text}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether a process runs. A zombie has no command line.
    fn runs(id: &str) -> bool {
        fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| !line.is_empty())
    }

    #[test]
    fn interrupted_fetch_leaves_no_git_process() {
        let hub = GitHubScenario::new();
        let (started, told) = (hub.user.path("started"), hub.user.path("told"));
        // Runs until the test folder is gone. Its lock stays, as after a power failure.
        let waits = format!("while test -e {}; do sleep 0.1; done", started.display());
        let script = format!(
            "case \"$*\" in *\" fetch \"*)\n\
             trap 'echo told > {told}; exit 1' TERM\n\
             touch \"$GIT_DIR/shallow.lock\"; touch {started}\n\
             sh -c '{waits}' & printf '%s\\n' $$ $! > {started}\n\
             wait;; esac\n\
             PATH='REAL' exec git \"$@\"",
            told = told.display(),
            started = started.display(),
        );
        let path = install(&hub, "git", &script);
        let crh = || hub.crh(hub.elsewhere.path(), &["check", &hub.url()]);
        let running = crh().env("PATH", &path).start();
        let ids = lines(&started, 2);
        assert!(ids.iter().all(|id| runs(id)), "{ids:?}");
        running.interrupt();
        let output = running.end();
        assert_eq!(output.code, 130, "{}", output.shown());
        assert!(told.exists(), "git is asked to end, so that it can remove its locks");
        let start = Instant::now();
        while ids.iter().any(|id| runs(id)) {
            assert!(start.elapsed() < PATIENCE, "{ids:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = crh().run();
        assert_eq!(output.code, 1, "{}", output.shown());
    }
}

/// Makes `git` and `gh` record the names of their variables. Returns the `PATH`.
fn watched(hub: &GitHubScenario) -> String {
    let seen = hub.user.path("seen");
    fs::create_dir(&seen).unwrap();
    let names = "env | sed -n 's/^\\([A-Za-z0-9_]*\\)=.*/\\1/p'";
    let script = |name: &str, program: &str| {
        let seen = seen.display();
        format!("{names} >> {seen}/{name}\nPATH='REAL' exec {program} \"$@\"")
    };
    let of_git = "case \"$*\" in *' ls-remote '*) name=asking;; *' fetch '*) name=fetching;; *) name=local;; esac";
    install(hub, "git", &format!("{of_git}\n{}", script("$name", "git")));
    install(hub, "gh", &script("gh", "gh"))
}

/// Variables that the programs saw.
fn seen(hub: &GitHubScenario, name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(hub.user.path("seen").join(name)).unwrap();
    let names = text.lines().filter(|name| !OF_THE_SHELL.contains(name));
    names.map(str::to_owned).collect()
}

/// Variables with a key or token.
fn secrets(hub: &GitHubScenario, name: &str) -> Vec<String> {
    let is_secret = |name: &String| name.ends_with("_TOKEN") || KEYS.contains(&name.as_str());
    seen(hub, name).into_iter().filter(is_secret).collect()
}

/// Runs the program with keys in all places.
fn run(
    hub: &GitHubScenario,
    folder: &std::path::Path,
    args: &[&str],
    environment: &[(&'static str, String)],
    path: &str,
) -> Output {
    let settings = "[model.keys]\n\"https://gateway.example\" = \"GATEWAY_KEY\"\n";
    hub.user.write(".config/crh/config.toml", settings);
    let program = hub.with_environment(folder, args, environment).env("PATH", path);
    KEYS.iter().fold(program, |program, name| program.env(name, "hush")).run()
}

#[test]
fn fetching_git_gets_a_minimal_environment() {
    let hub = GitHubScenario::new();
    let path = watched(&hub);
    let mut environment = hub.github.environment();
    for name in ["KRB5CCNAME", "NIX_SSL_CERT_FILE", "GIT_PROXY_COMMAND", "GIT_TRACE2_DST_DEBUG"] {
        environment.push((name, "0".to_owned()));
    }
    let args = ["check", &hub.url()];
    let output = run(&hub, hub.elsewhere.path(), &args, &environment, &path);
    assert_eq!(output.code, 1, "{}", output.shown());
    let is_numbered = |name: &&String| name.ends_with(|last: char| last.is_ascii_digit());
    let all = seen(&hub, "fetching");
    let names: Vec<&str> = all.iter().filter(|it| !is_numbered(it)).map(String::as_str).collect();
    expect![[r#"
        GIT_ASKPASS
        GIT_CONFIG_COUNT
        GIT_CONFIG_GLOBAL
        GIT_CONFIG_NOSYSTEM
        GIT_DIR
        GIT_EDITOR
        GIT_NO_REPLACE_OBJECTS
        GIT_OPTIONAL_LOCKS
        GIT_PAGER
        GIT_TERMINAL_PROMPT
        GIT_TRACE2_CONFIG_PARAMS
        GIT_TRACE2_DST_DEBUG
        GIT_TRACE2_ENV_VARS
        GIT_TRACE_REDACT
        HOME
        KRB5CCNAME
        LC_ALL
        NIX_SSL_CERT_FILE
        PATH
        SSH_ASKPASS
        SSH_ASKPASS_REQUIRE"#]]
    .assert_eq(&names.join("\n"));
    assert_eq!(secrets(&hub, "local"), Vec::<String>::new());
}

#[test]
fn gh_gets_a_minimal_environment() {
    let hub = GitHubScenario::new();
    let path = watched(&hub);
    let mut environment = hub.github.environment_without();
    environment.push(("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere".to_owned()));
    environment.push(("GH_ENTERPRISE_TOKEN", "hush".to_owned()));
    // Without an App id, crh has no token.
    let args = ["check", &hub.url()];
    let output = run(&hub, hub.elsewhere.path(), &args, &environment, &path);
    assert_eq!(output.code, 2, "{}", output.shown());
    let names: Vec<String> = seen(&hub, "gh").into_iter().collect();
    expect![[r#"
        DBUS_SESSION_BUS_ADDRESS
        GH_PROMPT_DISABLED
        HOME
        NO_COLOR
        PATH"#]]
    .assert_eq(&names.join("\n"));
}

#[test]
fn user_programs_get_no_keys_and_tokens_only_for_remotes() {
    let hub = GitHubScenario::new();
    let path = watched(&hub);
    let clone = hub.clone();
    let filter = format!("env > {}/raw; cat", hub.user.path("seen").display());
    clone.git(&["config", "filter.seen.clean", &filter]);
    clone.write(".git/info/attributes", "*.py filter=seen\n");
    let environment = hub.github.environment();
    let output = run(&hub, clone.path(), &["check", "--no-pr"], &environment, &path);
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(secrets(&hub, "asking"), ["GITHUB_TOKEN"]);
    clone.write("shop/orders.py", "def total(items):\n    return 3\n");
    let output = run(&hub, clone.path(), &["check", "--uncommitted"], &environment, &path);
    assert_eq!(output.code, 0, "{}", output.shown());
    let raw = fs::read_to_string(hub.user.path("seen/raw")).unwrap();
    assert!(raw.contains("CRH_STORE="), "{raw}");
    assert!(!raw.contains("hush") && !raw.contains("_TOKEN="), "{raw}");
    assert_eq!(secrets(&hub, "local"), Vec::<String>::new());
}
