//! The command buffers of one ring slot: a program in one part or several, each a submission of its own.

use std::sync::Arc;

use ash::vk;

use super::cuts::Cuts;
use super::fence::Fence;
use super::program::Step;
use super::progress::Label;
use super::timestamps::Timestamps;
use super::{Device, Markers, Ticket, VkError};

/// What all recordings of a program have in common.
pub(super) struct Script {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    /// Name of every command.
    pub(super) passes: Vec<&'static str>,
    /// For each command, the barrier before it.
    pub(super) fences: Vec<Fence>,
    /// Where passes are marked: the word, and the number of this program in it.
    pub(super) marks: Option<(Arc<Markers>, u32)>,
}

impl Drop for Script {
    fn drop(&mut self) {
        if let Some((markers, serial)) = &self.marks {
            markers.forget(*serial);
        }
    }
}

/// One submission.
struct Part {
    buffer: vk::CommandBuffer,
    label: Arc<Label>,
}

/// The parts of one slot.
pub(super) struct Recording {
    device: Arc<Device>,
    pool: vk::CommandPool,
    parts: Vec<Part>,
    /// Two timestamps for each part; null where parts are not timed.
    part_times: vk::QueryPool,
    /// Which cuts these parts are of.
    pub(super) version: u32,
    /// Last submission.
    pub(super) last: Option<Ticket>,
    /// Submissions so far.
    pub(super) runs: u32,
}

impl Recording {
    /// Records `script` for ring slot `slot` in the parts of `cuts`, with command buffers of `pool`. With `times`, every
    /// command writes a timestamp; with `timed_parts`, every part two.
    pub(super) fn new(
        device: &Arc<Device>,
        pool: vk::CommandPool,
        script: &Script,
        (slot, times): (u32, Option<&Timestamps>),
        (cuts, version): (&Cuts, u32),
        timed_parts: bool,
    ) -> Result<Self, VkError> {
        let raw = device.raw();
        let ranges = cuts.parts();
        let mut recording = Self {
            device: device.clone(),
            pool,
            parts: Vec::with_capacity(ranges.len()),
            part_times: vk::QueryPool::null(),
            version,
            last: None,
            runs: 0,
        };
        let count = u32::try_from(ranges.len()).unwrap_or(u32::MAX);
        if timed_parts {
            let info = vk::QueryPoolCreateInfo::default()
                .query_type(vk::QueryType::TIMESTAMP)
                .query_count(2 * count);
            device.attempt("vkCreateQueryPool")?;
            // SAFETY: `info` lives through the call.
            recording.part_times =
                unsafe { raw.create_query_pool(&info, None) }.map_err(VkError::call("vkCreateQueryPool"))?;
        }
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(count);
        device.attempt("vkAllocateCommandBuffers")?;
        // SAFETY: `info` lives through the call.
        let buffers =
            unsafe { raw.allocate_command_buffers(&info) }.map_err(VkError::call("vkAllocateCommandBuffers"))?;
        let several = ranges.len() > 1;
        for (range, buffer) in ranges.iter().zip(&buffers) {
            let name = |at: usize| script.passes.get(at).copied().unwrap_or("nothing");
            let part = format!(
                "from `{}` to `{}`",
                name(range.start),
                name(range.end.saturating_sub(1))
            );
            recording.parts.push(Part {
                buffer: *buffer,
                label: Arc::new(Label {
                    program: script.name.clone(),
                    part: several.then_some(part),
                }),
            });
        }
        for (index, range) in (0u32..).zip(&ranges) {
            recording.record(script, slot, times, index, range.clone())?;
        }
        Ok(recording)
    }

    /// Command buffers and names of the parts, in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = (vk::CommandBuffer, &Arc<Label>)> {
        self.parts.iter().map(|part| (part.buffer, &part.label))
    }

    /// Milliseconds that each part took when it last ran; none when that is not known.
    pub(super) fn part_times_ms(&self) -> Option<Vec<f64>> {
        if self.part_times == vk::QueryPool::null() {
            return None;
        }
        let mut ticks = vec![0u64; 2 * self.parts.len()];
        // SAFETY: the pool has exactly this many queries; what is not written yet is an error and no wait.
        let read = unsafe {
            self.device
                .raw()
                .get_query_pool_results(self.part_times, 0, &mut ticks, vk::QueryResultFlags::TYPE_64)
        };
        read.ok()?;
        let period_ms = f64::from(self.device.caps().timestamp_period_ns) / 1e6;
        let pairs = ticks.chunks_exact(2);
        Some(
            pairs
                .map(|pair| pair[1].saturating_sub(pair[0]) as f64 * period_ms)
                .collect(),
        )
    }

    fn record(
        &self,
        script: &Script,
        slot: u32,
        times: Option<&Timestamps>,
        part: u32,
        range: std::ops::Range<usize>,
    ) -> Result<(), VkError> {
        let raw = self.device.raw();
        let cmd = self
            .parts
            .get(part as usize)
            .map_or_else(vk::CommandBuffer::null, |part| part.buffer);
        // A mark is a copy, which only the greater barrier waits for.
        let least = if script.marks.is_some() {
            Fence::All
        } else {
            Fence::Passes
        };
        let clock = (self.part_times != vk::QueryPool::null()).then_some(self.part_times);
        self.device.count_recording();
        // A short program may be submitted again before its last run has finished; the queue keeps them in order.
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        // SAFETY: the command buffer is freshly allocated; all handles used below are alive and owned by the script or by
        // the memory the caller keeps; ranges were checked when the plan was made.
        unsafe {
            raw.begin_command_buffer(cmd, &info)
                .map_err(VkError::call("vkBeginCommandBuffer"))?;
            if let Some(pool) = clock {
                raw.cmd_reset_query_pool(cmd, pool, 2 * part, 2);
            }
            if let Some(t) = times.filter(|_| range.start == 0) {
                raw.cmd_reset_query_pool(cmd, t.pool, 0, t.count());
            }
            // Everything submitted before on this queue, and what the host wrote, comes first.
            barrier(raw, cmd, Fence::All);
            if let Some(pool) = clock {
                raw.cmd_write_timestamp(cmd, vk::PipelineStageFlags::BOTTOM_OF_PIPE, pool, 2 * part);
            }
            if let Some(t) = times.filter(|_| range.start == 0) {
                raw.cmd_write_timestamp(cmd, vk::PipelineStageFlags::BOTTOM_OF_PIPE, t.pool, 0);
            }
            let fenced = script.steps.iter().zip(&script.fences).enumerate();
            for (at, (step, fence)) in fenced.skip(range.start).take(range.len()) {
                let first = at == range.start;
                if *fence != Fence::None && !first {
                    barrier(raw, cmd, least.max(*fence));
                }
                if let Some((markers, serial)) = script.marks.as_ref().filter(|_| *fence != Fence::None || first) {
                    markers.record(raw, cmd, *serial, at);
                }
                step.record(raw, cmd, slot);
                if let Some(t) = times {
                    let query = u32::try_from(at + 1).unwrap_or(u32::MAX);
                    raw.cmd_write_timestamp(cmd, vk::PipelineStageFlags::BOTTOM_OF_PIPE, t.pool, query);
                }
            }
            if let Some(pool) = clock {
                raw.cmd_write_timestamp(cmd, vk::PipelineStageFlags::BOTTOM_OF_PIPE, pool, 2 * part + 1);
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
        Ok(())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let buffers: Vec<_> = self.parts.iter().map(|part| part.buffer).collect();
        // SAFETY: the owner has seen the last submission finish, or waits for the device; the pool outlives its buffers,
        // and null handles are allowed.
        unsafe {
            if !buffers.is_empty() {
                self.device.raw().free_command_buffers(self.pool, &buffers);
            }
            self.device.raw().destroy_query_pool(self.part_times, None);
        }
    }
}

/// One global barrier between earlier and later work: of passes alone, or of copies and group counts as well.
unsafe fn barrier(raw: &ash::Device, cmd: vk::CommandBuffer, fence: Fence) {
    let (mut before, mut after) = (
        vk::PipelineStageFlags::COMPUTE_SHADER,
        vk::PipelineStageFlags::COMPUTE_SHADER,
    );
    let mut written = vk::AccessFlags::SHADER_WRITE;
    let mut used = vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE;
    if fence == Fence::All {
        before |= vk::PipelineStageFlags::TRANSFER;
        after |= vk::PipelineStageFlags::TRANSFER | vk::PipelineStageFlags::DRAW_INDIRECT;
        written |= vk::AccessFlags::TRANSFER_WRITE;
        used |=
            vk::AccessFlags::TRANSFER_READ | vk::AccessFlags::TRANSFER_WRITE | vk::AccessFlags::INDIRECT_COMMAND_READ;
    }
    let barriers = [vk::MemoryBarrier::default()
        .src_access_mask(written)
        .dst_access_mask(used)];
    // SAFETY: `cmd` is being recorded on this device.
    unsafe {
        raw.cmd_pipeline_barrier(cmd, before, after, vk::DependencyFlags::empty(), &barriers, &[], &[]);
    }
}
