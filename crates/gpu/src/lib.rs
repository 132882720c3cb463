//! The Vulkan device ([`vk`]), and every byte of memory on it ([`memory`]).

pub mod memory;
pub mod vk;
