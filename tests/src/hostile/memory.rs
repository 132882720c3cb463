//! What one input may make a reader take.

/// Most memory that an input below [`SMALL`] may take.
const MOST_BYTES: u64 = 64 << 20;
/// Inputs below it are small.
const SMALL: usize = 64 << 10;

/// Runs `read` and checks that the process needed no more memory meanwhile than a small input warrants. Only Linux says how much that
/// was; reading is checked everywhere else by the system's own limit.
///
/// # Panics
/// When more was needed.
pub(super) fn bounded(input: &[u8], read: impl FnOnce()) {
    // The peak begins anew from what is there.
    let is_known = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = resident("VmRSS:");
    read();
    let peak = resident("VmHWM:");
    if let (true, Some(before), Some(peak)) = (is_known && input.len() < SMALL, before, peak) {
        let taken = peak.saturating_sub(before);
        assert!(
            taken < MOST_BYTES,
            "an input of {} bytes took {} MiB",
            input.len(),
            taken >> 20
        );
    }
}

/// A figure of this process, bytes.
fn resident(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib << 10)
}
