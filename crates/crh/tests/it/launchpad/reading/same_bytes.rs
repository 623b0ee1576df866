//! The same state of Launchpad gives the same workspace to one account, wherever, whenever and by whomever it is prepared; to all
//! accounts, as long as none of them has posted a review: only its own is left out. What these bytes are is in
//! `tests/data/launchpad/workspace.txt`.

use tempfile::TempDir;

use super::rounds::three_rounds;
use crate::user::{User, assert_same, tree};

#[test]
fn one_state_is_one_workspace() {
    let mut pad = three_rounds();
    pad.prepared();
    let first = tree(&pad.user.path("out"));
    let url = pad.url();
    // From a store that has everything, and by another user with an empty one.
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
        let environment = pad.launchpad.environment();
        let program =
            environment.iter().fold(program, |program, (name, value)| program.env(name, value));
        let output = program.env("TZ", zone).env("LANG", language).env("LC_ALL", language).run();
        assert_eq!(output.code, 0, "{}", output.shown());
        assert_same(&first, &tree(&out), zone);
    }
    // Nobody in particular sees the same: no review was posted.
    let program = pad.user.crh(pad.elsewhere.path(), &args);
    let environment = pad.launchpad.environment_without();
    let output =
        environment.iter().fold(program, |program, (name, value)| program.env(name, value)).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_same(&first, &tree(&out), "nobody");
}
