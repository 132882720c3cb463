//! Layers, devices and drivers that are not as they should be, and what watches over the use of Vulkan.

mod lost_devices;
mod memory;
#[cfg(target_os = "linux")]
mod radv;
mod vulkan_checks;
