//! Reading, searching and preparing as ratios to git.
//!
//! Prints one line per ratio and fails if a limit is exceeded. `cargo bench -p crh-cli --bench
//! repository` runs all; a word after `--` selects by name (`grep`, `read`, `prepare`, `memory`).
//! The repository is generated. `CRH_BENCH_REPO=DIR` uses a real one for all but the last, with the
//! range `CRH_BENCH_RANGE` (default: `HEAD~1500..HEAD`).

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up must fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crh_git::{BareRepository, DIFF_OPTIONS};
use crh_pipeline::revisions::Revisions;
use crh_testkit::Repo;
use crh_testkit::measure::high_water;

/// Typical patterns: a word, a call, an alternation, a class, an anchor, one that matches nearly
/// everything and one that matches nothing.
const PATTERNS: &[&str] = &[
    "compute",
    r"compute\(",
    "(TODO|FIXME|XXX)",
    "[a-z_]+_7[0-9]* =",
    "^    return",
    "e",
    "no_such_word_anywhere",
];

/// Files of the generated repository, and those that its last commit changes.
const FILES: usize = 6_000;
const CHANGED: usize = 2_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let wanted: Vec<&String> = args.iter().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let is_wanted =
        |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    let mut held = true;
    if ["grep", "read", "prepare"].into_iter().any(is_wanted) {
        let bench = Bench::new();
        let parts: [(&str, Part); 3] =
            [("grep", grep_ratios), ("read", read_ratios), ("prepare", prepare_ratio)];
        for (_, ratio) in parts.into_iter().filter(|(name, _)| is_wanted(name)) {
            held &= ratio(&bench);
        }
    }
    if is_wanted("memory") {
        held &= memory();
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints ratios. Returns whether all are within their limits.
type Part = fn(&Bench) -> bool;

/// A repository, a commit range, and a folder for crh's files.
struct Bench {
    folder: PathBuf,
    base: String,
    head: String,
    own: TempDir,
    _made_up: Option<Repo>,
}

impl Bench {
    fn new() -> Self {
        let made_up = std::env::var_os("CRH_BENCH_REPO").is_none().then(made_up);
        let folder = match (&made_up, std::env::var_os("CRH_BENCH_REPO")) {
            (Some(repo), _) => repo.path().to_owned(),
            (None, folder) => PathBuf::from(folder.unwrap()),
        };
        let range = std::env::var_os("CRH_BENCH_RANGE").map(|range| range.into_string().unwrap());
        let usual = if made_up.is_some() { "HEAD~1..HEAD" } else { "HEAD~1500..HEAD" };
        let range = range.unwrap_or_else(|| usual.to_owned());
        let (base, head) = range.split_once("..").unwrap();
        let id = |name: &str| {
            let output = command("git").args(["rev-parse", name]).current_dir(&folder).output();
            String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
        };
        let (base, head) = (id(base), id(head));
        // Use a RAM disk if there is one. Some file systems are slow to create files for minutes
        // after many were removed.
        let memory = Path::new("/dev/shm");
        let own = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.unwrap();
        let bench = Self { folder, base, head, own, _made_up: made_up };
        run(&mut bench.prepare("workspace"));
        bench
    }

    fn crh(&self) -> Command {
        let mut crh = command(env!("CARGO_BIN_EXE_crh"));
        crh.current_dir(&self.folder).env("CRH_STORE", self.own.path().join("store"));
        crh
    }

    fn git(&self, args: &[&str]) -> Command {
        let mut git = command("git");
        git.current_dir(&self.folder).args(args);
        git
    }

    fn prepare(&self, out: &str) -> Command {
        let mut crh = self.crh();
        let range = format!("{}..{}", self.base, self.head);
        crh.args(["prepare", &range, "--offline", "--out"]).arg(self.own.path().join(out));
        crh
    }

    fn tool(&self, name: &str, arguments: &serde_json::Value) -> Command {
        let mut crh = self.crh();
        crh.args(["tool", name, &arguments.to_string(), "--workspace"]);
        crh.arg(self.own.path().join("workspace"));
        crh
    }
}

/// Generates realistic sources: some words are common, some rare, and no two files are equal.
fn made_up() -> Repo {
    let repo = Repo::new();
    for edited in [false, true] {
        // Import into packs, because some file systems are slow to create files after many were
        // removed.
        let files = 0..if edited { CHANGED } else { FILES };
        let path = |file: usize| format!("src/module_{}/file_{file}.rs", file % 60);
        repo.import(files.map(|file| (path(file), text(file, edited))));
    }
    // Like `git gc`.
    repo.git(&["repack", "-a", "-d", "-f", "--quiet"]);
    repo
}

fn text(file: usize, edited: bool) -> String {
    // A deterministic generator (Numerical Recipes, 32 bits).
    let mut state = file as u32;
    let mut word = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let syllables = [
            "al", "be", "co", "du", "er", "fi", "go", "ha", "in", "ju", "ka", "lo", "me", "nu",
            "or", "pi",
        ];
        (0..4).map(|at| syllables[(state >> (at * 4 + 12)) as usize & 15]).collect::<String>()
    };
    let line = |line: usize| match (line % 11, edited && line.is_multiple_of(20)) {
        (_, true) => format!("    let {} = compute({}, \"edited\");\n", word(), word()),
        (0, _) => format!("fn {}(input: &str) -> usize {{\n", word()),
        (9, _) => format!("    return {} + {line};\n", word()),
        (10, _) => "}\n".to_owned(),
        (5, _) if (file + line).is_multiple_of(97) => format!("    // TODO: {}\n", word()),
        (_, _) => format!("    let {}_{line} = {}.{}({});\n", word(), word(), word(), word()),
    };
    (0..220).map(line).collect()
}

#[expect(clippy::disallowed_methods, reason = "measures real programs")]
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    // Cargo sets it for benchmarks, which slows down program start.
    command.env_remove("LD_LIBRARY_PATH");
    command
}

/// Runs a command and returns its duration.
fn run(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let time = start.elapsed();
    // `git grep` exits with 1 if nothing matches.
    assert!(matches!(status.code(), Some(0 | 1)), "{command:?}");
    time
}

/// Median durations of two commands, alternating so that both see the same machine load.
fn in_turns(
    times: usize,
    mut ours: impl FnMut() -> Command,
    mut git: impl FnMut() -> Command,
) -> (Duration, Duration) {
    let (mut our_times, mut git_times) = (Vec::new(), Vec::new());
    for _ in 0..times {
        our_times.push(run(&mut ours()));
        git_times.push(run(&mut git()));
    }
    (median(our_times), median(git_times))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Prints a ratio. Returns whether it is within its limit.
fn report(what: &str, ours: Duration, git: Duration, limit: f64) -> bool {
    let ratio = ours.as_secs_f64() / git.as_secs_f64();
    let word = if ratio <= limit { "ok" } else { "OVER" };
    println!("{word:4} {ratio:6.3} (limit {limit:.2})  {what}: {ours:.1?} / {git:.1?}");
    ratio <= limit
}

/// Searching a whole revision, process against process.
fn grep_ratios(bench: &Bench) -> bool {
    let mut held = true;
    for pattern in PATTERNS {
        let arguments = serde_json::json!({ "pattern": pattern });
        let (ours, git) = in_turns(
            9,
            || bench.tool("repo_grep", &arguments),
            || bench.git(&["grep", "-n", "-E", pattern, &bench.head]),
        );
        held &= report(&format!("repo_grep `{pattern}` / git grep"), ours, git, 1.0);
    }
    held
}

/// Reading one file: process against process, and again within one process.
fn read_ratios(bench: &Bench) -> bool {
    let path = some_file(bench);
    let object = format!("{}:{path}", bench.head);
    let arguments = serde_json::json!({ "path": path });
    let (ours, git) = in_turns(
        101,
        || bench.tool("repo_read", &arguments),
        || bench.git(&["cat-file", "-p", &object]),
    );
    let held = report("crh tool repo_read / git cat-file", ours, git, 1.5);
    let stores = bench.own.path().join("store/stores");
    let store = fs::read_dir(stores).unwrap().next().unwrap().unwrap().path();
    let revisions = Revisions::new(BareRepository::new(&store), &bench.base, &bench.head).unwrap();
    let read = || revisions.objects().file(&bench.head, &path).unwrap().len();
    assert!(read() > 0);
    let start = Instant::now();
    let count = 1_000;
    let bytes: usize = (0..count).map(|_| read()).sum();
    assert!(bytes > 0);
    let ours = start.elapsed() / count;
    report("reading again in one process / git cat-file", ours, git, 0.1) && held
}

/// A file of typical size.
fn some_file(bench: &Bench) -> String {
    let listed = bench.git(&["ls-tree", "-r", "-l", &bench.head]).output().unwrap().stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let size = |line: &str| line.split_whitespace().nth(3)?.parse::<u64>().ok();
    let usual = |line: &&str| size(line).is_some_and(|size| (4_000..20_000).contains(&size));
    listed.lines().find(usual).and_then(|line| line.split('\t').nth(1)).unwrap().to_owned()
}

/// Preparing a range compared with `git diff` with the same options.
fn prepare_ratio(bench: &Bench) -> bool {
    let mut args = vec!["diff"];
    args.extend(DIFF_OPTIONS);
    args.extend([bench.base.as_str(), bench.head.as_str()]);
    let mut number = 0;
    let (ours, git) = in_turns(
        7,
        || {
            number += 1;
            bench.prepare(&format!("out-{number}"))
        },
        || bench.git(&args),
    );
    let names = bench.git(&["diff", "--name-only", &bench.base, &bench.head]).output().unwrap();
    let files = names.stdout.iter().filter(|byte| **byte == b'\n').count();
    report(&format!("crh prepare of {files} files / git diff"), ours, git, 2.0)
}

/// Peak memory of preparing a range of 10,000 files, relative to its limit.
fn memory() -> bool {
    let repo = Repo::new();
    for edited in ["", " // edited"] {
        repo.import((0..10_000).map(|file| {
            let text =
                (0..60).map(|line| format!("let value_{line} = {file};{edited}\n")).collect();
            (format!("src/module_{}/file_{file}.rs", file % 100), text)
        }));
    }
    let own = TempDir::new().unwrap();
    let mut crh = command(env!("CARGO_BIN_EXE_crh"));
    crh.current_dir(repo.path()).env("CRH_STORE", own.path().join("store"));
    crh.args(["prepare", "HEAD~1..HEAD", "--offline", "--out"]).arg(own.path().join("out"));
    let mut child = crh.stdout(Stdio::null()).spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    // Peak memory only grows, so the last sample is nearly exact.
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(high_water(&status));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    if peak == 0 {
        println!("  -  memory is measured where /proc is");
        return true;
    }
    let (megabytes, limit) = (peak as f64 / 1024.0, 300.0);
    let word = if megabytes <= limit { "ok" } else { "OVER" };
    let ratio = megabytes / limit;
    println!(
        "{word:4} {ratio:6.3} (limit 1.00)  peak memory of preparing 10,000 files / 300 MB: {megabytes:.0} MB"
    );
    megabytes <= limit
}
