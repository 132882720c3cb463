//! What comes before a command of a recording.

/// A barrier, the greater the later in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fence {
    /// Nothing: it may overlap what came before.
    None,
    /// A barrier between passes: the front end that reads group counts and the copies do not wait.
    Passes,
    /// A barrier between everything before and everything after.
    All,
}
