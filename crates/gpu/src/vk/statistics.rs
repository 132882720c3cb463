//! What a driver's compiler says about a pipeline: registers, shared memory, spills, occupancy.

use ash::vk;

use super::{Device, Pipeline, VkError};

/// A number of the driver's compiler.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Statistic {
    /// The driver's name for it.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Pipeline {
    /// What the driver reports about this pipeline; nothing where it has no such extension, or the pipeline was made before
    /// [`Device::keep_statistics`].
    ///
    /// # Errors
    /// [`VkError::Call`] when the driver fails at it.
    pub fn statistics(&self, device: &Device) -> Result<Vec<Statistic>, VkError> {
        let Some(calls) = device.statistics_calls().filter(|_| device.keeps_statistics()) else {
            return Ok(Vec::new());
        };
        let info = vk::PipelineInfoKHR::default().pipeline(self.raw);
        // SAFETY: the pipeline is alive and was made with the flag that this call needs.
        let parts = unsafe { calls.get_pipeline_executable_properties(&info) }
            .map_err(VkError::call("vkGetPipelineExecutablePropertiesKHR"))?;
        let mut all = Vec::new();
        for index in (0u32..).take(parts.len()) {
            let info = vk::PipelineExecutableInfoKHR::default()
                .pipeline(self.raw)
                .executable_index(index);
            // SAFETY: as above, and the index is one of those that were counted.
            let list = unsafe { calls.get_pipeline_executable_statistics(&info) }
                .map_err(VkError::call("vkGetPipelineExecutableStatisticsKHR"))?;
            all.extend(list.iter().map(statistic));
        }
        Ok(all)
    }
}

fn statistic(found: &vk::PipelineExecutableStatisticKHR<'_>) -> Statistic {
    let name = found.name_as_c_str().map(|name| name.to_string_lossy().into_owned());
    // SAFETY: the format names the member that the driver has written.
    let value = unsafe {
        match found.format {
            vk::PipelineExecutableStatisticFormatKHR::BOOL32 => (found.value.b32 != 0).to_string(),
            vk::PipelineExecutableStatisticFormatKHR::INT64 => found.value.i64.to_string(),
            vk::PipelineExecutableStatisticFormatKHR::FLOAT64 => found.value.f64.to_string(),
            _ => found.value.u64.to_string(),
        }
    };
    Statistic {
        name: name.unwrap_or_default(),
        value,
    }
}
