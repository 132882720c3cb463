//! Work on many items by all cores; each result depends on its item alone.

use std::thread;

use crate::Error;
use crate::progress::Ticker;

/// Items of a thread between two looks at the progress.
const BATCH: usize = 1 << 13;
/// Most threads.
const MOST_THREADS: usize = 16;

/// The results of `job` in the order of the items; each item counts as a step.
pub(crate) fn map<T: Sync, R: Send + Clone + Default>(
    items: &[T],
    ticker: &mut Ticker<'_>,
    job: impl Fn(&T) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let mut results = vec![R::default(); items.len()];
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
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
