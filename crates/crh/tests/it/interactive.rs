//! The questions of an interactive review, asked by the real program in a pseudo-terminal. Every
//! screen is compared with a file in `tests/data/interactive`.

mod agreement;
mod behaviours;
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

use crate::fixing::FixState;
use crate::review::script::{answers, confirms, finding, with};
use crate::review::{SHOP, with_model};
use crate::user::User;
use crh_testkit::fake_model::{FakeRequest, ScriptedReply};
use crh_testkit::{FakeGitHub, FakeModel, Program, Repo, Terminal, TerminalOutput};

/// Last words of every question if the window is large enough: leaving undoes or keeps the fixes.
const KEYS: [&str; 2] = ["nothing stays changed", "the fixes stay"];
/// Applies safe fixes before the first question.
const INTERACTIVE: &[&str] = &["--mode", "interactive"];
/// Part of the first question of a plain review that can fix something.
const NOT_YET: &str = "No file is changed yet.";
/// Start of a report.
const REPORT: &str = "Scope:  ";
/// Start of the note about `--resume`, in any window.
const RESUME: &str = "note: resume";
/// The usual size of a terminal.
const USUAL: (u16, u16) = (80, 24);

/// Timeout for slow machines. A passing test never waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The GitHub repository.
const NAME: &str = "acme/shop";

/// A `gh` that is not logged in.
const GH: &str = "#!/bin/sh
echo not logged in >&2
exit 1
";
/// A tracker that fails while the file `down` exists.
const TRACKER: &str = "#!/bin/sh
cat >> \"$HOME/tickets\"
test ! -e \"$HOME/down\" || { echo the tracker is down >&2; exit 1; }
echo https://tracker.example/$(wc -l < \"$HOME/tickets\" | tr -d ' ')
";

fn executable(user: &User, name: &str, script: &str) {
    user.write(name, script);
    std::fs::set_permissions(user.path(name), Permissions::from_mode(0o755)).unwrap();
}

/// A finding with a safe, exact fix.
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

/// A finding with a fix that needs approval.
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

/// A finding without a fix.
fn deferred() -> Value {
    let title = "An unpaid order is refunded";
    let found = finding("P0", title, "shop/orders.py:9", "    return order.amount");
    with(found, json!({ "autofix_class": "manual", "owner": "downstream-resolver" }))
}

/// A finding for a person.
fn for_humans() -> Value {
    let title = "Prices are multiplied without rounding";
    finding("P2", title, "shop/orders.py:4", "result += item.price * item.count")
}

/// An advisory finding.
fn advisory() -> Value {
    let found = finding("P3", "The loop could be a sum", "shop/orders.py:3", "for item in items:");
    with(found, json!({ "autofix_class": "advisory", "owner": "human" }))
}

/// A model that reports these findings, and nothing in a repeated review.
fn finds(findings: &[Value]) -> FakeModel {
    FakeModel::answering(finding_once(findings))
}

fn finding_once(
    findings: &[Value],
) -> impl Fn(&FakeRequest) -> ScriptedReply + Send + Sync + use<> {
    let (findings, is_first) = (findings.to_vec(), AtomicBool::new(true));
    move |asked| match asked.caller.as_str() {
        "single" if is_first.swap(false, Ordering::SeqCst) => answers(&findings),
        "single" => answers(&[]),
        _ => confirms(),
    }
}

/// A model that waits with its answers until the sender is dropped.
fn held(
    answer: impl Fn(&FakeRequest) -> ScriptedReply + Send + Sync + 'static,
) -> (FakeModel, mpsc::Sender<()>) {
    let (hold, held) = mpsc::channel();
    let held = Mutex::new(held);
    let model = FakeModel::answering(move |asked| {
        // Returns an error when the sender is dropped, or after the timeout of a failed test.
        held.lock().unwrap().recv_timeout(PATIENCE).unwrap_or_default();
        answer(asked)
    });
    (model, hold)
}

/// Whether a line is the selected option. Code lines may be marked too, but their numbers are
/// further right.
fn is_marked(line: &str) -> bool {
    let option = line.strip_prefix("> ").and_then(|option| option.chars().next());
    option.is_some_and(|first| first == '(' || first.is_ascii_digit())
}

/// A user at a terminal in a checkout whose last commit is reviewed.
struct Scene {
    user: User,
    repo: Repo,
    model: FakeModel,
    /// A fake GitHub, and the repository behind it.
    hub: Option<(FakeGitHub, Repo)>,
    terminal: Option<Terminal>,
    /// Mode arguments of the review.
    mode: &'static [&'static str],
    /// Screens and typed keys so far.
    script: String,
    /// The screen when the last key was typed.
    before: String,
    /// Files and reports when the program started.
    tree: Option<FixState>,
}

impl Scene {
    fn new(findings: &[Value]) -> Self {
        Self::of(finds(findings), Repo::from_fixture(SHOP))
    }

    /// A review of the last commit of a repository.
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
        let (hub, terminal, tree) = (None, None, None);
        Self { user, repo, model, hub, terminal, mode: &[], script, before, tree }
    }

    /// With `origin` on GitHub, where the base is `main`.
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

    /// The repository behind the fake GitHub.
    fn origin(&self) -> &Repo {
        &self.hub.as_ref().unwrap().1
    }

    fn crh(&self, args: &[&str]) -> Program {
        let program = with_model(self.user.crh(self.repo.path(), args), &self.model);
        // Installed programs must not influence the tests.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = format!("{}:{}", self.user.path("bin").display(), path.display());
        let program = program.env("TERM", "xterm-256color").env("NO_COLOR", "1").env("PATH", &path);
        let environment = self.hub.as_ref().map(|(github, _)| github.environment());
        let environment = environment.unwrap_or_default();
        environment.iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// With a tracker command of the user.
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

    /// Starts a review in a terminal of the usual size.
    fn begun(findings: &[Value]) -> Self {
        let mut scene = Self::new(findings);
        scene.begins(USUAL);
        scene
    }

    /// Like [`Self::begun`], with `--mode interactive`.
    fn begun_fixing_first(findings: &[Value]) -> Self {
        let mut scene = Self::new(findings).fixing_first();
        scene.begins(USUAL);
        scene
    }

    fn fixing_first(mut self) -> Self {
        self.mode = INTERACTIVE;
        self
    }

    fn begins(&mut self, size: (u16, u16)) {
        let base = if self.hub.is_some() { "origin/main" } else { "base" };
        let args = ["review", "--base", base, "--strategy", "single"];
        self.starts(self.crh(&[&args, self.mode].concat()), size);
    }

    /// Resumes the only run.
    fn comes_back(&mut self) {
        let run = self.run().file_name().unwrap().to_str().unwrap().to_owned();
        self.starts(self.crh(&[&["review", "--resume", &run], self.mode].concat()), USUAL);
    }

    fn starts(&mut self, program: Program, (columns, rows): (u16, u16)) {
        self.before.clear();
        self.tree = Some(FixState::of(&self.repo));
        self.terminal = Some(program.at_terminal(columns, rows));
    }

    fn terminal(&self) -> &Terminal {
        self.terminal.as_ref().unwrap()
    }

    /// Waits for a question with this text and adds the screen to the script. The keys are drawn
    /// last.
    fn sees(&mut self, text: &str) -> &mut Self {
        let (before, terminal) = (self.before.clone(), self.terminal());
        terminal.wait_until_drawn(text, |screen| {
            let paragraphs: Vec<&str> = screen.trim_end().split("\n\n").collect();
            let drawn = &paragraphs[paragraphs.len().saturating_sub(3)..];
            let has_keys = |text: &&&str| KEYS.iter().any(|keys| text.contains(keys));
            let has_keys = drawn.last().filter(has_keys).is_some();
            let is_asked = drawn.iter().any(|part| part.contains(text));
            screen != before && has_keys && is_asked && terminal.is_raw_mode()
        });
        self.keeps_screen()
    }

    /// Like [`Self::sees`], for windows without room for the keys.
    fn sees_question(&mut self, text: &str) -> &mut Self {
        let (before, terminal) = (self.before.clone(), self.terminal());
        terminal.wait_until(text, |screen| {
            screen != before && screen.contains(text) && terminal.is_raw_mode()
        });
        self.keeps_screen()
    }

    /// Like [`Self::sees`], for a question that is answered by a line. The text above it depends on
    /// timing.
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

    /// Like [`Self::sees`], for one of several findings: its number is the last on the screen, with
    /// options below. The text above a question starts in the same way.
    fn sees_finding(&mut self, number: usize) -> &mut Self {
        let (before, terminal) = (self.before.clone(), self.terminal());
        let text = format!("Finding {number}");
        terminal.wait_until(&text, |screen| {
            let last = screen.rfind("Finding ").map_or("", |at| &screen[at..]);
            let is_asked = last.starts_with(&text) && last.lines().any(is_marked);
            screen != before && is_asked && terminal.is_raw_mode()
        });
        self.keeps_screen()
    }

    /// Like [`Self::sees`], for numbered options that are answered by a line.
    fn sees_prompt(&mut self, text: &str) -> &mut Self {
        let before = self.before.clone();
        self.terminal().wait_until_drawn(text, |screen| {
            screen != before && screen.trim_end().ends_with("]:") && screen.contains(text)
        });
        self.keeps_screen()
    }

    /// Like [`Self::sees`], if the text is the last thing that is drawn.
    fn sees_last(&mut self, text: &str) -> &mut Self {
        let terminal = self.terminal();
        terminal.wait_until(text, |screen| screen.contains(text) && terminal.is_raw_mode());
        self.keeps_screen()
    }

    fn keeps_screen(&mut self) -> &mut Self {
        let screen = self.terminal().screen();
        // Progress above the report depends on timing.
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

    /// Waits for the end, adds everything printed since `from`, and compares the script with a
    /// file.
    fn ends(&mut self, from: &str, name: &str) -> i32 {
        let TerminalOutput { code, full_output: paper, is_restored: is_as_usual, .. } =
            self.terminal.take().unwrap().end();
        assert!(is_as_usual, "{paper}");
        if let Some(tree) = self.tree.take() {
            tree.assert_reported(&self.repo, &paper);
        }
        let last = paper.rfind(from).unwrap_or_else(|| panic!("no {from:?} in:\n{paper}"));
        let rest = self.timeless(&paper[last..]);
        self.script.push_str(&format!("{}\n{rest}exit {code}\n", "=".repeat(80)));
        let script = std::mem::take(&mut self.script);
        let file = format!("{}/tests/data/interactive/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        expect_test::expect_file![file].assert_eq(&script);
        code
    }

    /// Removes what differs between runs: the costs and the run id.
    fn timeless(&self, text: &str) -> String {
        let text = match &self.hub {
            Some((github, _)) => {
                let host = github.url().replace("http://", "");
                text.replace(&github.url(), "https://github.example")
                    .replace(&host, "github.example")
            }
            None => text.to_owned(),
        };
        let text = self.user.replace_paths(&self.repo, &text);
        let (text, rest) = match text.find(RESUME) {
            Some(at) => (&text[..at], "note: resume with `crh review --resume RUN`\n"),
            None => (text.as_str(), ""),
        };
        let mut out = String::new();
        let mut in_costs = false;
        for line in text.lines() {
            // The costs may take more than one line.
            in_costs |= line.contains(" · <0.01") || line.contains(" · 0.0");
            if !in_costs {
                out.push_str(&format!("{line}\n"));
            }
        }
        out + rest
    }

    fn git(&self, args: &[&str]) -> String {
        String::from_utf8(self.repo.git(args)).unwrap()
    }

    /// The changed lines of the checkout.
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
