//! `crh completions` and `crh man`.

use std::collections::BTreeSet;

use crate::{crh, root};
use crh_testkit::Program;

#[test]
fn completion_scripts_work_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = crh(&["completions", shell]).run();
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{shell}");
        assert!(output.stdout.contains("completions"), "{shell} completes the commands");
    }
    let script = crh(&["completions", "bash"]).run().stdout;
    let try_it = "COMP_WORDS=(crh merge --dial); COMP_CWORD=2; _crh crh --dial merge; echo \"${COMPREPLY[@]}\"";
    let bash = Program::new("bash", &root()).stdin(format!("{script}\n{try_it}\n"));
    assert_eq!(bash.run().shown(), "exit 0\n---\n--dialect\n");
}

#[test]
fn every_command_has_manual_page() {
    let printed = crh(&["man"]).run();
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("share/man1");
    let written = crh(&["man", "--out", out.to_str().unwrap()]).run();
    assert_eq!((written.code, written.stdout.as_str()), (0, ""), "{}", written.stderr);
    let pages: BTreeSet<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    // The page of a command refers to the pages of its subcommands.
    for page in &pages {
        let text = std::fs::read_to_string(out.join(page)).unwrap();
        let name = page.strip_suffix(".1").unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
        for line in text
            .lines()
            .filter(|line| line.starts_with(&format!("{name}\\-")) && line.ends_with("(1)"))
        {
            assert!(pages.contains(&line.replace('\\', "").replace("(1)", ".1")), "{line}");
        }
    }
    assert!(pages.contains("crh.1") && pages.contains("crh-diff-map.1"), "{pages:?}");
    assert_eq!(printed.stdout, std::fs::read_to_string(out.join("crh.1")).unwrap());
}
