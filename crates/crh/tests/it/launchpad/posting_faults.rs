//! Any fault or kill at the single write leaves one comment in the end.

use std::time::Duration;

use super::LaunchpadScenario;
use crh_testkit::fake_launchpad::HoldPoint;

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
