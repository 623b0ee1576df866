//! The files that issues are in: as they were when the issues were found, as they are now, and what was changed in between.

use std::collections::BTreeMap;

use super::edits::{Changed, Texts};
use super::ground::{Ground, Start};
use crate::failure::{Failure, Kind, OrFail};
use crh_git::Objects;
use crh_review::diff::{Diff, LineKind};
use crh_review::report::Issue;

/// The files of issues as they were when the issues were found and as they are now, by the numbers of the issues.
pub(super) fn texts(
    ground: &Ground<'_>,
    start: &Start,
    issues: &[&Issue],
) -> Result<BTreeMap<u32, Result<Texts, String>>, Failure> {
    let objects = ground.bare.objects().or_fail(Kind::Outside)?;
    let mut since: BTreeMap<&str, Diff> = BTreeMap::new();
    for issue in issues {
        let found_on = ground.found_on(issue.number);
        if !since.contains_key(found_on) {
            let diff = ground.bare.diff(found_on, &start.commit).or_fail(Kind::Outside)?;
            since.insert(found_on, Diff::read(diff));
        }
    }
    let of = |issue: &&Issue| {
        let path = issue.location.file.as_str();
        let found_on = ground.found_on(issue.number);
        let text = |commit: &str| text(&objects, commit, path);
        let changed = since.get(found_on).map(|diff| changed(diff, path)).unwrap_or_default();
        let texts = match start.barred.get(path) {
            Some(why) => Err(why.clone()),
            None => text(found_on)
                .and_then(|reviewed| Ok(Texts { reviewed, now: text(&start.commit)?, changed })),
        };
        (issue.number, texts)
    };
    Ok(issues.iter().map(of).collect())
}

fn text(objects: &Objects, commit: &str, path: &str) -> Result<Vec<u8>, String> {
    match objects.file_if_any(commit, path.as_bytes()) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("there is no file `{path}`")),
        Err(why) => Err(why.to_string()),
    }
}

/// What a diff changes in a file.
fn changed(diff: &Diff, path: &str) -> Vec<Changed> {
    let file = diff.files().iter().find(|file| file.path.shown() == path);
    let mut all: Vec<Changed> = Vec::new();
    for hunk in file.iter().flat_map(|file| &file.hunks) {
        let start = usize::try_from(hunk.old.start).unwrap_or_default();
        // An empty run starts behind its line.
        let mut next = if hunk.old.len == 0 { start } else { start.saturating_sub(1) };
        let mut run = Changed { at: next, were: 0, are: 0 };
        let keep = |run: Changed, all: &mut Vec<Changed>| {
            if run.were + run.are > 0 {
                all.push(run);
            }
        };
        for line in diff.lines(hunk) {
            match line.kind {
                LineKind::Context => {
                    keep(run, &mut all);
                    next += 1;
                    run = Changed { at: next, were: 0, are: 0 };
                }
                LineKind::Removed => (run.were, next) = (run.were + 1, next + 1),
                LineKind::Added => run.are += 1,
                LineKind::Remark => {}
            }
        }
        keep(run, &mut all);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_diff_changes_is_told_by_runs() {
        let diff = "\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,5 +1,6 @@
-one
+1
+1.5
 two
-three
 four
+4.5
 five
@@ -9,0 +10,1 @@
+ten
";
        let diff = Diff::read(diff.as_bytes().to_vec());
        let expected = [(0, 1, 2), (2, 1, 0), (4, 0, 1), (9, 0, 1)]
            .map(|(at, were, are)| Changed { at, were, are });
        assert_eq!(changed(&diff, "a.py"), expected);
        assert_eq!(changed(&diff, "b.py"), []);
    }
}
