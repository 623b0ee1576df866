//! The same state of Launchpad gives the same workspace for one account on any machine, and for all
//! accounts unless one posted a review, because crh leaves out its own comments.
//! `tests/data/launchpad/workspace.txt` has the expected content.

use tempfile::TempDir;

use super::rounds::three_rounds;
use crate::user::{User, assert_same, tree};

#[test]
fn same_state_gives_same_workspace() {
    let mut pad = three_rounds();
    pad.prepared();
    let first = tree(&pad.user.path("out"));
    let url = pad.url();
    // With a full store, and by another user with an empty one.
    pad.prepared();
    assert_same(&first, &tree(&pad.user.path("out")), "again");
    pad.user = User::new();
    pad.elsewhere = TempDir::new().unwrap();
    pad.prepared();
    assert_same(&first, &tree(&pad.user.path("out")), "another user");
    let wild =
        "[core]\n\tabbrev = 4\n\tquotePath = false\n[diff]\n\tnoprefix = true\n\tcontext = 0\n";
    pad.user.write(".gitconfig", wild);
    pad.fork.git(&["checkout", "--quiet", "main"]);
    let out = pad.user.path("out");
    let args = ["prepare", &url, "--no-cache", "--out", out.to_str().unwrap()];
    for (folder, umask, zone, language) in [
        (pad.elsewhere.path(), "077", "Pacific/Kiritimati", "tr_TR.UTF-8"),
        (pad.elsewhere.path(), "002", "America/St_Johns", "C"),
        (pad.fork.path(), "022", "UTC", "de_DE.UTF-8"),
        (pad.repo.path(), "000", "Asia/Kathmandu", "POSIX"),
    ] {
        let program = pad.user.crh_with_umask(umask, folder, &args);
        let program = program.envs(&pad.launchpad.environment());
        let output = program.env("TZ", zone).env("LANG", language).env("LC_ALL", language).run();
        assert_eq!(output.code, 0, "{}", output.shown());
        assert_same(&first, &tree(&out), zone);
    }
    // Anonymous users see the same, because no review was posted.
    let program = pad.user.crh(pad.elsewhere.path(), &args);
    let output = program.envs(&pad.launchpad.environment_without()).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_same(&first, &tree(&out), "anonymous");
}
