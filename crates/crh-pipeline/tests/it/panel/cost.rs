//! What a panel costs: a change is read once and then from the vendor's cache.

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

/// What a token costs that comes from the cache, of one that does not: the price of most vendors.
const CACHED: f64 = 0.1;

/// Of what eight reviewers cost that share nothing.
const MOST: f64 = 0.35;

const DIFF_BYTES: usize = 40 << 10;

/// A change whose diff has as many bytes as are asked for.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("app/rates.py", "RATES = {}\n");
    repo.commit("base");
    let mut text = String::from("RATES = {}\n");
    for number in 0.. {
        let line = format!("RATES['country_{number}'] = rate_of(country={number}, year=2026)\n");
        // A plus before every line, and some lines of a header.
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
async fn eight_reviewers_of_one_tier_cost_a_third_of_eight_prompts() {
    let model = EIGHT.iter().fold(FakeModel::start(), |it, name| it.on(name, [reports(&[])]));
    let scene = Scene::of(repo()).by(&EIGHT).but(|scene| scene.terms.side_by_side = 8);
    scene.review(&model).await;
    let counted = model.counted();
    assert_eq!((counted.requests, model.counted_by_model().len()), (8, 1));
    let weighted = (counted.input - counted.cached) as f64 + counted.cached as f64 * CACHED;
    let ratio = weighted / counted.input as f64;
    println!(
        "eight reviewers read {} tokens, {} of them from the cache: {ratio:.3} of eight prompts that share nothing",
        counted.input, counted.cached
    );
    assert!(ratio <= MOST, "{ratio}");
}
