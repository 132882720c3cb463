//! The Vulkan instance, with the Khronos validation layer on request.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ash::{Entry, ext, vk};

use super::{Caps, VkError};

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// What the Khronos validation layer checks. Its makers advise against more than one of the last two at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// Nothing: the layer is not loaded.
    #[default]
    Off,
    /// Arguments and objects of every call.
    Core,
    /// The same, and that commands which touch the same bytes are ordered.
    Synchronization,
    /// The same as core, and on the device that shaders stay inside of their buffers.
    GpuAssisted,
}

impl Validation {
    /// The word for `diagnose.validation`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Core => "core",
            Self::Synchronization => "sync",
            Self::GpuAssisted => "gpu",
        }
    }

    fn features(self) -> &'static [vk::ValidationFeatureEnableEXT] {
        match self {
            Self::Off | Self::Core => &[],
            Self::Synchronization => &[vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION],
            Self::GpuAssisted => &[
                vk::ValidationFeatureEnableEXT::GPU_ASSISTED,
                vk::ValidationFeatureEnableEXT::GPU_ASSISTED_RESERVE_BINDING_SLOT,
            ],
        }
    }
}

/// Messages of the validation layer, collected while the instance lives.
#[derive(Debug, Default)]
pub struct ValidationReport {
    mode: Validation,
    count: AtomicU64,
    messages: Mutex<Vec<String>>,
}

impl ValidationReport {
    /// What is checked.
    #[must_use]
    pub fn mode(&self) -> Validation {
        self.mode
    }

    /// Warnings and errors so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// The first 1000 of them.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(&self, text: String) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        // A broken loop must not fill the host's memory with text.
        if messages.len() < 1000 {
            messages.push(text);
        }
        self.count.fetch_add(1, Ordering::Release);
    }
}

/// A Vulkan 1.2 instance.
pub struct Instance {
    // Keeps the loader library in memory.
    _entry: Entry,
    pub(super) raw: ash::Instance,
    messenger: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    report: Option<Arc<ValidationReport>>,
}

impl Instance {
    /// Creates the instance, with the Khronos layer where `mode` asks for it.
    ///
    /// # Errors
    /// [`VkError::Loader`] without a Vulkan loader, [`VkError::Unsupported`] when validation is asked for and the
    /// layer is not installed.
    pub fn new(mode: Validation) -> Result<Self, VkError> {
        let validation = mode != Validation::Off;
        // SAFETY: loading the system's Vulkan loader runs its initialisers, which are trusted like any system library.
        let entry = unsafe { Entry::load() }.map_err(|e| VkError::Loader(e.to_string()))?;
        let app = vk::ApplicationInfo::default()
            .application_name(c"kiln")
            .application_version(1)
            .engine_name(c"kiln")
            .api_version(vk::API_VERSION_1_2);
        let mut layers = Vec::new();
        let mut extensions = Vec::new();
        if validation {
            // SAFETY: plain query.
            let known = unsafe { entry.enumerate_instance_layer_properties() }
                .map_err(VkError::call("vkEnumerateInstanceLayerProperties"))?;
            if !known.iter().any(|l| l.layer_name_as_c_str() == Ok(VALIDATION_LAYER)) {
                return Err(VkError::Unsupported {
                    device: "instance".to_owned(),
                    what: "VK_LAYER_KHRONOS_validation (install `vulkan-validationlayers`)".to_owned(),
                });
            }
            layers.push(VALIDATION_LAYER.as_ptr());
            extensions.push(ext::debug_utils::NAME.as_ptr());
            extensions.push(ext::validation_features::NAME.as_ptr());
        }
        let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(mode.features());
        let mut info = vk::InstanceCreateInfo::default()
            .application_info(&app)
            .enabled_layer_names(&layers)
            .enabled_extension_names(&extensions);
        if validation {
            info = info.push_next(&mut features);
        }
        // SAFETY: all pointers in `info` outlive the call.
        let raw = unsafe { entry.create_instance(&info, None) }.map_err(|result| match result {
            vk::Result::ERROR_INCOMPATIBLE_DRIVER => VkError::NoDevice("the loader found no Vulkan driver".to_owned()),
            other => VkError::Call {
                call: "vkCreateInstance",
                result: other,
            },
        })?;
        let (mut messenger, mut report) = (None, None);
        if validation {
            let shared = Arc::new(ValidationReport {
                mode,
                ..ValidationReport::default()
            });
            let loader = ext::debug_utils::Instance::new(&entry, &raw);
            let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
                .message_severity(
                    vk::DebugUtilsMessageSeverityFlagsEXT::WARNING | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
                )
                .message_type(
                    vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION | vk::DebugUtilsMessageTypeFlagsEXT::PERFORMANCE,
                )
                .pfn_user_callback(Some(on_message))
                .user_data(Arc::as_ptr(&shared).cast_mut().cast::<c_void>());
            // SAFETY: `shared` is kept in `self.report` until after the messenger is destroyed.
            let handle = unsafe { loader.create_debug_utils_messenger(&info, None) }
                .map_err(VkError::call("vkCreateDebugUtilsMessengerEXT"))?;
            messenger = Some((loader, handle));
            report = Some(shared);
        }
        Ok(Self {
            _entry: entry,
            raw,
            messenger,
            report,
        })
    }

    /// The validation layer's messages, when it is on.
    #[must_use]
    pub fn validation(&self) -> Option<Arc<ValidationReport>> {
        self.report.clone()
    }

    /// Capabilities of every physical device, in the loader's order.
    ///
    /// # Errors
    /// [`VkError::Call`] when the driver cannot list its devices.
    pub fn devices(&self) -> Result<Vec<Caps>, VkError> {
        // SAFETY: plain query on a live instance.
        let handles =
            unsafe { self.raw.enumerate_physical_devices() }.map_err(VkError::call("vkEnumeratePhysicalDevices"))?;
        Ok(handles
            .into_iter()
            .enumerate()
            .map(|(index, handle)| Caps::query(&self.raw, handle, index))
            .collect())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: nothing made from this instance is alive: `Device` keeps the instance in an `Arc`.
        unsafe {
            if let Some((loader, handle)) = self.messenger.take() {
                loader.destroy_debug_utils_messenger(handle, None);
            }
            self.raw.destroy_instance(None);
        }
    }
}

extern "system" fn on_message(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the loader passes valid pointers; `user` is the report that the instance keeps alive.
    unsafe {
        if !data.is_null() && !user.is_null() && !(*data).p_message.is_null() {
            let text = CStr::from_ptr((*data).p_message).to_string_lossy().into_owned();
            (*user.cast::<ValidationReport>()).push(text);
        }
    }
    vk::FALSE
}
