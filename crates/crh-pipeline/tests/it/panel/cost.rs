//! Cost of a panel: the change is sent once and then read from the vendor's cache.

use super::scene::{Scene, reports};
use crh_testkit::{FakeModel, Repo};

/// Eight reviewers of the mid tier.
const EIGHT: [&str; 8] = [
    "testing",
    "maintainability",
    "performance",
    "api-contract",
    "data-migrations",
    "reliability",
    "cli-readiness",
    "concurrency",
];

/// Price of a cached token relative to a new one, as with most vendors.
const CACHED: f64 = 0.1;

/// Maximum share of the cost of eight uncached reviewers.
const MOST: f64 = 0.35;

const DIFF_BYTES: usize = 40 << 10;

/// A change with a diff of about `DIFF_BYTES` bytes.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("app/rates.py", "RATES = {}\n");
    repo.commit("base");
    let mut text = String::from("RATES = {}\n");
    for number in 0.. {
        let line = format!("RATES['country_{number}'] = rate_of(country={number}, year=2026)\n");
        // Counts a plus sign for every line, and a header.
        if text.len() + text.lines().count() + line.len() > DIFF_BYTES {
            break;
        }
        text += &line;
    }
    repo.write("app/rates.py", text);
    repo.commit("change");
    repo
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the ratio is what people want to see")]
async fn prompt_cache_cuts_panel_cost_to_a_third() {
    let model = EIGHT.iter().fold(FakeModel::start(), |it, name| it.on(name, [reports(&[])]));
    let scene = Scene::from_repo(repo())
        .with_reviewers(&EIGHT)
        .with_change(|scene| scene.terms.max_parallel = 8);
    scene.review(&model).await;
    let counted = model.usage();
    assert_eq!((counted.requests, model.usage_by_model().len()), (8, 1));
    let weighted = (counted.input - counted.cached) as f64 + counted.cached as f64 * CACHED;
    let ratio = weighted / counted.input as f64;
    println!(
        "eight reviewers read {} tokens, {} of them from the cache: {ratio:.3} of eight prompts that share nothing",
        counted.input, counted.cached
    );
    assert!(ratio <= MOST, "{ratio}");
}
