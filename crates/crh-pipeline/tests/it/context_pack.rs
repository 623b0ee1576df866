//! The context pack of real changes, in four languages and with hostile input.

use expect_test::expect_file;

use crate::test_change::TestChange;
use crh_pipeline::context_pack::{ContextPack, context_files};
use crh_testkit::Repo;

/// A change of one function, which uses others, in a repository with callers and copies.
struct PackSample {
    language: &'static str,
    /// Files that do not change.
    others: &'static [(&'static str, &'static str)],
    path: &'static str,
    before: &'static str,
    after: &'static str,
}

impl PackSample {
    fn change(&self) -> TestChange {
        let repo = Repo::new();
        for (path, text) in self.others {
            repo.write(path, text);
        }
        repo.write(self.path, self.before);
        repo.commit("before");
        repo.write(self.path, self.after);
        repo.commit("after");
        TestChange::from_repo(repo)
    }
}

/// A function that is far from the hunk, so that the diff does not show all of it.
fn padded(start: &str, line: &str, middle: &str, end: &str) -> String {
    format!("{start}{}{middle}{}{end}", line.repeat(14), line.repeat(14))
}

const SAMPLES: [PackSample; 4] = [
    PackSample {
        language: "python",
        others: &[
            (
                "shop/tax.py",
                "RATE = 0.2\n\n\ndef tax_of(amount, region):\n    return amount * RATE\n",
            ),
            (
                "shop/report.py",
                "from shop.orders import order_total\n\n\ndef print_report(orders):\n    for order in orders:\n        print(order_total(order))\n",
            ),
            (
                "tests/test_orders.py",
                "from shop.orders import order_total\n\n\ndef test_total():\n    assert order_total([]) == 0\n",
            ),
            (
                "shop/legacy.py",
                "def old_total(order):\n    return sum(item.price for item in order.items)\n",
            ),
        ],
        path: "shop/orders.py",
        before: "from shop.tax import tax_of\n\n\ndef order_total(order):\n    return sum(item.price for item in order.items)\n\n\ndef removed_helper(order):\n    return order\n",
        after: "from shop.tax import tax_of\n\n\ndef order_total(order):\n    total = sum(item.price for item in order.lines)\n    return total + tax_of(order.region, total)\n",
    },
    PackSample {
        language: "typescript",
        others: &[
            (
                "src/mail.ts",
                "export async function sendMail(to: string, body: string): Promise<void> {\n  await fetch(to, { body });\n}\n",
            ),
            (
                "src/jobs.ts",
                "import { notifyAll } from \"./notify\";\n\nexport function nightly() {\n  notifyAll([\"a\"]);\n}\n",
            ),
            (
                "src/other.ts",
                "export class Notifier {\n  notifyAll(people: string[]) {\n    return people.length;\n  }\n}\n",
            ),
        ],
        path: "src/notify.ts",
        before: "import { sendMail } from \"./mail\";\n\nexport async function notifyAll(people: string[]) {\n  return people.length;\n}\n",
        after: "import { sendMail } from \"./mail\";\n\nexport async function notifyAll(people: string[]) {\n  people.forEach((person) => sendMail(person, \"hello\"));\n}\n",
    },
    PackSample {
        language: "go",
        others: &[
            (
                "store/store.go",
                "package store\n\ntype Store struct{ items map[string]int }\n\nfunc (s *Store) Lookup(key string) (int, bool) {\n\tvalue, ok := s.items[key]\n\treturn value, ok\n}\n",
            ),
            (
                "api/handler.go",
                "package api\n\nfunc Handle(key string) int {\n\treturn CountItems(nil, key)\n}\n",
            ),
        ],
        path: "api/count.go",
        before: "package api\n\nfunc CountItems(s *store.Store, key string) int {\n\treturn 0\n}\n",
        after: "package api\n\nfunc CountItems(s *store.Store, key string) int {\n\tvalue, _ := s.Lookup(key)\n\treturn value\n}\n",
    },
    PackSample {
        language: "rust",
        others: &[
            (
                "src/clock.rs",
                "pub struct Clock;\n\nimpl Clock {\n    pub fn elapsed_ms(&self) -> u64 {\n        0\n    }\n}\n",
            ),
            (
                "src/main.rs",
                "mod clock;\nmod limit;\n\nfn main() {\n    limit::is_expired(&clock::Clock);\n}\n",
            ),
        ],
        path: "src/limit.rs",
        before: "use crate::clock::Clock;\n\npub fn is_expired(clock: &Clock) -> bool {\n    false\n}\n",
        after: "use crate::clock::Clock;\n\npub fn is_expired(clock: &Clock) -> bool {\n    clock.elapsed_ms() > 1_000\n}\n",
    },
];

#[test]
fn pack_has_definitions_callers_and_copies() {
    for sample in &SAMPLES {
        let change = sample.change();
        let text = ContextPack::build(&change.subject, &|_| true).render(40_000);
        let path = format!("../data/context_pack/{}.txt", sample.language);
        expect_file![path].assert_eq(&text);
    }
}

#[test]
fn common_name_is_shown_only_where_it_is_near() {
    let repo = Repo::new();
    // More lines than a search returns.
    repo.write("b/calls.py", "probe_all(1)\n".repeat(41_000));
    repo.write("z/probe.py", "def near():\n    return probe_all(3)\n");
    repo.write("z/attach.py", "def other():\n    return attach_one(3)\n");
    let code = |value: u8| {
        format!(
            "def probe_all(x):\n    return {value}\n\n\ndef attach_one(x):\n    return {value}\n"
        )
    };
    repo.write("z/main.py", code(1));
    repo.commit("before");
    repo.write("z/main.py", code(2));
    repo.commit("after");
    let change = TestChange::from_repo(repo);
    let pack = ContextPack::build(&change.subject, &|_| true).render(40_000);
    assert!(pack.contains("z/probe.py: uses probe_all, in near\n"), "{pack}");
    assert!(pack.contains("z/attach.py: uses attach_one, in other\n"), "{pack}");
    assert!(!pack.contains("b/calls.py"), "{pack}");
}

/// The files of `context/` as one text.
fn workspace_files(change: &TestChange) -> String {
    let files = context_files(&change.subject).unwrap().into_iter();
    files.map(|file| format!("==== {}\n{}", file.name, file.text)).collect()
}

#[test]
fn workspace_has_the_pack_with_an_index() {
    let text = workspace_files(&SAMPLES[0].change());
    expect_file!["../data/context_pack/files.txt"].assert_eq(&text);
    let diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(workspace_files(&TestChange::from_diff(diff)), "==== index.json\n[]\n");
}

#[test]
fn workspace_lists_what_exceeds_the_ceiling() {
    let text = |end: &str| {
        let functions = (0..15).map(|number| {
            let lines = format!("    value = compute(value, '{}')\n", "x".repeat(260)).repeat(110);
            format!("def compute_{number}(value):\n{lines}    return {end}\n\n\n")
        });
        functions.collect::<String>()
    };
    let repo = Repo::new();
    for end in ["value", "None"] {
        repo.write("code.py", text(end));
        repo.commit(end);
    }
    let text = workspace_files(&TestChange::from_repo(repo));
    assert!((150_000..400_000).contains(&text.len()), "{}", text.len());
    assert!(text.contains("\"file\": null"), "the index names what is left out");
}

#[test]
fn pack_shows_the_whole_changed_function() {
    let line = "    total += 1\n";
    let before = padded(
        "def order_total(order):\n    total = 0\n",
        line,
        "    check(order)\n",
        "    return total\n",
    );
    let after = before.replace("check(order)", "verify(order)");
    let repo = Repo::new();
    repo.write("orders.py", &before);
    repo.commit("before");
    repo.write("orders.py", &after);
    repo.commit("after");
    let change = TestChange::from_repo(repo);
    let text = ContextPack::build(&change.subject, &|_| true).render(40_000);
    assert!(text.contains("    1  def order_total(order):\n"), "{text}");
    assert!(text.contains("   32      return total\n"), "{text}");
}

#[test]
fn pack_without_room_names_what_it_leaves_out() {
    let change = SAMPLES[0].change();
    let pack = ContextPack::build(&change.subject, &|_| true);
    assert_eq!(pack.render(0), "");
    let other_pack = ContextPack::build(&change.subject, &|path| path == "other.py");
    assert_eq!(other_pack.render(40_000), "");
    let text = pack.render(600);
    assert!(text.len() < 1_200 && text.contains("== Left out for lack of room"), "{text}");
}

#[test]
fn pack_is_the_same_in_a_clone() {
    let repo = Repo::new();
    repo.write("a.py", "def first_name(x):\n    return x\n");
    repo.write("b.py", "from a import first_name\nprint(first_name(1))\n");
    repo.commit("before");
    repo.write(
        "a.py",
        "def first_name(x):\n    return last_name(x)\n\n\ndef last_name(x):\n    return x\n",
    );
    repo.commit("after");
    let shallow = repo.cloned(&["--depth", "2"]);
    // Files outside the two commits are not part of the pack.
    repo.write("untracked.py", "from a import first_name\nfirst_name(2)\n");
    repo.git(&["branch", "elsewhere", "HEAD~1"]);
    let pack = |repo| {
        let change = TestChange::from_repo(repo);
        ContextPack::build(&change.subject, &|_| true).render(40_000)
    };
    let text = pack(repo);
    assert!(text.contains("b.py") && !text.contains("untracked.py"), "{text}");
    assert_eq!(text, pack(shallow));
}

#[test]
fn hostile_repository_stays_within_bounds() {
    let repo = Repo::new();
    let outside = Repo::new();
    outside.write("secret.py", "open_sesame = hot_path(1)\n");
    let calls: String =
        (0..100_000).map(|number| format!("x{number} = hot_path({number})\n")).collect();
    repo.write("calls.py", &calls);
    repo.write("wide.py", format!("y = hot_path('{}')\n", "z".repeat(50_000_000)));
    repo.write("hot.py", "def hot_path(x):\n    return cold_path(x)\n");
    // The two functions call each other.
    repo.write("cold.py", "def cold_path(x):\n    return hot_path(x)\n");
    for (target, link) in [
        (outside.path().join("secret.py"), "secret.py"),
        (outside.path().to_owned(), "folder"),
        ("loop.py".into(), "loop.py"),
        ("hot.py".into(), "link.py"),
    ] {
        std::os::unix::fs::symlink(target, repo.path().join(link)).unwrap();
    }
    repo.commit("before");
    repo.write("hot.py", "def hot_path(x):\n    return cold_path(x) + 1\n");
    repo.commit("after");
    let change = TestChange::from_repo(repo);
    let text = ContextPack::build(&change.subject, &|_| true).render(40_000);
    assert!(text.contains("calls.py: uses hot_path"), "{text}");
    assert!(text.len() < 10_000, "{}", text.len());
    assert!(!text.contains("open_sesame"), "{text}");
    let text = workspace_files(&change);
    assert!(text.len() < 12_000 && !text.contains("open_sesame"), "{text}");
}
