//! Radix sort and prefix sums on the device, alone.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln_gpu::memory::Gpu;
use kiln_kernels::counters::{Args, Counters, WORD_VISIBLE};
use kiln_kernels::generated::{intersection_scan, visible_scan};
use kiln_kernels::radix_sort::{self, SortBuffers, SortJob, histogram_bytes, sort_block};
use kiln_kernels::tile_ranges;
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::{Intersections, Loops, Reduction, Shared, Threads, Variants};
use kiln_program::{Class, Groups, Program, Span, Tag, TensorTable, fold_groups};
use kiln_tests::child;
use kiln_tests::compare::same;
use kiln_tests::gpu::{assert_valid, open};
use kiln_twins::radix_sort::sort_pairs;
use kiln_twins::rng::bits;
use kiln_twins::scan::exclusive;

/// More than 256 blocks of 4096.
const MOST: u32 = 1_100_000;
const SIZES: [u32; 11] = [0, 1, 255, 256, 257, 4095, 4096, 4097, 70_001, 100_000, MOST];

fn small(table: &mut TensorTable, name: &str, words: u64) -> Span {
    table.add(name, Class::Small, Tag::Other, 4 * words)
}

fn shared(table: &mut TensorTable) -> Shared {
    let uniforms = small(table, "uniforms", 4);
    Shared {
        uniforms,
        rates: uniforms,
        counters: small(table, "counters", size_of::<Counters>() as u64 / 4),
        args: small(table, "args", Args::table_bytes(1) / 4),
        lens: 0,
    }
}

/// Sorts keys of every size and kind with and without payloads of their own.
fn sorts(sort_subgroup: u32) {
    let device = open();
    let variants = Variants {
        reduction: Reduction::Segmented,
        sort_subgroup,
        threads: Threads::Columns,
        loops: Loops::Long,
    };
    let mut table = TensorTable::default();
    let shared = shared(&mut table);
    let mut words = |name: &str| small(&mut table, name, u64::from(MOST));
    let buffers = SortBuffers {
        keys: [words("keys 0"), words("keys 1")],
        values: [words("values 0"), words("values 1")],
        histogram: Span {
            bytes: 0,
            ..shared.args
        },
    };
    let buffers = SortBuffers {
        histogram: small(
            &mut table,
            "histogram",
            histogram_bytes(MOST, Args::VisibleSort, &variants) / 4,
        ),
        ..buffers
    };
    // Depth keys use all bits and carry their index; tile keys are short and carry payloads.
    let jobs = [(32, true), (13, false), (1, false)];
    let programs = jobs.map(|(key_bits, index_payload)| {
        let mut program = Program::new("sort");
        let job = SortJob {
            counter: WORD_VISIBLE,
            args: Args::VisibleSort,
            capacity: MOST,
            key_bits,
            index_payload,
        };
        let sorted = radix_sort::record(&mut program, &shared, &buffers, &job, &variants);
        (program, sorted)
    });
    let all: Vec<&Program> = programs.iter().map(|(p, _)| p).collect();
    let mut gpu = Gpu::new(&device, table, &all, 1 << 30).expect("memory");
    for ((key_bits, index_payload), (program, sorted)) in jobs.into_iter().zip(&programs) {
        for n in SIZES {
            if n == MOST && key_bits != 13 {
                continue;
            }
            for equal in [false, true] {
                let mask = if key_bits == 32 { u32::MAX } else { (1 << key_bits) - 1 };
                // With many equal keys only an order that is kept gives the right payloads.
                let kinds = if equal { 3 } else { u32::MAX };
                let spread = if equal { mask / 3 } else { 1 };
                let keys: Vec<u32> = (0..n)
                    .map(|i| (bits(n, key_bits, i, 0) % kinds).wrapping_mul(spread) & mask)
                    .collect();
                let payloads: Vec<u32> = if index_payload {
                    (0..n).collect()
                } else {
                    (0..n).map(|i| bits(n, 1, i, 1)).collect()
                };
                let counters = Counters {
                    visible: n,
                    ..Counters::default()
                };
                gpu.write(&shared.counters, &[counters]).expect("upload");
                let groups = fold_groups(n.div_ceil(sort_block(Args::VisibleSort, &variants)));
                let slot = shared.args.slice(16 * u64::from(Args::VisibleSort.slot()), 16);
                gpu.write(&slot, &groups).expect("upload");
                gpu.write(&buffers.keys[0], &keys).expect("upload");
                if !index_payload {
                    gpu.write(&buffers.values[0], &payloads).expect("upload");
                }
                gpu.run(program).expect("sort");
                let found: Vec<u32> = gpu.read(&buffers.keys[*sorted], n as usize).expect("download");
                let carried: Vec<u32> = gpu.read(&buffers.values[*sorted], n as usize).expect("download");
                let wanted = sort_pairs(&keys, &payloads);
                let what = format!("{n} keys of {key_bits} bits, subgroup {sort_subgroup}, equal {equal}");
                same(&format!("keys of {what}"), &found, &wanted.0);
                same(&format!("payloads of {what}"), &carried, &wanted.1);
            }
        }
    }
    assert_valid(&device);
}

#[test]
fn portable_sort() {
    sorts(0);
}

#[test]
fn sort_at_every_subgroup_width() {
    if let Some(role) = child::role() {
        let size = open().caps().subgroup_size;
        assert_eq!(size.to_string(), role, "the driver's subgroup size");
        return sorts(size);
    }
    for (width, size) in [("128", "4"), ("256", "8"), ("512", "16")] {
        child::run_with_vectors(module_path!(), "sort_at_every_subgroup_width", size, width);
    }
}

/// Keys a group of the sort takes in the tests of the scans.
const BLOCK: u32 = 1024;

/// Sums of 0..=`most` per group.
fn counts(n: u32, most: u32) -> Vec<u32> {
    (0..n).map(|i| bits(n, most, i, 2) % (most + 1)).collect()
}

#[test]
fn visible_offsets_and_capacity() {
    let device = open();
    let mut table = TensorTable::default();
    let shared = shared(&mut table);
    let groups = small(&mut table, "groups", 10_000);
    let cap = 700_000_u32;
    let mut program = Program::new("scan");
    program.pass(
        &visible_scan::KERNEL,
        visible_scan::Spec { sort_block: BLOCK },
        visible_scan::Bind {
            counters: shared.counters,
            args: shared.args,
            group_visible: groups,
        },
        visible_scan::Push { visible_cap: cap },
        Groups::Direct([1, 1, 1]),
    );
    let mut gpu = Gpu::new(&device, table, &[&program], 1 << 30).expect("memory");
    for n in [0, 1, 255, 256, 257, 2047, 2048, 2049, 4100, 10_000] {
        let values = counts(n, 256);
        gpu.write(&groups, &values).expect("upload");
        let counters = Counters {
            gaussians: (256 * n).saturating_sub(3),
            iteration: 9,
            ..Counters::default()
        };
        gpu.write(&shared.counters, &[counters]).expect("upload");
        gpu.run(&program).expect("scan");
        let (starts, total) = exclusive(&values);
        same(
            &format!("{n} groups"),
            &gpu.read::<u32>(&groups, n as usize).expect("download"),
            &starts,
        );
        let after: Counters = gpu.read(&shared.counters, 1).expect("download")[0];
        let args: Vec<[u32; 4]> = gpu.read(&shared.args, 8).expect("download");
        let slot = |a: Args| {
            [
                args[a.slot() as usize][0],
                args[a.slot() as usize][1],
                args[a.slot() as usize][2],
            ]
        };
        assert_eq!(after.visible_wanted, total);
        let kept = if total > cap { 0 } else { total };
        assert_eq!(
            (after.visible, after.stalled),
            (kept, u32::from(total > cap)),
            "{n} groups, {total} visible"
        );
        assert_eq!(after.stall_iteration, if total > cap { 9 } else { 0 });
        assert_eq!(slot(Args::Visible), fold_groups(kept.div_ceil(256)));
        assert_eq!(slot(Args::VisibleSort), fold_groups(kept.div_ceil(BLOCK)));
    }
    assert_valid(&device);
}

#[test]
fn intersection_offsets_and_capacity() {
    let device = open();
    let mut table = TensorTable::default();
    let shared = shared(&mut table);
    let groups = small(&mut table, "groups", 10_000);
    let cap = 40_000_000_u32;
    let mut program = Program::new("scan");
    program.pass(
        &intersection_scan::KERNEL,
        intersection_scan::Spec { sort_block: BLOCK },
        intersection_scan::Bind {
            counters: shared.counters,
            args: shared.args,
            group_tiles: groups,
        },
        intersection_scan::Push { intersection_cap: cap },
        Groups::Direct([1, 1, 1]),
    );
    let mut gpu = Gpu::new(&device, table, &[&program], 1 << 30).expect("memory");
    // The last three are more than the capacity, more than 2^31 and more than 2^32 in all.
    let cases = [(0, 1), (1, 9000), (256, 5000), (2049, 9000), (10_000, 5000)];
    for (n, most) in cases
        .into_iter()
        .chain([(10_000, 20_000), (9000, 800_000), (10_000, 2_000_000)])
    {
        let values = counts(n, most);
        gpu.write(&groups, &values).expect("upload");
        let counters = Counters {
            visible: (256 * n).saturating_sub(3),
            iteration: 4,
            ..Counters::default()
        };
        gpu.write(&shared.counters, &[counters]).expect("upload");
        gpu.run(&program).expect("scan");
        let total: u64 = values.iter().map(|v| u64::from(*v)).sum();
        let fits = total <= u64::from(cap);
        let after: Counters = gpu.read(&shared.counters, 1).expect("download")[0];
        assert_eq!(
            (after.stalled, after.stall_iteration),
            if fits { (0, 0) } else { (2, 4) },
            "{total}"
        );
        assert_eq!(u64::from(after.intersections), if fits { total } else { 0 });
        if total < 1 << 31 {
            assert_eq!(u64::from(after.intersections_wanted), total);
        } else {
            assert!(
                after.intersections_wanted > 1 << 30,
                "{total}: {}",
                after.intersections_wanted
            );
        }
        if fits {
            let found = gpu.read::<u32>(&groups, n as usize).expect("download");
            same(&format!("{n} groups"), &found, &exclusive(&values).0);
        }
        let args: Vec<[u32; 4]> = gpu.read(&shared.args, 8).expect("download");
        let slot = |a: Args| {
            [
                args[a.slot() as usize][0],
                args[a.slot() as usize][1],
                args[a.slot() as usize][2],
            ]
        };
        assert_eq!(
            slot(Args::Intersections),
            fold_groups(after.intersections.div_ceil(256))
        );
        assert_eq!(
            slot(Args::IntersectionSort),
            fold_groups(after.intersections.div_ceil(BLOCK))
        );
    }
    assert_valid(&device);
}

/// A grid axis holds 65 535 groups; longer grids are folded.
#[test]
fn ranges_over_a_folded_grid() {
    let device = open();
    let n = 65_535 * 256 + 70_000_u32;
    let tiles = n.div_ceil(1000);
    let mut table = TensorTable::default();
    let shared = shared(&mut table);
    let shared = Shared {
        uniforms: small(&mut table, "all uniforms", size_of::<StepUniforms>() as u64 / 4),
        ..shared
    };
    let keys = small(&mut table, "keys", u64::from(n));
    let ranges = small(&mut table, "ranges", 2 * u64::from(tiles) + 2);
    let mut program = Program::new("ranges");
    let intersections = Intersections {
        payloads: keys,
        owners: keys,
        tile_ranges: ranges,
        tile_order: small(&mut table, "order", u64::from(tiles)),
    };
    let variants = Variants {
        reduction: Reduction::Segmented,
        sort_subgroup: 0,
        threads: Threads::Pixels,
        loops: Loops::Long,
    };
    tile_ranges::record(&mut program, &shared, keys, &intersections, &variants);
    let mut gpu = Gpu::new(&device, table, &[&program], 1 << 30).expect("memory");
    // Tile 5 has no pairs, and the last pairs belong to no tile.
    let list: Vec<u32> = (0..n).map(|i| if i / 1000 == 5 { 6 } else { i / 1000 }).collect();
    gpu.write(&keys, &list).expect("upload");
    let mut u = <StepUniforms as bytemuck::Zeroable>::zeroed();
    (u.lists_x, u.lists_y) = (tiles - 1, 1);
    // The order is that of a band without the first tile and the last ones.
    (u.band_begin, u.band_end) = (1, tiles - 3);
    gpu.write(&shared.uniforms, &[u]).expect("upload");
    let counters = Counters {
        intersections: n,
        ..Counters::default()
    };
    gpu.write(&shared.counters, &[counters]).expect("upload");
    let slot = shared.args.slice(16 * u64::from(Args::Intersections.slot()), 16);
    gpu.write(&slot, &fold_groups(n.div_ceil(256))).expect("upload");
    gpu.run(&program).expect("ranges");
    let found: Vec<[u32; 2]> = gpu.read(&ranges, tiles as usize).expect("download");
    let wanted: Vec<[u32; 2]> = (0..tiles)
        .map(|t| match t {
            5 => [0, 0],
            6 => [5000, 7000],
            _ if t == tiles - 1 => [0, 0],
            _ => [1000 * t, 1000 * t + 1000],
        })
        .collect();
    same("ranges", &found, &wanted);
    let mut order: Vec<u32> = gpu
        .read(&intersections.tile_order, (u.band_end - u.band_begin) as usize)
        .expect("download");
    assert_eq!(
        (order.first(), order.last()),
        (Some(&6), Some(&5)),
        "the fullest tile and the empty one"
    );
    order.sort_unstable();
    assert!(
        order.into_iter().eq(u.band_begin..u.band_end),
        "every tile of the band once"
    );
    assert_valid(&device);
}
