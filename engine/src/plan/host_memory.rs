//! How much host memory can still be had, and how much this process has.
//!
//! Read from `/proc` and the control group on Linux; elsewhere nothing is known.

use std::path::Path;

/// Most bytes of a file of the system that are read.
const MOST_BYTES: u64 = 1 << 20;

/// Bytes that the system, or the container this process runs in, can give without swapping; `None` when it does not say.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    let read = |path: &str| kiln_files::read_text(Path::new(path), MOST_BYTES).unwrap_or_default();
    let groups = [
        ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        (
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ];
    let group = groups.iter().find_map(|(folder, limit, usage, cache)| {
        let file = |name: &str| read(&Path::new(folder).join(name).display().to_string());
        of_group(&file(limit), &file(usage), &file("memory.stat"), cache)
    });
    let system = of_system(&read("/proc/meminfo"));
    match (system, group) {
        (Some(system), Some(group)) => Some(system.min(group)),
        (system, group) => system.or(group),
    }
}

/// Bytes of this process's memory that are resident; `None` when the system does not say.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    // Not `statm`, which counts pages whose size only a system call says.
    of_process(&kiln_files::read_text(Path::new("/proc/self/status"), MOST_BYTES).ok()?)
}

/// The line `VmRSS: N kB`.
fn of_process(status: &str) -> Option<u64> {
    kib_of(status, "VmRSS:")
}

/// The line `MemAvailable: N kB`.
fn of_system(meminfo: &str) -> Option<u64> {
    kib_of(meminfo, "MemAvailable:")
}

/// Bytes in a line `NAME N kB`.
fn kib_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Limit less usage, where file pages that can be dropped do not count as used. No limit is the word `max`, or a number
/// beyond any machine.
fn of_group(limit: &str, usage: &str, stat: &str, cache: &str) -> Option<u64> {
    let (limit, usage): (u64, u64) = (limit.trim().parse().ok()?, usage.trim().parse().ok()?);
    let cached = stat.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == cache).then(|| value.trim().parse().ok()).flatten()
    });
    let used = usage.saturating_sub(cached.unwrap_or(0));
    (limit < 1 << 60).then(|| limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert_eq!(of_system("MemTotal: 9 kB\nMemAvailable:   1024 kB\n"), Some(1 << 20));
        assert_eq!(of_system("MemTotal: 9 kB\n"), None);
        assert_eq!(of_system("MemAvailable: x kB\n"), None);
        assert_eq!(of_process("VmHWM:\t 9 kB\nVmRSS:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(of_process("Name:\tkiln\n"), None);
    }

    #[test]
    fn limits_of_a_group_are_read() {
        let stat = "anon 700\ninactive_file 200\n";
        assert_eq!(of_group("1000\n", "900\n", stat, "inactive_file"), Some(300));
        assert_eq!(of_group("1000\n", "900\n", "", "inactive_file"), Some(100));
        assert_eq!(of_group("max\n", "900\n", stat, "inactive_file"), None);
        assert_eq!(of_group("9223372036854771712\n", "900\n", stat, "inactive_file"), None);
        assert_eq!(of_group("", "", "", "inactive_file"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_answers() {
        assert!(available_bytes().is_some_and(|bytes| bytes > 0));
        assert!(resident_bytes().is_some_and(|bytes| bytes > 0));
    }
}
