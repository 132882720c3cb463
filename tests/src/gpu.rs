//! A device running the training step on a small model.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kiln::gaussians::{Gaussians, layout};
use kiln::kernels::counters::Counters;
use kiln::kernels::triangles::TriangleUniforms;
use kiln::kernels::uniforms::StepUniforms;
use kiln::kernels::views::{Chunk, Loops, Reduction, Threads, Variants};
use kiln::memory::Gpu as Device;
use kiln::plugins::{Loss, Losses};
use kiln::program::{Class, Command, Program, Span, Tag, TensorTable};
use kiln::step::{Capacities, StepTensors, read_model, read_sample, train_step, write_model};
use kiln::vk::{self, CompiledProgram, Instance, RecordOptions, Validation};

/// No test needs more.
const CAP_BYTES: u64 = 4 << 30;

/// Variants of the portable tier with the given reduction.
#[must_use]
pub fn variants(reduction: Reduction) -> Variants {
    Variants {
        reduction,
        sort_subgroup: 0,
        threads: if reduction == Reduction::Segmented {
            Threads::Columns
        } else {
            Threads::Pixels
        },
        loops: Loops::Long,
    }
}

/// Losses of these kinds, with the options that they have by default.
#[must_use]
pub fn losses(kinds: &[&str]) -> Losses {
    let mut all = Loss::plain();
    all.retain(|loss| kinds.contains(&loss.kind()));
    Losses::new(&all, 1000)
}

/// Held by the thread that has a device.
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static MINE: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Waits until no other thread has devices, and keeps them away until this thread ends.
///
/// The validation layer keeps its devices in a table that it reads without a lock, and tests that open and close devices
/// side by side crash in it now and then.
pub fn take_turn() {
    MINE.with_borrow_mut(|mine| {
        if mine.is_none() {
            // A test that failed with a device leaves nothing behind that matters here.
            *mine = Some(TURN.lock().unwrap_or_else(PoisonError::into_inner));
        }
    });
}

/// The device that tests of a program have in turn.
static DEVICE: Mutex<Option<Arc<vk::Device>>> = Mutex::new(None);

/// The first device with the validation layer on, after [`take_turn`]. Tests of a program share it, for their pipelines are made
/// once: most of what a small test takes. One that the layer complained about is not used again.
///
/// # Panics
/// Without a Vulkan driver or without the layer: these tests prove nothing on a machine without a device.
#[must_use]
pub fn open() -> Arc<vk::Device> {
    take_turn();
    let mut shared = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    let sound = shared.take().filter(|device| messages(device).is_empty());
    shared.insert(sound.unwrap_or_else(open_first)).clone()
}

fn open_first() -> Arc<vk::Device> {
    let instance =
        Arc::new(Instance::new(Validation::Synchronization).expect("Vulkan with the Khronos validation layer"));
    let caps = instance.devices().expect("list of devices");
    let caps = caps
        .into_iter()
        .next()
        .expect("a Vulkan device; install a driver, for example Mesa's lavapipe");
    vk::Device::open(&instance, caps).expect("the device opens")
}

fn messages(device: &vk::Device) -> Vec<String> {
    device.instance().validation().expect("validation is on").messages()
}

/// Stops when the validation layer had anything to say.
///
/// # Panics
/// With the messages.
pub fn assert_valid(device: &vk::Device) {
    let messages = messages(device);
    assert!(messages.is_empty(), "validation:\n{}", messages.join("\n"));
}

/// A tensor to keep: copied to a place of its own right after the last pass of shader `after` that binds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// What to copy.
    pub view: Span,
    /// Name of the shader that makes it.
    pub after: &'static str,
}

/// A device with the tensors of a step and a compiled program.
pub struct Gpu {
    // First, so that the recording goes before the memory it names.
    program: CompiledProgram,
    /// Device, queue and memory.
    pub device: Device,
    /// The tensors.
    pub tensors: StepTensors,
    kept: Vec<(Keep, Span)>,
}

impl Gpu {
    /// A training step that keeps nothing.
    #[must_use]
    pub fn training(capacities: &Capacities, variants: &Variants) -> Self {
        Self::new(capacities, variants, train_step, |_| Vec::new())
    }

    /// Any program over the tensors of a step, keeping what `keep` names.
    ///
    /// # Panics
    /// When no pass makes a kept tensor, or the device refuses the program.
    #[must_use]
    pub fn new(
        capacities: &Capacities,
        variants: &Variants,
        program: impl FnOnce(&StepTensors) -> Program,
        keep: impl FnOnce(&StepTensors) -> Vec<Keep>,
    ) -> Self {
        let mut table = TensorTable::default();
        let tensors = StepTensors::new(&mut table, capacities, variants);
        let tensors = if capacities.losses.need(|needs| needs.surface.is_some()) {
            tensors.for_surface_steps(&mut table)
        } else {
            tensors
        };
        let program = program(&tensors);
        Self::of(table, tensors, program, keep)
    }

    /// A training step of surfaces whose loss of blended planes and of coverage is linear: its gradients are what the host
    /// writes to the tensors that are returned, `vec4` by pixel.
    ///
    /// # Panics
    /// As [`Gpu::new`].
    #[must_use]
    pub fn of_surfaces(
        capacities: &Capacities,
        variants: &Variants,
        keep: impl FnOnce(&StepTensors) -> Vec<Keep>,
    ) -> (Self, [Span; 2]) {
        let mut table = TensorTable::default();
        // Gradients are given here, so what would make them is left out.
        let mut capacities = *capacities;
        capacities.losses = losses(&["normals"]);
        let mut tensors = StepTensors::new(&mut table, &capacities, variants).for_surface_steps(&mut table);
        tensors.extra.surface.clear();
        let surface = tensors.pixels.surface.expect("asked for");
        let gradients = [surface.gradient, surface.normal_gradient];
        let given = ["given/surface_gradient", "given/normal_gradient"]
            .map(|name| table.add(name, Class::Small, Tag::Other, surface.gradient.bytes));
        let mut program = train_step(&tensors);
        let backward = |c: &Command| c.name().starts_with("rasterize_backward");
        let first = program
            .commands
            .iter()
            .position(backward)
            .expect("a pass that reads it");
        for (from, to) in given.into_iter().zip(gradients) {
            let copy = Command::Copy {
                from,
                from_stride: 0,
                to,
                to_stride: 0,
            };
            program.commands.insert(first, copy);
        }
        (Self::of(table, tensors, program, keep), given)
    }

    /// A program over tensors of `table` that are `tensors`, keeping what `keep` names.
    ///
    /// # Panics
    /// As [`Gpu::new`].
    #[must_use]
    pub fn of(
        mut table: TensorTable,
        tensors: StepTensors,
        mut program: Program,
        keep: impl FnOnce(&StepTensors) -> Vec<Keep>,
    ) -> Self {
        let capacities = tensors.capacities;
        let mut kept = Vec::new();
        for (index, keep) in keep(&tensors).into_iter().enumerate() {
            let name = format!("kept/{index}");
            let to = table.add(name, Class::Small, Tag::Other, keep.view.bytes);
            let made = program
                .commands
                .iter()
                .rposition(|c| c.name() == keep.after && c.views().contains(&keep.view))
                .unwrap_or_else(|| panic!("no pass `{}` binds {:?}", keep.after, keep.view));
            let copy = Command::Copy {
                from: keep.view,
                from_stride: 0,
                to,
                to_stride: 0,
            };
            program.commands.insert(made + 1, copy);
            kept.push((keep, to));
        }
        let device = Device::new(&open(), table, &[&program], CAP_BYTES).expect("memory for the step");
        let options = RecordOptions {
            slots: capacities.slots,
            timestamps: false,
            ..RecordOptions::default()
        };
        let program = device.compile(&program, options).expect("the program compiles");
        Self {
            program,
            device,
            tensors,
            kept,
        }
    }

    /// Writes a model; moments and statistics become zero.
    ///
    /// # Panics
    /// When it does not fit.
    pub fn load(&mut self, model: &Gaussians) {
        write_model(&mut self.device, &self.tensors, model).expect("the model fits");
    }

    /// Writes what stands behind the uniforms in ring slot `slot`.
    ///
    /// # Panics
    /// When the device fails.
    pub fn write_behind(&mut self, slot: u32, block: &TriangleUniforms) {
        let rings = self.tensors.rings;
        let from = u64::from(slot) * rings.uniforms_stride + size_of::<StepUniforms>() as u64;
        let view = rings.uniforms.slice(from, size_of::<TriangleUniforms>() as u64);
        let bytes = self.device.memory_mut().host_mut(&view).expect("uniform ring");
        bytes.copy_from_slice(bytemuck::bytes_of(block));
    }

    /// Fills ring slot `slot` and runs the program on it; returns the status word.
    ///
    /// # Panics
    /// When the device fails.
    pub fn run(&mut self, slot: u32, uniforms: &StepUniforms, target: &[u8]) -> Counters {
        let rings = self.tensors.rings;
        let slot_of = |view: Span, stride: u64, bytes: u64| view.slice(u64::from(slot) * stride, bytes);
        let memory = self.device.memory_mut();
        let view = slot_of(rings.uniforms, rings.uniforms_stride, size_of::<StepUniforms>() as u64);
        memory
            .host_mut(&view)
            .expect("uniform ring")
            .copy_from_slice(bytemuck::bytes_of(uniforms));
        let view = slot_of(rings.images, rings.images_stride, rings.images_stride);
        memory.host_mut(&view).expect("image ring")[..target.len()].copy_from_slice(target);
        let ticket = self.device.submit(&self.program, slot).expect("submit");
        self.device.queue().wait(ticket, "a test step").expect("wait");
        let view = slot_of(rings.status, rings.status_stride, size_of::<Counters>() as u64);
        let bytes = self.device.memory().host(&view).expect("status ring");
        bytemuck::pod_read_unaligned(bytes)
    }

    /// The first `count` values of what was kept of `view` after pass `after`.
    ///
    /// # Panics
    /// When it was not kept.
    #[must_use]
    pub fn kept<T: bytemuck::AnyBitPattern>(&mut self, view: Span, after: &'static str, count: usize) -> Vec<T> {
        let keep = Keep { view, after };
        let (_, to) = self.kept.iter().find(|(k, _)| *k == keep).expect("a kept tensor");
        let to = *to;
        self.read(to, count)
    }

    /// The first `count` values of a tensor that nothing overwrites.
    ///
    /// # Panics
    /// When the device fails.
    #[must_use]
    pub fn read<T: bytemuck::AnyBitPattern>(&mut self, view: Span, count: usize) -> Vec<T> {
        self.device.read(&view, count).expect("download")
    }

    /// The model as it is now.
    ///
    /// # Panics
    /// When the device fails.
    #[must_use]
    pub fn model(&mut self) -> Gaussians {
        read_model(&mut self.device, &self.tensors).expect("download")
    }

    /// At most `most` Gaussians of the model, and how many it has.
    ///
    /// # Panics
    /// When the device fails.
    #[must_use]
    pub fn sample(&mut self, most: u32) -> (Gaussians, u32) {
        read_sample(&mut self.device, &self.tensors, most).expect("download")
    }

    /// Planes of every chunk, as one list of `planes` values for each of `count` Gaussians.
    #[must_use]
    pub fn planes(&mut self, pick: impl Fn(&Chunk) -> Span, planes: u32, count: usize) -> Vec<Vec<f32>> {
        let mut out = Vec::with_capacity(count);
        for chunk in self.tensors.chunks.clone() {
            let values: Vec<f32> = self.read(pick(&chunk), (planes * chunk.stride) as usize);
            let here = count.saturating_sub(chunk.first as usize).min(chunk.stride as usize);
            out.extend((0..here).map(|i| {
                (0..planes as usize)
                    .map(|p| values[p * chunk.stride as usize + i])
                    .collect()
            }));
        }
        out
    }

    /// The same as words.
    #[must_use]
    pub fn words(&mut self, pick: impl Fn(&Chunk) -> Span, planes: u32, count: usize) -> Vec<Vec<u32>> {
        let values = self.planes(pick, planes, count);
        let bits = |list: Vec<f32>| list.into_iter().map(f32::to_bits).collect();
        values.into_iter().map(bits).collect()
    }

    /// Parameters (or moments) of every Gaussian where all are f32: geometry planes, then SH planes.
    #[must_use]
    pub fn values(
        &mut self,
        geometry: impl Fn(&Chunk) -> Span,
        sh: impl Fn(&Chunk) -> Span,
        count: usize,
    ) -> Vec<Vec<f32>> {
        let mut all = self.planes(geometry, layout::GEOMETRY_PLANES, count);
        let planes = layout::sh_planes(self.tensors.capacities.sh_degree);
        for (values, sh) in all.iter_mut().zip(self.planes(sh, planes, count)) {
            values.extend(sh);
        }
        all
    }

    /// Every persistent byte: parameters, moments, filter, statistics.
    #[must_use]
    pub fn state_bytes(&mut self, count: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let capacities = &self.tensors.capacities;
        let planes = capacities.planes();
        type Pick = fn(&Chunk) -> Span;
        let groups: [(Pick, u32); 8] = [
            (|c| c.geometry, planes.geometry),
            (|c| c.geometry_m, planes.geometry_m),
            (|c| c.geometry_v, planes.geometry_v),
            (|c| c.sh, planes.sh),
            (|c| c.sh_m, planes.sh_m),
            (|c| c.sh_v, planes.sh_v),
            (|c| c.filter_3d, 1),
            (|c| c.statistics, planes.kept_statistics()),
        ];
        for (pick, planes) in groups {
            for values in self.planes(pick, planes, count) {
                all.extend_from_slice(bytemuck::cast_slice(&values));
            }
        }
        all
    }

    /// Stops when the validation layer had anything to say.
    pub fn assert_valid(&self) {
        assert_valid(self.device.device());
    }
}
