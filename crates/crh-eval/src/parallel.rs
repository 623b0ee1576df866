//! Runs many tasks on a few threads and reports each result as it arrives.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Runs `work` for every number below `count` on the given number of threads. Calls `on_end` on the
/// calling thread, in the order in which tasks end. A task returns `None` if it was cancelled.
pub(crate) fn run_parallel<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Option<T> + Sync,
    mut on_end: impl FnMut(usize, T),
) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let Some(done) = work(number) else { continue };
                    // The receiver is gone only if the calling thread panicked.
                    if sender.send((number, done)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (number, done) in receiver {
            on_end(number, done);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_runs_exactly_once() {
        for threads in [0, 1, 3, 100] {
            let mut done = Vec::new();
            run_parallel(
                20,
                threads,
                |number| (number % 5 != 0).then(|| number * 2),
                |number, doubled| done.push((number, doubled)),
            );
            done.sort_unstable();
            let expected: Vec<_> =
                (0..20).filter(|number| number % 5 != 0).map(|n| (n, n * 2)).collect();
            assert_eq!(done, expected);
        }
    }
}
