//! Properties of the whole allocator: modes, compaction, and what it gives back.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use clap::ValueEnum as _;

use super::*;
use crate::allocators::{DriverStats, Fragmentation, SimulatedDriver};
use kiln_gpu::memory::{BlockRounding, GIB, MIB};
use kiln_program::{Tag, TensorDesc};

/// xorshift64*: the same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % n
    }
}

fn desc(bytes: u64) -> TensorDesc {
    TensorDesc {
        name: "tensor".to_owned(),
        class: Class::Persistent,
        tag: Tag::Other,
        bytes,
        shape: None,
    }
}

fn allocate(allocator: &mut dyn Allocator, bytes: u64) -> Result<Handle, Refused> {
    allocator.allocate(&Request::whole(0, &desc(bytes)))
}

fn open(heap_bytes: u64, mode: Fragmentation) -> (SimulatedDriver, Tlsf<SimulatedDriver>) {
    let driver = SimulatedDriver::new(heap_bytes, GIB, BlockRounding::NONE);
    (driver.clone(), Tlsf::new(driver, mode.policy(), 256))
}

/// All ranges lie apart in blocks that are there.
fn assert_apart(driver: &SimulatedDriver, allocator: &dyn Allocator, live: &[Handle]) {
    let mut ranges: Vec<Range> = live.iter().map(|h| allocator.range(*h).unwrap()).collect();
    ranges.sort_by_key(|r| (r.block, r.offset));
    for pair in ranges.windows(2) {
        let [a, b] = pair else { continue };
        assert!(
            a.block != b.block || a.offset + a.bytes <= b.offset,
            "{a:?} and {b:?} overlap"
        );
    }
    let blocks: BTreeMap<BlockId, u64> = driver.blocks().into_iter().map(|(id, bytes, _)| (id, bytes)).collect();
    for range in ranges {
        assert!(
            range.offset + range.bytes <= blocks[&range.block],
            "{range:?} overruns its block"
        );
    }
}

/// A million operations; the overhead is within the mode's bound at each check.
#[test]
fn a_fuzz_of_a_million_operations_stays_within_the_bound_of_every_mode() {
    for mode in Fragmentation::value_variants().iter().copied() {
        let policy = mode.policy();
        let mut random = Random(7 + u64::from(policy.every));
        let (driver, mut allocator) = open(u64::MAX, mode);
        let mut live = Vec::new();
        let (mut checks, mut compacted) = (0u32, 0u32);
        // About forty blocks in use on average.
        let unit = policy.block_bytes / 16;
        for operation in 1..=1_000_000u32 {
            let grow = live.len() < 300 || (live.len() < 700 && random.below(2) == 0);
            // Now and then much is freed at once, as by an evaluation that ends.
            if operation % 9973 == 0 {
                for _ in 0..live.len() / 2 {
                    allocator.free(live.swap_remove(random.below(live.len() as u64) as usize));
                }
            } else if grow {
                let shift = random.below(8);
                live.push(allocate(&mut allocator, 1 + random.below(unit >> shift)).unwrap());
            } else {
                allocator.free(live.swap_remove(random.below(live.len() as u64) as usize));
            }
            // Ten operations an iteration.
            if operation % 10 == 0 && policy.is_due(operation / 10, false) {
                compacted += u32::from(allocator.tend(operation / 10, false) > 0);
                checks += 1;
                assert!(
                    allocator.overhead() <= policy.overhead,
                    "{}: {} after operation {operation}",
                    mode.name(),
                    allocator.overhead()
                );
            }
            if operation % 50_000 == 0 {
                assert_apart(&driver, &allocator, &live);
                assert_eq!(driver.stats().reserved_bytes, allocator.reserved_bytes());
            }
        }
        assert_eq!(checks, 100_000 / policy.every);
        assert!(compacted > 0, "{}: nothing was ever compacted", mode.name());
        for handle in live {
            allocator.free(handle);
        }
        let kept = driver.blocks().len();
        match mode {
            Fragmentation::Aggressive => assert_eq!(kept, 0),
            Fragmentation::Normal => assert_eq!(kept, 1),
            Fragmentation::Minimal => assert!(kept > 1),
        }
    }
}

/// Thirty thousand iterations whose model is grown and pruned by reallocation: the overhead after each check.
#[test]
fn a_long_run_with_densification_stays_within_the_bound_of_every_mode() {
    let mut means = Vec::new();
    for mode in Fragmentation::value_variants().iter().copied() {
        let policy = mode.policy();
        let mut random = Random(11);
        let (driver, mut allocator) = open(u64::MAX, mode);
        let planes = [11u64, 11, 11, 48, 48, 48, 4, 1];
        let mut n = 300_000u64;
        let size = |n: u64, planes: u64| 4 * n.min(1 << 19) * planes;
        let mut model: Vec<(Handle, u64)> = planes
            .iter()
            .map(|p| (allocate(&mut allocator, size(n, *p)).unwrap(), *p))
            .collect();
        let mut chunks = 1;
        let mut sum = 0.0;
        for iteration in 1..=30_000u32 {
            let densify = iteration % 100 == 0 && (500..=15_000).contains(&iteration);
            if densify && n < 6_000_000 {
                n = n * (980 + random.below(100)) / 1000;
                for (index, (handle, p)) in model.iter_mut().enumerate() {
                    let first = (index / planes.len()) as u64 * (1 << 19);
                    let desc = desc(size(n.saturating_sub(first).max(1), *p));
                    *handle = allocator.resize(*handle, &Request::whole(0, &desc)).unwrap().handle;
                }
                while n > chunks << 19 {
                    let first = chunks << 19;
                    chunks += 1;
                    model.extend(
                        planes
                            .iter()
                            .map(|p| (allocate(&mut allocator, size(n - first, *p)).unwrap(), *p)),
                    );
                }
            }
            // Records and lists of a step, of another size in each view.
            let visible = n / 4 + random.below(n / 8);
            let scratch: Vec<Handle> = [16, 16, 16, 4, 4, 12, 12, 48]
                .map(|bytes| allocate(&mut allocator, visible * bytes).unwrap())
                .into();
            scratch.into_iter().for_each(|handle| allocator.free(handle));
            allocator.tend(iteration, densify);
            if policy.is_due(iteration, densify) {
                assert!(
                    allocator.overhead() <= policy.overhead,
                    "{}: {} at {iteration}",
                    mode.name(),
                    allocator.overhead()
                );
            }
            sum += allocator.reserved_bytes() as f64;
        }
        let live: Vec<Handle> = model.iter().map(|(handle, _)| *handle).collect();
        assert_apart(&driver, &allocator, &live);
        assert!(n > 1 << 20, "the model did not grow: {n}");
        means.push((sum / 30_000.0, driver.stats().peak_reserved_bytes));
    }
    assert!(
        means.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1),
        "aggressive, normal, minimal reserve, on average and at most, {means:?}"
    );
}

#[test]
fn a_full_heap_is_compacted_once_before_a_request_is_refused() {
    let (driver, mut allocator) = open(96 * MIB, Fragmentation::Aggressive);
    let pieces: Vec<Handle> = (0..6).map(|_| allocate(&mut allocator, 16 * MIB).unwrap()).collect();
    let DriverStats { reserved_bytes, .. } = driver.stats();
    assert_eq!(reserved_bytes, 96 * MIB, "64 MiB and what was left");
    // One hole in each block: together 32 MiB, but no range of them.
    for at in [1, 5] {
        allocator.free(pieces[at]);
    }
    assert_eq!(
        allocator.free_space(),
        FreeSpace {
            bytes: 32 * MIB,
            largest: 16 * MIB
        }
    );
    let moved = allocate(&mut allocator, 32 * MIB).unwrap();
    assert_eq!(allocator.range(moved).unwrap().bytes, 32 * MIB);
    let live = [pieces[0], pieces[2], pieces[3], pieces[4], moved];
    assert_apart(&driver, &allocator, &live);
    assert!(matches!(allocate(&mut allocator, MIB), Err(Refused::Heap { .. })));
    assert_apart(&driver, &allocator, &live);
    allocator.free(moved);
    assert!(allocate(&mut allocator, MIB).is_ok());
}

#[test]
fn a_handle_that_is_free_is_ignored() {
    let (driver, mut allocator) = open(GIB, Fragmentation::Aggressive);
    let handle = allocate(&mut allocator, MIB).unwrap();
    allocator.free(handle);
    allocator.free(handle);
    assert_eq!(allocator.range(handle), None);
    assert_eq!((driver.stats().reserved_bytes, allocator.reserved_bytes()), (0, 0));
}
