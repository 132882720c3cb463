//! What watches over the use of Vulkan: the validation layer in its three modes, a buffer for each tensor, bands around
//! tensors. Whole runs pass under all of them, and each finds what it is there for.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::sync::Arc;

use kiln::cli::{Exit, Failure as _};
use kiln::plan::OpenDevice;
use kiln::run::interrupt::Interrupt;
use kiln::run::{ResumeFrom, RunError, RunRequest, run};
use kiln::step::check_guard_bands;
use kiln_gpu::memory::{BAND_BYTES, GUARD_PATTERN, Gpu, Layout, MemoryError};
use kiln_gpu::vk::{Device, Instance, Tier, Validation};
use kiln_kernels::generated::fill;
use kiln_kernels::guard_bands::{Band, Report, record};
use kiln_program::{Class, Groups, Program, Span, Tag, TensorTable};
use kiln_tests::compare::same;
use kiln_tests::gpu::{assert_valid, take_turn};
use kiln_tests::runs::{self, EVENTFUL, Scratch, profile};
use kiln_twins::guard_bands::guard_bands as twin;
use kiln_twins::rng::bits;

/// The first device with the layer in `mode`.
fn open(mode: Validation) -> Arc<Device> {
    take_turn();
    let instance = Arc::new(Instance::new(mode).unwrap());
    let caps = instance.devices().unwrap().remove(0);
    Device::open(&instance, caps).unwrap()
}

/// Three tensors of 256 bytes on `device`.
fn three(device: &Arc<Device>, layout: Layout) -> (Gpu, [Span; 3]) {
    let mut table = TensorTable::default();
    let views = ["a", "b", "c"].map(|name| table.add(name, Class::Persistent, Tag::Other, 256));
    let gpu = Gpu::with_layout(device, table, &[], 1 << 30, layout).unwrap();
    (gpu, views)
}

/// Lets a kernel write `count` words into `view`, however long that is.
fn write(gpu: &mut Gpu, view: Span, count: u32) {
    let mut program = Program::new("write");
    program.pass(
        &fill::KERNEL,
        (),
        fill::Bind { words: view },
        fill::Push { count, value: 7 },
        Groups::cover(count, 256),
    );
    gpu.run(&program).unwrap();
}

/// Settings of a run of 14 steps: three densifications, a prune, resets, a degree raise, steps in bands, an evaluation and
/// files. The layer makes every step take long, so there are few, on small images.
const SHORT: &[(&str, &str)] = &[
    ("dataset.resolution", "40"),
    ("schedule.test", "[10]"),
    ("schedule.sh_every", "6"),
    (
        "strategy.densify",
        "{ from: 2, until: 14, every: 4, grad_threshold: 0.002 }",
    ),
    ("strategy.reset", "{ every: 6, until: 14, opacity: 0.08 }"),
    ("fault.v_cap", "2300"),
    ("fault.i_cap", "2300"),
];

/// Trains for 8 steps, goes on from the checkpoint before the last of them, and gives the final model.
fn train_in_two_parts(name: &str, settings: &[(&str, &str)]) -> Vec<u8> {
    let scratch = Scratch::new(name);
    let root = scratch.join("run");
    let never = Interrupt::unattached();
    let part = |iterations: &str, resume| {
        let length = [("schedule.iterations", iterations)];
        runs::train(profile(&root, &[EVENTFUL, SHORT, settings, &length]), resume, &never).unwrap();
    };
    part("8", None);
    part("14", Some(ResumeFrom::Latest));
    let count = |kind| runs::events(&root, kind).len();
    assert_eq!(count("validation"), 0);
    assert!(count("stall") > 0, "no step ran in bands");
    assert!(count("densify") >= 3 && count("reset") > 0 && count("resume") > 0);
    assert!(root.join("eval/iteration_10/metrics.json").is_file());
    runs::raw_model(&root, 14)
}

/// The layer, and bands around tensors: nothing is found, and the model is the same to the byte.
#[test]
fn training_passes_every_check_and_none_changes_it() {
    let plain = train_in_two_parts("plain", &[]);
    let ways: [(&str, &[(&str, &str)]); 3] = [
        ("core", &[("diagnose.validation", "core")]),
        ("sync", &[("diagnose.validation", "sync")]),
        ("bands", &[("diagnose.guard_bands", "true")]),
    ];
    for (name, settings) in ways {
        assert!(train_in_two_parts(name, settings) == plain, "{name}: another model");
    }
}

/// The layer rewrites shaders so that they report accesses beyond their buffers, of which every tensor has one of its own.
/// What they compute is then rounded otherwise, so the model is another one.
#[test]
fn shaders_stay_inside_of_their_tensors() {
    let settings = [
        ("diagnose.validation", "gpu"),
        // Rewritten, the rasterisers of CPU drivers take the driver's compiler minutes, and the update of exact colours a quarter of
        // an hour.
        ("fault.portable", "true"),
        ("memory.storage", "half"),
    ];
    assert!(!train_in_two_parts("gpu", &settings).is_empty());
}

/// Bands of all lengths, with nothing, one word, a few or all of them overwritten.
#[test]
fn the_kernel_finds_in_bands_what_the_twin_finds() {
    const WORDS: u32 = 9000;
    let lengths = [1, 2, 63, 64, 65, 127, 128, 129, 1000, 0, 3000];
    let mut bands = Vec::new();
    let mut at = 5;
    for words in lengths {
        bands.push(Band { first_word: at, words });
        at += words + 7;
    }
    let end = *bands.last().unwrap();
    let mut table = TensorTable::default();
    let mut add = |name: &str, bytes| table.add(name, Class::Persistent, Tag::Other, bytes);
    let [list, reports] = [("list", 8), ("reports", 16)].map(|(name, size)| add(name, size * bands.len() as u64));
    let words_view = add("words", u64::from(WORDS) * 4);
    let mut program = Program::new("bands");
    program.fill(reports, 1);
    record(
        &mut program,
        list,
        words_view,
        reports,
        bands.len() as u32,
        GUARD_PATTERN,
    );
    let device = open(Validation::Synchronization);
    let mut gpu = Gpu::new(&device, table, &[&program], 1 << 30).unwrap();
    gpu.write(&list, &bands).unwrap();
    // What is not in a band may be anything.
    let mut clean: Vec<u32> = (0..WORDS).map(|i| bits(3, 1, i, 0)).collect();
    for band in &bands {
        clean[band.first_word as usize..][..band.words as usize].fill(GUARD_PATTERN);
    }
    // One word in none, in 3000, in 100, in 2; then the last word of the last band alone.
    for rarity in [0, 3000, 100, 2, 1] {
        let mut words = clean.clone();
        match rarity {
            0 => {}
            1 => words[(end.first_word + end.words) as usize - 1] ^= 1,
            _ => {
                let hit = |i: &u32| bits(3, 2, *i, 0).is_multiple_of(rarity);
                (0..WORDS).filter(hit).for_each(|i| words[i as usize] ^= 1 << (i % 32));
            }
        }
        gpu.write(&words_view, &words).unwrap();
        gpu.run(&program).unwrap();
        let found: Vec<Report> = gpu.read(&reports, bands.len()).unwrap();
        let wanted = twin(&words, &bands, GUARD_PATTERN);
        same(&format!("one in {rarity}"), &found, &wanted);
        assert_eq!(wanted.iter().all(|report| report.overwritten == 0), rarity == 0);
    }
    assert_valid(&device);
}

/// A pass that leaves its tensor is named by the tensor, on the side where it left, although the driver notices nothing.
#[test]
fn bands_tell_who_was_overrun() {
    take_turn();
    let (mut gpu, [a, b, c]) = three(&open(Validation::Core), Layout::Guarded);
    for view in [a, b, c] {
        write(&mut gpu, view, 64);
    }
    check_guard_bands(&mut gpu).unwrap();
    // A view that is too long binds what lies behind the tensor.
    let long = |view: Span| Span {
        bytes: view.bytes + 64,
        ..view
    };
    write(&mut gpu, long(b), 67);
    let error = check_guard_bands(&mut gpu).unwrap_err();
    assert_eq!(
        error.to_string(),
        "internal error: 3 words behind tensor `b` were overwritten, the first 0 bytes away from it with 0x00000007; \
         please report this"
    );
    assert_eq!(error.exit(), Exit::Internal);

    let (mut gpu, [a, ..]) = three(&open(Validation::Core), Layout::Guarded);
    let mut program = Program::new("early");
    // The last word of the band between `a` and `b`, where a wrong subtraction in a pass over `b` would end up.
    program.fill(
        Span {
            offset: a.bytes + BAND_BYTES - 4,
            bytes: 4,
            ..a
        },
        1,
    );
    gpu.run(&program).unwrap();
    let MemoryError::Overrun {
        tensor,
        side,
        distance,
        count,
        ..
    } = check_guard_bands(&mut gpu).unwrap_err()
    else {
        unreachable!("nothing else can fail")
    };
    assert_eq!((tensor.as_str(), side, distance, count), ("b", "before", 0, 1));
}

/// With a buffer for each tensor, the layer sees what it does not see where tensors share one.
#[test]
fn the_layer_sees_overruns_of_buffers_of_their_own() {
    let found = |layout| {
        let device = open(Validation::GpuAssisted);
        let (mut gpu, [a, ..]) = three(&device, layout);
        write(&mut gpu, a, 128);
        let report = device.instance().validation().unwrap();
        assert_eq!(report.mode(), Validation::GpuAssisted);
        report.messages()
    };
    assert!(found(Layout::Packed).is_empty());
    let messages = found(Layout::Apart);
    assert!(
        messages.iter().any(|text| text.contains("out of bounds")),
        "{messages:?}"
    );
}

/// A message of the layer is an event, and the run that had one ends as failed, after its files were written.
#[test]
fn a_message_of_the_layer_fails_the_run() {
    let device = open(Validation::Core);
    let (mut gpu, [a, ..]) = three(&device, Layout::Packed);
    let mut program = Program::new("uneven");
    // Fills begin at multiples of four bytes.
    program.fill(a.slice(2, 8), 0);
    gpu.run(&program).unwrap();
    drop(gpu);
    let report = device.instance().validation().unwrap();
    assert!(report.count() > 0);

    let scratch = Scratch::new("message");
    let root = scratch.join("run");
    let brief = [("schedule.iterations", "4"), ("diagnose.validation", "core")];
    let setup = profile(&root, &[EVENTFUL, SHORT, &brief]);
    let open = OpenDevice {
        device,
        tier: Tier::Fast,
        faults: setup.faults,
    };
    let request = RunRequest::new(setup.profile, open, runs::scene());
    let error = run(request, &Interrupt::unattached()).unwrap_err();
    assert!(matches!(error, RunError::Validation { mode: "core", .. }), "{error}");
    assert_eq!(error.exit(), Exit::Internal);
    let events = runs::events(&root, "validation");
    assert_eq!(events.len() as u64, report.count());
    let text = events[0]["detail"]["message"].as_str().unwrap();
    assert!(text.contains("vkCmdFillBuffer"), "{text}");
    assert_eq!(runs::json(&root.join("run.json"))["status"], "failed");
    assert!(!runs::raw_model(&root, 4).is_empty());
}
