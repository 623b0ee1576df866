//! The questions of an interactive review, asked by the real program at a pseudo-terminal: what is on the screen at every question
//! is compared with the files in `tests/data/interactive`.

mod ends;
mod intent;
mod kept;
mod leaving;
mod published;
mod routing;
mod strange;
mod terminals;
mod trackers;
mod walk_through;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};

use crate::review::script::{answers, confirms, finding, with};
use crate::review::{SHOP, with_model};
use crate::user::User;
use crh_testkit::fake_model::{Asked, Scripted};
use crh_testkit::{Ended, FakeGitHub, FakeModel, Program, Repo, Terminal};

/// What ends every question on a screen that has room for it.
const KEYS: &str = "nothing stays changed";
/// How a report begins.
const REPORT: &str = "Scope:  ";
/// How what says how to go on begins, however narrow the window is.
const RESUME: &str = "note: `crh review";
/// A terminal that nobody has made larger.
const USUAL: (u16, u16) = (80, 24);

/// How long something may take on a slow machine. A test that passes never waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The repository at GitHub.
const NAME: &str = "acme/shop";

/// A `gh` that is not logged in.
const GH: &str = "#!/bin/sh
echo not logged in >&2
exit 1
";
/// A tracker that is down as long as a file says so.
const TRACKER: &str = "#!/bin/sh
cat >> \"$HOME/tickets\"
test ! -e \"$HOME/down\" || { echo the tracker is down >&2; exit 1; }
echo https://tracker.example/$(wc -l < \"$HOME/tickets\" | tr -d ' ')
";

fn executable(user: &User, name: &str, script: &str) {
    user.write(name, script);
    std::fs::set_permissions(user.path(name), Permissions::from_mode(0o755)).unwrap();
}

/// Safe to fix: the exact text is there.
fn safe() -> Value {
    let quote = "    except Exception:\n        pass";
    let found = finding("P2", "A failed mail is swallowed", "shop/mail.py:4", quote);
    with(
        found,
        json!({
            "line_end": 5, "autofix_class": "safe_auto", "owner": "review-fixer",
            "suggested_fix": "Let the exception through.",
            "replacement": "    except Exception:\n        raise",
        }),
    )
}

/// Has a fix that somebody has to agree to.
fn gated() -> Value {
    let title = "The total is divided by the count";
    let found = finding("P1", title, "shop/orders.py:5", "return result / len(items)");
    with(
        found,
        json!({
            "autofix_class": "gated_auto", "owner": "downstream-resolver",
            "suggested_fix": "Return the sum.", "replacement": "    return result",
        }),
    )
}

/// Has no fix.
fn deferred() -> Value {
    let title = "An unpaid order is refunded";
    let found = finding("P0", title, "shop/orders.py:9", "    return order.amount");
    with(found, json!({ "autofix_class": "manual", "owner": "downstream-resolver" }))
}

/// Is for people to think about.
fn for_humans() -> Value {
    let title = "Prices are multiplied without rounding";
    finding("P2", title, "shop/orders.py:4", "result += item.price * item.count")
}

/// Nobody has to do anything about it.
fn advisory() -> Value {
    let found = finding("P3", "The loop could be a sum", "shop/orders.py:3", "for item in items:");
    with(found, json!({ "autofix_class": "advisory", "owner": "human" }))
}

/// A model that finds these. What was fixed is looked at once more, and nothing is found in it.
fn finds(findings: &[Value]) -> FakeModel {
    FakeModel::answering(finding_once(findings))
}

fn finding_once(findings: &[Value]) -> impl Fn(&Asked) -> Scripted + Send + Sync + use<> {
    let (findings, is_first) = (findings.to_vec(), AtomicBool::new(true));
    move |asked| match asked.caller.as_str() {
        "single" if is_first.swap(false, Ordering::SeqCst) => answers(&findings),
        "single" => answers(&[]),
        _ => confirms(),
    }
}

/// A model that answers nobody before the other end is dropped.
fn held(
    answer: impl Fn(&Asked) -> Scripted + Send + Sync + 'static,
) -> (FakeModel, mpsc::Sender<()>) {
    let (hold, held) = mpsc::channel();
    let held = Mutex::new(held);
    let model = FakeModel::answering(move |asked| {
        // It ends with an error as soon as nobody holds it, and soon enough if a test has failed.
        held.lock().unwrap().recv_timeout(PATIENCE).unwrap_or_default();
        answer(asked)
    });
    (model, hold)
}

/// Whether a line is the option that is marked. Lines of code may be marked too, and have a number further to the right.
fn is_marked(line: &str) -> bool {
    let option = line.strip_prefix("> ").and_then(|option| option.chars().next());
    option.is_some_and(|first| first == '(' || first.is_ascii_digit())
}

/// A user at a terminal, in a checkout of which the last commit is reviewed.
struct Scene {
    user: User,
    repo: Repo,
    model: FakeModel,
    /// A GitHub, and what was pushed to it.
    hub: Option<(FakeGitHub, Repo)>,
    terminal: Option<Terminal>,
    /// What was on the screen, and what was typed.
    script: String,
    /// What was on the screen when something was typed for the last time.
    before: String,
}

impl Scene {
    /// A review with these findings.
    fn new(findings: &[Value]) -> Self {
        Self::of(finds(findings), Repo::from_fixture(SHOP))
    }

    /// A review of the last commit of a repository with a model.
    fn of(model: FakeModel, repo: Repo) -> Self {
        let config = repo.path().join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        let user = "[user]\n\tname = A\n\temail = a@example.org\n";
        std::fs::write(&config, format!("{text}{user}")).unwrap();
        repo.git(&["branch", "base", "HEAD~1"]);
        repo.git(&["checkout", "--quiet", "-b", "topic"]);
        let user = User::new();
        executable(&user, "bin/gh", GH);
        let (script, before) = (String::new(), String::new());
        Self { user, repo, model, hub: None, terminal: None, script, before }
    }

    /// The same with `origin` at a GitHub, which has the base as its `main`.
    fn at_github(findings: &[Value]) -> Self {
        let mut scene = Self::new(findings);
        let (github, origin) = (FakeGitHub::start(), Repo::new());
        origin.git(&["config", "receive.denyCurrentBranch", "ignore"]);
        scene.repo.git(&["remote", "add", "origin", &origin.url()]);
        scene.repo.git(&["push", "--quiet", "origin", "base:main"]);
        github.repository(NAME, &origin);
        scene.repo.git(&["remote", "set-url", "origin", &github.git_url(NAME)]);
        scene.repo.git(&["remote", "set-url", "--push", "origin", &origin.url()]);
        scene.hub = Some((github, origin));
        scene
    }

    fn github(&self) -> &FakeGitHub {
        &self.hub.as_ref().unwrap().0
    }

    /// What was pushed to GitHub.
    fn origin(&self) -> &Repo {
        &self.hub.as_ref().unwrap().1
    }

    /// The program as the user runs it.
    fn crh(&self, args: &[&str]) -> Program {
        let program = with_model(self.user.crh(self.repo.path(), args), &self.model);
        // What is installed on a machine must not decide what a test sees.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = format!("{}:{}", self.user.path("bin").display(), path.display());
        let program = program.env("TERM", "xterm-256color").env("NO_COLOR", "1").env("PATH", &path);
        let environment = self.hub.as_ref().map(|(github, _)| github.environment());
        let environment = environment.unwrap_or_default();
        environment.iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// The same with a tracker: a command of the user.
    fn with_tracker(findings: &[Value]) -> Self {
        Self::new(findings).and_tracker()
    }

    fn and_tracker(self) -> Self {
        executable(&self.user, "bin/tracker", TRACKER);
        let command = self.user.path("bin/tracker");
        let config =
            format!("[tracker]\nkind = \"command\"\ncommand = [\"{}\"]\n", command.display());
        self.user.write(".config/crh/config.toml", &config);
        self
    }

    /// How often the tracker was told something.
    fn tickets(&self) -> usize {
        let told = std::fs::read_to_string(self.user.path("tickets")).unwrap_or_default();
        told.lines().count()
    }

    /// Begins to review, at a terminal of the usual size.
    fn begun(findings: &[Value]) -> Self {
        let mut scene = Self::new(findings);
        scene.begins(USUAL);
        scene
    }

    fn begins(&mut self, size: (u16, u16)) {
        let base = if self.hub.is_some() { "origin/main" } else { "base" };
        self.starts(self.crh(&["review", "--base", base, "--strategy", "single"]), size);
    }

    /// Comes back to the questions of the only review that was made.
    fn comes_back(&mut self) {
        let run = self.run().file_name().unwrap().to_str().unwrap().to_owned();
        self.starts(self.crh(&["review", "--resume", &run]), USUAL);
    }

    fn starts(&mut self, program: Program, (columns, rows): (u16, u16)) {
        self.before.clear();
        self.terminal = Some(program.at_terminal(columns, rows));
    }

    fn terminal(&self) -> &Terminal {
        self.terminal.as_ref().unwrap()
    }

    /// The screen when it shows a question with a text in it, which goes into the script. The keys are the last that is drawn of it.
    fn sees(&mut self, text: &str) -> &mut Self {
        let (before, terminal) = (self.before.clone(), self.terminal());
        terminal.wait_until_whole(text, |screen| {
            let paragraphs: Vec<&str> = screen.trim_end().split("\n\n").collect();
            let drawn = &paragraphs[paragraphs.len().saturating_sub(3)..];
            let has_keys = drawn.last().is_some_and(|keys| keys.contains(KEYS));
            let is_asked = drawn.iter().any(|part| part.contains(text));
            screen != before && has_keys && is_asked && terminal.hands_over_keys()
        });
        self.keeps_screen()
    }

    /// The same whatever is drawn around it, which is for windows without room for the keys.
    fn sees_question(&mut self, text: &str) -> &mut Self {
        let (before, terminal) = (self.before.clone(), self.terminal());
        terminal.wait_until(text, |screen| {
            screen != before && screen.contains(text) && terminal.hands_over_keys()
        });
        self.keeps_screen()
    }

    /// The same where a line is asked for: what stands above it depends on how fast the review is.
    fn sees_line(&mut self, text: &str) -> &mut Self {
        let before = self.before.clone();
        self.terminal().wait_until(text, |screen| screen != before && screen.contains(text));
        let screen = self.terminal().screen();
        self.script.push_str(&format!(
            "{}\n{}",
            "=".repeat(80),
            &screen[screen.find(text).unwrap()..]
        ));
        self
    }

    /// The same where a finding of several is asked about: its number is the last that is on the screen, and options stand below it.
    /// What is told about a finding before it is asked about begins in the same way.
    fn sees_finding(&mut self, number: usize) -> &mut Self {
        let (before, terminal) = (self.before.clone(), self.terminal());
        let text = format!("Finding {number}");
        terminal.wait_until(&text, |screen| {
            let last = screen.rfind("Finding ").map_or("", |at| &screen[at..]);
            let is_asked = last.starts_with(&text) && last.lines().any(is_marked);
            screen != before && is_asked && terminal.hands_over_keys()
        });
        self.keeps_screen()
    }

    /// The same where options have numbers and a line is asked for.
    fn sees_prompt(&mut self, text: &str) -> &mut Self {
        let before = self.before.clone();
        self.terminal().wait_until_whole(text, |screen| {
            screen != before && screen.trim_end().ends_with("]:") && screen.contains(text)
        });
        self.keeps_screen()
    }

    /// The same on a screen without room for the keys, where the text is the last thing that is drawn.
    fn sees_last(&mut self, text: &str) -> &mut Self {
        let terminal = self.terminal();
        terminal.wait_until(text, |screen| screen.contains(text) && terminal.hands_over_keys());
        self.keeps_screen()
    }

    fn keeps_screen(&mut self) -> &mut Self {
        let screen = self.terminal().screen();
        // What was said while the review was under way depends on how long that took.
        let report = screen.find(REPORT).map_or(&*screen, |at| &screen[at..]);
        let screen = self.timeless(report.trim_start_matches('\n'));
        self.script.push_str(&format!("{}\n{screen}", "=".repeat(80)));
        self
    }

    fn types(&mut self, keys: &str) -> &mut Self {
        self.script.push_str(&format!("{}\n", keys.escape_debug()));
        self.before = self.terminal().screen();
        self.terminal().types(keys);
        self
    }

    /// Waits for the end; everything that was printed since `from` goes into the script, and all of it is compared with a file.
    fn ends(&mut self, from: &str, name: &str) -> i32 {
        let Ended { code, paper, is_as_usual, .. } = self.terminal.take().unwrap().end();
        assert!(is_as_usual, "{paper}");
        let last = paper.rfind(from).unwrap_or_else(|| panic!("no {from:?} in:\n{paper}"));
        let rest = self.timeless(&paper[last..]);
        self.script.push_str(&format!("{}\n{rest}exit {code}\n", "=".repeat(80)));
        let script = std::mem::take(&mut self.script);
        let file = format!("{}/tests/data/interactive/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        expect_test::expect_file![file].assert_eq(&script);
        code
    }

    /// A text without what differs from run to run: the line with the costs, and what says how to go on.
    fn timeless(&self, text: &str) -> String {
        let text = match &self.hub {
            Some((github, _)) => {
                let host = github.url().replace("http://", "");
                text.replace(&github.url(), "https://github.example")
                    .replace(&host, "github.example")
            }
            None => text.to_owned(),
        };
        let text = self.user.named(&self.repo, &text);
        let (text, rest) = match text.find(RESUME) {
            Some(at) => (&text[..at], "note: `crh review --resume RUN` goes on with it\n"),
            None => (text.as_str(), ""),
        };
        let mut out = String::new();
        let mut in_costs = false;
        for line in text.lines() {
            // It goes on over the end of its line.
            in_costs |= line.contains(" · <0.01 ") || line.contains(" · 0.0");
            if !in_costs {
                out.push_str(&format!("{line}\n"));
            }
        }
        out + rest
    }

    /// What git says about the checkout.
    fn git(&self, args: &[&str]) -> String {
        String::from_utf8(self.repo.git(args)).unwrap()
    }

    /// What is changed in the checkout.
    fn diff(&self) -> String {
        self.git(&["diff", "--unified=0"])
            .lines()
            .filter(|line| line.starts_with(['+', '-']) && !line.starts_with("---"))
            .map(|line| format!("{line}\n"))
            .collect()
    }

    fn run(&self) -> PathBuf {
        let runs = std::fs::read_dir(self.repo.path().join(".crh/runs")).unwrap();
        let mut runs: Vec<PathBuf> = runs.map(|run| run.unwrap().path()).collect();
        runs.retain(|run| run.is_dir());
        assert_eq!(runs.len(), 1, "one review was made");
        runs.remove(0)
    }
}
