//! Any fault or kill at the single write leaves one comment in the end.

use std::time::Duration;

use super::LaunchpadScenario;
use crh_testkit::Output;
use crh_testkit::fake_launchpad::{HoldPoint, LaunchpadFault, LaunchpadFaultKind};

/// How long a test waits for a write: several times what a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

fn args(url: &str) -> [&str; 4] {
    ["check", url, "--sink", "launchpad"]
}

/// Visible content after an undisturbed run.
fn undisturbed() -> String {
    let pad = LaunchpadScenario::new();
    assert_eq!(pad.run(&args(&pad.url())).code, 1);
    seen(&pad)
}

fn seen(pad: &LaunchpadScenario) -> String {
    pad.shown(&pad.launchpad.render(&pad.merge))
}

/// Disturbs the write, checks the message, and posts again.
fn disturbed(how: &LaunchpadFaultKind, expected: &str) -> (Output, bool) {
    let pad = LaunchpadScenario::new();
    pad.launchpad.fail(LaunchpadFault::on_write(1, how.clone()));
    let output = pad.run(&args(&pad.url()));
    let is_there = seen(&pad) == expected;
    assert_eq!(pad.launchpad.requests().iter().filter(|it| it.write.is_some()).count(), 1);
    let again = pad.run(&args(&pad.url()));
    assert!(!again.stderr.contains("cannot deliver the report"), "{}", again.shown());
    assert_eq!(seen(&pad), expected, "{how:?}");
    (output, is_there)
}

#[test]
fn failed_write_is_completed_by_next_run() {
    let expected = undisturbed();
    // The other faults are tested in crh-forge, without waiting.
    for (how, is_applied) in
        [(LaunchpadFaultKind::CutAfter, true), (LaunchpadFaultKind::StatusBefore(400), false)]
    {
        let (output, is_there) = disturbed(&how, &expected);
        let is_told = output.stderr.contains("cannot deliver the report to `launchpad`");
        assert_eq!((is_there, is_told), (is_applied, !is_applied), "{}", output.shown());
        let later = output.stderr.contains("--sink launchpad --proposal");
        assert_eq!(later, !is_applied, "{}", output.shown());
    }
}

#[test]
fn failed_reads_are_retried() {
    let pad = LaunchpadScenario::new();
    let fault = LaunchpadFault::on("GET", "*/all_comments", LaunchpadFaultKind::StatusBefore(503));
    pad.launchpad.fail(fault.times(2));
    let output = pad.run(&args(&pad.url()));
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(output.stderr.contains("failed: retrying"), "{}", output.shown());
    assert_eq!(pad.launchpad.comments(&pad.merge).len(), 1);
}

#[test]
fn killed_posting_repeated_posts_once() {
    let expected = undisturbed();
    for moment in [HoldPoint::Before, HoldPoint::After] {
        let pad = LaunchpadScenario::new();
        let hold = pad.launchpad.hold_write(1, moment);
        let running = pad.crh(pad.elsewhere.path(), &args(&pad.url())).start();
        assert!(hold.wait(PATIENCE), "{moment:?}");
        let killed = running.kill();
        assert_eq!(killed.code, -1, "{}", killed.shown());
        hold.release();
        assert_eq!(seen(&pad) == expected, moment == HoldPoint::After);
        let again = pad.run(&args(&pad.url()));
        assert!(!again.stderr.contains("cannot deliver the report"), "{}", again.shown());
        assert_eq!(seen(&pad), expected, "{moment:?}");
        assert_eq!(pad.launchpad.comments(&pad.merge).len(), 1, "{moment:?}");
    }
}
