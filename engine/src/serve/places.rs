//! Places of connections: how many there are, and which of them ends for a new one.
//!
//! A client that has not shown the token is a stranger. Strangers have places of their own: however many come, and however slowly
//! they speak, those who have shown it keep theirs, and one who is about to show it finds one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;
use tokio::time::sleep;

/// Connections with the token at once, at most; a page uses six.
const KNOWN: usize = 64;
/// Connections without it, at most.
const STRANGERS: usize = 512;
/// Descriptors for everything but connections: streams, the listening socket, timers and what readers have open for a moment.
const OWN_DESCRIPTORS: usize = 32;
/// A stranger keeps its place for so long after it came, or asked something whole; what it says in pieces does not count.
const GRACE: Duration = Duration::from_millis(100);
/// A known client that says and takes nothing for so long makes room for another when there is none.
const SILENCE: Duration = Duration::from_millis(500);
/// Pause while all are busy.
pub(super) const FULL_PAUSE: Duration = Duration::from_millis(20);

/// How many connections there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    known: usize,
    strangers: usize,
}

impl Limits {
    /// What this process may have.
    pub(super) fn of_process() -> Self {
        Self::of(descriptors())
    }

    /// For so many descriptors. A known client may hold a file beside its connection; for a stranger none is opened.
    fn of(descriptors: usize) -> Self {
        let free = descriptors.saturating_sub(OWN_DESCRIPTORS);
        let known = (free / 4).clamp(2, KNOWN);
        Self {
            known,
            strangers: free.saturating_sub(2 * known).clamp(2, STRANGERS),
        }
    }
}

/// Descriptors that the system lets this process have.
#[cfg(unix)]
fn descriptors() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
}

/// Sockets are not counted elsewhere.
#[cfg(not(unix))]
fn descriptors() -> usize {
    usize::MAX
}

/// All places.
#[derive(Clone, Debug)]
pub(super) struct Places {
    limits: Limits,
    taken: Arc<Mutex<Vec<Taken>>>,
}

/// One that is taken.
#[derive(Debug)]
struct Taken {
    seen: Arc<Seen>,
    is_known: bool,
    /// When it came, or last asked something whole.
    asked: Instant,
    connection: Option<AbortHandle>,
}

/// When a client last sent or took something.
#[derive(Debug)]
pub(super) struct Seen {
    start: Instant,
    /// Milliseconds since then.
    last_ms: AtomicU64,
}

impl Seen {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            last_ms: AtomicU64::new(0),
        }
    }

    /// Bytes pass now.
    pub(super) fn now(&self) {
        let ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    fn silence(&self) -> Duration {
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last)
    }
}

impl Places {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            taken: Arc::default(),
        }
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a client that has just come; where strangers have all of theirs, that of the one who asked something whole longest
    /// ago. `None` while each of them has just come.
    pub(super) fn admit(&self) -> Option<Place> {
        let mut taken = self.taken();
        if taken.iter().filter(|one| !one.is_known).count() >= self.limits.strangers && !end_stranger(&mut taken, GRACE)
        {
            return None;
        }
        let seen = Arc::new(Seen::new());
        taken.push(Taken {
            seen: Arc::clone(&seen),
            is_known: false,
            asked: Instant::now(),
            connection: None,
        });
        let places = self.clone();
        Some(Place(Arc::new(Own { places, seen })))
    }

    /// Ends one connection, where the system has no room for another.
    pub(super) fn make_room(&self) {
        let mut taken = self.taken();
        if !end_stranger(&mut taken, GRACE) {
            end_silent(&mut taken);
        }
    }
}

/// Ends the connection of the stranger who asked something whole longest ago, if that is so long ago.
fn end_stranger(taken: &mut Vec<Taken>, after: Duration) -> bool {
    let strangers = taken.iter().enumerate().filter(|(_, one)| !one.is_known);
    let oldest = strangers.min_by_key(|(_, one)| one.asked);
    end(
        taken,
        oldest.filter(|(_, one)| one.asked.elapsed() >= after).map(|(at, _)| at),
    )
}

/// Ends the connection of the known client that has been silent for longest, if that is long.
fn end_silent(taken: &mut Vec<Taken>) -> bool {
    let known = taken.iter().enumerate().filter(|(_, one)| one.is_known);
    let silent = known
        .map(|(at, one)| (at, one.seen.silence()))
        .max_by_key(|(_, silence)| *silence);
    end(
        taken,
        silent.filter(|(_, silence)| *silence >= SILENCE).map(|(at, _)| at),
    )
}

fn end(taken: &mut Vec<Taken>, at: Option<usize>) -> bool {
    let Some(at) = at else { return false };
    if let Some(connection) = taken.swap_remove(at).connection {
        connection.abort();
    }
    true
}

/// A client's place; free again when the last copy is gone.
#[derive(Clone, Debug)]
pub(super) struct Place(Arc<Own>);

#[derive(Debug)]
struct Own {
    places: Places,
    seen: Arc<Seen>,
}

impl Place {
    /// When bytes pass.
    pub(super) fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.0.seen)
    }

    /// What ends the connection.
    pub(super) fn held_by(&self, connection: AbortHandle) {
        self.0.change(|one| one.connection = Some(connection));
    }

    /// A whole request has come. Its client, if it showed the token, is known from now on: it waits here until there is a place for
    /// one of those.
    pub(super) async fn asked(&self, with_token: bool) {
        self.0.change(|one| one.asked = Instant::now());
        while with_token && !self.0.is_let_in() {
            sleep(FULL_PAUSE).await;
        }
    }
}

impl Own {
    fn change(&self, change: impl FnOnce(&mut Taken)) {
        let mut taken = self.places.taken();
        if let Some(one) = taken.iter_mut().find(|one| Arc::ptr_eq(&one.seen, &self.seen)) {
            change(one);
        }
    }

    /// Whether the client is known now; false while all places of those are taken by busy ones.
    fn is_let_in(&self) -> bool {
        let mut taken = self.places.taken();
        let is_own = |one: &Taken| Arc::ptr_eq(&one.seen, &self.seen);
        // One whose place is gone is being ended.
        if taken.iter().find(|one| is_own(one)).is_none_or(|one| one.is_known) {
            return true;
        }
        let known = taken.iter().filter(|one| one.is_known).count();
        if known >= self.places.limits.known && !end_silent(&mut taken) {
            return false;
        }
        if let Some(one) = taken.iter_mut().find(|one| is_own(one)) {
            one.is_known = true;
        }
        true
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.retain(|one| !Arc::ptr_eq(&one.seen, &self.seen));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn descriptors_bound_connections() {
        for (descriptors, known, strangers) in [
            (64, 8, 16),
            (256, 56, 112),
            (1024, 64, 512),
            (usize::MAX, 64, 512),
            (10, 2, 2),
        ] {
            assert_eq!(Limits::of(descriptors), Limits { known, strangers });
        }
    }

    /// Whether a client with the token is let in at once.
    fn is_let_in(place: &Place) -> bool {
        let asked = pin!(place.asked(true));
        asked.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn strangers_make_room_for_strangers_and_for_nobody_known() {
        let places = Places::new(Limits { known: 2, strangers: 2 });
        let owner = places.admit().unwrap();
        assert!(is_let_in(&owner));
        let first = places.admit().unwrap();
        let second = places.admit().unwrap();
        assert!(places.admit().is_none(), "both have just come");
        std::thread::sleep(GRACE);
        second.seen().now();
        first.0.change(|one| one.asked = Instant::now());
        let third = places.admit().unwrap();
        // Bytes alone keep no place.
        let count = |place: &Place| {
            let taken = places.taken();
            taken.iter().filter(|one| Arc::ptr_eq(&one.seen, &place.0.seen)).count()
        };
        assert_eq!([&owner, &first, &second, &third].map(count), [1, 1, 0, 1]);
        drop((first, third));
        assert_eq!(places.taken().len(), 1);
    }

    #[test]
    fn the_known_make_room_when_they_are_silent() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let _inside = runtime.enter();
        let places = Places::new(Limits { known: 1, strangers: 9 });
        let first = places.admit().unwrap();
        assert!(is_let_in(&first) && is_let_in(&first));
        let second = places.admit().unwrap();
        assert!(!is_let_in(&second));
        std::thread::sleep(SILENCE);
        assert!(is_let_in(&second));
        assert_eq!(places.taken().len(), 1);
        assert!(is_let_in(&first), "it is being ended");
    }
}
