//! Work on many items by all cores; each result depends on its item alone.

use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::Error;
use crate::progress::Ticker;

/// Items of a thread between two looks at the progress.
const BATCH: usize = 1 << 13;
/// Most threads.
const MOST_THREADS: usize = 16;
/// Items of [`each`] that a thread takes at once.
const TAKEN: usize = 32;

/// Threads that a stage takes.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Calls `job` on every item, by so many threads that take a few items at a time.
pub(crate) fn each<T: Send>(threads: usize, items: impl Iterator<Item = T> + Send, job: impl Fn(T) + Sync) {
    each_in(threads, TAKEN, items, job);
}

/// The same, by threads that take `taken` items at a time.
pub(crate) fn each_in<T: Send>(
    threads: usize,
    taken: usize,
    items: impl Iterator<Item = T> + Send,
    job: impl Fn(T) + Sync,
) {
    let items = Mutex::new(items);
    let take = || -> Vec<T> {
        let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
        items.by_ref().take(taken).collect()
    };
    let work = || {
        let mut taken = take();
        while !taken.is_empty() {
            taken.into_iter().for_each(&job);
            taken = take();
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}

/// The results of `job` in the order of the items; each item counts as a step.
pub(crate) fn map<T: Sync, R: Send + Clone + Default>(
    items: &[T],
    ticker: &mut Ticker<'_>,
    job: impl Fn(&T) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let mut results = vec![R::default(); items.len()];
    let threads = threads();
    let batch = BATCH * threads;
    for (items, results) in items.chunks(batch).zip(results.chunks_mut(batch)) {
        let share = items.len().div_ceil(threads).max(BATCH / 8);
        thread::scope(|scope| {
            let mut parts = items.chunks(share).zip(results.chunks_mut(share));
            let own = parts.next();
            let job = &job;
            let work = move |(items, results): (&[T], &mut [R])| {
                for (item, result) in items.iter().zip(results) {
                    *result = job(item);
                }
            };
            for part in parts {
                scope.spawn(move || work(part));
            }
            own.into_iter().for_each(work);
        });
        ticker.step(items.len() as u64)?;
    }
    Ok(results)
}
