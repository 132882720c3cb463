//! When a frame is drawn: where drawing is slow once for each order of the splats, but never too seldom.

/// Frames that take longer are slow.
pub(crate) const SLOW_MS: f64 = 40.0;
/// A slow frame waits for the order of its splats for so long at most.
pub(crate) const MOST_WAIT_MS: f64 = 150.0;

/// What happened since a frame was drawn.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// An order came that was not drawn yet.
    came: bool,
    /// The first frame that waited for the order that is on its way.
    since_ms: Option<f64>,
}

impl Pace {
    /// An order came for what is on the screen.
    pub(crate) fn order_came(&mut self) {
        self.came = true;
    }

    /// Whether a frame that has something to draw is drawn now. A slow one is not while another order is `expected`: it would
    /// be drawn first in the old order and then again in the new one. An order that came is drawn although the camera has moved
    /// on since, and what waited for too long is drawn until the order comes: a camera that never rests always has an order on
    /// its way.
    pub(crate) fn draws(&mut self, now_ms: f64, slow: bool, expected: bool) -> bool {
        if std::mem::take(&mut self.came) || !slow || !expected {
            self.since_ms = None;
            return true;
        }
        now_ms - *self.since_ms.get_or_insert(now_ms) >= MOST_WAIT_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds between frames of a browser that has nothing to draw.
    const TICK_MS: f64 = 1000.0 / 60.0;

    /// A device, and a hand that moves the camera every `event_ms` at most, once a frame.
    #[derive(Clone, Copy, Debug)]
    struct Drag {
        sort_ms: f64,
        frame_ms: f64,
        event_ms: f64,
        until_ms: f64,
    }

    #[derive(Clone, Copy, Debug)]
    struct Drawn {
        at_ms: f64,
        order: u32,
        /// The order was asked for where the camera stands.
        fits: bool,
    }

    impl Drag {
        fn is_slow(&self) -> bool {
            self.frame_ms > SLOW_MS
        }

        /// Time from a drawn frame to the next one.
        fn busy_ms(&self) -> f64 {
            self.frame_ms.max(TICK_MS)
        }

        /// Frames as the page has them: orders that came are taken, the camera moves, an order is asked for, then one draws or
        /// not. Ends when all is still.
        fn drawn(self) -> Vec<Drawn> {
            let (mut pace, mut drawn) = (Pace::default(), Vec::new());
            let (mut now, mut moved_at, mut dirty) = (0.0, f64::NEG_INFINITY, false);
            let (mut pose, mut asked, mut shown) = (0, 0, (0, 0));
            let (mut expected, mut orders) = (None, 0);
            while now < self.until_ms + 2.0 * (self.sort_ms + self.frame_ms + MOST_WAIT_MS) {
                if let Some((of, _)) = expected.take_if(|(_, done)| *done <= now) {
                    shown = of;
                    pace.order_came();
                    dirty = true;
                }
                if now < self.until_ms && now - moved_at >= self.event_ms {
                    (pose, moved_at, dirty) = (pose + 1, now, true);
                }
                if expected.is_none() && asked != pose {
                    (asked, orders) = (pose, orders + 1);
                    expected = Some(((orders, pose), now + self.sort_ms));
                }
                if dirty && pace.draws(now, self.is_slow(), expected.is_some()) {
                    dirty = false;
                    drawn.push(Drawn {
                        at_ms: now,
                        order: shown.0,
                        fits: shown.1 == pose,
                    });
                    now += self.busy_ms();
                } else {
                    now += TICK_MS;
                }
            }
            drawn
        }
    }

    fn drags() -> impl Iterator<Item = Drag> {
        let sorts = [10.0, 25.0, 41.0, 60.0, 90.0, 130.0, 149.0, 151.0, 200.0, 300.0];
        let frames = [10.0, 30.0, 41.0, 55.0, 80.0, 120.0, 160.0, 250.0, 500.0];
        let events = [0.0, 25.0, 70.0, 200.0];
        sorts.into_iter().flat_map(move |sort_ms| {
            frames.into_iter().flat_map(move |frame_ms| {
                events.into_iter().map(move |event_ms| Drag {
                    sort_ms,
                    frame_ms,
                    event_ms,
                    until_ms: 4000.0,
                })
            })
        })
    }

    #[test]
    fn a_camera_that_moves_is_drawn_ever_again() {
        for drag in drags() {
            let drawn = drag.drawn();
            let most = drag.busy_ms() + drag.event_ms + MOST_WAIT_MS + 2.0 * TICK_MS;
            let mut last = 0.0;
            let times = drawn.iter().map(|drawn| drawn.at_ms).filter(|at| *at < drag.until_ms);
            for at in times.chain([drag.until_ms]) {
                assert!(at - last <= most, "{drag:?}: nothing from {last} to {at}");
                last = at;
            }
            assert!(drawn.last().is_some_and(|end| end.fits), "{drag:?}: {:?}", drawn.last());
        }
    }

    #[test]
    fn a_slow_device_draws_an_order_once() {
        for drag in drags().filter(Drag::is_slow) {
            let mut first = Drawn {
                at_ms: -drag.busy_ms(),
                order: 0,
                fits: true,
            };
            let mut again = false;
            for drawn in drag.drawn() {
                if drawn.order > first.order {
                    (first, again) = (drawn, false);
                } else if !std::mem::replace(&mut again, true) {
                    // The next order takes longer than one waits.
                    let waited = drawn.at_ms - first.at_ms - drag.busy_ms();
                    assert!(
                        drag.sort_ms + TICK_MS > MOST_WAIT_MS && waited >= MOST_WAIT_MS - 1e-6,
                        "{drag:?}: {first:?} again in {drawn:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn one_step_is_drawn_once_where_drawing_is_slow_and_at_once_elsewhere() {
        for drag in drags().filter(|drag| drag.sort_ms + TICK_MS < MOST_WAIT_MS) {
            let drawn = Drag { until_ms: 1.0, ..drag }.drawn();
            let orders: Vec<_> = drawn.iter().map(|drawn| drawn.order).collect();
            assert_eq!(orders, if drag.is_slow() { vec![1] } else { vec![0, 1] }, "{drag:?}");
        }
    }

    #[test]
    fn an_order_that_never_comes_holds_up_one_frame() {
        let mut pace = Pace::default();
        assert!(!pace.draws(1000.0, true, true));
        assert!(!pace.draws(1000.0 + MOST_WAIT_MS - 1.0, true, true));
        assert!(pace.draws(1000.0 + MOST_WAIT_MS, true, true));
        assert!(pace.draws(1100.0 + MOST_WAIT_MS, true, true));
    }
}
