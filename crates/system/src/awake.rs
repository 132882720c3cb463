//! A machine that works does not fall asleep.

use std::marker::PhantomData;

use crate::system;

/// While this lives the system does not put the machine to sleep for want of input; the screen may go dark. Nothing is asked of Linux,
/// where desktops ask their session and servers do not sleep.
#[derive(Debug)]
pub struct Awake {
    /// The system counts by thread: it ends where it began.
    _thread: PhantomData<*const ()>,
}

impl Awake {
    /// From now on, until it is dropped.
    #[must_use]
    pub fn keep() -> Self {
        system::keep_awake(true);
        Self { _thread: PhantomData }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        system::keep_awake(false);
    }
}
