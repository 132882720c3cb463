//! Processor time of this process: unlike the clock, it stands still while others have the cores.

use std::time::Duration;

/// Processor time that all threads of this process have used, exact to 10 ms. Measure in a child ([`crate::child`]): other
/// tests of a program count too.
///
/// # Panics
/// When `/proc/self/stat` is not what Linux has there.
#[cfg(target_os = "linux")]
#[must_use]
pub fn used() -> Duration {
    /// Linux counts processor time in hundredths of a second, whatever its own clock does.
    const TICK: Duration = Duration::from_millis(10);
    let text = std::fs::read_to_string("/proc/self/stat").expect("the state of the process");
    // The name in parentheses may hold anything; of what follows, the state is the first and user time the twelfth.
    let (_, after) = text.rsplit_once(')').expect("a name");
    let ticks = after.split_whitespace().skip(11).take(2);
    let ticks: Vec<u32> = ticks.map(|count| count.parse().expect("a number of ticks")).collect();
    assert_eq!(ticks.len(), 2, "{text}");
    TICK * ticks.iter().sum::<u32>()
}

/// Time since the first call: other systems do not report processor time without foreign calls.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn used() -> Duration {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed()
}
