//! Runs an analyser on many files, so that one file cannot keep it from checking the others.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum files per run of an analyser, so that their paths fit into a command line.
pub(super) const FILES_MAX: usize = 300;
/// Divisor: with several files, the first run gets half of the time limit. The rest is for the
/// runs after it.
const FIRST_PART: u32 = 2;
/// Divisor: each later run gets a quarter of the time that is left.
const NEXT_PART: u32 = 4;
/// Divisor: if less than a hundredth of the time limit is left, no further run starts.
const LAST_PART: u32 = 100;

/// Why a batch failed, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BatchError {
    /// A timeout, too much or unreadable output, or a crash: one of the files may be the cause.
    Files(String),
    /// The analyser cannot run at all.
    Analyser(String),
}

impl BatchError {
    pub(super) fn into_reason(self) -> String {
        match self {
            Self::Files(why) | Self::Analyser(why) => why,
        }
    }
}

/// Results of all batches.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BatchResults<T> {
    pub(super) results: Vec<T>,
    /// Files that could not be checked, each with the reason.
    pub(super) failed_files: Vec<(String, String)>,
}

/// Runs an analyser on batches of [`FILES_MAX`] files, all within the time limit. If a batch fails,
/// runs the analyser on both halves of the batch, down to single files. Returns an error if the
/// analyser cannot run at all, or if `check_analyser` finds it unusable after the first failure.
pub(super) fn run_in_batches<T>(
    files: &[String],
    time_limit: Duration,
    check_analyser: impl FnOnce() -> Result<(), BatchError>,
    run: impl FnMut(&[String], Duration) -> Result<T, BatchError>,
) -> Result<BatchResults<T>, String> {
    let start = Instant::now();
    run_in_batches_by_clock(files, time_limit, || start.elapsed(), check_analyser, run)
}

/// Like [`run_in_batches`]. `elapsed` returns the time since the start, so that tests do not depend
/// on the speed of the machine.
fn run_in_batches_by_clock<T>(
    files: &[String],
    time_limit: Duration,
    elapsed: impl Fn() -> Duration,
    check_analyser: impl FnOnce() -> Result<(), BatchError>,
    mut run: impl FnMut(&[String], Duration) -> Result<T, BatchError>,
) -> Result<BatchResults<T>, String> {
    let mut batches: VecDeque<&[String]> = files.chunks(FILES_MAX).collect();
    let (mut results, mut failed_files) = (Vec::new(), Vec::new());
    let mut check_analyser = Some(check_analyser);
    let mut batch_limit = if files.len() > 1 { time_limit / FIRST_PART } else { time_limit };
    while let Some(batch) = batches.pop_front() {
        let outcome = match batch_limit < time_limit / LAST_PART / NEXT_PART {
            true => Err(BatchError::Files("no time was left for it".to_owned())),
            false => run(batch, batch_limit),
        };
        if let Some(check_analyser) = check_analyser.take_if(|_| outcome.is_err()) {
            check_analyser().map_err(BatchError::into_reason)?;
        }
        match outcome {
            Ok(result) => results.push(result),
            Err(BatchError::Analyser(why)) => return Err(why),
            Err(BatchError::Files(why)) => match batch {
                [] => {}
                [file] => failed_files.push((file.clone(), why)),
                [..] => {
                    let (first, second) = batch.split_at(batch.len() / 2);
                    batches.extend([first, second]);
                }
            },
        }
        batch_limit = time_limit.saturating_sub(elapsed()) / NEXT_PART;
    }
    failed_files.sort();
    Ok(BatchResults { results, failed_files })
}

/// Runs an analyser once on each batch, all within the time limit. If a batch fails, all its files
/// count as failed. Returns an error if the analyser cannot run at all, or if `check_analyser`
/// finds it unusable after a failure.
pub(super) fn run_each_batch<T>(
    files: &[String],
    batch_size: usize,
    time_limit: Duration,
    check_analyser: impl Fn(&str) -> Result<(), BatchError>,
    mut run: impl FnMut(&[String], Duration) -> Result<T, BatchError>,
) -> Result<BatchResults<T>, String> {
    let start = Instant::now();
    let (mut results, mut failed_files) = (Vec::new(), Vec::new());
    // An analyser of whole projects runs even if it gets no files.
    let batches = files.chunks(batch_size).chain(files.is_empty().then_some(files));
    for batch in batches {
        match run(batch, time_limit.saturating_sub(start.elapsed())) {
            Ok(result) => results.push(result),
            Err(BatchError::Analyser(why)) => return Err(why),
            Err(BatchError::Files(why)) => {
                check_analyser(&why).map_err(BatchError::into_reason)?;
                failed_files.extend(batch.iter().map(|file| (file.clone(), why.clone())));
            }
        }
    }
    Ok(BatchResults { results, failed_files })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn files_of_a_failed_batch_are_listed() {
        let files = names(5);
        let outcome = |check: fn(&str) -> Result<(), BatchError>| {
            let run = |batch: &[String], _| match batch.contains(&"003".to_owned()) {
                true => Err(BatchError::Files("slow".to_owned())),
                false => Ok(batch.len()),
            };
            run_each_batch(&files, 2, Duration::from_secs(9), check, run)
        };
        let failed = |name: &str| (name.to_owned(), "slow".to_owned());
        let failed_files = vec![failed("002"), failed("003")];
        assert_eq!(outcome(|_| Ok(())), Ok(BatchResults { results: vec![2, 1], failed_files }));
        let unusable = outcome(|why| Err(BatchError::Files(why.to_owned())));
        assert_eq!(unusable, Err("slow".to_owned()));
        let run = |batch: &[String], _| Ok(batch.len());
        let none = run_each_batch(&[], 2, Duration::from_secs(9), |_| Ok(()), run);
        assert_eq!(none, Ok(BatchResults { results: vec![0], failed_files: Vec::new() }));
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{number:03}")).collect()
    }

    #[test]
    fn slow_file_does_not_keep_others_from_being_checked() {
        let files = names(100);
        let limit = Duration::from_secs(400);
        let clock = Cell::new(Duration::ZERO);
        let outcome = run_in_batches_by_clock(
            &files,
            limit,
            || clock.get(),
            || Ok(()),
            |batch, time| {
                if batch.contains(&files[70]) {
                    clock.set(clock.get() + time);
                    return Err(BatchError::Files("slow".to_owned()));
                }
                Ok(batch.to_vec())
            },
        );
        let BatchResults { results, failed_files } = outcome.unwrap();
        assert!(clock.get() < limit, "{:?}", clock.get());
        let [(path, _)] = failed_files.as_slice() else { panic!("{failed_files:?}") };
        assert_eq!(path, &files[70]);
        let mut checked: Vec<String> = results.concat();
        checked.sort();
        assert_eq!(checked.len(), 99);
    }

    #[test]
    fn many_files_are_checked_in_several_batches() {
        let files = names(2 * FILES_MAX + 1);
        let run = |batch: &[String], _| Ok::<_, BatchError>(batch.to_vec());
        let outcome = run_in_batches(&files, Duration::from_secs(9), || Ok(()), run).unwrap();
        let sizes: Vec<usize> = outcome.results.iter().map(Vec::len).collect();
        assert_eq!(sizes, [FILES_MAX, FILES_MAX, 1]);
        assert_eq!((outcome.results.concat(), outcome.failed_files), (files, Vec::new()));
    }

    #[test]
    fn files_without_time_are_listed() {
        let files = names(64);
        let clock = Cell::new(Duration::ZERO);
        let run = |_: &[String], time: Duration| {
            clock.set(clock.get() + time);
            Err::<(), _>(BatchError::Files("slow".to_owned()))
        };
        let limit = Duration::from_secs(100);
        let outcome = run_in_batches_by_clock(&files, limit, || clock.get(), || Ok(()), run);
        let failed_files = outcome.unwrap().failed_files;
        let paths: Vec<String> = failed_files.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(paths, files);
        assert_eq!(failed_files[63].1, "no time was left for it");
    }

    #[test]
    fn unusable_analyser_is_run_once() {
        let outcome = |run_error: BatchError, check: Result<(), BatchError>| {
            let mut runs = 0;
            let outcome = run_in_batches(
                &names(2),
                Duration::from_secs(9),
                || check,
                |_, _| {
                    runs += 1;
                    Err::<(), _>(run_error.clone())
                },
            );
            (outcome.map(|it| it.failed_files.len()), runs)
        };
        let of_files = || BatchError::Files("it crashed".to_owned());
        let of_analyser = BatchError::Analyser("no sandbox".to_owned());
        assert_eq!(outcome(of_analyser, Ok(())), (Err("no sandbox".to_owned()), 1));
        assert_eq!(outcome(of_files(), Err(of_files())), (Err("it crashed".to_owned()), 1));
        assert_eq!(outcome(of_files(), Ok(())), (Ok(2), 3));
    }
}
