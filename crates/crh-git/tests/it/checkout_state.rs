//! The fingerprint of a checkout.

use crh_git::Repository;
use crh_testkit::Repo;

#[test]
fn saved_file_changes_the_state_and_ignored_file_does_not() {
    let repo = Repo::from_fixture(
        "
        //- a.rs
        fn a() {}
        //- .gitignore
        target/
        ",
    );
    let repository = Repository::discover(repo.path()).unwrap();
    let state = || repository.checkout_state().unwrap();
    let mut last = state();
    let mut check = |what: &str, is_change: bool| {
        let now = state();
        assert_eq!(now != last, is_change, "{what}");
        last = now;
    };
    check("nothing", false);
    repo.write("target/out.o", "binary");
    check("an ignored file", false);
    repo.git(&["update-index", "--refresh"]);
    check("a refreshed index", false);
    repo.write("a.rs", "fn a() { b() }\n");
    check("a saved file", true);
    repo.write("new.rs", "fn new() {}\n");
    check("a new file", true);
    repo.git(&["add", "-N", "new.rs"]);
    check("a file that git tracks now", true);
    repo.commit("all");
    check("a commit", true);
    std::fs::remove_file(repo.path().join("a.rs")).unwrap();
    check("a deleted file", true);
}
