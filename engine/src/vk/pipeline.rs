//! Compute pipelines, made once for each device, shader and specialisation.
//!
//! Promises: programs that are compiled later on the same device (another stage of a run, an evaluation) find the pipelines of
//! those before them. Pipelines are destroyed with their device, or by [`Device::forget_pipelines`] when nothing uses them.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;

use super::{Device, DeviceKind, VkError};
use crate::program::Shader;

const ENTRY: &CStr = c"main";
/// Specialisation constant of every shader that declares it: 1 on CPU drivers, which compute the lanes of a subgroup side by
/// side, 0 elsewhere.
pub const LOCKSTEP: u32 = 31;

/// What makes two pipelines of a device the same.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PipelineKey {
    /// Shader name with its variant suffix.
    shader: &'static str,
    /// Specialisation constants 0, 1, 2, ...
    spec: Vec<u32>,
}

/// A compute pipeline with its layouts. Whoever uses it keeps its device alive.
pub struct Pipeline {
    pub(super) raw: vk::Pipeline,
    pub(super) layout: vk::PipelineLayout,
    pub(super) set_layout: vk::DescriptorSetLayout,
}

impl Pipeline {
    fn new(device: &Device, shader: &Shader, spec: &[u32], push_bytes: u32) -> Result<Self, VkError> {
        let mut pipeline = Self {
            raw: vk::Pipeline::null(),
            layout: vk::PipelineLayout::null(),
            set_layout: vk::DescriptorSetLayout::null(),
        };
        let made = pipeline.make(device, shader, spec, push_bytes);
        if made.is_err() {
            // SAFETY: nobody has seen it.
            unsafe { pipeline.destroy(device.raw()) };
        }
        made.map(|()| pipeline)
    }

    fn make(&mut self, device: &Device, shader: &Shader, spec: &[u32], push_bytes: u32) -> Result<(), VkError> {
        self.set_layout = set_layout(device, shader)?;
        self.layout = layout(device, self.set_layout, push_bytes)?;
        let module = module(device, shader)?;
        let made = compiled(device, self.layout, module, spec);
        // SAFETY: the module is no longer needed once the pipeline is made.
        unsafe { device.raw().destroy_shader_module(module, None) };
        self.raw = match made? {
            Ok(list) => list.first().copied().unwrap_or_default(),
            // Some drivers answer a shader that they cannot translate with `OUT_OF_HOST_MEMORY`.
            Err((_, result)) if result != vk::Result::ERROR_DEVICE_LOST => {
                return Err(VkError::Pipeline {
                    shader: shader.name,
                    driver: device.caps().driver.clone(),
                    result,
                });
            }
            Err((_, result)) => return Err(VkError::call("vkCreateComputePipelines")(result)),
        };
        Ok(())
    }

    /// # Safety
    /// `raw` is the device that made it, and no recording that may still run uses it.
    unsafe fn destroy(&self, raw: &ash::Device) {
        // SAFETY: as above; what was not made is null, which Vulkan ignores.
        unsafe {
            raw.destroy_pipeline(self.raw, None);
            raw.destroy_pipeline_layout(self.layout, None);
            raw.destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}

/// The set of storage buffers that a shader binds.
fn set_layout(device: &Device, shader: &Shader) -> Result<vk::DescriptorSetLayout, VkError> {
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
    unsafe { device.raw().create_descriptor_set_layout(&info, None) }
        .map_err(VkError::call("vkCreateDescriptorSetLayout"))
}

/// One set, and push constants where there are any.
fn layout(
    device: &Device,
    set_layout: vk::DescriptorSetLayout,
    push_bytes: u32,
) -> Result<vk::PipelineLayout, VkError> {
    let set_layouts = [set_layout];
    let ranges = [vk::PushConstantRange::default()
        .stage_flags(vk::ShaderStageFlags::COMPUTE)
        .size(push_bytes)];
    let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
    if push_bytes > 0 {
        info = info.push_constant_ranges(&ranges);
    }
    device.attempt("vkCreatePipelineLayout")?;
    // SAFETY: `info` lives through the call.
    unsafe { device.raw().create_pipeline_layout(&info, None) }.map_err(VkError::call("vkCreatePipelineLayout"))
}

/// The shader's code, to be destroyed once its pipeline is made.
fn module(device: &Device, shader: &Shader) -> Result<vk::ShaderModule, VkError> {
    let code = ash::util::read_spv(&mut std::io::Cursor::new(shader.spirv)).map_err(|e| VkError::Unsupported {
        device: shader.name.to_owned(),
        what: format!("valid SPIR-V: {e}"),
    })?;
    let info = vk::ShaderModuleCreateInfo::default().code(&code);
    device.attempt("vkCreateShaderModule")?;
    // SAFETY: `code` is a whole SPIR-V module; the repository's tests validate every one.
    unsafe { device.raw().create_shader_module(&info, None) }.map_err(VkError::call("vkCreateShaderModule"))
}

/// What the driver's compiler answers: pipelines, or why there are none.
type Compiled = Result<Vec<vk::Pipeline>, (Vec<vk::Pipeline>, vk::Result)>;

/// Has the driver compile a module with its specialisation constants.
fn compiled(
    device: &Device,
    layout: vk::PipelineLayout,
    module: vk::ShaderModule,
    spec: &[u32],
) -> Result<Compiled, VkError> {
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
        .layout(layout)];
    device.attempt("vkCreateComputePipelines")?;
    // SAFETY: module, layout and specialisation data live through the call.
    Ok(unsafe {
        device
            .raw()
            .create_compute_pipelines(vk::PipelineCache::null(), &infos, None)
    })
}

/// All pipelines of a device.
#[derive(Default)]
pub(super) struct PipelineCache {
    made: Mutex<BTreeMap<PipelineKey, Arc<Pipeline>>>,
}

impl PipelineCache {
    fn made(&self) -> MutexGuard<'_, BTreeMap<PipelineKey, Arc<Pipeline>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Safety
    /// `raw` is the device that made them, and nothing that runs on it uses those of which `which` says yes.
    pub(super) unsafe fn destroy(&self, raw: &ash::Device, which: impl Fn(&Arc<Pipeline>) -> bool) {
        self.made().retain(|_, pipeline| {
            let goes = which(pipeline);
            if goes {
                // SAFETY: as above.
                unsafe { pipeline.destroy(raw) };
            }
            !goes
        });
    }
}

impl Device {
    /// The pipeline of `shader` with `spec` and `push` bytes of push constants, made on first use.
    ///
    /// # Errors
    /// [`VkError::Pipeline`] when the driver's compiler refuses the shader.
    pub fn pipeline(&self, shader: &Shader, spec: &[u32], push: u32) -> Result<Arc<Pipeline>, VkError> {
        let key = PipelineKey {
            shader: shader.name,
            spec: spec.to_vec(),
        };
        let mut made = self.pipelines().made();
        if let Some(pipeline) = made.get(&key) {
            return Ok(pipeline.clone());
        }
        let pipeline = Arc::new(Pipeline::new(self, shader, spec, push)?);
        made.insert(key, pipeline.clone());
        Ok(pipeline)
    }

    /// Destroys all pipelines that no program has.
    pub fn forget_pipelines(&self) {
        // SAFETY: programs keep theirs until what they submitted is done, and no other gets one meanwhile: the list is locked.
        unsafe {
            self.pipelines()
                .destroy(self.raw(), |pipeline| Arc::strong_count(pipeline) == 1)
        };
    }
}
