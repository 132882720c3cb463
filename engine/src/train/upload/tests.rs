#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests stop at the first surprise, and one decoder panics"
)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::*;
use kiln_scene::Split;

/// Places and what was written there, in order.
type Written = Arc<Mutex<Vec<(usize, Vec<u8>)>>>;

/// Room for three bytes; what is written goes to a list that all places share.
struct Paper(usize, Written);

impl Place for Paper {
    fn write(&mut self, bytes: &[u8]) -> bool {
        let fits = bytes.len() <= 3;
        if fits {
            self.1.lock().unwrap().push((self.0, bytes.to_vec()));
        }
        fits
    }
}

/// A ring of `count` places and what was written into them, in order.
fn ring(count: usize) -> (Uploads<Paper>, Written) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let places = (0..count).map(|slot| Paper(slot, Arc::clone(&written)));
    (Uploads::new(places), Arc::clone(&written))
}

fn view(index: usize) -> ViewId {
    ViewId {
        split: Split::Train,
        index,
    }
}

fn photo(value: u8) -> Photo {
    Photo::new(vec![value; 3], None)
}

fn failure(index: usize) -> SceneError {
    SceneError::NoSuchView("train", index)
}

/// A decoder that is as slow as the test wants: it goes on at a signal, and hangs up when the test is over.
fn slow(value: u8) -> (Sender<()>, impl FnOnce() -> Result<Photo, SceneError> + Send + 'static) {
    let (go, wait): (Sender<()>, Receiver<()>) = channel();
    let source = move || {
        wait.recv_timeout(Duration::from_secs(60)).ok();
        Ok(photo(value))
    };
    (go, source)
}

#[test]
fn photos_come_into_the_ring_in_the_order_of_the_steps() {
    let (mut uploads, written) = ring(3);
    for step in 0..60_usize {
        let value = u8::try_from(step).unwrap();
        uploads.stage(step % 3, view(step), move || {
            if value.is_multiple_of(7) {
                std::thread::sleep(Duration::from_millis(3));
            }
            Ok(photo(value))
        });
        assert!(uploads.staged(step % 3, view(step)).unwrap().is_ok());
        assert!(uploads.take(step % 3), "it is there for one step");
        assert!(!uploads.take(step % 3));
    }
    let expected: Vec<_> = (0..60_u8).map(|n| (usize::from(n) % 3, vec![n; 3])).collect();
    assert_eq!(*written.lock().unwrap(), expected);
}

/// The thread that asked goes on at once; only who needs the photo waits for it.
#[test]
fn a_slow_decoder_holds_up_only_who_needs_its_photo() {
    let (mut uploads, written) = ring(2);
    let (go, source) = slow(9);
    uploads.stage(1, view(4), source);
    assert!(!uploads.is_settled(1) && uploads.is_settled(0));
    assert!(uploads.put(0, &[1, 2, 3], None), "the other place is not waited for");
    uploads.stage(1, view(5), || Ok(photo(5)));
    go.send(()).unwrap();
    assert!(
        uploads.staged(1, view(5)).is_none(),
        "the place was taken when view 5 asked"
    );
    assert!(uploads.staged(1, view(4)).unwrap().is_ok());
    assert!(uploads.is_settled(1));
    assert_eq!(*written.lock().unwrap(), [(0, vec![1, 2, 3]), (1, vec![9; 3])]);
}

#[test]
fn a_failing_decoder_is_told_once_and_the_place_serves_on() {
    let (mut uploads, written) = ring(1);
    uploads.stage(0, view(3), || Err(failure(3)));
    let error = uploads.staged(0, view(3)).unwrap().unwrap_err();
    assert_eq!(error.to_string(), failure(3).to_string());
    assert!(uploads.staged(0, view(3)).is_none());
    assert!(!uploads.take(0), "there is no photo");
    // one that panics is not returned: the step that needs the photo decodes it again
    uploads.stage(0, view(6), || panic!("a hostile file"));
    assert!(uploads.staged(0, view(6)).is_none());
    // nor is one that is larger than its place
    uploads.stage(0, view(7), || Ok(Photo::new(vec![0; 6], None)));
    assert!(uploads.staged(0, view(7)).is_none());
    assert!(!uploads.put(0, &[0; 4], None));
    uploads.stage(0, view(8), || Ok(photo(8)));
    assert!(uploads.staged(0, view(8)).unwrap().is_ok());
    assert_eq!(*written.lock().unwrap(), [(0, vec![8; 3])]);
}

/// An evaluation writes into a place that was promised to the next step.
#[test]
fn what_is_put_voids_what_was_staged() {
    let (mut uploads, written) = ring(2);
    uploads.stage(0, view(1), || Ok(photo(1)));
    assert!(uploads.put(0, &[7; 3], None));
    assert!(uploads.staged(0, view(1)).is_none() && !uploads.take(0));
    assert_eq!(*written.lock().unwrap(), [(0, vec![1; 3]), (0, vec![7; 3])]);
    // a view that is drawn although another was expected, and images of another size
    uploads.stage(1, view(2), || Ok(photo(2)));
    assert!(uploads.staged(1, view(3)).is_none());
    uploads.unstage();
    assert!(uploads.staged(1, view(2)).is_none() && !uploads.take(1));
}

/// Whoever stops first, the other ends too: a run may end at any step.
#[test]
fn closing_waits_for_one_photo_at_most() {
    drop(ring(3).0);
    // before the thread has begun, while it works, and when it is done
    for pause_ms in [0, 0, 1, 5, 20] {
        let (mut uploads, _) = ring(2);
        uploads.stage(0, view(0), || {
            std::thread::sleep(Duration::from_millis(5));
            Ok(photo(0))
        });
        uploads.stage(1, view(1), || Ok(photo(1)));
        std::thread::sleep(Duration::from_millis(pause_ms));
        drop(uploads);
    }
    // the decoder is gone before the thread
    let (mut uploads, _) = ring(1);
    let (go, source) = slow(3);
    uploads.stage(0, view(0), source);
    drop(go);
    assert!(uploads.staged(0, view(0)).unwrap().is_ok());
}
