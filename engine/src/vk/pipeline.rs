//! Compute pipelines, cached by shader and specialisation.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

use super::{Device, DeviceKind, VkError};
use crate::program::Shader;

const ENTRY: &CStr = c"main";
/// Specialisation constant of every shader that declares it: 1 on CPU drivers, which compute the lanes of a subgroup side by
/// side, 0 elsewhere.
pub const LOCKSTEP: u32 = 31;

/// What makes two pipelines the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PipelineKey {
    /// Shader name with its variant suffix.
    pub shader: &'static str,
    /// Specialisation constants 0, 1, 2, ...
    pub spec: Vec<u32>,
}

/// A compute pipeline with its layouts.
pub struct Pipeline {
    device: Arc<Device>,
    pub(super) raw: vk::Pipeline,
    pub(super) layout: vk::PipelineLayout,
    pub(super) set_layout: vk::DescriptorSetLayout,
}

impl Pipeline {
    fn new(device: &Arc<Device>, shader: &Shader, spec: &[u32], push_bytes: u32) -> Result<Self, VkError> {
        let raw = device.raw();
        let mut pipeline = Self {
            device: device.clone(),
            raw: vk::Pipeline::null(),
            layout: vk::PipelineLayout::null(),
            set_layout: vk::DescriptorSetLayout::null(),
        };
        let bindings: Vec<_> = (0u32..)
            .zip(shader.bindings)
            .map(|(index, _)| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(index)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        device.attempt("vkCreateDescriptorSetLayout")?;
        // SAFETY: `info` lives through the call.
        pipeline.set_layout = unsafe { raw.create_descriptor_set_layout(&info, None) }
            .map_err(VkError::call("vkCreateDescriptorSetLayout"))?;
        let set_layouts = [pipeline.set_layout];
        let ranges = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(push_bytes)];
        let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
        if push_bytes > 0 {
            info = info.push_constant_ranges(&ranges);
        }
        device.attempt("vkCreatePipelineLayout")?;
        // SAFETY: `info` lives through the call.
        pipeline.layout =
            unsafe { raw.create_pipeline_layout(&info, None) }.map_err(VkError::call("vkCreatePipelineLayout"))?;
        let code = ash::util::read_spv(&mut std::io::Cursor::new(shader.spirv)).map_err(|e| VkError::Unsupported {
            device: shader.name.to_owned(),
            what: format!("valid SPIR-V: {e}"),
        })?;
        let info = vk::ShaderModuleCreateInfo::default().code(&code);
        device.attempt("vkCreateShaderModule")?;
        // SAFETY: `code` is a whole SPIR-V module; the repository's tests validate every one.
        let module = unsafe { raw.create_shader_module(&info, None) }.map_err(VkError::call("vkCreateShaderModule"))?;
        let lockstep = u32::from(device.caps().kind == DeviceKind::Cpu);
        let values = [spec, &[lockstep]].concat();
        let ids = (0..LOCKSTEP).take(spec.len()).chain([LOCKSTEP]);
        let entries: Vec<_> = (0u32..)
            .zip(ids)
            .map(|(place, id)| vk::SpecializationMapEntry {
                constant_id: id,
                offset: place * 4,
                size: 4,
            })
            .collect();
        let specialization = vk::SpecializationInfo::default()
            .map_entries(&entries)
            .data(bytemuck::cast_slice(&values));
        let mut size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
            .required_subgroup_size(device.caps().subgroup_size);
        let mut stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(ENTRY)
            .specialization_info(&specialization);
        if device.caps().pins_subgroups {
            stage = stage.push_next(&mut size);
        }
        let flags = if device.keeps_statistics() {
            vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
        } else {
            vk::PipelineCreateFlags::empty()
        };
        let infos = [vk::ComputePipelineCreateInfo::default()
            .flags(flags)
            .stage(stage)
            .layout(pipeline.layout)];
        let attempted = device.attempt("vkCreateComputePipelines");
        // SAFETY: module, layout and specialisation data live through the call.
        let made = attempted.map(|()| unsafe { raw.create_compute_pipelines(vk::PipelineCache::null(), &infos, None) });
        // SAFETY: the module is no longer needed once the pipeline is made.
        unsafe { raw.destroy_shader_module(module, None) };
        pipeline.raw = match made? {
            Ok(list) => list.first().copied().unwrap_or_default(),
            Err((_, result)) => return Err(VkError::call("vkCreateComputePipelines")(result)),
        };
        Ok(pipeline)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: compiled programs hold an `Arc` to their pipelines and wait for the device before dropping.
        unsafe {
            self.device.raw().destroy_pipeline(self.raw, None);
            self.device.raw().destroy_pipeline_layout(self.layout, None);
            self.device.raw().destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}

/// All pipelines made so far.
#[derive(Default)]
pub struct PipelineCache {
    made: Mutex<BTreeMap<PipelineKey, Arc<Pipeline>>>,
}

impl PipelineCache {
    /// The pipeline of `shader` with `spec`, made on first use.
    ///
    /// # Errors
    /// [`VkError::Call`] when the driver's compiler refuses the shader.
    pub fn get(
        &self,
        device: &Arc<Device>,
        shader: &Shader,
        spec: &[u32],
        push: u32,
    ) -> Result<Arc<Pipeline>, VkError> {
        let key = PipelineKey {
            shader: shader.name,
            spec: spec.to_vec(),
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = made.get(&key) {
            return Ok(pipeline.clone());
        }
        let pipeline = Arc::new(Pipeline::new(device, shader, spec, push)?);
        made.insert(key, pipeline.clone());
        Ok(pipeline)
    }
}
