//! The residency probe's kernel against its twin, over tensors and over whole blocks, and blocks that were touched.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln_gpu::memory::Gpu;
use kiln_gpu::vk::{DeviceKind, RecordOptions};
use kiln_kernels::probe::{RUN_BYTES, Sample, record, sums_bytes};
use kiln_program::{Class, Program, Span, Tag, TensorTable};
use kiln_tests::compare::same;
use kiln_tests::gpu::{assert_valid, open};
use kiln_twins::probe::probe as twin;
use kiln_twins::rng::bits;

/// Not a multiple of a run.
const BYTES: u64 = (3 << 20) + 5 * 256;

fn source() -> Vec<u32> {
    (0..(BYTES / 4) as u32).map(|i| bits(7, 1, i, 0)).collect()
}

fn table() -> (TensorTable, Span, Span) {
    let mut table = TensorTable::default();
    let source = table.add("source", Class::Persistent, Tag::Other, BYTES);
    let sums = table.add("sums", Class::Small, Tag::Other, sums_bytes(BYTES));
    (table, source, sums)
}

#[test]
fn the_kernel_reads_what_the_twin_reads() {
    let (table, source_view, sums) = table();
    // One run, all of it, and samples with holes; a view that begins inside; more than is there.
    let inside = source_view.slice(1 << 20, 1 << 20);
    let views = [
        (source_view, RUN_BYTES),
        (source_view, BYTES),
        (source_view, 7 * RUN_BYTES),
        (source_view, 100 * RUN_BYTES),
        (inside, 9 * RUN_BYTES),
        (inside, 1 << 30),
    ];
    let programs = views.map(|(view, wanted)| {
        let sample = Sample::of(view.bytes, wanted);
        let mut program = Program::new("probe");
        program.fill(sums, u32::MAX);
        record(&mut program, view, sums, sample);
        (program, view, sample)
    });
    let all: Vec<&Program> = programs.iter().map(|(program, ..)| program).collect();
    let mut gpu = Gpu::new(&open(), table, &all, 1 << 30).expect("memory");
    let words = source();
    gpu.write(&source_view, &words).expect("upload");
    for (program, view, sample) in &programs {
        gpu.run(program).expect("the probe runs");
        let found: Vec<u32> = gpu.read(&sums, (sums.bytes / 4) as usize).expect("sums");
        let part = &words[(view.offset / 4) as usize..((view.offset + view.bytes) / 4) as usize];
        let mut wanted = twin(part, *sample);
        assert_eq!(wanted.len(), sample.runs as usize);
        wanted.resize(found.len(), u32::MAX);
        same(&format!("{sample:?}"), &found, &wanted);
    }
    assert_valid(gpu.device());
}

/// Probes are pointed at blocks, whatever tensors lie in them.
#[test]
fn a_whole_block_is_read_where_it_lies() {
    let (table, source_view, sums) = table();
    let mut gpu = Gpu::new(&open(), table, &[], 1 << 30).expect("memory");
    let words = source();
    gpu.write(&source_view, &words).expect("upload");
    let blocks = gpu.memory().plan().blocks.clone();
    let index = blocks
        .iter()
        .position(|b| b.class == Class::Persistent)
        .expect("a block");
    let block = gpu.memory().block_view(index).expect("the block");
    assert_eq!(block.bytes, blocks[index].bytes);
    assert_eq!(gpu.memory().block_view(blocks.len()), None);
    let sample = Sample::of(block.bytes, 64 * RUN_BYTES);
    let mut program = Program::new("probe");
    record(&mut program, block, sums, sample);
    gpu.run(&program).expect("the probe runs");
    let found: Vec<u32> = gpu.read(&sums, sample.runs as usize).expect("sums");
    same("sums of a block", &found, &twin(&words, sample));
    assert_valid(gpu.device());
}

/// What the verdicts of the probe rest on: a device with memory of its own reads that of the host at less than a quarter of
/// the speed. `--nocapture` shows the rates.
#[test]
fn memory_of_the_host_shows_by_its_speed() {
    const SAMPLE: u64 = 4 << 20;
    let mut table = TensorTable::default();
    let mut add = |name: &str, class, bytes| table.add(name, class, Tag::Other, bytes);
    let sweep = add("sweep", Class::Images, 64 << 20);
    let own = add("own", Class::Persistent, 32 << 20);
    let host = add("host", Class::Upload, 32 << 20);
    let sums = add("sums", Class::Small, sums_bytes(64 << 20));
    let mut program = Program::new("probe");
    record(&mut program, sweep, sums, Sample::of(sweep.bytes, sweep.bytes));
    record(&mut program, own, sums, Sample::of(own.bytes, SAMPLE));
    record(&mut program, host, sums, Sample::of(host.bytes, SAMPLE));
    let mut gpu = Gpu::new(&open(), table, &[&program], 1 << 30).expect("memory");
    let options = RecordOptions {
        slots: 1,
        timestamps: true,
        ..RecordOptions::default()
    };
    let compiled = gpu.compile(&program, options).expect("a program with times");
    let mut best = [0.0f64; 3];
    for _ in 0..8 {
        gpu.run_compiled(&compiled).expect("the probe runs");
        let times = compiled.times(0).expect("times");
        for ((best, time), bytes) in best.iter_mut().zip(times).zip([64 << 20, SAMPLE, SAMPLE]) {
            *best = best.max(bytes as f64 / time.ns.max(1.0));
        }
    }
    let [sweep, own, host] = best;
    println!("a sweep at {sweep:.1} GB/s, a sample at {own:.1} GB/s, of host memory at {host:.1} GB/s");
    assert!(best.iter().all(|rate| *rate > 0.0));
    if !gpu.device().caps().shares_host_memory() {
        assert!(4.0 * host < own, "{best:?}");
        assert!(4.0 * sweep > own, "{best:?}");
    }
    assert_valid(gpu.device());
}

/// Bytes of this process that lie in memory, counted page by page: what `status` says is behind by up to 63 pages a thread.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("the pages of the process");
    let line = text.lines().find(|line| line.starts_with("Rss:")).expect("a line");
    1024 * line
        .split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number")
}

/// Memory that is only promised shows itself at the start: every byte is written then.
#[test]
fn every_block_is_written_before_anything_uses_it() {
    const LARGE: u64 = 100 << 20;
    let (mut table, source_view, sums) = table();
    let large = table.add("arena", Class::Arena, Tag::Other, LARGE);
    let mut program = Program::new("use");
    program.hold(&[large]);
    let device = open();
    let before = resident_bytes();
    let mut gpu = Gpu::new(&device, table, &[&program], 1 << 30).expect("memory");
    // The memory of a CPU driver is that of the process, and what nobody has written is not there.
    if device.caps().kind == DeviceKind::Cpu {
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown >= LARGE, "{grown} bytes more than before");
    }
    for view in [source_view, sums, large.slice(LARGE - 4096, 4096)] {
        let bytes = gpu.download(&view).expect("download");
        assert!(bytes.iter().all(|byte| *byte == 0), "{view:?}");
    }
    assert_valid(&device);
}
