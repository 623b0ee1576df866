//! Serves the fake Launchpad with one merge proposal of two rounds until standard input ends, for `scripts/check-launchpad-fake`.
//! The one argument is a file with Launchpad's own description of its web service (WADL). What to know is on standard output, as
//! one line of JSON; each line of standard input is a token to which a person says yes.

#![expect(clippy::unwrap_used, reason = "a program for one script")]

use std::io::{BufRead, Write};

use serde_json::json;

use crh_testkit::fake_launchpad::{CONSUMER, Merge, REVIEWER, SECRET, TOKEN};
use crh_testkit::{FakeLaunchpad, Repo};

/// The address in the description that is replaced by the fake's own.
const DESCRIBED: &str = "https://api.launchpad.test/1.0/";

const SHOP: &str = "~acme/shop/+git/shop";

fn main() {
    let description = std::env::args().nth(1).unwrap();
    let repo = Repo::new();
    repo.write("naïve.py", "one\n");
    repo.commit("base");
    repo.git(&["switch", "--quiet", "-c", "feature"]);
    repo.write("naïve.py", "one\ntwo\n");
    repo.commit("change");
    let launchpad = FakeLaunchpad::start();
    launchpad.describe(&std::fs::read_to_string(description).unwrap(), DESCRIBED);
    launchpad.repository(SHOP, &repo);
    let merge = launchpad.propose(Merge::default());
    let first = launchpad.preview_diffs(&merge)[0];
    launchpad.inline(&merge, "ben", first, &[(7, "Why two?")]);
    repo.write("naïve.py", "one\nthree\n");
    repo.commit("another");
    launchpad.push(&merge);
    for number in 0..100 {
        launchpad.comment(&merge, "ben", &format!("comment {number}"));
    }
    launchpad.vote(&merge, "cas", "Needs Information", "What for?");
    launchpad.report(SHOP, &launchpad.head(&merge), "lint", "Succeeded");
    launchpad.link_bug(&merge, "It is slow", "Very.");
    let known = json!({
        "root": format!("{}/", launchpad.url()), "merge": merge.path, "token": TOKEN, "secret": SECRET,
        "consumer": CONSUMER, "reviewer": REVIEWER, "diff": launchpad.diff_text(&merge),
        "rounds": launchpad.preview_diffs(&merge), "repository": SHOP, "head": launchpad.head(&merge),
    });
    let mut out = std::io::stdout();
    writeln!(out, "{known}").unwrap();
    out.flush().unwrap();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let said = match line.trim().split_once(' ') {
            Some(("no", token)) => {
                launchpad.decline(token);
                "no"
            }
            Some(_) | None => {
                launchpad.authorize(line.trim(), "zoe");
                "yes"
            }
        };
        writeln!(out, "{said}").unwrap();
        out.flush().unwrap();
    }
    writeln!(out, "{}", json!(launchpad.surprises())).unwrap();
}
