//! Time of the built-in checks relative to `ruff check` on the same files at both revisions.
//!
//! The real program checks a change of a hundred Python files in a repository of four hundred.
//! Measured is its stage `review` from its own telemetry, which contains only the checks. `cargo
//! bench -p crh-cli --bench static` prints one line per measure and fails if a limit is exceeded.
//! Without `ruff` on the `PATH` it prints a note and measures nothing.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up must fail")]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crh_testkit::Repo;
use crh_testkit::measure::is_within;

/// Files that the change concerns, and other files.
const FILES: usize = 100;
const OTHERS: usize = 300;
/// Number of alternating runs; the best one counts.
const RUNS: usize = 9;

fn main() -> ExitCode {
    let bench = Bench::new();
    let Some(ruff) = bench.ruff("old") else {
        println!("  -  `ruff` is not on the PATH: there is nothing to hold the checks against");
        return ExitCode::SUCCESS;
    };
    let (mut ruffs, mut checks, mut wholes) = (vec![ruff * 2], Vec::new(), Vec::new());
    for _ in 0..RUNS {
        ruffs.push(bench.ruff("old").unwrap() + bench.ruff("new").unwrap());
        let (check, whole) = bench.check();
        checks.push(check);
        wholes.push(whole);
    }
    let best = |times: Vec<Duration>| times.into_iter().min().unwrap();
    let (ruff, check, whole) = (best(ruffs), best(checks), best(wholes));
    let detail = format!("{check:.0?} / {ruff:.0?}, {FILES} files, the best of {RUNS}");
    let ratio = check.as_secs_f64() / ruff.as_secs_f64();
    let fast = is_within("built-in checks / ruff check of both revisions", ratio, 2.0, &detail);
    println!("  -  all of `crh check`, git and reports included: {whole:.0?}");
    if fast { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A repository with a change, its files in two folders for ruff, and a folder for crh's files.
struct Bench {
    repo: Repo,
    own: TempDir,
}

impl Bench {
    fn new() -> Self {
        // Use a RAM disk if there is one, so that no disk is measured.
        let memory = Path::new("/dev/shm");
        let own = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.unwrap();
        let repo = Repo::new();
        let changed = |edited| (0..FILES).map(move |file| (path(file), text(file, edited)));
        let others = (0..OTHERS).map(|file| (format!("lib/other_{file}.py"), text(file, false)));
        repo.import(changed(false).chain(others));
        repo.import(changed(true));
        for (folder, edited) in [("old", false), ("new", true)] {
            for (path, text) in changed(edited) {
                let path = own.path().join(folder).join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        Self { repo, own }
    }

    /// Duration of ruff for one revision; `None` if ruff is missing.
    #[expect(clippy::disallowed_methods, reason = "measures the real program")]
    fn ruff(&self, folder: &str) -> Option<Duration> {
        let start = Instant::now();
        let status = Command::new("ruff")
            .args(["check", "--isolated", "--no-cache", "--exit-zero", "--quiet"])
            .arg(self.own.path().join(folder))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let status = status.ok()?;
        assert!(status.success(), "ruff failed");
        Some(start.elapsed())
    }

    /// Duration of the checks and of the whole program.
    #[expect(clippy::disallowed_methods, reason = "measures the real program")]
    fn check(&self) -> (Duration, Duration) {
        let own = |name: &str| self.own.path().join(name);
        let start = Instant::now();
        let done = Command::new(env!("CARGO_BIN_EXE_crh"))
            .current_dir(self.repo.path())
            // Cargo sets it for benchmarks, which slows down program start.
            .env_remove("LD_LIBRARY_PATH")
            .env("HOME", self.own.path())
            .env("CRH_STORE", own("store"))
            .args([
                "check",
                "HEAD~1..HEAD",
                "--analysers",
                "never",
                "--format",
                "json",
                "--run-dir",
            ])
            .arg(own("runs"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let whole = start.elapsed();
        let report: Value = serde_json::from_slice(&done.stdout).unwrap();
        // The measured run checked everything.
        assert_eq!(report["status"], "ok", "{report}");
        assert_eq!(report["files_reviewed"].as_array().unwrap().len(), FILES);
        let run = fs::read_dir(own("runs")).unwrap().map(|run| run.unwrap().path());
        let run = run.filter(|path| path.is_dir()).max().unwrap();
        let telemetry = fs::read(run.join("telemetry.json")).unwrap();
        let telemetry: Value = serde_json::from_slice(&telemetry).unwrap();
        let stages = telemetry["stages"].as_array().unwrap();
        let review = stages.iter().find(|stage| stage["stage"] == "review").unwrap();
        fs::remove_dir_all(own("runs")).unwrap();
        (Duration::from_millis(review["took_ms"].as_u64().unwrap()), whole)
    }
}

fn path(file: usize) -> String {
    format!("src/part_{}/file_{file}.py", file % 10)
}

/// A module of about two hundred lines with imports, classes, documentation and calls. The edited
/// version renames one function and removes another.
fn text(file: usize, edited: bool) -> String {
    let mut text = format!(
        "\"\"\"Orders of kind {file}.\"\"\"\n\nimport json\nimport logging\nfrom pathlib import Path\n\nlog = logging.getLogger(__name__)\n\n\n"
    );
    for number in 0..12 {
        let name = match edited && number == 7 {
            true => format!("settle_{file}_{number}"),
            false => format!("order_{file}_{number}"),
        };
        text += &format!(
            "def {name}(lines, rate, *, label=\"net\"):\n    \"\"\"The total of the lines, {number}.\"\"\"\n    total = 0\n"
        );
        text += "    for line in lines:\n        if line.get(\"state\") == \"open\" and line[\"amount\"] > 0:\n            total += line[\"amount\"] * rate\n";
        text +=
            "        else:\n            log.info(\"skipped %s of %s\", line.get(\"id\"), label)\n";
        if edited && number % 3 == 0 {
            text += "    if total > 10_000:\n        total = round(total, 2)\n        log.warning(\"large order: %s\", total)\n";
        }
        text += &format!(
            "    path = Path(\"orders\") / f\"{{label}}-{number}.json\"\n    path.write_text(json.dumps({{\"total\": total, \"label\": label}}))\n    return total\n\n\n"
        );
    }
    text
}
