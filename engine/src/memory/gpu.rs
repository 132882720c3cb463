//! A device with its queue, pipelines and committed memory: what the stages of a run share.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::backend::BackendChoice;
use super::{GuardBands, Memory, MemoryError, PlanLimits};
use crate::program::{Class, Program, Tag, TensorId, TensorTable, View};
use crate::vk::{Block, CompiledProgram, Device, PipelineCache, Place, Queue, RecordOptions, Resolver, Ticket};

/// Bytes of the transfer window used outside the step (loading, saving, tests).
const TRANSFER_BYTES: u64 = 8 << 20;

/// Blocks are kept at or below 1 GiB: operating systems place larger ones badly.
const BLOCK_BYTES: u64 = 1 << 30;

/// How a tensor that grows is copied: each row from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCopy {
    /// Rows, as many before as after.
    pub rows: u64,
    /// Bytes of a row before.
    pub old_bytes: u64,
    /// Bytes of a row after.
    pub new_bytes: u64,
}

/// Two blocks that a program may name as tensors 0 and 1.
struct Pair<'a>(&'a Block, &'a Block);

impl Resolver for Pair<'_> {
    fn place(&self, view: &View) -> Place {
        Place {
            block: view.tensor.index(),
            offset: view.offset,
            bytes: view.bytes,
        }
    }

    fn block(&self, index: usize) -> &Block {
        if index == 0 { self.0 } else { self.1 }
    }
}

/// Clears tensor 1 of `bytes` and copies the rows of tensor 0 into it.
fn row_copy(rows: Option<&RowCopy>, bytes: u64) -> Program {
    let view = |position, offset, bytes| View {
        tensor: TensorId::at(position),
        offset,
        bytes,
    };
    let mut program = Program::new("grow");
    program.fill(view(1, 0, bytes), 0);
    if let Some(copy) = rows {
        let kept = copy.old_bytes.min(copy.new_bytes);
        for row in 0..copy.rows {
            program.copy(view(0, row * copy.old_bytes, kept), view(1, row * copy.new_bytes, kept));
        }
    }
    program
}

/// A device ready to run programs.
pub struct Gpu {
    // Field order is drop order: programs and queue before memory, memory before the device.
    queue: Queue,
    pipelines: PipelineCache,
    memory: Memory,
    upload: View,
    readback: View,
    /// Bytes that nobody may write; empty unless they were asked for.
    guards: GuardBands,
    /// Names of submitted programs, while they are recorded.
    submissions: Option<Vec<String>>,
    device: Arc<Device>,
}

impl Gpu {
    /// Plans and commits `table` for `programs` under `cap_bytes`.
    ///
    /// # Errors
    /// See [`Memory::commit`].
    pub fn new(
        device: &Arc<Device>,
        table: TensorTable,
        programs: &[&Program],
        cap_bytes: u64,
    ) -> Result<Self, MemoryError> {
        Self::with_backend(device, table, programs, cap_bytes, BackendChoice::default())
    }

    /// [`Gpu::new`] with an allocator of choice.
    ///
    /// # Errors
    /// See [`Memory::commit`].
    pub fn with_backend(
        device: &Arc<Device>,
        mut table: TensorTable,
        programs: &[&Program],
        cap_bytes: u64,
        backend: BackendChoice,
    ) -> Result<Self, MemoryError> {
        let (upload, readback) = Self::add_transfer(&mut table);
        let plan = backend.place(&table, programs, Self::limits(device))?;
        let memory = Memory::commit(device, table, plan, cap_bytes, backend)?;
        let mut gpu = Self {
            queue: Queue::new(device)?,
            pipelines: PipelineCache::default(),
            memory,
            upload,
            readback,
            guards: GuardBands::default(),
            submissions: None,
            device: device.clone(),
        };
        gpu.touch()?;
        if backend.guard_bands {
            gpu.guards = GuardBands::of(&gpu.memory);
            gpu.run(&gpu.guards.fill())?;
        }
        Ok(gpu)
    }

    /// Writes every byte of device memory once: drivers that only promise memory have to find it now.
    fn touch(&mut self) -> Result<(), MemoryError> {
        let mut program = Program::new("touch");
        for (index, block) in self.memory.plan().blocks.iter().enumerate() {
            if let Some(view) = self.memory.block_view(index).filter(|_| block.class.is_on_device()) {
                program.fill(view, 0);
            }
        }
        self.run(&program)
    }

    /// The bytes that nobody may write; none unless they were asked for.
    #[must_use]
    pub fn guards(&self) -> &GuardBands {
        &self.guards
    }

    /// The windows for transfers to and from the device, free to use while nothing is in flight.
    #[must_use]
    pub fn transfer_windows(&self) -> (View, View) {
        (self.upload, self.readback)
    }

    /// Goes over to larger tensors where the allocator has a driver block for each: those whose size stays keep their
    /// bytes, and `rows` tells by name how the others are filled. Nothing may be in flight, and programs compiled before
    /// are void.
    ///
    /// # Errors
    /// [`MemoryError::OverBudget`] above `cap_bytes`, [`MemoryError::Vulkan`]; the model is lost then.
    pub fn grow(
        &mut self,
        mut table: TensorTable,
        programs: &[&Program],
        cap_bytes: u64,
        rows: &BTreeMap<String, RowCopy>,
    ) -> Result<(), MemoryError> {
        let (upload, readback) = Self::add_transfer(&mut table);
        let plan = self
            .memory
            .backend()
            .place(&table, programs, Self::limits(&self.device))?;
        let (device, pipelines, queue) = (&self.device, &self.pipelines, &mut self.queue);
        let mut copy = |name: &str, old: Option<&Block>, new: &Block| -> Result<(), MemoryError> {
            let pair = Pair(old.unwrap_or(new), new);
            let program = row_copy(rows.get(name).filter(|_| old.is_some()), new.bytes());
            let compiled = CompiledProgram::new(device, pipelines, &pair, &program, RecordOptions::default(), None)?;
            let ticket = compiled.submit(queue, 0)?;
            Ok(queue.wait(ticket, "growing")?)
        };
        self.memory.grow(device, (table, plan), cap_bytes, &mut copy)?;
        (self.upload, self.readback) = (upload, readback);
        Ok(())
    }

    /// Adds the transfer windows that [`Gpu::new`] adds, for callers that plan without committing.
    pub fn add_transfer(table: &mut TensorTable) -> (View, View) {
        (
            table.add("staging/upload", Class::Upload, Tag::Staging, TRANSFER_BYTES),
            table.add("staging/readback", Class::Readback, Tag::Staging, TRANSFER_BYTES),
        )
    }

    /// Plan limits of `device`.
    #[must_use]
    pub fn limits(device: &Device) -> PlanLimits {
        let caps = device.caps();
        PlanLimits {
            block_bytes: BLOCK_BYTES.min(caps.max_allocation_bytes),
            binding_bytes: caps.max_binding_bytes,
            rounding: device.block_rounding(),
        }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The committed memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The committed memory, for writing host-visible rings.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The queue.
    pub fn queue_mut(&mut self) -> &mut Queue {
        &mut self.queue
    }

    /// The queue, for asking and waiting.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// From now on keeps the names of submitted programs.
    pub fn record_submissions(&mut self) {
        self.submissions = Some(Vec::new());
    }

    /// Names of the programs submitted since the last call, oldest first.
    pub fn take_submissions(&mut self) -> Vec<String> {
        self.submissions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Compiles a program whose tensors were planned.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub fn compile(&self, program: &Program, options: RecordOptions) -> Result<CompiledProgram, MemoryError> {
        Ok(CompiledProgram::new(
            &self.device,
            &self.pipelines,
            &self.memory,
            program,
            options,
            self.queue.progress().markers(),
        )?)
    }

    /// Submits slot `slot` of a compiled program.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub fn submit(&mut self, program: &CompiledProgram, slot: u32) -> Result<Ticket, MemoryError> {
        if let Some(names) = &mut self.submissions {
            names.push(program.name().to_owned());
        }
        Ok(program.submit(&mut self.queue, slot)?)
    }

    /// Compiles, runs and waits for `program`: for loading, saving, evaluation and tests.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub fn run(&mut self, program: &Program) -> Result<(), MemoryError> {
        let compiled = self.compile(program, RecordOptions::default())?;
        self.run_compiled(&compiled)
    }

    /// Runs and waits for slot 0 of a compiled program.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub fn run_compiled(&mut self, compiled: &CompiledProgram) -> Result<(), MemoryError> {
        let ticket = self.submit(compiled, 0)?;
        Ok(self.queue.wait(ticket, "a single program")?)
    }

    /// Copies `bytes` into `view` through the transfer window, waiting for the device.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when `bytes` is longer than the view.
    pub fn upload(&mut self, view: &View, bytes: &[u8]) -> Result<(), MemoryError> {
        let window = usize::try_from(TRANSFER_BYTES).unwrap_or(usize::MAX);
        if bytes.len() as u64 > view.bytes {
            return Err(MemoryError::OutOfRange {
                tensor: self
                    .memory
                    .table()
                    .get(view.tensor)
                    .map_or_else(String::new, |t| t.name.clone()),
                offset: view.offset,
                bytes: bytes.len() as u64,
            });
        }
        let mut at = 0u64;
        for part in bytes.chunks(window) {
            let len = part.len() as u64;
            let padded = len.next_multiple_of(4).min(view.bytes - at);
            let from = self.upload.slice(0, padded);
            let host = self.memory.host_mut(&from)?;
            if let Some(target) = host.get_mut(..part.len()) {
                target.copy_from_slice(part);
            }
            let mut program = Program::new("upload");
            program.copy(from, view.slice(at, padded));
            self.run(&program)?;
            at += len;
        }
        Ok(())
    }

    /// Copies `view` to the host through the transfer window, waiting for the device.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub fn download(&mut self, view: &View) -> Result<Vec<u8>, MemoryError> {
        let mut bytes = Vec::with_capacity(usize::try_from(view.bytes).unwrap_or(0));
        let mut at = 0u64;
        while at < view.bytes {
            let len = TRANSFER_BYTES.min(view.bytes - at);
            let to = self.readback.slice(0, len);
            let mut program = Program::new("download");
            program.copy(view.slice(at, len), to);
            self.run(&program)?;
            bytes.extend_from_slice(self.memory.host(&to)?);
            at += len;
        }
        Ok(bytes)
    }

    /// [`Gpu::upload`] for plain values.
    ///
    /// # Errors
    /// See [`Gpu::upload`].
    pub fn write<T: bytemuck::NoUninit>(&mut self, view: &View, values: &[T]) -> Result<(), MemoryError> {
        self.upload(view, bytemuck::cast_slice(values))
    }

    /// [`Gpu::download`] for plain values; the first `count` of them.
    ///
    /// # Errors
    /// See [`Gpu::download`].
    pub fn read<T: bytemuck::AnyBitPattern>(&mut self, view: &View, count: usize) -> Result<Vec<T>, MemoryError> {
        let wanted = (count * size_of::<T>()) as u64;
        let bytes = self.download(&view.slice(0, wanted.next_multiple_of(4).min(view.bytes)))?;
        Ok(bytes
            .chunks_exact(size_of::<T>())
            .take(count)
            .map(bytemuck::pod_read_unaligned)
            .collect())
    }
}
