//! Overhead of `crh eval run`: a thousand cases with the static strategy, without the reviews
//! themselves.
//!
//! It uses all cores and starts without caches. The measured time covers reading the suite,
//! creating the commits, the reviews, scores with confidence intervals, baselines and the HTML
//! page. The lower bound is the sum of the review times divided by the number of cores. The
//! sequential time is printed for comparison; a single review uses more than one core. `cargo bench
//! -p crh-cli --bench eval` prints one line per measure and fails if a limit is exceeded. Run it on an
//! idle machine.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up must fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crh_testkit::measure::{high_water, is_within};

const CASES: usize = 1_000;

fn main() -> ExitCode {
    let bench = Bench::new();
    let cores = std::thread::available_parallelism().unwrap().get();
    let together = bench.run("together", cores);
    let share = together.reviews.as_secs_f64() / cores as f64;
    let ratio = together.wall.as_secs_f64() / share;
    let detail = format!("{:.2?} / ({:.2?} / {cores} cores)", together.wall, together.reviews);
    let fast =
        is_within("wall time / the sum of the reviews divided by the cores", ratio, 1.2, &detail);
    let small = match together.peak {
        0 => {
            println!("  -  memory is measured where /proc is");
            true
        }
        kilobytes => {
            let megabytes = kilobytes as f64 / 1024.0;
            let detail = format!("{megabytes:.0} MB");
            is_within("peak memory / 300 MB", megabytes / 300.0, 1.0, &detail)
        }
    };
    let again = bench.run("together", cores);
    let ratio = again.wall.as_secs_f64() / together.wall.as_secs_f64();
    let detail = format!("{:.2?} / {:.2?}", again.wall, together.wall);
    let resumed = is_within("the same again, from what is kept", ratio, 0.5, &detail);
    let alone = bench.run("alone", 1);
    println!(
        "  -  one after the other: {:.2?}, of which reviews {:.2?}",
        alone.wall, alone.reviews
    );
    if fast && small && resumed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measurements of one evaluation.
struct Took {
    /// Duration of the whole process.
    wall: Duration,
    /// Sum of all review times, as reported.
    reviews: Duration,
    /// Peak memory in kilobytes.
    peak: u64,
}

/// A suite and a folder for crh's files.
struct Bench {
    own: TempDir,
}

impl Bench {
    fn new() -> Self {
        // Use a RAM disk if there is one, so that no disk is measured.
        let memory = Path::new("/dev/shm");
        let own = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.unwrap();
        for number in 0..CASES {
            write_case(&own.path().join("suite"), number);
        }
        Self { own }
    }

    /// Runs the evaluation. Results are stored under `name` and reused under the same name.
    #[expect(clippy::disallowed_methods, reason = "measures the real program")]
    fn run(&self, name: &str, jobs: usize) -> Took {
        let own = |name: &str| self.own.path().join(name);
        let out = own(&format!("{name}-out"));
        let start = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_crh"))
            .current_dir(self.own.path())
            // Cargo sets it for benchmarks, which slows down program start.
            .env_remove("LD_LIBRARY_PATH")
            .env("HOME", self.own.path())
            .env("TMPDIR", self.own.path())
            .env("CRH_STORE", own(name))
            .args(["eval", "run", "suite", "--strategy", "static", "--jobs", &jobs.to_string()])
            .arg("--out")
            .arg(&out)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let mut peak = 0;
        // Peak memory only grows, so the last sample is nearly exact.
        while child.try_wait().unwrap().is_none() {
            peak = peak.max(high_water(&status));
            std::thread::sleep(Duration::from_millis(5));
        }
        let wall = start.elapsed();
        assert!(child.wait().unwrap().success());
        Took { wall, reviews: reviews(&out), peak }
    }
}

/// Sum of all review times, from the reports.
fn reviews(out: &Path) -> Duration {
    let reports: Vec<PathBuf> =
        fs::read_dir(out.join("reports")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(reports.len(), CASES);
    let seconds = reports.iter().map(|report| {
        let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
        assert_eq!(report["status"], "ok");
        report["stats"]["latency_seconds_e2e"].as_f64().unwrap()
    });
    Duration::from_secs_f64(seconds.sum())
}

/// A typical case: five files of a hundred lines, two of them changed.
fn write_case(suite: &Path, number: usize) {
    let case = suite.join(format!("python-case-{number}"));
    for (folder, files, is_changed) in [("base", 0..5, false), ("head", 0..2, true)] {
        fs::create_dir_all(case.join(folder).join("src")).unwrap();
        for file in files {
            let path = case.join(folder).join(format!("src/file_{file}.py"));
            fs::write(path, text(number, file, is_changed)).unwrap();
        }
    }
    let labels = r#"title = "Count further"
body = "Totals have one more part."
language = "python"
licence = "MIT OR Apache-2.0"

[[expected]]
file = "src/file_0.py"
line_start = 20
category = "bug"
severity = "P1"
description = "The total is doubled."
note = "made up"
proved = "not run: made up"
"#;
    fs::write(case.join("case.toml"), labels).unwrap();
}

fn text(number: usize, file: usize, is_changed: bool) -> String {
    let function = |function: usize| {
        let mut text = format!("def function_{function}(first, second):\n");
        for line in 0..12 {
            text += &format!("    value_{line} = first[{line}] + second.part_{number}_{file}\n");
        }
        if is_changed && function.is_multiple_of(3) {
            text += "    value_12 = value_0 * 2\n    print(value_12)\n";
        }
        text + "    return value_0\n\n\n"
    };
    (0..10).map(function).collect()
}
