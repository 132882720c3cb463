//! A device with its queue and committed memory: what the stages of a run share.

use std::sync::Arc;

use super::{GuardBands, Layout, Memory, MemoryError, Plan, PlanLimits};
use crate::vk::{CompiledProgram, Device, Queue, RecordOptions, Ticket};
use kiln_program::{Class, Program, Span, Tag, TensorTable};

/// Bytes of the transfer window used outside the step (loading, saving, tests).
pub const TRANSFER_BYTES: u64 = 8 << 20;

/// Blocks are kept at or below 1 GiB: operating systems place larger ones badly.
const BLOCK_BYTES: u64 = 1 << 30;

/// A device ready to run programs.
pub struct Gpu {
    // Field order is drop order: programs and queue before memory, memory before the device.
    queue: Queue,
    memory: Memory,
    upload: Span,
    readback: Span,
    /// Bytes that no pass may write; empty unless `diagnose.guard_bands` is set.
    guards: GuardBands,
    device: Arc<Device>,
}

impl Gpu {
    /// Plans and commits `table` for `programs` under `cap_bytes`.
    ///
    /// # Errors
    /// See [`Plan::new`] and [`Memory::commit`].
    pub fn new(
        device: &Arc<Device>,
        table: TensorTable,
        programs: &[&Program],
        cap_bytes: u64,
    ) -> Result<Self, MemoryError> {
        Self::with_layout(device, table, programs, cap_bytes, Layout::default())
    }

    /// [`Gpu::new`] with tensors laid out for a diagnosis.
    ///
    /// # Errors
    /// See [`Gpu::new`].
    pub fn with_layout(
        device: &Arc<Device>,
        mut table: TensorTable,
        programs: &[&Program],
        cap_bytes: u64,
        layout: Layout,
    ) -> Result<Self, MemoryError> {
        let (upload, readback) = Self::add_transfer(&mut table);
        let plan = Plan::with_layout(&table, programs, Self::limits(device), layout)?;
        let memory = Memory::commit(device, table, plan, cap_bytes)?;
        let mut gpu = Self {
            queue: Queue::new(device)?,
            memory,
            upload,
            readback,
            guards: GuardBands::default(),
            device: device.clone(),
        };
        gpu.touch()?;
        if layout == Layout::Guarded {
            gpu.guards = GuardBands::of(&gpu.memory);
            gpu.run(&gpu.guards.fill())?;
        }
        Ok(gpu)
    }

    /// Writes every byte of device memory once: drivers that only promise memory have to find it now. Each block has a submission of
    /// its own, which is short.
    fn touch(&mut self) -> Result<(), MemoryError> {
        for index in 0..self.memory.plan().blocks.len() {
            let is_on_device = self.memory.plan().blocks[index].class.is_on_device();
            if let Some(view) = self.memory.block_view(index).filter(|_| is_on_device) {
                let mut program = Program::new("touch");
                program.fill(view, 0);
                self.run(&program)?;
            }
        }
        Ok(())
    }

    /// The bytes that no pass may write; none unless `diagnose.guard_bands` is set.
    #[must_use]
    pub fn guards(&self) -> &GuardBands {
        &self.guards
    }

    /// The windows for transfers to and from the device, free to use while nothing is in flight.
    #[must_use]
    pub fn transfer_windows(&self) -> (Span, Span) {
        (self.upload, self.readback)
    }

    /// Adds the transfer windows that [`Gpu::new`] adds, for callers that plan without committing.
    pub fn add_transfer(table: &mut TensorTable) -> (Span, Span) {
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

    /// Compiles a program whose tensors were planned.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub fn compile(&self, program: &Program, options: RecordOptions) -> Result<CompiledProgram, MemoryError> {
        Ok(CompiledProgram::new(
            &self.device,
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
        Ok(program.submit(&mut self.queue, slot)?)
    }

    /// Compiles, runs and waits for `program`: for loading, saving, evaluation and tests.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub fn run(&mut self, program: &Program) -> Result<(), MemoryError> {
        let once = RecordOptions {
            once: true,
            ..RecordOptions::default()
        };
        let compiled = self.compile(program, once)?;
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
    pub fn upload(&mut self, view: &Span, bytes: &[u8]) -> Result<(), MemoryError> {
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
    pub fn download(&mut self, view: &Span) -> Result<Vec<u8>, MemoryError> {
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

    /// Writes `parts`, which `fill` puts behind each other, with one submission.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when they take more than [`TRANSFER_BYTES`] together; [`MemoryError::Vulkan`].
    pub fn upload_parts(&mut self, parts: &[Span], fill: impl FnOnce(&mut [u8])) -> Result<(), MemoryError> {
        let window = self.upload.slice(0, parts.iter().map(|part| part.bytes).sum());
        fill(self.memory.host_mut(&window)?);
        let mut program = Program::new("upload of parts");
        let mut at = 0;
        for part in parts {
            program.copy(window.slice(at, part.bytes), *part);
            at += part.bytes;
        }
        self.run(&program)
    }

    /// Copies `parts` to the host with one submission and gives `take` all of them, behind each other.
    ///
    /// # Errors
    /// See [`Gpu::upload_parts`].
    pub fn download_parts(&mut self, parts: &[Span], take: impl FnOnce(&[u8])) -> Result<(), MemoryError> {
        let window = self.readback.slice(0, parts.iter().map(|part| part.bytes).sum());
        let mut program = Program::new("download of parts");
        let mut at = 0;
        for part in parts {
            program.copy(*part, window.slice(at, part.bytes));
            at += part.bytes;
        }
        self.run(&program)?;
        take(self.memory.host(&window)?);
        Ok(())
    }

    /// [`Gpu::upload`] for plain values.
    ///
    /// # Errors
    /// See [`Gpu::upload`].
    pub fn write<T: bytemuck::NoUninit>(&mut self, view: &Span, values: &[T]) -> Result<(), MemoryError> {
        self.upload(view, bytemuck::cast_slice(values))
    }

    /// [`Gpu::download`] for plain values; the first `count` of them.
    ///
    /// # Errors
    /// See [`Gpu::download`].
    pub fn read<T: bytemuck::AnyBitPattern>(&mut self, view: &Span, count: usize) -> Result<Vec<T>, MemoryError> {
        let wanted = (count * size_of::<T>()) as u64;
        let bytes = self.download(&view.slice(0, wanted.next_multiple_of(4).min(view.bytes)))?;
        Ok(bytes
            .chunks_exact(size_of::<T>())
            .take(count)
            .map(bytemuck::pod_read_unaligned)
            .collect())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::vk::{VkError, simulated};

    const BYTES: u64 = 3 << 20;

    fn gpu(device: &Arc<Device>) -> Result<(Gpu, Span), MemoryError> {
        let mut table = TensorTable::default();
        let tensor = table.add("tensor", Class::Persistent, Tag::Other, BYTES);
        Ok((Gpu::new(device, table, &[], 1 << 30)?, tensor))
    }

    #[test]
    fn what_is_large_is_not_filled_by_a_command_that_some_drivers_copy() {
        let device = simulated::device().unwrap();
        let (mut gpu, tensor) = gpu(&device).unwrap();
        let mut program = Program::new("fills");
        program.fill(tensor, 7);
        program.fill(tensor.slice(0, 4096), 8);
        gpu.run(&program).unwrap();
        let words = gpu.read::<u32>(&tensor, (BYTES / 4) as usize).unwrap();
        assert!(words.iter().take(1024).all(|word| *word == 8) && words.iter().skip(1024).all(|word| *word == 7));
        let largest = simulated::largest_fill();
        assert!((4096..64 << 10).contains(&largest), "{largest} bytes");
    }

    #[test]
    fn a_refused_shader_is_named_and_is_no_lack_of_memory() {
        let device = simulated::device().unwrap();
        simulated::refuse_shaders(true);
        let error = gpu(&device).err();
        simulated::refuse_shaders(false);
        match error {
            Some(MemoryError::Vulkan(VkError::Pipeline {
                shader: "fill", driver, ..
            })) => {
                assert_eq!(driver, device.caps().driver);
            }
            other => panic!("{other:?}"),
        }
        assert!(gpu(&device).is_ok(), "the next time it takes them");
    }

    #[test]
    fn a_timeline_of_all_ones_is_a_lost_device() {
        let device = simulated::device().unwrap();
        let (mut gpu, tensor) = gpu(&device).unwrap();
        let mut program = Program::new("fill");
        program.fill(tensor, 1);
        let compiled = gpu.compile(&program, RecordOptions::default()).unwrap();
        let ticket = gpu.submit(&compiled, 0).unwrap();
        simulated::lose(true);
        let asked = gpu.queue().is_done(ticket);
        simulated::lose(false);
        assert!(matches!(asked, Err(VkError::Lost { .. })), "{asked:?}");
        gpu.queue().wait(ticket, "a fill").unwrap();
        assert_eq!(gpu.queue().is_done(ticket).ok(), Some(true));
    }
}
