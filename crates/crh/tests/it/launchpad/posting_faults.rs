//! Whatever happens to the one write, and whoever ends the program at it: in the end there is one comment.

use std::time::Duration;

use super::Pad;
use crh_testkit::Output;
use crh_testkit::fake_launchpad::{Fault, How, Moment};

/// How long a test waits for a write: several times what a slow machine takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is run and repeated.
fn args(url: &str) -> [&str; 4] {
    ["check", url, "--sink", "launchpad"]
}

/// All that readers see, when nothing has gone wrong.
fn undisturbed() -> String {
    let pad = Pad::new();
    assert_eq!(pad.run(&args(&pad.url())).code, 1);
    seen(&pad)
}

fn seen(pad: &Pad) -> String {
    pad.shown(&pad.launchpad.shown(&pad.merge))
}

/// Has the write go wrong, and says what was said; then posts again.
fn disturbed(how: &How, expected: &str) -> (Output, bool) {
    let pad = Pad::new();
    pad.launchpad.fail(Fault::on_write(1, how.clone()));
    let output = pad.run(&args(&pad.url()));
    let is_there = seen(&pad) == expected;
    assert_eq!(pad.launchpad.requests().iter().filter(|it| it.write.is_some()).count(), 1);
    let again = pad.run(&args(&pad.url()));
    assert!(!again.stderr.contains("did not go to"), "{}", again.shown());
    assert_eq!(seen(&pad), expected, "{how:?}");
    (output, is_there)
}

#[test]
fn a_write_that_goes_wrong_is_told_and_the_next_run_completes_it() {
    let expected = undisturbed();
    // All others are tried out where nobody has to wait: the program waits for a while before it looks.
    for (how, is_applied) in [(How::CutAfter, true), (How::StatusBefore(400), false)] {
        let (output, is_there) = disturbed(&how, &expected);
        let is_told = output.stderr.contains("the report did not go to `launchpad`");
        assert_eq!((is_there, is_told), (is_applied, !is_applied), "{}", output.shown());
        let later = output.stderr.contains("--sink launchpad --proposal");
        assert_eq!(later, !is_applied, "{}", output.shown());
    }
}

#[test]
fn what_cannot_be_read_at_first_is_read_again() {
    let pad = Pad::new();
    let fault = Fault::on("GET", "*/all_comments", How::StatusBefore(503));
    pad.launchpad.fail(fault.times(2));
    let output = pad.run(&args(&pad.url()));
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(output.stderr.contains("fails; it is asked again"), "{}", output.shown());
    assert_eq!(pad.launchpad.comments(&pad.merge).len(), 1);
}

#[test]
fn a_program_that_is_killed_at_the_write_and_repeated_has_posted_once() {
    let expected = undisturbed();
    for moment in [Moment::Before, Moment::After] {
        let pad = Pad::new();
        let hold = pad.launchpad.hold_write(1, moment);
        let running = pad.crh(pad.elsewhere.path(), &args(&pad.url())).start();
        assert!(hold.wait(PATIENCE), "{moment:?}");
        let killed = running.kill();
        assert_eq!(killed.code, -1, "{}", killed.shown());
        hold.release();
        assert_eq!(seen(&pad) == expected, moment == Moment::After);
        let again = pad.run(&args(&pad.url()));
        assert!(!again.stderr.contains("did not go to"), "{}", again.shown());
        assert_eq!(seen(&pad), expected, "{moment:?}");
        assert_eq!(pad.launchpad.comments(&pad.merge).len(), 1, "{moment:?}");
    }
}
