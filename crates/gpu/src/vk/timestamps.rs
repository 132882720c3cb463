//! GPU time of each pass, from a query pool read late.

use std::sync::Arc;

use ash::vk;

use super::{Device, VkError};

/// Time one pass took on the device.
#[derive(Clone, Debug, PartialEq)]
pub struct PassTime {
    /// Pass name, without its chunk index.
    pub pass: &'static str,
    /// Nanoseconds between the end of the previous command and the end of this one.
    pub ns: f64,
}

/// A query pool with one timestamp before the first and one after every command.
pub(super) struct Timestamps {
    device: Arc<Device>,
    pub(super) pool: vk::QueryPool,
    names: Vec<&'static str>,
}

impl Timestamps {
    pub(super) fn new(device: &Arc<Device>, names: Vec<&'static str>) -> Result<Self, VkError> {
        let count = u32::try_from(names.len() + 1).unwrap_or(u32::MAX);
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TIMESTAMP)
            .query_count(count);
        device.attempt("vkCreateQueryPool")?;
        // SAFETY: `info` lives through the call.
        let pool =
            unsafe { device.raw().create_query_pool(&info, None) }.map_err(VkError::call("vkCreateQueryPool"))?;
        Ok(Self {
            device: device.clone(),
            pool,
            names,
        })
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.names.len() + 1).unwrap_or(u32::MAX)
    }

    /// Reads the times of the last finished recording.
    pub(super) fn read(&self) -> Result<Vec<PassTime>, VkError> {
        let mut ticks = vec![0u64; self.names.len() + 1];
        // SAFETY: the pool holds exactly this many queries and the recording has finished (the caller waited).
        unsafe {
            self.device.raw().get_query_pool_results(
                self.pool,
                0,
                &mut ticks,
                vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT,
            )
        }
        .map_err(VkError::call("vkGetQueryPoolResults"))?;
        let period = f64::from(self.device.caps().timestamp_period_ns);
        Ok(self
            .names
            .iter()
            .zip(ticks.windows(2))
            .map(|(name, pair)| PassTime {
                pass: name,
                ns: pair[1].saturating_sub(pair[0]) as f64 * period,
            })
            .collect())
    }
}

impl Drop for Timestamps {
    fn drop(&mut self) {
        // SAFETY: the owning program waits for the device first.
        unsafe { self.device.raw().destroy_query_pool(self.pool, None) };
    }
}
