//! Numbers in messages: one format of times, and the plurals of what is counted.

use std::fmt::Display;
use std::time::Duration;

/// h:mm:ss
pub(crate) fn clock(time: Duration) -> String {
    let s = time.as_secs();
    format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

/// `1 view`, `2 views`.
pub(crate) fn count(n: impl Display + Copy + TryInto<u64>, what: &str) -> String {
    let s = if n.try_into().is_ok_and(|n| n == 1) { "" } else { "s" };
    format!("{n} {what}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_times_have_seconds() {
        assert_eq!(
            [count(0_u32, "run"), count(1_usize, "run"), count(2_u64, "run")],
            ["0 runs", "1 run", "2 runs"]
        );
        assert_eq!(clock(Duration::from_secs(3_725)), "1:02:05");
    }
}
