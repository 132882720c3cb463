//! A machine that works does not fall asleep.

use std::marker::PhantomData;

use crate::system;

/// While this lives the system does not put the machine to sleep for want of input; the screen may go dark. Nothing is asked of Linux,
/// where desktops ask their session and servers do not sleep.
#[derive(Debug)]
pub struct Awake {
    /// What the thread asked for before.
    before: system::Waking,
    /// The system counts by thread: it ends where it began.
    _thread: PhantomData<*const ()>,
}

impl Awake {
    /// From now on, until it is dropped.
    #[must_use]
    pub fn keep() -> Self {
        Self {
            before: system::keep_awake(),
            _thread: PhantomData,
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        system::ask_again(self.before);
    }
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn the_system_stays_awake_until_the_last_one_goes() {
        let outer = Awake::keep();
        drop(Awake::keep());
        assert!(system::is_kept_awake());
        drop(outer);
        assert!(!system::is_kept_awake());
    }
}
