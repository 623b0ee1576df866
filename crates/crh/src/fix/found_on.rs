//! Commits that issues of later rounds were found on, stored in the run folder.

use std::collections::{BTreeMap, BTreeSet};

use crh_pipeline::run_folder::{FileWriteError, RunFolder};

/// The report from before the fixes, with what reviews of the fixes found in the reviewed code.
pub(crate) const REVIEWED: &str = "stages/report.json";
/// File with the commits that issues of later rounds were found on.
const FOUND_ON: &str = "stages/found-on.json";

/// Commits that issues of later rounds were found on, by issue number.
pub(crate) fn found_on(run: &RunFolder) -> BTreeMap<u32, String> {
    run.read(FOUND_ON).unwrap_or_default()
}

/// Stores the commit that issues were found on.
pub(crate) fn keep_found_on(
    run: &RunFolder,
    numbers: &[u32],
    commit: &str,
) -> Result<(), FileWriteError> {
    let mut found_on = found_on(run);
    found_on.extend(numbers.iter().map(|number| (*number, commit.to_owned())));
    run.store_masked(FOUND_ON, &found_on)
}

/// Clears the commits of these issues, because they have their reviewed places again.
pub(super) fn drop_found_on(
    run: &RunFolder,
    numbers: &BTreeSet<u32>,
) -> Result<(), FileWriteError> {
    let mut found_on = found_on(run);
    let count = found_on.len();
    found_on.retain(|number, _| !numbers.contains(number));
    match found_on.len() == count {
        true => Ok(()),
        false => run.store_masked(FOUND_ON, &found_on),
    }
}

/// Clears these commits, because issues will get new numbers.
pub(crate) fn forget_found_on(run: &RunFolder) -> Result<(), FileWriteError> {
    let none = BTreeMap::<u32, String>::new();
    match run.read::<BTreeMap<u32, String>>(FOUND_ON) {
        Ok(found_on) if found_on != none => run.store_masked(FOUND_ON, &none),
        Ok(_) | Err(_) => Ok(()),
    }
}
