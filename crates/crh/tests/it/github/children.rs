//! Programs that crh starts for a pull request: what they get to see, and how they end.

use std::fs;

use super::Hub;
use super::tokens::install;

/// What a fetch does that never ends, and what is left of it.
#[cfg(target_os = "linux")]
mod leaving {
    use std::path::Path;
    use std::time::Duration;
    use std::time::Instant;

    use super::*;

    /// How long a test waits for a child to start: several times what a slow machine takes.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// The lines of a file, as soon as there are so many.
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

    /// Whether a process runs; what has ended and was not waited for has no command line any more.
    fn runs(id: &str) -> bool {
        fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| !line.is_empty())
    }

    #[test]
    fn whoever_leaves_during_a_fetch_leaves_no_git_behind_and_can_come_back() {
        let hub = Hub::new();
        let (started, told) = (hub.user.path("started"), hub.user.path("told"));
        // Until the folder of this test is gone, if nobody ends it before. Its lock stays, as after a power failure.
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

#[test]
fn no_child_sees_a_key_or_a_token_that_it_does_not_need() {
    let hub = Hub::new();
    let seen = hub.user.path("seen");
    for program in ["git", "gh"] {
        let script =
            format!("env | sed 's/=.*//' >> {}\nPATH='REAL' exec {program} \"$@\"", seen.display());
        install(&hub, program, &script);
    }
    let path = install(&hub, "other", "exit 0");
    let check = |environment: &[(&'static str, String)]| {
        let program =
            hub.with_environment(hub.elsewhere.path(), &["check", &hub.url()], environment);
        let program = program.env("PATH", &path).env("OPENAI_API_KEY", "hush");
        program.env("CRH_GITHUB_APP_KEY", "hush").env("ANTHROPIC_API_KEY", "hush").run()
    };
    let output = check(&hub.github.environment());
    assert_eq!(output.code, 1, "{}", output.shown());
    // Without a token, `gh` is asked for one.
    let output = check(&hub.github.environment_without());
    assert_eq!(output.code, 2, "{}", output.shown());
    let seen = fs::read_to_string(&seen).unwrap();
    assert!(seen.contains("GIT_CONFIG_COUNT") && seen.contains("GH_PROMPT_DISABLED"), "{seen}");
    let secret = |name: &&str| name.ends_with("_TOKEN") || name.ends_with("_KEY");
    assert_eq!(seen.lines().filter(secret).collect::<Vec<_>>(), Vec::<&str>::new());
}
