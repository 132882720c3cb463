//! Turns a [`Program`] (data) into recorded command buffers.
//!
//! Barriers come from the accesses that passes declare: the recorder remembers every byte range touched since the last
//! barrier and puts one global memory barrier before the first command that conflicts with them (read after write,
//! write after read, write after write). Ranges are physical, so tensors that share arena bytes are ordered too.

use std::sync::Arc;

use ash::vk;

use super::pipeline::PipelineCache;
use super::timestamps::Timestamps;
use super::{Block, Device, PassTime, Pipeline, Queue, Ticket, VkError};
use crate::memory::{Access, Command, Groups, Program, View};

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
    fn place(&self, view: &View) -> Place;
    /// The block with index `index`.
    fn block(&self, index: usize) -> &Block;
}

/// Choices that lead to different recordings of the same program.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordOptions {
    /// Number of ring slots; slot `s` adds `s * stride` to the slotted side of copies.
    pub slots: u32,
    /// Write timestamps after every command.
    pub timestamps: bool,
}

enum Step {
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
    Copy {
        from: (vk::Buffer, u64, u64),
        to: (vk::Buffer, u64, u64),
        bytes: u64,
    },
    Hold,
}

/// A program compiled for one device: pipelines, descriptor sets and one command buffer per ring slot.
pub struct CompiledProgram {
    device: Arc<Device>,
    name: String,
    pool: vk::CommandPool,
    descriptors: vk::DescriptorPool,
    buffers: Vec<vk::CommandBuffer>,
    timestamps: Vec<Timestamps>,
    // Keeps the pipelines alive as long as the recordings that use them.
    _steps: Vec<Step>,
    barriers: usize,
}

impl CompiledProgram {
    /// Compiles and records `program`.
    ///
    /// # Errors
    /// [`VkError`] when the driver refuses a pipeline, a descriptor pool or a recording.
    pub fn new(
        device: &Arc<Device>,
        pipelines: &PipelineCache,
        memory: &dyn Resolver,
        program: &Program,
        options: RecordOptions,
    ) -> Result<Self, VkError> {
        let raw = device.raw();
        let mut compiled = Self {
            device: device.clone(),
            name: program.name.clone(),
            pool: vk::CommandPool::null(),
            descriptors: vk::DescriptorPool::null(),
            buffers: Vec::new(),
            timestamps: Vec::new(),
            _steps: Vec::new(),
            barriers: 0,
        };
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(device.queue_family());
        device.attempt("vkCreateCommandPool")?;
        // SAFETY: `info` lives through the call.
        compiled.pool =
            unsafe { raw.create_command_pool(&info, None) }.map_err(VkError::call("vkCreateCommandPool"))?;
        let steps = compiled.compile_steps(pipelines, memory, program)?;
        let accesses: Vec<_> = program
            .commands
            .iter()
            .map(|c| accesses(c, memory, options.slots))
            .collect();
        let slots = options.slots.max(1);
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(compiled.pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(slots);
        device.attempt("vkAllocateCommandBuffers")?;
        // SAFETY: `info` lives through the call.
        compiled.buffers =
            unsafe { raw.allocate_command_buffers(&info) }.map_err(VkError::call("vkAllocateCommandBuffers"))?;
        for slot in 0..slots {
            if options.timestamps {
                let names = program.commands.iter().map(Command::name).collect();
                compiled.timestamps.push(Timestamps::new(device, names)?);
            }
            compiled.barriers = compiled.record(slot, &steps, &accesses)?;
        }
        compiled._steps = steps;
        Ok(compiled)
    }

    /// Name of the program.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Submits the recording of `slot`. The caller has waited for the slot's previous ticket.
    ///
    /// # Errors
    /// [`VkError::Lost`] when the device is gone.
    pub fn submit(&self, queue: &mut Queue, slot: u32) -> Result<Ticket, VkError> {
        let buffer = self.buffers.get(slot as usize).copied().unwrap_or_default();
        queue.submit_raw(buffer, &self.name)
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

    fn compile_steps(
        &mut self,
        pipelines: &PipelineCache,
        memory: &dyn Resolver,
        program: &Program,
    ) -> Result<Vec<Step>, VkError> {
        let raw = self.device.raw();
        let passes = program
            .commands
            .iter()
            .filter(|c| matches!(c, Command::Dispatch(_)))
            .count();
        let bindings: usize = program
            .commands
            .iter()
            .map(|c| {
                if let Command::Dispatch(pass) = c {
                    pass.views.len()
                } else {
                    0
                }
            })
            .sum();
        if passes > 0 {
            let sizes = [vk::DescriptorPoolSize {
                ty: vk::DescriptorType::STORAGE_BUFFER,
                descriptor_count: u32::try_from(bindings.max(1)).unwrap_or(u32::MAX),
            }];
            let info = vk::DescriptorPoolCreateInfo::default()
                .max_sets(u32::try_from(passes).unwrap_or(u32::MAX))
                .pool_sizes(&sizes);
            self.device.attempt("vkCreateDescriptorPool")?;
            // SAFETY: `info` lives through the call.
            self.descriptors =
                unsafe { raw.create_descriptor_pool(&info, None) }.map_err(VkError::call("vkCreateDescriptorPool"))?;
        }
        let mut steps = Vec::with_capacity(program.commands.len());
        for command in &program.commands {
            let buffer = |place: &Place| memory.block(place.block).buffer;
            steps.push(match command {
                Command::Fill { view, value } => {
                    let place = memory.place(view);
                    Step::Fill {
                        buffer: buffer(&place),
                        place,
                        value: *value,
                    }
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
                    let pipeline = pipelines.get(&self.device, pass.shader, &pass.spec, push)?;
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
                    let infos: Vec<[vk::DescriptorBufferInfo; 1]> = pass
                        .views
                        .iter()
                        .map(|view| {
                            let place = memory.place(view);
                            [vk::DescriptorBufferInfo {
                                buffer: buffer(&place),
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
            });
        }
        Ok(steps)
    }

    fn record(&self, slot: u32, steps: &[Step], accesses: &[Vec<Touch>]) -> Result<usize, VkError> {
        let raw = self.device.raw();
        let cmd = self.buffers.get(slot as usize).copied().unwrap_or_default();
        let stamps = self.timestamps.get(slot as usize);
        let mut barriers = 0;
        // A short program may be submitted again before its last run has finished; the queue keeps them in order.
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        // SAFETY: the command buffer is freshly allocated; all handles used below are alive and owned by `self` or by
        // the memory the caller keeps; ranges were checked when the plan was made.
        unsafe {
            raw.begin_command_buffer(cmd, &info)
                .map_err(VkError::call("vkBeginCommandBuffer"))?;
            if let Some(t) = stamps {
                raw.cmd_reset_query_pool(cmd, t.pool, 0, t.count());
            }
            // Everything submitted before on this queue, and what the host wrote, comes first.
            barrier(raw, cmd);
            if let Some(t) = stamps {
                raw.cmd_write_timestamp(cmd, vk::PipelineStageFlags::BOTTOM_OF_PIPE, t.pool, 0);
            }
            let mut open: Vec<Touch> = Vec::new();
            for (index, (step, touches)) in (1u32..).zip(steps.iter().zip(accesses)) {
                if touches.iter().any(|t| open.iter().any(|o| o.conflicts(t))) {
                    barrier(raw, cmd);
                    barriers += 1;
                    open.clear();
                }
                open.extend_from_slice(touches);
                match step {
                    Step::Hold => {}
                    Step::Fill { buffer, place, value } => {
                        raw.cmd_fill_buffer(cmd, *buffer, place.offset, place.bytes, *value);
                    }
                    Step::Copy { from, to, bytes } => {
                        let region = [vk::BufferCopy {
                            src_offset: from.1 + u64::from(slot) * from.2,
                            dst_offset: to.1 + u64::from(slot) * to.2,
                            size: *bytes,
                        }];
                        raw.cmd_copy_buffer(cmd, from.0, to.0, &region);
                    }
                    Step::Dispatch {
                        pipeline,
                        set,
                        push,
                        groups,
                    } => {
                        raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::COMPUTE, pipeline.raw);
                        raw.cmd_bind_descriptor_sets(
                            cmd,
                            vk::PipelineBindPoint::COMPUTE,
                            pipeline.layout,
                            0,
                            &[*set],
                            &[],
                        );
                        if !push.is_empty() {
                            raw.cmd_push_constants(cmd, pipeline.layout, vk::ShaderStageFlags::COMPUTE, 0, push);
                        }
                        match groups {
                            Ok([x, y, z]) => raw.cmd_dispatch(cmd, *x, *y, *z),
                            Err((buffer, offset)) => raw.cmd_dispatch_indirect(cmd, *buffer, *offset),
                        }
                    }
                }
                if let Some(t) = stamps {
                    raw.cmd_write_timestamp(cmd, vk::PipelineStageFlags::BOTTOM_OF_PIPE, t.pool, index);
                }
            }
            let to_host = [vk::MemoryBarrier::default()
                .src_access_mask(vk::AccessFlags::TRANSFER_WRITE | vk::AccessFlags::SHADER_WRITE)
                .dst_access_mask(vk::AccessFlags::HOST_READ)];
            raw.cmd_pipeline_barrier(
                cmd,
                vk::PipelineStageFlags::TRANSFER | vk::PipelineStageFlags::COMPUTE_SHADER,
                vk::PipelineStageFlags::HOST,
                vk::DependencyFlags::empty(),
                &to_host,
                &[],
                &[],
            );
            raw.end_command_buffer(cmd)
                .map_err(VkError::call("vkEndCommandBuffer"))?;
        }
        Ok(barriers)
    }
}

impl Drop for CompiledProgram {
    fn drop(&mut self) {
        // SAFETY: waiting first makes the recordings free to destroy.
        unsafe {
            let raw = self.device.raw();
            let _ = raw.queue_wait_idle(self.device.queue());
            raw.destroy_command_pool(self.pool, None);
            raw.destroy_descriptor_pool(self.descriptors, None);
        }
    }
}

/// A byte range that a command touches.
#[derive(Clone, Copy, Debug)]
struct Touch {
    block: usize,
    start: u64,
    end: u64,
    write: bool,
}

impl Touch {
    fn new(place: Place, write: bool, slack: u64) -> Self {
        Self {
            block: place.block,
            start: place.offset,
            end: place.offset + place.bytes + slack,
            write,
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        (self.write || other.write) && self.block == other.block && self.start < other.end && other.start < self.end
    }
}

fn accesses(command: &Command, memory: &dyn Resolver, slots: u32) -> Vec<Touch> {
    let last = u64::from(slots.max(1) - 1);
    match command {
        Command::Hold(_) => Vec::new(),
        Command::Fill { view, .. } => vec![Touch::new(memory.place(view), true, 0)],
        Command::Copy {
            from,
            from_stride,
            to,
            to_stride,
        } => vec![
            Touch::new(memory.place(from), false, last * from_stride),
            Touch::new(memory.place(to), true, last * to_stride),
        ],
        Command::Dispatch(pass) => {
            let mut list: Vec<_> = pass
                .views
                .iter()
                .zip(pass.shader.bindings)
                .map(|(view, binding)| Touch::new(memory.place(view), binding.access != Access::Read, 0))
                .collect();
            if let Groups::Indirect(view) = &pass.groups {
                list.push(Touch::new(memory.place(view), false, 0));
            }
            list
        }
    }
}

/// One global barrier between all earlier and all later compute and transfer work.
unsafe fn barrier(raw: &ash::Device, cmd: vk::CommandBuffer) {
    let barriers = [vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(
            vk::AccessFlags::SHADER_READ
                | vk::AccessFlags::SHADER_WRITE
                | vk::AccessFlags::TRANSFER_READ
                | vk::AccessFlags::TRANSFER_WRITE
                | vk::AccessFlags::INDIRECT_COMMAND_READ,
        )];
    // SAFETY: `cmd` is being recorded on this device.
    unsafe {
        raw.cmd_pipeline_barrier(
            cmd,
            vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER,
            vk::PipelineStageFlags::COMPUTE_SHADER
                | vk::PipelineStageFlags::TRANSFER
                | vk::PipelineStageFlags::DRAW_INDIRECT,
            vk::DependencyFlags::empty(),
            &barriers,
            &[],
            &[],
        );
    }
}
