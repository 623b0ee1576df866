//! Speed and memory as ratios: compared with git, or with a tenth of the work.
//!
//! Prints one line per ratio and fails if a limit is exceeded. `cargo bench -p crh-cli` runs all,
//! `cargo bench -p crh-cli -- merge` only those with that word in their name (`diff`, `merge`,
//! `start`).

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up must fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crh_review::diff::Diff;
use crh_review::finding::{
    AutofixClass, Category, Confidence, Evidence, Finding, Member, Owner, Severity,
};
use crh_review::{MergeResult, PastDecisions, Sources, apply_judgements, consolidate};
use crh_testkit::Repo;
use crh_testkit::measure::is_within;

/// Argument that makes this program the measured child process.
const READ: &str = "--read-number-map";

/// Prints ratios. Returns whether all are within their limits.
type Part = fn() -> bool;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let [_, word, path] = args.as_slice()
        && word == READ
    {
        read_number_map(Path::new(path));
        return ExitCode::SUCCESS;
    }
    let parts: [(&str, Part); 3] =
        [("diff", diff_ratios), ("merge", merge_ratios), ("start", start_ratios)];
    let wanted: Vec<&String> = args.iter().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let mut held = true;
    for (name, ratios) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            held &= ratios();
        }
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::disallowed_methods, reason = "measures real programs")]
fn command(program: &str) -> Command {
    Command::new(program)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn ratio(left: Duration, right: Duration) -> f64 {
    left.as_secs_f64() / right.as_secs_f64()
}

/// Parsing and mapping a diff of 50 MB, compared with `git diff`; and its memory.
fn diff_ratios() -> bool {
    let repo = Repo::new();
    let text = |file: usize, edited: bool| -> String {
        (0..2_000)
            .map(|line| match edited && line % 4 == 0 {
                true => format!("    let value_{line} = compute({file}, {line}, \"edited\");\n"),
                false => format!("    let value_{line} = compute({file}, {line});\n"),
            })
            .collect()
    };
    const FILES: usize = 480;
    for edited in [false, true] {
        for file in 0..FILES {
            repo.write(&format!("src/module_{}/file_{file}.rs", file % 20), text(file, edited));
        }
        repo.commit("x");
    }
    let args =
        ["diff", "-U10", "-M", "--full-index", "--diff-algorithm=histogram", "HEAD~1", "HEAD"];
    let diff = repo.git(&args);
    let path = repo.path().join("change.diff");
    fs::write(&path, &diff).unwrap();
    let (mut git, mut ours, mut peak) = (Vec::new(), Vec::new(), 0);
    for _ in 0..5 {
        git.push(timed(|| {
            let mut git = command("git");
            let status = git.args(args).current_dir(repo.path()).stdout(Stdio::null()).status();
            assert!(status.unwrap().success());
        }));
        ours.push(timed(|| peak = child_peak(&path)));
    }
    let (git, ours) = (median(git), median(ours));
    let megabytes = diff.len() as f64 / 1e6;
    let detail = format!("{megabytes:.0} MB, crh {ours:.0?}, git diff {git:.0?}");
    let fast = is_within("read, number and map a diff / git diff", ratio(ours, git), 1.0, &detail);
    if peak == 0 {
        println!("  -  memory is measured where /proc is");
        return fast;
    }
    let detail = format!("peak {:.0} MB for {megabytes:.0} MB", peak as f64 / 1e6);
    is_within("peak memory / size of the diff", peak as f64 / diff.len() as f64, 3.0, &detail)
        && fast
}

/// Peak memory in bytes of a process that parses a diff; 0 if unknown.
fn child_peak(path: &Path) -> u64 {
    let exe = std::env::current_exe().unwrap();
    let output = command(exe.to_str().unwrap()).arg(READ).arg(path).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn read_number_map(path: &Path) {
    let diff = Diff::read(fs::read(path).unwrap());
    let numbered = diff.numbered_text();
    let mapped: usize = diff.files().iter().map(|file| diff.line_map(file).lines().len()).sum();
    assert!(numbered.len() > diff.raw().len() && mapped > 0);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
    println!("{}", kilobytes.unwrap_or_default() * 1024);
}

/// Merging 100,000 findings compared with 10,000: spread over many files, and in one file, where
/// the limit only distinguishes linear from quadratic work.
fn merge_ratios() -> bool {
    let spread = merge_ratio("in many files", 12.0, |count| findings_of(count, 200));
    let heaped = merge_ratio("in one file", 20.0, |count| findings_of(count, count * 2));
    spread && heaped
}

fn merge_ratio(place: &str, limit: f64, findings: impl Fn(u32) -> (Sources, Vec<Member>)) -> bool {
    let (small, large) = (findings(10_000), findings(100_000));
    let time = |(sources, members): &(Sources, Vec<Member>)| {
        let members = members.clone();
        let mut merged = MergeResult::default();
        // Drop the result only after the measurement.
        let time = timed(|| {
            let all = consolidate(members, sources, &PastDecisions::default(), &BTreeSet::new());
            merged = apply_judgements(all, &BTreeMap::new());
        });
        assert!(!merged.issues.is_empty());
        time
    };
    // Alternate, so that both see the same machine load, and take the best of each.
    let times: Vec<_> = (0..7).map(|_| (time(&small), time(&large))).collect();
    let small = times.iter().map(|(small, _)| *small).min().unwrap_or_default();
    let large = times.iter().map(|(_, large)| *large).min().unwrap_or_default();
    let detail = format!("{large:.0?} / {small:.0?}");
    let what = format!("merge 100,000 findings / 10,000 {place}");
    is_within(&what, ratio(large, small), limit, &detail)
}

/// Findings on every second line of new files with this many lines, a third of them duplicated.
fn findings_of(count: u32, lines: u32) -> (Sources, Vec<Member>) {
    let text = |line: u32| format!("    let value_{line} = compute({line});");
    let per_file = lines / 2;
    let mut diff = String::new();
    for file in 0..count / per_file {
        diff += &format!("diff --git a/f{file}.rs b/f{file}.rs\nnew file mode 100644\n");
        diff += &format!("--- /dev/null\n+++ b/f{file}.rs\n@@ -0,0 +1,{lines} @@\n");
        (1..=lines).for_each(|line| diff += &format!("+{}\n", text(line)));
    }
    let members = (0..count).map(|number| {
        let line = number % per_file / 3 * 5 + 1;
        let reviewer = ["correctness", "security", "performance"][number as usize % 3];
        let category = [Category::Bug, Category::Security, Category::Logic][number as usize % 3];
        Member::new(
            reviewer,
            Finding {
                title: format!("Value number {line} is computed twice"),
                severity: Severity::P2,
                category,
                file: format!("f{}.rs", number / per_file),
                line_start: NonZeroU32::new(line),
                line_end: None,
                side: None,
                diff_line: None,
                confidence: Confidence::thousandths(750),
                evidence: vec![Evidence {
                    file: None,
                    line: None,
                    side: None,
                    snippet: text(line),
                }],
                why_it_matters: "It costs time on every call.".to_owned(),
                suggested_fix: None,
                replacement: None,
                autofix_class: AutofixClass::Manual,
                owner: Owner::DownstreamResolver,
                requires_verification: false,
                pre_existing: false,
            },
        )
    });
    (Sources::new(Diff::read(diff)), members.collect())
}

/// `crh --help` and an unknown flag compared with `git --version`, alternating.
fn start_ratios() -> bool {
    let crh = env!("CARGO_BIN_EXE_crh");
    let run = |program: &str, arg: &str| {
        timed(|| {
            let output = command(program).arg(arg).output().unwrap();
            assert!(output.status.code().is_some());
        })
    };
    let (mut git, mut help, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..200 {
        git.push(run("git", "--version"));
        help.push(run(crh, "--help"));
        unknown.push(run(crh, "--frobnicate"));
    }
    let (git, help, unknown) = (median(git), median(help), median(unknown));
    let help_held = is_within(
        "crh --help / git --version",
        ratio(help, git),
        3.0,
        &format!("{help:.1?} / {git:.1?}"),
    );
    let detail = format!("{unknown:.1?} / {git:.1?}");
    is_within("crh --frobnicate / git --version", ratio(unknown, git), 3.0, &detail) && help_held
}
