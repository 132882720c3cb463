//! Linux, by `/proc` and the control group; other Unix as far as these are there.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};

use crate::{Memory, Signal, Ticks};

/// Most bytes of a file of the system that are read.
const MOST_BYTES: u64 = 1 << 20;

/// Folders of control groups, and the names of limit, usage and droppable pages in them.
const GROUPS: [(&str, [&str; 2], &str); 2] = [
    ("/sys/fs/cgroup", ["memory.max", "memory.current"], "inactive_file"),
    (
        "/sys/fs/cgroup/memory",
        ["memory.limit_in_bytes", "memory.usage_in_bytes"],
        "total_inactive_file",
    ),
];

fn read(path: impl AsRef<Path>) -> String {
    kiln_files::read_text(path.as_ref(), MOST_BYTES).unwrap_or_default()
}

pub(crate) fn memory() -> Option<Memory> {
    memory_of(&read("/proc/meminfo"))
}

pub(crate) fn available_in_group() -> Option<u64> {
    GROUPS.iter().find_map(|(folder, [limit, usage], cache)| {
        let file = |name: &str| read(Path::new(folder).join(name));
        of_group(&file(limit), &file(usage), &file("memory.stat"), cache)
    })
}

pub(crate) fn resident_bytes() -> Option<u64> {
    // Not `statm`, which counts pages whose size only a system call says.
    kib_of(&read("/proc/self/status"), "VmRSS:")
}

pub(crate) fn processor_ticks() -> Option<Ticks> {
    ticks_of(&read("/proc/stat"))
}

pub(crate) fn host_name() -> Option<String> {
    Some(read("/proc/sys/kernel/hostname").trim().to_owned())
}

pub(crate) fn os_name() -> Option<String> {
    pretty_name(&read("/etc/os-release"))
}

pub(crate) fn kernel() -> Option<String> {
    Some(read("/proc/sys/kernel/osrelease").trim().to_owned())
}

/// Only Linux says so without asking.
pub(crate) fn is_gone(process: u32) -> bool {
    cfg!(target_os = "linux") && !Path::new("/proc").join(process.to_string()).exists()
}

/// There is none.
pub(crate) enum GpuCounter {}

impl GpuCounter {
    pub(crate) fn open() -> Option<Self> {
        None
    }

    pub(crate) fn read(&self) -> Option<Vec<(String, u64)>> {
        match *self {}
    }
}

pub(crate) fn end_now(code: u8) -> ! {
    signal_hook::low_level::exit(i32::from(code))
}

/// Nothing is asked of the system's sleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waking;

pub(crate) fn keep_awake() -> Waking {
    Waking
}

pub(crate) fn ask_again(_before: Waking) {}

pub(crate) fn takes_control_sequences() -> bool {
    true
}

pub(crate) fn open_for_lock(folder: &Path) -> io::Result<File> {
    // A pipe in the place of the folder would let whoever opens it wait.
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NONBLOCK;
    File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(folder)
}

pub(crate) fn open_to_look(folder: &Path) -> io::Result<Option<File>> {
    open_for_lock(folder).map(Some)
}

pub(crate) fn listener(mut take: impl FnMut(Signal) + Send + 'static) -> io::Result<impl FnOnce() + Send + 'static> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    Ok(move || {
        for number in signals.forever() {
            take(if number == SIGINT {
                Signal::Interrupt
            } else {
                Signal::Terminate
            });
        }
    })
}

pub(crate) fn ignore_large_files() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    Ok(())
}

/// From the lines `MemTotal: N kB` and `MemAvailable: N kB`.
fn memory_of(meminfo: &str) -> Option<Memory> {
    Some(Memory {
        total: kib_of(meminfo, "MemTotal:")?,
        available: kib_of(meminfo, "MemAvailable:")?,
    })
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

/// From the line `cpu user nice system idle iowait irq softirq steal ...`; what follows is contained in `user`.
fn ticks_of(stat: &str) -> Option<Ticks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map_while(|field| field.parse().ok())
        .collect();
    let idle = fields.get(3)? + fields.get(4).unwrap_or(&0);
    let all: u64 = fields.iter().sum();
    Some(Ticks {
        busy: all.saturating_sub(idle),
        all,
    })
}

/// The value of `PRETTY_NAME="..."`.
fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = value.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        let memory = |text| memory_of(text).map(|memory| (memory.total, memory.available));
        assert_eq!(
            memory("MemTotal: 9 kB\nMemAvailable:   1024 kB\n"),
            Some((9 << 10, 1 << 20))
        );
        assert_eq!(memory("MemTotal: 9 kB\n"), None);
        assert_eq!(memory("MemTotal: 9 kB\nMemAvailable: x kB\n"), None);
        assert_eq!(memory(""), None);
        assert_eq!(kib_of("VmHWM:\t 9 kB\nVmRSS:\t    2048 kB\n", "VmRSS:"), Some(2 << 20));
        assert_eq!(kib_of("Name:\tkiln\n", "VmRSS:"), None);
        let stat = "cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3 4\n";
        assert_eq!(ticks_of(stat), Some(Ticks { busy: 200, all: 1000 }));
        assert_eq!([ticks_of(""), ticks_of("cpu  1 2"), ticks_of("cpu a")], [None; 3]);
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

    #[test]
    fn the_system_has_a_name() {
        let text = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(pretty_name(text).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(
            (pretty_name("NAME=x\n"), pretty_name("PRETTY_NAME=\"\"\n")),
            (None, None)
        );
    }
}
