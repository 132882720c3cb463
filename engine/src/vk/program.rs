//! Turns a [`Program`] (data) into recorded command buffers.
//!
//! Barriers come from the accesses that passes declare: one global memory barrier goes before the first command that
//! conflicts with what was touched since the last (read after write, write after read, write after write). Ranges are
//! physical, so tensors that share arena bytes are ordered too; see [`super::hazards`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;

use super::cuts::Cuts;
use super::fence::Fence;
use super::fill;
use super::hazards::{self, Touch};
use super::recording::{Recording, Script};
use super::timestamps::Timestamps;
use super::{Block, Device, Markers, PassTime, Pipeline, Queue, Ticket, VkError};
use crate::program::{Command, Groups, Program, Span};

/// Where a view lies: block index, byte offset in the block, length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the block.
    pub block: usize,
    /// Byte offset.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// Answers where views lie.
pub trait Resolver {
    /// The physical place of `view`.
    fn place(&self, view: &Span) -> Place;
    /// The block with index `index`.
    fn block(&self, index: usize) -> &Block;
    /// What the tensor of `view` is called, for messages.
    fn name(&self, view: &Span) -> String {
        format!("tensor {}", view.tensor.index())
    }
}

/// Choices that lead to different recordings of the same program.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordOptions {
    /// Number of ring slots; slot `s` adds `s * stride` to the slotted side of copies.
    pub slots: u32,
    /// Write timestamps after every command.
    pub timestamps: bool,
    /// Mark passes, where the device does.
    pub watched: bool,
    /// It runs once: how long its parts take changes nothing.
    pub once: bool,
}

/// A command with the handles of a device.
pub(super) enum Step {
    Dispatch {
        pipeline: Arc<Pipeline>,
        set: vk::DescriptorSet,
        push: Vec<u8>,
        groups: Result<[u32; 3], (vk::Buffer, u64)>,
    },
    Fill {
        buffer: vk::Buffer,
        place: Place,
        value: u32,
    },
    /// Dispatches with their number of words; they write different bytes.
    LargeFill {
        pipeline: Arc<Pipeline>,
        parts: Vec<(vk::DescriptorSet, fill::Part)>,
        value: u32,
    },
    Copy {
        from: (vk::Buffer, u64, u64),
        to: (vk::Buffer, u64, u64),
        bytes: u64,
    },
    Hold,
}

impl Step {
    /// Records this command for ring slot `slot`.
    ///
    /// # Safety
    /// `cmd` is being recorded on the device of these handles, and they live as long as the recording.
    pub(super) unsafe fn record(&self, raw: &ash::Device, cmd: vk::CommandBuffer, slot: u32) {
        // SAFETY: the caller vouches for the handles; ranges were checked when the plan was made.
        unsafe {
            match self {
                Self::Hold => {}
                Self::Fill { buffer, place, value } => {
                    raw.cmd_fill_buffer(cmd, *buffer, place.offset, place.bytes, *value);
                }
                Self::LargeFill { pipeline, parts, value } => {
                    raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::COMPUTE, pipeline.raw);
                    for (set, part) in parts {
                        let (layout, [x, y, z]) = (pipeline.layout, part.groups);
                        let push = [part.words, *value];
                        let push = bytemuck::cast_slice(&push);
                        raw.cmd_bind_descriptor_sets(cmd, vk::PipelineBindPoint::COMPUTE, layout, 0, &[*set], &[]);
                        raw.cmd_push_constants(cmd, layout, vk::ShaderStageFlags::COMPUTE, 0, push);
                        raw.cmd_dispatch(cmd, x, y, z);
                    }
                }
                Self::Copy { from, to, bytes } => {
                    let region = [vk::BufferCopy {
                        src_offset: from.1 + u64::from(slot) * from.2,
                        dst_offset: to.1 + u64::from(slot) * to.2,
                        size: *bytes,
                    }];
                    raw.cmd_copy_buffer(cmd, from.0, to.0, &region);
                }
                Self::Dispatch {
                    pipeline,
                    set,
                    push,
                    groups,
                } => {
                    raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::COMPUTE, pipeline.raw);
                    raw.cmd_bind_descriptor_sets(cmd, vk::PipelineBindPoint::COMPUTE, pipeline.layout, 0, &[*set], &[]);
                    if !push.is_empty() {
                        raw.cmd_push_constants(cmd, pipeline.layout, vk::ShaderStageFlags::COMPUTE, 0, push);
                    }
                    match groups {
                        Ok([x, y, z]) => raw.cmd_dispatch(cmd, *x, *y, *z),
                        Err((buffer, offset)) => raw.cmd_dispatch_indirect(cmd, *buffer, *offset),
                    }
                }
            }
        }
    }
}

/// A program compiled for one device: pipelines, descriptor sets and the command buffers of each ring slot.
pub struct CompiledProgram {
    device: Arc<Device>,
    pool: vk::CommandPool,
    descriptors: vk::DescriptorPool,
    timestamps: Vec<Timestamps>,
    // Keeps the pipelines alive as long as the recordings that use them.
    script: Script,
    state: Mutex<State>,
    barriers: usize,
    once: bool,
}

/// What submitting changes.
struct State {
    cuts: Cuts,
    /// Counts how often `cuts` changed.
    version: u32,
    slots: Vec<Recording>,
}

/// Runs between two looks at how long the parts of a program take, once it has been cut.
const LOOK_EVERY: u32 = 16;

impl CompiledProgram {
    /// Compiles and records `program`. With `markers`, recordings that are watched write on their way where they are.
    ///
    /// # Errors
    /// [`VkError`] when the driver refuses a pipeline, a descriptor pool or a recording.
    pub fn new(
        device: &Arc<Device>,
        memory: &dyn Resolver,
        program: &Program,
        options: RecordOptions,
        markers: Option<&Arc<Markers>>,
    ) -> Result<Self, VkError> {
        let raw = device.raw();
        // Those that time each command are cut like those that do not.
        let limit_ms = device.submit_limit_ms().filter(|_| !options.timestamps);
        let mut compiled = Self {
            device: device.clone(),
            pool: vk::CommandPool::null(),
            descriptors: vk::DescriptorPool::null(),
            timestamps: Vec::new(),
            script: Script {
                name: program.name.clone(),
                steps: Vec::new(),
                passes: program.commands.iter().map(Command::name).collect(),
                fences: Vec::new(),
                marks: None,
            },
            state: Mutex::new(State {
                cuts: Cuts::new(program.commands.len(), limit_ms),
                version: 0,
                slots: Vec::new(),
            }),
            barriers: 0,
            once: options.once,
        };
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(device.queue_family());
        device.attempt("vkCreateCommandPool")?;
        // SAFETY: `info` lives through the call.
        compiled.pool =
            unsafe { raw.create_command_pool(&info, None) }.map_err(VkError::call("vkCreateCommandPool"))?;
        compiled.script.steps = compiled.compile_steps(memory, program)?;
        let place = |view: &Span| memory.place(view);
        let touches: Vec<Vec<Touch>> = program
            .commands
            .iter()
            .map(|c| hazards::touches(c, &place, options.slots))
            .collect();
        let fences = hazards::fences(&touches);
        // Recordings are made once, but a large run makes many; and what is checked here follows from the program alone.
        if cfg!(debug_assertions) || device.instance().validation().is_some() {
            hazards::check(program, &fences, &place, &|view| memory.name(view))?;
        }
        compiled.barriers = fences.iter().filter(|fence| **fence != Fence::None).count();
        if let Some(markers) = markers.filter(|_| options.watched && !options.timestamps) {
            let serial = markers.name(&program.name, compiled.script.passes.clone(), fences.clone());
            compiled.script.marks = Some((markers.clone(), serial));
        }
        compiled.script.fences = fences;
        for slot in 0..options.slots.max(1) {
            if options.timestamps {
                compiled
                    .timestamps
                    .push(Timestamps::new(device, compiled.script.passes.clone())?);
            }
            let mut state = compiled.state.lock().unwrap_or_else(PoisonError::into_inner);
            let recording = compiled.recording(slot, &state.cuts, 0)?;
            state.slots.push(recording);
        }
        Ok(compiled)
    }

    fn recording(&self, slot: u32, cuts: &Cuts, version: u32) -> Result<Recording, VkError> {
        let times = self.timestamps.get(slot as usize);
        let timed_parts =
            cuts.is_limited() && !self.once && times.is_none() && self.device.caps().timestamp_period_ns > 0.0;
        Recording::new(
            &self.device,
            self.pool,
            &self.script,
            (slot, times),
            (cuts, version),
            timed_parts,
        )
    }

    /// Name of the program.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.script.name
    }

    /// Submissions that one run of the program takes now.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.state().cuts.parts().len()
    }

    /// From its next run on is submitted in the same parts as `other`, another recording of the same program.
    pub fn cut_like(&self, other: &Self) {
        let cuts = other.state().cuts.clone();
        let mut state = self.state();
        if state.cuts.parts() != cuts.parts() {
            state.cuts = cuts;
            state.version += 1;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits the recording of `slot`. The caller has waited for the slot's previous ticket, unless the program has one slot
    /// and leaves everything as it finds it but what it makes anew.
    ///
    /// # Errors
    /// [`VkError::Lost`] when the device is gone.
    pub fn submit(&self, queue: &mut Queue, slot: u32) -> Result<Ticket, VkError> {
        let mut state = self.state();
        let State { cuts, version, slots } = &mut *state;
        let Some(recording) = slots.get_mut(slot as usize) else {
            return Err(VkError::Unsupported {
                device: self.device.caps().name.clone(),
                what: format!("slot {slot} of `{}`", self.script.name),
            });
        };
        // A recording that is still under way is left as it is.
        let look = cuts.is_limited() && (!cuts.is_settled() || recording.runs.is_multiple_of(LOOK_EVERY));
        if (look || recording.version != *version) && recording.last.map_or(Ok(true), |last| queue.is_done(last))? {
            if recording.version == *version
                && let Some(times) = recording.part_times_ms().filter(|_| recording.last.is_some())
                && cuts.observe(&times)
            {
                *version += 1;
            }
            if recording.version != *version {
                *recording = self.recording(slot, cuts, *version)?;
            }
        }
        let mut ticket = Ticket::default();
        for (buffer, label) in recording.parts() {
            ticket = queue.submit_raw(buffer, label)?;
        }
        recording.last = Some(ticket);
        recording.runs = recording.runs.wrapping_add(1);
        Ok(ticket)
    }

    /// Times of the last finished submission of `slot`; empty when recorded without timestamps.
    ///
    /// # Errors
    /// [`VkError::Call`] when the query fails.
    pub fn times(&self, slot: u32) -> Result<Vec<PassTime>, VkError> {
        self.timestamps
            .get(slot as usize)
            .map_or_else(|| Ok(Vec::new()), Timestamps::read)
    }

    /// Barriers in one recording.
    #[must_use]
    pub fn barriers(&self) -> usize {
        self.barriers
    }

    /// The commands with handles of this device, for which the program's pool of descriptors is made.
    fn compile_steps(&mut self, memory: &dyn Resolver, program: &Program) -> Result<Vec<Step>, VkError> {
        self.make_descriptors(memory, program)?;
        let steps = program.commands.iter().map(|command| self.step(memory, command));
        steps.collect()
    }

    /// Makes the pool that has room for the descriptors of all commands, if there are any.
    fn make_descriptors(&mut self, memory: &dyn Resolver, program: &Program) -> Result<(), VkError> {
        let (mut passes, mut bindings) = (0, 0);
        for command in &program.commands {
            let (sets, views) = match command {
                Command::Dispatch(pass) => (1, pass.views.len()),
                Command::Fill { view, .. } => {
                    let parts = self.fill_parts(&memory.place(view)).len();
                    (parts, parts)
                }
                Command::Hold(_) | Command::Copy { .. } => (0, 0),
            };
            (passes, bindings) = (passes + sets, bindings + views);
        }
        if passes == 0 {
            return Ok(());
        }
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: u32::try_from(bindings.max(1)).unwrap_or(u32::MAX),
        }];
        let info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(u32::try_from(passes).unwrap_or(u32::MAX))
            .pool_sizes(&sizes);
        self.device.attempt("vkCreateDescriptorPool")?;
        // SAFETY: `info` lives through the call.
        self.descriptors = unsafe { self.device.raw().create_descriptor_pool(&info, None) }
            .map_err(VkError::call("vkCreateDescriptorPool"))?;
        Ok(())
    }

    /// A command with handles of this device.
    fn step(&self, memory: &dyn Resolver, command: &Command) -> Result<Step, VkError> {
        let buffer = |place: &Place| memory.block(place.block).buffer;
        Ok(match command {
            Command::Fill { view, value } => {
                let place = memory.place(view);
                self.fill(buffer(&place), place, *value)?
            }
            Command::Hold(_) => Step::Hold,
            Command::Copy {
                from,
                from_stride,
                to,
                to_stride,
            } => {
                let (a, b) = (memory.place(from), memory.place(to));
                Step::Copy {
                    from: (buffer(&a), a.offset, *from_stride),
                    to: (buffer(&b), b.offset, *to_stride),
                    bytes: a.bytes.min(b.bytes),
                }
            }
            Command::Dispatch(pass) => {
                let push = u32::try_from(pass.push.len()).unwrap_or(u32::MAX);
                let pipeline = self.device.pipeline(pass.shader, &pass.spec, push)?;
                let places = pass.views.iter().map(|view| memory.place(view));
                let bound: Vec<_> = places.map(|place| (buffer(&place), place)).collect();
                let set = self.set(&pipeline, &bound)?;
                let groups = match &pass.groups {
                    Groups::Direct(groups) => Ok(*groups),
                    Groups::Indirect(view) => {
                        let place = memory.place(view);
                        Err((buffer(&place), place.offset))
                    }
                };
                Step::Dispatch {
                    pipeline,
                    set,
                    push: pass.push.clone(),
                    groups,
                }
            }
        })
    }

    /// A fill: the driver's, or dispatches where the place is large.
    fn fill(&self, buffer: vk::Buffer, place: Place, value: u32) -> Result<Step, VkError> {
        let parts = self.fill_parts(&place);
        if parts.is_empty() {
            return Ok(Step::Fill { buffer, place, value });
        }
        let pipeline = self.device.pipeline(&fill::SHADER, &[], fill::PUSH_BYTES)?;
        let bound = |part: fill::Part| {
            let place = Place {
                offset: part.offset,
                bytes: part.bytes,
                ..place
            };
            Ok((self.set(&pipeline, &[(buffer, place)])?, part))
        };
        let parts = parts.into_iter().map(bound).collect::<Result<_, VkError>>()?;
        Ok(Step::LargeFill { pipeline, parts, value })
    }

    /// The dispatches that fill a large place; none for a small one.
    fn fill_parts(&self, place: &Place) -> Vec<fill::Part> {
        fill::parts(place.offset, place.bytes, self.device.caps())
    }

    /// A descriptor set of the pool that binds these places.
    fn set(&self, pipeline: &Pipeline, bound: &[(vk::Buffer, Place)]) -> Result<vk::DescriptorSet, VkError> {
        let raw = self.device.raw();
        let layouts = [pipeline.set_layout];
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(self.descriptors)
            .set_layouts(&layouts);
        self.device.attempt("vkAllocateDescriptorSets")?;
        // SAFETY: the pool was sized for exactly these sets.
        let set = unsafe { raw.allocate_descriptor_sets(&info) }
            .map_err(VkError::call("vkAllocateDescriptorSets"))?
            .first()
            .copied()
            .unwrap_or_default();
        let infos: Vec<[vk::DescriptorBufferInfo; 1]> = bound
            .iter()
            .map(|(buffer, place)| {
                [vk::DescriptorBufferInfo {
                    buffer: *buffer,
                    offset: place.offset,
                    range: place.bytes,
                }]
            })
            .collect();
        let writes: Vec<_> = (0u32..)
            .zip(&infos)
            .map(|(binding, info)| {
                vk::WriteDescriptorSet::default()
                    .dst_set(set)
                    .dst_binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .buffer_info(info)
            })
            .collect();
        // SAFETY: the set is fresh and the buffers are alive.
        unsafe { raw.update_descriptor_sets(&writes, &[]) };
        Ok(set)
    }
}

impl Drop for CompiledProgram {
    fn drop(&mut self) {
        // SAFETY: waiting first makes the recordings free to destroy.
        unsafe {
            let raw = self.device.raw();
            let _ = raw.queue_wait_idle(self.device.queue());
            self.state().slots.clear();
            raw.destroy_command_pool(self.pool, None);
            raw.destroy_descriptor_pool(self.descriptors, None);
        }
    }
}
