//! `crh prepare` is deterministic: the same change gives the same bytes for every user, clone and
//! time.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use expect_test::expect;

use crate::user::{User, assert_same, summary, tree};
use crh_testkit::{Program, Repo};

/// User settings that change nearly all git output.
const ODD_GIT_CONFIG: &str = "[core]\n\tquotePath = false\n\tabbrev = 4\n\tattributesFile = ~/attributes\n\tpager = false\n\
    [color]\n\tui = always\n[diff]\n\tnoprefix = true\n\tcontext = 0\n\tinterHunkContext = 9\n\texternal = false\n\
    \talgorithm = patience\n\trenames = false\n\tsuppressBlankEmpty = true\n\tmnemonicPrefix = true\n\
    [log]\n\tdate = relative\n\tshowSignature = true\n[i18n]\n\tlogOutputEncoding = UTF-16\n[pack]\n\tcompression = 0\n\
    \twindow = 0\n\tdepth = 0\n[format]\n\tpretty = oneline\n[diff \"loud\"]\n\ttextconv = tr a-z A-Z <\n";
/// Attributes that hide files from a diff or convert them.
const ODD_ATTRIBUTES: &str = "*.rs -diff\n*.md diff=loud\n* -text\n";

/// A repository with a branch that contains every kind of change.
fn upstream() -> Repo {
    let repo = Repo::new();
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    repo.write("AGENTS.md", "Be kind.\n");
    repo.write(".cursor/rules/tests.mdc", "Test it.\n");
    repo.write("src/long.rs", (1..60).map(|n| format!("line {n}\n")).collect::<String>());
    repo.write("src/old name.rs", "fn moved() {\n    1\n}\n\nfn stays() {}\n");
    repo.write("shop/tax.py", "def tax_of(amount):\n    return amount * 2\n");
    repo.write("shop/report.py", "from orders import total_of\n\nprint(total_of([1]))\n");
    repo.write("shop/orders.py", "def total_of(items):\n    return sum(items)\n");
    repo.write("gone.md", "this is removed\n");
    repo.write("run.sh", "echo\n");
    repo.write("bytes.bin", b"\0\x01\x02");
    repo.commit("the beginning");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.write("src/long.rs", (1..60).map(|n| format!("line {}\n", n / 7 * 7)).collect::<String>());
    fs::rename(repo.path().join("src/old name.rs"), repo.path().join("src/näher.rs")).unwrap();
    repo.write("bytes.bin", b"\0\x01\x03");
    repo.write("shop/orders.py", "def total_of(items):\n    return tax_of(sum(items))\n");
    repo.commit("the first half");
    fs::remove_file(repo.path().join("gone.md")).unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(repo.path().join("run.sh"), executable).unwrap();
    symlink("../outside", repo.path().join("link")).unwrap();
    repo.write("docs/a \"quoted\" name.md", "text without an end of line");
    repo.commit("the second half\n\nWith a body: é.");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("later.md", "what main did meanwhile\n");
    repo.commit("main goes on");
    repo
}

/// Output of `--out` and `--pack`: the file tree and the bytes of the archive.
type PreparedOutput = (BTreeMap<String, String>, Vec<u8>);

fn prepare(user: &User, run: impl FnOnce(&[&str]) -> Program, target: &[&str]) -> PreparedOutput {
    let (out, pack) = (user.path("out"), user.path("packed.tar"));
    let places = ["prepare", "--out", out.to_str().unwrap(), "--pack", pack.to_str().unwrap()];
    let output = run(&[&places, target].concat()).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    (tree(&out), fs::read(pack).unwrap())
}

/// Runs `crh prepare` in a folder as a new user.
fn prepare_as_new_user(folder: &Path, target: &[&str]) -> PreparedOutput {
    let user = User::new();
    prepare(&user, |args| user.crh(folder, args), target)
}

fn assert_same_output(found: &PreparedOutput, expected: &PreparedOutput, what: &str) {
    assert_same(&expected.0, &found.0, what);
    assert!(expected.1 == found.1, "{what}: the archives differ");
}

#[test]
fn output_ignores_user_and_settings() {
    let repo = upstream();
    let expected = prepare_as_new_user(repo.path(), &["feature"]);
    for file in ["preview-diffs/1/diff/raw.diff", "context/definitions.txt", "context/uses.txt"] {
        assert!(expected.0.contains_key(file), "{:?}", expected.0.keys());
    }
    let check = |what: &str, run: &dyn Fn(&User, &[&str]) -> Program| {
        let user = User::new();
        let found = prepare(&user, |args| run(&user, args), &["feature"]);
        assert_same_output(&found, &expected, what);
    };
    let folder = repo.path();
    check("another time zone and language", &|user, args| {
        let program = user.crh(folder, args).env("TZ", "Asia/Kathmandu");
        program.env("LANG", "tr_TR.UTF-8").env("LC_ALL", "de_DE.ISO-8859-1")
    });
    check("a strict umask", &|user, args| user.crh_with_umask("077", folder, args));
    check("an open umask", &|user, args| user.crh_with_umask("000", folder, args));
    check("a subfolder", &|user, args| user.crh(&folder.join("src"), args));
    check("inside .git", &|user, args| user.crh(&folder.join(".git/refs"), args));
    check("the user's settings", &|user, args| {
        user.write(".gitconfig", ODD_GIT_CONFIG);
        user.write("attributes", ODD_ATTRIBUTES);
        user.crh(folder, args)
    });
    check("variables that git obeys", &|user, args| {
        user.crh(folder, args)
            .env("GIT_EXTERNAL_DIFF", "false")
            .env("GIT_DIFF_OPTS", "-u0")
            .env("GIT_PAGER", "false")
            .env("GIT_DIR", "/nowhere")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "diff.noprefix")
            .env("GIT_CONFIG_VALUE_0", "true")
    });
}

#[test]
fn output_ignores_kind_of_clone() {
    let upstream = upstream();
    let whole = upstream.cloned(&[]);
    let by_id = format!("{}..{}", upstream.id("main"), upstream.id("feature"));
    let targets = [["feature"], [by_id.as_str()]];
    let expected = targets.map(|target| prepare_as_new_user(whole.path(), &target));
    let check = |what: &str, folder: &Path| {
        for (target, expected) in targets.iter().zip(&expected) {
            assert_same_output(
                &prepare_as_new_user(folder, target),
                expected,
                &format!("{what}, {target:?}"),
            );
        }
    };
    check("where it was made", upstream.path());
    check("a bare clone", upstream.cloned(&["--bare"]).path());
    check("a shallow clone", upstream.cloned(&["--depth=1"]).path());
    check("a partial clone", upstream.cloned(&["--filter=blob:none"]).path());
    whole.git(&["worktree", "add", "--quiet", "--detach", "linked"]);
    check("a linked worktree", &whole.path().join("linked"));
    upstream.git(&["gc", "--quiet", "--aggressive", "--prune=now"]);
    check("after a clean-up", upstream.path());
}

#[test]
fn dirty_checkout_is_same_for_every_user() {
    let upstream = upstream();
    let (one, other) = (upstream.cloned(&[]), upstream.cloned(&["--depth=1"]));
    for clone in [&one, &other] {
        clone.write("src/long.rs", "short now\n");
        clone.write("staged.md", "new\n");
        clone.git(&["add", "staged.md"]);
        clone.write("untracked.md", "newer\n");
    }
    for target in [&["--include-untracked"][..], &["--uncommitted"], &["--staged"], &[]] {
        let expected = prepare_as_new_user(one.path(), target);
        let user = User::new();
        user.write(".gitconfig", &format!("{ODD_GIT_CONFIG}[user]\n\tname = Another User\n"));
        let found = prepare(
            &user,
            |args| {
                let program = user.crh_with_umask("077", &other.path().join("src"), args);
                program.env("TZ", "Asia/Tokyo").env("GIT_AUTHOR_NAME", "Another User")
            },
            target,
        );
        assert_same_output(&found, &expected, &format!("{target:?}"));
    }
}

#[test]
fn snapshot_id_is_same_on_every_machine() {
    let repo = Repo::from_fixture("//- a.md\na\n");
    repo.write("a.md", "b\n");
    let user = User::new();
    let output = user.prepared(repo.path(), &["--uncommitted"], "out");
    // The commit id depends neither on the user nor on the time.
    expect!["d73436809f3e4647a0488091ecae3adff53cc876"]
        .assert_eq(summary(&output)["headRev"].as_str().unwrap());
}
