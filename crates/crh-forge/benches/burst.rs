//! Reading a pull request: time relative to the longest chain of dependent requests, and memory.
//!
//! The fake GitHub is a separate process, so its memory is not counted. `cargo bench -p crh-forge
//! --bench burst` prints one line per measure and fails if a limit is exceeded.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up must fail")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crh_forge::github::{
    GitHubClient, GitHubClientConfig, GitHubCredentials, GitHubHost, PullRequestRef, ReplyCache,
    read,
};
use crh_forge::posting::ProposalState;
use crh_forge::{ChangeProposal, ForgeRetryPolicy};
use crh_http::NetworkSettings;
use crh_testkit::fake_github::{Pull, PullHandle, TOKEN};
use crh_testkit::measure::{high_water, is_within};
use crh_testkit::{FakeGitHub, Repo};

/// Argument that makes this program the fake GitHub.
const FAKE: &str = "--fake-github";

/// Response time of the fake GitHub.
const LATENCY: Duration = Duration::from_millis(50);

/// Review threads of a typical pull request: three pages with cursors.
const THREADS: usize = 250;

/// Longest chain of dependent requests: these three pages. The checks and the pages of other lists
/// need two.
const CHAIN: u32 = 3;

/// Comments of the large pull request, half of them on lines.
const COMMENTS: usize = 5_000;

/// Files of the large pull request.
const FILES: usize = 3_000;

/// Memory limit for the large pull request in megabytes, a few times its size.
const MEGABYTES: f64 = 64.0;

fn main() -> ExitCode {
    if std::env::args().any(|arg| arg == FAKE) {
        be_github();
        return ExitCode::SUCCESS;
    }
    let fake = Fake::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let held = runtime.block_on(async {
        let small = large(&fake.urls[1]).await;
        let fast = burst(&fake.urls[0]).await;
        small && fast
    });
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Time of a burst relative to its longest chain. Each burst has its own connections, like each
/// review.
async fn burst(url: &str) -> bool {
    let mut times = Vec::new();
    for _ in 0..5 {
        let client = client(url);
        let start = Instant::now();
        let (_, standing) = proposal(&client).await;
        times.push(start.elapsed());
        assert_eq!(standing.threads.len(), THREADS);
    }
    times.sort();
    let chain = LATENCY * CHAIN;
    let ratio = times[2].as_secs_f64() / chain.as_secs_f64();
    let detail = format!("{:.0?} / {CHAIN} x {LATENCY:.0?}", times[2]);
    is_within("a burst / its longest chain of requests", ratio, 1.3, &detail)
}

/// Peak memory for a pull request of 5,000 comments and 3,000 files.
async fn large(url: &str) -> bool {
    let status = Path::new("/proc/self/status");
    let client = client(url);
    let before = high_water(status);
    let start = Instant::now();
    let (proposal, standing) = proposal(&client).await;
    let time = start.elapsed();
    let of_lines: usize = proposal.threads.iter().map(|thread| thread.comments.len()).sum();
    let comments = of_lines + proposal.comments.len();
    assert_eq!((comments, standing.files.len()), (COMMENTS, FILES));
    assert_eq!(proposal.notes, Vec::<String>::new());
    if before == 0 {
        println!("  -  memory is measured where /proc is");
        return true;
    }
    let grown = (high_water(status) - before) as f64 / 1e3;
    let detail = format!("{COMMENTS} comments and {FILES} files in {time:.1?}");
    is_within("megabytes for a large pull request", grown, MEGABYTES, &detail)
}

async fn proposal(client: &GitHubClient) -> (ChangeProposal, ProposalState) {
    let name = PullRequestRef::parse("acme/shop#1", client.host(), None).unwrap();
    read::pull_request(client, &name, "crh").await.unwrap()
}

fn client(url: &str) -> GitHubClient {
    let setup = GitHubClientConfig {
        host: GitHubHost::from_server_url(url).unwrap(),
        credentials: GitHubCredentials::Token(TOKEN.into()),
        cache: ReplyCache::disabled(),
        retry: ForgeRetryPolicy::default(),
        now: || SystemTime::UNIX_EPOCH,
        seed: 1,
    };
    GitHubClient::new(&NetworkSettings::default(), setup).unwrap()
}

/// The fake GitHub process. It exits when its standard input closes.
struct Fake {
    child: Child,
    /// The typical one with latency, and the large one.
    urls: [String; 2],
}

impl Fake {
    #[expect(clippy::disallowed_methods, reason = "starts itself as GitHub")]
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(FAKE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut url = || lines.next().unwrap().unwrap();
        let urls = [url(), url()];
        Self { child, urls }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

fn be_github() {
    let (usual, pull) = github(250);
    for number in 0..THREADS {
        usual.thread(&pull, "ben", ("files/0000.txt", 1), &format!("thread {number}"));
        usual.comment(&pull, "ann", &format!("comment {number}"));
    }
    usual.check("acme/shop", &usual.head(&pull), "tests", Some("success"));
    usual.latency(LATENCY);
    let (large, pull) = github(FILES);
    let text = "A remark about this line of the pull request. ".repeat(20);
    for number in 0..COMMENTS / 4 {
        let thread = large.thread(&pull, "ben", ("files/0000.txt", 1), &format!("{number} {text}"));
        large.reply(&thread, "ann", &text);
        large.comment(&pull, "ann", &text);
        large.comment(&pull, "ben", &text);
    }
    println!("{}\n{}", usual.url(), large.url());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A fake GitHub with a pull request of this many files.
fn github(files: usize) -> (FakeGitHub, PullHandle) {
    let repo = Repo::new();
    repo.write("readme", "shop\n");
    repo.commit("base");
    repo.git(&["switch", "--quiet", "-c", "feature"]);
    for number in 0..files {
        repo.write(&format!("files/{number:04}.txt"), "one\ntwo\nthree\n".repeat(10));
    }
    repo.commit("change");
    let github = FakeGitHub::start();
    github.repository("acme/shop", &repo);
    let pull = github.pull("acme/shop", Pull { head: "feature".to_owned(), ..Pull::default() });
    (github, pull)
}
